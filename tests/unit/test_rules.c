/* A tree's ignore rules: which file counts, and what travels. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/rules.h"

static void
add(struct rules *r, enum rules_kind kind, const char *base, const char *text)
{
	assert_int_equal(rules_add(r, kind, 0, base, base, text, strlen(text)),
	    0);
}

/* Does the set exclude dir/name? */
static int
ask(const struct rules *r, const char *dir, const char *name, int isdir,
    struct rules_hit *hit)
{
	struct rules_walk *w = rules_walk_new(r);
	int rc;

	assert_non_null(w);
	assert_int_equal(rules_walk_enter(w, dir), 0);
	rc = rules_walk_match(w, name, strlen(name), isdir, hit);
	rules_walk_free(w);
	return (rc);
}

/* The same after encoding and parsing. */
static struct rules *
again(const struct rules *r)
{
	struct rules *t;
	uint8_t *p;
	size_t n;

	assert_int_equal(rules_encode(r, &p, &n), 0);
	assert_non_null(t = rules_parse(p, n));
	free(p);
	return (t);
}

static struct rules *
sample(void)
{
	struct rules *r = rules_new("top");

	assert_non_null(r);
	add(r, RULES_GLOBAL, "", "*.g\n!both\n");
	add(r, RULES_INFO, "", "both\n!x.g\n");
	add(r, RULES_DIR, "", "*.o\n/top/out/\n!info\n");
	add(r, RULES_DIR, "top/sub", "!keep.o\n*.tmp\n");
	add(r, RULES_REPO, "top/inner", "");
	add(r, RULES_INFO, "top/inner", "inner.i\n");
	add(r, RULES_DIR, "top/inner", "*.p\n");
	return (r);
}

static void
check_sample(const struct rules *r)
{
	struct rules_hit hit;

	assert_int_equal(ask(r, "", "a.o", 0, &hit), 1);
	assert_int_equal(hit.rule.line, 1);
	assert_int_equal(hit.at, 0);
	assert_int_equal(ask(r, "", "a.c", 0, &hit), 0);
	assert_int_equal(hit.rule.line, 0);
	/* Deeper files come first, then info, then the user's own. */
	assert_int_equal(ask(r, "sub", "keep.o", 0, &hit), 0);
	assert_int_equal(hit.rule.negated, 1);
	assert_int_equal(ask(r, "sub/deep", "keep.o", 0, NULL), 0);
	assert_int_equal(ask(r, "", "keep.o", 0, NULL), 1);
	assert_int_equal(ask(r, "subs", "x.tmp", 0, NULL), 0);
	assert_int_equal(ask(r, "", "both", 0, NULL), 1);
	assert_int_equal(ask(r, "", "y.g", 0, NULL), 1);
	assert_int_equal(ask(r, "", "x.g", 0, NULL), 0);
	/* Below what is excluded, all is. */
	assert_int_equal(ask(r, "", "out", 1, NULL), 1);
	assert_int_equal(ask(r, "", "out", 0, NULL), 0);
	assert_int_equal(ask(r, "out/a/b", "keep", 0, &hit), 1);
	assert_int_equal(hit.at, 3);
	/* A repository inside does not see what is above. */
	assert_int_equal(ask(r, "inner", "a.o", 0, NULL), 0);
	assert_int_equal(ask(r, "inner/d", "a.p", 0, NULL), 1);
	assert_int_equal(ask(r, "inner", "inner.i", 0, NULL), 1);
	assert_int_equal(ask(r, "inner", "y.g", 0, NULL), 0);
}

static void
which_file_counts(void **state)
{
	struct rules *r = sample(), *t;

	(void)state;
	check_sample(r);
	t = again(r);
	check_sample(t);
	rules_free(t);
	rules_free(r);
}

/* The walk may go anywhere next. */
static void
any_order(void **state)
{
	static const char *const dirs[] = { "", "sub", "sub/deep", "out/a",
	    "inner", "inner/x/y", "su", "subs" };
	struct rules *r = sample();
	struct rules_walk *w = rules_walk_new(r);
	size_t i, j, n = sizeof(dirs) / sizeof(dirs[0]);

	(void)state;
	for (i = 0; i < n * n * 2; i++) {
		j = i < n * n ? i % n : i / n % n;
		assert_int_equal(rules_walk_enter(w, dirs[j]), 0);
		assert_int_equal(rules_walk_match(w, "keep.o", 6, 0, NULL),
		    ask(r, dirs[j], "keep.o", 0, NULL));
		j = (i * 5 + 3) % n;
		assert_int_equal(rules_walk_enter(w, dirs[j]), 0);
		assert_int_equal(rules_walk_match(w, "a.p", 3, 0, NULL),
		    ask(r, dirs[j], "a.p", 0, NULL));
	}
	rules_walk_free(w);
	rules_free(r);
}

static void
above_the_tree(void **state)
{
	struct rules *r = rules_new("a/b");
	struct rules_walk *w;
	struct rules_hit hit;

	(void)state;
	add(r, RULES_DIR, "", "/a/\n");
	w = rules_walk_new(r);
	assert_int_equal(rules_walk_enter(w, ""), 0);
	assert_int_equal(rules_walk_excluded(w, &hit), 1);
	assert_int_equal(hit.above, 1);
	assert_int_equal(rules_walk_match(w, "x", 1, 0, &hit), 1);
	assert_int_equal(rules_walk_enter(w, "c"), 0);
	assert_int_equal(rules_walk_match(w, "x", 1, 0, &hit), 1);
	rules_walk_free(w);
	rules_free(r);
}

/* Comments do not travel; what looks like a byte order mark does. */
static void
what_travels(void **state)
{
	struct rules *r = rules_new(""), *t;
	uint8_t *p;
	size_t n;

	(void)state;
	add(r, RULES_DIR, "", "# secret\n\nx\\ \r\n\\#y\n");
	add(r, RULES_DIR, "d", "\n\xef\xbb\xbfz\n# none\n");
	add(r, RULES_DIR, "e", "# none\n");
	add(r, RULES_DIR, "f", "cr\r\r\n");
	assert_int_equal(rules_encode(r, &p, &n), 0);
	assert_null(memmem(p, n, "secret", 6));
	assert_null(memmem(p, n, "none", 4));
	t = rules_parse(p, n);
	assert_non_null(t);
	assert_int_equal(ask(t, "", "x ", 0, NULL), 1);
	assert_int_equal(ask(t, "", "#y", 0, NULL), 1);
	assert_int_equal(ask(t, "d", "\xef\xbb\xbfz", 0, NULL), 1);
	assert_int_equal(ask(t, "d", "z", 0, NULL), 0);
	assert_int_equal(ask(t, "f", "cr\r", 0, NULL), 1);
	assert_int_equal(ask(t, "f", "cr", 0, NULL), 0);
	assert_int_equal(rules_count(t), 4);
	free(p);
	rules_free(t);
	rules_free(r);
}

/* Every shorter encoding is refused, but where an entry ends; so is every one
 * with a changed head. */
static void
malformed(void **state)
{
	struct rules *r = sample(), *t;
	uint8_t *p;
	size_t n, i, good = 0;

	(void)state;
	assert_int_equal(rules_encode(r, &p, &n), 0);
	for (i = 0; i < n; i++) {
		errno = 0;
		if ((t = rules_parse(p, i)) == NULL) {
			assert_int_equal(errno, EPROTO);
			continue;
		}
		good++;
		rules_free(t);
	}
	assert_int_equal(good, 7);
	for (i = 0; i < 4; i++) {
		p[i] ^= 1;
		assert_null(rules_parse(p, n));
		p[i] ^= 1;
	}
	free(p);
	rules_free(r);
}

static void
too_large(void **state)
{
	char *text = malloc(RULES_BYTES_MAX + 1);
	struct rules *r = rules_new("");
	uint8_t *p;
	size_t n;

	(void)state;
	memset(text, 'x', RULES_BYTES_MAX);
	text[RULES_BYTES_MAX] = '\0';
	add(r, RULES_DIR, "", text);
	errno = 0;
	assert_int_equal(rules_encode(r, &p, &n), -1);
	assert_int_equal(errno, EMSGSIZE);
	rules_free(r);
	free(text);
}

/* What a hostile pattern costs is counted, and bounded. */
static void
cost(void **state)
{
	struct rules *r = rules_new("");
	struct rules_walk *w;
	char pat[401], name[256];
	size_t i;

	(void)state;
	for (i = 0; i < 400; i += 2)
		memcpy(pat + i, "*a", 2);
	pat[399] = 'b';
	pat[400] = '\0';
	memset(name, 'a', 255);
	add(r, RULES_DIR, "", pat);
	w = rules_walk_new(r);
	assert_int_equal(rules_walk_match(w, name, 255, 0, NULL), 0);
	assert_true(rules_walk_steps(w) > 255);
	assert_true(rules_walk_steps(w) < 400 * 400);
	rules_walk_free(w);
	rules_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_file_counts),
		cmocka_unit_test(any_order),
		cmocka_unit_test(above_the_tree),
		cmocka_unit_test(what_travels),
		cmocka_unit_test(malformed),
		cmocka_unit_test(too_large),
		cmocka_unit_test(cost)
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
