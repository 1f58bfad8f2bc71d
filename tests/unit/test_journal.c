/* The journal of an apply: what is written is read, and nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>

#include "client/journal.h"
#include "client/statcache.h"
#include "lib/io.h"
#include "lib/tree.h"

static uint8_t key[JOURNAL_KEY] = { 1, 2, 3 };

static void
add(struct journal *j, enum jop_type type, const char *path)
{
	struct jop op = { .type = (uint8_t)type, .slot = 7, .path = path,
	    .path_len = (uint32_t)strlen(path) };

	op.old.kind = TREE_FILE;
	op.old.ino = 42;
	op.old.size = 1ULL << 40;
	op.old.mtime_ns = -5;
	op.old.mode = 04755;
	op.old.racy = 1;
	op.old.ref.kind = OBJ_CHUNK;
	memset(op.old.ref.id, 9, OBJ_ID_LEN);
	op.new.kind = TREE_LINK;
	op.new.mode = 0777;
	assert_int_equal(journal_add(j, &op), 0);
}

static void
make(struct journal *j, const char *path)
{
	memset(j, 0, sizeof(*j));
	memset(j->job, 'b', JOB_ID_LEN);
	j->dev = 3;
	j->ino = 1234567890123ULL;
	add(j, JOP_REMOVE, "gone");
	add(j, JOP_REPLACE, path);
	add(j, JOP_CHMOD, "d");
}

/* Pack with one path; what parsing says. */
static int
parses(const char *path)
{
	struct journal j, k;
	uint8_t *buf;
	size_t len;
	int rc;

	make(&j, path);
	assert_int_equal(journal_pack(&j, key, &buf, &len), 0);
	rc = journal_parse(buf, len, key, &k);
	if (rc == 0)
		journal_done(&k);
	else
		assert_int_equal(errno, EPROTO);
	free(buf);
	journal_done(&j);
	return (rc);
}

static void
what_is_written_is_read(void **state)
{
	struct journal j, k;
	uint8_t *buf;
	size_t len;

	(void)state;
	make(&j, "a\n\xff/b");
	assert_int_equal(journal_pack(&j, key, &buf, &len), 0);
	assert_int_equal(journal_parse(buf, len, key, &k), 0);
	free(buf);
	assert_string_equal(k.job, j.job);
	assert_int_equal(k.dev, 3);
	assert_int_equal(k.ino, j.ino);
	assert_int_equal(k.n, 3);
	assert_string_equal(k.ops[1].path, "a\n\xff/b");
	assert_int_equal(k.ops[1].type, JOP_REPLACE);
	assert_int_equal(k.ops[1].slot, 7);
	assert_int_equal(k.ops[1].old.ino, 42);
	assert_int_equal(k.ops[1].old.size, 1ULL << 40);
	assert_int_equal(k.ops[1].old.mtime_ns, -5);
	assert_int_equal(k.ops[1].old.mode, 04755);
	assert_int_equal(k.ops[1].old.racy, 1);
	assert_true(obj_ref_equal(&k.ops[1].old.ref, &j.ops[1].old.ref));
	assert_int_equal(k.ops[1].new.kind, TREE_LINK);
	journal_done(&k);
	journal_done(&j);
}

static void
any_other_byte_is_refused(void **state)
{
	struct journal j, k;
	uint8_t *buf;
	size_t len, i;

	(void)state;
	make(&j, "a/b");
	assert_int_equal(journal_pack(&j, key, &buf, &len), 0);
	for (i = 0; i < len; i++) {
		buf[i] ^= 1;
		assert_int_equal(journal_parse(buf, len, key, &k), -1);
		assert_int_equal(k.n, 0);
		buf[i] ^= 1;
		assert_int_equal(journal_parse(buf, i, key, &k), -1);
	}
	key[0]++;
	assert_int_equal(journal_parse(buf, len, key, &k), -1);
	assert_int_equal(errno, EACCES);
	key[0]--;
	assert_int_equal(journal_parse(buf, len, key, &k), 0);
	journal_done(&k);
	free(buf);
	journal_done(&j);
}

/*
 * Even with the right key: it is our own, but not every bug of ours is known.
 */
static void
paths_stay_inside(void **state)
{
	char longest[300];

	(void)state;
	assert_int_equal(parses("a/b/c"), 0);
	assert_int_equal(parses("../a"), -1);
	assert_int_equal(parses("a/../b"), -1);
	assert_int_equal(parses("/a"), -1);
	assert_int_equal(parses("a/"), -1);
	assert_int_equal(parses("a//b"), -1);
	assert_int_equal(parses("."), -1);
	assert_int_equal(parses(""), -1);
	assert_int_equal(parses("a/.git/hooks/pre-commit"), -1);
	assert_int_equal(parses(".GIT/config"), -1);
	assert_int_equal(parses(".errand-apply/journal"), -1);
	assert_int_equal(parses("x/.Errand-Apply/y"), -1);
	memset(longest, 'x', sizeof(longest));
	longest[255] = '\0';
	assert_int_equal(parses(longest), 0);
	longest[255] = 'x';
	longest[256] = '\0';
	assert_int_equal(parses(longest), -1);
}

static void
the_key_is_made_once(void **state)
{
	char dir[] = "/tmp/errand-journal.XXXXXX", path[128];
	uint8_t a[JOURNAL_KEY] = { 0 }, b[JOURNAL_KEY] = { 1 };
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	setenv("XDG_STATE_HOME", dir, 1);
	assert_int_equal(journal_key(a), 0);
	assert_int_equal(journal_key(b), 0);
	assert_memory_equal(a, b, sizeof(a));
	assert_false(sodium_is_zero(a, sizeof(a)));
	snprintf(path, sizeof(path), "%s/errand/apply.key", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 077, 0);
	assert_int_equal(io_remove_tree(AT_FDCWD, dir), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(any_other_byte_is_refused),
		cmocka_unit_test(paths_stay_inside),
		cmocka_unit_test(the_key_is_made_once),
	};

	if (sodium_init() == -1)
		return (1);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
