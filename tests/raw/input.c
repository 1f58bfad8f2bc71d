#include <inttypes.h>
#include <unistd.h>

/* Not all of it is needed here. */
#pragma GCC diagnostic ignored "-Wunused-function"
#include "raw_io.h"

/*
 * input SOCKET WHAT JOB [N]: says of a job's input what no client should, and
 * shows what is answered.
 */

static void
job_open(struct client_open *o, uint8_t verb, const char *job)
{
	memset(o, 0, sizeof(*o));
	o->verb = verb;
	snprintf(o->job, sizeof(o->job), "%s", job);
}

static void
flood(struct raw *r, size_t n)
{
	static const uint8_t zeros[FRAME_SLICE];
	size_t i;

	for (i = 0; i < n; i++)
		if (raw_frame(r, 1, FRAME_DATA, FRAME_STDIN, zeros,
		    sizeof(zeros)) == -1)
			break;
}

/* The input asked for; then what the answer allows, or not. */
static void
ask(struct raw *r, const char *job, int wait)
{
	struct client_open o;

	job_open(&o, CLIENT_INPUT, job);
	o.take = 1;
	(void)raw_open(r, 1, &o);
	if (wait)
		(void)raw_next(r);
}

static void
windows(struct raw *r, const char *job, size_t n)
{
	struct client_open o;
	size_t i;

	job_open(&o, CLIENT_WINDOW, job);
	for (i = 0; i < n; i++) {
		o.rows = (uint16_t)(i * 40503U);
		o.cols = (uint16_t)~o.rows;
		if (raw_open(r, (uint32_t)(2 * i + 1), &o) == -1 ||
		    raw_frame(r, (uint32_t)(2 * i + 1), FRAME_END, 0, NULL,
		    0) == -1)
			break;
		if (!raw_next(r))
			break;
	}
}

static int
perform(struct raw *r, const char *what, const char *job, size_t n)
{
	if (strcmp(what, "unasked") == 0) {
		ask(r, job, 0);
		flood(r, 1);
	} else if (strcmp(what, "flood") == 0) {
		ask(r, job, 1);
		flood(r, n);
	} else if (strcmp(what, "other") == 0) {
		ask(r, job, 1);
		(void)raw_frame(r, 1, FRAME_DATA, FRAME_STDOUT, "x", 1);
	} else if (strcmp(what, "windows") == 0)
		windows(r, job, n);
	else
		return (2);
	raw_rest(r);
	return (0);
}

int
main(int argc, char **argv)
{
	static struct raw r = { .tenant = "" };
	int rc;

	if (argc < 4)
		return (2);
	raw_connect(&r, argv[1]);
	r.until = r.began + 5000000;
	if (raw_greet(&r))
		return (1);
	rc = perform(&r, argv[2], argv[3], argc > 4 ?
	    (size_t)strtoul(argv[4], NULL, 10) : 100);
	client_reply_done(&r.reply);
	close(r.fd);
	return (rc);
}
