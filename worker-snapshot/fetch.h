#ifndef ERRAND_SNAP_FETCH_H
#define ERRAND_SNAP_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "lib/objrec.h"
#include "store_client.h"

/**
 * fetch_refs(sc, refs, n, fn, cookie):
 * Ask the store for the objects of ${n} encoded references (at most
 * LIMIT_GET_OBJECTS).  Return 0, or -1 with errno when there is no memory.
 */
int fetch_refs(struct store_client *, const uint8_t *, size_t, store_fn *,
    void *);

/* The objects of one answer, in the order they were asked for. */
struct fetched {
	const uint8_t *map;
	size_t len;
	size_t at;
	uint32_t count;         /* all in all */
	uint32_t left;
};

/**
 * fetched_take(f, reply, fd):
 * Map what came with an OK of GET; ${fd} stays the caller's.  Return 0, or -1
 * with errno when it is not what it must be.
 */
int fetched_take(struct fetched *, const struct store_msg *, int);

/* The next one.  1, 0 at the (checked) end, -1 when it is malformed. */
int fetched_next(struct fetched *, struct objrec *, const uint8_t **raw);
void fetched_done(struct fetched *);

#endif /* !ERRAND_SNAP_FETCH_H */
