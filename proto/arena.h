#ifndef ERRAND_PROTO_ARENA_H
#define ERRAND_PROTO_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

/*
 * Memory for one message while it is taken apart or put together.  The first
 * part is inside the structure, so that small messages cost no malloc; the
 * rest comes in blocks, up to a fixed total, so that no packet can ask for
 * more.  Everything is given back at once.
 *
 * Invariants:
 *  1. p + room is the end of the newest block, or of ${first}.
 *  2. left is what may still be taken from malloc.
 */
#define ARENA_FIRST     8192

struct arena_block;

struct arena {
	ProtobufCAllocator alloc;       /* for protobuf-c; takes from here */
	uint8_t *p;
	size_t room;
	size_t left;
	struct arena_block *blocks;
	_Alignas(16) uint8_t first[ARENA_FIRST];
};

/* Begin with at most ${limit} bytes beyond the first part. */
void arena_init(struct arena *, size_t limit);
void arena_done(struct arena *);

/* ${n} bytes, aligned for anything, not cleared; NULL with errno = ENOMEM. */
void *arena_take(struct arena *, size_t);

#endif /* !ERRAND_PROTO_ARENA_H */
