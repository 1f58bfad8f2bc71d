/*
 * Every object: its bytes against its id, and for trees and lists that are
 * marked complete, whether what they name is there.  What is damaged goes into
 * quarantine (store_read sees to that); a repair gives back what can be read
 * again.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "index.h"
#include "lib/size.h"
#include "pack.h"
#include "quarantine.h"
#include "store.h"
#include "usage.h"
#include "verify_internal.h"
#include "walk.h"

#define GROUP   64              /* objects that one look at the index takes */
#define ROOM    (8ULL * 1024 * 1024)

struct group {
	struct ix_object objs[GROUP];
	size_t n;
};

static int
on_object(void *cookie, const struct ix_object *o)
{
	struct group *g = cookie;

	g->objs[g->n++] = *o;
	return (g->n == GROUP);
}

static int
tenant_end(struct verify *v)
{
	struct ix_usage u;
	void *p;
	int rc = -1;

	if (v->tally.objects == 0 && !v->begun)
		return (0);
	v->tenants++;
	if (ix_read(v->st->ix) == 0)
		rc = ix_usage_get(v->st->ix, v->tenant, &u);
	ix_read_end(v->st->ix);
	if (rc == -1)
		return (-1);
	if (u.objects == v->tally.objects && u.bytes == v->tally.bytes &&
	    u.stored == v->tally.stored)
		return (0);
	/* Changed meanwhile, or wrong: to be counted in one go. */
	if ((p = size_grow(v->again, &v->capagain, v->nagain + 1,
	    sizeof(*v->again))) == NULL)
		return (-1);
	v->again = p;
	v->again[v->nagain++] = v->tenant;
	return (0);
}

static int
count(struct verify *v, const struct ix_object *o)
{
	struct verify_pack *p;

	if (!v->begun || o->tenant != v->tenant) {
		if (tenant_end(v) == -1)
			return (-1);
		v->tenant = o->tenant;
		memset(&v->tally, 0, sizeof(v->tally));
	}
	v->begun = 1;
	v->objects++;
	v->tally.objects++;
	v->tally.bytes += o->loc.raw_len;
	v->tally.stored += PACK_REC_HEAD + o->loc.len;
	v->done += PACK_REC_HEAD + o->loc.len;
	if ((p = verify_pack_of(v, o->loc.pack)) != NULL)
		p->live += PACK_REC_HEAD + o->loc.len;
	return (0);
}

struct child {
	struct verify *v;
	const struct ix_object *parent;
	char hex[2 * OBJ_ID_LEN + 1];
};

/* What a complete tree names must be there, and if a tree, be whole too. */
static int
on_child(void *cookie, const struct obj_ref *ref)
{
	struct child *c = cookie;
	struct verify *v = c->v;
	struct ix_object o;
	char hex[2 * OBJ_ID_LEN + 1];

	if (ref->kind == OBJ_NONE)
		return (0);
	if (store_find(v->st, c->parent->tenant, ref, &o) == 0)
		return (0);
	if (errno != ENOENT)
		return (-1);
	obj_id_hex(ref->id, hex);
	v->missing++;
	verify_bad(v, "object %s of tenant %" PRIu32 " is %s: %s names it", hex,
	    c->parent->tenant, quarantine_is(v->st, c->parent->tenant, ref) ?
	    "damaged" : "missing", c->hex);
	if (!v->repair)
		return (0);
	/* Noted as lost, so that nobody relies on the mark any more. */
	memset(&o, 0, sizeof(o));
	o.tenant = c->parent->tenant;
	o.ref = *ref;
	quarantine_add(v->st, &o);
	v->mended++;
	return (0);
}

static int
children(struct verify *v, const struct ix_object *o, const uint8_t *raw)
{
	struct child c = { .v = v, .parent = o };
	struct ix_usage u;
	int rc;

	if (o->ref.kind == OBJ_CHUNK || (o->flags & IX_COMPLETE) == 0)
		return (0);
	obj_id_hex(o->ref.id, c.hex);
	if (ix_read(v->st->ix) == -1)
		return (-1);
	if ((rc = ix_usage_get(v->st->ix, o->tenant, &u)) == 0 &&
	    u.epoch == o->epoch)
		rc = obj_children(o->ref.kind, raw, o->loc.raw_len, on_child,
		    &c);
	ix_read_end(v->st->ix);
	return (rc);
}

static int
look(struct verify *v, const struct ix_object *o)
{
	uint8_t raw[OBJ_MAX];
	char hex[2 * OBJ_ID_LEN + 1];

	if (o->loc.raw_len <= OBJ_MAX && store_read(v->st, o, raw) == 0)
		return (children(v, o, raw));
	if (o->loc.raw_len <= OBJ_MAX && errno != EBADMSG)
		return (-1);
	obj_id_hex(o->ref.id, hex);
	v->damaged++;
	verify_bad(v, "object %s of tenant %" PRIu32 " is damaged (pack %"
	    PRIu32 ", offset %" PRIu32 ")%s", hex, o->tenant, o->loc.pack,
	    o->loc.off, v->repair ? ": lost, unless it is sent again" : "");
	return (0);
}

/* A group, or the part of it for which there is time. */
static int
group_do(struct verify *v, const struct group *g)
{
	size_t i;

	for (i = 0; i < g->n; i++) {
		if (i > 0 && verify_pause(v))
			return (1);
		if (count(v, &g->objs[i]) == -1 || look(v, &g->objs[i]) == -1)
			return (-1);
		v->at = g->objs[i];
	}
	return (1);
}

int
verify_objects(struct verify *v)
{
	struct group g = { .n = 0 };
	int rc = -1;

	if (ix_read(v->st->ix) == 0)
		rc = ix_object_scan_all(v->st->ix, v->begun ? &v->at : NULL,
		    on_object, &g);
	ix_read_end(v->st->ix);
	if (rc == -1)
		return (-1);
	if (g.n > 0)
		return (group_do(v, &g));
	return (tenant_end(v));
}

/* Give back what was damaged and can be read again. */
static int
give_back(struct verify *v, const struct ix_object *o)
{
	struct ix *ix = v->st->ix;
	struct ix_object was;
	int there;

	if (ix_write(ix, ROOM) == -1)
		return (-1);
	there = ix_object_get(ix, o->tenant, &o->ref, &was) == 0;
	if (quarantine_del(ix, o) == -1 ||
	    (!there && usage_count(v->st, o) == -1)) {
		ix_abort(ix);
		return (-1);
	}
	if (store_commit(v->st) == -1)
		return (-1);
	return (quarantine_load(v->st));
}

static int
on_quarantined(void *cookie, const struct ix_object *o)
{
	struct group *g = cookie;

	g->objs[g->n++] = *o;
	return (g->n == GROUP);
}

/*
 * A repair looks once more at the first of those that are in quarantine: a
 * pack may have been put back, or a cable.
 */
int
verify_quarantined(struct verify *v)
{
	struct group g = { .n = 0 };
	uint8_t raw[OBJ_MAX];
	char hex[2 * OBJ_ID_LEN + 1];
	size_t i;
	int rc = -1;

	if (!v->repair || quarantine_count(v->st) == 0)
		return (0);
	if (ix_read(v->st->ix) == 0)
		rc = quarantine_scan(v->st->ix, on_quarantined, &g);
	ix_read_end(v->st->ix);
	for (i = 0; rc != -1 && i < g.n; i++) {
		if (pack_read(v->st->packs, g.objs[i].tenant, &g.objs[i].ref,
		    &g.objs[i].loc, raw) == -1)
			continue;
		if (give_back(v, &g.objs[i]) == -1)
			return (-1);
		obj_id_hex(g.objs[i].ref.id, hex);
		v->mended++;
		verify_note(v, "object %s of tenant %" PRIu32 " can be read "
		    "again", hex, g.objs[i].tenant);
	}
	return (rc == -1 ? -1 : 0);
}
