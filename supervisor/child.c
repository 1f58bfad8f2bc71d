/*
 * Supervision of one worker process: start, ready, stop, back-off.  Holds its
 * pidfd and its channel, kills and reaps it.  How a process is made is in
 * spawn.c; what a worker says is its owner's business.
 */
#include <sys/types.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child_internal.h"
#include "config.h"
#include "lib/io.h"
#include "lib/log.h"
#include "roles.h"
#include "spawn.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

#define READY_MS        10000   /* from the start to its HELLO */
#define STOP_MS         3000    /* from the end of its channel to its exit */
#define KILL_MS         1000    /* a killed process that is still there */
#define STEADY_US       (30 * UINT64_C(1000000))

/* Milliseconds before the next start, by the number of deaths in a row. */
static const unsigned int delays[] = { 50, 200, 1000, 2000, 5000, 10000 };

/*
 * Invariants of struct child, true whenever the event loop runs:
 *  1. pid > 0 and pidfd != -1 exactly in STARTING, UP and STOPPING.
 *  2. chan != NULL exactly in STARTING and UP.
 *  3. The timer is armed exactly in STARTING, STOPPING and BACKOFF.
 *  4. again is set only in STOPPING: it is to be started when it has ended.
 */
struct child {
	struct child_init init;
	enum child_state state;
	pid_t pid;
	int pidfd;
	struct chan *chan;
	struct event timer;
	struct event exited;
	int again;
	int rebuild;                    /* of the next start: spawn.h */
	unsigned int streak;            /* deaths in a row */
	uint64_t up_us;                 /* monotonic, since when UP */
	uint32_t restarts;
	uint32_t ndeaths;
	struct child_death deaths[CHILD_DEATHS];
	char why[80];                   /* fault of the present process */
};

static void
timer_set(struct child *c, unsigned int ms)
{
	struct timeval tv = { ms / 1000, (long)(ms % 1000) * 1000 };

	if (evtimer_add(&c->timer, &tv) == -1)
		log_warnx("%s: timer", c->init.role->name);
}

static void
on_timer(evutil_socket_t fd, short what, void *cookie)
{
	(void)fd;
	(void)what;
	child_event(cookie, CHILD_TIMEOUT);
}

static int
on_msg(void *cookie, const uint8_t *buf, size_t len, int *fds, size_t nfds)
{
	struct child *c = cookie;

	if (c->init.ops->msg(c->init.cookie, buf, len, fds, nfds) == 0)
		return (0);
	child_fault(c, "broke the protocol of its channel");
	return (-1);
}

/* Nothing more comes: it has ended, or must. */
static void
channel_close(struct child *c)
{
	chan_free(c->chan);
	c->chan = NULL;
	c->again = !c->init.role->once || c->up_us == 0;
	c->state = CHILD_STOPPING;
	timer_set(c, STOP_MS);
}

/* It closed the channel, to end; or what came could not be taken whole. */
static void
on_end(void *cookie, const char *why)
{
	struct child *c = cookie;

	if (strcmp(why, "closed by the other end") != 0) {
		child_fault(c, why);
		return;
	}
	if (!c->init.role->once && c->why[0] == '\0')
		snprintf(c->why, sizeof(c->why), "%s", why);
	channel_close(c);
}

void
child_fault(struct child *c, const char *why)
{
	if (c->chan == NULL)
		return;
	snprintf(c->why, sizeof(c->why), "%s", why);
	log_warnx("%s[%d]: %s; it is killed", c->init.role->name, (int)c->pid,
	    why);
	channel_close(c);
	(void)kill(c->pid, SIGKILL);
}

/* Keep the last deaths, and say it unless it was meant to be. */
static void
death_note(struct child *c, const siginfo_t *si)
{
	struct child_death *d = &c->deaths[c->ndeaths++ % CHILD_DEATHS];
	const char *name = c->init.role->name;

	d->real_us = io_real_us();
	d->signal = si->si_code == CLD_EXITED ? 0 : si->si_status;
	d->code = si->si_code == CLD_EXITED ? si->si_status : 0;
	memcpy(d->why, c->why, sizeof(d->why));
	if (d->signal == 0 && d->code == 0)
		log_debug("%s[%d]: ended", name, (int)c->pid);
	else if (d->signal == 0)
		log_warnx("%s[%d]: ended with status %d", name, (int)c->pid,
		    d->code);
	else
		log_warnx("%s[%d]: killed by signal %d", name, (int)c->pid,
		    d->signal);
}

static void
on_exited(evutil_socket_t fd, short what, void *cookie)
{
	struct child *c = cookie;
	siginfo_t si;

	(void)fd;
	(void)what;
	memset(&si, 0, sizeof(si));
	if (waitid(P_PIDFD, (id_t)c->pidfd, &si, WEXITED | WNOHANG) == -1 ||
	    si.si_pid == 0)
		return;
	death_note(c, &si);
	event_del(&c->exited);
	io_close(&c->pidfd);
	c->pid = 0;
	child_event(c, CHILD_EXIT);
}

/* Actions. */

static void
nop(struct child *c)
{
	(void)c;
}

/* Cannot come; harmless if it does. */
static void
bug(struct child *c)
{
	log_warnx("%s: event in state %d was not expected",
	    c->init.role->name, c->state);
}

static void
backoff(struct child *c)
{
	size_t last = sizeof(delays) / sizeof(delays[0]) - 1;
	unsigned int ms;

	evtimer_del(&c->timer);
	if (c->up_us != 0 && io_mono_us() - c->up_us > STEADY_US)
		c->streak = 0;
	c->up_us = 0;
	ms = delays[c->streak < last ? c->streak : last];
	c->streak++;
	c->again = 0;
	c->state = CHILD_BACKOFF;
	log_info("%s: starts again in %u ms", c->init.role->name, ms);
	timer_set(c, ms);
}

static int
process_start(struct child *c)
{
	struct spawn sp = {
		.role = c->init.role, .cfg = c->init.cfg, .uid = c->init.uid,
		.level = c->init.level, .rebuild = c->rebuild
	};
	int pair[2];

	if (chan_pair(pair) == -1)
		goto err0;
	if ((c->chan = chan_new(c->init.base, pair[0], c->init.role->name,
	    on_msg, on_end, c)) == NULL)
		goto err1;
	sp.chan = pair[1];
	if (spawn_worker(&sp, &c->pid, &c->pidfd) == -1)
		goto err2;
	io_close(&pair[1]);
	c->rebuild = 0;
	event_assign(&c->exited, c->init.base, c->pidfd, EV_READ | EV_PERSIST,
	    on_exited, c);
	if (event_add(&c->exited, NULL) == -1)
		goto err3;
	return (0);

err3:
	(void)kill(c->pid, SIGKILL);
	(void)waitpid(c->pid, NULL, 0);
	io_close(&c->pidfd);
	c->pid = 0;
err2:
	chan_free(c->chan);
	c->chan = NULL;
	io_close(&pair[1]);
	return (-1);
err1:
	io_close(&pair[0]);
	io_close(&pair[1]);
err0:
	return (-1);
}

static void
start(struct child *c)
{
	c->why[0] = '\0';
	if (process_start(c) == -1) {
		log_warn("%s: cannot start", c->init.role->name);
		backoff(c);
		return;
	}
	if (c->ndeaths > 0)
		c->restarts++;
	c->up_us = 0;
	c->state = CHILD_STARTING;
	timer_set(c, READY_MS);
}

static void
up(struct child *c)
{
	evtimer_del(&c->timer);
	c->state = CHILD_UP;
	c->up_us = io_mono_us();
	log_debug("%s[%d]: ready", c->init.role->name, (int)c->pid);
	c->init.ops->up(c->init.cookie);
}

static void
violation(struct child *c)
{
	child_fault(c, "said HELLO twice");
}

static void
down(struct child *c)
{
	evtimer_del(&c->timer);
	c->state = CHILD_DOWN;
	c->init.ops->down(c->init.cookie);
}

/* The process has ended while it was to run. */
static void
ended(struct child *c)
{
	chan_free(c->chan);
	c->chan = NULL;
	evtimer_del(&c->timer);
	c->state = CHILD_DOWN;
	c->init.ops->gone(c->init.cookie);
	if (c->state != CHILD_DOWN)
		return;
	if (c->init.role->once && c->up_us != 0) {
		c->up_us = 0;
		c->streak = 0;
		down(c);
	} else
		backoff(c);
}

/* The end of a stop, asked for or not. */
static void
stopped(struct child *c)
{
	int again = c->again;

	evtimer_del(&c->timer);
	c->again = 0;
	c->state = CHILD_DOWN;
	c->init.ops->gone(c->init.cookie);
	if (c->state != CHILD_DOWN)
		return;
	if (again)
		backoff(c);
	else
		down(c);
}

/* Workers end when their channel does. */
static void
stop(struct child *c)
{
	channel_close(c);
	c->again = 0;
}

static void
kill_late(struct child *c)
{
	snprintf(c->why, sizeof(c->why), "not ready in time");
	log_warnx("%s[%d]: not ready after %d ms; it is killed",
	    c->init.role->name, (int)c->pid, READY_MS);
	channel_close(c);
	c->again = 1;
	(void)kill(c->pid, SIGKILL);
}

static void
kill_hard(struct child *c)
{
	(void)kill(c->pid, SIGKILL);
	timer_set(c, KILL_MS);
}

static void
want_again(struct child *c)
{
	c->again = 1;
}

static void
stop_now(struct child *c)
{
	c->again = 0;
}

child_action *const child_actions[CHILD__NSTATE][CHILD__NEVENT] = {
	[CHILD_DOWN] = {
		[CHILD_WANT] = start,           [CHILD_READY]   = bug,
		[CHILD_EXIT] = bug,             [CHILD_TIMEOUT] = bug,
		[CHILD_STOP] = nop,
	},
	[CHILD_STARTING] = {
		[CHILD_WANT] = nop,             [CHILD_READY]   = up,
		[CHILD_EXIT] = ended,           [CHILD_TIMEOUT] = kill_late,
		[CHILD_STOP] = stop,
	},
	[CHILD_UP] = {
		[CHILD_WANT] = nop,             [CHILD_READY]   = violation,
		[CHILD_EXIT] = ended,           [CHILD_TIMEOUT] = bug,
		[CHILD_STOP] = stop,
	},
	[CHILD_STOPPING] = {
		[CHILD_WANT] = want_again,      [CHILD_READY]   = nop,
		[CHILD_EXIT] = stopped,         [CHILD_TIMEOUT] = kill_hard,
		[CHILD_STOP] = stop_now,
	},
	[CHILD_BACKOFF] = {
		[CHILD_WANT] = nop,             [CHILD_READY]   = bug,
		[CHILD_EXIT] = bug,             [CHILD_TIMEOUT] = start,
		[CHILD_STOP] = down,
	},
};

void
child_event(struct child *c, enum child_event ev)
{
	child_actions[c->state][ev](c);
}

struct child *
child_new(const struct child_init *init)
{
	struct child *c;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return (NULL);
	c->init = *init;
	c->pidfd = -1;
	c->state = CHILD_DOWN;
	evtimer_assign(&c->timer, init->base, on_timer, c);
	return (c);
}

void
child_free(struct child *c)
{
	if (c == NULL)
		return;
	evtimer_del(&c->timer);
	chan_free(c->chan);
	if (c->pid > 0) {
		event_del(&c->exited);
		(void)kill(c->pid, SIGKILL);
		(void)waitpid(c->pid, NULL, 0);
	}
	io_close(&c->pidfd);
	free(c);
}

int
child_send(struct child *c, const uint8_t *buf, size_t len, const int *fds,
    size_t nfds)
{
	size_t i;
	int fd;

	if (c->chan == NULL) {
		for (i = 0; i < nfds; i++) {
			fd = fds[i];
			io_close(&fd);
		}
		errno = EPIPE;
		return (-1);
	}
	if (chan_send(c->chan, buf, len, fds, nfds) == 0)
		return (0);
	if (errno == ENOBUFS)
		child_fault(c, "does not read its channel");
	return (-1);
}

void
child_delay(struct child *c)
{
	if (c->state == CHILD_DOWN && c->pid == 0)
		backoff(c);
}

void
child_wait(struct child *c)
{
	if (c->state == CHILD_STARTING)
		timer_set(c, READY_MS);
}

/*
 * Out of whatever state it is in into a new start; the back-off of one that
 * keeps failing is cut short.
 */
void
child_rebuild(struct child *c)
{
	c->rebuild = 1;
	c->streak = 0;
	if (c->state == CHILD_BACKOFF) {
		child_event(c, CHILD_TIMEOUT);
		return;
	}
	child_event(c, CHILD_STOP);
	child_event(c, CHILD_WANT);
}

enum child_state
child_state(const struct child *c)
{
	return (c->state);
}

pid_t
child_pid(const struct child *c)
{
	return (c->pid);
}

uint32_t
child_uid(const struct child *c)
{
	return (c->init.uid);
}

uint32_t
child_restarts(const struct child *c)
{
	return (c->restarts);
}

const char *
child_role(const struct child *c)
{
	return (c->init.role->name);
}

const struct child_death *
child_last_death(const struct child *c)
{
	if (c->ndeaths == 0)
		return (NULL);
	return (&c->deaths[(c->ndeaths - 1) % CHILD_DEATHS]);
}
