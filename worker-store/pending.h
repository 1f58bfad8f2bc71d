#ifndef ERRAND_PENDING_H
#define ERRAND_PENDING_H

#include <stddef.h>
#include <stdint.h>

#include "index_obj.h"

/*
 * Objects whose bytes are in the open pack and whose index entries wait for
 * the next commit.  Everything that looks for objects sees them.
 *
 * Invariants:
 *  1. An object is never both here and in the index.
 *  2. All of them are committed together, or dropped together; only those of
 *     the request that is being handled are ever dropped by themselves.  So an
 *     object may be marked complete while what is below it is pending.
 */
#define PENDING_COUNT   4096                    /* commit from here on */
#define PENDING_BYTES   (32U * 1024 * 1024)
#define PENDING_MAX     8192                    /* one more request fits */

struct pending;

struct pending *pending_new(void);
void pending_free(struct pending *);

/* Find one, to read or to mark; NULL if it is not pending. */
struct ix_object *pending_find(struct pending *, uint32_t,
    const struct obj_ref *);

/* Add one that is not there yet.  0, or -1 with errno = ENOBUFS. */
int pending_add(struct pending *, const struct ix_object *);

size_t pending_count(const struct pending *);
int pending_due(const struct pending *);

/* Bytes of packs that they take; how often they were committed or dropped. */
uint64_t pending_bytes(const struct pending *);
uint64_t pending_round(const struct pending *);

/* The i-th that came. */
const struct ix_object *pending_at(const struct pending *, size_t);

/* Drop the newest until ${count} are left. */
void pending_cut(struct pending *, size_t);

/* All of them in the order of their keys; borrowed until the next change. */
struct ix_object *const *pending_sorted(struct pending *);

#endif /* !ERRAND_PENDING_H */
