#ifndef ERRAND_OBJECT_H
#define ERRAND_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#define OBJ_ID_LEN      32
#define OBJ_MAX         65520   /* most bytes of any object, all kinds */
#define OBJ_REF_LEN     33      /* encoded reference: kind, id */

enum obj_kind {
	OBJ_NONE = 0,           /* no bytes: the content of an empty file */
	OBJ_CHUNK = 1,          /* bytes of a file */
	OBJ_LIST = 2,           /* ordered pieces of content; see list.h */
	OBJ_TREE = 3            /* a directory, or part of one; see tree.h */
};

struct obj_ref {
	uint8_t kind;           /* enum obj_kind */
	uint8_t id[OBJ_ID_LEN]; /* all zero exactly when kind is OBJ_NONE */
};

/*
 * Receives each object that an encoder makes.  Return 0, or -1 with errno to
 * stop it.  ${buf} is borrowed for the call.
 */
typedef int obj_sink_fn(void *, const struct obj_ref *, const void *, size_t);

/*
 * Fetches one object: fill ${buf} (OBJ_MAX bytes) and ${len}.  The callee has
 * already checked that the bytes have the id.  Return 0, or -1 with errno
 * (ENOENT: not there; EBADMSG: damaged).
 */
typedef int obj_fetch_fn(void *, const struct obj_ref *, uint8_t *, size_t *);

/* Called for each object that another one names.  Non-zero stops. */
typedef int obj_child_fn(void *, const struct obj_ref *);

/**
 * obj_ref_of(kind, buf, len, ref):
 * Compute the reference of the ${len} bytes at ${buf}: BLAKE2b-256 with the
 * personal string of the kind.  Return 0, or -1 with errno = EINVAL for an
 * unknown kind or a length over OBJ_MAX.
 */
int obj_ref_of(enum obj_kind, const void *, size_t, struct obj_ref *);

/* Bytes whose reference is to be computed. */
struct obj_bytes {
	enum obj_kind kind;
	const void *buf;
	size_t len;
	struct obj_ref ref;
};

/* As obj_ref_of of each, HASH_MANY_MAX at most, in a third of the time. */
int obj_refs_of(struct obj_bytes *, size_t);

/**
 * obj_check(kind, buf, len, why):
 * Check that the bytes are the one canonical encoding of their kind (a chunk
 * may be anything but empty).  Return 0, or -1 with errno = EPROTO and
 * ${*why} a static sentence naming the fault.
 */
int obj_check(enum obj_kind, const void *, size_t, const char **);

/**
 * obj_children(kind, buf, len, fn, cookie):
 * Call ${fn} for every object the checked bytes name, in order.  Return 0,
 * -1 with errno = EPROTO, or the first non-zero value of ${fn}.
 */
int obj_children(enum obj_kind, const void *, size_t, obj_child_fn *, void *);

/* Encode to, or decode from, OBJ_REF_LEN bytes.  Decoding returns -1/EPROTO. */
void obj_ref_encode(const struct obj_ref *, uint8_t *);
int obj_ref_decode(const uint8_t *, struct obj_ref *);

/* True when both name the same object. */
int obj_ref_equal(const struct obj_ref *, const struct obj_ref *);

/* Write the id as 64 hexadecimal digits and a NUL. */
void obj_id_hex(const uint8_t *, char *);

/* Read 64 hexadecimal digits into an id.  Return 0, or -1/EINVAL. */
int obj_id_parse(const char *, uint8_t *);

#endif /* !ERRAND_OBJECT_H */
