/*
 * One object of a tree: hostile bytes, checked entry by entry.  Memory only.  A
 * whole directory is read by tree_read.c.
 */
#include <errno.h>
#include <string.h>

#include "object_internal.h"
#include "tree.h"
#include "tree_internal.h"

static int
fault(struct tree_iter *it, const char *why)
{
	it->why = why;
	errno = EPROTO;
	return (-1);
}

int
tree_iter_init(struct tree_iter *it, const void *buf, size_t len)
{
	const uint8_t *p = buf;

	memset(it, 0, sizeof(*it));
	if (len < TREE_HEAD || len > OBJ_MAX)
		return (fault(it, "a tree of too few or too many bytes"));
	if (p[0] != 'E' || p[1] != 'T' || p[2] != 1)
		return (fault(it, "not a tree of this version"));
	if (p[3] > TREE_LEVEL_MAX)
		return (fault(it, "a tree of too many levels"));
	it->start = p;
	it->p = p + TREE_HEAD;
	it->end = p + len;
	it->level = p[3];
	it->left = le_get32(p + 4);
	if (it->level > 0 && it->left < 2)
		return (fault(it, "a tree of less than two parts"));
	return (0);
}

/* The end of the entries must be the end of the bytes.  Returns 0 or -1. */
static int
at_end(struct tree_iter *it)
{
	if (it->p != it->end)
		return (fault(it, "bytes after the end of a tree"));
	return (0);
}

static int
in_order(const struct tree_iter *it, const struct tree_entry *e)
{
	return (it->prev == NULL || tree_name_cmp(it->prev, it->prev_len,
	    e->name, e->name_len) < 0);
}

int
tree_iter_next(struct tree_iter *it, struct tree_entry *e)
{
	struct cursor c = { it->p, it->end };
	const char *why;

	if (it->level != 0)
		return (fault(it, "parts where entries were expected"));
	if (it->left == 0)
		return (at_end(it));
	if (it->cut)
		return (fault(it, "a tree that was not cut where it must be"));
	if ((why = entry_decode(&c, e)) != NULL)
		return (fault(it, why));
	if (!in_order(it, e))
		return (fault(it, "names that are not in order"));
	it->prev = e->name;
	it->prev_len = e->name_len;
	it->cut = (uint8_t)entry_cut(e, (size_t)(c.p - it->p),
	    (size_t)(c.p - it->start));
	it->p = c.p;
	it->seen++;
	it->left--;
	return (1);
}

int
tree_part_next(struct tree_iter *it, struct obj_ref *ref, uint32_t *below)
{
	struct cursor c = { it->p, it->end };
	const uint8_t *p;

	if (it->level == 0)
		return (fault(it, "entries where parts were expected"));
	if (it->left == 0)
		return (at_end(it));
	/* A level is not cut before its last part; see group_cut. */
	if (it->cut && it->left > 1)
		return (fault(it, "a tree that was not cut where it must be"));
	it->tail = it->cut;
	if ((p = cursor_take(&c, PART_LEN)) == NULL)
		return (fault(it, "a part that is cut short"));
	if ((*below = le_get32(p)) == 0)
		return (fault(it, "a part without entries"));
	ref->kind = OBJ_TREE;
	memcpy(ref->id, p + 4, OBJ_ID_LEN);
	it->p = c.p;
	it->seen++;
	it->left--;
	it->cut = (uint8_t)group_cut(it->seen, ref->id);
	return (1);
}
