#ifndef ERRAND_CHANGE_H
#define ERRAND_CHANGE_H

#include <stddef.h>
#include <stdint.h>

#include "object.h"

/*
 * The canonical list of what a job changed.  Stored as content; its digest
 * (BLAKE2b-256, personal "errand.changes") is in the receipt.  Permanent
 * format, little-endian: 'E' 'C' version=1 zero, then entries to the end,
 * strictly ascending by path bytes:
 *
 *   u8 op, u8 kind after (0 for a deletion), u16 mode, u64 size, i64 mtime_ns,
 *   u16 path length, path, then as in a tree entry: ref, or link target;
 *   nothing for a deletion or a directory
 *
 * Paths are relative; every component obeys tree_name_fault, and there are
 * TREE_DEPTH_MAX at most.  A directory has an entry of its own when it was
 * created, deleted, changed its kind or its mode; it is never modified.  Mode,
 * size and time of a deletion are zero.  The order is that of memcmp on whole
 * paths, shorter first ("a-b" before "a/b"), not that of a walk.
 */

enum change_op {
	CHANGE_CREATE = 1,      /* A */
	CHANGE_MODIFY = 2,      /* M: content or link target */
	CHANGE_DELETE = 3,      /* D */
	CHANGE_MODE = 4,        /* C: nothing but the permission bits */
	CHANGE_TYPE = 5         /* T: became another kind */
};

struct change {
	uint8_t op;
	uint8_t kind;           /* enum tree_kind, 0 when deleted */
	uint16_t mode;
	uint64_t size;
	int64_t mtime_ns;
	const uint8_t *path;    /* borrowed */
	uint16_t path_len;
	struct obj_ref ref;
	const uint8_t *target;
	uint16_t target_len;
};

struct change_iter {
	const uint8_t *p;
	const uint8_t *end;
	const uint8_t *prev;
	uint16_t prev_len;
	const char *why;        /* after -1: the fault, a static sentence */
};

/* The letter shown to people: A M D C T. */
char change_letter(enum change_op);

/* As tree_iter_init and tree_iter_next. */
int change_iter_init(struct change_iter *, const void *, size_t);
int change_iter_next(struct change_iter *, struct change *);

/*
 * Append to a growing buffer, all zero at first; the first call (len 0) writes
 * the header.  Return 0, or -1: EINVAL (fault, order), ENOMEM.
 */
struct change_buf {
	uint8_t *p;             /* freed by the caller */
	size_t len;
	size_t cap;
	uint64_t count;
	size_t prev;            /* where the last path is in ${p} */
	uint16_t prev_len;
};
int change_buf_begin(struct change_buf *);
int change_buf_add(struct change_buf *, const struct change *);

/* Digest of an encoded list: 32 bytes. */
void change_digest(const void *, size_t, uint8_t *);

#endif /* !ERRAND_CHANGE_H */
