/*
 * The difference of two trees as a plan, for a layer.  Reads objects from the
 * store channel, of both trees and only where they differ; touches no file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect_internal.h"
#include "lib/size.h"
#include "lib/tree.h"
#include "plan.h"
#include "storeclient.h"

/*
 * Invariants:
 *  1. was[i] is the directory that nodes[i] is to be laid over, OBJ_NONE when
 *     there is none; it has room for one more node than max and the top.
 *  2. dir is the directory being compared.
 */
struct diff {
	struct plan *plan;
	struct storeclient *sc;
	struct obj_ref *was;
	size_t max;
	uint32_t dir;
	int64_t more;
};

static int
same(const struct tree_entry *a, const struct tree_entry *b)
{

	return (a->kind == b->kind && a->mode == b->mode &&
	    a->size == b->size && a->mtime_ns == b->mtime_ns &&
	    obj_ref_equal(&a->ref, &b->ref) && (a->kind != TREE_LINK ||
	    (a->target_len == b->target_len &&
	    memcmp(a->target, b->target, a->target_len) == 0)));
}

static int
add(struct diff *d, const struct tree_entry *e, const struct tree_entry *was)
{

	if (plan_add(d->plan, d->dir, e) == -1)
		return (-1);
	if (d->plan->n - 1 > d->max) {
		errno = EFBIG;
		return (-1);
	}
	/* Over a file, or nothing, a directory shows itself alone. */
	if (e->kind == TREE_DIR && was != NULL && was->kind == TREE_DIR)
		d->was[d->plan->n - 1] = was->ref;
	return (0);
}

static int
gone(struct diff *d, const struct tree_entry *was)
{
	struct tree_entry e = { .kind = PLAN_GONE, .name = was->name,
	    .name_len = was->name_len };

	d->more--;
	return (add(d, &e, NULL));
}

static int
merge(struct diff *d, const struct olds *was, const struct olds *is)
{
	const struct tree_entry *a, *b;
	size_t i = 0, j = 0;
	int cmp, rc = 0;

	while (rc == 0 && (i < was->n || j < is->n)) {
		a = i < was->n ? &was->v[i] : NULL;
		b = j < is->n ? &is->v[j] : NULL;
		if (a == NULL || b == NULL)
			cmp = a == NULL ? 1 : -1;
		else
			cmp = tree_name_cmp(a->name, a->name_len, b->name,
			    b->name_len);
		i += cmp <= 0;
		j += cmp >= 0;
		if (cmp < 0)
			rc = gone(d, a);
		else if (cmp > 0) {
			d->more++;
			rc = add(d, b, NULL);
		} else if (!same(a, b))
			rc = add(d, b, a);
	}
	return (rc);
}

static int
compare(struct diff *d, const struct obj_ref *was, const struct obj_ref *is)
{
	struct olds a = { 0 }, b = { 0 };
	int rc = -1;

	if (obj_ref_equal(was, is))
		return (0);     /* its mode or time differs, no more */
	if (olds_read(&b, d->sc, is) == 0 && olds_try(&a, d->sc, was) == 0)
		rc = merge(d, &a, &b);
	olds_done(&a);
	olds_done(&b);
	return (rc);
}

/* As in plan_read, the array of nodes is the queue of directories. */
static int
run(struct diff *d)
{
	struct plan *p = d->plan;
	struct obj_ref ref;

	for (; d->dir < p->n; d->dir++) {
		p->nodes[d->dir].first = (uint32_t)p->n;
		if (p->nodes[d->dir].kind != TREE_DIR)
			continue;
		ref = p->nodes[d->dir].ref;
		if (compare(d, &d->was[d->dir], &ref) == -1)
			return (-1);
		p->nodes[d->dir].n = (uint32_t)p->n -
		    p->nodes[d->dir].first;
	}
	return (0);
}

int
plan_diff(struct plan *p, struct storeclient *sc, const struct obj_ref *base,
    const struct obj_ref *root, size_t max, int64_t *more)
{
	struct diff d = { .plan = p, .sc = sc, .max = max };
	size_t room;
	int rc = -1;

	if (size_add(max, 2, &room) == 0 && NEW_ARRAY(d.was, room) == 0 &&
	    plan_top(p, root) == 0) {
		d.was[0] = *base;
		rc = run(&d);
	}
	free(d.was);
	*more = d.more;
	return (rc);
}
