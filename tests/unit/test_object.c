#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "list.h"
#include "objset.h"
#include "tree.h"

#define HELLO   "hello, world\n"
#define HELLO_ID                                                        \
	"9619b4e7335366919878b43a1ab91dfb5b7e8edd8b804bf5b00da32ac11d6675"

static void
test_vector(void **state)
{
	struct obj_ref a, b, c;

	(void)state;
	assert_int_equal(obj_ref_of(OBJ_CHUNK, HELLO, 13, &a), 0);
	assert_int_equal(a.kind, OBJ_CHUNK);
	assert_id(&a, HELLO_ID);
	/* The same bytes as another kind are another object. */
	assert_int_equal(obj_ref_of(OBJ_LIST, HELLO, 13, &b), 0);
	assert_int_equal(obj_ref_of(OBJ_TREE, HELLO, 13, &c), 0);
	assert_memory_not_equal(a.id, b.id, OBJ_ID_LEN);
	assert_memory_not_equal(b.id, c.id, OBJ_ID_LEN);
}

static void
test_ref_of_limits(void **state)
{
	static uint8_t buf[OBJ_MAX + 1];
	struct obj_ref ref;

	(void)state;
	assert_int_equal(obj_ref_of(OBJ_CHUNK, buf, OBJ_MAX, &ref), 0);
	errno = 0;
	assert_int_equal(obj_ref_of(OBJ_CHUNK, buf, OBJ_MAX + 1, &ref), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(obj_ref_of(OBJ_NONE, buf, 1, &ref), -1);
	assert_int_equal(obj_ref_of((enum obj_kind)4, buf, 1, &ref), -1);
}

static void
test_check_limits(void **state)
{
	static uint8_t buf[OBJ_MAX + 1];
	const char *why;

	(void)state;
	assert_int_equal(obj_check(OBJ_CHUNK, buf, 1, &why), 0);
	assert_int_equal(obj_check(OBJ_CHUNK, buf, OBJ_MAX, &why), 0);
	errno = 0;
	assert_int_equal(obj_check(OBJ_CHUNK, buf, OBJ_MAX + 1, &why), -1);
	assert_int_equal(errno, EPROTO);
	assert_non_null(why);
	assert_int_equal(obj_check(OBJ_CHUNK, buf, 0, &why), -1);
	assert_int_equal(obj_check(OBJ_NONE, buf, 1, &why), -1);
	assert_int_equal(obj_check((enum obj_kind)4, buf, 1, &why), -1);
	assert_int_equal(obj_check(OBJ_TREE, buf, OBJ_MAX, &why), -1);
	assert_int_equal(obj_check(OBJ_LIST, buf, OBJ_MAX, &why), -1);
	assert_non_null(why);
}

static void
test_ref_code(void **state)
{
	struct obj_ref a, b;
	uint8_t buf[OBJ_REF_LEN];
	unsigned int kind;

	(void)state;
	obj_ref_of(OBJ_LIST, HELLO, 13, &a);
	obj_ref_encode(&a, buf);
	assert_int_equal(obj_ref_decode(buf, &b), 0);
	assert_true(obj_ref_equal(&a, &b));
	for (kind = 0; kind < 256; kind++) {
		buf[0] = (uint8_t)kind;
		errno = 0;
		assert_int_equal(obj_ref_decode(buf, &b),
		    kind >= 1 && kind <= 3 ? 0 : -1);
		assert_int_equal(errno, kind >= 1 && kind <= 3 ? 0 : EPROTO);
	}
	memset(buf, 0, sizeof(buf));
	assert_int_equal(obj_ref_decode(buf, &b), 0);
	assert_false(obj_ref_equal(&a, &b));
	b = a;
	b.kind = OBJ_TREE;
	assert_false(obj_ref_equal(&a, &b));
}

static void
test_hex(void **state)
{
	char hex[2 * OBJ_ID_LEN + 1], bad[2 * OBJ_ID_LEN + 2];
	uint8_t id[OBJ_ID_LEN];
	size_t i;

	(void)state;
	assert_int_equal(obj_id_parse(HELLO_ID, id), 0);
	obj_id_hex(id, hex);
	assert_string_equal(hex, HELLO_ID);
	/* One short, one over, and each digit not one. */
	for (i = 0; i < 2 * OBJ_ID_LEN; i++) {
		strcpy(bad, HELLO_ID);
		bad[i] = '\0';
		assert_int_equal(obj_id_parse(bad, id), -1);
		bad[i] = 'g';
		errno = 0;
		assert_int_equal(obj_id_parse(bad, id), -1);
		assert_int_equal(errno, EINVAL);
	}
	strcpy(bad, HELLO_ID);
	strcat(bad, "0");
	assert_int_equal(obj_id_parse(bad, id), -1);
	obj_id_hex(id, hex);
	assert_string_equal(hex, HELLO_ID);
}

struct seen {
	struct obj_ref ref[8];
	size_t n;
	size_t stop;            /* return 7 at this one */
};

static int
see(void *cookie, const struct obj_ref *ref)
{
	struct seen *s = cookie;

	s->ref[s->n++] = *ref;
	return (s->n == s->stop ? 7 : 0);
}

static int
keep_bytes(void *cookie, const struct obj_ref *ref, const void *buf,
    size_t len)
{
	(void)ref;
	memcpy(cookie, buf, len);
	((size_t *)cookie)[OBJ_MAX / sizeof(size_t)] = len;
	return (0);
}

static void
test_children(void **state)
{
	static size_t buf[OBJ_MAX / sizeof(size_t) + 1];
	struct tree_builder *tb = tree_builder_new();
	struct tree_entry e = { .kind = TREE_FILE, .name_len = 1 };
	struct seen s = { .n = 0 };
	struct obj_ref ref;
	size_t len;

	(void)state;
	e.name = (const uint8_t *)"a";
	assert_int_equal(tree_builder_add(tb, &e), 0);
	e.name = (const uint8_t *)"b";
	e.size = 13;
	obj_ref_of(OBJ_CHUNK, HELLO, 13, &e.ref);
	assert_int_equal(tree_builder_add(tb, &e), 0);
	e.name = (const uint8_t *)"c";
	e.kind = TREE_DIR;
	e.size = 0;
	e.ref.kind = OBJ_TREE;
	assert_int_equal(tree_builder_add(tb, &e), 0);
	e.name = (const uint8_t *)"d";
	e.kind = TREE_LINK;
	e.size = e.target_len = 1;
	e.target = e.name;
	assert_int_equal(tree_builder_add(tb, &e), 0);
	assert_int_equal(tree_builder_finish(tb, keep_bytes, buf, &ref), 0);
	tree_builder_free(tb);
	len = buf[OBJ_MAX / sizeof(size_t)];

	/* Empty files and links name nothing. */
	assert_int_equal(obj_children(OBJ_TREE, buf, len, see, &s), 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.ref[0].kind, OBJ_CHUNK);
	assert_int_equal(s.ref[1].kind, OBJ_TREE);
	s.n = 0;
	s.stop = 1;
	assert_int_equal(obj_children(OBJ_TREE, buf, len, see, &s), 7);
	assert_int_equal(s.n, 1);
	s.n = s.stop = 0;
	errno = 0;
	assert_int_equal(obj_children(OBJ_TREE, buf, len - 1, see, &s), -1);
	assert_int_equal(errno, EPROTO);
	s.n = 0;
	assert_int_equal(obj_children(OBJ_CHUNK, buf, len, see, &s), 0);
	assert_int_equal(s.n, 0);
	assert_int_equal(obj_children(OBJ_NONE, buf, len, see, &s), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vector),
		cmocka_unit_test(test_ref_of_limits),
		cmocka_unit_test(test_check_limits),
		cmocka_unit_test(test_ref_code),
		cmocka_unit_test(test_hex),
		cmocka_unit_test(test_children),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
