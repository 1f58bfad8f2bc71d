/*
 * The channel to an errand-snapshot: what it may ask, in which state, and whose
 * jobs it may name.  The one place where a connection is given a tenant.
 * Believes nothing that a worker says about itself.
 */
#include <errno.h>
#include <string.h>

#include "admin.h"
#include "child.h"
#include "config.h"
#include "conn.h"
#include "jobs.h"
#include "lib/log.h"
#include "lib/memfd.h"
#include "logs.h"
#include "pool.h"
#include "proto/client_msg.h"
#include "snap_dispatch.h"
#include "sup.h"
#include "tenants.h"

#define WORKER_NEW      0x10    /* beside the states of a connection */
#define WORKER_IDLE     0x20

/* Answer a request with a refusal; always 0, which goes on. */
static int
refuse(struct conn *c, uint64_t id, enum err_code code, const char *text)
{
	struct err err;

	memset(&err, 0, sizeof(err));
	(void)err_set(&err, code, "%s", text);
	conn_error(c, id, &err);
	return (0);
}

static int
on_hello(struct worker *w, const struct snap_msg *m, int *fds)
{
	(void)fds;
	if (m->u.hello.version != CHANNEL_VERSION) {
		log_warnx("snapshot: speaks version %u of the channel, not %u; "
		    "install programs of one release", m->u.hello.version,
		    CHANNEL_VERSION);
		return (-1);
	}
	w->landlock = m->u.hello.landlock;
	child_event(w->child, CHILD_READY);
	return (0);
}

/*
 * Whose connection it is follows from the kernel's word about the peer.  The
 * worker may pass on the wish to act for another tenant; root may, and a user
 * for its own.
 */
static int
on_bind(struct worker *w, const struct snap_msg *m, int *fds)
{
	struct sup *sup = w->sup;
	struct conn *c = w->conn;
	struct tenant *own, *t;
	struct err err;

	(void)fds;
	memset(&err, 0, sizeof(err));
	if (conn_admin(c)) {
		conn_bind(c, m->id, NULL);
		return (0);
	}
	if (m->u.bind.tenant[0] != '\0' && conn_uid(c) == 0) {
		t = tenants_by_name(sup->tenants, m->u.bind.tenant);
		if (t == NULL && strcmp(m->u.bind.tenant, "root") != 0)
			return (refuse(c, m->id, ERR_UNKNOWN_TENANT, "there is "
			    "no such tenant; errandctl tenant list shows those "
			    "there are"));
		if (t != NULL) {
			conn_bind(c, m->id, t);
			return (0);
		}
	}
	if ((own = tenants_by_uid(sup->tenants, conn_uid(c), &err)) == NULL) {
		conn_error(c, m->id, &err);
		return (0);
	}
	if (m->u.bind.tenant[0] != '\0' &&
	    strcmp(m->u.bind.tenant, own->conf.name) != 0)
		return (refuse(c, m->id, ERR_DENIED, "only root may act for "
		    "another tenant"));
	conn_bind(c, m->id, own);
	return (0);
}

/*
 * Environment values: kept until the job starts, and read by another process
 * then.  What is no sealed memory file breaks the rules of the channel.
 */
static int
on_submit(struct worker *w, const struct snap_msg *m, int *fds)
{
	const uint8_t *map;
	int fd = fds[0];
	size_t len;

	if (fd != -1 && memfd_map(fd, LIMIT_ENV_BYTES, &map, &len) == -1) {
		if (errno == EPROTO)
			return (-1);
		return (refuse(w->conn, m->id, ERR_BUSY, "the host is out of "
		    "memory; try again"));
	}
	if (fd != -1)
		memfd_unmap(map, len);
	fds[0] = -1;
	job_submit(w->sup, w->conn, m->id, &m->u.submit, fd);
	return (0);
}

/* Only the connection's own tenant's jobs exist for it. */
static struct job *
own_job(struct worker *w, const char *id)
{
	struct job *j = jobs_find(w->sup->jobs, id);

	if (j == NULL || j->tenant != conn_tenant(w->conn))
		return (NULL);
	return (j);
}

static int
on_watch(struct worker *w, const struct snap_msg *m, int *fds)
{
	struct conn *c = w->conn;
	struct snap_msg *reply;
	struct job *j = own_job(w, m->u.watch.job);
	struct err err;
	int fd = -1;

	(void)fds;
	memset(&err, 0, sizeof(err));
	if (j != NULL && conn_watch(c, j, m->u.watch.log, &err) == -1) {
		conn_error(c, m->id, &err);
		return (0);
	}
	if (m->u.watch.log)
		fd = logs_open(w->sup->logs_fd, conn_tenant(c)->conf.id,
		    m->u.watch.job);
	reply = conn_msg(c, SNAP_WATCHED, m->id);
	if (j != NULL) {
		reply->u.watched.active = 1;
		/* Composed is not durable yet. */
		reply->u.watched.state = JOB_IS_FINAL(j->rec.state) ?
		    JOB_SETTLING : j->rec.state;
		reply->u.watched.log_bytes = j->log_bytes;
	}
	conn_send(c, reply, fd);
	return (0);
}

static int
ok(struct worker *w, const struct snap_msg *m)
{
	struct snap_msg *reply = conn_msg(w->conn, SNAP_OK, m->id);

	reply->reply_to = m->op;
	conn_send(w->conn, reply, -1);
	return (0);
}

static int
on_signal(struct worker *w, const struct snap_msg *m, int *fds)
{
	struct job *j = own_job(w, m->u.signal.job);

	(void)fds;
	if (j == NULL)
		return (refuse(w->conn, m->id, ERR_NOT_FOUND, "there is no "
		    "such job, or it has ended"));
	job_signal(j, m->u.signal.signal, JOB_LIMIT_NONE);
	return (ok(w, m));
}

static int
on_input(struct worker *w, const struct snap_msg *m, int *fds)
{
	struct job *j = own_job(w, m->u.input.job);

	(void)fds;
	if (j == NULL)
		return (refuse(w->conn, m->id, ERR_NOT_FOUND, "there is no "
		    "such job, or it has ended"));
	job_input_take(j, w->conn, m->id, m->u.input.take);
	return (0);
}

static int
on_input_end(struct worker *w, const struct snap_msg *m, int *fds)
{
	struct job *j = own_job(w, m->u.input_end.job);

	(void)fds;
	if (j != NULL)
		job_input_end(j, w->conn, m->u.input_end.how);
	return (ok(w, m));
}

static int
on_window(struct worker *w, const struct snap_msg *m, int *fds)
{
	struct job *j = own_job(w, m->u.window.job);

	(void)fds;
	if (j == NULL)
		return (refuse(w->conn, m->id, ERR_NOT_FOUND, "there is no "
		    "such job, or it has ended"));
	if (job_window(j, w->conn, m->u.window.rows,
	    m->u.window.cols) == -1)
		return (refuse(w->conn, m->id, errno == EPERM ? ERR_DENIED :
		    ERR_BUSY, errno == EPERM ? "the size of this job's "
		    "terminal is not this client's" : "the job cannot hear of "
		    "its terminal's size now"));
	return (ok(w, m));
}

static int
on_live(struct worker *w, const struct snap_msg *m, int *fds)
{
	struct snap_msg *reply = conn_msg(w->conn, SNAP_OK, m->id);
	struct snap_live *l;
	struct job *j;

	(void)fds;
	reply->reply_to = SNAP_LIVE;
	for (j = jobs_next(w->sup->jobs, NULL); j != NULL &&
	    reply->u.live.n < SNAP_LIVE_MAX; j = jobs_next(w->sup->jobs, j)) {
		if (j->tenant != conn_tenant(w->conn) || !j->published)
			continue;
		l = &reply->u.live.jobs[reply->u.live.n++];
		memcpy(l->job, j->rec.id, sizeof(l->job));
		l->state = JOB_IS_FINAL(j->rec.state) ? JOB_SETTLING :
		    j->rec.state;
		l->reason = j->fault.code;
		l->times = j->rec.times;
	}
	conn_send(w->conn, reply, -1);
	return (0);
}

static int
on_admin(struct worker *w, const struct snap_msg *m, int *fds)
{
	(void)fds;
	if (!conn_admin(w->conn))
		return (-1);
	admin_request(w->conn, w->sup, m);
	return (0);
}

#define CLIENT_STATES   CONN_BOUND

static const struct route {
	uint8_t op;
	unsigned int states;
	size_t maxfds;
	int tenant;             /* not for an operator's connection */
	int (*fn)(struct worker *, const struct snap_msg *, int *);
} routes[] = {
	{ SNAP_HELLO,  WORKER_NEW,              0, 0, on_hello },
	{ SNAP_BIND,   CONN_SERVED,             0, 0, on_bind },
	{ SNAP_SUBMIT, CLIENT_STATES,           1, 1, on_submit },
	{ SNAP_WATCH,  CLIENT_STATES,           0, 1, on_watch },
	{ SNAP_SIGNAL, CLIENT_STATES,           0, 1, on_signal },
	{ SNAP_INPUT,  CLIENT_STATES,           0, 1, on_input },
	{ SNAP_INPUT_END, CLIENT_STATES,        0, 1, on_input_end },
	{ SNAP_WINDOW, CLIENT_STATES,           0, 1, on_window },
	{ SNAP_LIVE,   CLIENT_STATES,           0, 1, on_live },
	{ SNAP_ADMIN,  CONN_SERVED | CONN_BOUND, 0, 0, on_admin },
};

static unsigned int
state_of(const struct worker *w)
{
	if (child_state(w->child) == CHILD_STARTING)
		return (WORKER_NEW);
	return (w->conn == NULL ? WORKER_IDLE : conn_state(w->conn));
}

int
snap_msg_in(void *cookie, const uint8_t *buf, size_t len, int *fds,
    size_t nfds)
{
	static struct snap_msg m;       /* large, and never needed twice */
	struct worker *w = cookie;
	const struct route *r;
	int none = -1;
	size_t i;

	if (snap_msg_parse(buf, len, &m) == -1)
		return (-1);
	for (i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		r = &routes[i];
		if (r->op != m.op)
			continue;
		if ((r->states & state_of(w)) == 0 || nfds > r->maxfds)
			return (-1);
		if (r->tenant && conn_tenant(w->conn) == NULL)
			return (-1);
		return (r->fn(w, &m, nfds > 0 ? fds : &none));
	}
	return (-1);
}
