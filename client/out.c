/*
 * Words for people.  Writes to stdout and stderr only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/text.h"
#include "out.h"
#include "proto/snapshot_msg.h"

static const char *progname = "errand";
static const char *newline = "\n";

void
out_init(const char *name)
{
	int fd;

	for (fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) == -1)
			(void)open("/dev/null", O_RDONLY);
	progname = name;
}

void
out_raw(int raw)
{
	newline = raw ? "\r\n" : "\n";
}

static void
say(const char *text)
{
	char esc[4096];

	text_escape(text, strlen(text), esc, sizeof(esc));
	fprintf(stderr, "%s: %s%s", progname, esc, newline);
}

void
out_warn(const char *fmt, ...)
{
	char buf[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	say(buf);
}

void
out_err(const struct err *e)
{
	out_warn("%s%s", e->text, e->retry ? " (the same command may be tried "
	    "again)" : "");
}

int
out_usage(const char *fmt, ...)
{
	char buf[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	say(buf);
	fprintf(stderr, "Try '%s --help'.\n", progname);
	return (EXIT_USAGE);
}

int
out_hint(void)
{
	fprintf(stderr, "Try '%s --help'.\n", progname);
	return (EXIT_USAGE);
}

/* Once is enough.  A reader that has gone knows it. */
static void
say_unwritten(void)
{
	static int said;

	if (!said && errno != EPIPE)
		out_warn("standard output: %s", errno != 0 ? strerror(errno) :
		    "not all could be written");
	said = 1;
}

int
out_flush(void)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return (0);
	say_unwritten();
	return (-1);
}

int
out_bytes(const void *buf, size_t len)
{
	if (io_write(STDOUT_FILENO, buf, len) == 0)
		return (0);
	say_unwritten();
	return (-1);
}

const char *
out_escape(const void *buf, size_t len)
{
	static char ring[4][8192];
	static unsigned next;
	char *p = ring[next++ % 4];

	text_escape(buf, len, p, sizeof(ring[0]));
	return (p);
}

const char *
out_time(uint64_t us)
{
	static char ring[4][40];
	static unsigned next;
	char *p = ring[next++ % 4];
	time_t t = (time_t)(us / 1000000);
	struct tm tm;
	size_t n;

	gmtime_r(&t, &tm);
	n = strftime(p, sizeof(ring[0]), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(p + n, sizeof(ring[0]) - n, ".%06uZ",
	    (unsigned)(us % 1000000));
	return (p);
}

void
out_limits(const struct job_limits *l)
{
	if (l->cpus_milli != 0)
		printf(" %u.%03u cpus,", l->cpus_milli / 1000,
		    l->cpus_milli % 1000);
	if (l->memory != 0)
		printf(" %s memory,", text_bytes(l->memory));
	if (l->pids != 0)
		printf(" %u processes,", l->pids);
	if (l->disk != 0)
		printf(" %s disk,", text_bytes(l->disk));
	if (l->runtime_us != 0)
		printf(" %s run time,", text_us(l->runtime_us));
	if (l->cpu_us != 0)
		printf(" %s processor time,", text_us(l->cpu_us));
	printf(" %s output\n", l->log_bytes != 0 ? text_bytes(l->log_bytes) :
	    "any");
}

static const char *
most(uint64_t v, const char *text)
{
	static char buf[48];

	if (v == 0)
		return ("");
	(void)snprintf(buf, sizeof(buf), " of %s", text);
	return (buf);
}

void
out_keep(const struct tenant_used *q)
{
	const char *sep = "";

	if (q->store_bytes != 0) {
		printf(" %s in the store", text_bytes(q->store_bytes));
		sep = ",";
	}
	if (q->store_objects != 0) {
		printf("%s %llu objects", sep,
		    (unsigned long long)q->store_objects);
		sep = ",";
	}
	if (q->jobs != 0) {
		printf("%s %llu jobs", sep, (unsigned long long)q->jobs);
		sep = ",";
	}
	if (q->log_bytes != 0) {
		printf("%s %s of output", sep, text_bytes(q->log_bytes));
		sep = ",";
	}
	printf("%s\n", sep[0] == '\0' ? " any amount" : "");
}

void
out_used(const struct tenant_used *u, const struct tenant_used *q)
{
	char n[24];

	printf(" %s%s in the store,", text_bytes(u->store_bytes),
	    most(q->store_bytes, text_bytes(q->store_bytes)));
	(void)snprintf(n, sizeof(n), "%llu",
	    (unsigned long long)q->store_objects);
	printf(" %llu%s objects,", (unsigned long long)u->store_objects,
	    most(q->store_objects, n));
	(void)snprintf(n, sizeof(n), "%llu", (unsigned long long)q->jobs);
	printf(" %llu%s jobs,", (unsigned long long)u->jobs,
	    most(q->jobs, n));
	printf(" %s%s of output\n", text_bytes(u->log_bytes),
	    most(q->log_bytes, text_bytes(q->log_bytes)));
}
