#ifndef ERRAND_LIST_H
#define ERRAND_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "object.h"

/*
 * Content longer than one chunk, or holding a run of zeros.  Permanent
 * format, little-endian:
 *
 *   'E' 'L' version=1 level, u64 total length, u32 count, items:
 *   u8 type, u64 length (at least 1), and for type 1 an id
 *     type 0: a run of zeros (level 0 only; at least CONTENT_ZERO_MIN long;
 *             never two in a row)
 *     type 1: at level 0 a chunk of that length, above a list of level-1 with
 *             that total length
 *
 * The total is the sum of the lengths, below 2^63.  A list of a single chunk
 * does not exist (the chunk itself is the content).  A higher level has at
 * least two items.  Long lists are cut where an item's id says so (group_cut
 * in object_internal.h).  The cuts are part of the canonical form: readers
 * refuse others.
 */

#define LIST_ITEM_ZERO  0
#define LIST_ITEM_REF   1
#define LIST_LEVEL_MAX  8

struct list_item {
	uint8_t type;
	uint64_t len;
	struct obj_ref ref;     /* CHUNK at level 0, LIST above */
};

struct list_iter {
	const uint8_t *p;
	const uint8_t *end;
	uint32_t left;
	uint8_t level;
	uint8_t prev;           /* type of the last item, 0xff at first */
	uint64_t total;         /* as announced */
	uint64_t sum;           /* of the items seen */
	uint8_t cut;            /* a cut belongs after the last one seen */
	uint8_t tail;           /* only the end of its level may look so */
	uint32_t seen;
	const char *why;        /* after -1: the fault, a static sentence */
};

/* As tree_iter_init and tree_iter_next. */
int list_iter_init(struct list_iter *, const void *, size_t);
int list_iter_next(struct list_iter *, struct list_item *);

struct list_builder;

struct list_builder *list_builder_new(void);
void list_builder_free(struct list_builder *);

/*
 * Add a level-0 item.  Zero runs that touch are joined.  Return 0, or -1:
 * EINVAL (fault; a joined run that stays below CONTENT_ZERO_MIN), EFBIG,
 * ENOMEM.
 */
int list_builder_add(struct list_builder *, const struct list_item *);

/*
 * Emit the lists (the named one last) and set ${ref}; as the tree's.  Without
 * an item ${ref} is NONE, with a single chunk it is that chunk, and nothing is
 * emitted.
 */
int list_builder_finish(struct list_builder *, obj_sink_fn *, void *,
    struct obj_ref *);

#endif /* !ERRAND_LIST_H */
