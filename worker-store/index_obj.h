#ifndef ERRAND_INDEX_OBJ_H
#define ERRAND_INDEX_OBJ_H

#include <stddef.h>
#include <stdint.h>

#include "lib/object.h"
#include "pack.h"

/*
 * What the index knows of objects and packs.  Little-endian values; keys begin
 * with the tenant, big-endian, so that nothing is ever found under another
 * one's:
 *
 *   object  u32 tenant, id -> u32 pack, u32 offset, u32 stored length, u32
 *           raw length, u8 kind, u8 codec, u8 flags, u8 zero, u32 epoch
 *   pack    u32 number, big-endian -> u64 length that counts, u8 sealed
 */
#define IX_COMPLETE     0x1     /* all below it is there, as of the epoch */
#define IX_EPOCH        1       /* the first; collection will begin others */

struct ix;

struct ix_object {
	uint32_t tenant;
	struct obj_ref ref;
	struct pack_loc loc;
	uint8_t flags;
	uint32_t epoch;
};

struct ix_pack {
	uint32_t number;
	uint64_t len;
	uint8_t sealed;
};

/* Order of keys: below, equal to or above zero as memcmp. */
int ix_object_cmp(const struct ix_object *, const struct ix_object *);

/* Find one; the same id of another kind is not it.  -1: ENOENT. */
int ix_object_get(struct ix *, uint32_t, const struct obj_ref *,
    struct ix_object *);
int ix_object_put(struct ix *, const struct ix_object *);

/* Set the mark on an object that is there. */
int ix_object_mark(struct ix *, uint32_t, const struct obj_ref *);

int ix_pack_put(struct ix *, const struct ix_pack *);

/* Called per pack, in order.  Non-zero stops. */
typedef int ix_pack_fn(void *, const struct ix_pack *);
int ix_packs(struct ix *, ix_pack_fn *, void *);

#endif /* !ERRAND_INDEX_OBJ_H */
