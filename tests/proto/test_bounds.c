#include "tests/proto/probe.h"

/*
 * Each field of each message, at its limit and one past.  Packing refuses what
 * is past, so the packets are made with the generated code, from a full
 * message with one thing changed.
 */

static uint8_t buf[PROBE_BUF];
static uint8_t *scratch;                /* a plain message */
static const struct subject *subject;
static ProtobufCMessage *top;
static size_t tried;

static int
accepted(void)
{
	size_t n = protobuf_c_message_get_packed_size(top);
	int rc;

	assert_true(n <= sizeof(buf));
	protobuf_c_message_pack(top, buf);
	rc = subject_parse(subject, buf, n, scratch);
	if (rc == 0)
		subject_done(subject, scratch);
	tried++;
	return (rc == 0);
}

static void
expect(int ok, const struct field *f, const char *what)
{
	if (accepted() != ok)
		fail_msg("%s: %s: %s", subject->name, f->name, what);
}

/* Put ${n} bytes over the member at ${p}, ask, and put the old ones back. */
static void
swap_expect(uint8_t *p, const void *with, size_t n, int ok,
    const struct field *f, const char *what)
{
	uint8_t old[64];

	memcpy(old, p, n);
	memcpy(p, with, n);
	expect(ok, f, what);
	memcpy(p, old, n);
}

static void
vary_uint(const struct field *f, const ProtobufCFieldDescriptor *d,
    uint8_t *p)
{
	int wide = d->type == PROTOBUF_C_TYPE_UINT64;
	uint64_t top_value = wide ? UINT64_MAX : UINT32_MAX, v;
	size_t n = wide ? 8 : 4;

	if (d->type == PROTOBUF_C_TYPE_BOOL)
		return;                 /* see test_wire.c */
	if (f->max < top_value) {
		v = f->max + 1;
		swap_expect(p, &v, n, 0, f, "one past");
		swap_expect(p, &top_value, n, 0, f, "all ones");
	}
	if (f->min > 0) {
		v = f->min - 1;
		swap_expect(p, &v, n, 0, f, "below");
	}
}

static void
string_expect(uint8_t *p, const char *s, int ok, const struct field *f,
    const char *what)
{
	swap_expect(p, &s, sizeof(s), ok, f, what);
}

/* What fits any string but is no name, no id, or too long. */
static void
vary_string(const struct field *f, uint8_t *p)
{
	int text = f->kind == F_TEXT;

	if (f->min > 0)
		string_expect(p, "", 0, f, "empty");
	string_expect(p, "\xff", 0, f, "not UTF-8");
	string_expect(p, "\xed\xa0\x80", 0, f, "a surrogate");
	string_expect(p, "a\x1b[m", text, f, "ESC");
	string_expect(p, "\xc2\x9bm", text, f, "CSI");
	string_expect(p, "a\x7f", text, f, "DEL");
}

static void
vary_length(const struct field *f, uint8_t *p)
{
	char *s = malloc(f->size + 1);

	assert_non_null(s);
	memset(s, 'a', f->size);
	s[f->size] = '\0';
	string_expect(p, s, 0, f, "one past");
	/* Two job ids of one message may have to be the same one. */
	s[f->size - 1] = '\0';
	if (f->kind != F_JOB)
		string_expect(p, s, 1, f, "longest");
	free(s);
}

static void
vary_id_string(const struct field *f, uint8_t *p)
{
	static const char *const bad_job[] = { "abcdefghij23456",
	    "abcdefghij23456A", "../defghij234567", "abcdefghij234561" };
	static const char *const bad_tenant[] = { "0abc", "a/b", "..",
	    "Root", "a b", "-a" };
	size_t i;

	for (i = 0; f->kind == F_JOB && i < NITEMS(bad_job); i++)
		string_expect(p, bad_job[i], 0, f, bad_job[i]);
	for (i = 0; f->kind == F_TENANT && i < NITEMS(bad_tenant); i++)
		string_expect(p, bad_tenant[i], 0, f, bad_tenant[i]);
}

static void
bytes_expect(uint8_t *p, uint8_t *data, size_t len, int ok,
    const struct field *f, const char *what)
{
	ProtobufCBinaryData b = { len, data };

	swap_expect(p, &b, sizeof(b), ok, f, what);
}

static void
vary_blob(const struct field *f, uint8_t *p)
{
	uint8_t data[64];

	memset(data, 1, sizeof(data));
	assert_true(f->size < sizeof(data));
	bytes_expect(p, data, f->size, 1, f, "its size");
	bytes_expect(p, data, f->size - 1, 0, f, "one short");
	bytes_expect(p, data, f->size + 1, 0, f, "one long");
	bytes_expect(p, data, 1, 0, f, "one byte");
	memset(data, 0, sizeof(data));
	bytes_expect(p, data, f->size, 0, f, "zero");
	if (f->min > 0)
		bytes_expect(p, data, 0, 0, f, "none");
}

static void
vary_ref(const struct field *f, uint8_t *p)
{
	uint8_t data[OBJ_REF_LEN + 1] = { 0 };
	unsigned int kind;

	bytes_expect(p, data, OBJ_REF_LEN, 0, f, "none, spelled out");
	memset(data, 5, sizeof(data));
	for (kind = 1; kind < 256; kind += kind < 8 ? 1 : 31) {
		data[0] = (uint8_t)kind;
		bytes_expect(p, data, OBJ_REF_LEN, kind <= OBJ_TREE &&
		    (f->max & 1u << kind) != 0, f, "a kind");
	}
	data[0] = f->max & REF_TREE ? OBJ_TREE : OBJ_CHUNK;
	bytes_expect(p, data, OBJ_REF_LEN - 1, 0, f, "one short");
	bytes_expect(p, data, OBJ_REF_LEN + 1, 0, f, "one long");
	if ((f->max & REF_NONE) == 0)
		bytes_expect(p, data, 0, 0, f, "none");
}

static void
vary_span(const struct field *f, uint8_t *p)
{
	uint8_t *data = calloc(1, f->max + 1);

	assert_non_null(data);
	bytes_expect(p, data, f->max, 1, f, "longest");
	bytes_expect(p, data, f->max + 1, 0, f, "one past");
	if (f->min > 0)
		bytes_expect(p, data, f->min - 1, 0, f, "one short");
	free(data);
}

static void vary_message(const struct map *, ProtobufCMessage *);

static void
vary_sub(const struct field *f, uint8_t *p)
{
	ProtobufCMessage *m, *none = NULL;

	memcpy(&m, p, sizeof(m));
	vary_message(f->sub, m);
	if (f->min > 0)
		swap_expect(p, &none, sizeof(none), 0, f, "not there");
}

/* Says nothing, where it might have been left out. */
static void
vary_empty(const struct field *f, uint8_t *p)
{
	uint8_t *hollow = calloc(1, f->sub->desc->sizeof_message);

	assert_non_null(hollow);
	f->sub->desc->message_init((ProtobufCMessage *)(void *)hollow);
	swap_expect(p, &hollow, sizeof(hollow), 0, f, "empty");
	free(hollow);
}

static void
vary_array(const struct field *f, const ProtobufCFieldDescriptor *d,
    uint8_t *msg)
{
	ProtobufCMessage **v, **more;
	size_t i, n = (size_t)f->max + 1, was;
	uint8_t *count = msg + d->quantifier_offset;

	memcpy(&v, msg + d->offset, sizeof(v));
	vary_message(f->sub, v[0]);
	if (f->kind == F_OWN_ARRAY)
		return;                 /* see test_client_msg.c */
	more = calloc(n, sizeof(*more));
	assert_non_null(more);
	for (i = 0; i < n; i++)
		more[i] = v[0];
	memcpy(&was, count, sizeof(was));
	memcpy(count, &n, sizeof(n));
	swap_expect(msg + d->offset, &more, sizeof(more), 0, f, "one past");
	memcpy(count, &was, sizeof(was));
	free(more);
}

static void
vary_u32s(const struct field *f, const ProtobufCFieldDescriptor *d,
    uint8_t *msg)
{
	uint32_t v[64] = { 0 }, *p = v;
	size_t n = (size_t)f->max + 1, was;
	uint8_t *count = msg + d->quantifier_offset;

	assert_true(n <= NITEMS(v));
	memcpy(&was, count, sizeof(was));
	memcpy(count, &n, sizeof(n));
	swap_expect(msg + d->offset, &p, sizeof(p), 0, f, "one past");
	memcpy(count, &was, sizeof(was));
}

static void
vary_field(const struct field *f, const ProtobufCFieldDescriptor *d,
    uint8_t *msg)
{
	uint8_t *p = msg + d->offset;

	switch (f->kind) {
	case F_UINT:
		vary_uint(f, d, p);
		break;
	case F_JOB:
	case F_TENANT:
	case F_NAME:
	case F_TEXT:
		vary_string(f, p);
		vary_length(f, p);
		vary_id_string(f, p);
		break;
	case F_BLOB:
		vary_blob(f, p);
		break;
	case F_REF:
		vary_ref(f, p);
		break;
	case F_SPAN:
		vary_span(f, p);
		break;
	case F_SUB:
	case F_SUB_HAS:
	case F_OWN:
		vary_sub(f, p);
		vary_empty(f, p);
		break;
	case F_ARRAY:
	case F_OWN_ARRAY:
		vary_array(f, d, msg);
		break;
	case F_U32S:
		vary_u32s(f, d, msg);
		break;
	case F__MAX:
		break;
	}
}

/* A field that this version does not know, in this very message. */
static void
vary_unknown(const char *name, ProtobufCMessage *m)
{
	uint8_t data[] = { 5 };
	ProtobufCMessageUnknownField u = {
		.tag = 1000, .wire_type = PROTOBUF_C_WIRE_TYPE_VARINT,
		.len = sizeof(data), .data = data,
	};

	m->n_unknown_fields = 1;
	m->unknown_fields = &u;
	if (accepted())
		fail_msg("%s: unknown field in %s", subject->name, name);
	m->n_unknown_fields = 0;
	m->unknown_fields = NULL;
}

static void
vary_message(const struct map *map, ProtobufCMessage *m)
{
	size_t i;

	vary_unknown(map->desc->name, m);
	for (i = 0; i < map->n; i++)
		vary_field(&map->fields[i], &map->desc->fields[i],
		    (uint8_t *)m);
}

/* The message inside the envelope, or the message itself. */
static ProtobufCMessage *
inside(const struct subject *s, size_t row)
{
	const ProtobufCFieldDescriptor *d;
	ProtobufCMessage *m;

	if (s->edge == NULL)
		return (top);
	d = protobuf_c_message_descriptor_get_field(s->edge->desc,
	    s->edge->rows[row].number);
	memcpy(&m, (uint8_t *)top + d->offset, sizeof(m));
	return (m);
}

/* An id where none may be, or none where one must be. */
static void
vary_id(const struct subject *s, size_t row)
{
	uint64_t *id, was;

	if (s->edge == NULL)
		return;
	vary_unknown("the envelope", top);
	if (s->edge->id_at == EDGE_NONE)
		return;
	id = (uint64_t *)(void *)((uint8_t *)top +
	    s->edge->desc->fields[0].offset);
	was = *id;
	*id = s->edge->rows[row].flags & ROW_ID ? 0 : 1;
	assert_false(accepted());
	*id = was;
}

static void
vary_all(const struct subject *s, size_t row)
{
	const ProtobufCMessageDescriptor *desc = s->edge != NULL ?
	    s->edge->desc : s->map->desc;
	ssize_t n;

	subject = s;
	scratch = calloc(1, subject_size(s));
	assert_non_null(scratch);
	probe_message(s, row, scratch, PROBE_MAX);
	n = subject_pack(s, scratch, buf);
	assert_true(n >= 0);
	subject_done(s, scratch);
	top = protobuf_c_message_unpack(desc, NULL, (size_t)n, buf);
	assert_non_null(top);
	assert_true(accepted());
	vary_id(s, row);
	vary_message(subject_map(s, row), inside(s, row));
	assert_true(accepted());
	protobuf_c_message_free_unpacked(top, NULL);
	free(scratch);
}

static void
each_field(void **state)
{
	size_t i, row;

	(void)state;
	for (i = 0; i < NITEMS(subjects); i++)
		for (row = 0; row < subject_rows(&subjects[i]); row++)
			vary_all(&subjects[i], row);
	printf("# %zu messages\n", tried);
}

/* Packing refuses the same: no message leaves that would be refused. */
static void
past_in_plain(const struct subject *s, size_t row, const struct field *f)
{
	uint8_t *plain = calloc(1, subject_size(s));
	uint64_t past = f->max + 1;
	struct store_bytes b;

	assert_non_null(plain);
	probe_message(s, row, plain, PROBE_MAX);
	switch (f->kind) {
	case F_UINT:
		if (f->size < 8 && past >> 8 * f->size != 0)
			goto done;
		if (f->max == UINT64_MAX)
			goto done;
		memcpy(plain + f->at, &past, f->size);
		break;
	case F_JOB:
	case F_TENANT:
	case F_NAME:
	case F_TEXT:
		memset(plain + f->at, 'a', f->size);    /* no end */
		break;
	case F_SPAN:
		memcpy(&b, plain + f->at, sizeof(b));
		b.len = (size_t)past;
		memcpy(plain + f->at, &b, sizeof(b));
		break;
	case F_ARRAY:
	case F_OWN_ARRAY:
	case F_U32S:
		memcpy(plain + f->count, &past, sizeof(uint32_t));
		break;
	case F_REF:
		plain[f->at] = 4;
		break;
	default:
		goto done;
	}
	if (subject_pack(s, plain, buf) != -1)
		fail_msg("%s: %s packed", s->name, f->name);
done:
	subject_done(s, plain);
	free(plain);
}

static void
plain_past(void **state)
{
	const struct map *m;
	size_t i, row, k;

	(void)state;
	for (i = 0; i < NITEMS(subjects); i++)
		for (row = 0; row < subject_rows(&subjects[i]); row++) {
			m = subject_map(&subjects[i], row);
			for (k = 0; k < m->n; k++)
				past_in_plain(&subjects[i], row,
				    &m->fields[k]);
		}
}

/* A buffer one byte short is refused, not written past. */
static void
room(void **state)
{
	struct store_msg m = { .id = 1, .op = STORE_PUT };
	uint8_t small[16];
	ssize_t n;

	(void)state;
	m.u.put.objects = 300;
	n = store_msg_pack(&m, small, sizeof(small));
	assert_true(n > 0);
	memset(small, 0xee, sizeof(small));
	assert_int_equal(store_msg_pack(&m, small, (size_t)n - 1), -1);
	assert_int_equal(small[0], 0xee);
	assert_int_equal(store_msg_pack(&m, small, 0), -1);
	assert_int_equal(store_msg_pack(&m, small, (size_t)n), n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field),
		cmocka_unit_test(plain_past),
		cmocka_unit_test(room),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
