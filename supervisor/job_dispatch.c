/*
 * The channel to a sandbox's keeper, once it is ready and has a job: which
 * message may come in which phase.  What comes may be a hostile tree's word and
 * can harm its own job only.  What comes before is in sandbox_dispatch.c.
 */
#include <errno.h>
#include <event2/event.h>
#include <string.h>

#include "cgroup.h"
#include "config.h"
#include "conn.h"
#include "job_dispatch.h"
#include "jobs.h"
#include "lib/chan.h"
#include "lib/io.h"
#include "lib/log.h"
#include "sandbox_pool.h"
#include "sup.h"
#include "tenants.h"

#define LOG_GAP_US      10000   /* least time between two LOG messages */

static int
violation(const struct job *j, const char *what)
{
	log_warnx("job %s: keeper: %s", j->rec.id, what);
	return (-1);
}

int
job_send(struct job *j, const struct job_msg *m)
{
	return (sandbox_send(j->box, m, NULL, 0));
}

static void
send_op(struct job *j, enum job_op op)
{
	struct job_msg m;

	memset(&m, 0, sizeof(m));
	m.op = (uint8_t)op;
	(void)job_send(j, &m);
}

static void
phase_set(struct job *j, enum keeper_phase p)
{
	j->phase = j->box->phase = p;
}

static int
on_started(struct job *j, const struct job_msg *m, int *fds)
{
	(void)m;
	(void)fds;
	if (!j->go)
		return (violation(j, "executed before it might"));
	phase_set(j, KEEPER_STARTED);
	sandbox_pool_stir(j->sup->sandboxes);
	j->rec.state = JOB_RUNNING;
	j->rec.ran = 1;
	j->rec.times.started = io_real_us();
	j->rec.phases.start = io_mono_us() - j->t_start;
	conn_job_state(j);
	job_input_started(j);
	if (j->waits == WAIT_START)
		job_timer(j, j->rec.limits.runtime_us != 0 ? WAIT_RUNTIME :
		    WAIT_NONE, j->rec.limits.runtime_us);
	job_meter_start(j);
	return (0);
}

void
job_on_logack(evutil_socket_t fd, short what, void *cookie)
{
	struct job *j = cookie;

	(void)fd;
	(void)what;
	evtimer_del(&j->logack);
	j->last_log_us = io_mono_us();
	j->log_early = 0;
	send_op(j, JOBC_LOGACK);
}

/*
 * Followers are woken at once; the keeper may tell the next growth a little
 * later, so that a flood of output is not a flood of messages.  One more may
 * come without being asked for, the last.
 */
static int
on_log(struct job *j, const struct job_msg *m, int *fds)
{
	struct timeval tv = { 0, LOG_GAP_US };

	(void)fds;
	if (m->u.log_bytes < j->log_bytes)
		return (violation(j, "its log shrank"));
	if (evtimer_pending(&j->logack, NULL) && j->log_early++ > 0)
		return (violation(j, "more about its log than was asked for"));
	j->log_bytes = m->u.log_bytes;
	conn_job_log(j);
	if (io_mono_us() - j->last_log_us >= LOG_GAP_US) {
		job_on_logack(-1, 0, j);
		return (0);
	}
	return (evtimer_add(&j->logack, &tv));
}

static int
on_ended(struct job *j, const struct job_msg *m, int *fds)
{
	(void)m;
	(void)fds;
	phase_set(j, KEEPER_ENDED);
	sandbox_pool_stir(j->sup->sandboxes);
	job_ended(j);
	return (0);
}

static int
on_input_at(struct job *j, const struct job_msg *m, int *fds)
{
	(void)fds;
	if (job_input_at(j, m->u.offset) == -1)
		return (violation(j, "it was not asked for its input"));
	return (0);
}

/* The command ran exactly when we saw it start. */
static int
on_result(struct job *j, const struct job_msg *m, int *fds)
{
	(void)fds;
	if (m->u.result.ran && !j->rec.ran)
		return (violation(j, "a result of what did not start"));
	if (j->phase != KEEPER_ENDED)
		job_ended(j);
	j->result = m->u.result;
	phase_set(j, KEEPER_DONE);
	job_result(j);
	return (0);
}

#define RUNNING (KEEPER_READY | KEEPER_STARTED)
#define ALIVE   (KEEPER_HELLO | KEEPER_MAPPED | KEEPER_PLACED | RUNNING)

static const struct route {
	uint8_t op;
	unsigned int phases;    /* in which it may come */
	size_t nfds;
	int (*fn)(struct job *, const struct job_msg *, int *);
} routes[] = {
	{ JOBC_STARTED, KEEPER_READY,           0, on_started },
	{ JOBC_LOG,     RUNNING,                0, on_log },
	{ JOBC_INPUT_AT, KEEPER_STARTED,        0, on_input_at },
	{ JOBC_ENDED,   ALIVE,                  0, on_ended },
	{ JOBC_RESULT,  ALIVE | KEEPER_ENDED,   0, on_result },
};

int
job_msg_in(struct job *j, const struct job_msg *m, int *fds, size_t nfds)
{
	const struct route *r;
	size_t i;

	for (i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		r = &routes[i];
		if (r->op != m->op)
			continue;
		if ((r->phases & j->phase) == 0)
			return (violation(j, "a message out of turn"));
		if (r->nfds != nfds)
			return (violation(j, "wrong number of descriptors"));
		return (r->fn(j, m, fds));
	}
	return (violation(j, "a message it may not send"));
}
