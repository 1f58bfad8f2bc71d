#ifndef ERRAND_OBJECT_INTERNAL_H
#define ERRAND_OBJECT_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "le.h"
#include "object.h"

/* Sizes are file offsets: nothing over the largest off_t is representable. */
#define SIZE_LIMIT      ((uint64_t)INT64_MAX)

/*
 * How a long sequence of references (list items, parts of a tree) is cut into
 * objects.  After the n-th reference of an object it is cut when n is at least
 * GROUP_MIN and the first four bytes of the id are below GROUP_BOUND, or when
 * n is GROUP_MAX; but never before the last reference of a level, so that no
 * object holds just one.  Permanent.
 */
#define GROUP_MIN       32
#define GROUP_MAX       1024
#define GROUP_BOUND     (UINT32_C(1) << 24)     /* one id in 256 */

/* Whether to cut after the ${n}-th reference; ${id} NULL is a zero run. */
static inline int
group_cut(uint32_t n, const uint8_t *id)
{
	if (n >= GROUP_MAX)
		return (1);
	return (n >= GROUP_MIN && id != NULL && le_get32(id) < GROUP_BOUND);
}

/* Name the bytes and hand them to ${sink} if it is not NULL.  0 or -1. */
int obj_emit(enum obj_kind, const void *, size_t, obj_sink_fn *, void *,
    struct obj_ref *);

/* BLAKE2b-256 of any length with a personal string of 15 bytes at most. */
void obj_hash(const char *, const void *, size_t, uint8_t *);

#endif /* !ERRAND_OBJECT_INTERNAL_H */
