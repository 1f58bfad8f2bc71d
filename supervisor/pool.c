/*
 * The errand-snapshot processes: keeps some ready, and gives each uid to one
 * process at a time.  Processes are started and ended by child.c.
 */
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <unistd.h>

#include "child.h"
#include "config.h"
#include "conn.h"
#include "lib/log.h"
#include "pool.h"
#include "roles.h"
#include "snap_dispatch.h"
#include "sup.h"

#define SOON_US         20000
#define UIDS_OTHER      2       /* store and exec come first in the range */

struct pool {
	struct sup *sup;
	size_t n;
	size_t wanted;          /* idle or on the way */
	int stopping;
	struct event soon;      /* refill after a claim */
	struct worker workers[];
};

static void
on_up(void *cookie)
{
	struct worker *w = cookie;

	w->idle = 1;
	conns_worker_idle(w->sup->conns);
}

/*
 * One that ended before it had a client has no client to blame: the next would
 * end the same way, so not at once.
 */
static void
on_gone(void *cookie)
{
	struct worker *w = cookie;
	int unused = w->idle;

	w->idle = 0;
	if (w->conn != NULL)
		conn_worker_gone(w->conn);
	w->conn = NULL;
	if (unused && !w->sup->pool->stopping)
		child_delay(w->child);
}

static void
on_down(void *cookie)
{
	struct worker *w = cookie;

	pool_refill(w->sup->pool);
	if (w->sup->pool->stopping)
		conns_pool_down(w->sup->conns);
}

static const struct child_ops ops = {
	snap_msg_in, on_up, on_gone, on_down
};

static size_t
places(const struct config *cfg)
{
	size_t n = cfg->worker_uids.last - cfg->worker_uids.first + 1 -
	    UIDS_OTHER;

	return (n > POOL_MAX ? POOL_MAX : n);
}

static void
on_soon(evutil_socket_t fd, short what, void *cookie)
{
	(void)fd;
	(void)what;
	pool_refill(cookie);
}

struct pool *
pool_new(struct sup *sup)
{
	size_t i, n = places(sup->cfg);
	struct pool *p;
	struct child_init init = {
		.base = sup->base, .cfg = sup->cfg,
		.role = &roles[ROLE_SNAPSHOT], .level = sup->log_level,
		.ops = &ops
	};

	if ((p = calloc(1, sizeof(*p) + n * sizeof(p->workers[0]))) == NULL)
		return (NULL);
	p->sup = sup;
	p->wanted = sup->cfg->idle_workers;
	evtimer_assign(&p->soon, sup->base, on_soon, p);
	for (i = 0; i < n; i++) {
		p->workers[i].sup = sup;
		init.uid = sup->cfg->rootless ? getuid() :
		    sup->cfg->worker_uids.first + UIDS_OTHER + (uint32_t)i;
		init.cookie = &p->workers[i];
		if ((p->workers[i].child = child_new(&init)) == NULL) {
			pool_free(p);
			return (NULL);
		}
		p->n++;
	}
	return (p);
}

void
pool_free(struct pool *p)
{
	size_t i;

	if (p == NULL)
		return;
	for (i = 0; i < p->n; i++)
		child_free(p->workers[i].child);
	event_del(&p->soon);
	free(p);
}

/* A place that backs off counts too: then a program that cannot start is not
 * tried everywhere at once. */
static int
coming(const struct worker *w)
{
	enum child_state st = child_state(w->child);

	return (w->idle || st == CHILD_STARTING || st == CHILD_BACKOFF);
}

void
pool_refill(struct pool *p)
{
	size_t i, have = 0;

	if (p->stopping)
		return;
	for (i = 0; i < p->n; i++)
		have += (size_t)coming(&p->workers[i]);
	for (i = 0; i < p->n && have < p->wanted; i++)
		if (child_state(p->workers[i].child) == CHILD_DOWN) {
			child_event(p->workers[i].child, CHILD_WANT);
			have++;
		}
}

void
pool_refill_soon(struct pool *p)
{
	static const struct timeval tv = { 0, SOON_US };
	size_t i;

	for (i = 0; i < p->n; i++)
		if (p->workers[i].idle)
			break;
	if (i == p->n || (!evtimer_pending(&p->soon, NULL) &&
	    evtimer_add(&p->soon, &tv) == -1))
		pool_refill(p);
}

struct worker *
pool_claim(struct pool *p)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (p->workers[i].idle) {
			p->workers[i].idle = 0;
			return (&p->workers[i]);
		}
	return (NULL);
}

void
pool_stop(struct pool *p)
{
	size_t i;

	p->stopping = 1;
	for (i = 0; i < p->n; i++)
		child_event(p->workers[i].child, CHILD_STOP);
}

int
pool_down(const struct pool *p)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (child_state(p->workers[i].child) != CHILD_DOWN)
			return (0);
	return (1);
}

size_t
pool_places(const struct pool *p)
{
	return (p->n);
}

struct worker *
pool_at(struct pool *p, size_t i)
{
	return (i < p->n ? &p->workers[i] : NULL);
}
