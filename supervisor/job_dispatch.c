/*
 * The channel to a job's keeper: which message may come in which phase.  What
 * comes may be a hostile tree's word and can harm its own job only.  Uid maps
 * and cgroups that it asks for are made in priv.c.
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
job_send_fd(struct job *j, const struct job_msg *m, int fd)
{
	uint8_t buf[1024];
	ssize_t n;

	if (j->chan == NULL || (n = job_msg_pack(m, buf, sizeof(buf))) == -1) {
		io_close(&fd);
		return (-1);
	}
	return (chan_send(j->chan, buf, (size_t)n, &fd, fd != -1));
}

int
job_send(struct job *j, const struct job_msg *m)
{
	return (job_send_fd(j, m, -1));
}

/* One that is gone has left its last words in the channel: they come next. */
static void
send_op(struct job *j, enum job_op op)
{
	struct job_msg m;

	memset(&m, 0, sizeof(m));
	m.op = (uint8_t)op;
	(void)job_send(j, &m);
}

static int
on_hello(struct job *j, const struct job_msg *m, int *fds)
{
	(void)fds;
	if (m->u.version != CHANNEL_VERSION)
		return (violation(j, "speaks another version"));
	j->phase = KEEPER_HELLO;
	return (0);
}

static int
on_map(struct job *j, const struct job_msg *m, int *fds)
{
	struct map_rule rule = {
		.owner_uid = j->sup->exec_uid,
		.host_uid = j->tenant->conf.host_uid,
		.host_gid = j->tenant->conf.host_uid
	};

	(void)m;
	/* Rootless, we have no right that errand-exec has not: it did it. */
	if (!j->sup->cfg->rootless &&
	    map_priv(fds[0], &rule, &j->userns) == -1) {
		log_warn("job %s: uid map", j->rec.id);
		return (-1);
	}
	j->keeper_fd = fds[0];
	fds[0] = -1;
	j->phase = KEEPER_MAPPED;
	send_op(j, JOBC_MAPPED);
	if (j->doomed)
		job_kill(j);            /* asked for before it could hear */
	return (0);
}

/* The descriptors are the channel's, whatever becomes of the message. */
static void
placed_send(struct job *j, const int *fds, size_t n)
{
	struct job_msg m;
	uint8_t buf[64];
	ssize_t len;

	memset(&m, 0, sizeof(m));
	m.op = JOBC_PLACED;
	if ((len = job_msg_pack(&m, buf, sizeof(buf))) != -1)
		(void)chan_send(j->chan, buf, (size_t)len, fds, n);
}

static int
on_place(struct job *j, const struct job_msg *m, int *fds)
{
	const struct userns *ns = j->sup->cfg->rootless ? NULL : &j->userns;
	int join[CGROUP_JOIN_MAX];
	size_t n;

	(void)m;
	if (place_priv(fds[0], ns, j->cgroup, j->tenant->conf.host_uid, join,
	    &n) == -1) {
		/* Dead already: there is nobody to place, and so nobody that
		 * could be started; the result says why. */
		if (errno == ESRCH) {
			send_op(j, JOBC_PLACED);
			return (0);
		}
		log_warn("job %s: place", j->rec.id);
		return (-1);
	}
	j->pid1_fd = fds[0];
	fds[0] = -1;
	job_cpus(j);
	j->phase = KEEPER_PLACED;
	placed_send(j, join, n);
	return (0);
}

static int
on_started(struct job *j, const struct job_msg *m, int *fds)
{
	(void)m;
	(void)fds;
	if (!j->go)
		return (violation(j, "executed before it might"));
	/* It moved itself into its cgroups, or it is not what it should be.
	 * (When it has ended already there is nothing left to see.) */
	if (j->cgroup != NULL && cgroup_empty(j->cgroup) &&
	    !pidfd_dead(j->pid1_fd) &&
	    strcmp(cgroups_kind(j->sup->cgroups), "none") != 0)
		return (violation(j, "is not in its cgroup"));
	j->phase = KEEPER_STARTED;
	j->rec.state = JOB_RUNNING;
	j->rec.ran = 1;
	j->rec.times.started = io_real_us();
	j->rec.phases.start = io_mono_us() - j->t_start;
	conn_job_state(j);
	if (j->waits == WAIT_START)
		job_timer(j, j->rec.limits.runtime_us != 0 ? WAIT_RUNTIME :
		    WAIT_NONE, j->rec.limits.runtime_us);
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
	j->phase = KEEPER_ENDED;
	job_ended(j);
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
	j->phase = KEEPER_DONE;
	job_result(j);
	return (0);
}

#define RUNNING (KEEPER_PLACED | KEEPER_STARTED)
#define ALIVE   (KEEPER_HELLO | KEEPER_MAPPED | RUNNING)

static const struct route {
	uint8_t op;
	unsigned int phases;    /* in which it may come */
	size_t nfds;
	int (*fn)(struct job *, const struct job_msg *, int *);
} routes[] = {
	{ JOBC_HELLO,   KEEPER_NEW,             0, on_hello },
	{ JOBC_MAP,     KEEPER_HELLO,           1, on_map },
	{ JOBC_PLACE,   KEEPER_MAPPED,          1, on_place },
	{ JOBC_STARTED, KEEPER_PLACED,          0, on_started },
	{ JOBC_LOG,     RUNNING,                0, on_log },
	{ JOBC_ENDED,   ALIVE,                  0, on_ended },
	{ JOBC_RESULT,  ALIVE | KEEPER_ENDED,   0, on_result },
};

static int
dispatch(struct job *j, const uint8_t *buf, size_t len, int *fds, size_t nfds)
{
	const struct route *r;
	struct job_msg m;
	size_t i;

	if (job_msg_parse(buf, len, &m) == -1)
		return (violation(j, "a message that cannot be read"));
	for (i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		r = &routes[i];
		if (r->op != m.op)
			continue;
		if ((r->phases & j->phase) == 0)
			return (violation(j, "a message out of turn"));
		if (r->nfds != nfds)
			return (violation(j, "wrong number of descriptors"));
		return (r->fn(j, &m, fds));
	}
	return (violation(j, "a message it may not send"));
}

/* A keeper that breaks the rules loses its job, and disturbs nothing else. */
int
job_msg_in(void *cookie, const uint8_t *buf, size_t len, int *fds,
    size_t nfds)
{
	struct job *j = cookie;

	if (dispatch(j, buf, len, fds, nfds) == -1)
		job_keeper_lost(j, "its sandbox broke the rules or failed "
		    "while it was made");
	return (0);
}

void
job_chan_end(void *cookie, const char *why)
{
	struct job *j = cookie;

	(void)why;
	job_keeper_lost(j, "the process that kept its sandbox ended");
}
