#ifndef ERRAND_TESTS_OBJSET_H
#define ERRAND_TESTS_OBJSET_H

/*
 * What the tests of objects share: a set of objects in memory, random bytes
 * that are the same on every run, and the loops that damage an encoding.
 * Include after cmocka.h.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"

struct objset_obj {
	struct obj_ref ref;
	size_t len;
	uint8_t *buf;
};

struct objset {
	struct objset_obj *obj; /* open addressing */
	size_t room;            /* a power of two */
	size_t n;
	size_t added;           /* objects and bytes since the last look */
	size_t bytes;
	size_t longest;
	struct obj_ref last;    /* the one handed over last */
};

static inline struct objset_obj *
objset_slot(struct objset_obj *obj, size_t room, const struct obj_ref *ref)
{
	size_t i;

	memcpy(&i, ref->id, sizeof(i));
	for (i &= room - 1; obj[i].buf != NULL; i = (i + 1) & (room - 1))
		if (obj_ref_equal(&obj[i].ref, ref))
			break;
	return (&obj[i]);
}

static inline void
objset_grow(struct objset *s)
{
	size_t i, room = s->room == 0 ? 256 : s->room * 2;
	struct objset_obj *obj = calloc(room, sizeof(*obj));

	assert_non_null(obj);
	for (i = 0; i < s->room; i++)
		if (s->obj[i].buf != NULL)
			*objset_slot(obj, room, &s->obj[i].ref) = s->obj[i];
	free(s->obj);
	s->obj = obj;
	s->room = room;
}

/* An obj_sink_fn.  Every object must be in order and have its id. */
static inline int
objset_put(void *cookie, const struct obj_ref *ref, const void *buf,
    size_t len)
{
	struct objset *s = cookie;
	struct objset_obj *o;
	struct obj_ref is;
	const char *why;

	assert_int_equal(obj_check(ref->kind, buf, len, &why), 0);
	assert_int_equal(obj_ref_of(ref->kind, buf, len, &is), 0);
	assert_true(obj_ref_equal(&is, ref));
	s->last = *ref;
	if (2 * s->n >= s->room)
		objset_grow(s);
	o = objset_slot(s->obj, s->room, ref);
	if (o->buf != NULL)
		return (0);
	o->ref = *ref;
	o->len = len;
	assert_non_null(o->buf = malloc(len));
	memcpy(o->buf, buf, len);
	s->n++;
	s->added++;
	s->bytes += len;
	if (len > s->longest)
		s->longest = len;
	return (0);
}

/* An obj_fetch_fn. */
static inline int
objset_get(void *cookie, const struct obj_ref *ref, uint8_t *buf, size_t *len)
{
	struct objset *s = cookie;
	struct objset_obj *o;

	if (s->room == 0 ||
	    (o = objset_slot(s->obj, s->room, ref))->buf == NULL) {
		errno = ENOENT;
		return (-1);
	}
	memcpy(buf, o->buf, o->len);
	*len = o->len;
	return (0);
}

/* Put bytes that need not be an object in order; return their reference. */
static inline struct obj_ref
objset_force(struct objset *s, enum obj_kind kind, const void *buf, size_t len)
{
	struct objset_obj *o;
	struct obj_ref ref;

	assert_int_equal(obj_ref_of(kind, buf, len, &ref), 0);
	if (2 * s->n >= s->room)
		objset_grow(s);
	o = objset_slot(s->obj, s->room, &ref);
	if (o->buf == NULL) {
		assert_non_null(o->buf = malloc(len));
		memcpy(o->buf, buf, len);
		o->ref = ref;
		o->len = len;
		s->n++;
	}
	return (ref);
}

static inline void
objset_done(struct objset *s)
{
	size_t i;

	for (i = 0; i < s->room; i++)
		free(s->obj[i].buf);
	free(s->obj);
	memset(s, 0, sizeof(*s));
}

static inline void
objset_mark(struct objset *s)
{
	s->added = 0;
	s->bytes = 0;
}

/* The bytes of the test vectors called lcg in DESIGN-FORMATS. */
static inline void
lcg_fill(uint8_t *p, size_t len)
{
	uint64_t x = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		x = x * UINT64_C(6364136223846793005) +
		    UINT64_C(1442695040888963407);
		p[i] = (uint8_t)(x >> 56);
	}
}

static inline uint64_t
rnd(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return (*s);
}

static inline void
rnd_fill(uint64_t *s, uint8_t *p, size_t len)
{
	uint64_t v;
	size_t i, n;

	for (i = 0; i < len; i += n) {
		v = rnd(s);
		n = len - i < sizeof(v) ? len - i : sizeof(v);
		memcpy(p + i, &v, n);
	}
}

static inline void
assert_id(const struct obj_ref *ref, const char *hex)
{
	char is[2 * OBJ_ID_LEN + 1];

	obj_id_hex(ref->id, is);
	assert_string_equal(is, hex);
}

/* Each prefix gets its own allocation, so that reading past it is seen. */
static inline void
each_truncation(const uint8_t *buf, size_t len,
    int (*refused)(const uint8_t *, size_t))
{
	uint8_t *p;
	size_t n;

	for (n = 0; n < len; n++) {
		assert_non_null(p = malloc(n + 1));
		memcpy(p, buf, n);
		if (!refused(p, n))
			fail_msg("%zu of %zu bytes were accepted", n, len);
		free(p);
	}
}

/* Every value of every byte: refused, or the bytes of what it says. */
static inline void
each_corruption(const uint8_t *buf, size_t len,
    int (*canonical)(const uint8_t *, size_t))
{
	uint8_t *p = malloc(len);
	unsigned int v;
	size_t i;

	assert_non_null(p);
	memcpy(p, buf, len);
	for (i = 0; i < len; i++) {
		for (v = 0; v < 256; v++) {
			p[i] = (uint8_t)v;
			if (!canonical(p, len))
				fail_msg("byte %zu = %u is ambiguous", i, v);
		}
		p[i] = buf[i];
	}
	free(p);
}

#endif /* !ERRAND_TESTS_OBJSET_H */
