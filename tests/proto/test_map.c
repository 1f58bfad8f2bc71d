#include "tests/proto/probe.h"

/* Do the tables agree with the schemas they are written for? */

/* The last part of a member's name is the field's name. */
static const char *
last_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return (dot != NULL ? dot + 1 : name);
}

static void
check_type(const struct field *f, const ProtobufCFieldDescriptor *d)
{
	uint64_t top = f->size >= 8 ? UINT64_MAX :
	    ((uint64_t)1 << 8 * f->size) - 1;

	switch (f->kind) {
	case F_UINT:
		assert_true(f->size == 1 || f->size == 2 || f->size == 4 ||
		    f->size == 8);
		assert_true(f->min <= f->max && f->max <= top);
		if (d->type == PROTOBUF_C_TYPE_UINT64)
			break;
		assert_true(d->type == PROTOBUF_C_TYPE_UINT32 ||
		    d->type == PROTOBUF_C_TYPE_INT32 ||
		    d->type == PROTOBUF_C_TYPE_BOOL ||
		    d->type == PROTOBUF_C_TYPE_ENUM);
		assert_true(f->max <= UINT32_MAX);
		break;
	case F_JOB:
		assert_int_equal(f->size, JOB_ID_LEN + 1);
		assert_int_equal(d->type, PROTOBUF_C_TYPE_STRING);
		break;
	case F_TENANT:
		assert_int_equal(f->size, TENANT_NAME_MAX + 1);
		assert_int_equal(d->type, PROTOBUF_C_TYPE_STRING);
		break;
	case F_NAME:
	case F_TEXT:
		assert_int_equal(d->type, PROTOBUF_C_TYPE_STRING);
		break;
	case F_BLOB:
	case F_SPAN:
		assert_int_equal(d->type, PROTOBUF_C_TYPE_BYTES);
		break;
	case F_REF:
		assert_int_equal(f->size, sizeof(struct obj_ref));
		assert_int_equal(d->type, PROTOBUF_C_TYPE_BYTES);
		break;
	case F_U32S:
		assert_int_equal(d->type, PROTOBUF_C_TYPE_UINT32);
		assert_true(f->max * 4 == f->size);
		break;
	default:
		assert_int_equal(d->type, PROTOBUF_C_TYPE_MESSAGE);
		assert_ptr_equal(d->descriptor, f->sub->desc);
		break;
	}
}

static void
check_shape(const struct field *f, const ProtobufCFieldDescriptor *d)
{
	int many = f->kind == F_ARRAY || f->kind == F_OWN_ARRAY ||
	    f->kind == F_U32S;

	assert_int_equal(d->label == PROTOBUF_C_LABEL_REPEATED, many);
	assert_int_equal(d->flags & PROTOBUF_C_FIELD_FLAG_ONEOF, 0);
	if (f->kind == F_SUB || f->kind == F_SUB_HAS)
		assert_int_equal(f->size, f->sub->size);
	if (f->kind == F_ARRAY)
		assert_true(f->size == f->max * f->sub->size);
	if (f->kind == F_OWN || f->kind == F_OWN_ARRAY)
		assert_int_equal(f->size, sizeof(void *));
}

static void
check_map(const struct map *m)
{
	size_t i;

	assert_int_equal(m->n, m->desc->n_fields);
	for (i = 0; i < m->n; i++) {
		assert_string_equal(last_part(m->fields[i].name),
		    m->desc->fields[i].name);
		assert_true(m->fields[i].at + m->fields[i].size <= m->size);
		check_type(&m->fields[i], &m->desc->fields[i]);
		check_shape(&m->fields[i], &m->desc->fields[i]);
		if (m->fields[i].sub != NULL)
			check_map(m->fields[i].sub);
	}
}

static void
maps_fit(void **state)
{
	size_t i, row;

	(void)state;
	for (i = 0; i < NITEMS(subjects); i++)
		for (row = 0; row < subject_rows(&subjects[i]); row++)
			check_map(subject_map(&subjects[i], row));
}

/* Every field of a oneof has one row, of the right kind. */
static void
check_edge(const struct edge *e)
{
	const ProtobufCFieldDescriptor *d;
	size_t i, j, found;

	for (i = e->id_at == EDGE_NONE ? 0 : 1; i < e->desc->n_fields; i++) {
		d = &e->desc->fields[i];
		assert_true(d->flags & PROTOBUF_C_FIELD_FLAG_ONEOF);
		for (j = found = 0; j < e->n; j++) {
			if (e->rows[j].number != d->id)
				continue;
			found++;
			assert_ptr_equal(e->rows[j].map->desc, d->descriptor);
			assert_int_equal(e->rows[j].map->size, e->size);
		}
		assert_int_equal(found, 1);
	}
	if (e->id_at != EDGE_NONE)
		assert_string_equal(e->desc->fields[0].name, "id");
}

/* Every op below ${end} has a row, and none is above. */
static void
check_ops(const struct edge *e, unsigned int end)
{
	unsigned int op;
	size_t i;

	check_edge(e);
	for (op = 1; op < end; op++) {
		for (i = 0; i < e->n && e->rows[i].op != op; i++)
			;
		assert_true(i < e->n);
	}
	for (i = 0; i < e->n; i++)
		assert_true(e->rows[i].op >= 1 && e->rows[i].op < end);
}

static void
ops_complete(void **state)
{
	(void)state;
	check_ops(&store_edge, STORE_OP__MAX);
	check_ops(&snap_edge, SNAP_OP__MAX);
	check_ops(&exec_edge, EXEC_OP__MAX);
	check_ops(&job_edge, JOBC_OP__MAX);
	check_ops(&open_edge, CLIENT_VERB__MAX);
	check_ops(&reply_edge, CLIENT_REPLY__MAX);
}

/* Every request to the store has its own OK. */
static void
store_replies(void **state)
{
	unsigned int op;
	size_t i, found;

	(void)state;
	for (op = STORE_BIND; op <= STORE_RECEIPT_GET; op++) {
		for (i = found = 0; i < store_edge.n; i++)
			found += store_edge.rows[i].op == STORE_OK &&
			    store_edge.rows[i].reply_to == op;
		assert_int_equal(found, 1);
	}
}

/* "STATE_EXITED" of the schema is "exited" to people. */
static void
check_names(const ProtobufCMessageDescriptor *desc, const char *field,
    unsigned int n, const char *(*name)(unsigned int))
{
	const ProtobufCFieldDescriptor *d;
	const ProtobufCEnumDescriptor *e;
	const char *ours, *p;
	unsigned int i;
	size_t k;

	d = protobuf_c_message_descriptor_get_field_by_name(desc, field);
	assert_non_null(d);
	e = d->descriptor;
	assert_int_equal(e->n_values, n);
	for (i = 1; i < n; i++) {
		assert_int_equal(e->values[i].value, i);
		ours = name(i);
		assert_non_null(ours);
		p = strchr(e->values[i].name, '_') + 1;
		assert_int_equal(strlen(p), strlen(ours));
		for (k = 0; ours[k] != '\0'; k++)
			assert_int_equal(p[k] | (p[k] == '_' ? 0 : 0x20),
			    ours[k]);
	}
}

static const char *
state_name(unsigned int v)
{
	return (job_state_name((enum job_state)v));
}

static const char *
limit_name(unsigned int v)
{
	return (job_limit_name((enum job_limit)v));
}

static const char *
code_name(unsigned int v)
{
	return (err_code_name((enum err_code)v));
}

static void
names(void **state)
{
	(void)state;
	check_names(record_map.desc, "state", JOB_LOST + 1, state_name);
	check_names(record_map.desc, "limit", JOB_LIMIT_CHANGES + 1,
	    limit_name);
	check_names(err_map.desc, "code", ERR__MAX, code_name);
	assert_null(job_limit_name(JOB_LIMIT_NONE));
	assert_string_equal(state_name(0), "unknown");
	assert_string_equal(state_name(99), "unknown");
	assert_null(limit_name(99));
	assert_string_equal(code_name(99), "unknown");
	assert_string_equal(code_name(0), "none");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_fit),
		cmocka_unit_test(ops_complete),
		cmocka_unit_test(store_replies),
		cmocka_unit_test(names),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
