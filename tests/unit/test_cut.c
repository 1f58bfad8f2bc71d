#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <endian.h>

#include <sodium.h>

#include "cut.h"
#include "cut_gear.h"
#include "objset.h"

#define MIB     (1024 * 1024)

static void
test_gear(void **state)
{
	uint8_t out[64], person[16] = "errand.gear", k;
	uint64_t v;
	size_t i;

	(void)state;
	assert_true(sodium_init() != -1);
	for (k = 0; k < 32; k++) {
		crypto_generichash_blake2b_salt_personal(out, sizeof(out), &k,
		    1, NULL, 0, NULL, person);
		for (i = 0; i < 8; i++) {
			memcpy(&v, out + 8 * i, sizeof(v));
			assert_true(le64toh(v) == cut_gear[8 * k + i]);
		}
	}
	assert_true(cut_gear[0] == UINT64_C(0xbe70809067b5ead0));
	assert_true(cut_gear[255] == UINT64_C(0xec7d67de0981af32));
}

static void
test_vector(void **state)
{
	static const size_t want[] = { 37995, 33674, 33535, 34331, 43096,
	    8322 };
	uint8_t *buf = malloc(MIB);
	size_t i, off = 0;

	(void)state;
	lcg_fill(buf, MIB);
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(cut_next(buf + off, MIB - off, 1), want[i]);
		off += want[i];
	}
	free(buf);
}

/* The rule as DESIGN-FORMATS has it, without rolling. */
static size_t
slow_cut(const uint8_t *buf, size_t len)
{
	size_t l, j, end = len < CUT_MAX ? len : CUT_MAX;
	uint64_t h;

	if (len <= CUT_MIN)
		return (len);
	for (l = CUT_MIN; l < end; l++) {
		for (h = 0, j = 0; j < 64; j++)
			h += cut_gear[buf[l - 1 - j]] << j;
		if (h >> (l < CUT_AVG ? 47 : 51) == 0)
			return (l);
	}
	return (end);
}

static void
test_rule(void **state)
{
	uint64_t seed = 1;
	uint8_t *buf = malloc(CUT_MAX + 100);
	size_t i, len;

	(void)state;
	for (i = 0; i < 60; i++) {
		rnd_fill(&seed, buf, CUT_MAX + 100);
		len = rnd(&seed) % (CUT_MAX + 100);
		assert_int_equal(cut_next(buf, len, 1), slow_cut(buf, len));
	}
	free(buf);
}

static void
test_limits(void **state)
{
	uint8_t *buf = calloc(1, CUT_MAX + 1);

	(void)state;
	assert_int_equal(cut_next(buf, 0, 1), 0);
	assert_int_equal(cut_next(buf, 1, 1), 1);
	assert_int_equal(cut_next(buf, CUT_MIN, 1), CUT_MIN);
	/* A hash of equal bytes is never a cut: these are the longest. */
	assert_int_equal(cut_next(buf, CUT_MIN + 1, 1), CUT_MIN + 1);
	assert_int_equal(cut_next(buf, CUT_AVG, 1), CUT_AVG);
	assert_int_equal(cut_next(buf, CUT_AVG + 1, 1), CUT_AVG + 1);
	assert_int_equal(cut_next(buf, CUT_MAX, 1), CUT_MAX);
	assert_int_equal(cut_next(buf, CUT_MAX + 1, 1), CUT_MAX);
	/* More to come: only with enough to be sure. */
	assert_int_equal(cut_next(buf, 0, 0), 0);
	assert_int_equal(cut_next(buf, CUT_MAX - 1, 0), 0);
	assert_int_equal(cut_next(buf, CUT_MAX, 0), CUT_MAX);
	free(buf);
}

static void
test_lengths(void **state)
{
	size_t len = 32 * MIB, off, n, count = 0, longest = 0;
	uint64_t seed = 7;
	uint8_t *buf = malloc(len);

	(void)state;
	rnd_fill(&seed, buf, len);
	for (off = 0; off < len; off += n, count++) {
		n = cut_next(buf + off, len - off, 1);
		assert_in_range(n, off + n < len ? CUT_MIN : 1, CUT_MAX);
		longest += n == CUT_MAX;
		/* What follows the longest chunk has no say. */
		if (len - off >= CUT_MAX)
			assert_int_equal(n, cut_next(buf + off, CUT_MAX, 0));
	}
	assert_in_range(len / count, 34000, 41000);
	assert_in_range(longest, 0, count / 25);
	free(buf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gear),
		cmocka_unit_test(test_vector),
		cmocka_unit_test(test_rule),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_lengths),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
