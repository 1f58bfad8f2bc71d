/*
 * Lets clients in and ends a private daemon that nobody uses.  Timers and the
 * state of others only; listen.c does the accepting, stop.c the ending.
 */
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>

#include "child.h"
#include "conn.h"
#include "exec_dispatch.h"
#include "jobs.h"
#include "lib/io.h"
#include "lib/log.h"
#include "listen.h"
#include "serve.h"
#include "stop.h"
#include "sup.h"

#define LATE_S          3       /* then a missing worker is not waited for */
#define IDLE_LOOK_S     30

struct serve {
	struct sup *sup;
	void (*ready)(struct sup *);
	struct event late;
	struct event idle;
	uint64_t used_us;       /* when somebody was last seen */
	int serving;
	int said;
};

static void
start(struct serve *s)
{
	if (s->serving || s->sup->stopping)
		return;
	s->serving = 1;
	if (listen_start(s->sup->listeners) == -1)
		stop_begin(s->sup);
}

/*
 * A worker that does not come up must not make the daemon mute: what it can
 * still do (status, refusals with the reason) it does.
 */
static void
on_late(evutil_socket_t fd, short what, void *cookie)
{
	struct serve *s = cookie;

	(void)fd;
	(void)what;
	if (!s->serving && !s->sup->stopping) {
		log_warnx("a worker is not up after %d s; clients are served "
		    "as far as that goes", LATE_S);
		start(s);
	}
}

static void
on_idle(evutil_socket_t fd, short what, void *cookie)
{
	struct serve *s = cookie;
	uint64_t now = io_mono_us();

	(void)fd;
	(void)what;
	if (conns_count(s->sup->conns) > 0 || jobs_count(s->sup->jobs) > 0)
		s->used_us = now;
	if (s->sup->stopping || now - s->used_us < SERVE_IDLE_US)
		return;
	log_info("nobody has used this daemon for %llu s; it ends",
	    SERVE_IDLE_US / 1000000);
	stop_begin(s->sup);
}

struct serve *
serve_new(struct sup *sup, void (*ready)(struct sup *), int transient)
{
	struct timeval late = { LATE_S, 0 }, look = { IDLE_LOOK_S, 0 };
	struct serve *s;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return (NULL);
	s->sup = sup;
	s->ready = ready;
	s->used_us = io_mono_us();
	evtimer_assign(&s->late, sup->base, on_late, s);
	event_assign(&s->idle, sup->base, -1, EV_PERSIST, on_idle, s);
	if (evtimer_add(&s->late, &late) == -1 ||
	    (transient && event_add(&s->idle, &look) == -1)) {
		serve_free(s);
		return (NULL);
	}
	return (s);
}

void
serve_free(struct serve *s)
{
	if (s == NULL)
		return;
	event_del(&s->late);
	event_del(&s->idle);
	free(s);
}

void
serve_stuck(struct serve *s)
{
	if (!s->serving && !s->sup->stopping)
		start(s);
}

void
serve_look(struct serve *s)
{
	struct sup *sup = s->sup;

	if (!sup->recovered || sup->stopping ||
	    child_state(exec_link_child(sup->exec)) != CHILD_UP)
		return;
	start(s);
	if (s->said || sup->stopping)
		return;
	s->said = 1;
	s->ready(sup);
}
