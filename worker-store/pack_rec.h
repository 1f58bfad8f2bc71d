#ifndef ERRAND_PACK_REC_H
#define ERRAND_PACK_REC_H

#include <stddef.h>
#include <stdint.h>

#include "lib/object.h"

/*
 * What a pack file looks like.  Permanent format, little-endian.
 *
 * The file begins with
 *
 *   the 8 bytes "ERRPACK\n", u32 version = 1, u32 zero, u64 number of the
 *   pack, 24 zero bytes, 16-byte MAC of the 48 bytes before it (in every
 *   version: so a newer one can be told from a damaged one)
 *
 * and goes on with records until its end:
 *
 *   u32 magic, u32 tenant, u8 kind, u8 codec (objrec.h), u16 zero, u32 raw
 *   length, u32 stored length, u32 zero, 32-byte id, 8-byte checksum of the
 *   stored bytes, 16-byte MAC, the stored bytes
 *
 * The MAC is BLAKE2b-128 under the store's key, personal "errand.pack", of the
 * header before it and of the record's place (u32 pack, u64 offset); so bytes
 * that a tenant chose never pass for a record, and a record moved elsewhere is
 * none either.  The checksum is the first half of a BLAKE2b-128, personal
 * "errand.stored"; it keeps damaged bytes away from the decompressor.  Bytes
 * stored as they are need none, their id is one already: the field is zero.
 *
 * A record of kind PACK_JOURNAL is no object: tenant 0, stored as it is, its
 * bytes are journal_fmt.h's, its id is their BLAKE2b-256, personal
 * "errand.journal".
 */
#define PACK_REC_MAGIC  0x1fce52e5U
#define PACK_JOURNAL    0x4a
#define PACK_VERSION    1
#define PACK_HEAD       64
#define PACK_REC_HEAD   80
#define PACK_KEY_LEN    32

struct pack_rec {
	uint32_t tenant;
	struct obj_ref ref;
	uint8_t codec;
	uint32_t raw_len;
	uint32_t len;           /* stored */
};

/**
 * pack_rec_encode(rec, stored, key, pack, off, out):
 * Make the PACK_REC_HEAD bytes that go before the ${stored} bytes at ${off}.
 */
void pack_rec_encode(const struct pack_rec *, const uint8_t *,
    const uint8_t *, uint32_t, uint64_t, uint8_t *);

/*
 * The same in two steps, of which the second is cheaper for many: all but the
 * MAC, which depends on the place; then the MACs of up to HASH_MANY_MAX headers
 * of one pack.
 */
struct pack_rec_place {
	uint8_t *head;
	uint64_t off;
};
void pack_rec_fill(const struct pack_rec *, const uint8_t *, uint8_t *);
void pack_rec_seal(const struct pack_rec_place *, size_t, const uint8_t *,
    uint32_t);

/**
 * pack_rec_decode(in, key, pack, off, rec):
 * Check and decode a header found at ${off}.  Return 0, or -1 with errno =
 * EBADMSG when it is not one that this store wrote there.
 */
int pack_rec_decode(const uint8_t *, const uint8_t *, uint32_t, uint64_t,
    struct pack_rec *);

/* The stored length that an unchecked header states. */
uint32_t pack_rec_len(const uint8_t *);

/* Check the stored bytes against their header.  0, or -1/EBADMSG. */
int pack_rec_verify(const uint8_t *head, const struct pack_rec *,
    const uint8_t *stored);

/* Make PACK_HEAD bytes; check them.  -1: EBADMSG, or EPROTONOSUPPORT for a
 * newer version, by whose MAC it is one. */
void pack_head_encode(uint32_t, const uint8_t *, uint8_t *);
void pack_head_seal(uint32_t, const uint8_t *, uint8_t *);
int pack_head_check(const uint8_t *, uint32_t, const uint8_t *);

#endif /* !ERRAND_PACK_REC_H */
