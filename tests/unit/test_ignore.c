/* Ignore rules: fixed cases, and generated ones compared with git. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/gitls.h"
#include "lib/glob.h"
#include "lib/ignore.h"

struct row {
	const char *rules, *path;
	int isdir, want;
};

static const struct row rows[] = {
	{ "*.o\n", "a.o", 0, 1 }, { "*.o\n", "d/a.o", 0, 1 },
	{ "*.o\n", "a.oo", 0, 0 }, { "/a\n", "a", 0, 1 },
	{ "/a\n", "d/a", 0, 0 }, { "a/\n", "a", 0, 0 }, { "a/\n", "a", 1, 1 },
	{ "d/*.c\n", "d/x.c", 0, 1 }, { "d/*.c\n", "d/e/x.c", 0, 0 },
	{ "d/*.c\n", "e/d/x.c", 0, 0 }, { "**/x\n", "x", 0, 1 },
	{ "**/x\n", "a/b/x", 0, 1 }, { "a/**/b\n", "a/b", 0, 1 },
	{ "a/**/b\n", "a/x/y/b", 0, 1 }, { "a/**\n", "a/x/y", 0, 1 },
	{ "a/**\n", "a", 1, 0 }, { "*\n!keep\n", "keep", 0, 0 },
	{ "*\n!keep\n", "lose", 0, 1 }, { "# c\n\\#x\n", "#x", 0, 1 },
	{ "\\!x\n", "!x", 0, 1 }, { "x \n", "x", 0, 1 },
	{ "x\\ \n", "x ", 0, 1 }, { "[a-c]x\n", "bx", 0, 1 },
	{ "[!a-c]x\n", "bx", 0, 0 }, { "[^a]x\n", "bx", 0, 1 },
	{ "[[:digit:]]\n", "7", 0, 1 }, { "[]]\n", "]", 0, 1 },
	{ "a?c\n", "abc", 0, 1 }, { "d/a?c\n", "d/a/c", 0, 0 },
	{ "x\r\n", "x", 0, 1 }, { "\xef\xbb\xbfx\n", "x", 0, 1 },
	{ "[a\n", "[a", 0, 0 }, { "a\\\n", "a", 0, 0 },
	{ "foo**bar\n", "fooxbar", 0, 1 }, { "/\n", "x", 0, 0 }
};

/* 1: excluded.  ${line}: by which line; 0: by none. */
static int
says(const struct ignore *ig, const char *path, size_t len, int isdir,
    unsigned *line)
{
	struct ignore_hit hit;
	uint64_t steps = 0;
	int rc = ignore_match(ig, path, len, isdir, &hit, &steps);

	assert_true(steps < 100000);
	if (line != NULL)
		*line = rc ? hit.line : 0;
	return (rc && !hit.negated);
}

static void
fixed(void **state)
{
	struct ignore *ig;
	size_t i;
	int got;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ig = ignore_parse(rows[i].rules, strlen(rows[i].rules), 0);
		assert_non_null(ig);
		got = says(ig, rows[i].path, strlen(rows[i].path),
		    rows[i].isdir, NULL);
		if (got != rows[i].want)
			fail_msg("rules %s path %s: %d", rows[i].rules,
			    rows[i].path, got);
		ignore_free(ig);
	}
}

static void
line_is_told(void **state)
{
	struct ignore *ig = ignore_parse("a\n\n!b\n", 6, 0);
	unsigned line;

	(void)state;
	assert_int_equal(says(ig, "a", 1, 0, &line), 1);
	assert_int_equal(line, 1);
	assert_int_equal(says(ig, "b", 1, 0, &line), 0);
	assert_int_equal(line, 3);
	assert_int_equal(says(ig, "c", 1, 0, &line), 0);
	assert_int_equal(line, 0);
	ignore_free(ig);
}

static uint64_t seed;

static unsigned
rnd(unsigned n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return ((unsigned)(seed >> 33) % n);
}

static const char *const bits[] = { "a", "b", "c", "*", "?", "/", "**", "[ab]",
    "[!a]", ".", "-", "\\a", "[a-c]", "**/", "/**", "A", "[A-C]", "[A]",
    "[[:upper:]]", "[[:alpha:]]", " ", "\\ ", "[", "]", "#", "\r" };

static void
make_pattern(char *out)
{
	unsigned i, n = 1 + rnd(5);

	out[0] = '\0';
	if (rnd(5) == 0)
		strcat(out, "!");
	for (i = 0; i < n; i++)
		strcat(out, bits[rnd(sizeof(bits) / sizeof(bits[0]))]);
	if (rnd(6) == 0)
		strcat(out, "/");
	strcat(out, "\n");
}

static void
make_path(char *out)
{
	static const char letters[] = "abcAB.- ]";
	unsigned i, n = 1 + rnd(6);

	for (i = 0; i < n; i++)
		out[i] = rnd(4) == 0 && i > 0 && i + 1 < n &&
		    out[i - 1] != '/' ? '/' : letters[rnd(sizeof(letters) - 1)];
	out[n] = '\0';
}

/* A path git would take: no empty, "." or ".." parts. */
static int
plain(const char *p)
{
	const char *e;
	size_t n;

	for (; *p != '\0'; p = *e == '/' ? e + 1 : e) {
		e = p + strcspn(p, "/");
		n = (size_t)(e - p);
		if (n == 0 || (n == 1 && *p == '.') ||
		    (n == 2 && p[0] == '.' && p[1] == '.'))
			return (0);
	}
	return (1);
}

/* As a walker would: a path below an excluded directory is excluded. */
static int
excluded(const struct ignore *ig, const char *path)
{
	size_t i;

	for (i = 0; path[i] != '\0'; i++)
		if (path[i] == '/' && says(ig, path, i, 1, NULL))
			return (1);
	return (says(ig, path, i, 0, NULL));
}

static const char *
fold_opt(int fold)
{
	return (fold ? "core.ignoreCase=true" : "core.ignoreCase=false");
}

static void
same_as_git(void **state)
{
	const char *const init[] = { "git", "init", "-q", ".", NULL };
	const char *const ask[] = { "git", "-c", fold_opt(0), "check-ignore",
	    "-z", "--stdin", "--no-index", NULL };
	const char *const ask_fold[] = { "git", "-c", fold_opt(1),
	    "check-ignore", "-z", "--stdin", "--no-index", NULL };
	int fold;
	char dir[] = "/tmp/errand-ignore.XXXXXX", rules[512], pat[64], file[64];
	char path[64], in[4096], *out;
	struct ignore *ig;
	size_t inlen, outlen, off;
	unsigned round, i, want, bad = 0;
	FILE *f;

	(void)state;
	seed = getenv("SEED") != NULL ? strtoull(getenv("SEED"), NULL, 10) :
	    (uint64_t)getpid();
	print_message("# seed %llu\n", (unsigned long long)seed);
	assert_non_null(mkdtemp(dir));
	assert_int_equal(gitls_output(init, dir, NULL, 0, &out, &outlen), 0);
	free(out);
	snprintf(file, sizeof(file), "%s/.gitignore", dir);
	for (round = 0; round < 200; round++) {
		rules[0] = '\0';
		fold = rnd(3) == 0;
		for (i = 0; i < 1 + rnd(4); i++) {
			make_pattern(pat);
			strcat(rules, pat);
		}
		assert_non_null(f = fopen(file, "w"));
		fputs(rules, f);
		fclose(f);
		for (inlen = 0, i = 0; i < 60; i++) {
			make_path(path);
			if (!plain(path))
				continue;
			memcpy(in + inlen, path, strlen(path) + 1);
			inlen += strlen(path) + 1;
		}
		if (gitls_output(fold ? ask_fold : ask, dir, in, inlen, &out,
		    &outlen) == -1)
			fail();
		ig = ignore_parse(rules, strlen(rules),
		    fold ? IGNORE_FOLD : 0);
		for (off = 0; off < inlen; off += strlen(in + off) + 1) {
			for (want = 0, i = 0; i < outlen;
			    i += (unsigned)strlen(out + i) + 1)
				want |= strcmp(out + i, in + off) == 0;
			if ((int)want != excluded(ig, in + off)) {
				print_message("# rules %s path %s: git says "
				    "%u\n", rules, in + off, want);
				bad++;
			}
		}
		ignore_free(ig);
		free(out);
	}
	{
		const char *const rm[] = { "rm", "-rf", dir, NULL };

		(void)gitls_output(rm, "/", NULL, 0, &out, &outlen);
		free(out);
	}
	assert_int_equal(bad, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed),
		cmocka_unit_test(line_is_told),
		cmocka_unit_test(same_as_git)
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
