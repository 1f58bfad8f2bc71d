/*
 * The engine that packs plain structures by map.  Memory only; the other
 * direction is edge_parse.c.
 */
#include <errno.h>
#include <string.h>

#include "lib/text.h"
#include "proto/arena.h"
#include "proto/edge.h"
#include "proto/store_msg.h"

/*
 * From plain structures to bytes.  Strings and spans are borrowed from the
 * plain structure while this lasts; the rest is in the arena.
 */

/* One field: where it comes from and goes to. */
struct fill {
	const struct field *f;
	const ProtobufCFieldDescriptor *d;
	const uint8_t *plain;
	uint8_t *msg;
	struct arena *a;
};

/* Each returns 1 when the field says something, 0 when not, or -1. */
typedef int fill_fn(const struct fill *);

static int map_fill(const struct map *, const void *, struct arena *,
    ProtobufCMessage **);

static int
invalid(void)
{
	errno = EINVAL;
	return (-1);
}

/* A pointer for protobuf-c, which has no const but does not write either. */
static void *
borrow(const void *p)
{
	return ((void *)(uintptr_t)p);
}

static uint64_t
uint_get(const uint8_t *p, size_t size)
{
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;

	switch (size) {
	case 1:
		return (*p);
	case 2:
		memcpy(&v16, p, sizeof(v16));
		return (v16);
	case 4:
		memcpy(&v32, p, sizeof(v32));
		return (v32);
	default:
		memcpy(&v64, p, sizeof(v64));
		return (v64);
	}
}

static uint32_t
count_get(const struct fill *c)
{
	return ((uint32_t)uint_get(c->plain + c->f->count, sizeof(uint32_t)));
}

static int
fill_uint(const struct fill *c)
{
	uint64_t v = uint_get(c->plain + c->f->at, c->f->size);
	uint32_t v32 = (uint32_t)v;

	if (v < c->f->min || v > c->f->max)
		return (invalid());
	if (c->d->type == PROTOBUF_C_TYPE_UINT64)
		memcpy(c->msg + c->d->offset, &v, sizeof(v));
	else
		memcpy(c->msg + c->d->offset, &v32, sizeof(v32));
	return (v != 0);
}

/* The string of the field, if it ends within its array. */
static const char *
string_get(const struct fill *c)
{
	const char *s = (const char *)c->plain + c->f->at;

	if (memchr(s, '\0', c->f->size) == NULL)
		return (NULL);
	return (s);
}

static int
string_put(const struct fill *c, const char *s)
{
	char *p = borrow(s);

	if (*s == '\0')
		return (c->f->min == 0 ? 0 : invalid());
	memcpy(c->msg + c->d->offset, &p, sizeof(p));
	return (1);
}

static int
fill_job(const struct fill *c)
{
	const char *s = string_get(c);

	if (s == NULL || (*s != '\0' && !text_job_id_valid(s)))
		return (invalid());
	return (string_put(c, s));
}

static int
fill_tenant(const struct fill *c)
{
	const char *s = string_get(c);

	if (s == NULL || (*s != '\0' && !text_tenant_valid(s)))
		return (invalid());
	return (string_put(c, s));
}

static int
fill_name(const struct fill *c)
{
	const char *s = string_get(c);

	if (s == NULL || !edge_name_valid(s))
		return (invalid());
	return (string_put(c, s));
}

/*
 * What we tell people often quotes bytes that a job or a file system chose.
 * That must not make the message unsayable.
 */
static int
fill_text(const struct fill *c)
{
	const char *s = string_get(c);
	size_t len;
	char *copy;

	if (s == NULL)
		return (invalid());
	len = strlen(s);
	if (text_utf8_valid(s, len))
		return (string_put(c, s));
	if ((copy = arena_take(c->a, len + 1)) == NULL)
		return (-1);
	memcpy(copy, s, len + 1);
	edge_mend(copy);
	return (string_put(c, copy));
}

static void
bytes_put(const struct fill *c, const void *p, size_t len)
{
	ProtobufCBinaryData b = { len, borrow(p) };

	memcpy(c->msg + c->d->offset, &b, sizeof(b));
}

static int
all_zero(const uint8_t *p, size_t len)
{
	while (len > 0 && *p == 0) {
		p++;
		len--;
	}
	return (len == 0);
}

static int
fill_blob(const struct fill *c)
{
	const uint8_t *p = c->plain + c->f->at;

	if (all_zero(p, c->f->size))
		return (c->f->min == 0 ? 0 : invalid());
	bytes_put(c, p, c->f->size);
	return (1);
}

static int
fill_ref(const struct fill *c)
{
	struct obj_ref ref;
	uint8_t *p;

	memcpy(&ref, c->plain + c->f->at, sizeof(ref));
	if (ref.kind > OBJ_TREE || (c->f->max & 1u << ref.kind) == 0)
		return (invalid());
	if (ref.kind == OBJ_NONE)
		return (0);
	if ((p = arena_take(c->a, OBJ_REF_LEN)) == NULL)
		return (-1);
	obj_ref_encode(&ref, p);
	bytes_put(c, p, OBJ_REF_LEN);
	return (1);
}

static int
fill_span(const struct fill *c)
{
	struct store_bytes b;

	memcpy(&b, c->plain + c->f->at, sizeof(b));
	if (b.len < c->f->min || b.len > c->f->max)
		return (invalid());
	if (b.len == 0)
		return (0);
	bytes_put(c, b.p, b.len);
	return (1);
}

/* Fill what is at ${p}, and leave it out when it says nothing and may. */
static int
sub_put(const struct fill *c, const void *p, int always)
{
	ProtobufCMessage *m;
	int rc;

	if ((rc = map_fill(c->f->sub, p, c->a, &m)) == -1)
		return (-1);
	if (rc == 0 && !always)
		return (c->f->min == 0 ? 0 : invalid());
	memcpy(c->msg + c->d->offset, &m, sizeof(m));
	return (1);
}

static int
fill_sub(const struct fill *c)
{
	return (sub_put(c, c->plain + c->f->at, 0));
}

static int
fill_sub_has(const struct fill *c)
{
	uint8_t has = c->plain[c->f->count];

	if (has > 1)
		return (invalid());
	return (has ? sub_put(c, c->plain + c->f->at, 0) : 0);
}

static int
fill_own(const struct fill *c)
{
	const void *p;

	memcpy(&p, c->plain + c->f->at, sizeof(p));
	return (p != NULL ? sub_put(c, p, 0) : 0);
}

static int
array_put(const struct fill *c, const uint8_t *p)
{
	size_t i, n = count_get(c);
	ProtobufCMessage **v;

	if (n > c->f->max || (n > 0 && p == NULL))
		return (invalid());
	if (n == 0)
		return (0);
	if ((v = arena_take(c->a, n * sizeof(*v))) == NULL)
		return (-1);
	for (i = 0; i < n; i++, p += c->f->sub->size)
		if (map_fill(c->f->sub, p, c->a, &v[i]) == -1)
			return (-1);
	memcpy(c->msg + c->d->offset, &v, sizeof(v));
	memcpy(c->msg + c->d->quantifier_offset, &n, sizeof(n));
	return (1);
}

static int
fill_array(const struct fill *c)
{
	return (array_put(c, c->plain + c->f->at));
}

static int
fill_own_array(const struct fill *c)
{
	const uint8_t *p;

	memcpy(&p, c->plain + c->f->at, sizeof(p));
	return (array_put(c, p));
}

static int
fill_u32s(const struct fill *c)
{
	size_t n = count_get(c);
	void *p = borrow(c->plain + c->f->at);

	if (n > c->f->max)
		return (invalid());
	if (n == 0)
		return (0);
	memcpy(c->msg + c->d->offset, &p, sizeof(p));
	memcpy(c->msg + c->d->quantifier_offset, &n, sizeof(n));
	return (1);
}

static fill_fn *const fill_fns[F__MAX] = {
	[F_UINT] = fill_uint,
	[F_JOB] = fill_job,
	[F_TENANT] = fill_tenant,
	[F_NAME] = fill_name,
	[F_TEXT] = fill_text,
	[F_BLOB] = fill_blob,
	[F_REF] = fill_ref,
	[F_SPAN] = fill_span,
	[F_SUB] = fill_sub,
	[F_SUB_HAS] = fill_sub_has,
	[F_OWN] = fill_own,
	[F_ARRAY] = fill_array,
	[F_OWN_ARRAY] = fill_own_array,
	[F_U32S] = fill_u32s,
};

/* Make the generated structure.  1, 0 when it says nothing, or -1. */
static int
map_fill(const struct map *map, const void *plain, struct arena *a,
    ProtobufCMessage **out)
{
	struct fill c = { .plain = plain, .a = a };
	int rc, said = 0;
	size_t i;

	if (map->check != NULL && map->check(plain) == -1)
		return (invalid());
	if ((c.msg = arena_take(a, map->desc->sizeof_message)) == NULL)
		return (-1);
	*out = (ProtobufCMessage *)(void *)c.msg;
	map->desc->message_init(*out);
	for (i = 0; i < map->n; i++) {
		c.f = &map->fields[i];
		c.d = &map->desc->fields[i];
		if ((rc = fill_fns[c.f->kind](&c)) == -1)
			return (-1);
		said |= rc;
	}
	return (said);
}

static ssize_t
message_put(const ProtobufCMessage *m, uint8_t *buf, size_t cap, size_t max)
{
	size_t len = protobuf_c_message_get_packed_size(m);

	if (len > cap || len > max) {
		errno = EMSGSIZE;
		return (-1);
	}
	return ((ssize_t)protobuf_c_message_pack(m, buf));
}

ssize_t
map_pack(const struct map *map, const void *plain, uint8_t *buf, size_t cap,
    size_t max)
{
	ProtobufCMessage *m;
	struct arena a;
	ssize_t len = -1;

	arena_init(&a, EDGE_MEMORY);
	if (map_fill(map, plain, &a, &m) != -1)
		len = message_put(m, buf, cap, max);
	arena_done(&a);
	return (len);
}

static const struct row *
row_find(const struct edge *e, const uint8_t *plain)
{
	uint8_t reply_to = e->reply_at == EDGE_NONE ? 0 : plain[e->reply_at];
	size_t i;

	for (i = 0; i < e->n; i++)
		if (e->rows[i].op == plain[e->op_at] &&
		    (e->rows[i].reply_to == 0 ||
		    e->rows[i].reply_to == reply_to))
			return (&e->rows[i]);
	return (NULL);
}

/* Put the id where it belongs.  -1 when it may not be this one. */
static int
id_put(const struct edge *e, const struct row *row, const uint8_t *plain,
    uint8_t *msg)
{
	uint64_t id;

	if (e->id_at == EDGE_NONE)
		return (0);
	memcpy(&id, plain + e->id_at, sizeof(id));
	if ((id != 0) != ((row->flags & ROW_ID) != 0))
		return (invalid());
	memcpy(msg + e->desc->fields[0].offset, &id, sizeof(id));
	return (0);
}

static int
edge_fill(const struct edge *e, const void *plain, struct arena *a,
    ProtobufCMessage **out)
{
	const ProtobufCFieldDescriptor *d;
	const struct row *row;
	ProtobufCMessage *sub;
	uint8_t *msg;
	int number;

	if ((row = row_find(e, plain)) == NULL)
		return (invalid());
	if ((msg = arena_take(a, e->desc->sizeof_message)) == NULL)
		return (-1);
	*out = (ProtobufCMessage *)(void *)msg;
	e->desc->message_init(*out);
	if (id_put(e, row, plain, msg) == -1 ||
	    map_fill(row->map, plain, a, &sub) == -1)
		return (-1);

	d = protobuf_c_message_descriptor_get_field(e->desc, row->number);
	number = (int)row->number;
	memcpy(msg + d->quantifier_offset, &number, sizeof(number));
	memcpy(msg + d->offset, &sub, sizeof(sub));
	return (0);
}

ssize_t
edge_pack(const struct edge *e, const void *plain, uint8_t *buf, size_t cap)
{
	ProtobufCMessage *m;
	struct arena a;
	ssize_t len = -1;

	arena_init(&a, e->memory);
	if (edge_fill(e, plain, &a, &m) != -1)
		len = message_put(m, buf, cap, e->max);
	arena_done(&a);
	return (len);
}
