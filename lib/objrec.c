/*
 * An object as a record, for wires and memfds, compressed where that helps.
 * Memory only; alone knows zstd.
 */
#include <errno.h>
#include <string.h>

#include <zstd.h>

#include "le.h"
#include "objrec.h"

#define TRY_MIN         64      /* shorter objects are not worth a try */
#define SAMPLE_OVER     8192    /* longer ones are tried on a sample first */
#define SAMPLE          4096
#define LEVEL           1

/*
 * One context per thread, kept: making one costs more than a small object.
 * Nothing carries over from one use to the next.
 */
static _Thread_local ZSTD_CCtx *pack_ctx;
static _Thread_local ZSTD_DCtx *unpack_ctx;

void
objrec_encode(const struct objrec *rec, uint8_t *out)
{
	out[0] = rec->ref.kind;
	out[1] = rec->codec;
	le_put16(out + 2, 0);
	le_put32(out + 4, rec->raw_len);
	le_put32(out + 8, rec->len);
	memcpy(out + 12, rec->ref.id, OBJ_ID_LEN);
}

/* Whether the lengths and the codec go together. */
static int
lengths_valid(const struct objrec *rec)
{
	if (rec->raw_len == 0 || rec->raw_len > OBJ_MAX)
		return (0);
	switch (rec->codec) {
	case OBJREC_RAW:
		return (rec->len == rec->raw_len);
	case OBJREC_ZSTD:
		return (rec->len > 0 && rec->len <= rec->raw_len);
	default:
		return (0);
	}
}

int
objrec_decode(const uint8_t *in, struct objrec *rec)
{
	rec->ref.kind = in[0];
	rec->codec = in[1];
	rec->raw_len = le_get32(in + 4);
	rec->len = le_get32(in + 8);
	memcpy(rec->ref.id, in + 12, OBJ_ID_LEN);
	if (rec->ref.kind < OBJ_CHUNK || rec->ref.kind > OBJ_TREE ||
	    le_get16(in + 2) != 0 || !lengths_valid(rec)) {
		errno = EPROTO;
		return (-1);
	}
	return (0);
}

/* Most bytes that ${len} may become for compression to be of use. */
static size_t
worth(size_t len)
{
	return (len - len / 16);
}

/* Compress into at most ${room} bytes.  Return the length, 0 if it is more. */
static size_t
squeeze(const void *buf, size_t len, uint8_t *out, size_t room)
{
	size_t n;

	n = ZSTD_compressCCtx(pack_ctx, out, room, buf, len, LEVEL);
	return (ZSTD_isError(n) ? 0 : n);
}

/* The compressed length of the object at ${out}, or 0: it does not help. */
static size_t
try_zstd(const void *buf, size_t len, uint8_t *out)
{
	if (len < TRY_MIN)
		return (0);
	/* Without memory the object goes as it is. */
	if (pack_ctx == NULL && (pack_ctx = ZSTD_createCCtx()) == NULL)
		return (0);
	if (len > SAMPLE_OVER &&
	    squeeze(buf, SAMPLE, out, worth(SAMPLE)) == 0)
		return (0);
	return (squeeze(buf, len, out, worth(len)));
}

int
objrec_pack(const struct obj_ref *ref, const void *buf, size_t len,
    uint8_t *out, size_t *outlen)
{
	struct objrec rec = { .ref = *ref };
	size_t n;

	if (ref->kind < OBJ_CHUNK || ref->kind > OBJ_TREE || len == 0 ||
	    len > OBJ_MAX) {
		errno = EINVAL;
		return (-1);
	}
	rec.codec = OBJREC_ZSTD;
	if ((n = try_zstd(buf, len, out + OBJREC_HEAD)) == 0) {
		rec.codec = OBJREC_RAW;
		n = len;
		memcpy(out + OBJREC_HEAD, buf, len);
	}
	rec.raw_len = (uint32_t)len;
	rec.len = (uint32_t)n;
	objrec_encode(&rec, out);
	*outlen = OBJREC_HEAD + n;
	return (0);
}

int
objrec_unpack(const struct objrec *rec, const uint8_t *stored, uint8_t *raw)
{
	size_t n;

	if (!lengths_valid(rec))
		goto err0;
	if (rec->codec == OBJREC_RAW) {
		memcpy(raw, stored, rec->len);
		return (0);
	}
	if (unpack_ctx == NULL && (unpack_ctx = ZSTD_createDCtx()) == NULL) {
		errno = ENOMEM;
		return (-1);
	}
	n = ZSTD_decompressDCtx(unpack_ctx, raw, rec->raw_len, stored,
	    rec->len);
	if (ZSTD_isError(n) || n != rec->raw_len)
		goto err0;
	return (0);

err0:
	errno = EPROTO;
	return (-1);
}
