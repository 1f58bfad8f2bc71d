#ifndef ERRAND_INDEX_PACK_H
#define ERRAND_INDEX_PACK_H

#include <stdint.h>

/*
 * What the index knows of packs.
 *
 *   pack    u32 number, big-endian -> u64 length that counts, u8 sealed,
 *           u64 live bytes, u64 bytes of the journal, all little-endian
 *
 * Live are the records, headers included, that an object's entry points to; it
 * changes in the transaction in which the entry does.  Of the journal are all
 * its records, whether their jobs are there yet or not, and some that a failure
 * took back.  An entry of the first form ends before live: nothing had ever
 * been deleted then, so all of the pack's records are live.  One of the second
 * ends behind it, and says nothing of the journal.
 *
 * Number and length of the pack that is not sealed are in a second place too,
 * above the others, "open pack" -> u32 number, u64 length, little-endian: what
 * lies behind that length is removed at the next opening, so it must not come
 * from a page that a disk has given back as it was some time ago.
 */
struct ix;

struct ix_pack {
	uint32_t number;
	uint64_t len;
	uint8_t sealed;
	uint64_t live;
	uint64_t journal;
};

/* -1: ENOENT. */
int ix_pack_get(struct ix *, uint32_t, struct ix_pack *);

/**
 * ix_pack_put(ix, pack):
 * In a write transaction: note length, seal and journal; what is live stays as
 * it was (nothing, for a new one), whatever ${pack} says.
 */
int ix_pack_put(struct ix *, const struct ix_pack *);

/* Do both places tell the same of the open pack, or is there one?  0, or -1
 * with EUCLEAN after logging. */
int ix_pack_end_check(struct ix *, const struct ix_pack *);

/* In a write transaction: more, or fewer, bytes of it are live. */
int ix_pack_live(struct ix *, uint32_t, int64_t);

/* In a write transaction: the pack is not named any more. */
int ix_pack_del(struct ix *, uint32_t);

/* Called per pack, in order.  Non-zero stops. */
typedef int ix_pack_fn(void *, const struct ix_pack *);
int ix_packs(struct ix *, ix_pack_fn *, void *);

#endif /* !ERRAND_INDEX_PACK_H */
