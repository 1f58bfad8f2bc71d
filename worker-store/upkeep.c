/*
 * The idle moments of the index.  A timer; what is done in them is index.c's.
 */
#include <errno.h>
#include <stdlib.h>

#include <event2/event.h>

#include "batch.h"
#include "index.h"
#include "lib/log.h"
#include "store.h"
#include "upkeep.h"

#define REST_S          10      /* after a failure */

/* Invariant: the timer is pending while there is something to do. */
struct upkeep {
	struct store *st;
	struct event *timer;
	struct stint_longest longest;
};

static void
arm(struct upkeep *u, long seconds)
{
	const struct timeval tv = { seconds, 0 };

	if (event_add(u->timer, &tv) == -1)
		log_warnx("no memory for a timer");
}

static void
step(evutil_socket_t fd, short what, void *cookie)
{
	struct upkeep *u = cookie;
	struct ix *ix = u->st->ix;
	struct stint s;
	int rc;

	(void)fd;
	(void)what;
	stint_begin(&s);
	rc = ix_upkeep(ix);
	stint_end(&s, &u->longest);
	if (rc == -1) {
		if (errno == ENOTRECOVERABLE) {
			store_broken(u->st);
			return;
		}
		/* The map is made larger for its sake like for anybody's. */
		rc = errno == ENOBUFS && ix_grow(ix) == 0;
		if (!rc) {
			arm(u, REST_S);
			return;
		}
	}
	if (rc == 1)
		arm(u, 0);
}

struct upkeep *
upkeep_new(struct store *st)
{
	struct upkeep *u;

	if ((u = calloc(1, sizeof(*u))) == NULL)
		goto err0;
	u->st = st;
	if ((u->timer = evtimer_new(st->base, step, u)) == NULL)
		goto err1;
	(void)event_priority_set(u->timer, STORE_PRIO_LATER);
	upkeep_touch(u);
	return (u);

err1:
	free(u);
err0:
	return (NULL);
}

void
upkeep_free(struct upkeep *u)
{
	if (u == NULL)
		return;
	event_free(u->timer);
	free(u);
}

void
upkeep_touch(struct upkeep *u)
{
	if (!event_pending(u->timer, EV_TIMEOUT, NULL) &&
	    ix_upkeep_due(u->st->ix))
		arm(u, 0);
}

struct stint_longest
upkeep_longest(const struct upkeep *u)
{
	return (u->longest);
}
