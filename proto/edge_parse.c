/*
 * The engine that parses by map: the first code that looks at a message from
 * another process.  Memory only, of bounded size.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"
#include "proto/arena.h"
#include "proto/edge.h"
#include "proto/store_msg.h"

/*
 * From hostile bytes to plain structures.  Every function returns 0, or -1
 * for a field that is out of bounds; the two entries make that EPROTO.
 */

struct packet {
	const uint8_t *p;
	size_t len;
};

/* One field: where it comes from and goes to. */
struct take {
	const struct field *f;
	const ProtobufCFieldDescriptor *d;
	const uint8_t *msg;
	uint8_t *plain;
	const struct packet *packet;
};

typedef int take_fn(const struct take *);

static int map_take(const struct map *, const ProtobufCMessage *, void *,
    const struct packet *);

static void
uint_put(uint8_t *p, size_t size, uint64_t v)
{
	uint16_t v16 = (uint16_t)v;
	uint32_t v32 = (uint32_t)v;

	switch (size) {
	case 1:
		*p = (uint8_t)v;
		break;
	case 2:
		memcpy(p, &v16, sizeof(v16));
		break;
	case 4:
		memcpy(p, &v32, sizeof(v32));
		break;
	default:
		memcpy(p, &v, sizeof(v));
		break;
	}
}

static int
take_uint(const struct take *c)
{
	uint32_t v32;
	uint64_t v;

	if (c->d->type == PROTOBUF_C_TYPE_UINT64)
		memcpy(&v, c->msg + c->d->offset, sizeof(v));
	else {
		memcpy(&v32, c->msg + c->d->offset, sizeof(v32));
		v = v32;
	}
	if (v < c->f->min || v > c->f->max)
		return (-1);
	uint_put(c->plain + c->f->at, c->f->size, v);
	return (0);
}

static const char *
string_of(const struct take *c)
{
	const char *s;

	memcpy(&s, c->msg + c->d->offset, sizeof(s));
	return (s);
}

/* Copy a string that has been found good. */
static int
string_take(const struct take *c, const char *s)
{
	size_t len = strlen(s);

	if (len < c->f->min || len >= c->f->size)
		return (-1);
	memcpy(c->plain + c->f->at, s, len + 1);
	return (0);
}

static int
take_job(const struct take *c)
{
	const char *s = string_of(c);

	if (*s != '\0' && !text_job_id_valid(s))
		return (-1);
	return (string_take(c, s));
}

static int
take_tenant(const struct take *c)
{
	const char *s = string_of(c);

	if (*s != '\0' && !text_tenant_valid(s))
		return (-1);
	return (string_take(c, s));
}

static int
take_name(const struct take *c)
{
	const char *s = string_of(c);

	return (edge_name_valid(s) ? string_take(c, s) : -1);
}

static int
take_text(const struct take *c)
{
	const char *s = string_of(c);

	return (text_utf8_valid(s, strlen(s)) ? string_take(c, s) : -1);
}

static ProtobufCBinaryData
bytes_of(const struct take *c)
{
	ProtobufCBinaryData b;

	memcpy(&b, c->msg + c->d->offset, sizeof(b));
	return (b);
}

static int
take_blob(const struct take *c)
{
	ProtobufCBinaryData b = bytes_of(c);
	size_t i;

	if (b.len == 0)
		return (c->f->min == 0 ? 0 : -1);
	if (b.len != c->f->size)
		return (-1);
	for (i = 0; i < b.len && b.data[i] == 0; i++)
		;
	if (i == b.len)
		return (-1);
	memcpy(c->plain + c->f->at, b.data, b.len);
	return (0);
}

static int
take_ref(const struct take *c)
{
	ProtobufCBinaryData b = bytes_of(c);
	struct obj_ref ref;

	if (b.len == 0)
		return (c->f->max & REF_NONE ? 0 : -1);
	if (b.len != OBJ_REF_LEN || obj_ref_decode(b.data, &ref) == -1 ||
	    ref.kind == OBJ_NONE || (c->f->max & 1u << ref.kind) == 0)
		return (-1);
	memcpy(c->plain + c->f->at, &ref, sizeof(ref));
	return (0);
}

/*
 * protobuf-c made a copy, which does not outlive the arena.  The same bytes
 * are in the packet, which does; any place where they stand is as good.
 */
static int
take_span(const struct take *c)
{
	ProtobufCBinaryData b = bytes_of(c);
	struct store_bytes out = { NULL, b.len };

	if (b.len < c->f->min || b.len > c->f->max)
		return (-1);
	if (b.len > 0 && (out.p = memmem(c->packet->p, c->packet->len, b.data,
	    b.len)) == NULL)
		return (-1);
	memcpy(c->plain + c->f->at, &out, sizeof(out));
	return (0);
}

static const ProtobufCMessage *
sub_of(const struct take *c)
{
	const ProtobufCMessage *m;

	memcpy(&m, c->msg + c->d->offset, sizeof(m));
	return (m);
}

/* A structure that says nothing is left out, never empty. */
static int
sub_take(const struct take *c, const ProtobufCMessage *m, void *to)
{
	if (protobuf_c_message_get_packed_size(m) == 0)
		return (-1);
	return (map_take(c->f->sub, m, to, c->packet));
}

static int
take_sub(const struct take *c)
{
	const ProtobufCMessage *m = sub_of(c);

	if (m == NULL)
		return (c->f->min == 0 ? 0 : -1);
	return (sub_take(c, m, c->plain + c->f->at));
}

static int
take_sub_has(const struct take *c)
{
	const ProtobufCMessage *m = sub_of(c);

	if (m == NULL)
		return (0);
	c->plain[c->f->count] = 1;
	return (sub_take(c, m, c->plain + c->f->at));
}

static int
take_own(const struct take *c)
{
	const ProtobufCMessage *m = sub_of(c);
	void *p;

	if (m == NULL)
		return (0);
	if ((p = calloc(1, c->f->sub->size)) == NULL)
		return (-1);
	memcpy(c->plain + c->f->at, &p, sizeof(p));
	return (sub_take(c, m, p));
}

static size_t
count_of(const struct take *c)
{
	size_t n;

	memcpy(&n, c->msg + c->d->quantifier_offset, sizeof(n));
	return (n);
}

/* Take all parts; ${p} has room for as many as there are. */
static int
array_take(const struct take *c, uint8_t *p)
{
	ProtobufCMessage *const *v;
	size_t i, n = count_of(c);

	memcpy(&v, c->msg + c->d->offset, sizeof(v));
	for (i = 0; i < n; i++, p += c->f->sub->size)
		if (map_take(c->f->sub, v[i], p, c->packet) == -1)
			return (-1);
	uint_put(c->plain + c->f->count, sizeof(uint32_t), n);
	return (0);
}

static int
take_array(const struct take *c)
{
	if (count_of(c) > c->f->max)
		return (-1);
	return (array_take(c, c->plain + c->f->at));
}

static int
take_own_array(const struct take *c)
{
	size_t n = count_of(c);
	void *p;

	if (n == 0)
		return (0);
	if (n > c->f->max || (p = calloc(n, c->f->sub->size)) == NULL)
		return (-1);
	memcpy(c->plain + c->f->at, &p, sizeof(p));
	return (array_take(c, p));
}

static int
take_u32s(const struct take *c)
{
	size_t n = count_of(c);
	const uint32_t *v;

	if (n > c->f->max)
		return (-1);
	memcpy(&v, c->msg + c->d->offset, sizeof(v));
	if (n > 0)
		memcpy(c->plain + c->f->at, v, n * sizeof(*v));
	uint_put(c->plain + c->f->count, sizeof(uint32_t), n);
	return (0);
}

static take_fn *const take_fns[F__MAX] = {
	[F_UINT] = take_uint,
	[F_JOB] = take_job,
	[F_TENANT] = take_tenant,
	[F_NAME] = take_name,
	[F_TEXT] = take_text,
	[F_BLOB] = take_blob,
	[F_REF] = take_ref,
	[F_SPAN] = take_span,
	[F_SUB] = take_sub,
	[F_SUB_HAS] = take_sub_has,
	[F_OWN] = take_own,
	[F_ARRAY] = take_array,
	[F_OWN_ARRAY] = take_own_array,
	[F_U32S] = take_u32s,
};

static int
map_take(const struct map *map, const ProtobufCMessage *m, void *plain,
    const struct packet *packet)
{
	struct take c = { .plain = plain, .packet = packet };
	size_t i;

	if (m->n_unknown_fields != 0)
		return (-1);
	c.msg = (const uint8_t *)m;
	for (i = 0; i < map->n; i++) {
		c.f = &map->fields[i];
		c.d = &map->desc->fields[i];
		if (take_fns[c.f->kind](&c) == -1)
			return (-1);
	}
	if (map->check != NULL && map->check(plain) == -1)
		return (-1);
	return (0);
}

/* Are these the bytes that packing it gives? */
static int
canonical(const ProtobufCMessage *m, struct arena *a, const uint8_t *buf,
    size_t len)
{
	uint8_t *again;

	if (protobuf_c_message_get_packed_size(m) != len ||
	    (again = arena_take(a, len)) == NULL)
		return (0);
	(void)protobuf_c_message_pack(m, again);
	return (memcmp(again, buf, len) == 0);
}

ProtobufCMessage *
edge_unpack(const ProtobufCMessageDescriptor *desc, struct arena *a,
    const uint8_t *buf, size_t len)
{
	ProtobufCMessage *m;

	m = protobuf_c_message_unpack(desc, &a->alloc, len, buf);
	if (m == NULL || m->n_unknown_fields != 0 ||
	    !canonical(m, a, buf, len))
		return (NULL);
	return (m);
}

int
map_parse(const struct map *map, const uint8_t *buf, size_t len, void *plain,
    size_t max)
{
	struct packet packet = { buf, len };
	const ProtobufCMessage *m;
	struct arena a;
	int rc = -1;

	memset(plain, 0, map->size);
	arena_init(&a, EDGE_MEMORY);
	if (len <= max && (m = edge_unpack(map->desc, &a, buf, len)) != NULL)
		rc = map_take(map, m, plain, &packet);
	arena_done(&a);
	if (rc == -1)
		errno = EPROTO;
	return (rc);
}

/* Which row is it, and what does it hold? */
static const struct row *
row_of(const struct edge *e, const ProtobufCMessage *m,
    const ProtobufCMessage **sub)
{
	const uint8_t *msg = (const uint8_t *)m;
	const ProtobufCFieldDescriptor *d;
	uint32_t number;
	size_t i;

	/* All members of the oneof share their places. */
	d = &e->desc->fields[e->desc->n_fields - 1];
	memcpy(&number, msg + d->quantifier_offset, sizeof(number));
	memcpy(sub, msg + d->offset, sizeof(*sub));
	for (i = 0; i < e->n; i++)
		if (e->rows[i].number == number && *sub != NULL)
			return (&e->rows[i]);
	return (NULL);
}

static int
id_take(const struct edge *e, const struct row *row, const uint8_t *msg,
    uint8_t *plain)
{
	uint64_t id;

	if (e->id_at == EDGE_NONE)
		return (0);
	memcpy(&id, msg + e->desc->fields[0].offset, sizeof(id));
	memcpy(plain + e->id_at, &id, sizeof(id));
	return ((id != 0) == ((row->flags & ROW_ID) != 0) ? 0 : -1);
}

static int
edge_take(const struct edge *e, const ProtobufCMessage *m, uint8_t *plain,
    const struct packet *packet)
{
	const ProtobufCMessage *sub;
	const struct row *row;

	if ((row = row_of(e, m, &sub)) == NULL ||
	    id_take(e, row, (const uint8_t *)m, plain) == -1)
		return (-1);
	plain[e->op_at] = row->op;
	if (e->reply_at != EDGE_NONE)
		plain[e->reply_at] = row->reply_to;
	return (map_take(row->map, sub, plain, packet));
}

int
edge_parse(const struct edge *e, const uint8_t *buf, size_t len, void *plain)
{
	struct packet packet = { buf, len };
	const ProtobufCMessage *m;
	struct arena a;
	int rc = -1;

	memset(plain, 0, e->size);
	arena_init(&a, e->memory);
	if (len <= e->max && (m = edge_unpack(e->desc, &a, buf, len)) != NULL)
		rc = edge_take(e, m, plain, &packet);
	arena_done(&a);
	if (rc == -1)
		errno = EPROTO;
	return (rc);
}
