#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/cachedir.h"
#include "lib/cachepath.h"
#include "proto/limits.h"

#define NITEMS(a) (sizeof(a) / sizeof((a)[0]))

static void
one_form_is_valid(void **state)
{
	static const struct {
		const char *path;
		int ok;
	} rows[] = {
		{ "/workspace/a", 1 }, { "/workspace/a/b/c", 1 },
		{ "/home/runner/.cache/ccache", 1 }, { "/tmp/x", 1 },
		{ "/var/tmp/x", 1 }, { "/workspace/...", 1 },
		{ "/workspace/.gitx", 1 }, { "/tmp/.git", 1 },
		{ "", 0 }, { "/", 0 }, { "a", 0 }, { "workspace/a", 0 },
		{ "/workspace", 0 }, { "/workspace/", 0 },
		{ "/workspacex/a", 0 },
		{ "/workspace//a", 0 }, { "/workspace/a/", 0 },
		{ "/workspace/./a", 0 }, { "/workspace/a/..", 0 },
		{ "/workspace/../etc", 0 }, { "/workspace/.git", 0 },
		{ "/workspace/a/.GiT/b", 0 }, { "/home/runner", 0 },
		{ "/home/other/a", 0 }, { "/tmp", 0 }, { "/etc/a", 0 },
		{ "/run/a", 0 }, { "/proc/a", 0 }, { "//tmp/a", 0 },
	};
	char longest[LIMIT_CACHE_PATH + 1];
	size_t i;

	(void)state;
	for (i = 0; i < NITEMS(rows); i++)
		if (cachepath_valid(rows[i].path, strlen(rows[i].path)) !=
		    rows[i].ok)
			fail_msg("%s", rows[i].path);
	assert_int_equal(cachepath_valid("/tmp/a\0b", 8), 0);
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "/tmp/", 5);
	assert_int_equal(cachepath_valid(longest, LIMIT_CACHE_PATH - 1), 1);
	assert_int_equal(cachepath_valid(longest, LIMIT_CACHE_PATH), 0);
}

static void
as_users_write_them(void **state)
{
	static const struct {
		const char *path, *want;
	} rows[] = {
		{ "out", "/workspace/out" },
		{ "./out//x/.", "/workspace/out/x" },
		{ "/workspace/out/", "/workspace/out" },
		{ "~/.cache/ccache", "/home/runner/.cache/ccache" },
		{ "/home/ann/.cache", "/home/runner/.cache" },
		{ "/home/ann/src/p/out", "/workspace/out" },
		{ "/home/ann/src/pq", "/home/runner/src/pq" },
		{ "/home/runner/x", "/home/runner/x" }, { "/tmp/x", "/tmp/x" },
		{ "./~", "/workspace/~" }, { "a/~/b", "/workspace/a/~/b" },
		{ "", NULL }, { ".", NULL }, { "~", NULL }, { "~/", NULL },
		{ "/", NULL }, { "../x", NULL }, { "a/../b", NULL },
		{ "/home/ann/src/p", "/home/runner/src/p" },
		{ "/home/ann/src/p/", NULL }, { "/usr/x", NULL },
		{ ".git/x", NULL }, { "/home/ann", NULL },
	};
	char out[LIMIT_CACHE_PATH], big[2 * LIMIT_CACHE_PATH];
	size_t i;
	int rc;

	(void)state;
	for (i = 0; i < NITEMS(rows); i++) {
		rc = cachepath_from(rows[i].path, "/home/ann/src/p",
		    "/home/ann", out, sizeof(out));
		if (rc != (rows[i].want == NULL ? -1 : 0) ||
		    (rc == 0 && strcmp(out, rows[i].want) != 0))
			fail_msg("%s: %s", rows[i].path, rc == 0 ? out :
			    "refused");
	}
	assert_int_equal(cachepath_from("x", "", NULL, out, sizeof(out)), 0);
	assert_string_equal(out, "/workspace/x");
	assert_int_equal(cachepath_from("/home/ann/x", NULL, NULL, out,
	    sizeof(out)), -1);
	/* A home or a tree that is "/" is everything, and nobody's. */
	assert_int_equal(cachepath_from("/etc/x", "/", "/", out, sizeof(out)),
	    -1);
	memset(big, 'b', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	assert_int_equal(cachepath_from(big, "", NULL, out, sizeof(out)), -1);
}

static int
overlap(const char *a, const char *b)
{
	int x = cachepath_overlap(a, strlen(a), b, strlen(b));

	assert_int_equal(x, cachepath_overlap(b, strlen(b), a, strlen(a)));
	return (x);
}

static void
overlaps(void **state)
{
	(void)state;
	assert_true(overlap("/tmp/a", "/tmp/a"));
	assert_true(overlap("/tmp/a", "/tmp/a/b"));
	assert_false(overlap("/tmp/a", "/tmp/ab"));
	assert_false(overlap("/tmp/a", "/tmp/b"));
	assert_false(overlap("/tmp/a/b", "/tmp/a/c"));
}

static void
names(void **state)
{
	static const char *const good[] = { "a", "Z9", "ccache", "a.b_c-d",
	    "0" };
	static const char *const bad[] = { "", ".", ".a", "-a", "_a", "a/b",
	    "a b", "a=b", "a\n", "\xc3\xa9" };
	char n[CACHEDIR_NAME + 2];
	size_t i;

	(void)state;
	for (i = 0; i < NITEMS(good); i++)
		assert_true(cachedir_name_valid(good[i]));
	for (i = 0; i < NITEMS(bad); i++)
		assert_false(cachedir_name_valid(bad[i]));
	memset(n, 'n', sizeof(n));
	n[CACHEDIR_NAME + 1] = '\0';
	assert_false(cachedir_name_valid(n));
	n[CACHEDIR_NAME] = '\0';
	assert_true(cachedir_name_valid(n));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_form_is_valid),
		cmocka_unit_test(as_users_write_them),
		cmocka_unit_test(overlaps),
		cmocka_unit_test(names),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
