#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/file.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "lib/cachedir.h"
#include "lib/io.h"

#define TOTAL   100

static char top[64];
static int work, caches;

static int
setup(void **state)
{
	(void)state;
	(void)snprintf(top, sizeof(top), "/tmp/errand-cachedir.XXXXXX");
	assert_true(sodium_init() >= 0);
	assert_non_null(mkdtemp(top));
	work = open(top, O_RDONLY | O_DIRECTORY);
	assert_int_not_equal(work, -1);
	caches = cachedir_open(work, 1);
	assert_int_not_equal(caches, -1);
	return (0);
}

static int
teardown(void **state)
{
	(void)state;
	io_close(&caches);
	io_close(&work);
	return (io_remove_tree(AT_FDCWD, top));
}

static struct cachedir_mark
mark_of(const char *name, uint64_t bytes)
{
	struct cachedir_mark m = { .project = "p", .bytes = bytes,
	    .entries = 3, .saved_us = 7 };

	(void)snprintf(m.name, sizeof(m.name), "%s", name);
	return (m);
}

/* Publish a state that holds a file of the name ${what}. */
static int
publish(const char *name, const char *what, uint64_t bytes)
{
	const struct cachedir_mark m = mark_of(name, bytes);
	struct cachedir_new n;
	char path[64];
	int fd, rc, why;

	assert_int_equal(cachedir_begin(caches, "p", name, what, &n), 0);
	(void)snprintf(path, sizeof(path), "tree/%s", what);
	fd = openat(n.dir, path, O_WRONLY | O_CREAT, 0600);
	assert_int_not_equal(fd, -1);
	io_close(&fd);
	assert_int_equal(cachedir_seal(&n, &m), 0);
	rc = cachedir_publish(&n, TOTAL);
	why = errno;
	cachedir_abort(&n);
	errno = why;
	return (rc);
}

static int
has(const char *name, const char *what)
{
	struct cachedir_mark m;
	char path[64];
	int dir, rc;

	if ((dir = cachedir_find(caches, "p", name, &m)) == -1)
		return (0);
	(void)snprintf(path, sizeof(path), "tree/%s", what);
	rc = faccessat(dir, path, F_OK, 0) == 0;
	io_close(&dir);
	return (rc);
}

static size_t
count(void)
{
	struct cachedir *v;
	size_t n;

	assert_int_equal(cachedir_list(caches, &v, &n), 0);
	free(v);
	return (n);
}

static void
a_new_one_replaces(void **state)
{
	struct cachedir_mark m;
	struct cachedir *v;
	size_t n;
	int dir;

	(void)state;
	errno = 0;
	assert_int_equal(cachedir_find(caches, "p", "a", &m), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(publish("a", "one", 10), 0);
	assert_true(has("a", "one"));
	assert_int_equal(publish("a", "two", 20), 0);
	assert_true(has("a", "two"));
	assert_false(has("a", "one"));
	assert_int_equal(cachedir_list(caches, &v, &n), 0);
	assert_int_equal(n, 1);
	assert_string_equal(v[0].mark.project, "p");
	assert_string_equal(v[0].mark.name, "a");
	assert_int_equal(v[0].mark.bytes, 20);
	assert_int_equal(v[0].mark.entries, 3);
	assert_int_equal(v[0].mark.saved_us, 7);
	free(v);
	/* Project and name are told apart. */
	assert_int_equal(cachedir_find(caches, "pa", "", &m), -1);
	assert_int_equal(cachedir_find(caches, "", "a", &m), -1);
	dir = cachedir_find(caches, "p", "a", &m);
	assert_int_not_equal(dir, -1);
	io_close(&dir);
}

static void
an_aborted_one_leaves_nothing(void **state)
{
	struct cachedir_new n;
	char tmp[CACHEDIR_TMP];

	(void)state;
	assert_int_equal(publish("a", "one", 10), 0);
	assert_int_equal(cachedir_begin(caches, "p", "a", "id", &n), 0);
	memcpy(tmp, n.tmp, sizeof(tmp));
	assert_int_equal(faccessat(caches, tmp, F_OK, 0), 0);
	cachedir_abort(&n);
	assert_int_equal(faccessat(caches, tmp, F_OK, 0), -1);
	assert_true(has("a", "one"));
	assert_int_equal(count(), 1);
	/* One whose maker died is swept, one that is being made is not. */
	assert_int_equal(cachedir_begin(caches, "p", "a", "id", &n), 0);
	cachedir_sweep(caches);
	assert_int_equal(faccessat(caches, n.tmp, F_OK, 0), 0);
	io_close(&n.dir);
	cachedir_sweep(caches);
	assert_int_equal(faccessat(caches, n.tmp, F_OK, 0), -1);
	assert_true(has("a", "one"));
}

static void
one_in_use_stays(void **state)
{
	struct cachedir_mark m;
	int dir;

	(void)state;
	assert_int_equal(publish("a", "one", 40), 0);
	dir = cachedir_find(caches, "p", "a", &m);
	assert_int_not_equal(dir, -1);
	assert_int_equal(publish("a", "two", 40), 0);
	assert_int_equal(faccessat(dir, "tree/one", F_OK, 0), 0);
	assert_int_equal(count(), 2);
	/* What is replaced counts for as long as somebody has it. */
	errno = 0;
	assert_int_equal(publish("b", "b", 70), -1);
	assert_int_equal(errno, EDQUOT);
	assert_true(has("a", "two"));
	io_close(&dir);
	assert_int_equal(publish("b", "b", 60), 0);
	assert_int_equal(count(), 2);
}

static void
age(const char *name, time_t t)
{
	const struct timespec ts[2] = { { .tv_sec = t }, { .tv_sec = t } };
	char path[CACHEDIR_KEY + 8];

	cachedir_key("p", name, path);
	strcat(path, "/mark");
	assert_int_equal(utimensat(caches, path, ts, 0), 0);
}

static void
room_is_made_by_age(void **state)
{
	(void)state;
	assert_int_equal(publish("a", "a", 40), 0);
	assert_int_equal(publish("b", "b", 40), 0);
	age("a", 2000);
	age("b", 1000);
	assert_int_equal(publish("c", "c", 50), 0);
	assert_true(has("a", "a"));
	assert_false(has("b", "b"));
	/* The one that is replaced makes room for itself. */
	assert_int_equal(publish("c", "d", 60), 0);
	assert_true(has("a", "a"));
	/* One that never fits takes nothing with it. */
	errno = 0;
	assert_int_equal(publish("e", "e", TOTAL + 1), -1);
	assert_int_equal(errno, EDQUOT);
	assert_true(has("c", "d"));
}

static void
so_many_are_kept(void **state)
{
	char name[16];
	int i;

	(void)state;
	for (i = 0; i < CACHEDIR_KEPT + 3; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(publish(name, "x", 1), 0);
		age(name, 1000 + i);
	}
	assert_int_equal(count(), CACHEDIR_KEPT);
	assert_false(has("n2", "x"));
	assert_true(has("n3", "x"));
}

/* Every byte of a mark that is changed, every length that it is cut to. */
static void
a_damaged_mark_is_not_believed(void **state)
{
	char path[CACHEDIR_KEY + 8];
	struct cachedir_mark m;
	uint8_t *buf, c;
	size_t len, i;
	int fd;

	(void)state;
	assert_int_equal(publish("a", "one", 10), 0);
	cachedir_key("p", "a", path);
	strcat(path, "/mark");
	assert_int_equal(io_file_read(caches, path, 4096, &buf, &len), 0);
	fd = openat(caches, path, O_RDWR);
	assert_int_not_equal(fd, -1);
	for (i = 0; i < len; i++) {
		c = buf[i] ^ 1;
		assert_int_equal(io_pwrite(fd, &c, 1, (off_t)i), 0);
		errno = 0;
		assert_int_equal(cachedir_find(caches, "p", "a", &m), -1);
		assert_int_equal(errno, ESTALE);
		assert_int_equal(io_pwrite(fd, &buf[i], 1, (off_t)i), 0);
	}
	assert_true(has("a", "one"));
	assert_int_equal(io_pwrite(fd, "\n", 1, (off_t)len), 0);
	assert_false(has("a", "one"));
	for (i = len; i-- > 0;) {
		assert_int_equal(ftruncate(fd, (off_t)i), 0);
		assert_false(has("a", "one"));
	}
	io_close(&fd);
	free(buf);
	/* It is listed, so that it can be removed, and it is replaced. */
	assert_int_equal(count(), 1);
	assert_int_equal(publish("a", "two", 10), 0);
	assert_true(has("a", "two"));
}

/* The mark of one is no mark of another. */
static void
a_mark_is_of_its_own(void **state)
{
	char a[CACHEDIR_KEY + 1], b[CACHEDIR_KEY + 1];
	struct cachedir_mark m;

	(void)state;
	assert_int_equal(publish("a", "one", 10), 0);
	cachedir_key("p", "a", a);
	cachedir_key("p", "b", b);
	assert_int_equal(renameat(caches, a, caches, b), 0);
	assert_int_equal(cachedir_find(caches, "p", "b", &m), -1);
	assert_int_equal(errno, ESTALE);
}

static void
what_is_retired_goes(void **state)
{
	char key[CACHEDIR_KEY + 1];
	struct cachedir_mark m;
	int dir;

	(void)state;
	assert_int_equal(publish("a", "one", 10), 0);
	cachedir_key("p", "a", key);
	dir = cachedir_find(caches, "p", "a", &m);
	assert_int_equal(cachedir_retire(caches, key), 0);
	assert_false(has("a", "one"));
	cachedir_sweep(caches);
	assert_int_equal(faccessat(dir, "tree/one", F_OK, 0), 0);
	io_close(&dir);
	cachedir_sweep(caches);
	assert_int_equal(count(), 0);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_new_one_replaces),
		T(an_aborted_one_leaves_nothing),
		T(one_in_use_stays),
		T(room_is_made_by_age),
		T(so_many_are_kept),
		T(a_damaged_mark_is_not_believed),
		T(a_mark_is_of_its_own),
		T(what_is_retired_goes),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
