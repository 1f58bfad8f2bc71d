#ifndef ERRAND_SNAP_STORE_CLIENT_H
#define ERRAND_SNAP_STORE_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "proto/store_msg.h"

struct event_base;
struct store_client;

/*
 * Requests to the store over the channel that is bound to our tenant.
 *
 * Invariants:
 *  1. Every request gets exactly one call of its function, from the event
 *     loop, unless it was cancelled: the store's reply, or a STORE_ERROR of
 *     our own when it could not be sent or the store went away.
 *  2. At most LIMIT_REQUESTS are unanswered.
 */

/* ${*fd} is the descriptor that came with the reply or -1; set it to -1 to
 * keep it.  Strings and bytes of the reply are borrowed. */
typedef void store_fn(void *, const struct store_msg *, int *fd);

/**
 * store_client_new(base, fd, after, cookie):
 * Wrap the channel ${fd} (taken on success).  ${after} is called when replies
 * were handled.  NULL with errno on failure.
 */
struct store_client *store_client_new(struct event_base *, int,
    void (*after)(void *), void *);
void store_client_free(struct store_client *);

/**
 * store_request(sc, msg, fd, fn, cookie):
 * Send a request (its id is set here), with ${fd} (taken) unless it is -1.
 */
void store_request(struct store_client *, struct store_msg *, int, store_fn *,
    void *);

/* The answers to all requests of ${cookie} are of no interest any more. */
void store_cancel(struct store_client *, const void *);

/* Unanswered requests, those given up included. */
size_t store_used(const struct store_client *);

/* Requests of that kind that the store has not answered. */
unsigned int store_pending(const struct store_client *, enum store_op);

#endif /* !ERRAND_SNAP_STORE_CLIENT_H */
