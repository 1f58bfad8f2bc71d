#include <errno.h>

#include "tests/proto/probe.h"

/*
 * Every message of every channel: there and back, cut off anywhere, and
 * overwritten at random.
 */

static uint8_t buf[PROBE_BUF], again[PROBE_BUF];

struct pair {
	uint8_t *a, *b;
};

static struct pair
pair_new(const struct subject *s)
{
	struct pair p = { calloc(1, subject_size(s)),
	    calloc(1, subject_size(s)) };

	assert_non_null(p.a);
	assert_non_null(p.b);
	return (p);
}

static void
pair_free(const struct subject *s, struct pair p)
{
	subject_done(s, p.a);
	free(p.a);
	free(p.b);
}

/* Fill, pack, parse, compare, pack again, compare. */
static void
round_trip(const struct subject *s, size_t row, enum probe_how how)
{
	const struct map *m = subject_map(s, row);
	struct pair p = pair_new(s);
	ssize_t n;

	probe_message(s, row, p.a, how);
	if ((n = subject_pack(s, p.a, buf)) == -1)
		fail_msg("%s: %s: pack: %s", s->name, m->desc->name,
		    strerror(errno));
	if (subject_parse(s, buf, (size_t)n, p.b) == -1)
		fail_msg("%s: %s: parse", s->name, m->desc->name);
	assert_true(probe_same(m, p.a, p.b));
	if (s->edge != NULL)
		assert_int_equal(p.a[s->edge->op_at], p.b[s->edge->op_at]);
	assert_int_equal(subject_pack(s, p.b, again), n);
	assert_memory_equal(buf, again, (size_t)n);
	subject_done(s, p.b);
	pair_free(s, p);
}

static void
each_round_trip(void **state)
{
	size_t i, row, k;

	(void)state;
	for (i = 0; i < NITEMS(subjects); i++)
		for (row = 0; row < subject_rows(&subjects[i]); row++) {
			round_trip(&subjects[i], row, PROBE_MIN);
			round_trip(&subjects[i], row, PROBE_MAX);
			for (k = 0; k < 50; k++)
				round_trip(&subjects[i], row, PROBE_RANDOM);
		}
}

/* What is accepted at all packs to the same bytes. */
static int
refused_or_sane(const struct subject *s, const uint8_t *p, size_t n,
    uint8_t *plain)
{
	ssize_t len;

	if (subject_parse(s, p, n, plain) == -1) {
		assert_int_equal(errno, EPROTO);
		return (0);
	}
	len = subject_pack(s, plain, again);
	assert_int_equal(len, n);
	assert_memory_equal(again, p, n);
	subject_done(s, plain);
	return (1);
}

/* The same in a block of exactly ${n} bytes, so that ASan sees the end. */
static int
exact(const struct subject *s, const uint8_t *p, size_t n, uint8_t *plain)
{
	uint8_t *copy = malloc(n > 0 ? n : 1);
	int rc;

	assert_non_null(copy);
	memcpy(copy, p, n);
	rc = refused_or_sane(s, copy, n, plain);
	free(copy);
	return (rc);
}

static void
cut_off(void **state)
{
	struct pair p;
	size_t i, row, n, step;
	ssize_t len;

	(void)state;
	for (i = 0; i < NITEMS(subjects); i++)
		for (row = 0; row < subject_rows(&subjects[i]); row++) {
			p = pair_new(&subjects[i]);
			probe_message(&subjects[i], row, p.a, PROBE_MAX);
			len = subject_pack(&subjects[i], p.a, buf);
			assert_true(len >= 0);
			step = (size_t)len > 4000 ? (size_t)len / 997 : 1;
			for (n = 0; n < (size_t)len; n += step)
				(void)exact(&subjects[i], buf, n, p.b);
			pair_free(&subjects[i], p);
		}
}

/* All ones, all zeros, at many lengths. */
static void
constant_bytes(void **state)
{
	static const int fill[] = { 0xff, 0x00, 0x0a, 0x7f };
	struct pair p;
	size_t i, k, n;

	(void)state;
	for (i = 0; i < NITEMS(subjects); i++) {
		p = pair_new(&subjects[i]);
		for (k = 0; k < NITEMS(fill); k++) {
			memset(buf, fill[k], 70000);
			for (n = 1; n < 70000; n += 1 + n / 3)
				assert_int_equal(exact(&subjects[i], buf, n,
				    p.b), 0);
		}
		pair_free(&subjects[i], p);
	}
}

/* Nothing at all is an error of no code, and no other message. */
static void
empty(void **state)
{
	struct pair p;
	size_t i;

	(void)state;
	for (i = 0; i < NITEMS(subjects); i++) {
		p = pair_new(&subjects[i]);
		assert_int_equal(exact(&subjects[i], buf, 0, p.b),
		    subjects[i].map == &err_map);
		pair_free(&subjects[i], p);
	}
}

static size_t
mutate(uint8_t *p, size_t n)
{
	size_t at = n > 0 ? probe_rnd() % n : 0, k;

	switch (probe_rnd() % 5) {
	case 0:
		p[at] ^= (uint8_t)(1u << probe_rnd() % 8);
		return (n);
	case 1:
		p[at] = (uint8_t)probe_rnd();
		return (n);
	case 2:
		memmove(p + at, p + at + 1, n - at - (n > 0));
		return (n - (n > 0));
	case 3:
		memmove(p + at + 1, p + at, n - at);
		p[at] = (uint8_t)probe_rnd();
		return (n + 1);
	default:
		/* Say a part twice. */
		k = n > at ? probe_rnd() % (n - at + 1) : 0;
		memmove(p + at + k, p + at, n - at);
		return (n + k);
	}
}

static void
mutations(void **state)
{
	size_t i, row, k, n, taken = 0, tried = 0;
	struct pair p;
	ssize_t len;

	(void)state;
	for (i = 0; i < NITEMS(subjects); i++)
		for (row = 0; row < subject_rows(&subjects[i]); row++)
			for (k = 0; k < 400; k++) {
				p = pair_new(&subjects[i]);
				probe_message(&subjects[i], row, p.a,
				    PROBE_RANDOM);
				len = subject_pack(&subjects[i], p.a, buf);
				assert_true(len >= 0);
				n = mutate(buf, (size_t)len);
				if (k % 4 == 0)
					n = mutate(buf, n);
				taken += (size_t)exact(&subjects[i], buf, n,
				    p.b);
				tried++;
				pair_free(&subjects[i], p);
			}
	printf("# %zu of %zu mutations were still messages\n", taken, tried);
}

static int
seed(void **state)
{
	(void)state;
	probe_seed();
	return (0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_round_trip),
		cmocka_unit_test(cut_off),
		cmocka_unit_test(constant_bytes),
		cmocka_unit_test(empty),
		cmocka_unit_test(mutations),
	};

	return (cmocka_run_group_tests(tests, seed, NULL));
}
