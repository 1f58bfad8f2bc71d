#ifndef ERRAND_SEG_H
#define ERRAND_SEG_H

#include <stddef.h>
#include <stdint.h>

#include "index_obj.h"

/*
 * The bytes of index segments.  A permanent format; integers are little-endian
 * unless it says otherwise.
 *
 * A segment, called a run here, is a sorted list of entries: newer versions of
 * what older runs say.  It is cut into groups and those into blocks.  A block
 * is a value of at most SEG_BLOCK_MAX bytes, which is what fits into one page
 * of LMDB with its header: so no block needs more than one page, and the free
 * list cannot be fragmented.
 *
 *   block key    u64 run, u32 number, both big-endian.  Number 32 * g is the
 *                head of group g, 32 * g + 1 .. 31 are its data blocks
 *   every block  u64 checksum of all that follows, u64 run, u32 number
 *   data         behind that up to SEG_DATA_ENTRIES entries of 58 bytes
 *   head         behind that the first key of each data block (36 bytes each),
 *                the filter (64 bytes a line), u16 blocks, u16 lines
 *   entry        key, u32 pack, u32 offset, u16 stored length, u16 raw length,
 *                u8 kind (low half) and codec, u8 flags, u32 epoch, u32 stamp
 *   key          u32 tenant, big-endian, id
 *
 * SEG_GONE in the flags: the object was forgotten; only key and flags count.
 *
 * The filter has every key of the group.  A key belongs to one line, chosen by
 * bytes 8 to 11 of its id, and sets six bits there, chosen by bytes 16 to 23:
 * ids are hashes already.
 *
 *   line  = (x * lines) >> 32, x = u32 at id + 8 xor tenant * 2654435761
 *   bit i = nine bits of the u64 at id + 16 from bit 9 * i on; bit b of a line
 *           is bit b % 8 of its byte b / 8
 *
 * The checksum finds what a disk does to a page, not what a forger does: four
 * lanes, 8 bytes each in turn, padded with zeros; seg.c has it in full.
 */
#define SEG_KEY_LEN             (4 + OBJ_ID_LEN)
#define SEG_BLOCK_KEY_LEN       12
#define SEG_BLOCK_MAX           4080
#define SEG_BLOCK_HEAD          20
#define SEG_ENTRY_LEN           58
#define SEG_DATA_ENTRIES        70
#define SEG_GROUP_BLOCKS        31
#define SEG_GROUP_STEP          32      /* numbers a group takes */
#define SEG_GROUP_ENTRIES       (SEG_GROUP_BLOCKS * SEG_DATA_ENTRIES)
#define SEG_LINE_LEN            64
#define SEG_LINES_MAX           45

#define SEG_GONE                0x80

/* The head of a group, looked into; borrowed from its bytes. */
struct seg_head {
	uint16_t blocks;
	uint16_t lines;
	const uint8_t *keys;
	const uint8_t *filter;
};

void seg_key(uint32_t, const uint8_t *id, uint8_t *);
void seg_block_key(uint64_t run, uint32_t number, uint8_t *);

/* -1 with errno = EOVERFLOW for lengths that no object has. */
int seg_entry_encode(const struct ix_object *, uint8_t *);
void seg_entry_decode(const uint8_t *, struct ix_object *);
int seg_entry_gone(const uint8_t *);

/* Say which block these ${len} bytes are, and seal it with its checksum. */
void seg_block_close(uint64_t run, uint32_t number, uint8_t *, size_t);

/**
 * seg_data_encode(run, number, entries, n, out):
 * Make a data block of ${n} encoded entries in ${out}; return its length.
 */
size_t seg_data_encode(uint64_t, uint32_t, const uint8_t *, size_t, uint8_t *);

/**
 * seg_head_encode(run, number, entries, n, out):
 * Make the head of a group of ${n} encoded entries, which fill its data blocks
 * one after the other; return its length.
 */
size_t seg_head_encode(uint64_t, uint32_t, const uint8_t *, size_t, uint8_t *);

/**
 * seg_data_check(run, number, buf, len, n), seg_head_check(..., head):
 * Is this the block that it should be, as it was written?  Return 0 with the
 * number of entries or the head, or -1 with errno = EUCLEAN.
 */
int seg_data_check(uint64_t, uint32_t, const uint8_t *, size_t, size_t *);
int seg_head_check(uint64_t, uint32_t, const uint8_t *, size_t,
    struct seg_head *);

/* The head at these bytes, whose two numbers were checked before. */
struct seg_head seg_head_at(const uint8_t *, uint16_t blocks, uint16_t lines);

/* Where the filter has the key's bits; may the key be in the group? */
const uint8_t *seg_filter_line(const struct seg_head *, const uint8_t *);
int seg_filter_has(const struct seg_head *, const uint8_t *);

/* The data block, from 0, where the key is if it is anywhere; -1 for none. */
int seg_head_find(const struct seg_head *, const uint8_t *);

/* The first of ${n} entries whose key is not below it; n if there is none. */
size_t seg_entries_find(const uint8_t *, size_t, const uint8_t *);

#endif /* !ERRAND_SEG_H */
