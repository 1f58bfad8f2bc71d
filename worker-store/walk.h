#ifndef ERRAND_WALK_H
#define ERRAND_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "lib/object.h"

/*
 * Looking whether everything below some roots is there, for one tenant: from
 * the roots down through trees and lists, but not into those that are marked
 * complete.  Done in steps, so that a large tree does not keep others waiting.
 *
 * Invariants:
 *  1. What was found stays: a collection that is under way is told of it
 *     (gc_live).  When one begins in the meantime, or a failed flush takes
 *     pending objects away (store.h, drops), the walk begins again.
 *  2. When it ends with nothing missing, everything in its set of objects
 *     that were looked into is complete.
 */
#define WALK_NODES_MAX  (1024 * 1024)

struct store;
struct walk;

/* Look for at most ${missing} objects that are not there. */
struct walk *walk_new(struct store *, uint32_t, size_t);
void walk_free(struct walk *);

/* Add a root, at most two, before the first step. */
void walk_root(struct walk *, const struct obj_ref *);

/**
 * walk_step(w, budget):
 * Go on for about ${budget} look-ups.  Return 1 when there is more to do, 0 at
 * the end, or -1 with errno: EBADMSG (walk_at is damaged), EFBIG, ENOMEM.
 */
int walk_step(struct walk *, size_t);

/* The epoch in which what it says is true. */
uint32_t walk_epoch(const struct walk *);

uint32_t walk_tenant(const struct walk *);
const struct obj_ref *walk_at(const struct walk *);

/* What is missing. */
size_t walk_missing(const struct walk *);
const struct obj_ref *walk_missing_get(const struct walk *, size_t);

/* What was looked into. */
size_t walk_nodes(const struct walk *);
const struct obj_ref *walk_node_get(const struct walk *, size_t);

/* After an end with nothing missing: mark those that are pending. */
void walk_mark_pending(const struct walk *);

#endif /* !ERRAND_WALK_H */
