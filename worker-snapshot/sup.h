#ifndef ERRAND_SNAP_SUP_H
#define ERRAND_SNAP_SUP_H

#include <stddef.h>
#include <stdint.h>

#include "proto/snapshot_msg.h"

struct event_base;
struct sup;

/*
 * The supervisor's channel, seen from the worker.
 *
 * Invariants:
 *  1. Every request gets exactly one call of its function, from the event
 *     loop, unless it was cancelled or the channel ended before.
 *  2. When the channel ends, so does the process: the end function is called
 *     once and nothing after it.
 */

/* A reply: the one that fits the request, or SNAP_ERROR.  ${*fd} is the
 * descriptor that came with it or -1; set it to -1 to keep it. */
typedef void sup_fn(void *, const struct snap_msg *, int *fd);

struct sup_ops {
	/* SERVE; ${*fd} as above */
	void (*serve)(void *, const struct snap_msg *, int *fd);
	/* JOB, LOG */
	void (*event)(void *, const struct snap_msg *);
	/* after each message: what was queued meanwhile may be written */
	void (*after)(void *);
	/* ${bad}: the rules were broken, by us or by the supervisor */
	void (*end)(void *, const char *why, int bad);
};

/* Wrap the channel ${fd}, which is taken.  NULL with errno on failure. */
struct sup *sup_new(struct event_base *, int, const struct sup_ops *, void *);
void sup_free(struct sup *);

/* Say HELLO: the worker is ready. */
void sup_hello(struct sup *, int landlock);

/**
 * sup_msg(sup, op):
 * An empty message of that kind to fill in, valid until the next call.
 */
struct snap_msg *sup_msg(struct sup *, enum snap_op);

/**
 * sup_request(sup, fd, fn, cookie):
 * Send the message of sup_msg as a request, with ${fd} (taken) unless it is
 * -1.
 */
void sup_request(struct sup *, int, sup_fn *, void *);

/* The answers to all requests of ${cookie} are of no interest any more. */
void sup_cancel(struct sup *, const void *);

/* Unanswered requests, those given up included. */
size_t sup_used(const struct sup *);

#endif /* !ERRAND_SNAP_SUP_H */
