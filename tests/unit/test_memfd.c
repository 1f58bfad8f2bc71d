#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "memfd.h"

#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static void
assert_refused(int fd, size_t max)
{
	const uint8_t *map;
	size_t len;

	errno = 0;
	assert_int_equal(memfd_map(fd, max, &map, &len), -1);
	assert_int_equal(errno, EPROTO);
	if (fd != -1)
		close(fd);
}

static void
test_make(void **state)
{
	const uint8_t *map;
	size_t len;
	char c;
	int fd;

	(void)state;
	fd = memfd_make("t", "hello", 5);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GET_SEALS) & ALL_SEALS, ALL_SEALS);
	assert_int_equal(memfd_map(fd, 5, &map, &len), 0);
	assert_int_equal(len, 5);
	assert_memory_equal(map, "hello", 5);
	memfd_unmap(map, len);

	/* What was promised cannot be undone. */
	assert_int_equal(ftruncate(fd, 1), -1);
	assert_int_equal(ftruncate(fd, 9), -1);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(pread(fd, &c, 1, 0), 1);
	assert_true(mmap(NULL, 5, PROT_WRITE, MAP_SHARED, fd, 0) ==
	    MAP_FAILED);
	close(fd);
}

static void
test_empty(void **state)
{
	const uint8_t *map = (const uint8_t *)"x";
	uint8_t *w;
	size_t len = 1;
	int fd;

	(void)state;
	fd = memfd_make("t", NULL, 0);
	assert_true(fd >= 0);
	assert_int_equal(memfd_map(fd, 0, &map, &len), 0);
	assert_null(map);
	assert_int_equal(len, 0);
	memfd_unmap(map, len);
	close(fd);

	fd = memfd_open("t", 0, &w);
	assert_true(fd >= 0);
	assert_null(w);
	assert_int_equal(memfd_seal(fd, w, 0, 0), 0);
	close(fd);
}

static void
test_large(void **state)
{
	const size_t n = 9 * 1024 * 1024 + 3;
	const uint8_t *map;
	uint8_t *buf;
	size_t i, len;
	int fd;

	(void)state;
	buf = malloc(n);
	assert_non_null(buf);
	for (i = 0; i < n; i++)
		buf[i] = (uint8_t)(i * 31 >> 3);
	fd = memfd_make("t", buf, n);
	assert_true(fd >= 0);
	assert_int_equal(memfd_map(fd, n, &map, &len), 0);
	assert_int_equal(len, n);
	assert_memory_equal(map, buf, n);
	memfd_unmap(map, len);
	close(fd);
	free(buf);
}

static void
test_open_seal(void **state)
{
	const uint8_t *map;
	uint8_t *w;
	size_t len;
	int fd;

	(void)state;
	fd = memfd_open("t", 100000, &w);
	assert_true(fd >= 0);
	memset(w, 'a', 100000);
	assert_int_equal(memfd_seal(fd, w, 100000, 70001), 0);
	assert_int_equal(fcntl(fd, F_GET_SEALS) & ALL_SEALS, ALL_SEALS);
	assert_int_equal(memfd_map(fd, SIZE_MAX, &map, &len), 0);
	assert_int_equal(len, 70001);
	assert_int_equal(map[70000], 'a');
	memfd_unmap(map, len);
	close(fd);

	fd = memfd_open("t", 10, &w);
	assert_true(fd >= 0);
	assert_int_equal(memfd_seal(fd, w, 10, 11), -1);
	assert_int_equal(errno, EINVAL);
	close(fd);

	assert_int_equal(memfd_open("t", SIZE_MAX, &w), -1);
	assert_int_equal(errno, EFBIG);
}

/* A mapping that is still writable somewhere keeps the seal off. */
static void
test_seal_busy(void **state)
{
	uint8_t *w;
	void *other;
	int fd;

	(void)state;
	fd = memfd_open("t", 4096, &w);
	assert_true(fd >= 0);
	other = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(other != MAP_FAILED);
	assert_int_equal(memfd_seal(fd, w, 4096, 4096), -1);
	assert_int_equal(errno, EBUSY);
	munmap(other, 4096);
	assert_refused(fd, 4096);
}

static int
plain_memfd(int seals)
{
	int fd;

	fd = memfd_create("t", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "abc", 3), 3);
	if (seals != 0)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return (fd);
}

static void
test_map_seals(void **state)
{
	static const int each[] = {
		F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE
	};
	size_t i;
	int fd;

	(void)state;
	assert_refused(plain_memfd(0), 100);
	for (i = 0; i < 4; i++)
		assert_refused(plain_memfd(ALL_SEALS & ~each[i]), 100);
#ifdef F_SEAL_FUTURE_WRITE
	assert_refused(plain_memfd((ALL_SEALS & ~F_SEAL_WRITE) |
	    F_SEAL_FUTURE_WRITE), 100);
#endif
	assert_refused(plain_memfd(ALL_SEALS), 2);
	fd = memfd_create("t", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_refused(fd, 100);
}

static void
test_map_kinds(void **state)
{
	char path[] = "/tmp/test_memfd.XXXXXX";
	int fd, p[2];

	(void)state;
	fd = mkstemp(path);
	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(write(fd, "abc", 3), 3);
	assert_refused(fd, 100);

	assert_int_equal(pipe(p), 0);
	assert_refused(p[0], 100);
	assert_refused(p[1], 100);
	assert_refused(open("/dev/zero", O_RDONLY), 100);
	assert_refused(open("/", O_RDONLY | O_DIRECTORY), 100);
	assert_refused(-1, 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_make),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_open_seal),
		cmocka_unit_test(test_seal_busy),
		cmocka_unit_test(test_map_seals),
		cmocka_unit_test(test_map_kinds),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
