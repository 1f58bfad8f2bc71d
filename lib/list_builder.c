/*
 * Lists of pieces of content, made: items in, canonical objects out.  Memory
 * only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "content.h"
#include "list.h"
#include "list_internal.h"
#include "object_internal.h"
#include "size.h"

_Static_assert(LIST_HEAD + ITEM_REF_LEN * (GROUP_MAX + 1) <= OBJ_MAX,
    "a group of items is an object");

struct list_builder {
	struct list_item *item; /* those of level 0, in order */
	size_t n;
	size_t cap;
	uint64_t total;
};

struct list_builder *
list_builder_new(void)
{
	struct list_builder *lb;

	if (NEW_ARRAY(lb, 1) == -1)
		return (NULL);
	return (lb);
}

void
list_builder_free(struct list_builder *lb)
{
	if (lb == NULL)
		return;
	free(lb->item);
	free(lb);
}

static int
invalid(void)
{
	errno = EINVAL;
	return (-1);
}

/* The last item, if it is a run of zeros; else NULL. */
static struct list_item *
open_run(struct list_builder *lb)
{
	if (lb->n == 0 || lb->item[lb->n - 1].type != LIST_ITEM_ZERO)
		return (NULL);
	return (&lb->item[lb->n - 1]);
}

/* A run that will not grow any more must have become long enough. */
static int
run_close(struct list_builder *lb)
{
	struct list_item *run;

	if ((run = open_run(lb)) != NULL && run->len < CONTENT_ZERO_MIN)
		return (invalid());
	return (0);
}

static int
push(struct list_builder *lb, const struct list_item *item)
{
	struct list_item *p;

	if ((p = size_grow(lb->item, &lb->cap, lb->n + 1,
	    sizeof(*p))) == NULL)
		return (-1);
	lb->item = p;
	lb->item[lb->n++] = *item;
	return (0);
}

int
list_builder_add(struct list_builder *lb, const struct list_item *item)
{
	struct list_item *run;

	if (item->len == 0)
		return (invalid());
	if (item->len > SIZE_LIMIT - lb->total) {
		errno = EFBIG;
		return (-1);
	}
	switch (item->type) {
	case LIST_ITEM_ZERO:
		if ((run = open_run(lb)) != NULL)
			run->len += item->len;
		else if (push(lb, item) == -1)
			return (-1);
		break;
	case LIST_ITEM_REF:
		if (item->ref.kind != OBJ_CHUNK || item->len > OBJ_MAX)
			return (invalid());
		if (run_close(lb) == -1 || push(lb, item) == -1)
			return (-1);
		break;
	default:
		return (invalid());
	}
	lb->total += item->len;
	return (0);
}

static size_t
item_encode(const struct list_item *item, uint8_t *p)
{
	p[0] = item->type;
	le_put64(p + 1, item->len);
	if (item->type == LIST_ITEM_ZERO)
		return (ITEM_ZERO_LEN);
	memcpy(p + ITEM_ZERO_LEN, item->ref.id, OBJ_ID_LEN);
	return (ITEM_REF_LEN);
}

/* Emit one list of ${level} over ${n} items; ${up} becomes its item. */
static int
group_emit(const struct list_item *item, uint32_t n, unsigned int level,
    obj_sink_fn *sink, void *cookie, struct list_item *up)
{
	uint8_t buf[LIST_HEAD + ITEM_REF_LEN * (GROUP_MAX + 1)];
	uint8_t *p = buf + LIST_HEAD;
	struct list_item made = { .type = LIST_ITEM_REF };
	uint32_t i;

	for (i = 0; i < n; i++) {
		p += item_encode(&item[i], p);
		made.len += item[i].len;        /* at most total */
	}
	buf[0] = 'E';
	buf[1] = 'L';
	buf[2] = 1;
	buf[3] = (uint8_t)level;
	le_put64(buf + 4, made.len);
	le_put32(buf + 12, n);
	if (obj_emit(OBJ_LIST, buf, (size_t)(p - buf), sink, cookie,
	    &made.ref) == -1)
		return (-1);
	*up = made;
	return (0);
}

/* Emit the lists of ${level} over the items, which they replace. */
static int
level_emit(struct list_builder *lb, unsigned int level, obj_sink_fn *sink,
    void *cookie)
{
	const struct list_item *item = lb->item;
	size_t i, first = 0, made = 0;
	uint32_t count;

	for (i = 0; i < lb->n; i++) {
		count = (uint32_t)(i - first + 1);
		if (i + 1 < lb->n && (i + 2 == lb->n || !group_cut(count,
		    item[i].type == LIST_ITEM_REF ? item[i].ref.id : NULL)))
			continue;
		if (group_emit(item + first, count, level, sink, cookie,
		    &lb->item[made]) == -1)
			return (-1);
		made++;
		first = i + 1;
	}
	lb->n = made;
	return (0);
}

int
list_builder_finish(struct list_builder *lb, obj_sink_fn *sink, void *cookie,
    struct obj_ref *ref)
{
	unsigned int level = 0;

	if (run_close(lb) == -1)
		return (-1);
	if (lb->n == 0) {
		memset(ref, 0, sizeof(*ref));
		return (0);
	}
	if (lb->n > 1 || lb->item[0].type == LIST_ITEM_ZERO) {
		do {
			if (level > LIST_LEVEL_MAX) {
				errno = EFBIG;
				return (-1);
			}
			if (level_emit(lb, level++, sink, cookie) == -1)
				return (-1);
		} while (lb->n > 1);
	}
	*ref = lb->item[0].ref;
	return (0);
}
