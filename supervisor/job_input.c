/*
 * Who writes a job's input: asked for, granted, given up, taken over, waited
 * for.  Makes a pipe and passes its ends on; never looks into it.
 */
#include <event2/event.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "conn.h"
#include "job_dispatch.h"
#include "job_input.h"
#include "jobs.h"
#include "lib/chan.h"
#include "lib/io.h"
#include "lib/log.h"
#include "proto/client_msg.h"
#include "sup.h"

#define WINDOWS_QUEUED  4096    /* bytes; more waiting: the keeper is stuck */

static void
on_lease(evutil_socket_t fd, short what, void *cookie);

static void
tell(struct job *j, enum job_op op, int lost)
{
	struct job_msg m;

	memset(&m, 0, sizeof(m));
	m.op = (uint8_t)op;
	m.u.lost = (uint8_t)lost;
	(void)job_send(j, &m);
}

static void
ask_fail(struct job *j, enum err_code code, const char *text)
{
	struct conn *c = j->input.asker;
	struct err err;

	if (c == NULL)
		return;
	j->input.asker = NULL;
	memset(&err, 0, sizeof(err));
	(void)err_set(&err, code, "%s", text);
	err.retry = 0;
	conn_error(c, j->input.ask_id, &err);
}

/* What is in the pipe now is the last of it. */
static void
finish(struct job *j, int lost)
{
	if (j->input.to == -1)
		return;
	evtimer_del(&j->input.timer);
	io_close(&j->input.to);
	tell(j, JOBC_INPUT_END, lost);
	ask_fail(j, ERR_NOT_FOUND, "the input of this job is at its end");
}

static void
lease(struct job *j)
{
	uint64_t us = j->sup->cfg->client_lease_us;
	struct timeval tv = {
		.tv_sec = (time_t)(us / 1000000),
		.tv_usec = (suseconds_t)(us % 1000000)
	};

	if (j->input.to != -1 && evtimer_add(&j->input.timer, &tv) == -1)
		log_warnx("job %s: timer", j->rec.id);
}

static void
on_lease(evutil_socket_t fd, short what, void *cookie)
{
	struct job *j = cookie;

	(void)fd;
	(void)what;
	log_info("job %s: nobody came back to send its input", j->rec.id);
	finish(j, 1);
}

void
job_input_init(struct job *j)
{
	j->input.to = j->input.from = -1;
	evtimer_assign(&j->input.timer, j->sup->base, on_lease, j);
}

int
job_input_make(struct job *j)
{
	int fds[2];

	if (!j->rec.submit.input)
		return (0);
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) == -1)
		return (-1);
	j->input.from = fds[0];
	j->input.to = fds[1];
	return (0);
}

void
job_input_hand_over(struct job *j)
{
	struct job_msg m;
	int fd = j->input.from;

	if (fd == -1)
		return;
	memset(&m, 0, sizeof(m));
	m.op = JOBC_INPUT;
	j->input.from = -1;
	(void)sandbox_send(j->box, &m, &fd, 1);
}

static void
grant(struct job *j, uint64_t offset)
{
	struct conn *c = j->input.asker;
	struct snap_msg *m;
	int fd;

	if ((fd = fcntl(j->input.to, F_DUPFD_CLOEXEC, 3)) == -1) {
		ask_fail(j, ERR_BUSY, "the host has no descriptor left");
		return;
	}
	evtimer_del(&j->input.timer);
	j->input.asker = NULL;
	j->input.holder = c;
	j->input.given = 1;
	m = conn_msg(c, SNAP_TAKEN, j->input.ask_id);
	m->u.taken.offset = offset;
	conn_send(c, m, fd);
}

/*
 * Whoever asks is served when the command runs and nobody else can write.  Then
 * what the keeper has taken, and what is in the pipe, is all that has come.
 */
static void
next(struct job *j)
{
	struct job_input *in = &j->input;

	if (in->asker == NULL || in->holder != NULL || in->to == -1 ||
	    j->phase != KEEPER_STARTED)
		return;
	if (!in->given)
		grant(j, 0);
	else if (!in->asked) {
		in->asked = 1;
		tell(j, JOBC_INPUT_ASK, 0);
	}
}

int
job_input_at(struct job *j, uint64_t offset)
{
	if (!j->input.asked)
		return (-1);
	j->input.asked = 0;
	if (j->input.asker != NULL && j->input.holder == NULL &&
	    j->input.to != -1)
		grant(j, offset);
	return (0);
}

void
job_input_started(struct job *j)
{
	next(j);
	if (j->input.holder == NULL && !j->rec.submit.detach)
		lease(j);
}

static void
refuse(struct conn *c, uint64_t id, enum err_code code, const char *text)
{
	struct err err;

	memset(&err, 0, sizeof(err));
	(void)err_set(&err, code, "%s", text);
	err.retry = 0;
	conn_error(c, id, &err);
}

static void
stop_holder(struct job *j)
{
	struct snap_msg *m = conn_msg(j->input.holder, SNAP_INPUT_STOP, 0);

	memcpy(m->u.input_stop.job, j->rec.id, sizeof(m->u.input_stop.job));
	conn_send(j->input.holder, m, -1);
}

void
job_input_take(struct job *j, struct conn *c, uint64_t id, int take)
{
	struct job_input *in = &j->input;

	if (!j->rec.submit.input) {
		refuse(c, id, ERR_INVALID, "this job takes no input; start it "
		    "with -i");
		return;
	}
	/* The pipe of a job that waits is made when it starts. */
	if (j->doomed || j->phase >= KEEPER_ENDED ||
	    (in->to == -1 && j->phase != KEEPER_NONE)) {
		refuse(c, id, ERR_NOT_FOUND, "the input of this job is at its "
		    "end");
		return;
	}
	if ((in->holder != NULL || in->asker != NULL) && !take) {
		refuse(c, id, ERR_BUSY, "another client has the input of this "
		    "job");
		return;
	}
	ask_fail(j, ERR_BUSY, "another client has taken the input of this job");
	in->asker = c;
	in->ask_id = id;
	if (in->holder != NULL)
		stop_holder(j);
	else
		next(j);
}

void
job_input_end(struct job *j, struct conn *c, int how)
{
	if (j->input.holder != c) {
		if (j->input.asker == c)
			ask_fail(j, ERR_CANCELLED, "given up");
		return;
	}
	j->input.holder = NULL;
	if (how == SNAP_INPUT_EOF) {
		finish(j, 0);
		return;
	}
	if (how == SNAP_INPUT_LOST)
		lease(j);
	next(j);
}

int
job_window(struct job *j, const struct conn *c, uint16_t rows, uint16_t cols)
{
	struct job_msg m;

	errno = EPERM;
	if (!j->rec.submit.tty ||
	    (j->input.holder != NULL && j->input.holder != c))
		return (-1);
	errno = EBUSY;
	if (j->box == NULL || j->box->chan == NULL ||
	    chan_queued(j->box->chan) > WINDOWS_QUEUED)
		return (-1);
	memset(&m, 0, sizeof(m));
	m.op = JOBC_WINDOW;
	m.u.window.rows = rows;
	m.u.window.cols = cols;
	return (job_send(j, &m));
}

void
job_input_done(struct job *j)
{
	evtimer_del(&j->input.timer);
	io_close(&j->input.to);
	io_close(&j->input.from);
	j->input.holder = NULL;
	ask_fail(j, ERR_NOT_FOUND, "the job has ended");
}

void
job_inputs_drop(struct sup *sup, struct conn *c)
{
	struct job *j;

	for (j = jobs_next(sup->jobs, NULL); j != NULL;
	    j = jobs_next(sup->jobs, j)) {
		if (j->input.asker == c)
			j->input.asker = NULL;
		job_input_end(j, c, SNAP_INPUT_LOST);
	}
}
