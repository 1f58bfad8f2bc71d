/* Scanning a tree: the stat cache, what is new, files that change. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "client/gitls.h"
#include "client/scan.h"
#include "lib/io.h"
#include "lib/tree.h"
#include "proto/limits.h"

static char top[64], root[128], cache[128];
static unsigned notes;
static const char *vanishing;   /* goes when it is about to be opened */

int __real_openat(int, const char *, int, ...);

int
__wrap_openat(int dirfd, const char *name, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	if ((flags & O_CREAT) != 0) {
		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
	}
	if (vanishing != NULL && strcmp(name, vanishing) == 0) {
		vanishing = NULL;
		assert_int_equal(io_remove_tree(dirfd, name), 0);
	}
	return (__real_openat(dirfd, name, flags, mode));
}

static void
note(void *cookie, const char *path, const char *text)
{
	(void)cookie;
	(void)path;
	(void)text;
	notes++;
}

static void
put(const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_non_null(f = fopen(path, "w"));
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	assert_int_equal(fclose(f), 0);
}

/* Move the times of a file into the past, so that it is not racy. */
static void
age(const char *name)
{
	struct timespec ts[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(utimensat(AT_FDCWD, path, ts, 0), 0);
}

/* Wait until nothing written before can be racy any more (its ctime counts). */
static void
settle(void)
{
	uint64_t until = io_mono_us() + 60000;

	while (io_mono_us() < until)
		usleep(5000);
}

static struct scan *
scan(int rehash)
{
	struct scan_opts o = { .root = root, .cache = cache, .rehash = rehash,
	    .note = note };
	char why[LIMIT_TEXT];
	struct scan *s;

	o.sel = select_open(AT_FDCWD, root, SELECT_ALL, why);
	assert_non_null(o.sel);
	s = scan_run(&o, why);
	if (s == NULL)
		fail_msg("%s", why);
	select_free(o.sel);
	return (s);
}

static int
begin(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/errand-scan.XXXXXX");
	if (sodium_init() == -1 || mkdtemp(top) == NULL)
		return (-1);
	snprintf(root, sizeof(root), "%s/tree", top);
	snprintf(cache, sizeof(cache), "%s/cache", top);
	notes = 0;
	return (mkdir(root, 0755));
}

static int
end(void **state)
{
	(void)state;
	return (io_remove_tree(AT_FDCWD, top));
}

static void
unchanged_is_not_read(void **state)
{
	struct scan_news n;
	struct obj_ref first;
	struct scan *s;

	(void)state;
	put("a", "one");
	put("b", "two");
	age("a");
	age("b");
	settle();
	s = scan(0);
	assert_int_equal(scan_sum(s)->files, 2);
	assert_int_equal(scan_sum(s)->read_files, 2);
	first = scan_sum(s)->root;
	assert_int_equal(scan_save(s), 0);
	scan_free(s);

	s = scan(0);
	assert_true(obj_ref_equal(&first, &scan_sum(s)->root));
	assert_int_equal(scan_sum(s)->read_files, 0);
	scan_news(s, &n);
	assert_int_equal(n.meta_objects + n.content_objects, 0);
	scan_free(s);
}

/* Same size, same mtime: the ctime tells. */
static void
hidden_edit_is_seen(void **state)
{
	struct obj_ref first;
	struct scan_news n;
	struct scan *s;

	(void)state;
	put("a", "one");
	age("a");
	settle();
	s = scan(0);
	first = scan_sum(s)->root;
	assert_int_equal(scan_save(s), 0);
	scan_free(s);
	put("a", "two");
	age("a");
	s = scan(0);
	assert_false(obj_ref_equal(&first, &scan_sum(s)->root));
	scan_news(s, &n);
	assert_int_equal(n.content_objects, 1);
	assert_int_equal(n.content_bytes, 3);
	assert_int_equal(n.meta_objects, 1);
	scan_free(s);
}

/* An edit within the same tick as the scan must not hide behind it. */
static void
racy_edit_is_seen(void **state)
{
	struct obj_ref before;
	struct scan *s;
	char text[16];
	int i;

	(void)state;
	for (i = 0; i < 300; i++) {
		snprintf(text, sizeof(text), "%03d", i);
		put("a", text);
		s = scan(0);
		before = scan_sum(s)->root;
		assert_int_equal(scan_save(s), 0);
		scan_free(s);
		snprintf(text, sizeof(text), "%03d", 999 - i);
		put("a", text);
		s = scan(0);
		assert_false(obj_ref_equal(&before, &scan_sum(s)->root));
		scan_free(s);
	}
}

static void
modes_links_and_removals(void **state)
{
	struct obj_ref r1, r2;
	char path[512];
	struct scan *s;

	(void)state;
	put("a", "x");
	put("b", "y");
	snprintf(path, sizeof(path), "%s/l", root);
	assert_int_equal(symlink("nowhere", path), 0);
	settle();
	s = scan(0);
	r1 = scan_sum(s)->root;
	assert_int_equal(scan_sum(s)->links, 1);
	assert_int_equal(scan_save(s), 0);
	scan_free(s);

	snprintf(path, sizeof(path), "%s/a", root);
	assert_int_equal(chmod(path, 0700), 0);
	s = scan(0);
	r2 = scan_sum(s)->root;
	assert_false(obj_ref_equal(&r1, &r2));
	assert_int_equal(scan_save(s), 0);
	scan_free(s);

	snprintf(path, sizeof(path), "%s/b", root);
	assert_int_equal(unlink(path), 0);
	s = scan(0);
	assert_false(obj_ref_equal(&r2, &scan_sum(s)->root));
	assert_int_equal(scan_sum(s)->files, 1);
	scan_free(s);
}

static void
special_files_are_left_out(void **state)
{
	char path[512];
	struct scan *s;

	(void)state;
	put("a", "x");
	snprintf(path, sizeof(path), "%s/fifo", root);
	assert_int_equal(mkfifo(path, 0600), 0);
	s = scan(0);
	assert_int_equal(scan_sum(s)->skipped, 1);
	assert_int_equal(notes, 1);
	scan_free(s);
}

/* What is there without a cache, and what with the last one: the same. */
static void
cache_changes_nothing(void)
{
	struct obj_ref with;
	struct scan *s;

	s = scan(0);
	with = scan_sum(s)->root;
	scan_free(s);
	assert_int_equal(unlink(cache), 0);
	s = scan(0);
	assert_true(obj_ref_equal(&with, &scan_sum(s)->root));
	assert_int_equal(scan_save(s), 0);
	scan_free(s);
}

/* A file, directory or link in whose place is something that is not sent. */
static void
replaced_by_special_file(void **state)
{
	static const char *const names[] = { "file", "dir", "link" };
	char path[512];
	struct scan *s;
	size_t i;

	(void)state;
	put("a", "x");
	put("file", "x");
	snprintf(path, sizeof(path), "%s/dir", root);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/link", root);
	assert_int_equal(symlink("a", path), 0);
	settle();
	s = scan(0);
	assert_int_equal(scan_save(s), 0);
	scan_free(s);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, names[i]);
		assert_int_equal(io_remove_tree(AT_FDCWD, path), 0);
		assert_int_equal(mkfifo(path, 0600), 0);
		cache_changes_nothing();
	}
}

/* What goes between the look at it and its opening is not what it was. */
static void
vanished_when_opened(void **state)
{
	static const char *const names[] = { "file", "dir" };
	struct obj_ref got;
	char path[512];
	struct scan *s;
	size_t i;

	(void)state;
	put("a", "x");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, names[i]);
		if (i == 0)
			put("file", "x");
		else
			assert_int_equal(mkdir(path, 0755), 0);
		settle();
		s = scan(0);
		assert_int_equal(scan_save(s), 0);
		scan_free(s);
		age("a");       /* of a file the times have to be others */
		if (i == 0)
			age("file");
		notes = 0;
		vanishing = names[i];
		s = scan(0);
		assert_null(vanishing);
		assert_int_equal(scan_sum(s)->skipped, 1);
		assert_int_equal(notes, 1);
		got = scan_sum(s)->root;
		assert_int_equal(scan_save(s), 0);
		scan_free(s);
		cache_changes_nothing();
		s = scan(0);
		assert_true(obj_ref_equal(&got, &scan_sum(s)->root));
		scan_free(s);
	}
}

static int
count(void *cookie, const struct obj_ref *ref, const void *buf, size_t len)
{
	struct obj_ref now;

	assert_int_equal(obj_ref_of(ref->kind, buf, len, &now), 0);
	assert_true(obj_ref_equal(ref, &now));
	(*(unsigned *)cookie)++;
	return (0);
}

/* Everything that is new can be handed out, with the bytes of its id. */
static void
news_are_complete(void **state)
{
	struct scan_news n;
	unsigned seen = 0;
	struct scan *s;
	char *big;

	(void)state;
	assert_non_null(big = malloc(1000001));
	memset(big, 'x', 1000000);
	big[1000000] = '\0';
	big[500000] = 'y';
	put("big", big);
	put("small", "s");
	free(big);
	s = scan(0);
	scan_news(s, &n);
	assert_int_equal(scan_each(s, 0, count, &seen), 0);
	assert_int_equal(seen, n.meta_objects);
	assert_int_equal(scan_each(s, 1, count, &seen), 0);
	assert_int_equal(seen, n.meta_objects + n.content_objects);
	scan_free(s);
}

static void
damaged_cache_costs_time_only(void **state)
{
	struct obj_ref first;
	struct scan *s;
	uint8_t *buf;
	size_t len, i;
	int fd;

	(void)state;
	put("a", "x");
	settle();
	s = scan(0);
	first = scan_sum(s)->root;
	assert_int_equal(scan_save(s), 0);
	scan_free(s);
	assert_int_equal(io_file_read(AT_FDCWD, cache, 1 << 20, &buf, &len), 0);
	for (i = 0; i < len; i++) {
		fd = open(cache, O_WRONLY | O_TRUNC);
		buf[i] ^= 0x41;
		assert_int_equal(io_write(fd, buf, len), 0);
		buf[i] ^= 0x41;
		close(fd);
		s = scan(0);
		assert_true(obj_ref_equal(&first, &scan_sum(s)->root));
		scan_free(s);
	}
	free(buf);
}

/* Not a promise, a figure: `make bench` says more. */
static void
ten_thousand(void **state)
{
	char path[512];
	uint64_t t0, t1;
	struct scan *s;
	int i;

	(void)state;
	for (i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "%s/d%d", root, i);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	for (i = 0; i < 10000; i++) {
		snprintf(path, sizeof(path), "d%d/f%d", i % 100, i);
		put(path, path);
	}
	settle();
	t0 = io_mono_us();
	s = scan(0);
	assert_int_equal(scan_save(s), 0);
	t1 = io_mono_us();
	scan_free(s);
	s = scan(0);
	assert_int_equal(scan_sum(s)->read_files, 0);
	scan_free(s);
	print_message("# 10,000 files: first %.1f ms, unchanged %.1f ms\n",
	    (double)(t1 - t0) / 1e3, (double)(io_mono_us() - t1) / 1e3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(unchanged_is_not_read, begin,
		    end),
		cmocka_unit_test_setup_teardown(hidden_edit_is_seen, begin,
		    end),
		cmocka_unit_test_setup_teardown(racy_edit_is_seen, begin, end),
		cmocka_unit_test_setup_teardown(modes_links_and_removals,
		    begin, end),
		cmocka_unit_test_setup_teardown(special_files_are_left_out,
		    begin, end),
		cmocka_unit_test_setup_teardown(replaced_by_special_file,
		    begin, end),
		cmocka_unit_test_setup_teardown(vanished_when_opened, begin,
		    end),
		cmocka_unit_test_setup_teardown(news_are_complete, begin, end),
		cmocka_unit_test_setup_teardown(damaged_cache_costs_time_only,
		    begin, end),
		cmocka_unit_test_setup_teardown(ten_thousand, begin, end)
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
