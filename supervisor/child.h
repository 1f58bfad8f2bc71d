#ifndef ERRAND_CHILD_H
#define ERRAND_CHILD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/chan.h"

struct child;
struct config;
struct event_base;
struct role;

enum child_state {
	CHILD_DOWN, CHILD_STARTING, CHILD_UP, CHILD_STOPPING, CHILD_BACKOFF,
	CHILD__NSTATE
};

enum child_event {
	CHILD_WANT,             /* it shall run */
	CHILD_READY,            /* its HELLO came and is of our version */
	CHILD_EXIT,             /* the process has ended */
	CHILD_TIMEOUT,          /* the state's time is over */
	CHILD_STOP,             /* it shall not run */
	CHILD__NEVENT
};

#define CHILD_DEATHS    16

/* How a process ended. */
struct child_death {
	uint64_t real_us;
	int signal;             /* 0: it exited */
	int code;
	char why[80];           /* what we held against it, or "" */
};

/*
 * What the owner of a worker is told; each from the event loop, never from
 * inside a call of this interface.
 *  msg   a message, while STARTING or UP; -1 ends the worker as a violation
 *  up    it is READY
 *  gone  the process that had been started has ended
 *  down  it is DOWN now (after gone)
 */
struct child_ops {
	chan_msg_fn *msg;
	void (*up)(void *);
	void (*gone)(void *);
	void (*down)(void *);
};

struct child_init {
	struct event_base *base;
	const struct config *cfg;
	const struct role *role;
	uint32_t uid;
	int level;
	const struct child_ops *ops;    /* borrowed */
	void *cookie;
};

/* A supervised worker, DOWN at first.  NULL with errno on failure. */
struct child *child_new(const struct child_init *);
/* Kills the process if there is one. */
void child_free(struct child *);

/* Let something happen to it. */
void child_event(struct child *, enum child_event);

/**
 * child_send(c, buf, len, fds, nfds):
 * As chan_send.  A worker whose queue is full does not read: it is ended as
 * by child_fault.
 */
int child_send(struct child *, const uint8_t *, size_t, const int *, size_t);

/* It broke its promise: killed at once, replaced unless it serves once. */
void child_fault(struct child *, const char *);

/* From ops->gone: start it again, but not before its back-off is over. */
void child_delay(struct child *);

/* While it starts: it said that it takes longer. */
void child_wait(struct child *);

/* Start it (again) with the order to make its index anew. */
void child_rebuild(struct child *);

enum child_state child_state(const struct child *);
pid_t child_pid(const struct child *);          /* 0: no process */
uint32_t child_uid(const struct child *);
uint32_t child_restarts(const struct child *);
const char *child_role(const struct child *);

/* The last death, or NULL. */
const struct child_death *child_last_death(const struct child *);

#endif /* !ERRAND_CHILD_H */
