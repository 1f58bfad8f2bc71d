#ifndef ERRAND_EXEC_STORECLIENT_H
#define ERRAND_EXEC_STORECLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/object.h"

struct err;

/*
 * The keeper's side of its job's store channel.  Calls block until they have
 * what they want; while they wait, the keeper's other channel is served.
 */
struct storeclient;

/**
 * storeclient_new(fd, other, serve, cookie):
 * ${fd} is the store channel (taken).  Whenever ${other} is readable during a
 * wait, ${serve} is called; -1 from it ends the wait with its errno.
 */
struct storeclient *storeclient_new(int, int, int (*)(void *), void *);
void storeclient_free(struct storeclient *);

/*
 * The store sends this first, unasked (STORE_FIRST_ID): BIND said so.  Before
 * anything is asked for.  Return 0, or -1 with errno.
 */
int storeclient_expect(struct storeclient *, const struct obj_ref *);

/*
 * Ask for an object that will be fetched later.  Objects that are fetched in
 * the order in which they were asked for come in batches, ahead of time.
 * Return 0, or -1 with errno.
 */
int storeclient_want(struct storeclient *, const struct obj_ref *);

/* The same for a chunk of a file; these have an order of their own. */
int storeclient_want_chunk(struct storeclient *, const struct obj_ref *);

/* Whether the asked-for objects that wait to be requested are few. */
int storeclient_hungry(const struct storeclient *);
int storeclient_hungry_chunks(const struct storeclient *);

/* Send what was asked for as far as there is room under way.  0 or -1. */
int storeclient_kick(struct storeclient *);

/* An obj_fetch_fn; the cookie is the storeclient.  The chunks of a list, and
 * the parts of a wide directory, are asked for at once. */
int storeclient_fetch(void *, const struct obj_ref *, uint8_t *, size_t *);

/* The same, but whoever wants the chunks of a list asks for them. */
int storeclient_fetch_alone(struct storeclient *, const struct obj_ref *,
    uint8_t *, size_t *);

/* Ask for the chunks of a list that was fetched so, before all others. */
int storeclient_want_pieces(struct storeclient *, const uint8_t *, size_t);

/*
 * The same as storeclient_fetch for an object that the job can do without: what
 * the store cannot give is ENOENT, and no later call fails for it.
 */
int storeclient_try(void *, const struct obj_ref *, uint8_t *, size_t *);

/* An obj_sink_fn.  Batches are sent when they are full. */
int storeclient_put(void *, const struct obj_ref *, const void *, size_t);

/* Send the rest and wait until all was taken.  Return 0, or -1. */
int storeclient_flush(struct storeclient *);

/* Whether a call has failed; then all others do. */
int storeclient_failed(const struct storeclient *);

/* Whether that was because the store's end of the channel is gone. */
int storeclient_lost(const struct storeclient *);

/* What the store said when a call failed with EREMOTEIO. */
const struct err *storeclient_error(const struct storeclient *);

#endif /* !ERRAND_EXEC_STORECLIENT_H */
