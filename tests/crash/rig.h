#ifndef ERRAND_TESTS_RIG_H
#define ERRAND_TESTS_RIG_H

/*
 * What the crash tests of the store have in common: a verdict, random numbers
 * with a seed, and a store to be started again and again.  The driver is that
 * of the unit tests; its assertions end the program here.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Exit statuses: all held; something did not hold; the test itself failed. */
#define RIG_HELD        0
#define RIG_BROKEN      1
#define RIG_TROUBLE     2

struct rig {
	const char *log;        /* the store's stderr, shown on failure */
	FILE *acked;            /* acknowledgements in words, or NULL */
	uint64_t seed;
	uint64_t random;
	uint64_t round;
};

static struct rig rig;

/* The last lines of the store's log. */
static inline void
rig_show_log(void)
{
	char cmd[512];

	if (rig.log == NULL)
		return;
	(void)snprintf(cmd, sizeof(cmd), "tail -n 15 '%s' | "
	    "sed 's/^/#   store said: /'", rig.log);
	(void)fflush(stdout);
	if (system(cmd) != 0)
		(void)printf("# no log\n");
}

__attribute__((noreturn, format(printf, 2, 3)))
static inline void
rig_end(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)printf("# seed %llu, round %llu: ", (unsigned long long)rig.seed,
	    (unsigned long long)rig.round);
	(void)vprintf(fmt, ap);
	(void)printf("\n");
	va_end(ap);
	rig_show_log();
	(void)fflush(stdout);
	if (rig.acked != NULL)
		(void)fflush(rig.acked);
	exit(status);
}

/* A promise of the store was not kept. */
#define rig_broken(...) rig_end(RIG_BROKEN, __VA_ARGS__)
/* Nothing can be said of the store. */
#define rig_trouble(...) rig_end(RIG_TROUBLE, __VA_ARGS__)

#define assert_true(x) do { \
	if (!(x)) \
		rig_trouble("%s:%d: %s", __FILE__, __LINE__, #x); \
} while (0)
#define assert_non_null(x)              assert_true((x) != NULL)
#define assert_int_equal(a, b)          assert_true((a) == (b))
#define assert_string_equal(a, b)       assert_true(strcmp(a, b) == 0)

/* The kernel counts what is under way by user: other tests are none of ours. */
#define DRV_UID         61235

#include "tests/unit/store_driver.h"

/* Note what was acknowledged, outside the file system under test. */
__attribute__((format(printf, 1, 2)))
static inline void
rig_note(const char *fmt, ...)
{
	va_list ap;

	if (rig.acked == NULL)
		return;
	va_start(ap, fmt);
	(void)vfprintf(rig.acked, fmt, ap);
	va_end(ap);
	(void)fputc('\n', rig.acked);
}

static inline void
rig_seed(uint64_t seed)
{
	rig.seed = rig.random = seed;
	(void)printf("# seed %llu\n", (unsigned long long)seed);
	(void)fflush(stdout);
}

/* Below ${n}. */
static inline uint32_t
rig_random(uint32_t n)
{
	rig.random = rig.random * 6364136223846793005ULL +
	    1442695040888963407ULL;
	return ((uint32_t)(((rig.random >> 32) * n) >> 32));
}

#endif /* !ERRAND_TESTS_RIG_H */
