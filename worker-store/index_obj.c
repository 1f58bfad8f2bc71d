/*
 * What the index keeps of objects and packs.  Reaches the file through index.c
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

#define KEY_LEN         (4 + OBJ_ID_LEN)
#define VALUE_LEN       28
#define VALUE_LEN_1     24              /* in format 1: without the stamp */
#define PACK_LEN        9

static void
key_of(uint32_t tenant, const uint8_t *id, uint8_t *key)
{
	be_put32(key, tenant);
	memcpy(key + 4, id, OBJ_ID_LEN);
}

int
ix_object_cmp(const struct ix_object *a, const struct ix_object *b)
{
	if (a->tenant != b->tenant)
		return (a->tenant < b->tenant ? -1 : 1);
	return (memcmp(a->ref.id, b->ref.id, OBJ_ID_LEN));
}

static int
malformed(const char *what)
{
	log_warnx("index: a malformed entry in %s", what);
	errno = EBADMSG;
	return (-1);
}

static int
entry_decode(const uint8_t *key, const uint8_t *p, size_t len,
    struct ix_object *o)
{
	if (len != VALUE_LEN && len != VALUE_LEN_1)
		return (malformed("object"));
	o->tenant = be_get32(key);
	memcpy(o->ref.id, key + 4, OBJ_ID_LEN);
	o->loc.pack = le_get32(p);
	o->loc.off = le_get32(p + 4);
	o->loc.len = le_get32(p + 8);
	o->loc.raw_len = le_get32(p + 12);
	o->ref.kind = p[16];
	o->loc.codec = p[17];
	o->flags = p[18];
	o->epoch = le_get32(p + 20);
	o->stamp = len == VALUE_LEN ? le_get32(p + 24) : 0;
	return (0);
}

int
ix_object_get(struct ix *ix, uint32_t tenant, const struct obj_ref *ref,
    struct ix_object *o)
{
	uint8_t key[KEY_LEN];
	const void *v;
	size_t len;

	key_of(tenant, ref->id, key);
	if (ix_get(ix, IX_OBJECT, key, sizeof(key), &v, &len) == -1 ||
	    entry_decode(key, v, len, o) == -1)
		return (-1);
	if (o->ref.kind != ref->kind) {
		errno = ENOENT;
		return (-1);
	}
	return (0);
}

int
ix_object_put(struct ix *ix, const struct ix_object *o)
{
	uint8_t key[KEY_LEN], v[VALUE_LEN];

	key_of(o->tenant, o->ref.id, key);
	le_put32(v, o->loc.pack);
	le_put32(v + 4, o->loc.off);
	le_put32(v + 8, o->loc.len);
	le_put32(v + 12, o->loc.raw_len);
	v[16] = o->ref.kind;
	v[17] = o->loc.codec;
	v[18] = o->flags;
	v[19] = 0;
	le_put32(v + 20, o->epoch);
	le_put32(v + 24, o->stamp);
	return (ix_put(ix, IX_OBJECT, key, sizeof(key), v, sizeof(v)));
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
	uint8_t key[KEY_LEN];
	struct ix_object o;

	if (ix_object_get(ix, tenant, ref, &o) == -1)
		return (-1);
	key_of(tenant, ref->id, key);
	return (ix_del(ix, IX_OBJECT, key, sizeof(key)));
}

struct scan_cookie {
	ix_object_fn *fn;
	void *cookie;
};

static int
on_object(void *arg, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	struct scan_cookie *c = arg;
	struct ix_object o;

	if (klen != KEY_LEN)
		return (malformed("object"));
	if (entry_decode(key, v, len, &o) == -1)
		return (-1);
	return (c->fn(c->cookie, &o));
}

int
ix_object_scan(struct ix *ix, uint32_t tenant, const uint8_t *after,
    ix_object_fn *fn, void *cookie)
{
	struct scan_cookie c = { fn, cookie };
	uint8_t key[KEY_LEN];

	if (after != NULL)
		key_of(tenant, after, key);
	else
		be_put32(key, tenant);
	return (ix_scan_after(ix, IX_OBJECT, key, 4, key, after != NULL ?
	    sizeof(key) : 0, on_object, &c));
}

int
ix_object_scan_all(struct ix *ix, const struct ix_object *after,
    ix_object_fn *fn, void *cookie)
{
	struct scan_cookie c = { fn, cookie };
	uint8_t key[KEY_LEN];

	if (after != NULL)
		key_of(after->tenant, after->ref.id, key);
	return (ix_scan_after(ix, IX_OBJECT, "", 0, key, after != NULL ?
	    sizeof(key) : 0, on_object, &c));
}

int
ix_pack_put(struct ix *ix, const struct ix_pack *pack)
{
	uint8_t key[4], v[PACK_LEN];

	be_put32(key, pack->number);
	le_put64(v, pack->len);
	v[8] = pack->sealed;
	return (ix_put(ix, IX_PACK, key, sizeof(key), v, sizeof(v)));
}

struct packs_cookie {
	ix_pack_fn *fn;
	void *cookie;
};

static int
on_pack(void *arg, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	struct packs_cookie *c = arg;
	struct ix_pack pack;

	if (klen != 4 || len != PACK_LEN)
		return (malformed("pack"));
	pack.number = be_get32(key);
	pack.len = le_get64(v);
	pack.sealed = v[8];
	return (c->fn(c->cookie, &pack));
}

int
ix_packs(struct ix *ix, ix_pack_fn *fn, void *cookie)
{
	struct packs_cookie c = { fn, cookie };

	return (ix_scan(ix, IX_PACK, "", 0, 0, on_pack, &c));
}
