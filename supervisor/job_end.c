/*
 * How a job comes to its end: signals, limits of time, a result or the loss of
 * the keeper.  Kills through its cgroup and pidfds only; other signals are the
 * keeper's to deliver.  What is written down of the end is in job_settle.c.
 */
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "conn.h"
#include "config.h"
#include "job_dispatch.h"
#include "jobs.h"
#include "lib/io.h"
#include "lib/log.h"
#include "sup.h"
#include "tenants.h"

#define SECOND          UINT64_C(1000000)
#define GRACE_US        (5 * SECOND)
#define KILLED_US       (15 * SECOND)   /* for the kernel and the keeper */
#define COLLECT_US      (900 * SECOND)
#define EMPTY_US        (5 * SECOND)
#define EMPTY_STEP_US   5000

static void
signal_send(struct job *j, uint8_t sig)
{
	struct job_msg m;

	memset(&m, 0, sizeof(m));
	m.op = JOBC_SIGNAL;
	m.u.signal = sig;
	(void)job_send(j, &m);
}

/* Safe at any time: only this job's own processes are reached. */
void
job_kill(struct job *j)
{
	if (j->phase >= KEEPER_MAPPED && j->phase < KEEPER_DONE)
		signal_send(j, SIGKILL);
	if (j->box != NULL)
		sandbox_kill(j->box);
}

static void
kill_hard(struct job *j)
{
	job_kill(j);
	job_timer(j, WAIT_KILLED, KILLED_US);
}

static void
on_start(struct job *j)
{
	job_keeper_lost(j, j->go ? "the process that keeps its sandbox was "
	    "told to start the command and did not do so in time" :
	    "its sandbox was not ready in time");
}

static void
on_runtime(struct job *j)
{
	log_info("job %s: its time is over", j->rec.id);
	job_signal(j, 0, JOB_LIMIT_RUNTIME);
}

static void
on_killed(struct job *j)
{
	job_keeper_lost(j, "it was killed, and its sandbox did not end");
}

static void
on_collect(struct job *j)
{
	job_keeper_lost(j, "collecting its changes took too long");
}

static void
on_settle(struct job *j)
{
	chain_kick(j->sup, j->tenant);
}

static void
on_none(struct job *j)
{
	(void)j;
}

static void (*const waits[WAIT__MAX])(struct job *) = {
	[WAIT_NONE] = on_none,
	[WAIT_START] = on_start,
	[WAIT_RUNTIME] = on_runtime,
	[WAIT_GRACE] = kill_hard,
	[WAIT_KILLED] = on_killed,
	[WAIT_COLLECT] = on_collect,
	[WAIT_EMPTY] = job_finish,
	[WAIT_SETTLE] = on_settle,
};

void
job_on_timer(evutil_socket_t fd, short what, void *cookie)
{
	struct job *j = cookie;
	enum job_wait w = j->waits;

	(void)fd;
	(void)what;
	j->waits = WAIT_NONE;
	waits[w](j);
}

void
job_timer(struct job *j, enum job_wait w, uint64_t us)
{
	struct timeval tv = {
		.tv_sec = (time_t)(us / SECOND),
		.tv_usec = (suseconds_t)(us % SECOND)
	};

	evtimer_del(&j->timer);
	j->waits = w;
	if (w == WAIT_NONE)
		return;
	if (evtimer_add(&j->timer, &tv) == -1)
		log_warnx("job %s: timer", j->rec.id);
}

/*
 * Before GO nothing of the job was executed: closing the channel makes the
 * keeper undo what it made.  After GO it may be executed any moment, and its
 * keeper says how it ended.
 */
static void
cancel_waiting(struct job *j)
{
	j->doomed = 1;
	if (j->phase == KEEPER_NONE || j->phase == KEEPER_DONE) {
		job_finish(j);
	} else if (!j->go) {
		job_kill(j);
		sandbox_close(j->box);
		j->phase = KEEPER_DONE;
		job_finish(j);
	} else
		kill_hard(j);
}

/*
 * 0: TERM, a grace period, KILL.  9: KILL at once.  Others are delivered and
 * no more.
 */
void
job_signal(struct job *j, uint8_t sig, enum job_limit limit)
{
	if (j->settling || j->phase >= KEEPER_ENDED)
		return;
	j->user_kill = 1;
	if (limit != JOB_LIMIT_NONE)
		j->limit = (uint8_t)limit;
	if (j->rec.state != JOB_RUNNING && (sig == 0 || sig == SIGKILL ||
	    sig == SIGTERM || sig == SIGINT)) {
		cancel_waiting(j);
		return;
	}
	if (sig == SIGKILL) {
		kill_hard(j);
		return;
	}
	signal_send(j, sig == 0 ? SIGTERM : sig);
	if (sig == 0 && j->waits != WAIT_GRACE && j->waits != WAIT_KILLED)
		job_timer(j, WAIT_GRACE, GRACE_US);
}

void
job_fail(struct job *j, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	if (j->fault.code == ERR_NONE) {
		j->fault.code = (uint16_t)code;
		va_start(ap, fmt);
		vsnprintf(j->fault.text, sizeof(j->fault.text), fmt, ap);
		va_end(ap);
	}
	cancel_waiting(j);
}

/* Nobody is left, or should be: what the kernel counted is final. */
void
job_ended(struct job *j)
{
	int pids_hit = 0;

	job_timer(j, WAIT_COLLECT, COLLECT_US);
	job_input_done(j);
	j->rec.times.ended = io_real_us();
	if (j->box != NULL && j->box->cgroup != NULL)
		cgroup_usage(j->box->cgroup, &j->rec.usage, &pids_hit);
	/* What its sandbox took to be made is not the job's. */
	if (j->box != NULL && j->rec.usage.cpu_us > j->box->cpu_made)
		j->rec.usage.cpu_us -= j->box->cpu_made;
	j->pids_hit = pids_hit;
	if (j->box != NULL)
		j->disk_hit = (uint8_t)disk_full(&j->box->disk);
	job_meter_stop(j);
	if (j->rec.state != JOB_SETTLING) {
		j->rec.state = JOB_SETTLING;
		conn_job_state(j);
	}
}

/* What the kernel does not count here comes from the keeper. */
static void
usage_merge(struct job_usage *u, const struct job_usage *from)
{
	if (u->cpu_us == 0)
		u->cpu_us = from->cpu_us;
	if (u->memory_peak == 0)
		u->memory_peak = from->memory_peak;
	if (u->oom_kills == 0)
		u->oom_kills = from->oom_kills;
	if (u->pids_peak == 0)
		u->pids_peak = from->pids_peak;
	u->disk_bytes = from->disk_bytes;
}

static void
result_take(struct job *j)
{
	const struct job_result *r = &j->result;

	j->rec.exit_code = r->exit_code;
	j->rec.signal = r->signal;
	usage_merge(&j->rec.usage, &r->usage);
	j->rec.phases.run = r->run_us;
	j->rec.phases.collect = r->collect_us;
	j->rec.log = r->log;
	j->rec.changes = r->changes;
	j->rec.ncaches = r->ncaches;
	memcpy(j->rec.caches, r->caches, sizeof(j->rec.caches));
	if (r->err.code != ERR_NONE && j->fault.code == ERR_NONE)
		j->fault = r->err;
	/* What could not be collected is no fault of the job's end. */
	if (r->err.code == ERR_NONE && r->ran && !r->changes.complete) {
		j->remark = r->err;
		j->remark.code = ERR_LIMIT;
		if (j->remark.text[0] == '\0')
			snprintf(j->remark.text, sizeof(j->remark.text),
			    "not all changes could be collected");
	}
	if (j->limit == JOB_LIMIT_NONE)
		j->limit = r->limit;
	if (j->rec.usage.oom_kills > 0)
		j->limit = JOB_LIMIT_MEMORY;
	else if (j->limit == JOB_LIMIT_NONE && j->pids_hit &&
	    (r->exit_code != 0 || r->signal != 0))
		j->limit = JOB_LIMIT_PIDS;
	else if (j->limit == JOB_LIMIT_NONE)
		j->limit = j->disk_hit; /* a shell may not pass it on */
	if (j->log_bytes < r->log.bytes) {
		j->log_bytes = r->log.bytes;
		conn_job_log(j);
	}
}

void
job_result(struct job *j)
{
	result_take(j);
	sandbox_close(j->box);
	job_finish(j);
}

/* Without a result: what is known is that it failed, and how far it came. */
void
job_keeper_lost(struct job *j, const char *why)
{
	if (j->phase == KEEPER_DONE || j->phase == KEEPER_NONE)
		return;
	if (j->fault.code == ERR_NONE) {
		j->fault.code = ERR_WORKER_LOST;
		snprintf(j->fault.text, sizeof(j->fault.text), "%s", why);
	}
	log_warnx("job %s: lost: %s", j->rec.id, why);
	if (j->phase != KEEPER_ENDED)
		job_ended(j);
	j->phase = KEEPER_DONE;
	j->orphan = 1;
	/* Told to go, it may have run before it said so. */
	j->rec.unknown = j->go != 0;
	j->rec.log.bytes = j->log_bytes;
	kill_priv(j->box->keeper_fd);
	sandbox_close(j->box);
	job_finish(j);
}

/*
 * The last steps are the same for every end: kill what is left, wait until
 * nobody is there, then settle.  Before the job is durable there is nothing to
 * settle; the answer to PUBLISH comes back here.
 */
void
job_finish(struct job *j)
{
	uint64_t now = io_mono_us();

	j->doomed = 1;
	if (j->request != 0 || !j->published || j->settling)
		return;
	if (j->box != NULL && !sandbox_dead(j->box, j->orphan)) {
		job_kill(j);
		if (j->wait_until == 0)
			j->wait_until = now + EMPTY_US;
		if (now < j->wait_until) {
			job_timer(j, WAIT_EMPTY, EMPTY_STEP_US);
			return;
		}
		log_warnx("job %s: something of it does not die", j->rec.id);
	} else
		j->rec.cleanup = 1;
	job_timer(j, WAIT_NONE, 0);
	if (j->orphan && j->box != NULL)
		sandbox_orphan(j->box);
	job_settle(j);
}
