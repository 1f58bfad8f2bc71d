/*
 * The queue of walks that take longer than a moment.  Memory and a timer; each
 * walk itself is walk.c's.
 */
#include <sys/queue.h>

#include <errno.h>
#include <stdlib.h>

#include <event2/event.h>

#include "batch.h"
#include "lib/log.h"
#include "store.h"
#include "walk.h"
#include "walks.h"

#define BUDGET          4096    /* look-ups in one step: some milliseconds */

struct item {
	STAILQ_ENTRY(item) next;
	struct walk *walk;
	walks_fn *fn;
	void (*drop)(void *);
	void *cookie;
};

STAILQ_HEAD(item_list, item);

/*
 * Invariants:
 *  1. The timer is pending exactly when the list is not empty.
 *  2. Only the first walk of each tenant has been begun, so that memory is
 *     bounded by the number of tenants.
 */
struct walks {
	struct item_list list;
	struct event *timer;
};

static void step(evutil_socket_t, short, void *);

struct walks *
walks_new(struct store *st)
{
	struct walks *ws;

	if ((ws = calloc(1, sizeof(*ws))) == NULL)
		goto err0;
	STAILQ_INIT(&ws->list);
	if ((ws->timer = evtimer_new(st->base, step, ws)) == NULL)
		goto err1;
	(void)event_priority_set(ws->timer, STORE_PRIO_LATER);
	return (ws);

err1:
	free(ws);
err0:
	return (NULL);
}

void
walks_free(struct walks *ws)
{
	struct item *it;

	if (ws == NULL)
		return;
	event_free(ws->timer);
	while ((it = STAILQ_FIRST(&ws->list)) != NULL) {
		STAILQ_REMOVE_HEAD(&ws->list, next);
		it->drop(it->cookie);
		free(it);
	}
	free(ws);
}

/* A timer of no length: the loop looks at the channels in between. */
static int
arm(struct walks *ws)
{
	static const struct timeval now = { 0, 0 };

	return (event_add(ws->timer, &now));
}

static int
tenant_waits(const struct walks *ws, uint32_t tenant)
{
	const struct item *it;

	STAILQ_FOREACH(it, &ws->list, next) {
		if (walk_tenant(it->walk) == tenant)
			return (1);
	}
	return (0);
}

/* Move all of a tenant's behind the others, in their order. */
static void
rotate(struct walks *ws, uint32_t tenant)
{
	struct item_list others, own;
	struct item *it;

	STAILQ_INIT(&others);
	STAILQ_INIT(&own);
	while ((it = STAILQ_FIRST(&ws->list)) != NULL) {
		STAILQ_REMOVE_HEAD(&ws->list, next);
		if (walk_tenant(it->walk) == tenant)
			STAILQ_INSERT_TAIL(&own, it, next);
		else
			STAILQ_INSERT_TAIL(&others, it, next);
	}
	STAILQ_CONCAT(&ws->list, &others);
	STAILQ_CONCAT(&ws->list, &own);
}

static void
step(evutil_socket_t fd, short what, void *cookie)
{
	struct walks *ws = cookie;
	struct item *it;
	uint32_t tenant;
	int rc, err;

	(void)fd;
	(void)what;
	if ((it = STAILQ_FIRST(&ws->list)) == NULL)
		return;
	tenant = walk_tenant(it->walk);
	rc = walk_step(it->walk, BUDGET);
	err = errno;
	if (rc != 1) {
		STAILQ_REMOVE_HEAD(&ws->list, next);
		errno = err;
		it->fn(it->cookie, rc);
		free(it);
	}
	rotate(ws, tenant);
	if (!STAILQ_EMPTY(&ws->list) && arm(ws) == -1)
		log_warnx("no memory for a timer");
}

int
walks_run(struct walks *ws, struct walk *w, walks_fn *fn,
    void (*drop)(void *), void *cookie)
{
	struct item *it;
	int rc;

	/* The first part at once: nearly all walks end in it. */
	if (!tenant_waits(ws, walk_tenant(w)) &&
	    (rc = walk_step(w, BUDGET)) != 1) {
		fn(cookie, rc);
		return (0);
	}
	if ((it = calloc(1, sizeof(*it))) == NULL)
		goto err0;
	it->walk = w;
	it->fn = fn;
	it->drop = drop;
	it->cookie = cookie;
	if (arm(ws) == -1)
		goto err1;
	STAILQ_INSERT_TAIL(&ws->list, it, next);
	return (0);

err1:
	free(it);
err0:
	errno = ENOMEM;
	return (-1);
}
