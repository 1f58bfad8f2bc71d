#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include "change.h"
#include "objset.h"
#include "tree.h"

#define HELLO   "hello, world\n"

static struct change
change(uint8_t op, uint8_t kind, const char *path)
{
	struct change c = { .op = op, .kind = kind };

	c.path = (const uint8_t *)path;
	c.path_len = (uint16_t)strlen(path);
	if (kind == TREE_LINK) {
		c.target = (const uint8_t *)"a";
		c.target_len = 1;
		c.size = 1;
		c.mode = 0777;
	}
	return (c);
}

/* The changes of the test vector. */
static void
sample(struct change_buf *b)
{
	struct change c;

	memset(b, 0, sizeof(*b));
	c = change(CHANGE_CREATE, TREE_FILE, "a/b");
	c.mode = 0644;
	c.size = 13;
	c.mtime_ns = 5;
	obj_ref_of(OBJ_CHUNK, HELLO, 13, &c.ref);
	assert_int_equal(change_buf_add(b, &c), 0);
	c = change(CHANGE_MODE, TREE_DIR, "d");
	c.mode = 0700;
	c.mtime_ns = 6;
	assert_int_equal(change_buf_add(b, &c), 0);
	c = change(CHANGE_DELETE, 0, "gone");
	assert_int_equal(change_buf_add(b, &c), 0);
	c = change(CHANGE_TYPE, TREE_LINK, "l");
	c.mtime_ns = 7;
	assert_int_equal(change_buf_add(b, &c), 0);
}

static const char sample_hex[] =
    "454301000101a4010d0000000000000005000000000000000300612f6201"
    "9619b4e7335366919878b43a1ab91dfb5b7e8edd8b804bf5b00da32ac11d"
    "66750402c0010000000000000000060000000000000001006403000000000"
    "000000000000000000000000000000400676f6e650503ff01010000000000"
    "0000070000000000000001006c010061";

static void
test_vector(void **state)
{
	struct change_buf b;
	struct obj_ref digest = { .kind = OBJ_NONE };
	char hex[sizeof(sample_hex)];
	size_t i;

	(void)state;
	sample(&b);
	assert_int_equal(b.count, 4);
	assert_int_equal(2 * b.len + 1, sizeof(hex));
	for (i = 0; i < b.len; i++)
		snprintf(hex + 2 * i, 3, "%02x", b.p[i]);
	assert_string_equal(hex, sample_hex);
	change_digest(b.p, b.len, digest.id);
	assert_id(&digest, "eb653fad4471c743c28257affa3e654d"
	    "1e2b6f57d392f5864e3e29d18d3882b4");
	free(b.p);
}

static void
test_read(void **state)
{
	struct change_buf b;
	struct change_iter it;
	struct change c;

	(void)state;
	sample(&b);
	assert_int_equal(change_iter_init(&it, b.p, b.len), 0);
	assert_int_equal(change_iter_next(&it, &c), 1);
	assert_int_equal(c.op, CHANGE_CREATE);
	assert_int_equal(c.kind, TREE_FILE);
	assert_int_equal(c.mode, 0644);
	assert_int_equal(c.size, 13);
	assert_int_equal(c.mtime_ns, 5);
	assert_int_equal(c.path_len, 3);
	assert_memory_equal(c.path, "a/b", 3);
	assert_int_equal(c.ref.kind, OBJ_CHUNK);
	assert_int_equal(change_iter_next(&it, &c), 1);
	assert_int_equal(c.ref.kind, OBJ_NONE);
	assert_int_equal(change_iter_next(&it, &c), 1);
	assert_int_equal(c.kind, 0);
	assert_int_equal(change_iter_next(&it, &c), 1);
	assert_int_equal(c.target_len, 1);
	assert_int_equal(change_iter_next(&it, &c), 0);
	assert_int_equal(change_iter_next(&it, &c), 0);
	free(b.p);
}

static void
test_nothing_changed(void **state)
{
	struct change_buf b = { .len = 0 };
	struct change_iter it;
	struct change c;

	(void)state;
	assert_int_equal(change_buf_begin(&b), 0);
	assert_int_equal(change_buf_begin(&b), 0);
	assert_int_equal(b.len, 4);
	assert_int_equal(change_iter_init(&it, b.p, b.len), 0);
	assert_int_equal(change_iter_next(&it, &c), 0);
	assert_int_equal(change_iter_init(&it, b.p, 3), -1);
	free(b.p);
}

/* Where entries of the sample end: a truncation there is a shorter list. */
static int
whole(size_t len)
{
	return (len == 4 || len == 62 || len == 85 || len == 111);
}

static int
refused(const uint8_t *buf, size_t len)
{
	struct change_iter it;
	struct change c;
	int rc;

	errno = 0;
	if ((rc = change_iter_init(&it, buf, len)) == 0)
		while ((rc = change_iter_next(&it, &c)) == 1)
			;
	if (rc == 0)
		return (whole(len));
	return (errno == EPROTO && it.why != NULL && !whole(len));
}

static int
canonical(const uint8_t *buf, size_t len)
{
	struct change_buf b = { .len = 0 };
	struct change_iter it;
	struct change c;
	int rc, same = 1;

	if (change_iter_init(&it, buf, len) == -1)
		return (1);
	assert_int_equal(change_buf_begin(&b), 0);
	while ((rc = change_iter_next(&it, &c)) == 1)
		assert_int_equal(change_buf_add(&b, &c), 0);
	if (rc == 0)
		same = b.len == len && memcmp(b.p, buf, len) == 0;
	free(b.p);
	return (same);
}

static void
test_damage(void **state)
{
	struct change_buf b;

	(void)state;
	sample(&b);
	assert_true(canonical(b.p, b.len));
	each_truncation(b.p, b.len, refused);
	each_corruption(b.p, b.len, canonical);
	free(b.p);
}

/* Whether the change alone is taken. */
static int
takes(const struct change *c)
{
	struct change_buf b = { .len = 0 };
	int rc;

	errno = 0;
	rc = change_buf_add(&b, c);
	assert_true(rc == 0 || errno == EINVAL);
	free(b.p);
	return (rc == 0);
}

static int
takes_path(const char *path)
{
	struct change c = change(CHANGE_DELETE, 0, path);

	return (takes(&c));
}

static void
test_paths(void **state)
{
	static const char *const bad[] = { "", "/", "/a", "a/", "a//b", ".",
	    "a/..", "../a", "a/./b", ".git", "a/.GIT/b" };
	char path[65536];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(takes_path(bad[i]));
	assert_true(takes_path("a/b/c"));
	/* As many directories as there may be, and one more. */
	for (i = 0; i < 2 * TREE_DEPTH_MAX; i += 2)
		memcpy(path + i, "a/", 2);
	path[i - 1] = '\0';
	assert_true(takes_path(path));
	strcpy(path + i - 1, "/a");
	assert_false(takes_path(path));
	/* The longest name, and the longest path. */
	memset(path, 'n', sizeof(path));
	for (i = 255; i < 65535; i += 256)
		path[i] = '/';
	path[65535] = '\0';
	assert_true(takes_path(path));
	path[255] = 'n';
	assert_false(takes_path(path));
}

static void
test_rules(void **state)
{
	struct change c;
	uint8_t op;

	(void)state;
	for (op = 0; op < 8; op++) {
		c = change(op, TREE_FILE, "x");
		assert_int_equal(takes(&c),
		    op >= 1 && op <= 5 && op != CHANGE_DELETE);
		c = change(op, TREE_DIR, "x");
		assert_int_equal(takes(&c), op >= 1 && op <= 5 &&
		    op != CHANGE_DELETE && op != CHANGE_MODIFY);
		c = change(op, TREE_LINK, "x");
		assert_int_equal(takes(&c),
		    op >= 1 && op <= 5 && op != CHANGE_DELETE);
		c = change(op, 0, "x");
		assert_int_equal(takes(&c), op == CHANGE_DELETE);
		c = change(op, 4, "x");
		assert_false(takes(&c));
	}
	c = change(CHANGE_DELETE, 0, "x");
	c.mode = 1;
	assert_false(takes(&c));
	c.mode = 0;
	c.size = 1;
	assert_false(takes(&c));
	c.size = 0;
	c.mtime_ns = 1;
	assert_false(takes(&c));
	c = change(CHANGE_CREATE, TREE_DIR, "x");
	c.size = 1;
	assert_false(takes(&c));
	c = change(CHANGE_CREATE, TREE_FILE, "x");
	c.mode = 01000;
	assert_false(takes(&c));
}

static void
test_order(void **state)
{
	static const char *const path[] = { "a", "a-b", "a/b", "aa", "b" };
	const size_t n = sizeof(path) / sizeof(path[0]);
	struct change_buf b = { .len = 0 };
	struct change c;
	size_t i, j;

	(void)state;
	for (i = 0; i < n; i++) {
		c = change(CHANGE_DELETE, 0, path[i]);
		assert_int_equal(change_buf_add(&b, &c), 0);
		for (j = 0; j <= i; j++) {
			c = change(CHANGE_DELETE, 0, path[j]);
			errno = 0;
			assert_int_equal(change_buf_add(&b, &c), -1);
			assert_int_equal(errno, EINVAL);
		}
	}
	assert_int_equal(b.count, n);
	assert_true(canonical(b.p, b.len));
	free(b.p);
}

static void
test_letters(void **state)
{
	static const char want[] = "?AMDCT?";
	int op;

	(void)state;
	for (op = 0; op < 7; op++)
		assert_int_equal(change_letter((enum change_op)op), want[op]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vector),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_nothing_changed),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_letters),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
