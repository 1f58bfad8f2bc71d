/*
 * The objects of a directory, made: entries in, canonical objects out.  Memory
 * only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "object_internal.h"
#include "size.h"
#include "tree.h"
#include "tree_internal.h"

struct part {
	uint32_t below;         /* entries */
	uint8_t id[OBJ_ID_LEN];
};

struct leaf {
	size_t off;             /* where its encoding begins in the buffer */
	uint32_t count;
};

/*
 * Invariants of struct tree_builder:
 *  1. The leaves lie one after another in buf, headers included, so that each
 *     is hashed and handed on where it lies; the last one ends at len.
 *  2. cut is true when the next entry begins a leaf.
 *  3. prev_len is the length of the last name, which is at prev in buf; it is
 *     zero before the first entry.
 */
struct tree_builder {
	uint8_t *buf;
	size_t len;
	size_t cap;
	struct leaf *leaf;
	size_t nleaf;
	size_t leafcap;
	uint32_t total;
	size_t prev;
	uint16_t prev_len;
	int cut;
};

struct tree_builder *
tree_builder_new(void)
{
	struct tree_builder *tb;

	if (NEW_ARRAY(tb, 1) == -1)
		return (NULL);
	tb->cut = 1;
	return (tb);
}

void
tree_builder_free(struct tree_builder *tb)
{
	if (tb == NULL)
		return;
	free(tb->leaf);
	free(tb->buf);
	free(tb);
}

/* Make room for ${more} bytes. */
static int
reserve(struct tree_builder *tb, size_t more)
{
	uint8_t *p;
	size_t need;

	if (size_add(tb->len, more, &need) == -1)
		return (-1);
	if ((p = size_grow(tb->buf, &tb->cap, need, 1)) == NULL)
		return (-1);
	tb->buf = p;
	return (0);
}

static void
head_put(uint8_t *p, unsigned int level, uint32_t count)
{
	p[0] = 'E';
	p[1] = 'T';
	p[2] = 1;
	p[3] = (uint8_t)level;
	le_put32(p + 4, count);
}

/* Begin a leaf.  Its count is written when the leaf is emitted. */
static int
leaf_begin(struct tree_builder *tb)
{
	struct leaf *l;

	if (reserve(tb, TREE_HEAD) == -1)
		return (-1);
	if ((l = size_grow(tb->leaf, &tb->leafcap, tb->nleaf + 1,
	    sizeof(*l))) == NULL)
		return (-1);
	tb->leaf = l;
	l[tb->nleaf].off = tb->len;
	l[tb->nleaf].count = 0;
	tb->nleaf++;
	tb->len += TREE_HEAD;
	tb->cut = 0;
	return (0);
}

int
tree_builder_add(struct tree_builder *tb, const struct tree_entry *e)
{
	struct leaf *l;
	size_t elen;

	if (tree_name_fault(e->name, e->name_len) != NULL ||
	    entry_fault(e) != NULL)
		goto err0;
	if (tb->prev_len > 0 && tree_name_cmp(tb->buf + tb->prev,
	    tb->prev_len, e->name, e->name_len) >= 0)
		goto err0;
	if (tb->total == UINT32_MAX)
		goto err0;
	if (tb->cut && leaf_begin(tb) == -1)
		return (-1);
	elen = entry_len(e);
	if (reserve(tb, elen) == -1)
		return (-1);
	(void)entry_encode(e, tb->buf + tb->len);
	tb->prev = tb->len + ENTRY_FIXED;
	tb->prev_len = e->name_len;
	tb->len += elen;
	l = &tb->leaf[tb->nleaf - 1];
	l->count++;
	tb->total++;
	tb->cut = entry_cut(e, elen, tb->len - l->off);
	return (0);

err0:
	errno = EINVAL;
	return (-1);
}

/* Emit the i-th leaf. */
static int
leaf_emit(struct tree_builder *tb, size_t i, obj_sink_fn *sink, void *cookie,
    struct obj_ref *ref)
{
	struct leaf *l = &tb->leaf[i];
	size_t end = i + 1 < tb->nleaf ? l[1].off : tb->len;

	head_put(tb->buf + l->off, 0, l->count);
	return (obj_emit(OBJ_TREE, tb->buf + l->off, end - l->off, sink,
	    cookie, ref));
}

/* Emit one object of ${level} over ${n} parts; ${up} becomes its part. */
static int
group_emit(const struct part *part, uint32_t n, unsigned int level,
    obj_sink_fn *sink, void *cookie, struct part *up, struct obj_ref *ref)
{
	uint8_t buf[TREE_HEAD + PART_LEN * (GROUP_MAX + 1)];
	uint8_t *p = buf + TREE_HEAD;
	uint32_t i, below = 0;

	head_put(buf, level, n);
	for (i = 0; i < n; i++) {
		le_put32(p, part[i].below);
		memcpy(p + 4, part[i].id, OBJ_ID_LEN);
		p += PART_LEN;
		below += part[i].below;         /* at most total */
	}
	if (obj_emit(OBJ_TREE, buf, (size_t)(p - buf), sink, cookie,
	    ref) == -1)
		return (-1);
	up->below = below;
	memcpy(up->id, ref->id, OBJ_ID_LEN);
	return (0);
}

/* Emit the objects of ${level} over ${*n} parts, which they replace. */
static int
level_emit(struct part *part, size_t *n, unsigned int level,
    obj_sink_fn *sink, void *cookie, struct obj_ref *ref)
{
	size_t i, first = 0, made = 0;
	uint32_t count;

	for (i = 0; i < *n; i++) {
		count = (uint32_t)(i - first + 1);
		if (i + 1 < *n &&
		    (i + 2 == *n || !group_cut(count, part[i].id)))
			continue;
		if (group_emit(part + first, count, level, sink, cookie,
		    &part[made], ref) == -1)
			return (-1);
		made++;
		first = i + 1;
	}
	*n = made;
	return (0);
}

/* Emit all leaves, then level over level until one object is left. */
static int
emit_all(struct tree_builder *tb, struct part *part, obj_sink_fn *sink,
    void *cookie, struct obj_ref *ref)
{
	unsigned int level;
	size_t i, n = tb->nleaf;

	for (i = 0; i < n; i++) {
		if (leaf_emit(tb, i, sink, cookie, ref) == -1)
			return (-1);
		part[i].below = tb->leaf[i].count;
		memcpy(part[i].id, ref->id, OBJ_ID_LEN);
	}
	for (level = 1; n > 1; level++) {
		if (level > TREE_LEVEL_MAX) {
			errno = EFBIG;
			return (-1);
		}
		if (level_emit(part, &n, level, sink, cookie, ref) == -1)
			return (-1);
	}
	return (0);
}

int
tree_builder_finish(struct tree_builder *tb, obj_sink_fn *sink, void *cookie,
    struct obj_ref *ref)
{
	struct part *part;
	int rc;

	if (tb->nleaf == 0 && leaf_begin(tb) == -1)
		return (-1);
	if (NEW_ARRAY(part, tb->nleaf) == -1)
		return (-1);
	rc = emit_all(tb, part, sink, cookie, ref);
	free(part);
	return (rc);
}
