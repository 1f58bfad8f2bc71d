#ifndef ERRAND_KEEP_H
#define ERRAND_KEEP_H

#include <stdint.h>

#include "store_client.h"

struct keep;
struct sup;
struct tenant;

/*
 * How long ended jobs are kept: until the tenant's time is over (keep), or
 * there are more of them (jobs), or more of their output (logs), than it may
 * have.  The store forgets their records, receipts and references, and says
 * which they were; their logs go here.
 */
struct keep *keep_new(struct sup *);
void keep_free(struct keep *);

/* The store is there again: begin a round. */
void keep_kick(struct keep *);

/* A job of the tenant has settled.  Without a keep (NULL), never mind. */
void keep_settled(struct keep *, struct tenant *);

/* What the tenant may keep has changed: tell the store, and look again. */
void keep_quota(struct keep *, struct tenant *);

/**
 * keep_room(k, t, fn, cookie):
 * A quota is in the way of a new job of the tenant: have the store forget what
 * ended longest ago, until there is room for one.  ${fn} has to hand the answer
 * to keep_room_made.  Return the request's id, or 0 when the store is away.
 */
uint64_t keep_room(struct keep *, struct tenant *, store_reply_fn *, void *);

/* The logs of the jobs that an answer to keep_room names go.  How many. */
uint32_t keep_room_made(struct keep *, const struct tenant *,
    const struct store_msg *, int);

#endif /* !ERRAND_KEEP_H */
