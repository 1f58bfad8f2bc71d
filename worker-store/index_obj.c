/*
 * What the index keeps of objects.  Reaches the file through index.c
 * only.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "index.h"
#include "index_key.h"
#include "index_obj.h"
#include "lib/le.h"
#include "lib/log.h"
#include "recent.h"
#include "seg.h"
#include "seg_iter.h"
#include "segs.h"


int
ix_object_cmp(const struct ix_object *a, const struct ix_object *b)
{
	if (a->tenant != b->tenant)
		return (a->tenant < b->tenant ? -1 : 1);
	return (memcmp(a->ref.id, b->ref.id, OBJ_ID_LEN));
}

/* The newest version of an entry.  ENOENT, too, when it is gone. */
static int
find(struct ix *ix, uint32_t tenant, const uint8_t *id, struct ix_object *o)
{
	uint8_t key[SEG_KEY_LEN], entry[SEG_ENTRY_LEN];

	seg_key(tenant, id, key);
	if (recent_get(ix, key, entry) == -1 &&
	    (errno != ENOENT || seg_find(ix, key, entry) == -1))
		return (-1);
	seg_entry_decode(entry, o);
	if ((o->flags & SEG_GONE) == 0)
		return (0);
	errno = ENOENT;
	return (-1);
}

int
ix_object_get(struct ix *ix, uint32_t tenant, const struct obj_ref *ref,
    struct ix_object *o)
{
	if (find(ix, tenant, ref->id, o) == -1)
		return (-1);
	if (o->ref.kind == ref->kind)
		return (0);
	errno = ENOENT;
	return (-1);
}

int
ix_object_put(struct ix *ix, const struct ix_object *o)
{
	uint8_t entry[SEG_ENTRY_LEN];

	if (seg_entry_encode(o, entry) == -1)
		return (-1);
	return (recent_put(ix, entry));
}

/* Recent entries of these objects would hide what comes in a run. */
static int
forget_recent(struct ix *ix, struct ix_object *const *objs, size_t n)
{
	uint8_t key[SEG_KEY_LEN];
	size_t i;

	for (i = 0; i < n; i++) {
		seg_key(objs[i]->tenant, objs[i]->ref.id, key);
		if (recent_del(ix, key) == -1 && errno != ENOENT)
			return (-1);
	}
	return (0);
}

int
ix_objects_put(struct ix *ix, struct ix_object *const *objs, size_t n)
{
	size_t i;

	if (n >= segs_batch_min(ix_segs(ix))) {
		if (forget_recent(ix, objs, n) == -1)
			return (-1);
		return (seg_out_batch(ix, objs, n));
	}
	for (i = 0; i < n; i++) {
		if (ix_object_put(ix, objs[i]) == -1)
			return (-1);
	}
	return (0);
}

int
ix_object_mark(struct ix *ix, uint32_t tenant, const struct obj_ref *ref,
    uint32_t epoch, uint32_t stamp)
{
	struct ix_object o;

	if (ix_object_get(ix, tenant, ref, &o) == -1)
		return (-1);
	o.flags |= IX_COMPLETE;
	o.epoch = epoch;
	o.stamp = stamp;
	return (ix_object_put(ix, &o));
}

int
ix_object_move(struct ix *ix, uint32_t tenant, const struct obj_ref *ref,
    const struct pack_loc *loc)
{
	struct ix_object o;

	if (ix_object_get(ix, tenant, ref, &o) == -1)
		return (-1);
	o.loc = *loc;
	return (ix_object_put(ix, &o));
}

int
ix_object_del(struct ix *ix, uint32_t tenant, const struct obj_ref *ref)
{
	uint8_t key[SEG_KEY_LEN], entry[SEG_ENTRY_LEN];
	struct ix_object o;

	if (ix_object_get(ix, tenant, ref, &o) == -1)
		return (-1);
	seg_key(tenant, ref->id, key);
	if (seg_find(ix, key, entry) == -1) {
		if (errno != ENOENT)
			return (-1);
		return (recent_del(ix, key));
	}
	/* A run has it, and only a newer entry can hide that. */
	memset(&o.loc, 0, sizeof(o.loc));
	o.flags = SEG_GONE;
	o.epoch = o.stamp = 0;
	return (ix_object_put(ix, &o));
}

/* Go through everything behind a key until ${fn} stops. */
static int
scan(struct ix *ix, const uint8_t *after, const uint32_t *tenant,
    ix_object_fn *fn, void *cookie)
{
	struct segs *s = ix_segs(ix);
	struct seg_iter *it;
	const uint8_t *entry;
	struct ix_object o;
	int rc, stop = 0;

	if ((it = seg_iter_all(ix, s, after)) == NULL)
		return (-1);
	while ((rc = seg_iter_next(it, &entry)) == 1) {
		seg_entry_decode(entry, &o);
		if (tenant != NULL && o.tenant != *tenant) {
			rc = 0;
			break;
		}
		if ((o.flags & SEG_GONE) == 0 &&
		    (stop = fn(cookie, &o)) != 0)
			break;
	}
	seg_iter_free(it);
	return (stop != 0 ? stop : rc);
}

int
ix_object_scan(struct ix *ix, uint32_t tenant, const uint8_t *after,
    ix_object_fn *fn, void *cookie)
{
	static const uint8_t first[OBJ_ID_LEN];
	uint8_t key[SEG_KEY_LEN];

	/* No id is all zero: that is the reference to nothing. */
	seg_key(tenant, after != NULL ? after : first, key);
	return (scan(ix, key, &tenant, fn, cookie));
}

int
ix_object_scan_all(struct ix *ix, const struct ix_object *after,
    ix_object_fn *fn, void *cookie)
{
	uint8_t key[SEG_KEY_LEN];

	if (after != NULL)
		seg_key(after->tenant, after->ref.id, key);
	return (scan(ix, after != NULL ? key : NULL, NULL, fn, cookie));
}
