#include <errno.h>

#include "lib/rules.h"
#include "tests/proto/probe.h"

static char *argv_small[] = { (char *)(uintptr_t)"make",
    (char *)(uintptr_t)"", (char *)(uintptr_t)"\xff\x01 -j4" };
static char *env_small[] = { (char *)(uintptr_t)"PATH",
    (char *)(uintptr_t)"CFLAGS" };

static char *artifacts_small[] = { (char *)(uintptr_t)"out/app",
    (char *)(uintptr_t)"a \xff" };
static uint8_t rules_small[] = "EI\1\0\0\0";

static struct job_spec
sample(void)
{
	struct job_spec s = {
		.argc = 3, .argv = argv_small,
		.workdir = (char *)(uintptr_t)"src/lib",
		.nenv = 2, .env = env_small,
		.label = (char *)(uintptr_t)"nightly",
		.commit = (char *)(uintptr_t)"0123abcd",
		.project = (char *)(uintptr_t)"th\xc3\xa9\xc3\xa2tre",
		.rules = rules_small, .rules_len = 6,
		.nartifacts = 2, .artifacts = artifacts_small,
		.content = { 1, 2 },
		.image = (char *)(uintptr_t)"debian-12.1_x",
		.ncaches = 2, .caches = { { "ccache", "/home/runner/.ccache" },
		    { "out", "/workspace/a/b" } },
	};

	return (s);
}

/* Does it pack?  And is what packs parsed? */
static int
packs(const struct job_spec *s)
{
	struct job_spec out;
	uint8_t *buf;
	size_t len;

	if (job_spec_pack(s, &buf, &len) == -1)
		return (0);
	assert_int_equal(job_spec_parse(buf, len, &out), 0);
	assert_int_equal(out.argc, s->argc);
	job_spec_done(&out);
	free(buf);
	return (1);
}

static void
what_is_kept(void **state)
{
	static const char *const bad[] = { "", "/x", "..", "a/../b", "a//b",
	    "a/", ".", "./a" };
	struct job_spec s = sample();
	char *one[1], **many;
	size_t i;

	(void)state;
	s.artifacts = one;
	s.nartifacts = 1;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		one[0] = (char *)(uintptr_t)bad[i];
		assert_int_equal(packs(&s), 0);
	}
	one[0] = (char *)(uintptr_t)"...";
	assert_int_equal(packs(&s), 1);
	many = calloc(LIMIT_ARTIFACTS + 1, sizeof(*many));
	assert_non_null(many);
	for (i = 0; i <= LIMIT_ARTIFACTS; i++)
		many[i] = one[0];
	s.artifacts = many;
	s.nartifacts = LIMIT_ARTIFACTS;
	assert_int_equal(packs(&s), 1);
	s.nartifacts++;
	assert_int_equal(packs(&s), 0);
	free(many);
	s = sample();
	s.rules_len = RULES_BYTES_MAX;
	s.rules = calloc(1, RULES_BYTES_MAX + 1);
	assert_int_equal(packs(&s), 1);
	s.rules_len++;
	assert_int_equal(packs(&s), 0);
	free(s.rules);
}

static int
packs_cache(const char *name, const char *path)
{
	struct job_spec s = sample();

	snprintf(s.caches[1].name, sizeof(s.caches[1].name), "%s", name);
	snprintf(s.caches[1].path, sizeof(s.caches[1].path), "%s", path);
	return (packs(&s));
}

static void
caches(void **state)
{
	struct job_spec s = sample();
	char project[LIMIT_NAME + 2];
	size_t i;

	(void)state;
	assert_int_equal(packs_cache("a", "/tmp/a"), 1);
	assert_int_equal(packs_cache("", "/tmp/a"), 0);
	assert_int_equal(packs_cache(".a", "/tmp/a"), 0);
	assert_int_equal(packs_cache("a", "tmp/a"), 0);
	assert_int_equal(packs_cache("a", "/tmp"), 0);
	assert_int_equal(packs_cache("a", "/workspace/../etc"), 0);
	assert_int_equal(packs_cache("a", "/etc/x"), 0);
	assert_int_equal(packs_cache("ccache", "/tmp/a"), 0);
	assert_int_equal(packs_cache("a", "/home/runner/.ccache"), 0);
	assert_int_equal(packs_cache("a", "/home/runner/.ccache/b"), 0);
	assert_int_equal(packs_cache("a", "/home/runner/.ccacheb"), 1);
	memset(project, 'p', sizeof(project));
	project[LIMIT_NAME + 1] = '\0';
	s.project = project;
	assert_int_equal(packs(&s), 0);
	project[LIMIT_NAME] = '\0';
	assert_int_equal(packs(&s), 1);
	for (i = 0; i < LIMIT_CACHES; i++) {
		snprintf(s.caches[i].name, sizeof(s.caches[i].name), "c%zu", i);
		snprintf(s.caches[i].path, sizeof(s.caches[i].path),
		    "/tmp/%zu", i);
	}
	s.ncaches = LIMIT_CACHES;
	assert_int_equal(packs(&s), 1);
	s.ncaches++;
	assert_int_equal(packs(&s), 0);
}

static void
image_names(void **state)
{
	static const char *const bad[] = { ".", "..", "-a", "_a", "a/b", "A",
	    "a b", "a=b", "0123456789012345678901234567890x" };
	struct job_spec s = sample();
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		s.image = (char *)(uintptr_t)bad[i];
		assert_int_equal(packs(&s), 0);
	}
	s.image = (char *)(uintptr_t)"012345678901234567890123456789x";
	assert_int_equal(packs(&s), 1);
}

static void
round_trip(void **state)
{
	struct job_spec s = sample(), out;
	uint8_t *buf;
	size_t len, i;

	(void)state;
	assert_int_equal(job_spec_pack(&s, &buf, &len), 0);
	assert_int_equal(job_spec_parse(buf, len, &out), 0);
	assert_int_equal(out.argc, 3);
	for (i = 0; i < 3; i++)
		assert_string_equal(out.argv[i], s.argv[i]);
	assert_null(out.argv[3]);
	assert_string_equal(out.workdir, "src/lib");
	assert_int_equal(out.nenv, 2);
	assert_string_equal(out.env[1], "CFLAGS");
	assert_string_equal(out.label, s.label);
	assert_string_equal(out.commit, s.commit);
	assert_string_equal(out.project, s.project);
	assert_int_equal(out.rules_len, 6);
	assert_memory_equal(out.rules, rules_small, 6);
	assert_int_equal(out.nartifacts, 2);
	assert_string_equal(out.artifacts[1], artifacts_small[1]);
	assert_int_equal(out.ncaches, 2);
	assert_string_equal(out.caches[0].name, "ccache");
	assert_string_equal(out.caches[0].path, "/home/runner/.ccache");
	assert_string_equal(out.caches[1].name, "out");
	assert_memory_equal(out.content, s.content, 32);
	assert_string_equal(out.image, s.image);
	job_spec_done(&out);
	job_spec_done(&out);

	/* Cut off anywhere it is refused, or a smaller spec. */
	for (i = 0; i < len; i++)
		if (job_spec_parse(buf, i, &out) == 0)
			job_spec_done(&out);
	free(buf);

	/* Without what may be left out. */
	memset(&s, 0, sizeof(s));
	s.argc = 1;
	s.argv = argv_small;
	assert_int_equal(job_spec_pack(&s, &buf, &len), 0);
	assert_int_equal(job_spec_parse(buf, len, &out), 0);
	assert_string_equal(out.workdir, "");
	assert_null(out.label);
	assert_null(out.commit);
	assert_null(out.project);
	job_spec_done(&out);
	free(buf);
}

static void
workdirs(void **state)
{
	static const struct {
		const char *dir;
		int ok;
	} rows[] = {
		{ "", 1 }, { "a", 1 }, { "a/b", 1 }, { "...", 1 }, { ".", 1 },
		{ "a/..b", 1 }, { "b../c", 1 }, { "/", 0 }, { "/a", 0 },
		{ "..", 0 }, { "../a", 0 }, { "a/..", 0 }, { "a/../b", 0 },
		{ "a//../b", 0 }, { "a/b/../..", 0 },
	};
	struct job_spec s = sample();
	char longest[LIMIT_PATH + 1];
	size_t i;

	(void)state;
	for (i = 0; i < NITEMS(rows); i++) {
		s.workdir = (char *)(uintptr_t)rows[i].dir;
		assert_int_equal(packs(&s), rows[i].ok);
	}
	memset(longest, 'd', sizeof(longest));
	s.workdir = longest;
	longest[LIMIT_PATH] = '\0';
	assert_int_equal(packs(&s), 0);
	longest[LIMIT_PATH - 1] = '\0';
	assert_int_equal(packs(&s), 1);
}

static void
names(void **state)
{
	struct job_spec s = sample();
	char label[LIMIT_NAME + 2], project[LIMIT_TEXT + 1];
	char *env[] = { label };

	(void)state;
	s.env = env;
	s.nenv = 1;
	strcpy(label, "A=b");
	assert_int_equal(packs(&s), 0);
	strcpy(label, "=");
	assert_int_equal(packs(&s), 0);
	label[0] = '\0';
	assert_int_equal(packs(&s), 0);
	strcpy(label, "\xff");
	assert_int_equal(packs(&s), 1);

	s = sample();
	s.label = label;
	assert_int_equal(packs(&s), 0);
	strcpy(label, "a\nb");
	assert_int_equal(packs(&s), 0);
	memset(label, 'l', sizeof(label));
	label[LIMIT_NAME + 1] = '\0';
	assert_int_equal(packs(&s), 0);
	label[LIMIT_NAME] = '\0';
	assert_int_equal(packs(&s), 1);

	memset(project, 'p', sizeof(project));
	project[LIMIT_TEXT] = '\0';
	s.project = project;
	s.ncaches = 0;
	assert_int_equal(packs(&s), 0);
	project[LIMIT_TEXT - 1] = '\0';
	assert_int_equal(packs(&s), 1);
}

static void
counts(void **state)
{
	static char *many[LIMIT_ARGS + 1];
	struct job_spec s = sample();
	size_t i;

	(void)state;
	for (i = 0; i < NITEMS(many); i++)
		many[i] = argv_small[1];        /* empty strings */
	s.argv = many;
	s.argc = 0;
	assert_int_equal(packs(&s), 0);
	s.argc = LIMIT_ARGS;
	assert_int_equal(packs(&s), 1);
	s.argc = LIMIT_ARGS + 1;
	assert_int_equal(packs(&s), 0);
	s.argc = 1;
	many[0] = env_small[0];
	s.env = many;
	s.nenv = LIMIT_ARGS + 1;
	assert_int_equal(packs(&s), 0);
}

/* Exactly as large as may be, and one byte more. */
static void
largest(void **state)
{
	static char arg[LIMIT_SPEC + 1];
	struct job_spec s = { .argc = 1 };
	char *argv[] = { arg };
	struct job_spec out;
	uint8_t *buf;
	size_t len;

	(void)state;
	memset(arg, 'a', sizeof(arg));
	s.argv = argv;
	arg[LIMIT_SPEC - 4] = '\0';             /* tag, three of length */
	assert_int_equal(job_spec_pack(&s, &buf, &len), 0);
	assert_int_equal(len, LIMIT_SPEC);
	assert_int_equal(job_spec_parse(buf, len, &out), 0);
	job_spec_done(&out);
	free(buf);
	arg[LIMIT_SPEC - 4] = 'a';
	arg[LIMIT_SPEC - 3] = '\0';
	assert_int_equal(job_spec_pack(&s, &buf, &len), -1);
	assert_int_equal(errno, EMSGSIZE);
}

static int
parse(const void *p, size_t n)
{
	struct job_spec s;
	int rc = job_spec_parse(p, n, &s);

	if (rc == 0)
		job_spec_done(&s);
	else
		assert_int_equal(errno, EPROTO);
	return (rc);
}
#define PARSE(s) parse(s, sizeof(s) - 1)

/* argv is field 1, workdir 2, env 3, label 4. */
static void
hostile(void **state)
{
	(void)state;
	assert_int_equal(PARSE("\x0a\x01" "a\x12\x01" "b"), 0);
	/* out of order, twice, padded, empty, unknown */
	assert_int_equal(PARSE("\x12\x01" "b\x0a\x01" "a"), -1);
	assert_int_equal(PARSE("\x0a\x01" "a\x12\x01" "b\x12\x01" "b"), -1);
	assert_int_equal(PARSE("\x0a\x81\x00" "a"), -1);
	assert_int_equal(PARSE("\x0a\x01" "a\x12\x00"), -1);
	assert_int_equal(PARSE("\x0a\x01" "a\x38\x01"), -1);
	/* NUL inside; no argv; cut off */
	assert_int_equal(PARSE("\x0a\x02" "a\0"), -1);
	assert_int_equal(PARSE("\x0a\x01" "a\x12\x03" "b\0c"), -1);
	assert_int_equal(PARSE("\x0a\x01" "a\x1a\x02" "b\0"), -1);
	assert_int_equal(PARSE("\x0a\x01" "a\x22\x03" "b\0c"), -1);
	assert_int_equal(PARSE("\x12\x01" "b"), -1);
	assert_int_equal(PARSE(""), -1);
	assert_int_equal(PARSE("\x0a\x02" "a"), -1);
}

static void
mutations(void **state)
{
	struct job_spec s = sample(), out;
	uint8_t *buf, *again;
	size_t len, n, i, at;
	uint8_t was;

	(void)state;
	probe_seed();
	assert_int_equal(job_spec_pack(&s, &buf, &len), 0);
	for (i = 0; i < 50000; i++) {
		at = probe_rnd() % len;
		was = buf[at];
		buf[at] = (uint8_t)probe_rnd();
		if (job_spec_parse(buf, len, &out) == 0) {
			assert_int_equal(job_spec_pack(&out, &again, &n), 0);
			assert_int_equal(n, len);
			assert_memory_equal(buf, again, n);
			free(again);
			job_spec_done(&out);
		}
		buf[at] = was;
	}
	free(buf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(image_names),
		cmocka_unit_test(round_trip),
		cmocka_unit_test(what_is_kept),
		cmocka_unit_test(caches),
		cmocka_unit_test(workdirs),
		cmocka_unit_test(names),
		cmocka_unit_test(counts),
		cmocka_unit_test(largest),
		cmocka_unit_test(hostile),
		cmocka_unit_test(mutations),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
