#ifndef ERRAND_TREE_INTERNAL_H
#define ERRAND_TREE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "tree.h"

/*
 * What a tree entry and a change have in common: kind, mode, size, time, a name
 * or path, and what it stands for.  Both formats use the same bytes.
 */

#define TREE_HEAD       8       /* magic, version, level, count */
#define ENTRY_FIXED     21      /* kind, mode, size, time, name length */
#define PART_LEN        36      /* entries below, id */

/* Longest encoding of an entry, the name aside: ENTRY_FIXED and a target. */
#define ENTRY_MAX       (ENTRY_FIXED + 2 + TREE_TARGET_MAX)

/* A cursor over hostile bytes.  Each takes what it returns, or gives NULL. */
struct cursor {
	const uint8_t *p;
	const uint8_t *end;
};

static inline const uint8_t *
cursor_take(struct cursor *c, size_t n)
{
	const uint8_t *p = c->p;

	if ((size_t)(c->end - c->p) < n)
		return (NULL);
	c->p += n;
	return (p);
}

/*
 * Why kind, mode, size, ref and target do not go together, or NULL.  The name
 * is not looked at.
 */
const char *entry_fault(const struct tree_entry *);

/* Encode ${e} at ${out}; return the length. */
size_t entry_encode(const struct tree_entry *, uint8_t *);

/* The length entry_encode would use. */
size_t entry_len(const struct tree_entry *);

/* Decode and check one entry.  Return NULL, or why it may not be. */
const char *entry_decode(struct cursor *, struct tree_entry *);

/*
 * The same for the two halves of an entry, which a change has too: the fixed
 * part with the name, whose bytes are left to the caller to check, and what
 * follows it.
 */
size_t entry_fixed_encode(const struct tree_entry *, uint8_t *);
size_t entry_body_encode(const struct tree_entry *, uint8_t *);
const char *entry_fixed_decode(struct cursor *, struct tree_entry *);
const char *entry_body_decode(struct cursor *, struct tree_entry *);

/*
 * Whether a leaf is cut after ${e}, whose encoding of ${elen} bytes made the
 * leaf ${size} bytes long.
 */
int entry_cut(const struct tree_entry *, size_t, size_t);

#endif /* !ERRAND_TREE_INTERNAL_H */
