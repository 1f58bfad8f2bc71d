/* What becomes of one path, seen in three ways; and the merge of texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "client/gitls.h"
#include "client/merge.h"
#include "lib/content.h"

static struct merge_side
file(const char *text, uint16_t mode)
{
	struct merge_side s = { .kind = TREE_FILE, .mode = mode };

	assert_int_equal(content_from_mem(text, strlen(text), NULL, NULL,
	    &s.ref), 0);
	return (s);
}

static struct merge_side
tie(const char *target)
{
	struct merge_side s = { .kind = TREE_LINK, .mode = 0777,
	    .target = (const uint8_t *)target,
	    .target_len = (uint16_t)strlen(target) };

	return (s);
}

static struct merge_side
dir(uint16_t mode)
{
	struct merge_side s = { .kind = TREE_DIR, .mode = mode };

	return (s);
}

static const struct merge_side none = { 0 };
static const struct merge_side fifo = { .kind = MERGE_OTHER, .mode = 0644 };
static uint16_t mode;

static enum merge_verdict
decide(struct merge_side b, struct merge_side o, struct merge_side t)
{
	mode = 07777;
	return (merge_decide(&b, &o, &t, &mode));
}

static void
what_only_the_job_changed_is_taken(void **state)
{
	(void)state;
	assert_int_equal(decide(file("1", 0644), file("1", 0644),
	    file("2", 0644)), MERGE_TAKE);
	assert_int_equal(mode, 0644);
	assert_int_equal(decide(none, none, file("1", 0600)), MERGE_TAKE);
	assert_int_equal(mode, 0600);
	assert_int_equal(decide(file("1", 0644), file("1", 0644), none),
	    MERGE_TAKE);
	assert_int_equal(decide(file("1", 0644), file("1", 0644), tie("x")),
	    MERGE_TAKE);
	assert_int_equal(decide(tie("x"), tie("x"), tie("y")), MERGE_TAKE);
	assert_int_equal(decide(dir(0755), dir(0755), none), MERGE_TAKE);
	assert_int_equal(decide(none, none, dir(0750)), MERGE_TAKE);
	assert_int_equal(mode, 0750);
}

static void
the_same_on_both_sides_is_clean(void **state)
{
	(void)state;
	assert_int_equal(decide(file("1", 0644), file("2", 0644),
	    file("2", 0644)), MERGE_NOTHING);
	assert_int_equal(decide(file("1", 0644), none, none), MERGE_NOTHING);
	assert_int_equal(decide(none, file("1", 0600), file("1", 0644)),
	    MERGE_NOTHING);
	assert_int_equal(decide(none, dir(0700), dir(0755)), MERGE_NOTHING);
	assert_int_equal(decide(tie("a"), tie("b"), tie("b")), MERGE_NOTHING);
	assert_int_equal(decide(file("1", 0644), dir(0700), dir(0755)),
	    MERGE_NOTHING);
}

static void
modes_are_merged_by_bits(void **state)
{
	(void)state;
	assert_int_equal(decide(file("1", 0644), file("1", 0600),
	    file("1", 0755)), MERGE_MODE);
	assert_int_equal(mode, 0711);
	assert_int_equal(decide(file("1", 0644), file("2", 0644),
	    file("1", 0755)), MERGE_MODE);
	assert_int_equal(mode, 0755);
	assert_int_equal(decide(file("1", 0644), file("1", 0755),
	    file("1", 0755)), MERGE_NOTHING);
	assert_int_equal(decide(file("1", 0644), file("1", 0600),
	    file("2", 0644)), MERGE_TAKE);
	assert_int_equal(mode, 0600);
	assert_int_equal(decide(dir(0755), dir(0700), dir(0555)), MERGE_MODE);
	assert_int_equal(mode, 0500);
	/* New here and there: whether it can be run must be agreed on. */
	assert_int_equal(decide(none, file("1", 0644), file("1", 0755)),
	    MERGE_BOTH);
}

static void
what_differs_is_a_conflict(void **state)
{
	(void)state;
	assert_int_equal(decide(none, file("1", 0644), file("2", 0644)),
	    MERGE_BOTH);
	assert_int_equal(decide(file("1", 0644), file("2", 0644),
	    file("3", 0644)), MERGE_TEXT);
	assert_int_equal(decide(tie("1"), tie("2"), tie("3")), MERGE_BOTH);
	assert_int_equal(decide(file("1", 0644), none, file("2", 0644)),
	    MERGE_DELETED_HERE);
	assert_int_equal(decide(file("1", 0644), none, file("1", 0755)),
	    MERGE_DELETED_HERE);
	assert_int_equal(decide(file("1", 0644), file("2", 0644), none),
	    MERGE_DELETED_THERE);
	assert_int_equal(decide(file("1", 0644), file("1", 0755), none),
	    MERGE_DELETED_THERE);
	assert_int_equal(decide(dir(0755), tie("x"), none),
	    MERGE_DELETED_THERE);
	assert_int_equal(decide(file("1", 0644), tie("x"), file("2", 0644)),
	    MERGE_TYPES);
	assert_int_equal(decide(none, tie("x"), dir(0755)), MERGE_TYPES);
	assert_int_equal(decide(file("1", 0644), fifo, file("2", 0644)),
	    MERGE_TYPES);
	assert_int_equal(decide(none, fifo, file("2", 0644)), MERGE_TYPES);
}

/* A directory's mode alone does not bring it back. */
static void
a_directory_deleted_here_stays_deleted(void **state)
{
	(void)state;
	assert_int_equal(decide(dir(0755), none, dir(0700)), MERGE_NOTHING);
}

static void
a_new_mode_follows_the_umask(void **state)
{
	(void)state;
	assert_int_equal(merge_new_mode(0644, 022), 0644);
	assert_int_equal(merge_new_mode(0755, 022), 0755);
	assert_int_equal(merge_new_mode(0644, 077), 0600);
	assert_int_equal(merge_new_mode(0755, 077), 0700);
	assert_int_equal(merge_new_mode(0644, 002), 0664);
	assert_int_equal(merge_new_mode(0666, 077), 0666);
	assert_int_equal(merge_new_mode(0400, 022), 0400);
}

static char *merged;
static size_t merged_len;

static int
text(const char *o, const char *b, const char *t, size_t n)
{
	struct merge_bytes ours = { (const uint8_t *)o, n ? n : strlen(o) },
	    base = { (const uint8_t *)b, n ? n : strlen(b) },
	    theirs = { (const uint8_t *)t, n ? n : strlen(t) };
	int rc;

	free(merged);
	merged = NULL;
	rc = merge_text(&ours, &base, &theirs, &merged, &merged_len);
	return (rc);
}

static void
texts(void **state)
{
	(void)state;
	assert_int_equal(text("A\r\n2\r\n3\r\n4\r\n5\r\n",
	    "1\r\n2\r\n3\r\n4\r\n5\r\n", "1\r\n2\r\n3\r\n4\r\nE\r\n", 0), 0);
	assert_int_equal(merged_len, 15);
	assert_memory_equal(merged, "A\r\n2\r\n3\r\n4\r\nE\r\n", 15);
	/* No newline at the end is kept so. */
	assert_int_equal(text("A\n2\n3\n4\n5", "1\n2\n3\n4\n5",
	    "1\n2\n3\n4\n5\n6\n7", 0) != -1, 1);
	assert_int_equal(text("A\n", "1\n", "B\n", 0), 1);
	assert_non_null(memmem(merged, merged_len, "<<<<<<< here\nA\n", 15));
	assert_non_null(memmem(merged, merged_len, "B\n>>>>>>> by the job\n",
	    21));
	assert_int_equal(text("a\0b", "a\0c", "a\0d", 3), -1);
	assert_int_equal(text("a\001b", "a\001c", "a\001d", 0), -1);
	assert_int_equal(text("\f\033[1mA\351\n", "1\n", "1\n", 0), 0);
	assert_int_equal(text("", "", "x\n", 0), 0);
	assert_int_equal(merged_len, 2);
	free(merged);
	merged = NULL;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_only_the_job_changed_is_taken),
		cmocka_unit_test(the_same_on_both_sides_is_clean),
		cmocka_unit_test(modes_are_merged_by_bits),
		cmocka_unit_test(what_differs_is_a_conflict),
		cmocka_unit_test(a_directory_deleted_here_stays_deleted),
		cmocka_unit_test(a_new_mode_follows_the_umask),
		cmocka_unit_test(texts),
	};

	if (sodium_init() == -1)
		return (1);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
