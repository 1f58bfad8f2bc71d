#ifndef ERRAND_EXEC_PLAN_H
#define ERRAND_EXEC_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "lib/object.h"

struct storeclient;
struct tree_entry;

/*
 * A tree as a flat array, read from the store before anything is written:
 * whole, or what of it differs from another.
 *
 * Invariants:
 *  1. nodes[0] is the top directory; its name is empty.
 *  2. The children of a directory are nodes[first] to nodes[first + n - 1], in
 *     the order of their names, all after the directory itself.
 *  3. names holds, at .name and .target, terminated strings.
 *  4. PLAN_GONE is only in a difference: a name that the other tree has.
 */
#define PLAN_NONE       UINT32_MAX
#define PLAN_GONE       0               /* besides enum tree_kind */
#define PLAN_MAX        (UINT32_C(1) << 22)     /* entries of one tree */

struct plan_node {
	uint8_t kind;           /* enum tree_kind, or PLAN_GONE */
	uint16_t mode;
	uint32_t parent;        /* PLAN_NONE at the top */
	uint32_t first;
	uint32_t n;
	uint64_t size;
	int64_t mtime_ns;
	size_t name;
	size_t target;
	struct obj_ref ref;
};

struct plan {
	struct plan_node *nodes;
	size_t n;
	size_t cap;
	char *names;
	size_t names_len;
	size_t names_cap;
};

/**
 * plan_read(p, sc, root):
 * Read the tree below ${root}.  Return 0, or -1 with errno: EREMOTEIO (the
 * store said why), EPROTO (malformed), E2BIG (over PLAN_MAX entries, as trees
 * that name the same directory again and again can have), ENOMEM.
 */
int plan_read(struct plan *, struct storeclient *, const struct obj_ref *);
void plan_done(struct plan *);

/**
 * plan_diff(p, sc, base, root, max, more):
 * Read what has to be laid over the tree ${base} to make it ${root}: entries
 * that are new or different, with the directories that lead to them, and
 * PLAN_GONE for what is not there any more.  Equal subtrees are not read.
 * ${*more} is by how many entries the new tree is larger, not counting what
 * was below directories that are gone.  Return 0, or -1 with errno: as
 * plan_read, and EFBIG (over ${max} entries), ENOENT (the store has ${base}
 * no more).
 */
int plan_diff(struct plan *, struct storeclient *, const struct obj_ref *,
    const struct obj_ref *, size_t, int64_t *);

/* Used by both: make nodes[0], and append an entry of the directory ${dir}.
 * Return 0, or -1 with errno. */
int plan_top(struct plan *, const struct obj_ref *);
int plan_add(struct plan *, uint32_t, const struct tree_entry *);

/*
 * The order in which directories are filled: each one's files and links, then
 * each of its directories.  The next directory after ${i}, PLAN_NONE at the
 * end; ${*up} is how many levels up from ${i} it hangs.
 */
uint32_t plan_next_dir(const struct plan *, uint32_t, uint32_t *);

#endif /* !ERRAND_EXEC_PLAN_H */
