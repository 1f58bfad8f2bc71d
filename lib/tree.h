#ifndef ERRAND_TREE_H
#define ERRAND_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "object.h"

/*
 * A directory.  Permanent format, little-endian:
 *
 *   'E' 'T' version=1 level
 *   level 0:   u32 count, then entries sorted by name bytes (memcmp, shorter
 *              first), strictly ascending:
 *              u8 kind, u16 mode (07777 at most; bits 07000 never set),
 *              u64 size, i64 mtime in ns, u16 name length, name,
 *              then for a file or directory: u8 ref kind, and id unless NONE;
 *              for a link: u16 length, target
 *   level n>0: u32 count (at least 2), then per part: u32 entries below,
 *              id of a tree of level n-1; parts in name order.  TREE_LEVEL_MAX
 *              at most
 *
 * A file's ref is NONE (size 0), CHUNK or LIST; a directory's always TREE and
 * its size 0; a link's size is its target's length (1 to 4095, no NUL).
 * Names: 1 to 255 bytes, no '/' or NUL, not "." or "..", not ".git" in any
 * case.  Sizes are below 2^63.  An encoding over OBJ_MAX never exists:
 * entry_cut in tree_entry.c says where a long directory is cut, by the hash of
 * the name at the cut, so one edit changes one part and the parts above it.
 * The cuts are part of the canonical form: readers refuse others.
 */

enum tree_kind {
	TREE_FILE = 1,
	TREE_DIR = 2,
	TREE_LINK = 3
};

#define TREE_NAME_MAX   255
#define TREE_TARGET_MAX 4095
#define TREE_DEPTH_MAX  4096    /* directories below one another */
#define TREE_LEVEL_MAX  8

struct tree_entry {
	uint8_t kind;           /* enum tree_kind */
	uint16_t mode;          /* 0777 at most */
	uint64_t size;
	int64_t mtime_ns;
	const uint8_t *name;    /* borrowed, not terminated */
	uint16_t name_len;
	struct obj_ref ref;     /* file, directory */
	const uint8_t *target;  /* link: borrowed, not terminated */
	uint16_t target_len;
};

struct tree_iter {
	const uint8_t *p;
	const uint8_t *end;
	uint32_t left;
	uint8_t level;
	const uint8_t *prev;    /* last name, to check the order */
	uint16_t prev_len;
	uint8_t cut;            /* a cut belongs after the last one seen */
	uint8_t tail;           /* only the end of its level may look so */
	uint32_t seen;
	const uint8_t *start;
	const char *why;        /* after -1: the fault, a static sentence */
};

/* Why a name may not be in a tree: a static sentence, or NULL if it may. */
const char *tree_name_fault(const uint8_t *, size_t);

/* Order of names: below, equal to or above zero as memcmp. */
int tree_name_cmp(const uint8_t *, size_t, const uint8_t *, size_t);

/**
 * tree_iter_init(it, buf, len):
 * Begin to read one tree object.  Return 0, or -1 with errno = EPROTO.
 */
int tree_iter_init(struct tree_iter *, const void *, size_t);

/**
 * tree_iter_next(it, e):
 * The next entry of a level-0 object.  Return 1, 0 at the (checked) end, or
 * -1 with errno = EPROTO.  Names and targets are borrowed from the buffer.
 */
int tree_iter_next(struct tree_iter *, struct tree_entry *);

/**
 * tree_part_next(it, ref, entries):
 * The next part of an object of a higher level.  Returns as tree_iter_next.
 */
int tree_part_next(struct tree_iter *, struct obj_ref *, uint32_t *);

/* Called per entry by tree_read.  Non-zero stops. */
typedef int tree_entry_fn(void *, const struct tree_entry *);

/**
 * tree_read(ref, fetch, fcookie, fn, cookie):
 * Read a whole directory, of whatever level, in name order.  Return 0, -1
 * with errno (EPROTO: malformed, out of order, levels that do not descend),
 * or the first non-zero value of ${fn}.
 */
int tree_read(const struct obj_ref *, obj_fetch_fn *, void *, tree_entry_fn *,
    void *);

/*
 * A tree_builder takes entries in ascending order and makes the objects.
 * Not reusable after _finish.  _free(NULL) is a no-op.
 */
struct tree_builder;

struct tree_builder *tree_builder_new(void);
void tree_builder_free(struct tree_builder *);

/* Add one entry (copied).  Return 0, or -1: EINVAL (fault, order), ENOMEM. */
int tree_builder_add(struct tree_builder *, const struct tree_entry *);

/**
 * tree_builder_finish(tb, sink, cookie, ref):
 * Emit the directory's objects (parts first, the named one last; ${sink} may
 * be NULL) and set ${ref}.  Return 0, or -1 with errno.
 */
int tree_builder_finish(struct tree_builder *, obj_sink_fn *, void *,
    struct obj_ref *);

#endif /* !ERRAND_TREE_H */
