/*
 * CARE: what an operator asks of the store as a whole.  Timers and replies; the
 * tasks themselves are gc_care.c, verify*.c and backup.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "batch.h"
#include "care.h"
#include "fault.h"
#include "handlers.h"
#include "lib/io.h"
#include "lib/log.h"
#include "stat.h"
#include "store.h"

#define SLICE_US        5000            /* of work, then others have a turn */
#define LATER_US        20000
#define SILENCE_US      200000          /* then how far it is is said */

struct care_state {
	struct store *st;
	struct event *timer;
	const struct care_ops *ops;     /* NULL: there is no task */
	void *task;
	struct peer *peer;              /* held while there is one */
	struct ask ask;
	int asked;                      /* ask waits for its answer */
	uint64_t said_us;
	struct care out;
};

static const struct care_ops *const tasks[] = {
	[CARE_GC] = &gc_ops,
	[CARE_VERIFY] = &verify_ops,
	[CARE_REPAIR] = &repair_ops,
	[CARE_BACKUP] = &backup_ops,
};

#define NTASKS  (sizeof(tasks) / sizeof(tasks[0]))

uint64_t
care_slice(void)
{
	return (io_mono_us() + SLICE_US);
}

void
care_figure(struct care *c, const char *name, uint64_t value)
{
	struct care_figure *f;

	if (c->nfigures == CARE_FIGURES)
		return;
	f = &c->figures[c->nfigures++];
	(void)snprintf(f->name, sizeof(f->name), "%s", name);
	f->value = value;
}

/* The task is over, its channel or not. */
static void
finish(struct care_state *cs)
{
	const struct care_ops *ops = cs->ops;
	void *task = cs->task;
	struct peer *p = cs->peer;

	(void)event_del(cs->timer);
	if (ops == NULL)
		return;
	cs->ops = NULL;
	cs->task = NULL;
	cs->peer = NULL;
	if (cs->asked)
		p->waiting--;
	cs->asked = 0;
	ops->free(task);
	peer_release(p);
}

static void
say(struct care_state *cs, int fd)
{
	struct store_msg m = { 0 };
	struct ask a = cs->ask;

	m.u.ok.care = cs->out;
	memset(&cs->out, 0, sizeof(cs->out));
	cs->asked = 0;
	cs->peer->waiting--;
	cs->said_us = io_mono_us();
	ask_ok(&a, &m, fd);
}

static void
fail(struct care_state *cs)
{
	struct err e;

	fault_errno(&e, errno, NULL);
	ask_err(&cs->ask, &e);
	finish(cs);
}

static void
arm(struct care_state *cs, long us)
{
	const struct timeval tv = { 0, us };

	if (event_add(cs->timer, &tv) == -1)
		fail(cs);
}

static void
on_timer(evutil_socket_t ev, short what, void *cookie)
{
	struct care_state *cs = cookie;
	enum care_rc rc;
	int fd = -1;

	(void)ev;
	(void)what;
	if (!cs->asked)
		return;
	peer_hold(cs->peer);
	rc = cs->ops->step(cs->task, &cs->out, &fd);
	if (rc == CARE_FAILED)
		fail(cs);
	else if (rc == CARE_DONE) {
		cs->out.done = 1;
		say(cs, fd);
		finish(cs);
	} else if (rc == CARE_SAY ||
	    io_mono_us() - cs->said_us >= SILENCE_US)
		say(cs, fd);
	else
		arm(cs, rc == CARE_LATER ? LATER_US : 0);
	peer_release(cs->ask.peer);
}

struct care_state *
care_new(struct store *st)
{
	struct care_state *cs;

	if ((cs = calloc(1, sizeof(*cs))) == NULL)
		goto err0;
	cs->st = st;
	if ((cs->timer = evtimer_new(st->base, on_timer, cs)) == NULL)
		goto err1;
	(void)event_priority_set(cs->timer, STORE_PRIO_LATER);
	return (cs);

err1:
	free(cs);
err0:
	return (NULL);
}

void
care_free(struct care_state *cs)
{
	if (cs == NULL)
		return;
	finish(cs);
	event_free(cs->timer);
	free(cs);
}

void
care_gone(struct store *st, const struct peer *p)
{
	if (st->care != NULL && st->care->peer == p)
		finish(st->care);
}

static void
refuse(const struct ask *a, enum err_code code, const char *text)
{
	struct err e;

	fault_set(&e, code, NULL, "%s", text);
	e.retry = code == ERR_BUSY;
	ask_err(a, &e);
}

static void
on_figures(const struct ask *a)
{
	struct store_msg m = { 0 };
	struct err e;

	m.u.ok.care.done = 1;
	if (stat_fill(a->peer->st, &m.u.ok.care) == -1) {
		fault_errno(&e, errno, NULL);
		ask_err(a, &e);
	} else
		ask_ok(a, &m, -1);
}

static void
begin(struct care_state *cs, const struct ask *a, const struct care_ops *ops)
{
	struct err e;

	if (cs->ops != NULL) {
		refuse(a, ERR_BUSY, "another task of this kind is under way: "
		    "wait for its end");
		return;
	}
	if ((cs->task = ops->open(cs->st)) == NULL) {
		fault_errno(&e, errno, NULL);
		ask_err(a, &e);
		return;
	}
	cs->ops = ops;
	cs->peer = a->peer;
	peer_hold(a->peer);
	memset(&cs->out, 0, sizeof(cs->out));
	cs->said_us = io_mono_us();
}

void
on_care(const struct ask *a, const struct store_msg *m, int *fds)
{
	struct care_state *cs = a->peer->st->care;
	uint8_t task = m->u.care.task;

	(void)fds;
	if (task == CARE_STAT) {
		on_figures(a);
		return;
	}
	if (task < NTASKS && tasks[task] != NULL)
		begin(cs, a, tasks[task]);
	else if (task != CARE_NEXT) {
		refuse(a, ERR_INVALID, "this store knows no such task");
		return;
	} else if (cs->peer != a->peer || cs->asked) {
		peer_close(a->peer, "NEXT without a task, or out of turn");
		return;
	}
	if (cs->peer != a->peer)
		return;                 /* refused */
	cs->ask = *a;
	cs->asked = 1;
	a->peer->waiting++;
	arm(cs, 0);
}
