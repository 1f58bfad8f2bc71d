#ifndef ERRAND_INDEX_OBJ_H
#define ERRAND_INDEX_OBJ_H

#include <stddef.h>
#include <stdint.h>

#include "lib/object.h"
#include "pack.h"

/*
 * What the index knows of objects.  Little-endian values; keys begin
 * with the tenant, big-endian, so that nothing is ever found under another
 * one's:
 *
 *   object  see recent.h
 *   run     see segs.h
 *   block   see seg.h
 */
#define IX_COMPLETE     0x1     /* all below it is there, as of the epoch */

struct ix;

struct ix_object {
	uint32_t tenant;
	struct obj_ref ref;
	struct pack_loc loc;
	uint8_t flags;
	uint32_t epoch;         /* of the mark */
	uint32_t stamp;         /* minutes since 1970: last put or touched */
};

/* Order of keys: below, equal to or above zero as memcmp. */
int ix_object_cmp(const struct ix_object *, const struct ix_object *);

/* Find one; the same id of another kind is not it.  -1: ENOENT. */
int ix_object_get(struct ix *, uint32_t, const struct obj_ref *,
    struct ix_object *);

/* In a write transaction: add one, or replace what is there of it. */
int ix_object_put(struct ix *, const struct ix_object *);

/* The same for ${n} at once, in the order of their keys. */
int ix_objects_put(struct ix *, struct ix_object *const *, size_t);

/**
 * ix_object_mark(ix, tenant, ref, epoch, stamp):
 * ix_object_move(ix, tenant, ref, loc):
 * ix_object_del(ix, tenant, ref):
 * In a write transaction, on an object that is there: mark it complete as of
 * ${epoch}; say that its bytes are elsewhere now; forget it.  -1: ENOENT.
 */
int ix_object_mark(struct ix *, uint32_t, const struct obj_ref *, uint32_t,
    uint32_t);
int ix_object_move(struct ix *, uint32_t, const struct obj_ref *,
    const struct pack_loc *);
int ix_object_del(struct ix *, uint32_t, const struct obj_ref *);

/*
 * Called per object, in the order of keys.  Non-zero stops.  It must not write
 * objects: note what is to be done, stop, do it, and go on behind the last.
 */
typedef int ix_object_fn(void *, const struct ix_object *);

/**
 * ix_object_scan(ix, tenant, after, fn, cookie):
 * Go through a tenant's objects whose ids are greater than ${after} (NULL: all
 * of them), in any transaction.  Return 0 at the end, -1, or what ${fn}
 * stopped with.
 */
int ix_object_scan(struct ix *, uint32_t, const uint8_t *, ix_object_fn *,
    void *);

/* The same through all tenants: by tenant, then id.  after: those two. */
int ix_object_scan_all(struct ix *, const struct ix_object *, ix_object_fn *,
    void *);

#endif /* !ERRAND_INDEX_OBJ_H */
