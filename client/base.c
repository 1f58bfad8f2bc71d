/*
 * Looks paths up in the submitted tree: in the stat cache, if it is of that
 * tree, or in its objects, which come from the host.  One directory of each
 * depth is kept: paths come sorted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "lib/size.h"
#include "lib/tree.h"

struct entry {
	struct merge_side side;
	struct obj_ref ref;     /* directory */
	char *name;             /* owned; the target of a link behind it */
	uint16_t name_len;
};

struct level {
	struct entry *v;
	size_t n, cap;
	size_t path_len;        /* of the directory, in base.path */
};

/*
 * Invariants of struct base:
 *  1. level[0..n) are directories, each below the one before; level[0] is the
 *     root, and the path of level i is path[0..level[i].path_len).
 */
struct base {
	obj_fetch_fn *fetch;
	void *cookie;
	struct obj_ref root;
	struct statcache_at *cache;
	struct level *level;
	size_t n, cap;
	char *path;
	size_t path_cap;
};

struct base *
base_new(obj_fetch_fn *fetch, void *cookie, const struct obj_ref *root)
{
	struct base *b;

	if ((b = calloc(1, sizeof(*b))) != NULL) {
		b->fetch = fetch;
		b->cookie = cookie;
		b->root = *root;
	}
	return (b);
}

int
base_cache(struct base *b, struct statcache *sc)
{
	struct obj_ref known;

	statcache_root(sc, &known);
	if (!obj_ref_equal(&known, &b->root))
		return (0);
	return ((b->cache = statcache_at_new(sc)) == NULL ? -1 : 0);
}

static void
level_done(struct level *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		free(l->v[i].name);
	free(l->v);
}

void
base_free(struct base *b)
{
	if (b == NULL)
		return;
	while (b->n > 0)
		level_done(&b->level[--b->n]);
	statcache_at_free(b->cache);
	free(b->level);
	free(b->path);
	free(b);
}

static int
take(void *cookie, const struct tree_entry *te)
{
	struct level *l = cookie;
	struct entry *v, *e;

	if ((v = size_grow(l->v, &l->cap, l->n + 1, sizeof(*v))) == NULL)
		return (-1);
	l->v = v;
	e = &v[l->n];
	memset(e, 0, sizeof(*e));
	if ((e->name = malloc((size_t)te->name_len + te->target_len + 1)) ==
	    NULL)
		return (-1);
	memcpy(e->name, te->name, te->name_len);
	e->name_len = te->name_len;
	e->side.kind = te->kind;
	e->side.mode = te->mode;
	e->ref = te->ref;
	if (te->kind == TREE_FILE) {
		e->side.ref = te->ref;
		e->side.size = te->size;
	}
	if (te->kind == TREE_LINK) {
		memcpy(e->name + te->name_len, te->target, te->target_len);
		e->side.target = (uint8_t *)e->name + te->name_len;
		e->side.target_len = te->target_len;
	}
	l->n++;
	return (0);
}

/* Read a directory and make it the deepest; its path is path[0..len). */
static int
push(struct base *b, const struct obj_ref *ref, size_t len)
{
	struct level *v;

	v = size_grow(b->level, &b->cap, b->n + 1, sizeof(*v));
	if (v == NULL)
		return (-1);
	b->level = v;
	memset(&v[b->n], 0, sizeof(*v));
	v[b->n].path_len = len;
	b->n++;
	return (tree_read(ref, b->fetch, b->cookie, take, &v[b->n - 1]));
}

static const struct entry *
find(const struct level *l, const char *name, size_t len)
{
	size_t lo = 0, hi = l->n, mid;
	int c;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		c = tree_name_cmp((const uint8_t *)l->v[mid].name,
		    l->v[mid].name_len, (const uint8_t *)name, len);
		if (c == 0)
			return (&l->v[mid]);
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (NULL);
}

/* Leave what is not above ${path}. */
static void
pop(struct base *b, const char *path, size_t len)
{
	size_t n;

	while (b->n > 1) {
		n = b->level[b->n - 1].path_len;
		if (n < len && memcmp(b->path, path, n) == 0 &&
		    path[n] == '/')
			break;
		level_done(&b->level[--b->n]);
	}
}

static int
start(struct base *b, size_t len)
{
	char *p;

	if ((p = size_grow(b->path, &b->path_cap, len + 1, 1)) == NULL)
		return (-1);
	b->path = p;
	return (b->n > 0 ? 0 : push(b, &b->root, 0));
}

/*
 * The stat cache, when it is of this very tree, knows all but the targets of
 * links.  1, 0 absent, -1: ask the host.
 */
static int
from_cache(struct base *b, const char *path, size_t len,
    struct merge_side *side)
{
	const struct stat_entry *e;

	if (b->cache == NULL)
		return (-1);
	if ((e = statcache_at_find(b->cache, path, len)) == NULL)
		return (0);
	if (S_ISLNK(e->mode))
		return (-1);
	side->kind = S_ISDIR(e->mode) ? TREE_DIR : TREE_FILE;
	side->mode = e->mode & 0777;
	if (side->kind == TREE_FILE)
		side->ref = e->ref;
	return (1);
}

int
base_find(struct base *b, const char *path, size_t len,
    struct merge_side *side)
{
	const struct entry *e;
	size_t at, n;
	int rc;

	memset(side, 0, sizeof(*side));
	if (b->root.kind == OBJ_NONE)
		return (0);
	if ((rc = from_cache(b, path, len, side)) != -1)
		return (rc);
	if (start(b, len) == -1)
		return (-1);
	pop(b, path, len);
	for (;;) {
		at = b->level[b->n - 1].path_len;
		at += at > 0;
		for (n = 0; at + n < len && path[at + n] != '/'; n++)
			;
		e = find(&b->level[b->n - 1], path + at, n);
		if (e == NULL)
			return (0);
		if (at + n == len)
			break;
		if (e->side.kind != TREE_DIR)
			return (0);
		memcpy(b->path, path, at + n);
		if (push(b, &e->ref, at + n) == -1) {
			level_done(&b->level[--b->n]);
			return (-1);
		}
	}
	*side = e->side;
	return (1);
}
