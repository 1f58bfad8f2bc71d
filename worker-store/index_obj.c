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
#define VALUE_LEN       24
#define PACK_LEN        9

static void
key_of(uint32_t tenant, const struct obj_ref *ref, uint8_t *key)
{
	be_put32(key, tenant);
	memcpy(key + 4, ref->id, OBJ_ID_LEN);
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

int
ix_object_get(struct ix *ix, uint32_t tenant, const struct obj_ref *ref,
    struct ix_object *o)
{
	uint8_t key[KEY_LEN];
	const uint8_t *p;
	const void *v;
	size_t len;

	key_of(tenant, ref, key);
	if (ix_get(ix, IX_OBJECT, key, sizeof(key), &v, &len) == -1)
		return (-1);
	if (len != VALUE_LEN)
		return (malformed("object"));
	p = v;
	if (p[16] != ref->kind) {
		errno = ENOENT;
		return (-1);
	}
	o->tenant = tenant;
	o->ref = *ref;
	o->loc.pack = le_get32(p);
	o->loc.off = le_get32(p + 4);
	o->loc.len = le_get32(p + 8);
	o->loc.raw_len = le_get32(p + 12);
	o->loc.codec = p[17];
	o->flags = p[18];
	o->epoch = le_get32(p + 20);
	return (0);
}

int
ix_object_put(struct ix *ix, const struct ix_object *o)
{
	uint8_t key[KEY_LEN], v[VALUE_LEN];

	key_of(o->tenant, &o->ref, key);
	le_put32(v, o->loc.pack);
	le_put32(v + 4, o->loc.off);
	le_put32(v + 8, o->loc.len);
	le_put32(v + 12, o->loc.raw_len);
	v[16] = o->ref.kind;
	v[17] = o->loc.codec;
	v[18] = o->flags;
	v[19] = 0;
	le_put32(v + 20, o->epoch);
	return (ix_put(ix, IX_OBJECT, key, sizeof(key), v, sizeof(v)));
}

int
ix_object_mark(struct ix *ix, uint32_t tenant, const struct obj_ref *ref)
{
	struct ix_object o;

	if (ix_object_get(ix, tenant, ref, &o) == -1)
		return (-1);
	o.flags |= IX_COMPLETE;
	o.epoch = IX_EPOCH;
	return (ix_object_put(ix, &o));
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
