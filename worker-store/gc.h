#ifndef ERRAND_GC_H
#define ERRAND_GC_H

#include <stdint.h>

#include "lib/object.h"
#include "stint.h"

/*
 * Collection: finding what no reference and no lease reaches, for one tenant at
 * a time, and deleting it; all of it, or as much of what was used longest ago
 * as room is needed for.  It runs in steps of a millisecond or two between
 * batches:
 *
 *   epoch   one commit moves the tenant to its next epoch, which voids every
 *           mark "complete" that it has
 *   mark    from the references and leases down through trees and lists; what
 *           is found is in a set of places in memory (gc_marks.h).  A
 *           reference that leads to something missing or damaged ends it:
 *           nothing is deleted then
 *   count   only when room is needed: how much of the rest is how old
 *   sweep   the rest is deleted, some hundred objects a transaction
 *
 * Until the last is deleted, everything that is put or found for the tenant
 * goes into the set, by gc_live, and so does what is below it.  So whoever sets
 * a mark in the new epoch has had everything that it vouches for put into the
 * set first, and a mark never lies.  A crash, or a failed flush, takes the set
 * away: then nothing more is deleted, and the next collection begins with
 * another epoch.
 *
 * What is deleted frees no room on the disk before its pack is rewritten
 * (rewrite.h).
 */
struct gc;
struct ix_object;
struct store;

struct gc *gc_new(struct store *);
void gc_free(struct gc *);

/* For people and tests: what collections did since the start. */
struct gc_figures {
	uint32_t tenant;        /* whose turn it is, 0: nobody's */
	const char *phase;      /* "idle", "mark", "count", "sweep" */
	uint64_t runs;          /* that ended */
	uint64_t abandoned;     /* that ended without deleting */
	uint64_t waiting;       /* tenants */
	uint64_t marked;        /* of the present or last one */
	uint64_t memory;        /* of its set, at the end */
	uint64_t examined;      /* objects, by sweeps */
	uint64_t deleted;
	uint64_t deleted_bytes; /* raw */
	struct stint_longest longest;   /* step */
};
void gc_figures(const struct store *, struct gc_figures *);

/* Delete all that nothing reaches, of a tenant, or of all with 0.  0 or -1
 * with errno: it is under way, or waits for its turn. */
int gc_all(struct store *, uint32_t);

/* Make room: delete at least so many bytes of what was used longest ago. */
int gc_room(struct store *, uint32_t, uint64_t);

/* The disk is nearly full: make so much room, of whosever it is. */
void gc_disk(struct store *, uint64_t);

/* Objects of the tenant were put: is it time to make room? */
void gc_consider(struct store *, uint32_t);

/**
 * gc_wait(st, tenant, need, fn, cookie):
 * Make room for ${need} bytes and call ${fn} when a collection of the tenant
 * has ended; ${fn} may ask again.  Return 0; -1 when it is no use: one that
 * ended a moment ago has freed what can be freed, or too many wait.
 */
typedef void gc_fn(void *);
int gc_wait(struct store *, uint32_t, uint64_t, gc_fn *, void *);

/* Nobody waits any more: call all that do. */
void gc_wake(struct store *);

/* What kept collections from beginning does so no more. */
void gc_kick(struct store *);

/* Between steps, is the set of places of use to somebody?  Then no object may
 * move to another place. */
int gc_busy(const struct store *);

/* The object was put, or found by somebody who relies on it. */
void gc_live(struct store *, const struct ix_object *);

#endif /* !ERRAND_GC_H */
