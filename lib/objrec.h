#ifndef ERRAND_OBJREC_H
#define ERRAND_OBJREC_H

#include <stddef.h>
#include <stdint.h>

#include "object.h"

/*
 * Objects as a stream of records: on a client's upload and download streams
 * (cut into frames anywhere), and in the memfds of store.proto (codec RAW
 * only).  Little-endian:
 *
 *   u8 kind, u8 codec, u16 zero, u32 raw length, u32 stored length, id, bytes
 */
#define OBJREC_HEAD     44
#define OBJREC_RAW      0
#define OBJREC_ZSTD     1

struct objrec {
	struct obj_ref ref;
	uint8_t codec;
	uint32_t raw_len;       /* 1 to OBJ_MAX */
	uint32_t len;           /* stored: at most raw_len */
};

void objrec_encode(const struct objrec *, uint8_t *);

/* Decode OBJREC_HEAD bytes.  Return 0, or -1/EPROTO for any bad field. */
int objrec_decode(const uint8_t *, struct objrec *);

/**
 * objrec_pack(ref, buf, len, out, outlen):
 * Make a whole record, compressed when a quick try says that it helps.  ${out}
 * has room for OBJREC_HEAD + OBJ_MAX bytes.  Return 0, or -1/EINVAL.
 */
int objrec_pack(const struct obj_ref *, const void *, size_t, uint8_t *,
    size_t *);

/**
 * objrec_unpack(rec, stored, raw):
 * Undo the codec into ${raw} (OBJ_MAX bytes).  Return 0, or -1/EPROTO when it
 * is not exactly rec->raw_len bytes.  The id is not checked.
 */
int objrec_unpack(const struct objrec *, const uint8_t *, uint8_t *);

/*
 * A reader of a stream of records that arrives in pieces.  Holds at most one
 * record.
 */
struct objrec_reader;
typedef int objrec_fn(void *, const struct objrec *, const uint8_t *raw);

struct objrec_reader *objrec_reader_new(objrec_fn *, void *);
void objrec_reader_free(struct objrec_reader *);

/* Feed bytes; calls the function per whole record, uncompressed.  0 or -1. */
int objrec_reader_feed(struct objrec_reader *, const uint8_t *, size_t);

/* True when nothing of a record is left over. */
int objrec_reader_clean(const struct objrec_reader *);

#endif /* !ERRAND_OBJREC_H */
