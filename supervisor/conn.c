/*
 * The supervisor's side of a connection: who it is, which worker serves it,
 * which jobs it follows.  Passes the client's socket on and never reads from
 * it; the file that does is worker-snapshot/conn.c.
 */
#include <sys/queue.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "config.h"
#include "conn.h"
#include "job_input.h"
#include "jobs.h"
#include "lib/chan.h"
#include "lib/io.h"
#include "lib/log.h"
#include "places.h"
#include "pool.h"
#include "proto/client_msg.h"
#include "store_client.h"
#include "sup.h"
#include "tenants.h"
#include "tenants_limits.h"
#include "turn_away.h"

#define OPERATORS       8       /* places that clients leave to operators */
#define OPERATOR_MAX    32      /* of these a user's */
#define SAY_US          1000000 /* between two lines on who was turned away */

/*
 * Invariants:
 *  1. fd != -1 exactly in WAITING: later only the worker holds the client's
 *     descriptor, so that its end is the connection's.
 *  2. worker != NULL exactly in the other states, and worker->conn is this.
 *  3. tenant is set once, when binding begins, and decides whose jobs it may
 *     see; an operator's connection has none.
 *  4. clients do not fill the places there are: an operator comes in whatever
 *     they do.  places.h says whose the others are.
 */
struct conn {
	TAILQ_ENTRY(conn) next;
	struct sup *sup;
	enum conn_state state;
	uint64_t serial;
	int fd;
	int admin;
	uint32_t uid;
	struct holder *holder;  /* of a client's place; NULL: an operator's */
	struct worker *worker;
	struct tenant *tenant;
	uint64_t bind_id;       /* the worker's request */
	uint64_t bind_request;  /* ours to the store */
	int store_fd;           /* our worker's end, until BOUND */
	TAILQ_HEAD(, watch) watches;
	unsigned int nwatches;
};

struct conns {
	struct sup *sup;
	TAILQ_HEAD(, conn) all;
	struct places *places;
	unsigned int count;
	uint64_t serial;
	uint64_t said_us;       /* who was turned away */
	unsigned int unsaid;
	void (*stopped)(struct sup *);
	struct snap_msg out;
	uint8_t buf[CHAN_MSG_MAX];
};

/* Places for clients; in a very short range of uids operators get fewer. */
static size_t
client_places(const struct pool *pool)
{
	size_t n = pool_places(pool);

	return (n >= 2 * OPERATORS ? n - OPERATORS : (n + 1) / 2);
}

struct conns *
conns_new(struct sup *sup, void (*stopped)(struct sup *))
{
	struct conns *cs;

	if ((cs = calloc(1, sizeof(*cs))) == NULL)
		return (NULL);
	TAILQ_INIT(&cs->all);
	cs->sup = sup;
	cs->stopped = stopped;
	if ((cs->places = places_new(sup->tenants, client_places(sup->pool))) ==
	    NULL) {
		free(cs);
		return (NULL);
	}
	return (cs);
}

static void
submits_drop(struct conn *c)
{
	struct job *j;

	for (j = jobs_next(c->sup->jobs, NULL); j != NULL;
	    j = jobs_next(c->sup->jobs, j))
		if (j->submitter == c)
			j->submitter = NULL;
}

static void
conn_free(struct conn *c)
{
	struct conns *cs = c->sup->conns;
	struct watch *w;

	while ((w = TAILQ_FIRST(&c->watches)) != NULL)
		watch_free(w);
	submits_drop(c);
	job_inputs_drop(c->sup, c);
	store_forget(c->sup->store, c->bind_request);
	if (c->worker != NULL)
		c->worker->conn = NULL;
	places_give(cs->places, c->holder);
	io_close(&c->fd);
	io_close(&c->store_fd);
	TAILQ_REMOVE(&cs->all, c, next);
	cs->count--;
	free(c);
}

void
conns_free(struct conns *cs)
{
	struct conn *c;

	if (cs == NULL)
		return;
	while ((c = TAILQ_FIRST(&cs->all)) != NULL)
		conn_free(c);
	places_free(cs->places);
	free(cs);
}

unsigned int
conns_count(const struct conns *cs)
{
	return (cs->count);
}

/* Hand the client to a worker that has never served. */
static void
serve(struct conn *c, struct worker *w)
{
	struct snap_msg *m;
	int fd = c->fd;

	c->fd = -1;
	c->state = CONN_SERVED;
	c->worker = w;
	w->conn = c;
	m = conn_msg(c, SNAP_SERVE, 0);
	m->u.serve.admin = (uint8_t)c->admin;
	m->u.serve.peer_uid = c->uid;
	conn_send(c, m, fd);
}

/* Who waits for a worker and is next: operators, then the user with the fewest
 * connections, so that nobody waits behind another's many. */
static struct conn *
next_waiting(const struct conns *cs)
{
	struct conn *c, *best = NULL;

	TAILQ_FOREACH(c, &cs->all, next) {
		if (c->state != CONN_WAITING)
			continue;
		if (c->admin)
			return (c);
		if (best == NULL ||
		    places_held(c->holder) < places_held(best->holder))
			best = c;
	}
	return (best);
}

void
conns_worker_idle(struct conns *cs)
{
	struct worker *w;
	struct conn *c;

	while ((c = next_waiting(cs)) != NULL) {
		if ((w = pool_claim(cs->sup->pool)) == NULL)
			return;
		serve(c, w);
		pool_refill_soon(cs->sup->pool);
	}
}

void
conns_pool_down(struct conns *cs)
{
	if (pool_down(cs->sup->pool))
		cs->stopped(cs->sup);
}

/* May this operator come in?  0, or -1 with ${err}. */
static int
operator_may(const struct conns *cs, uint32_t uid, struct err *err)
{
	const struct conn *c;
	unsigned int n = 0;

	TAILQ_FOREACH(c, &cs->all, next)
		n += c->admin && c->uid == uid;
	if (n >= OPERATOR_MAX || cs->count >= pool_places(cs->sup->pool))
		return (err_set(err, ERR_BUSY, "uid %u has %u connections to "
		    "the control socket, and there is no place for another",
		    uid, n));
	return (0);
}

/* A line a second: how often somebody knocks is up to him. */
static void
say_refused(struct conns *cs, const struct err *err)
{
	uint64_t now = io_mono_us();

	if (cs->said_us != 0 && now - cs->said_us < SAY_US) {
		cs->unsaid++;
		return;
	}
	if (cs->unsaid > 0)
		log_warnx("%s (and %u others were turned away before)",
		    err->text, cs->unsaid);
	else
		log_warnx("%s", err->text);
	cs->said_us = now;
	cs->unsaid = 0;
}

void
conns_accept(struct conns *cs, int fd, uint32_t uid, int admin)
{
	struct holder *h = NULL;
	struct err err;
	struct conn *c;

	if (admin ? operator_may(cs, uid, &err) == -1 :
	    (h = places_take(cs->places, uid, &err)) == NULL) {
		say_refused(cs, &err);
		goto err0;
	}
	if ((c = calloc(1, sizeof(*c))) == NULL)
		goto err1;
	TAILQ_INIT(&c->watches);
	c->sup = cs->sup;
	c->serial = ++cs->serial;
	c->state = CONN_WAITING;
	c->fd = fd;
	c->store_fd = -1;
	c->uid = uid;
	c->admin = admin;
	c->holder = h;
	TAILQ_INSERT_TAIL(&cs->all, c, next);
	cs->count++;
	conns_worker_idle(cs);
	return;

err1:
	log_warn("connection");
	places_give(cs->places, h);
	(void)err_set(&err, ERR_BUSY, "the host is out of memory");
err0:
	turn_away(fd, &err);
}

void
conn_worker_gone(struct conn *c)
{
	c->worker = NULL;
	conn_free(c);
}

enum conn_state
conn_state(const struct conn *c)
{
	return (c->state);
}

int
conn_admin(const struct conn *c)
{
	return (c->admin);
}

uint32_t
conn_uid(const struct conn *c)
{
	return (c->uid);
}

struct tenant *
conn_tenant(const struct conn *c)
{
	return (c->tenant);
}

uint64_t
conn_serial(const struct conn *c)
{
	return (c->serial);
}

struct conn *
conns_by_serial(struct conns *cs, uint64_t serial)
{
	struct conn *c;

	TAILQ_FOREACH(c, &cs->all, next)
		if (c->serial == serial)
			return (c);
	return (NULL);
}

struct snap_msg *
conn_msg(struct conn *c, enum snap_op op, uint64_t id)
{
	struct snap_msg *m = &c->sup->conns->out;

	memset(m, 0, sizeof(*m));
	m->op = (uint8_t)op;
	m->id = id;
	return (m);
}

void
conn_send(struct conn *c, const struct snap_msg *m, int fd)
{
	struct conns *cs = c->sup->conns;
	ssize_t n;

	if (c->worker == NULL)
		goto err0;
	if ((n = snap_msg_pack(m, cs->buf, sizeof(cs->buf))) == -1) {
		log_warnx("snapshot: a message of kind %d does not fit", m->op);
		child_fault(c->worker->child, "an answer could not be packed");
		goto err0;
	}
	(void)child_send(c->worker->child, cs->buf, (size_t)n, &fd, fd != -1);
	return;

err0:
	io_close(&fd);
}

void
conn_error(struct conn *c, uint64_t id, const struct err *err)
{
	struct snap_msg *m = conn_msg(c, SNAP_ERROR, id);

	m->u.error = *err;
	if (m->u.error.code == ERR_NONE)
		m->u.error.code = ERR_INTERNAL;
	conn_send(c, m, -1);
}

void
conn_submitted(struct conn *c, uint64_t id, const char *job, uint8_t state,
    int existed)
{
	struct snap_msg *m = conn_msg(c, SNAP_SUBMITTED, id);

	snprintf(m->u.submitted.job, sizeof(m->u.submitted.job), "%s", job);
	m->u.submitted.state = state;
	m->u.submitted.existed = (uint8_t)existed;
	conn_send(c, m, -1);
}

/* What the client is told with BOUND, an operator's without a store. */
static void
bound_send(struct conn *c, int fd)
{
	const struct sup *sup = c->sup;
	struct snap_msg *m = conn_msg(c, SNAP_BOUND, c->bind_id);
	struct job_limits none = { 0 }, *l = &m->u.bound.limits;
	uint32_t i;

	*l = none;
	if (c->tenant != NULL) {
		memcpy(m->u.bound.tenant, c->tenant->conf.name,
		    sizeof(m->u.bound.tenant));
		tenant_limits(sup->tenants, c->tenant, l);
		limits_hold(sup, l);
		m->u.bound.net_host = c->tenant->conf.net_host;
		m->u.bound.disk_soft = (uint8_t)sup->cfg->rootless;
		m->u.bound.disk_may = (uint8_t)limits_may(sup, "disk");
		m->u.bound.cpu_time_may = (uint8_t)limits_may(sup, "cpu-time");
	} else
		strcpy(m->u.bound.tenant, "operator");
	memcpy(m->u.bound.host_key, sup->host_pk,
	    sizeof(m->u.bound.host_key));
	snprintf(m->u.bound.host, sizeof(m->u.bound.host), "%s",
	    sup->cfg->host_name);
	m->u.bound.nimages = sup->cfg->nimages;
	for (i = 0; i < sup->cfg->nimages; i++)
		memcpy(m->u.bound.images[i].name, sup->cfg->images[i].name,
		    sizeof(m->u.bound.images[i].name));
	m->u.bound.cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	m->u.bound.memory = (uint64_t)sysconf(_SC_PHYS_PAGES) *
	    (uint64_t)sysconf(_SC_PAGESIZE);
	c->state = CONN_BOUND;
	conn_send(c, m, fd);
}

static void
on_bound(void *cookie, const struct store_msg *m, int fd)
{
	struct conn *c = cookie;

	(void)fd;
	c->bind_request = 0;
	if (m->op == STORE_OK) {
		fd = c->store_fd;
		c->store_fd = -1;
		bound_send(c, fd);
		return;
	}
	io_close(&c->store_fd);
	if (m->u.error.code == ERR_WORKER_LOST)
		return;         /* asked again when it is back */
	c->state = CONN_SERVED;
	conn_error(c, c->bind_id, &m->u.error);
}

/* Ask the store; when it is away now, conns_store_back asks again. */
static void
bind_ask(struct conn *c)
{
	struct store_msg m;
	int pair[2];

	if (chan_pair(pair) == -1) {
		log_warn("store channel");
		return;
	}
	memset(&m, 0, sizeof(m));
	m.op = STORE_BIND;
	m.u.bind.tenant_id = c->tenant->conf.id;
	m.u.bind.rights = STORE_RIGHT_PUT | STORE_RIGHT_GET |
	    STORE_RIGHT_JOBS;
	tenant_quota(c->sup->tenants, c->tenant, &m.u.bind.quota);
	c->store_fd = pair[1];
	c->bind_request = store_request(c->sup->store, &m, pair[0], on_bound,
	    c);
	if (c->bind_request == 0)
		io_close(&c->store_fd);
}

/* The store cannot be opened: waiting for it would take as long as that. */
static void
stuck(struct conn *c)
{
	struct err err;

	memset(&err, 0, sizeof(err));
	(void)err_set(&err, ERR_IO, "the host's store cannot be opened, so "
	    "nothing can be run or shown; its operator finds the reason with "
	    "errandctl status");
	err.retry = 1;
	c->state = CONN_SERVED;
	conn_error(c, c->bind_id, &err);
}

/*
 * An operator gets in whatever the store does: the answer is not waited for,
 * and when there is no store there is no channel.
 */
static void
operator_bind(struct conn *c)
{
	struct store_msg m;
	int pair[2];

	if (!store_client_up(c->sup->store) || chan_pair(pair) == -1) {
		bound_send(c, -1);
		return;
	}
	memset(&m, 0, sizeof(m));
	m.op = STORE_BIND;
	m.u.bind.rights = STORE_RIGHT_CARE;
	if (store_request(c->sup->store, &m, pair[0], NULL, NULL) == 0)
		io_close(&pair[1]);
	bound_send(c, pair[1]);
}

void
conn_bind(struct conn *c, uint64_t id, struct tenant *t)
{
	c->bind_id = id;
	c->tenant = t;
	c->state = CONN_BINDING;
	if (t != NULL && store_client_trouble(c->sup->store)) {
		stuck(c);
		return;
	}
	if (t != NULL)
		bind_ask(c);
	else
		operator_bind(c);
}

void
conns_store_stuck(struct conns *cs)
{
	struct conn *c;

	TAILQ_FOREACH(c, &cs->all, next)
		if (c->state == CONN_BINDING && c->bind_request == 0)
			stuck(c);
}

void
conns_store_back(struct conns *cs)
{
	struct conn *c;

	TAILQ_FOREACH(c, &cs->all, next)
		if (c->state == CONN_BINDING && c->bind_request == 0)
			bind_ask(c);
}

int
conn_watch(struct conn *c, struct job *j, int log, struct err *err)
{
	struct watch *w;

	TAILQ_FOREACH(w, &c->watches, of_conn)
		if (w->job == j) {
			w->log |= log;
			return (0);
		}
	if (c->nwatches >= CONN_WATCHES)
		return (err_set(err, ERR_LIMIT, "one connection follows %d "
		    "jobs at most", CONN_WATCHES));
	if ((w = calloc(1, sizeof(*w))) == NULL)
		return (err_set(err, ERR_BUSY, "the host is out of memory"));
	w->conn = c;
	w->job = j;
	w->log = log;
	TAILQ_INSERT_TAIL(&c->watches, w, of_conn);
	TAILQ_INSERT_TAIL(&j->watches, w, of_job);
	c->nwatches++;
	return (0);
}

void
watch_free(struct watch *w)
{
	TAILQ_REMOVE(&w->conn->watches, w, of_conn);
	TAILQ_REMOVE(&w->job->watches, w, of_job);
	w->conn->nwatches--;
	free(w);
}

void
conn_job_state(struct job *j)
{
	struct snap_msg *m;
	struct watch *w;

	TAILQ_FOREACH(w, &j->watches, of_job) {
		m = conn_msg(w->conn, SNAP_JOB, 0);
		memcpy(m->u.job.job, j->rec.id, sizeof(m->u.job.job));
		m->u.job.state = j->rec.state;
		if (JOB_IS_FINAL(j->rec.state)) {
			m->u.job.record = j->rec;
			m->u.job.has_record = 1;
		}
		conn_send(w->conn, m, -1);
	}
}

void
conn_job_log(struct job *j)
{
	struct snap_msg *m;
	struct watch *w;

	TAILQ_FOREACH(w, &j->watches, of_job) {
		if (!w->log)
			continue;
		m = conn_msg(w->conn, SNAP_LOG, 0);
		memcpy(m->u.log.job, j->rec.id, sizeof(m->u.log.job));
		m->u.log.bytes = j->log_bytes;
		conn_send(w->conn, m, -1);
	}
}
