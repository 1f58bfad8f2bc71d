/*
 * Lists of pieces of content: hostile bytes, checked item by item.  Memory
 * only.  Making lists is in list_builder.c.
 */
#include <errno.h>
#include <string.h>

#include "content.h"
#include "list.h"
#include "list_internal.h"
#include "object_internal.h"

#define PREV_NONE       0xff

static int
fault(struct list_iter *it, const char *why)
{
	it->why = why;
	errno = EPROTO;
	return (-1);
}

int
list_iter_init(struct list_iter *it, const void *buf, size_t len)
{
	const uint8_t *p = buf;

	memset(it, 0, sizeof(*it));
	if (len < LIST_HEAD || len > OBJ_MAX)
		return (fault(it, "a list of too few or too many bytes"));
	if (p[0] != 'E' || p[1] != 'L' || p[2] != 1)
		return (fault(it, "not a list of this version"));
	if (p[3] > LIST_LEVEL_MAX)
		return (fault(it, "a list of too many levels"));
	it->p = p + LIST_HEAD;
	it->end = p + len;
	it->level = p[3];
	it->total = le_get64(p + 4);
	it->left = le_get32(p + 12);
	it->prev = PREV_NONE;
	if (it->total > SIZE_LIMIT)
		return (fault(it, "a list with an impossible length"));
	if (it->left == 0 || (it->left == 1 && it->level > 0))
		return (fault(it, "a list of too few items"));
	/* A single item is a run of zeros. */
	if (it->left == 1 && len != LIST_HEAD + ITEM_ZERO_LEN)
		return (fault(it, "a list of a single chunk"));
	return (0);
}

static int
at_end(struct list_iter *it)
{
	if (it->p != it->end)
		return (fault(it, "bytes after the end of a list"));
	if (it->sum != it->total)
		return (fault(it, "a list of another length than announced"));
	return (0);
}

/* Why the item may not be there, or NULL. */
static const char *
item_fault(const struct list_iter *it, const struct list_item *item)
{
	if (item->type == LIST_ITEM_ZERO) {
		if (it->level > 0)
			return ("a run of zeros among lists");
		if (it->prev == LIST_ITEM_ZERO)
			return ("two runs of zeros that touch");
		if (item->len < CONTENT_ZERO_MIN)
			return ("a short run of zeros");
	} else {
		if (item->len == 0)
			return ("an item of no length");
		if (it->level == 0 && item->len > OBJ_MAX)
			return ("a chunk of too many bytes");
	}
	/* The sum so far is at most the total, so this cannot wrap. */
	if (item->len > it->total - it->sum)
		return ("a list longer than announced");
	return (NULL);
}

/* Take the bytes of one item.  Return NULL, or why not. */
static const char *
item_decode(struct list_iter *it, struct list_item *item)
{
	size_t n = (size_t)(it->end - it->p);

	memset(item, 0, sizeof(*item));
	if (n < ITEM_ZERO_LEN)
		return ("an item that is cut short");
	item->type = it->p[0];
	item->len = le_get64(it->p + 1);
	if (item->type == LIST_ITEM_ZERO) {
		it->p += ITEM_ZERO_LEN;
		return (NULL);
	}
	if (item->type != LIST_ITEM_REF)
		return ("an unknown type of item");
	if (n < ITEM_REF_LEN)
		return ("an item that is cut short");
	item->ref.kind = it->level == 0 ? OBJ_CHUNK : OBJ_LIST;
	memcpy(item->ref.id, it->p + ITEM_ZERO_LEN, OBJ_ID_LEN);
	it->p += ITEM_REF_LEN;
	return (NULL);
}

int
list_iter_next(struct list_iter *it, struct list_item *item)
{
	const char *why;

	if (it->left == 0)
		return (at_end(it));
	/* A level is not cut before its last item; see group_cut. */
	if (it->cut && it->left > 1)
		return (fault(it, "a list that was not cut where it must be"));
	it->tail = it->cut;
	if ((why = item_decode(it, item)) != NULL ||
	    (why = item_fault(it, item)) != NULL)
		return (fault(it, why));
	it->sum += item->len;
	it->prev = item->type;
	it->seen++;
	it->left--;
	it->cut = (uint8_t)group_cut(it->seen,
	    item->type == LIST_ITEM_REF ? item->ref.id : NULL);
	return (1);
}
