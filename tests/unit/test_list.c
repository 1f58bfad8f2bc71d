#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include "content.h"
#include "le.h"
#include "list.h"
#include "objset.h"

#define HEAD    16
#define HELLO   "hello, world\n"

static struct list_item
chunk_item(const void *buf, size_t len, uint64_t item_len)
{
	struct list_item item = { .type = LIST_ITEM_REF, .len = item_len };

	assert_int_equal(obj_ref_of(OBJ_CHUNK, buf, len, &item.ref), 0);
	return (item);
}

static struct list_item
zero_item(uint64_t len)
{
	struct list_item item = { .type = LIST_ITEM_ZERO, .len = len };

	return (item);
}

static size_t
put_head(uint8_t *p, uint8_t level, uint64_t total, uint32_t count)
{
	memcpy(p, "EL\1", 3);
	p[3] = level;
	le_put64(p + 4, total);
	le_put32(p + 12, count);
	return (HEAD);
}

static size_t
put_item(uint8_t *p, uint8_t type, uint64_t len, uint8_t id)
{
	p[0] = type;
	le_put64(p + 1, len);
	if (type == LIST_ITEM_ZERO)
		return (9);
	memset(p + 9, id, OBJ_ID_LEN);
	return (41);
}

static int
refused(const uint8_t *buf, size_t len)
{
	const char *why = NULL;

	errno = 0;
	return (obj_check(OBJ_LIST, buf, len, &why) == -1 &&
	    errno == EPROTO && why != NULL);
}

/* Refused, or encoded again from what was read gives the same bytes. */
static int
canonical(const uint8_t *buf, size_t len)
{
	static uint8_t out[OBJ_MAX];
	struct list_iter it;
	struct list_item item;
	size_t n = HEAD;
	uint32_t count = 0;
	uint64_t sum = 0;
	int rc;

	if (list_iter_init(&it, buf, len) == -1)
		return (1);
	while ((rc = list_iter_next(&it, &item)) == 1) {
		n += put_item(out + n, item.type, item.len, 0);
		if (item.type == LIST_ITEM_REF)
			memcpy(out + n - OBJ_ID_LEN, item.ref.id, OBJ_ID_LEN);
		count++;
		sum += item.len;
	}
	if (rc == -1)
		return (1);
	put_head(out, it.level, sum, count);
	return (n == len && memcmp(out, buf, len) == 0);
}

/* Two chunks round a run, as bytes. */
static size_t
sample(uint8_t *p)
{
	size_t n = put_head(p, 0, 13 + 20000 + 500, 3);

	n += put_item(p + n, 1, 13, 0x5a);
	n += put_item(p + n, 0, 20000, 0);
	n += put_item(p + n, 1, 500, 0xa5);
	return (n);
}

static size_t
sample_level1(uint8_t *p)
{
	size_t n = put_head(p, 1, 300, 2);

	n += put_item(p + n, 1, 100, 0x11);
	n += put_item(p + n, 1, 200, 0x22);
	return (n);
}

static void
test_vector(void **state)
{
	struct list_builder *lb = list_builder_new();
	struct list_item item;
	struct objset s = { .n = 0 };
	struct obj_ref ref;
	char name[16];
	int i;

	(void)state;
	for (i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "%d", i);
		item = chunk_item(name, strlen(name), 1000);
		assert_int_equal(list_builder_add(lb, &item), 0);
	}
	assert_int_equal(list_builder_finish(lb, objset_put, &s, &ref), 0);
	list_builder_free(lb);
	assert_id(&ref, "714c51f8e8ff8b83c6f846df0ec6fc61"
	    "4e5709705b740dfb2d72846d47e67357");
	assert_int_equal(s.n, 370);
	assert_int_equal(s.longest, 42000);
	assert_true(obj_ref_equal(&s.last, &ref));
	objset_done(&s);
}

static void
test_small(void **state)
{
	struct list_builder *lb;
	struct list_item item;
	struct objset s = { .n = 0 };
	struct obj_ref ref;

	(void)state;
	/* Nothing. */
	lb = list_builder_new();
	assert_int_equal(list_builder_finish(lb, objset_put, &s, &ref), 0);
	assert_int_equal(ref.kind, OBJ_NONE);
	list_builder_free(lb);

	/* One chunk is not a list. */
	lb = list_builder_new();
	item = chunk_item(HELLO, 13, 13);
	assert_int_equal(list_builder_add(lb, &item), 0);
	assert_int_equal(list_builder_finish(lb, objset_put, &s, &ref), 0);
	assert_true(obj_ref_equal(&ref, &item.ref));
	list_builder_free(lb);
	assert_int_equal(s.n, 0);

	/* One run is. */
	lb = list_builder_new();
	item = zero_item(CONTENT_ZERO_MIN);
	assert_int_equal(list_builder_add(lb, &item), 0);
	assert_int_equal(list_builder_finish(lb, objset_put, &s, &ref), 0);
	assert_int_equal(s.n, 1);
	assert_id(&ref, "d1c16b07b3a5c02c7d2a7deabe7bfd2a"
	    "420fefb253cf98f525d17b735e7c15f1");
	list_builder_free(lb);
	list_builder_free(NULL);
	objset_done(&s);
}

static void
test_runs_join(void **state)
{
	struct list_builder *lb = list_builder_new();
	struct list_item zero = zero_item(CONTENT_ZERO_MIN - 1), one;
	struct obj_ref ref, want;

	(void)state;
	one = zero_item(1);
	assert_int_equal(list_builder_add(lb, &zero), 0);
	assert_int_equal(list_builder_add(lb, &one), 0);
	assert_int_equal(list_builder_finish(lb, NULL, NULL, &ref), 0);
	list_builder_free(lb);
	lb = list_builder_new();
	one = zero_item(CONTENT_ZERO_MIN);
	assert_int_equal(list_builder_add(lb, &one), 0);
	assert_int_equal(list_builder_finish(lb, NULL, NULL, &want), 0);
	list_builder_free(lb);
	assert_true(obj_ref_equal(&ref, &want));

	/* A run that stays short, at the end and before a chunk. */
	lb = list_builder_new();
	assert_int_equal(list_builder_add(lb, &zero), 0);
	one = chunk_item(HELLO, 13, 13);
	errno = 0;
	assert_int_equal(list_builder_add(lb, &one), -1);
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_int_equal(list_builder_finish(lb, NULL, NULL, &ref), -1);
	assert_int_equal(errno, EINVAL);
	list_builder_free(lb);
}

static void
test_builder_refuses(void **state)
{
	struct list_builder *lb = list_builder_new();
	struct list_item item = chunk_item(HELLO, 13, 0);

	(void)state;
	assert_int_equal(list_builder_add(lb, &item), -1);
	item.len = OBJ_MAX + 1;
	assert_int_equal(list_builder_add(lb, &item), -1);
	item.len = OBJ_MAX;
	item.ref.kind = OBJ_LIST;
	assert_int_equal(list_builder_add(lb, &item), -1);
	item.ref.kind = OBJ_CHUNK;
	item.type = 2;
	errno = 0;
	assert_int_equal(list_builder_add(lb, &item), -1);
	assert_int_equal(errno, EINVAL);
	item = zero_item(INT64_MAX);
	assert_int_equal(list_builder_add(lb, &item), 0);
	item.len = 1;
	errno = 0;
	assert_int_equal(list_builder_add(lb, &item), -1);
	assert_int_equal(errno, EFBIG);
	list_builder_free(lb);
}

static int
sink_fails(void *cookie, const struct obj_ref *ref, const void *buf,
    size_t len)
{
	(void)cookie;
	(void)ref;
	(void)buf;
	(void)len;
	errno = ENOSPC;
	return (-1);
}

static void
test_sink_fails(void **state)
{
	struct list_builder *lb = list_builder_new();
	struct list_item item = zero_item(CONTENT_ZERO_MIN);
	struct obj_ref ref;

	(void)state;
	assert_int_equal(list_builder_add(lb, &item), 0);
	errno = 0;
	assert_int_equal(list_builder_finish(lb, sink_fails, NULL, &ref), -1);
	assert_int_equal(errno, ENOSPC);
	list_builder_free(lb);
}

static void
test_damage(void **state)
{
	uint8_t buf[256];
	size_t len = sample(buf);

	(void)state;
	assert_false(refused(buf, len));
	assert_true(canonical(buf, len));
	each_truncation(buf, len, refused);
	each_corruption(buf, len, canonical);
	buf[len] = 0;
	assert_true(refused(buf, len + 1));
	len = sample_level1(buf);
	assert_false(refused(buf, len));
	each_truncation(buf, len, refused);
	each_corruption(buf, len, canonical);
}

/* Check a list of up to two items. */
static int
check2(uint8_t level, uint64_t total, uint8_t t1, uint64_t l1, int t2,
    uint64_t l2)
{
	uint8_t buf[256];
	size_t n = put_head(buf, level, total, t2 == -1 ? 1 : 2);

	n += put_item(buf + n, t1, l1, 0x77);
	if (t2 != -1)
		n += put_item(buf + n, (uint8_t)t2, l2, 0x78);
	return (refused(buf, n));
}

static void
test_rules(void **state)
{
	const uint64_t zmin = CONTENT_ZERO_MIN, most = INT64_MAX;

	(void)state;
	/* A single item is a run, and at level 0. */
	assert_false(check2(0, zmin, 0, zmin, -1, 0));
	assert_true(check2(0, 5, 1, 5, -1, 0));
	assert_true(check2(1, zmin, 0, zmin, -1, 0));
	assert_true(check2(1, 5, 1, 5, -1, 0));
	/* Runs: not short, not side by side, not above level 0. */
	assert_true(check2(0, zmin - 1, 0, zmin - 1, -1, 0));
	assert_true(check2(0, 2 * zmin, 0, zmin, 0, zmin));
	assert_false(check2(0, zmin + 5, 0, zmin, 1, 5));
	assert_true(check2(1, zmin + 5, 0, zmin, 1, 5));
	/* Lengths: of a chunk, of a list, none at all. */
	assert_false(check2(0, OBJ_MAX + 5, 1, OBJ_MAX, 1, 5));
	assert_true(check2(0, OBJ_MAX + 6, 1, OBJ_MAX + 1, 1, 5));
	assert_false(check2(1, OBJ_MAX + 6, 1, OBJ_MAX + 1, 1, 5));
	assert_true(check2(0, 5, 1, 0, 1, 5));
	assert_true(check2(1, 5, 1, 0, 1, 5));
	/* Sums: other, over the limit, wrapping round. */
	assert_true(check2(0, 9, 1, 5, 1, 5));
	assert_true(check2(0, 11, 1, 5, 1, 5));
	assert_false(check2(0, most, 0, most - 5, 1, 5));
	assert_true(check2(0, most + 1, 0, most - 4, 1, 5));
	assert_true(check2(1, 4, 1, UINT64_MAX, 1, 5));
	/* Levels. */
	assert_false(check2(LIST_LEVEL_MAX, 10, 1, 5, 1, 5));
	assert_true(check2(LIST_LEVEL_MAX + 1, 10, 1, 5, 1, 5));
	assert_true(check2(0, 10, 2, 5, 1, 5));
}

/* A list of ${n} chunks with ids of 0x77, the ${k}-th one of 0. */
static int
check_cut(uint32_t n, uint32_t k)
{
	static uint8_t buf[OBJ_MAX];
	size_t len = put_head(buf, 0, n, n);
	uint32_t i;

	for (i = 1; i <= n; i++)
		len += put_item(buf + len, 1, 1, i == k ? 0 : 0x77);
	return (refused(buf, len));
}

static void
test_cuts(void **state)
{
	(void)state;
	assert_false(check_cut(100, 31));       /* too early for a cut */
	assert_true(check_cut(100, 32));
	assert_true(check_cut(100, 98));
	assert_false(check_cut(100, 99));       /* only one is left */
	assert_false(check_cut(100, 100));      /* the end is here */
	assert_false(check_cut(1025, 0));
	assert_true(check_cut(1026, 0));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vector),
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_runs_join),
		cmocka_unit_test(test_builder_refuses),
		cmocka_unit_test(test_sink_fails),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_cuts),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
