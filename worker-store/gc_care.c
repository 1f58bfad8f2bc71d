/*
 * `store gc`: a collection of all tenants, and then the packs that it left half
 * empty, while somebody waits for it.  Starts what gc.c and rewrite.c do.
 */
#include <stdlib.h>

#include "care.h"
#include "doubt.h"
#include "gc.h"
#include "rewrite.h"
#include "store.h"

struct gc_task {
	struct store *st;
	struct gc_figures gc;           /* before */
	struct rewrite_figures rewrite;
	int rewriting;
};

static void *
gc_open(struct store *st)
{
	struct gc_task *t;

	if ((t = calloc(1, sizeof(*t))) == NULL)
		goto err0;
	t->st = st;
	gc_figures(st, &t->gc);
	rewrite_figures(st, &t->rewrite);
	if (doubt_none(st) == -1 || gc_all(st, 0) == -1)
		goto err1;
	return (t);

err1:
	free(t);
err0:
	return (NULL);
}

static enum care_rc
gc_step(void *task, struct care *c, int *fd)
{
	struct gc_task *t = task;
	struct rewrite_figures rw;
	struct gc_figures gc;

	(void)fd;
	if (doubt_none(t->st) == -1)
		return (CARE_FAILED);
	gc_figures(t->st, &gc);
	rewrite_figures(t->st, &rw);
	c->at = gc.deleted_bytes - t->gc.deleted_bytes;
	if (gc.tenant != 0 || gc.waiting > 0 || gc_busy(t->st))
		return (CARE_LATER);
	if (!t->rewriting) {
		/* It is looked for only now, and takes a step to be found. */
		t->rewriting = 1;
		rewrite_kick(t->st);
		return (CARE_LATER);
	}
	if (rw.pack != 0)
		return (CARE_LATER);
	care_figure(c, "collections", gc.runs - t->gc.runs);
	care_figure(c, "collections_abandoned", gc.abandoned -
	    t->gc.abandoned);
	care_figure(c, "deleted_objects", gc.deleted - t->gc.deleted);
	care_figure(c, "deleted_bytes", gc.deleted_bytes -
	    t->gc.deleted_bytes);
	care_figure(c, "moved_objects", rw.moved - t->rewrite.moved);
	care_figure(c, "removed_packs", rw.removed - t->rewrite.removed);
	care_figure(c, "removed_bytes", rw.removed_bytes -
	    t->rewrite.removed_bytes);
	return (CARE_DONE);
}

const struct care_ops gc_ops = { gc_open, gc_step, free };
