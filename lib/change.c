/*
 * Change lists: encoding, decoding, their one order.  Memory only.
 */
#include <errno.h>
#include <string.h>

#include "change.h"
#include "object_internal.h"
#include "size.h"
#include "tree_internal.h"

#define CHANGE_HEAD     4

static const uint8_t head[CHANGE_HEAD] = { 'E', 'C', 1, 0 };

char
change_letter(enum change_op op)
{
	switch (op) {
	case CHANGE_CREATE:
		return ('A');
	case CHANGE_MODIFY:
		return ('M');
	case CHANGE_DELETE:
		return ('D');
	case CHANGE_MODE:
		return ('C');
	case CHANGE_TYPE:
		return ('T');
	}
	return ('?');
}

static const char *
path_fault(const uint8_t *path, size_t len)
{
	const uint8_t *end = path + len, *slash;
	const char *why;
	size_t n, depth = 0;

	if (len == 0)
		return ("an empty path");
	for (;;) {
		slash = memchr(path, '/', (size_t)(end - path));
		n = (size_t)((slash != NULL ? slash : end) - path);
		if ((why = tree_name_fault(path, n)) != NULL)
			return (why);
		if (++depth > TREE_DEPTH_MAX)
			return ("a path of too many directories");
		if (slash == NULL)
			return (NULL);
		path = slash + 1;
	}
}

/* A change as the tree entry it has most in common with, or back. */
static struct tree_entry
to_entry(const struct change *c)
{
	struct tree_entry e = {
		.kind = c->kind, .mode = c->mode, .size = c->size,
		.mtime_ns = c->mtime_ns, .name = c->path,
		.name_len = c->path_len, .ref = c->ref, .target = c->target,
		.target_len = c->target_len,
	};

	return (e);
}

static void
from_entry(struct change *c, uint8_t op, const struct tree_entry *e)
{
	c->op = op;
	c->kind = e->kind;
	c->mode = e->mode;
	c->size = e->size;
	c->mtime_ns = e->mtime_ns;
	c->path = e->name;
	c->path_len = e->name_len;
	c->ref = e->ref;
	c->target = e->target;
	c->target_len = e->target_len;
}

/* Whether ref or target follows the path. */
static int
has_body(uint8_t kind)
{
	return (kind == TREE_FILE || kind == TREE_LINK);
}

/* Why op and entry do not go together, or NULL; the path is not looked at. */
static const char *
change_fault(uint8_t op, const struct tree_entry *e)
{
	struct tree_entry tmp = *e;

	if (op < CHANGE_CREATE || op > CHANGE_TYPE)
		return ("an unknown kind of change");
	if ((op == CHANGE_DELETE) != (e->kind == 0))
		return ("a deletion that leaves something, or the reverse");
	if (op == CHANGE_DELETE) {
		if (e->mode != 0 || e->size != 0 || e->mtime_ns != 0)
			return ("a deletion with properties");
		return (NULL);
	}
	if (op == CHANGE_MODIFY && e->kind == TREE_DIR)
		return ("a directory that was modified");
	/* A change says nothing about what is in a directory. */
	if (e->kind == TREE_DIR)
		tmp.ref.kind = OBJ_TREE;
	return (entry_fault(&tmp));
}

int
change_iter_init(struct change_iter *it, const void *buf, size_t len)
{
	memset(it, 0, sizeof(*it));
	if (len < CHANGE_HEAD || memcmp(buf, head, CHANGE_HEAD) != 0) {
		it->why = "not a list of changes of this version";
		errno = EPROTO;
		return (-1);
	}
	it->p = (const uint8_t *)buf + CHANGE_HEAD;
	it->end = (const uint8_t *)buf + len;
	return (0);
}

/* Decode and check one change, order aside.  Return NULL, or why not. */
static const char *
change_decode(struct cursor *c, struct change *out)
{
	struct tree_entry e;
	const uint8_t *op;
	const char *why;

	if ((op = cursor_take(c, 1)) == NULL)
		return ("a change that is cut short");
	if ((why = entry_fixed_decode(c, &e)) != NULL ||
	    (why = path_fault(e.name, e.name_len)) != NULL)
		return (why);
	if (has_body(e.kind) && (why = entry_body_decode(c, &e)) != NULL)
		return (why);
	if ((why = change_fault(*op, &e)) != NULL)
		return (why);
	from_entry(out, *op, &e);
	return (NULL);
}

int
change_iter_next(struct change_iter *it, struct change *out)
{
	struct cursor c = { it->p, it->end };

	if (it->p == it->end)
		return (0);
	if ((it->why = change_decode(&c, out)) != NULL)
		goto err0;
	if (it->prev != NULL && tree_name_cmp(it->prev, it->prev_len,
	    out->path, out->path_len) >= 0) {
		it->why = "paths that are not in order";
		goto err0;
	}
	it->prev = out->path;
	it->prev_len = out->path_len;
	it->p = c.p;
	return (1);

err0:
	errno = EPROTO;
	return (-1);
}

static int
reserve(struct change_buf *b, size_t more)
{
	uint8_t *p;
	size_t need;

	if (size_add(b->len, more, &need) == -1)
		return (-1);
	if ((p = size_grow(b->p, &b->cap, need, 1)) == NULL)
		return (-1);
	b->p = p;
	return (0);
}

int
change_buf_begin(struct change_buf *b)
{
	if (b->len > 0)
		return (0);
	if (reserve(b, CHANGE_HEAD) == -1)
		return (-1);
	memcpy(b->p, head, CHANGE_HEAD);
	b->len = CHANGE_HEAD;
	return (0);
}

int
change_buf_add(struct change_buf *b, const struct change *c)
{
	struct tree_entry e = to_entry(c);

	if (path_fault(e.name, e.name_len) != NULL ||
	    change_fault(c->op, &e) != NULL)
		goto err0;
	if (b->count > 0 && tree_name_cmp(b->p + b->prev, b->prev_len,
	    e.name, e.name_len) >= 0)
		goto err0;
	if (change_buf_begin(b) == -1 ||
	    reserve(b, 1 + ENTRY_MAX + (size_t)e.name_len) == -1)
		return (-1);
	b->p[b->len++] = c->op;
	b->prev = b->len + ENTRY_FIXED;
	b->prev_len = e.name_len;
	b->len += entry_fixed_encode(&e, b->p + b->len);
	if (has_body(e.kind))
		b->len += entry_body_encode(&e, b->p + b->len);
	b->count++;
	return (0);

err0:
	errno = EINVAL;
	return (-1);
}

void
change_digest(const void *buf, size_t len, uint8_t *out)
{
	obj_hash("errand.changes", buf, len, out);
}
