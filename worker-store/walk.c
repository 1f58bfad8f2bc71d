/*
 * One look at everything below some roots.  Reads the index and trees.  When a
 * walk's turn is, decides walks.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gc.h"
#include "index.h"
#include "index_job.h"
#include "pending.h"
#include "quarantine.h"
#include "refset.h"
#include "store.h"
#include "walk.h"

#define ROOTS           2
#define NODE_COST       16      /* reading one, in look-ups */

/*
 * Invariants:
 *  1. nodes holds trees and lists that are there and not marked complete, in
 *     the order in which they are looked into; next counts those that were.
 *  2. Everything that the nodes before next name has been looked up.
 */
struct walk {
	struct store *st;
	uint32_t tenant;
	struct obj_ref roots[ROOTS];
	size_t nroots;
	size_t max_missing;
	struct refset *nodes;   /* NULL before the first step */
	struct refset *missing;
	size_t next;
	size_t budget;
	uint64_t drops;
	uint32_t epoch;
	struct obj_ref at;
};

struct walk *
walk_new(struct store *st, uint32_t tenant, size_t max_missing)
{
	struct walk *w;

	if ((w = calloc(1, sizeof(*w))) == NULL)
		return (NULL);
	w->st = st;
	w->tenant = tenant;
	w->max_missing = max_missing;
	return (w);
}

static void
sets_free(struct walk *w)
{
	refset_free(w->nodes);
	refset_free(w->missing);
	w->nodes = w->missing = NULL;
	w->next = 0;
}

void
walk_free(struct walk *w)
{
	if (w == NULL)
		return;
	sets_free(w);
	free(w);
}

void
walk_root(struct walk *w, const struct obj_ref *ref)
{
	if (w->nroots < ROOTS)
		w->roots[w->nroots++] = *ref;
}

/* Look one up.  0 to go on, 1 when enough is missing, -1 with errno. */
static int
visit(void *cookie, const struct obj_ref *ref)
{
	struct walk *w = cookie;
	struct ix_object o;

	if (w->budget > 0)
		w->budget--;
	if (ref->kind == OBJ_NONE)
		return (0);
	if (store_find(w->st, w->tenant, ref, &o) == -1) {
		if (errno != ENOENT || refset_add(w->missing, ref) == -1)
			return (-1);
		return (refset_count(w->missing) >= w->max_missing);
	}
	gc_live(w->st, &o);
	if (ref->kind == OBJ_CHUNK ||
	    ((o.flags & IX_COMPLETE) != 0 && o.epoch == w->epoch &&
	    !quarantine_has(w->st, w->tenant)))
		return (0);
	return (refset_add(w->nodes, ref) == -1 ? -1 : 0);
}

/* Begin, or begin again. */
static int
start(struct walk *w, uint32_t epoch)
{
	size_t i;
	int rc = 0;

	sets_free(w);
	w->drops = w->st->drops;
	w->epoch = epoch;
	if ((w->nodes = refset_new(WALK_NODES_MAX)) == NULL ||
	    (w->missing = refset_new(w->max_missing)) == NULL)
		return (-1);
	for (i = 0; i < w->nroots && rc == 0; i++) {
		w->at = w->roots[i];
		rc = visit(w, &w->roots[i]);
	}
	return (rc);
}

/* Look up everything that the next node names.  As visit. */
static int
descend(struct walk *w)
{
	uint8_t raw[OBJ_MAX];
	struct ix_object o;
	int rc;

	/* A copy: the set moves when it grows. */
	w->at = *refset_get(w->nodes, w->next);
	w->budget -= w->budget < NODE_COST ? w->budget : NODE_COST;
	if (store_find(w->st, w->tenant, &w->at, &o) == -1 ||
	    store_read(w->st, &o, raw) == -1)
		return (-1);
	rc = obj_children(w->at.kind, raw, o.loc.raw_len, visit, w);
	/* It was checked when it came; now it is not what it was. */
	if (rc == -1 && errno == EPROTO)
		errno = EBADMSG;
	w->next++;
	return (rc);
}

int
walk_step(struct walk *w, size_t budget)
{
	struct ix_usage u;
	int rc;

	w->budget = budget;
	if (ix_read(w->st->ix) == -1)
		return (-1);
	rc = ix_usage_get(w->st->ix, w->tenant, &u);
	if (rc == 0 && (w->nodes == NULL || w->drops != w->st->drops ||
	    w->epoch != u.epoch))
		rc = start(w, u.epoch);
	while (rc == 0 && w->budget > 0 &&
	    w->next < refset_count(w->nodes))
		rc = descend(w);
	ix_read_end(w->st->ix);
	if (rc != 0)
		return (rc == 1 ? 0 : -1);
	return (w->next < refset_count(w->nodes));
}

uint32_t
walk_epoch(const struct walk *w)
{
	return (w->epoch);
}

uint32_t
walk_tenant(const struct walk *w)
{
	return (w->tenant);
}

const struct obj_ref *
walk_at(const struct walk *w)
{
	return (&w->at);
}

size_t
walk_missing(const struct walk *w)
{
	return (refset_count(w->missing));
}

const struct obj_ref *
walk_missing_get(const struct walk *w, size_t i)
{
	return (refset_get(w->missing, i));
}

size_t
walk_nodes(const struct walk *w)
{
	return (refset_count(w->nodes));
}

const struct obj_ref *
walk_node_get(const struct walk *w, size_t i)
{
	return (refset_get(w->nodes, i));
}

void
walk_mark_pending(const struct walk *w)
{
	struct ix_object *o;
	size_t i;

	for (i = 0; i < walk_nodes(w); i++) {
		o = pending_find(w->st->pending, w->tenant,
		    walk_node_get(w, i));
		if (o != NULL) {
			o->flags |= IX_COMPLETE;
			o->epoch = w->epoch;
		}
	}
}
