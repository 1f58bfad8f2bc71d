/*
 * The channel to a sandbox's keeper, until it is ready: which message may come
 * in which phase.  Uid maps and cgroups that it asks for are made in priv.c.
 * What comes of its job is in job_dispatch.c.
 */
#include <errno.h>
#include <string.h>

#include "cgroup.h"
#include "config.h"
#include "exec_dispatch.h"
#include "job_dispatch.h"
#include "jobs.h"
#include "lib/chan.h"
#include "lib/io.h"
#include "lib/log.h"
#include "sandbox.h"
#include "sandbox_pool.h"
#include "sup.h"
#include "tenants.h"

static int
violation(const struct sandbox *b, const char *what)
{
	log_warnx("job %s: keeper: %s", b->job != NULL ? b->job->rec.id :
	    b->id, what);
	return (-1);
}

int
sandbox_send(struct sandbox *b, const struct job_msg *m, const int *fds,
    size_t nfds)
{
	uint8_t buf[1024];
	ssize_t n;
	size_t i;
	int fd;

	if (b != NULL && b->chan != NULL &&
	    (n = job_msg_pack(m, buf, sizeof(buf))) != -1)
		return (chan_send(b->chan, buf, (size_t)n, fds, nfds));
	for (i = 0; i < nfds; i++) {
		fd = fds[i];
		io_close(&fd);
	}
	return (-1);
}

/* One that is gone has left its last words in the channel: they come next. */
static void
send_op(struct sandbox *b, enum job_op op, const int *fds, size_t n)
{
	struct job_msg m;

	memset(&m, 0, sizeof(m));
	m.op = (uint8_t)op;
	(void)sandbox_send(b, &m, fds, n);
}

static void
phase_set(struct sandbox *b, enum keeper_phase p)
{
	b->phase = p;
	if (b->job != NULL)
		b->job->phase = p;
}

static int
on_hello(struct sandbox *b, const struct job_msg *m, int *fds)
{
	(void)fds;
	if (m->u.version != CHANNEL_VERSION)
		return (violation(b, "speaks another version"));
	phase_set(b, KEEPER_HELLO);
	return (0);
}

static int
on_map(struct sandbox *b, const struct job_msg *m, int *fds)
{
	const struct map_rule rule = sandbox_ids(b);

	(void)m;
	b->bounded = (uint8_t)exec_link_bounded(b->sup->exec, NULL);
	/* Rootless, we have no right that errand-exec has not: it did it.
	 * Bounded, there is no map: what it becomes is looked at (on_ready). */
	if (!b->sup->cfg->rootless && !b->bounded &&
	    map_priv(fds[0], &rule, &b->userns) == -1) {
		log_warn("sandbox %s: uid map", b->id);
		return (-1);
	}
	b->keeper_fd = fds[0];
	fds[0] = -1;
	phase_set(b, KEEPER_MAPPED);
	send_op(b, JOBC_MAPPED, NULL, 0);
	if (b->job != NULL && b->job->doomed)
		job_kill(b->job);       /* asked for before it could hear */
	return (0);
}

static int
on_place(struct sandbox *b, const struct job_msg *m, int *fds)
{
	const struct userns *ns = b->sup->cfg->rootless || b->bounded ? NULL :
	    &b->userns;
	int join[CGROUP_JOIN_MAX];
	size_t n;

	(void)m;
	if (b->bounded && tenant_priv(fds[0], 0) == -1 && errno != ESRCH)
		return (violation(b, "is no pid 1"));
	if (place_priv(fds[0], ns, b->cgroup, b->key.tenant->conf.host_uid,
	    join, &n) == -1) {
		/* Dead already: there is nobody to place, and so nobody that
		 * could be started; the result says why. */
		if (errno == ESRCH) {
			send_op(b, JOBC_PLACED, NULL, 0);
			return (0);
		}
		log_warn("sandbox %s: place", b->id);
		return (-1);
	}
	b->pid1_fd = fds[0];
	fds[0] = -1;
	if (b->job != NULL)
		job_cpus(b->job);
	phase_set(b, KEEPER_PLACED);
	send_op(b, JOBC_PLACED, join, n);
	return (0);
}

/*
 * It moved itself into its cgroups, or it is not what it should be.  Whoever is
 * in there cannot leave, and what it forks is in there too.  (Its job may have
 * ended already; then there is nothing left to see.)
 */
static int
on_ready(struct sandbox *b, const struct job_msg *m, int *fds)
{
	(void)m;
	(void)fds;
	if (b->cgroup != NULL && cgroup_empty(b->cgroup) &&
	    !pidfd_dead(b->pid1_fd) &&
	    strcmp(cgroups_kind(b->sup->cgroups), "none") != 0)
		return (violation(b, "is not in its cgroup"));
	if (b->bounded && tenant_priv(b->pid1_fd,
	    b->key.tenant->conf.host_uid) == -1 && errno != ESRCH)
		return (violation(b, "is not its tenant's"));
	if (b->cgroup != NULL)
		b->cpu_made = cgroup_cpu(b->cgroup);
	phase_set(b, KEEPER_READY);
	sandbox_pool_ready(b);
	return (0);
}

/* Without a job it can only tell that it could not be made. */
static int
on_result(struct sandbox *b, const struct job_msg *m, int *fds)
{
	(void)fds;
	if (m->u.result.ran || m->u.result.err.code == ERR_NONE)
		return (violation(b, "a result without a job"));
	sandbox_close(b);
	sandbox_kill(b);
	sandbox_pool_failed(b, m->u.result.err.text);
	return (0);
}

static const struct route {
	uint8_t op;
	unsigned int phases;    /* in which it may come */
	size_t nfds;
	int (*fn)(struct sandbox *, const struct job_msg *, int *);
} routes[] = {
	{ JOBC_HELLO,  KEEPER_NEW,     0, on_hello },
	{ JOBC_MAP,    KEEPER_HELLO,   1, on_map },
	{ JOBC_PLACE,  KEEPER_MAPPED,  1, on_place },
	{ JOBC_READY,  KEEPER_PLACED,  0, on_ready },
}, without_job[] = {
	{ JOBC_RESULT, KEEPER_HELLO | KEEPER_MAPPED | KEEPER_PLACED |
	    KEEPER_READY,              0, on_result },
};

static int
route_try(const struct route *r, struct sandbox *b, const struct job_msg *m,
    int *fds, size_t nfds)
{
	if ((r->phases & b->phase) == 0)
		return (violation(b, "a message out of turn"));
	if (r->nfds != nfds)
		return (violation(b, "wrong number of descriptors"));
	return (r->fn(b, m, fds));
}

static int
dispatch(struct sandbox *b, const uint8_t *buf, size_t len, int *fds,
    size_t nfds)
{
	struct job_msg m;
	size_t i;

	if (job_msg_parse(buf, len, &m) == -1)
		return (violation(b, "a message that cannot be read"));
	for (i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (routes[i].op == m.op)
			return (route_try(&routes[i], b, &m, fds, nfds));
	if (b->job != NULL)
		return (job_msg_in(b->job, &m, fds, nfds));
	if (m.op == JOBC_RESULT)
		return (route_try(&without_job[0], b, &m, fds, nfds));
	return (violation(b, "a message it may not send"));
}

/* A keeper that breaks the rules loses its job, and disturbs nothing else. */
int
sandbox_msg_in(void *cookie, const uint8_t *buf, size_t len, int *fds,
    size_t nfds)
{
	struct sandbox *b = cookie;

	if (dispatch(b, buf, len, fds, nfds) == -1)
		sandbox_lost(b, "its sandbox broke the rules or failed while "
		    "it was made");
	return (0);
}

void
sandbox_chan_end(void *cookie, const char *why)
{
	(void)why;
	sandbox_lost(cookie, "the process that kept its sandbox ended");
}
