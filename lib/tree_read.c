/*
 * A whole directory out of however many objects it has.  Fetches them through
 * the caller; touches nothing else.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "object_internal.h"
#include "tree.h"

/*
 * Invariants of struct walk:
 *  1. buf[d] holds the object being read at depth d, d <= TREE_LEVEL_MAX; the
 *     level of an object is one less than that of its parent, so the recursion
 *     ends there whatever the objects say.
 *  2. open[l] is true when the last object of level l that was read did not end
 *     where the level is cut: no other of its level may follow.
 *  3. name is the last name handed out, if any.
 */
struct walk {
	obj_fetch_fn *fetch;
	void *fcookie;
	tree_entry_fn *fn;
	void *cookie;
	uint8_t *buf[TREE_LEVEL_MAX + 1];
	uint8_t open[TREE_LEVEL_MAX + 1];
	uint8_t name[TREE_NAME_MAX];
	uint16_t name_len;
};

static int
bad(void)
{
	errno = EPROTO;
	return (-1);
}

/* Fetch ${ref} into the buffer of ${depth} and begin to read it. */
static int
load(struct walk *w, const struct obj_ref *ref, int depth,
    struct tree_iter *it)
{
	size_t len = 0;

	if (w->buf[depth] == NULL &&
	    (w->buf[depth] = malloc(OBJ_MAX)) == NULL)
		return (-1);
	if (w->fetch(w->fcookie, ref, w->buf[depth], &len) != 0)
		return (-1);
	return (tree_iter_init(it, w->buf[depth], len));
}

/* Hand out the entries of a leaf and count them. */
static int
read_leaf(struct walk *w, struct tree_iter *it, uint64_t *count)
{
	struct tree_entry e;
	int rc;

	/* The first name of a leaf follows the last of the leaf before. */
	if (w->name_len > 0) {
		it->prev = w->name;
		it->prev_len = w->name_len;
	}
	while ((rc = tree_iter_next(it, &e)) == 1)
		if ((rc = w->fn(w->cookie, &e)) != 0)
			return (rc);
	if (rc == -1)
		return (-1);
	*count = it->seen;
	if (it->seen > 0) {
		memcpy(w->name, it->prev, it->prev_len);
		w->name_len = it->prev_len;
	}
	return (0);
}

/*
 * Read the tree ${ref} at ${depth}, which must be of ${level} unless that is
 * -1, and count its entries.
 */
static int
read_tree(struct walk *w, const struct obj_ref *ref, int depth, int level,
    uint64_t *count)
{
	struct tree_iter it;
	struct obj_ref part;
	uint32_t announced;
	uint64_t below;
	int rc;

	if (load(w, ref, depth, &it) == -1)
		return (-1);
	if ((level != -1 && it.level != level) || w->open[it.level])
		return (bad());
	*count = 0;
	if (it.level == 0) {
		if ((rc = read_leaf(w, &it, count)) != 0)
			return (rc);
	} else {
		while ((rc = tree_part_next(&it, &part, &announced)) == 1) {
			if ((rc = read_tree(w, &part, depth + 1,
			    it.level - 1, &below)) != 0)
				return (rc);
			if (below != announced)
				return (bad());
			*count += below;
		}
		if (rc == -1)
			return (-1);
	}
	w->open[it.level] = !it.cut || it.tail;
	return (0);
}

int
tree_read(const struct obj_ref *ref, obj_fetch_fn *fetch, void *fcookie,
    tree_entry_fn *fn, void *cookie)
{
	struct walk w = { .fetch = fetch, .fcookie = fcookie, .fn = fn,
	    .cookie = cookie };
	uint64_t count;
	size_t i;
	int rc, e;

	if (ref->kind != OBJ_TREE)
		return (bad());
	rc = read_tree(&w, ref, 0, -1, &count);
	e = errno;
	for (i = 0; i < sizeof(w.buf) / sizeof(w.buf[0]); i++)
		free(w.buf[i]);
	errno = e;
	return (rc);
}
