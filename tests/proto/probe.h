#ifndef ERRAND_TESTS_PROBE_H
#define ERRAND_TESTS_PROBE_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "proto/client_msg.h"
#include "proto/convert.h"
#include "proto/edge.h"
#include "proto/exec_msg.h"
#include "proto/job_msg.h"
#include "proto/receipt.h"
#include "proto/store_msg.h"

/*
 * What the tests of proto/ share: plain structures filled and compared by their
 * maps, so that a field that is added is tested without anyone's doing.
 */
#define NITEMS(a)       (sizeof(a) / sizeof((a)[0]))
#define PROBE_BUF       (512 * 1024)
#define PROBE_OWNED     512     /* parts of an owned array, at most */

enum probe_how { PROBE_MIN, PROBE_MAX, PROBE_RANDOM };

/* A channel, or a message of one kind. */
struct subject {
	const char *name;
	const struct edge *edge;
	const struct map *map;
	size_t max;
};

static const struct subject subjects[] = {
	{ "store", &store_edge, NULL, 0 },
	{ "snapshot", &snap_edge, NULL, 0 },
	{ "exec", &exec_edge, NULL, 0 },
	{ "job", &job_edge, NULL, 0 },
	{ "open", &open_edge, NULL, 0 },
	{ "reply", &reply_edge, NULL, 0 },
	{ "hello", NULL, &client_hello_map, 65536 },
	{ "err", NULL, &err_map, 65536 },
	{ "record", NULL, &record_map, LIMIT_RECORD },
	{ "receipt", NULL, &receipt_map, LIMIT_RECEIPT },
};

static uint64_t probe_state;

static inline void
probe_seed(void)
{
	const char *s = getenv("ERRAND_SEED");

	probe_state = s != NULL ? strtoull(s, NULL, 0) :
	    (uint64_t)time(NULL) * 2654435761u + 1;
	printf("# seed %llu (set ERRAND_SEED to repeat)\n",
	    (unsigned long long)probe_state);
}

static inline uint64_t
probe_rnd(void)
{
	probe_state += 0x9e3779b97f4a7c15u;
	uint64_t z = probe_state;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (z ^ z >> 31);
}

static inline size_t
subject_size(const struct subject *s)
{
	return (s->edge != NULL ? s->edge->size : s->map->size);
}

static inline ssize_t
subject_pack(const struct subject *s, const void *plain, uint8_t *buf)
{
	if (s->edge != NULL)
		return (edge_pack(s->edge, plain, buf, PROBE_BUF));
	return (map_pack(s->map, plain, buf, PROBE_BUF, s->max));
}

/* Frees what a reply owns. */
static inline void
subject_done(const struct subject *s, void *plain)
{
	if (s->edge == &reply_edge)
		client_reply_done(plain);
}

static inline int
subject_parse(const struct subject *s, const uint8_t *buf, size_t len,
    void *plain)
{
	int rc;

	if (s->edge != NULL)
		rc = edge_parse(s->edge, buf, len, plain);
	else
		rc = map_parse(s->map, buf, len, plain, s->max);
	if (rc == -1)
		subject_done(s, plain);
	return (rc);
}

/* Each kind of message of a subject; NULL row for a single map. */
static inline size_t
subject_rows(const struct subject *s)
{
	return (s->edge != NULL ? s->edge->n : 1);
}

static inline const struct map *
subject_map(const struct subject *s, size_t row)
{
	return (s->edge != NULL ? s->edge->rows[row].map : s->map);
}

static inline uint64_t
probe_uint(const struct field *f, enum probe_how how)
{
	uint64_t span = f->max - f->min;

	if (how == PROBE_MIN)
		return (f->min);
	if (how == PROBE_MAX)
		return (f->max);
	if (probe_rnd() % 2)
		span = span < 300 ? span : 300;
	return (f->min + (span == UINT64_MAX ? probe_rnd() :
	    probe_rnd() % (span + 1)));
}

static inline void
probe_uint_put(uint8_t *p, size_t size, uint64_t v)
{
	memcpy(p, &v, size);            /* little-endian hosts only */
}

static inline void
probe_text(char *p, size_t size, enum probe_how how, const char *unit)
{
	size_t n = how == PROBE_MAX ? size - 1 : 1 + probe_rnd() % (size - 1);
	size_t u = strlen(unit), i;

	memset(p, 'x', n);
	p[n] = '\0';
	for (i = 0; i + u <= n; i += u + 3)
		memcpy(p + i, unit, u);
}

static inline void probe_fill(const struct map *, void *, enum probe_how);

static inline void
probe_array(const struct field *f, uint8_t *p, uint32_t n,
    enum probe_how how)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		probe_fill(f->sub, p + i * f->sub->size, how);
}

static inline void
probe_ref(const struct field *f, uint8_t *p, enum probe_how how)
{
	struct obj_ref ref = { 0 };
	unsigned int kind = OBJ_TREE;

	while ((f->max & 1u << kind) == 0)
		kind--;
	if (how == PROBE_RANDOM && kind == OBJ_LIST && probe_rnd() % 2)
		kind = OBJ_CHUNK;
	ref.kind = (uint8_t)kind;
	memset(ref.id, (int)(probe_rnd() % 256), sizeof(ref.id));
	memcpy(p, &ref, sizeof(ref));
}

static inline void
probe_span(const struct field *f, uint8_t *p, enum probe_how how)
{
	static uint8_t pool[2 * LIMIT_RECEIPT];
	struct store_bytes b;
	size_t i;

	for (i = 0; pool[0] == 0 && i < sizeof(pool); i++)
		pool[i] = (uint8_t)(probe_rnd() | 1);
	b.len = how == PROBE_MAX ? f->max : f->min + probe_rnd() % 100;
	b.p = pool + probe_rnd() % LIMIT_RECEIPT;
	memcpy(p, &b, sizeof(b));
}

static inline void
probe_own(const struct field *f, uint8_t *plain, enum probe_how how)
{
	uint32_t n = how == PROBE_MAX ? PROBE_OWNED : probe_rnd() % 20;
	void *p;

	if (f->kind == F_OWN)
		n = 1;
	else {
		if (n > f->max)
			n = (uint32_t)f->max;
		memcpy(plain + f->count, &n, sizeof(n));
	}
	if (n == 0)
		return;
	p = calloc(n, f->sub->size);
	assert_non_null(p);
	probe_array(f, p, n, how);
	memcpy(plain + f->at, &p, sizeof(p));
}

static inline void
probe_counted(const struct field *f, uint8_t *plain, enum probe_how how)
{
	uint32_t n, i, v;

	n = (uint32_t)(how == PROBE_MAX ? f->max : probe_rnd() % (f->max + 1));
	memcpy(plain + f->count, &n, sizeof(n));
	if (f->kind == F_ARRAY)
		probe_array(f, plain + f->at, n, how);
	for (i = 0; f->kind == F_U32S && i < n; i++) {
		v = how == PROBE_MAX ? UINT32_MAX : (uint32_t)probe_rnd();
		memcpy(plain + f->at + i * sizeof(v), &v, sizeof(v));
	}
}

static inline void
probe_field(const struct field *f, uint8_t *plain, enum probe_how how)
{
	uint8_t *p = plain + f->at;

	switch (f->kind) {
	case F_JOB:
		memcpy(p, "abcdefghij234567", JOB_ID_LEN + 1);
		break;
	case F_TENANT:
		probe_text((char *)p, f->size, how, "t_9-");
		break;
	case F_NAME:
		probe_text((char *)p, f->size, how, "\xc3\xa9");
		break;
	case F_TEXT:
		probe_text((char *)p, f->size, how, "\n\xe2\x82\xac");
		break;
	case F_BLOB:
		memset(p, how == PROBE_MAX ? 0xff : 1, f->size);
		break;
	case F_REF:
		probe_ref(f, p, how);
		break;
	case F_SPAN:
		probe_span(f, p, how);
		break;
	case F_SUB:
		probe_fill(f->sub, p, how);
		break;
	case F_SUB_HAS:
		plain[f->count] = 1;
		probe_fill(f->sub, p, how);
		break;
	case F_OWN:
	case F_OWN_ARRAY:
		probe_own(f, plain, how);
		break;
	case F_ARRAY:
	case F_U32S:
		probe_counted(f, plain, how);
		break;
	case F_UINT:
	case F__MAX:
		break;
	}
}

/* A field that must be there, though its lower bound does not say so. */
static inline int
probe_needed(const struct field *f)
{
	if (f->kind == F_REF)
		return ((f->max & REF_NONE) == 0);
	return (f->min > 0);
}

static inline void
probe_fill_once(const struct map *m, uint8_t *plain, enum probe_how how)
{
	const struct field *f;
	size_t i;

	for (i = 0; i < m->n; i++) {
		f = &m->fields[i];
		if (f->kind == F_UINT)
			probe_uint_put(plain + f->at, f->size,
			    probe_uint(f, how));
		else if (how == PROBE_MAX || probe_needed(f))
			/* Parts that must be there are filled up, so that
			 * what several fields must say together is said. */
			probe_field(f, plain, f->kind == F_SUB ?
			    PROBE_MAX : how);
		else if (how == PROBE_RANDOM && probe_rnd() % 2)
			probe_field(f, plain, how);
	}
}

/* Fill so that the map agrees.  ${plain} was all zero. */
static inline void
probe_fill(const struct map *m, void *plain, enum probe_how how)
{
	const struct field *f;
	size_t i;
	int try;

	for (try = 0; try < 1000; try++) {
		probe_fill_once(m, plain, how);
		if (m->check == NULL || m->check(plain) == 0)
			return;
		for (i = 0; i < m->n; i++) {
			f = &m->fields[i];
			memset((uint8_t *)plain + f->at, 0, f->size);
		}
	}
	fail_msg("%s cannot be filled", m->desc->name);
}

static inline void
probe_message(const struct subject *s, size_t row, void *plain,
    enum probe_how how)
{
	const struct row *r;
	uint64_t id = 77;

	memset(plain, 0, subject_size(s));
	if (s->edge != NULL) {
		r = &s->edge->rows[row];
		((uint8_t *)plain)[s->edge->op_at] = r->op;
		if (s->edge->reply_at != EDGE_NONE)
			((uint8_t *)plain)[s->edge->reply_at] = r->reply_to;
		if (r->flags & ROW_ID)
			memcpy((uint8_t *)plain + s->edge->id_at, &id,
			    sizeof(id));
	}
	probe_fill(subject_map(s, row), plain, how);
}

static inline int probe_same(const struct map *, const uint8_t *,
    const uint8_t *);

static inline int
probe_same_array(const struct field *f, const uint8_t *a, const uint8_t *b,
    uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++, a += f->sub->size, b += f->sub->size)
		if (!probe_same(f->sub, a, b))
			return (0);
	return (1);
}

static inline int
probe_same_pointed(const struct field *f, const uint8_t *a, const uint8_t *b,
    uint32_t n)
{
	const uint8_t *pa, *pb;

	memcpy(&pa, a + f->at, sizeof(pa));
	memcpy(&pb, b + f->at, sizeof(pb));
	if (pa == NULL || pb == NULL)
		return (pa == pb);
	return (probe_same_array(f, pa, pb, n));
}

static inline int
probe_same_field(const struct field *f, const uint8_t *a, const uint8_t *b)
{
	struct store_bytes sa, sb;
	uint32_t na = 1, nb = 1;

	if (f->kind == F_ARRAY || f->kind == F_OWN_ARRAY ||
	    f->kind == F_U32S) {
		memcpy(&na, a + f->count, sizeof(na));
		memcpy(&nb, b + f->count, sizeof(nb));
		if (na != nb)
			return (0);
	}
	if (f->kind == F_SUB_HAS && a[f->count] != b[f->count])
		return (0);
	if (f->kind == F_OWN || f->kind == F_OWN_ARRAY)
		return (probe_same_pointed(f, a, b, na));
	if (f->kind == F_SUB || f->kind == F_SUB_HAS || f->kind == F_ARRAY)
		return (probe_same_array(f, a + f->at, b + f->at, na));
	if (f->kind == F_SPAN) {
		memcpy(&sa, a + f->at, sizeof(sa));
		memcpy(&sb, b + f->at, sizeof(sb));
		return (sa.len == sb.len && memcmp(sa.p, sb.p, sa.len) == 0);
	}
	return (memcmp(a + f->at, b + f->at, f->size) == 0);
}

/* Do two structures say the same? */
static inline int
probe_same(const struct map *m, const uint8_t *a, const uint8_t *b)
{
	size_t i;

	for (i = 0; i < m->n; i++)
		if (!probe_same_field(&m->fields[i], a, b)) {
			printf("# %s differs\n", m->fields[i].name);
			return (0);
		}
	return (1);
}

#endif /* !ERRAND_TESTS_PROBE_H */
