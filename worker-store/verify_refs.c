/*
 * Every reference, and what each tenant is said to use.  A repair corrects the
 * latter; what a reference cannot be resolved to is lost and is named.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index.h"
#include "index_key.h"
#include "lib/le.h"
#include "lib/log.h"
#include "pack_rec.h"
#include "quarantine.h"
#include "store.h"
#include "verify_internal.h"
#include "walk.h"

#define KEY_LEN (4 + 1 + JOB_ID_LEN + 1)
#define ROOM    (8ULL * 1024 * 1024)
#define RECOUNT 2048            /* entries at a time */
#define TRIES   20

struct ref {
	uint32_t tenant;
	char job[JOB_ID_LEN + 1];
	char slot;
	struct obj_ref ref;
};

static const char *
slot_name(char slot)
{
	switch (slot) {
	case 'r':
		return ("submitted tree");
	case 's':
		return ("command");
	case 'a':
		return ("tree after it");
	case 'l':
		return ("list of changes");
	default:
		return ("reference");
	}
}

struct next {
	struct verify *v;
	struct ref r;
};

static int
on_ref(void *cookie, const uint8_t *key, size_t klen, const uint8_t *val,
    size_t len)
{
	struct next *n = cookie;

	if (klen != KEY_LEN || len < OBJ_REF_LEN ||
	    obj_ref_decode(val, &n->r.ref) == -1) {
		log_warnx("index: a malformed entry in ref");
		errno = EUCLEAN;
		return (-1);
	}
	memcpy(n->v->ref, key, klen);
	n->v->reflen = klen;
	n->r.tenant = be_get32(key);
	memcpy(n->r.job, key + 5, JOB_ID_LEN);
	n->r.job[JOB_ID_LEN] = '\0';
	n->r.slot = (char)key[5 + JOB_ID_LEN];
	return (1);
}

/* The object itself: 1 when that says all, 0 when a walk has to. */
static int
root(struct verify *v, const struct ref *r)
{
	struct ix_object o;
	char hex[2 * OBJ_ID_LEN + 1];

	(void)snprintf(v->why, sizeof(v->why), "job %s of tenant %" PRIu32
	    ", its %s", r->job, r->tenant, slot_name(r->slot));
	if (store_find(v->st, r->tenant, &r->ref, &o) == 0)
		return (r->ref.kind == OBJ_CHUNK);
	if (errno != ENOENT)
		return (-1);
	obj_id_hex(r->ref.id, hex);
	v->refs_bad++;
	verify_bad(v, "%s: object %s is %s", v->why, hex,
	    quarantine_is(v->st, r->tenant, &r->ref) ? "damaged" : "missing");
	return (1);
}

static int
one(struct verify *v, const struct ref *r)
{
	int rc;

	v->refs++;
	if ((rc = root(v, r)) != 0)
		return (rc == -1 ? -1 : 0);
	if ((v->walk = walk_new(v->st, r->tenant, 1)) == NULL)
		return (-1);
	walk_root(v->walk, &r->ref);
	return (0);
}

int
verify_refs(struct verify *v)
{
	struct next n = { .v = v };
	int rc;

	if (v->walk != NULL)
		return (verify_walk(v) == -1 ? -1 : 1);
	while (!verify_pause(v)) {
		if (ix_read(v->st->ix) == -1)
			return (-1);
		rc = ix_scan_after(v->st->ix, IX_REF, "", 0, v->ref,
		    v->reflen, on_ref, &n);
		if (rc == 1 && one(v, &n.r) == -1)
			rc = -1;
		ix_read_end(v->st->ix);
		if (rc != 1)
			return (rc);
		if (v->walk != NULL && verify_walk(v) == -1)
			return (-1);
		if (v->walk != NULL)
			break;
	}
	return (1);
}

static int
on_object(void *cookie, const struct ix_object *o)
{
	struct verify *v = cookie;

	v->tally.objects++;
	v->tally.bytes += o->loc.raw_len;
	v->tally.stored += PACK_REC_HEAD + o->loc.len;
	v->at = *o;
	return (++v->recounted % RECOUNT == 0);
}

/* In a transaction of its own, which says the same a moment later. */
static int
correct(struct verify *v, uint32_t tenant, const struct ix_usage *u,
    const struct verify_tally *t)
{
	struct ix *ix = v->st->ix;
	struct ix_usage right = *u;

	if (ix_write(ix, ROOM) == -1)
		return (-1);
	right.objects = t->objects;
	right.bytes = t->bytes;
	right.stored = t->stored;
	if (ix_usage_put(ix, tenant, &right) == -1) {
		ix_abort(ix);
		return (-1);
	}
	v->mended++;
	return (store_commit(v->st));
}

int
verify_use(struct verify *v, uint32_t tenant, const struct verify_tally *t)
{
	struct ix_usage u;
	int rc = -1;

	if (ix_read(v->st->ix) == 0)
		rc = ix_usage_get(v->st->ix, tenant, &u);
	ix_read_end(v->st->ix);
	if (rc == -1)
		return (-1);
	if (u.objects == t->objects && u.bytes == t->bytes &&
	    u.stored == t->stored)
		return (0);
	v->uses_bad++;
	verify_bad(v, "tenant %" PRIu32 " is said to use %" PRIu64 " objects, %"
	    PRIu64 " bytes; it uses %" PRIu64 " and %" PRIu64 "%s", tenant,
	    u.objects, u.bytes, t->objects, t->bytes, v->repair ?
	    ": corrected" : "");
	return (v->repair ? correct(v, tenant, &u, t) : 0);
}

static int
same_use(const struct ix_usage *a, const struct ix_usage *b)
{
	return (a->objects == b->objects && a->bytes == b->bytes &&
	    a->stored == b->stored);
}

/*
 * Go on counting the tenant's entries.  1 when there are more, 0 when all of
 * them were counted and its use did not change meanwhile, 2 when it did; -1.
 */
static int
recount(struct verify *v, uint32_t tenant)
{
	struct ix *ix = v->st->ix;
	struct ix_usage now;
	int rc = -1;

	if (ix_read(ix) == 0 && (rc = ix_usage_get(ix, tenant, &now)) == 0) {
		if (v->recounted == 0) {
			memset(&v->tally, 0, sizeof(v->tally));
			v->use = now;
		}
		rc = same_use(&now, &v->use) ? ix_object_scan(ix, tenant,
		    v->recounted == 0 ? NULL : v->at.ref.id, on_object, v) : 2;
	}
	ix_read_end(ix);
	return (rc);
}

/*
 * Those whose figures did not agree, or changed while they were added up: once
 * more, from the index alone.  One that is never quiet for so long is not
 * judged.
 */
int
verify_uses(struct verify *v)
{
	uint32_t tenant;
	int rc;

	while (v->nagain > 0 && !verify_pause(v)) {
		tenant = v->again[v->nagain - 1];
		if ((rc = recount(v, tenant)) == -1)
			return (-1);
		if (rc == 1)
			continue;
		v->recounted = 0;
		if (rc == 2 && ++v->tries < TRIES)
			continue;
		if (rc == 2)
			verify_note(v, "tenant %" PRIu32 " was never quiet "
			    "for long enough to count what it uses", tenant);
		else if (verify_use(v, tenant, &v->tally) == -1)
			return (-1);
		v->tries = 0;
		v->nagain--;
	}
	return (v->nagain > 0);
}
