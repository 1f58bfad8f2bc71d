/*
 * The table of a scan's objects: what is added is found, what is taken out
 * again is not, whatever happened to the table in between.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/objtab.h"
#include "lib/le.h"

#define MANY    5000            /* the table grows a few times */

static struct obj_ref
ref_of(uint32_t i, uint8_t kind)
{
	struct obj_ref ref = { .kind = kind };

	/* The same first bytes for many: they share a path of slots. */
	le_put32(ref.id, i % 7);
	le_put32(ref.id + 12, i);
	return (ref);
}

static void
add(struct objtab *t, uint32_t from, uint32_t to, uint8_t kind)
{
	struct obj_ref ref;
	uint8_t buf[4];

	for (; from < to; from++) {
		ref = ref_of(from, kind);
		le_put32(buf, from);
		assert_int_equal(objtab_add(t, &ref, buf, 4, -1, 0), 0);
	}
}

static int
is_right(void *cookie, const struct obj_ref *ref, const void *buf, size_t len)
{
	(void)ref;
	assert_int_equal(len, 4);
	assert_int_equal(le_get32(buf), *(uint32_t *)cookie);
	return (0);
}

static void
expect(struct objtab *t, uint32_t from, uint32_t to, uint8_t kind, int there)
{
	struct obj_ref ref;

	for (; from < to; from++) {
		ref = ref_of(from, kind);
		assert_int_equal(objtab_has(t, &ref), there);
		errno = 0;
		assert_int_equal(objtab_get(t, -1, &ref, is_right, &from),
		    there ? 0 : -1);
		assert_int_equal(errno, there ? 0 : ENOENT);
	}
}

static void
test_undo(void **state)
{
	struct objtab *t = objtab_new();
	uint64_t cn, cb, mn, mb;
	size_t mark;

	(void)state;
	assert_non_null(t);
	add(t, 0, 100, OBJ_CHUNK);
	add(t, 100, 110, OBJ_TREE);
	mark = objtab_mark(t);
	add(t, 50, MANY, OBJ_CHUNK);    /* some of these are there */
	expect(t, 0, MANY, OBJ_CHUNK, 1);
	objtab_undo(t, mark);
	expect(t, 0, 100, OBJ_CHUNK, 1);
	expect(t, 110, MANY, OBJ_CHUNK, 0);
	expect(t, 100, 110, OBJ_TREE, 1);
	objtab_count(t, &cn, &cb, &mn, &mb);
	assert_int_equal(cn, 100);
	assert_int_equal(cb, 400);
	assert_int_equal(mn, 10);
	assert_int_equal(mb, 40);
	/* And once more. */
	add(t, 200, MANY, OBJ_CHUNK);
	expect(t, 200, MANY, OBJ_CHUNK, 1);
	objtab_undo(t, mark);
	objtab_undo(t, mark);
	expect(t, 200, MANY, OBJ_CHUNK, 0);
	objtab_free(t);
}

static void
test_nothing(void **state)
{
	struct obj_ref none = { .kind = OBJ_NONE };
	struct objtab *t = objtab_new();

	(void)state;
	objtab_undo(t, objtab_mark(t));
	assert_int_equal(objtab_add(t, &none, NULL, 0, -1, 0), 0);
	assert_int_equal(objtab_mark(t), 0);
	objtab_free(t);
	objtab_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_undo), cmocka_unit_test(test_nothing),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
