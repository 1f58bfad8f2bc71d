#ifndef ERRAND_CONTENT_INTERNAL_H
#define ERRAND_CONTENT_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "object.h"

struct list_builder;

/*
 * Bytes come as a window that begins where everything before was described.
 * With CUT_MAX and CONTENT_ZERO_MIN bytes in it, or the end of the content,
 * some of it can always be described.
 */
struct encoder {
	struct list_builder *lb;
	obj_sink_fn *sink;
	void *cookie;
	int in_run;             /* the bytes before the window are a run */
};

/**
 * encode_window(e, p, len, last, done):
 * Describe the window of ${len} bytes at ${p} as far as what follows cannot
 * matter; all of it if it is the ${last}, or if it ends in a run.  Return 0 and
 * the length in ${done}, or -1 with errno.
 */
int encode_window(struct encoder *, const uint8_t *, size_t, int, size_t *);

/* Describe zeros that belong to the run before the window.  0 or -1. */
int encode_zeros(struct encoder *, uint64_t);

#endif /* !ERRAND_CONTENT_INTERNAL_H */
