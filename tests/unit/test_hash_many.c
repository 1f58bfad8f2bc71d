/*
 * Many hashes at once are those that libsodium computes of each: of every
 * length, in every company, on every width that this processor has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "lib/hash_many.h"

#define LONGEST         70000
#define ROUNDS          300

static uint8_t bytes[LONGEST + HASH_MANY_MAX];
static const char *const personals[] = { "", "errand.chunk",
	"sixteen letters!" };

static const unsigned int widths[] = { 1, 4, 8 };

static void
expect(const struct hash_job *j)
{
	uint8_t person[16] = { 0 }, want[64];

	memcpy(person, j->personal, strlen(j->personal));
	assert_int_equal(crypto_generichash_blake2b_salt_personal(want,
	    j->out_len, j->buf, j->len, j->key, j->key != NULL ?
	    HASH_KEY_LEN : 0, NULL, person), 0);
	assert_memory_equal(j->out, want, j->out_len);
}

static void
try(struct hash_job *jobs, size_t n)
{
	static uint8_t out[HASH_MANY_MAX][64];
	size_t i, k;

	for (k = 0; k < sizeof(widths) / sizeof(widths[0]); k++) {
		if (widths[k] > hash_lanes())
			continue;
		memset(out, 0, sizeof(out));
		for (i = 0; i < n; i++)
			jobs[i].out = out[i];
		hash_many_by(jobs, n, widths[k]);
		for (i = 0; i < n; i++)
			expect(&jobs[i]);
	}
}

static void
job_make(struct hash_job *j, size_t len, uint32_t variant)
{
	*j = (struct hash_job){
		.buf = bytes + variant % HASH_MANY_MAX,
		.len = len,
		.personal = personals[variant % 3],
		.key = variant % 2 == 0 ? bytes + 7 : NULL,
		.out_len = variant % 5 == 0 ? 64 : variant % 5 == 1 ? 16 : 32
	};
}

/* Every length up to five blocks, the key or none. */
static void
test_lengths(void **state)
{
	struct hash_job jobs[HASH_MANY_MAX];
	size_t len, n = 0;
	uint32_t v;

	(void)state;
	for (len = 0; len <= 640; len++) {
		for (v = 0; v < 2; v++) {
			job_make(&jobs[n++], len, v + 2 * (uint32_t)len);
			if (n < HASH_MANY_MAX)
				continue;
			try(jobs, n);
			n = 0;
		}
	}
	try(jobs, n);
}

/* Every number of them, all alike: lanes that stay empty, lanes used again. */
static void
test_counts(void **state)
{
	struct hash_job jobs[HASH_MANY_MAX];
	size_t n, i;

	(void)state;
	try(jobs, 0);
	for (n = 1; n <= HASH_MANY_MAX; n++) {
		for (i = 0; i < n; i++)
			job_make(&jobs[i], 1024, (uint32_t)(n * 31 + i));
		try(jobs, n);
	}
}

/* Lengths of all sizes together; one that is by far the longest, too. */
static void
test_mixtures(void **state)
{
	struct hash_job jobs[HASH_MANY_MAX];
	size_t n, i, r;

	(void)state;
	for (r = 0; r < ROUNDS; r++) {
		n = 1 + randombytes_uniform(HASH_MANY_MAX);
		for (i = 0; i < n; i++)
			job_make(&jobs[i], randombytes_uniform(1U <<
			    randombytes_uniform(17)) % LONGEST,
			    randombytes_random());
		try(jobs, n);
	}
}

int
main(void)
{
	static const uint8_t seed[randombytes_SEEDBYTES] = "hash_many";
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_mixtures),
	};

	if (sodium_init() == -1)
		return (100);
	randombytes_buf_deterministic(bytes, sizeof(bytes), seed);
	printf("# %u lanes here\n", hash_lanes());
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
