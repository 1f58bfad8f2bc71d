#ifndef ERRAND_EXEC_PLAN_H
#define ERRAND_EXEC_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "lib/object.h"

struct storeclient;

/*
 * A whole tree as a flat array, read from the store before anything is
 * written.
 *
 * Invariants:
 *  1. nodes[0] is the top directory; its name is empty.
 *  2. The children of a directory are nodes[first] to nodes[first + n - 1], in
 *     the order of their names, all after the directory itself.
 *  3. names holds, at .name and .target, terminated strings.
 */
#define PLAN_NONE       UINT32_MAX
#define PLAN_MAX        (UINT32_C(1) << 22)     /* entries of one tree */

struct plan_node {
	uint8_t kind;           /* enum tree_kind */
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

/*
 * The order in which directories are filled: each one's files and links, then
 * each of its directories.  The next directory after ${i}, PLAN_NONE at the
 * end; ${*up} is how many levels up from ${i} it hangs.
 */
uint32_t plan_next_dir(const struct plan *, uint32_t, uint32_t *);

#endif /* !ERRAND_EXEC_PLAN_H */
