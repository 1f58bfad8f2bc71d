/*
 * The phases of a collection.  Reads trees and lists; deletes objects from the
 * index, with their figures, in transactions of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "gc.h"
#include "gc_internal.h"
#include "index.h"
#include "index_job.h"
#include "index_obj.h"
#include "lease.h"
#include "lib/crash.h"
#include "lib/io.h"
#include "lib/size.h"
#include "store.h"
#include "usage.h"

#define NODES_MAX       (1024 * 1024)   /* trees that wait to be looked into */
#define REFS_STEP       64
#define SCAN_STEP       512             /* objects between looks at the clock */
#define VICTIMS         256             /* deleted in one transaction */
#define ROOM_EPOCH      (256 * 1024)
#define ROOM_VICTIM     (4 * 4096)

void
gc_drop(struct gc *gc)
{
	marks_free(gc->marks);
	free(gc->stack);
	gc->marks = NULL;
	gc->stack = NULL;
	gc->nstack = gc->cap = 0;
	gc->phase = GC_IDLE;
	gc->has_ref = gc->has_at = 0;
	gc->failed = 0;
	gc->freed = 0;
}

/* It is live.  0, or -1 with errno. */
static int
mark(struct gc *gc, const struct ix_object *o, int strict)
{
	struct gc_node *n;
	void *p;
	int rc;

	if ((rc = marks_add(gc->marks, o->loc.pack, o->loc.off)) == -1)
		return (-1);
	if (rc == 0 || o->ref.kind == OBJ_CHUNK)
		return (0);
	if (gc->nstack == NODES_MAX) {
		errno = EFBIG;
		return (-1);
	}
	if ((p = size_grow(gc->stack, &gc->cap, gc->nstack + 1,
	    sizeof(*gc->stack))) == NULL)
		return (-1);
	gc->stack = p;
	n = &gc->stack[gc->nstack++];
	n->ref = o->ref;
	n->strict = (uint8_t)strict;
	return (0);
}

void
gc_live(struct store *st, const struct ix_object *o)
{
	struct gc *gc = st->gc;

	if (gc->phase == GC_IDLE || o->tenant != gc->tenant ||
	    MUTANT("no-gc-live"))
		return;
	if (mark(gc, o, 0) == -1)
		gc->failed = errno;
}

struct child {
	struct gc *gc;
	int strict;
};

/* Find something that is named by something live, and mark it. */
static int
visit(void *cookie, const struct obj_ref *ref)
{
	struct child *c = cookie;
	struct ix_object o;

	if (ref->kind == OBJ_NONE)
		return (0);
	if (store_find(c->gc->st, c->gc->tenant, ref, &o) == 0)
		return (mark(c->gc, &o, c->strict));
	/* Nothing is below a chunk: without it, no less is known to be live. */
	if (errno == ENOENT && (!c->strict || ref->kind == OBJ_CHUNK))
		return (0);
	if (errno == ENOENT)
		errno = ENOLINK;
	return (-1);
}

static int
visit_lease(void *cookie, const struct obj_ref *ref)
{
	return (visit(cookie, ref));
}

/* The newest of the stack, and all that it names. */
static int
look_into(struct gc *gc)
{
	struct gc_node n = gc->stack[--gc->nstack];
	struct child c = { gc, n.strict };
	uint8_t raw[OBJ_MAX];
	struct ix_object o;

	if (store_find(gc->st, gc->tenant, &n.ref, &o) == -1 ||
	    store_read(gc->st, &o, raw) == -1)
		goto err0;
	if (obj_children(n.ref.kind, raw, o.loc.raw_len, visit, &c) == -1)
		goto err0;
	return (0);

err0:
	if (errno == ENOENT || errno == EBADMSG || errno == EPROTO) {
		/* An upload that nobody finished may well have holes. */
		if (!n.strict)
			return (0);
		errno = ENOLINK;
	}
	return (-1);
}

/* 1: the step is over; 0: the stack is empty. */
static int
drain(struct gc *gc)
{
	while (gc->nstack > 0) {
		if (look_into(gc) == -1)
			return (-1);
		if (gc->nstack > 0 && io_mono_us() >= gc->until)
			return (1);
	}
	return (0);
}

struct refs {
	struct gc *gc;
	int left;
};

static int
on_ref(void *cookie, const struct ix_ref *ref)
{
	struct refs *r = cookie;
	struct child c = { r->gc, 1 };

	r->gc->ref = *ref;
	r->gc->has_ref = 1;
	if (visit(&c, &ref->ref) == -1)
		return (-1);
	return (--r->left == 0);
}

static unsigned int
age_class(const struct gc *gc, uint32_t stamp)
{
	uint32_t age = gc->floor > stamp ? gc->floor - stamp : 1, rest;
	unsigned int bits = 31 - (unsigned int)__builtin_clz(age);

	/* Eight classes for each doubling. */
	rest = bits >= 3 ? (age >> (bits - 3)) & 7 : (age << (3 - bits)) & 7;
	return (bits * 8 + rest);
}

static void
count_or_sweep(struct gc *gc)
{
	gc->floor = lease_floor(gc->st, gc->tenant, gc->pressed);
	memset(gc->ages, 0, sizeof(gc->ages));
	gc->youngest = 0;
	gc->has_at = 0;
	gc->phase = gc->all ? GC_SWEEP : GC_COUNT;
}

static int
roots(struct gc *gc)
{
	struct refs r = { gc, (int)TEST_NUMBER("gc-refs", REFS_STEP) };
	int rc;

	if ((rc = drain(gc)) != 0)
		return (rc);
	rc = ix_refs(gc->st->ix, gc->tenant, gc->has_ref ? &gc->ref : NULL,
	    on_ref, &r);
	if (rc == 0 && gc->nstack == 0)
		count_or_sweep(gc);
	return (rc == -1 ? -1 : 1);
}

/* Nothing reaches it and nothing covers it. */
static int
is_garbage(const struct gc *gc, const struct ix_object *o)
{
	return (o->stamp < gc->floor &&
	    !marks_has(gc->marks, o->loc.pack, o->loc.off));
}

struct scan {
	struct gc *gc;
	int left;
	size_t n;
	struct ix_object victims[VICTIMS];
};

static int
on_count(void *cookie, const struct ix_object *o)
{
	struct scan *s = cookie;

	s->gc->at = o->ref;
	s->gc->has_at = 1;
	if (is_garbage(s->gc, o))
		s->gc->ages[age_class(s->gc, o->stamp)] += o->loc.raw_len;
	return (--s->left == 0);
}

/* From the oldest on until there is enough. */
static int
choose(struct gc *gc)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = GC_AGES; i > 0 && sum < gc->need; i--) {
		sum += gc->ages[i - 1];
		gc->youngest = i - 1;
	}
	if (sum == 0)
		return (0);
	gc->has_at = 0;
	gc->phase = GC_SWEEP;
	return (1);
}

static int
count(struct gc *gc)
{
	struct scan s = { .gc = gc };
	int rc;

	do {
		s.left = (int)TEST_NUMBER("gc-scan", SCAN_STEP);
		rc = ix_object_scan(gc->st->ix, gc->tenant, gc->has_at ?
		    gc->at.id : NULL, on_count, &s);
	} while (rc == 1 && io_mono_us() < gc->until);
	if (rc == 0)
		return (choose(gc));
	return (rc);
}

static int
on_sweep(void *cookie, const struct ix_object *o)
{
	struct scan *s = cookie;
	struct gc *gc = s->gc;

	gc->at = o->ref;
	gc->has_at = 1;
	gc->fig.examined++;
	if (is_garbage(gc, o) && (gc->all ||
	    age_class(gc, o->stamp) >= gc->youngest))
		s->victims[s->n++] = *o;
	return (s->n == VICTIMS || --s->left == 0);
}

/* So that each pack's figure changes once. */
static int
by_pack(const void *a, const void *b)
{
	const struct ix_object *x = a, *y = b;

	return (x->loc.pack < y->loc.pack ? -1 : x->loc.pack > y->loc.pack);
}

/* Delete what a scan chose, in one transaction. */
static int
delete(struct gc *gc, struct scan *s)
{
	struct store *st = gc->st;
	uint64_t bytes = 0;
	size_t i;
	int err;

	ix_read_end(st->ix);
	if (ix_write(st->ix, ROOM_EPOCH + s->n * ROOM_VICTIM) == -1)
		return (-1);
	qsort(s->victims, s->n, sizeof(s->victims[0]), by_pack);
	if (usage_forget_all(st, s->victims, s->n) == -1)
		goto err0;
	for (i = 0; i < s->n; i++)
		bytes += s->victims[i].loc.raw_len;
	CRASH_POINT("gc-delete");
	if (store_commit(st) == -1)
		return (-1);
	CRASH_POINT("gc-deleted");
	gc->fig.deleted += s->n;
	gc->fig.deleted_bytes += bytes;
	gc->freed += bytes;
	return (0);

err0:
	err = errno;
	ix_abort(st->ix);
	errno = err;
	return (-1);
}

static int
sweep(struct gc *gc)
{
	struct scan s = { .gc = gc };
	struct obj_ref was = gc->at;
	int rc, had = gc->has_at;

	do {
		s.left = (int)TEST_NUMBER("gc-scan", SCAN_STEP);
		rc = ix_object_scan(gc->st->ix, gc->tenant, gc->has_at ?
		    gc->at.id : NULL, on_sweep, &s);
	} while (rc == 1 && s.n < VICTIMS && io_mono_us() < gc->until);
	if (rc == -1)
		return (-1);
	if (s.n > 0 && delete(gc, &s) == -1) {
		/* All of it once more, when that may do better. */
		gc->at = was;
		gc->has_at = had;
		return (-1);
	}
	if (!gc->all && gc->freed >= gc->need)
		return (0);
	return (rc);
}

int
gc_phase(struct gc *gc)
{
	static int (*const phases[])(struct gc *) = {
		[GC_ROOTS] = roots, [GC_COUNT] = count, [GC_SWEEP] = sweep
	};
	int rc, err;

	if (ix_read(gc->st->ix) == -1)
		return (-1);
	/* What became live since the last step comes first: invariant 3. */
	if ((rc = drain(gc)) == 0)
		rc = phases[gc->phase](gc);
	err = errno;
	ix_read_end(gc->st->ix);
	gc->fig.marked = gc->marks == NULL ? 0 : marks_count(gc->marks);
	errno = err;
	return (rc);
}

int
gc_begin(struct gc *gc, const struct gc_want *w)
{
	struct store *st = gc->st;
	struct child c = { gc, 0 };
	int rc;

	/* Whoever waits in the batch has relied on the present epoch. */
	if (batch_run(st->batch) == -1)
		return (-1);
	if ((gc->marks = marks_new()) == NULL)
		return (-1);
	if (ix_write(st->ix, ROOM_EPOCH) == -1)
		goto err0;
	if (!MUTANT("no-gc-epoch") &&
	    ix_epoch_next(st->ix, w->tenant, &gc->epoch) == -1) {
		rc = errno;
		ix_abort(st->ix);
		errno = rc;
		goto err0;
	}
	CRASH_POINT("gc-epoch");
	if (store_commit(st) == -1)
		goto err0;
	CRASH_POINT("gc-epoch-new");
	gc->tenant = w->tenant;
	gc->all = w->all;
	gc->pressed = w->pressed;
	gc->need = w->need;
	gc->drops = st->drops;
	gc->phase = GC_ROOTS;
	gc->fig.marked = 0;
	if (ix_read(st->ix) == -1)
		goto err0;
	rc = lease_each(st, gc->tenant, gc->pressed, visit_lease, &c);
	ix_read_end(st->ix);
	if (rc == -1)
		goto err0;
	return (0);

err0:
	rc = errno;
	gc_drop(gc);
	errno = rc;
	return (-1);
}
