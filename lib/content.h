#ifndef ERRAND_CONTENT_H
#define ERRAND_CONTENT_H

#include <stddef.h>
#include <stdint.h>

#include "object.h"

/*
 * The bytes of a file as objects.  The same bytes give the same reference
 * whatever holes the file has:
 *  1. no bytes: NONE.
 *  2. every maximal run of at least CONTENT_ZERO_MIN zero bytes is a zero item;
 *     the stretches between are cut by cut_next, each afresh.
 *  3. one item that is a chunk: that chunk.  Otherwise a list.
 */
#define CONTENT_ZERO_MIN 16384

/**
 * content_from_fd(fd, sink, cookie, ref, size):
 * Read the regular file ${fd} from the start to its end (holes are skipped by
 * seeking) and emit its objects.  ${size} becomes the number of bytes that
 * were described.  ${sink} may be NULL.  Return 0, or -1 with errno.
 */
int content_from_fd(int, obj_sink_fn *, void *, struct obj_ref *, uint64_t *);

/* The same for bytes in memory. */
int content_from_mem(const void *, size_t, obj_sink_fn *, void *,
    struct obj_ref *);

/* Called with each piece in order; ${buf} NULL stands for zeros. */
typedef int content_piece_fn(void *, const uint8_t *, uint64_t);

/**
 * content_read(ref, fetch, fcookie, fn, cookie):
 * Hand the content to ${fn} piece by piece.  Return 0, -1 with errno, or the
 * first non-zero value of ${fn}.
 */
int content_read(const struct obj_ref *, obj_fetch_fn *, void *,
    content_piece_fn *, void *);

/**
 * content_to_fd(ref, size, fetch, fcookie, fd):
 * Write the content to the empty file ${fd}, leaving holes, and set its size.
 * Return 0, or -1 with errno (EPROTO: it is not ${size} bytes long).
 */
int content_to_fd(const struct obj_ref *, uint64_t, obj_fetch_fn *, void *,
    int);

#endif /* !ERRAND_CONTENT_H */
