#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/store_driver.h"

/*
 * What nobody refers to yet, when a quota is in the way of an upload: what an
 * upload left that has ended makes room, but never what a job is about to be
 * settled with.  The store is the one whose minutes are short (CRASH=1).
 */
#define T1              7
#define QUOTA           100000
#define MINUTE_US       200000
#define PASS_US         (4 * MINUTE_US) /* of grace, which is longer */

static const struct obj_ref none;
static const char job[] = "aaaaaaaaaaaaaaaa";

static int
setup(void **state)
{
	const char *b = getenv("ERRAND_BUILD");
	struct drv *d = calloc(1, sizeof(*d));
	char bin[512], words[64];

	assert_non_null(d);
	(void)snprintf(bin, sizeof(bin), "%s-crash/bin", b != NULL ? b :
	    "build");
	assert_int_equal(setenv("ERRAND_BIN", bin, 1), 0);
	(void)snprintf(words, sizeof(words), "stamp-us=%d", MINUTE_US);
	assert_int_equal(setenv("ERRAND_CRASH", words, 1), 0);
	drv_init(d, getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
	assert_int_equal(drv_start(d), 0);
	*state = d;
	return (0);
}

static int
teardown(void **state)
{
	drv_done(*state);
	free(*state);
	return (0);
}

static int
bind_as(struct drv *d, uint32_t rights)
{
	struct store_msg m = { .op = STORE_BIND };
	struct drv_reply r;
	int pair[2];

	assert_int_equal(chan_pair(pair), 0);
	m.u.bind.tenant_id = T1;
	m.u.bind.rights = rights;
	m.u.bind.quota.bytes = QUOTA;
	assert_int_equal(drv_call(d, d->fd, &m, pair[1], &r), ERR_NONE);
	return (pair[0]);
}

/* On a channel that ends with it: ERR_NONE, or why not. */
static int
upload(struct drv *d, uint64_t n, size_t len)
{
	int t = bind_as(d, DRV_ALL), rc;
	struct drv_objs o = { 0 };
	struct drv_reply r;

	(void)drv_chunk(&o, n, len);
	rc = drv_put(d, t, &o, &r);
	free(o.buf);
	close(t);
	return (rc);
}

/* A job runs, and what it has changed is put. */
static struct obj_ref
results(struct drv *d)
{
	static const char other[] = "bbbbbbbbbbbbbbbb";
	int t = bind_as(d, STORE_RIGHT_PUT | STORE_RIGHT_GET |
	    STORE_RIGHT_RESULTS);
	struct drv_objs o = { 0 };
	struct obj_ref file, root, spec;
	struct drv_reply r;

	spec = drv_chunk(&o, 9, 60);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	assert_int_equal(drv_publish(d, T1, job, &none, &spec, &r), ERR_NONE);
	file = drv_chunk(&o, 1, 40000);
	root = drv_tree(&o, &file, 1, 40000);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	assert_int_equal(drv_check(d, t, &root, &r), ERR_NONE);
	/* The next job's barrier takes them along. */
	assert_int_equal(drv_publish(d, T1, other, &none, &spec, &r),
	    ERR_NONE);
	free(o.buf);
	close(t);
	return (root);
}

static void
settles(struct drv *d, const struct obj_ref *root)
{
	struct drv_reply r;

	if (drv_settle(d, T1, job, 1, root, &none, &r) != ERR_NONE)
		fail_msg("%s", r.m.u.error.text);
}

/* An upload that was refused, or broke off, is not in the way of the next. */
static void
test_upload(void **state)
{
	struct drv *d = *state;

	assert_int_equal(upload(d, 2, 60000), ERR_NONE);
	(void)usleep(PASS_US);
	assert_int_equal(upload(d, 3, 60000), ERR_NONE);
}

/* Between a job's end and its settling others may want its room. */
static void
test_results(void **state)
{
	struct drv *d = *state;
	struct obj_ref root = results(d);

	(void)usleep(PASS_US);
	assert_int_equal(upload(d, 4, 62000), ERR_LIMIT);
	settles(d, &root);
}

/* A store that begins anew knows no channel that there was. */
static void
test_results_anew(void **state)
{
	struct drv *d = *state;
	struct obj_ref root = results(d);

	drv_kill(d);
	assert_int_equal(drv_start(d), 0);
	(void)usleep(PASS_US);
	assert_int_equal(upload(d, 4, 62000), ERR_LIMIT);
	settles(d, &root);
}

#define TEST(name)      cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_upload),
		TEST(test_results),
		TEST(test_results_anew),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
