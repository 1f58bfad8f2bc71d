/*
 * A submitted tree in memory, whole, before materialise.c writes a file of it.
 * Reads objects from the store channel; touches no file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/size.h"
#include "lib/tree.h"
#include "plan.h"
#include "storeclient.h"

struct reader {
	struct plan *plan;
	struct storeclient *sc;
	uint32_t dir;
};

/* Keep a string; ${*at} is where. */
static int
keep(struct plan *p, const uint8_t *s, size_t len, size_t *at)
{
	size_t need;
	char *names;

	if (size_add(p->names_len, len + 1, &need) == -1)
		return (-1);
	names = size_grow(p->names, &p->names_cap, need, 1);
	if (names == NULL)
		return (-1);
	p->names = names;
	memcpy(names + p->names_len, s, len);
	names[need - 1] = '\0';
	*at = p->names_len;
	p->names_len = need;
	return (0);
}

static struct plan_node *
node_new(struct plan *p)
{
	struct plan_node *nodes;

	if (p->n == PLAN_MAX) {
		errno = E2BIG;
		return (NULL);
	}
	nodes = size_grow(p->nodes, &p->cap, p->n + 1, sizeof(*nodes));
	if (nodes == NULL)
		return (NULL);
	p->nodes = nodes;
	memset(&nodes[p->n], 0, sizeof(*nodes));
	return (&nodes[p->n++]);
}

int
plan_top(struct plan *p, const struct obj_ref *root)
{
	struct plan_node *nd;

	if ((nd = node_new(p)) == NULL ||
	    keep(p, (const uint8_t *)"", 0, &nd->name) == -1)
		return (-1);
	nd->kind = TREE_DIR;
	nd->mode = 0755;
	nd->parent = PLAN_NONE;
	nd->ref = *root;
	return (0);
}

int
plan_add(struct plan *p, uint32_t dir, const struct tree_entry *e)
{
	struct plan_node *nd;

	if ((nd = node_new(p)) == NULL)
		return (-1);
	nd->kind = e->kind;
	nd->mode = e->mode;
	nd->parent = dir;
	nd->size = e->size;
	nd->mtime_ns = e->mtime_ns;
	nd->ref = e->ref;
	if (keep(p, e->name, e->name_len, &nd->name) == -1)
		return (-1);
	return (e->kind == TREE_LINK ?
	    keep(p, e->target, e->target_len, &nd->target) : 0);
}

static int
add(void *cookie, const struct tree_entry *e)
{
	struct reader *r = cookie;

	if (plan_add(r->plan, r->dir, e) == -1)
		return (-1);
	return (e->kind == TREE_DIR ? storeclient_want(r->sc, &e->ref) : 0);
}

/*
 * The directories below come in the order in which they were wanted, since the
 * array is its own queue.  How deep it goes is bounded by the store's own
 * check, and here by PLAN_MAX.
 */
int
plan_read(struct plan *p, struct storeclient *sc, const struct obj_ref *root)
{
	struct reader r = { p, sc, 0 };
	struct obj_ref ref;

	if (plan_top(p, root) == -1)
		return (-1);
	for (; r.dir < p->n; r.dir++) {
		if (p->nodes[r.dir].kind != TREE_DIR)
			continue;
		p->nodes[r.dir].first = (uint32_t)p->n;
		ref = p->nodes[r.dir].ref;
		if (tree_read(&ref, storeclient_fetch, sc, add, &r) != 0)
			return (-1);
		p->nodes[r.dir].n = (uint32_t)p->n - p->nodes[r.dir].first;
	}
	return (0);
}

void
plan_done(struct plan *p)
{

	free(p->nodes);
	free(p->names);
	memset(p, 0, sizeof(*p));
}

/* The first directory among nodes[i..end). */
static uint32_t
dir_among(const struct plan *p, uint32_t i, uint32_t end)
{

	for (; i < end; i++) {
		if (p->nodes[i].kind == TREE_DIR)
			return (i);
	}
	return (PLAN_NONE);
}

uint32_t
plan_next_dir(const struct plan *p, uint32_t i, uint32_t *up)
{
	const struct plan_node *nd = &p->nodes[i];
	uint32_t next;

	*up = 0;
	next = dir_among(p, nd->first, nd->first + nd->n);
	while (next == PLAN_NONE && nd->parent != PLAN_NONE) {
		nd = &p->nodes[nd->parent];
		++*up;
		next = dir_among(p, i + 1, nd->first + nd->n);
		i = (uint32_t)(nd - p->nodes);
	}
	return (next);
}
