/*
 * When and for whom to collect: the queue of tenants, the steps, and who waits.
 * The phases are in gc_phase.c.  Touches memory and the event loop; reads the
 * index.
 */
#include <sys/queue.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "batch.h"
#include "doubt.h"
#include "gc.h"
#include "gc_internal.h"
#include "index.h"
#include "index_job.h"
#include "lib/crash.h"
#include "lib/io.h"
#include "lib/log.h"
#include "rewrite.h"
#include "store.h"
#include "usage.h"

#define STEP_US         1500            /* then channels have their turn */
#define PAUSE_US        500             /* between steps */
#define AGAIN_US        1000000         /* after a failure */
#define WAITERS_MAX     64
#define DISK_US         60000000        /* as little helps so soon again */
#define USELESS_US      10000000        /* a new one would free no more */

/* Room is made at so much of a tenant's quota, down to so much. */
#define HIGH_PERCENT    85
#define LOW_PERCENT     70

static void on_step(evutil_socket_t, short, void *);

struct gc *
gc_new(struct store *st)
{
	struct gc *gc;

	if ((gc = calloc(1, sizeof(*gc))) == NULL)
		goto err0;
	gc->st = st;
	STAILQ_INIT(&gc->wants);
	STAILQ_INIT(&gc->waiters);
	if ((gc->ev = evtimer_new(st->base, on_step, gc)) == NULL)
		goto err1;
	(void)event_priority_set(gc->ev, STORE_PRIO_LATER);
	return (gc);

err1:
	free(gc);
err0:
	return (NULL);
}

void
gc_free(struct gc *gc)
{
	struct gc_waiter *w;
	struct gc_want *want;

	if (gc == NULL)
		return;
	event_free(gc->ev);
	while ((want = STAILQ_FIRST(&gc->wants)) != NULL) {
		STAILQ_REMOVE_HEAD(&gc->wants, next);
		free(want);
	}
	while ((w = STAILQ_FIRST(&gc->waiters)) != NULL) {
		STAILQ_REMOVE_HEAD(&gc->waiters, next);
		free(w);
	}
	gc_drop(gc);
	free(gc);
}

static void
arm(struct gc *gc, long us)
{
	const struct timeval tv = { us / 1000000, us % 1000000 };

	if (event_add(gc->ev, &tv) == -1)
		log_warnx("no memory for a timer");
}

int
gc_busy(const struct store *st)
{
	return (st->gc->phase != GC_IDLE);
}

static int
want(struct gc *gc, uint32_t tenant, int all, int pressed, uint64_t need)
{
	struct gc_want *w;

	STAILQ_FOREACH(w, &gc->wants, next) {
		if (w->tenant == tenant)
			break;
	}
	if (w == NULL) {
		if ((w = calloc(1, sizeof(*w))) == NULL)
			return (-1);
		w->tenant = tenant;
		STAILQ_INSERT_TAIL(&gc->wants, w, next);
	}
	w->all |= all;
	w->pressed |= pressed;
	if (w->need < need)
		w->need = need;
	if (gc->phase == GC_IDLE)
		arm(gc, 0);
	return (0);
}

static int
want_all(void *cookie, uint32_t tenant, const struct ix_usage *u)
{
	struct gc *gc = cookie;

	if (u->objects == 0)
		return (0);
	return (want(gc, tenant, 1, 0, 0));
}

int
gc_all(struct store *st, uint32_t tenant)
{
	int rc;

	if (tenant != 0)
		return (want(st->gc, tenant, 1, 0, 0));
	if (ix_read(st->ix) == -1)
		return (-1);
	rc = ix_usages(st->ix, want_all, st->gc);
	ix_read_end(st->ix);
	rewrite_kick(st);
	return (rc);
}

int
gc_room(struct store *st, uint32_t tenant, uint64_t need)
{
	return (want(st->gc, tenant, 0, 0, need));
}

static int
want_disk(void *cookie, uint32_t tenant, const struct ix_usage *u)
{
	struct gc *gc = cookie;

	if (u->objects == 0)
		return (0);
	return (want(gc, tenant, 0, 0, gc->disk_need));
}

void
gc_disk(struct store *st, uint64_t need)
{
	struct gc *gc = st->gc;
	uint64_t now = io_mono_us();

	if ((gc->disk_us != 0 && now - gc->disk_us < DISK_US) ||
	    ix_read(st->ix) == -1)
		return;
	gc->disk_us = now;
	gc->disk_need = need;
	(void)ix_usages(st->ix, want_disk, gc);
	ix_read_end(st->ix);
	rewrite_kick(st);
}

/* When one of this tenant ended a moment ago, the next would find the same. */
static int
useless(const struct gc *gc, uint32_t tenant, int pressed)
{
	return (gc->last_tenant == tenant && gc->last_pressed >= pressed &&
	    io_mono_us() - gc->last_us < USELESS_US);
}

void
gc_consider(struct store *st, uint32_t tenant)
{
	const struct store_quota *q = usage_quota(st, tenant);
	struct gc *gc = st->gc;
	struct ix_usage u;

	if (q->bytes == 0 || doubt_damaged(st) || useless(gc, tenant, 0) ||
	    (gc->phase != GC_IDLE && gc->tenant == tenant))
		return;
	if (ix_read(st->ix) == -1)
		return;
	if (usage_get(st, tenant, &u) == 0 &&
	    u.bytes > q->bytes / 100 * HIGH_PERCENT)
		(void)want(gc, tenant, 0, 0,
		    u.bytes - q->bytes / 100 * LOW_PERCENT);
	ix_read_end(st->ix);
}

int
gc_wait(struct store *st, uint32_t tenant, uint64_t need, gc_fn *fn,
    void *cookie)
{
	struct gc *gc = st->gc;
	struct gc_waiter *w;

	if (doubt_damaged(st) || useless(gc, tenant, 1) ||
	    gc->nwaiters == WAITERS_MAX)
		return (-1);
	if ((w = calloc(1, sizeof(*w))) == NULL)
		return (-1);
	if (want(gc, tenant, 0, 1, need) == -1) {
		free(w);
		return (-1);
	}
	w->tenant = tenant;
	w->fn = fn;
	w->cookie = cookie;
	STAILQ_INSERT_TAIL(&gc->waiters, w, next);
	gc->nwaiters++;
	return (0);
}

/* Call those that wait for the tenant, or all with 0; they may wait anew. */
static void
wake(struct gc *gc, uint32_t tenant)
{
	struct gc_waiter *w;
	size_t n = gc->nwaiters;

	while (n-- > 0 && (w = STAILQ_FIRST(&gc->waiters)) != NULL) {
		STAILQ_REMOVE_HEAD(&gc->waiters, next);
		if (tenant != 0 && w->tenant != tenant) {
			STAILQ_INSERT_TAIL(&gc->waiters, w, next);
			continue;
		}
		gc->nwaiters--;
		w->fn(w->cookie);
		free(w);
	}
}

void
gc_kick(struct store *st)
{
	if (!STAILQ_EMPTY(&st->gc->wants))
		arm(st->gc, 0);
}

void
gc_wake(struct store *st)
{
	wake(st->gc, 0);
}

static void
over(struct gc *gc)
{
	uint32_t tenant = gc->tenant;

	gc->fig.memory = gc->marks == NULL ? 0 : marks_memory(gc->marks);
	gc->last_tenant = tenant;
	gc->last_pressed = gc->pressed;
	gc->last_us = io_mono_us();
	gc_drop(gc);
	log_info("collection of tenant %u: %llu marked, %llu deleted so far",
	    tenant, (unsigned long long)gc->fig.marked,
	    (unsigned long long)gc->fig.deleted);
	CRASH_POINT("gc-over");
	wake(gc, tenant);
	rewrite_collected(gc->st, gc->last_us - gc->began_us);
}

/* Nothing is deleted of this tenant for now. */
static void
abandon(struct gc *gc, const char *why)
{
	log_warnx("collection of tenant %u ends early, nothing of the rest is "
	    "deleted: %s", gc->tenant, why);
	gc->fig.abandoned++;
	over(gc);
}

/* Nothing can be deleted at all: nobody need wait for it. */
static void
give_up(struct gc *gc)
{
	struct gc_want *w;

	while ((w = STAILQ_FIRST(&gc->wants)) != NULL) {
		STAILQ_REMOVE_HEAD(&gc->wants, next);
		gc->fig.abandoned++;
		free(w);
	}
	wake(gc, 0);
}

/* One step; 0 when there is nothing to do, else how long to pause. */
static long
step(struct gc *gc)
{
	struct gc_want *w;
	int rc;

	if (gc->st->broken)
		return (0);
	if (gc->phase == GC_IDLE) {
		if ((w = STAILQ_FIRST(&gc->wants)) == NULL)
			return (0);
		if ((rc = doubt_none(gc->st)) == -1)
			give_up(gc);
		if (rc != 1)
			return (0);
		if (rewrite_turn(gc->st))
			return (PAUSE_US);
		gc->began_us = io_mono_us();
		if (gc_begin(gc, w) == -1) {
			doubt_errno(gc->st);
			gc->last_tenant = w->tenant;
			gc->last_pressed = w->pressed;
			gc->last_us = io_mono_us();
			wake(gc, w->tenant);
			return (AGAIN_US);
		}
		STAILQ_REMOVE_HEAD(&gc->wants, next);
		free(w);
		return (PAUSE_US);
	}
	gc->until = io_mono_us() + TEST_NUMBER("gc-step-us", STEP_US);
	if (gc->drops != gc->st->drops)
		abandon(gc, "a flush failed meanwhile");
	else if (gc->failed != 0)
		abandon(gc, strerror(gc->failed));
	else if ((rc = gc_phase(gc)) == -1) {
		if (errno == ENOSPC || errno == ENOBUFS || errno == EIO)
			return (AGAIN_US);
		doubt_errno(gc->st);
		abandon(gc, errno == ENOLINK ? "something that a job refers "
		    "to is missing or damaged (errandctl store verify)" :
		    strerror(errno));
	} else if (rc == 0) {
		gc->fig.runs++;
		over(gc);
	}
	return (gc->phase != GC_IDLE || !STAILQ_EMPTY(&gc->wants) ?
	    PAUSE_US : 0);
}

static void
on_step(evutil_socket_t fd, short what, void *cookie)
{
	struct gc *gc = cookie;
	struct stint s;
	long pause;

	(void)fd;
	(void)what;
	stint_begin(&s);
	pause = step(gc);
	stint_end(&s, &gc->fig.longest);
	if (pause != 0 && !gc->st->broken)
		arm(gc, pause);
}

void
gc_figures(const struct store *st, struct gc_figures *f)
{
	static const char *const names[] = {
		[GC_IDLE] = "idle", [GC_ROOTS] = "mark", [GC_COUNT] = "count",
		[GC_SWEEP] = "sweep"
	};
	const struct gc *gc = st->gc;
	const struct gc_want *w;

	*f = gc->fig;
	f->tenant = gc->phase == GC_IDLE ? 0 : gc->tenant;
	f->phase = names[gc->phase];
	if (gc->marks != NULL)
		f->memory = marks_memory(gc->marks);
	STAILQ_FOREACH(w, &gc->wants, next)
		f->waiting++;
}
