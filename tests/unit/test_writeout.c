/*
 * A long file is handed to the disk while it grows, in order and without gaps,
 * and what lies far behind its end is given back; a short one costs nothing;
 * and a file system that knows none of it changes nothing for the log.
 */
#include <sys/mman.h>
#include <sys/statfs.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/joblog.h"
#include "lib/writeout.h"

#define PAGE            4096

static int refusing;            /* errno of both calls */
static unsigned int begins, advices;
static uint64_t begun;          /* all before was begun with */
static uint64_t given;          /* the furthest that was given back */
static uint64_t size;           /* of the file */

int __real_sync_file_range(int, off_t, off_t, unsigned int);
int __real_posix_fadvise(int, off_t, off_t, int);

int
__wrap_sync_file_range(int fd, off_t off, off_t len, unsigned int flags)
{
	begins++;
	assert_int_equal(flags, SYNC_FILE_RANGE_WRITE);
	assert_int_equal(off, begun);
	begun = (uint64_t)(off + len);
	assert_true(begun <= size);
	if (refusing != 0) {
		errno = refusing;
		return (-1);
	}
	return (__real_sync_file_range(fd, off, len, flags));
}

int
__wrap_posix_fadvise(int fd, off_t off, off_t len, int advice)
{
	advices++;
	assert_int_equal(advice, POSIX_FADV_DONTNEED);
	assert_true(len > 0);
	/* No gap, and nothing of what followers are about to read. */
	assert_true((uint64_t)off <= given);
	assert_true((uint64_t)(off + len) <= size - WRITEOUT_WINDOW);
	if ((uint64_t)(off + len) > given)
		given = (uint64_t)(off + len);
	return (refusing != 0 ? refusing :
	    __real_posix_fadvise(fd, off, len, advice));
}

static int
setup(void **arg)
{
	(void)arg;
	refusing = 0;
	begins = advices = 0;
	begun = given = size = 0;
	return (0);
}

static void
test_short(void **arg)
{
	struct writeout o;

	(void)arg;
	writeout_init(&o, -1);
	while (size < WRITEOUT_STEP - 1) {
		size += size + 77 < WRITEOUT_STEP ? size + 77 :
		    WRITEOUT_STEP - 1 - size;
		if (size >= WRITEOUT_STEP)
			size = WRITEOUT_STEP - 1;
		writeout_grew(&o, size);
	}
	writeout_done(&o, size);
	assert_int_equal(begins + advices, 0);
}

static void
test_steps(void **arg)
{
	struct writeout o;

	(void)arg;
	writeout_init(&o, -1);
	for (; size < 20 * WRITEOUT_WINDOW; size += 500001) {
		writeout_grew(&o, size);
		assert_true(size - begun < WRITEOUT_STEP);
		if (size > WRITEOUT_WINDOW + WRITEOUT_STEP)
			assert_true(size - given <
			    WRITEOUT_WINDOW + WRITEOUT_STEP);
	}
	/* By the step, not by the call. */
	assert_int_equal(begins, begun / WRITEOUT_STEP);
	assert_in_range(advices, 1, begins);
	writeout_done(&o, size);
	assert_int_equal(given, size - WRITEOUT_WINDOW);
}

/* A file without a name where files are on a disk, or -1. */
static int
on_disk(void)
{
	static const char *const where[] = { "/var/tmp", "/tmp", "." };
	struct statfs sfs;
	size_t i;
	int fd;

	for (i = 0; i < sizeof(where) / sizeof(where[0]); i++) {
		fd = open(where[i], O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC,
		    0600);
		if (fd == -1)
			continue;
		if (fstatfs(fd, &sfs) == 0 && sfs.f_type != TMPFS_MAGIC)
			return (fd);
		close(fd);
	}
	return (-1);
}

/* Bytes of the file that are in memory. */
static uint64_t
resident(int fd, size_t len)
{
	size_t pages = (len + PAGE - 1) / PAGE, i;
	unsigned char *vec = malloc(pages);
	uint64_t n = 0;
	void *p = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_non_null(vec);
	assert_int_equal(mincore(p, len, vec), 0);
	for (i = 0; i < pages; i++)
		n += vec[i] & 1;
	munmap(p, len);
	free(vec);
	return (n * PAGE);
}

/* Numbered words, so that every byte says where it belongs. */
static void
fill(uint64_t *words, uint64_t at, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		words[i] = (at + i) * UINT64_C(0x9e3779b97f4a7c15);
}

/* A log of ${total} bytes. */
static void
write_log(int fd, uint64_t total, struct joblog_sum *sum)
{
	static uint64_t words[JOBLOG_PIECE / 8];
	struct joblog_writer *w = joblog_writer_new(fd, UINT64_MAX);
	uint64_t at;

	assert_non_null(w);
	for (at = 0; at < total; at += JOBLOG_PIECE) {
		fill(words, at / 8, JOBLOG_PIECE / 8);
		size += JOBLOG_HEAD + JOBLOG_PIECE;
		assert_int_equal(joblog_write(w, JOBLOG_STDOUT, words,
		    JOBLOG_PIECE), 0);
	}
	assert_int_equal(joblog_finish(w, sum), 0);
	joblog_writer_free(w);
	assert_int_equal(sum->file_bytes, size);
}

static void
read_log(int fd, uint64_t total)
{
	static uint64_t words[JOBLOG_PIECE / 8], want[JOBLOG_PIECE / 8];
	struct joblog_reader *r = joblog_reader_new(fd, 0);
	uint64_t at;
	uint8_t stream;

	for (at = 0; at < total; at += JOBLOG_PIECE) {
		assert_int_equal(joblog_read(r, &stream, (uint8_t *)words,
		    sizeof(words)), sizeof(words));
		fill(want, at / 8, JOBLOG_PIECE / 8);
		assert_memory_equal(words, want, sizeof(words));
	}
	assert_int_equal(joblog_read(r, &stream, (uint8_t *)words, 8), 0);
	joblog_reader_free(r);
}

/*
 * The memory comes back, also what reading took; and who follows late gets
 * every byte all the same.
 */
static void
test_given_back(void **arg)
{
	const uint64_t total = 5 * WRITEOUT_WINDOW;
	struct joblog_sum sum;
	int fd = on_disk();

	(void)arg;
	if (fd == -1) {
		printf("# no file system on a disk here\n");
		skip();
	}
	write_log(fd, total, &sum);
	assert_in_range(resident(fd, size), 1,
	    WRITEOUT_WINDOW + (UINT64_C(1) << 20));
	read_log(fd, total);
	assert_in_range(resident(fd, size), 1,
	    2 * WRITEOUT_WINDOW + 2 * WRITEOUT_STEP);
	close(fd);
}

static void
test_refused(void **arg)
{
	const uint64_t total = 2 * WRITEOUT_WINDOW;
	struct joblog_sum sum;
	int fd = memfd_create("log", MFD_CLOEXEC);

	(void)arg;
	refusing = ENOSYS;
	assert_true(fd != -1);
	write_log(fd, total, &sum);
	assert_true(begins > 0 && advices > 0);
	read_log(fd, total);
	close(fd);
}

#define T(f) cmocka_unit_test_setup(f, setup)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_short), T(test_steps), T(test_given_back),
		T(test_refused),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
