/* lib/joblog.c and lib/joblog_reader.c, on a file without a name. */

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "lib/joblog.h"
#include "lib/joblog_digest.h"
#include "lib/le.h"

#define NO_CAP          UINT64_MAX

static int fd;
static uint8_t *big;
static const size_t big_len = 1024 * 1024;

/* How many bytes write may still write before the disk is full; -1: all. */
static ssize_t disk_left = -1;
static size_t most = SIZE_MAX;  /* and how many at once */
static int syncs;

ssize_t __real_write(int, const void *, size_t);
int __real_fdatasync(int);

ssize_t
__wrap_write(int to, const void *buf, size_t n)
{
	if (disk_left == 0) {
		errno = ENOSPC;
		return (-1);
	}
	if (n > most)
		n = most;
	if (disk_left != -1) {
		if (n > (size_t)disk_left)
			n = (size_t)disk_left;
		disk_left -= (ssize_t)n;
	}
	return (__real_write(to, buf, n));
}

int
__wrap_fdatasync(int to)
{
	syncs++;
	return (__real_fdatasync(to));
}

static int
setup(void **arg)
{
	size_t i;

	(void)arg;
	disk_left = -1;
	most = SIZE_MAX;
	syncs = 0;
	if ((fd = memfd_create("joblog", MFD_CLOEXEC)) == -1 ||
	    (big = malloc(big_len)) == NULL)
		return (-1);
	for (i = 0; i < big_len; i++)
		big[i] = (uint8_t)(i * 2654435761u >> 13);
	return (0);
}

static int
teardown(void **arg)
{
	(void)arg;
	close(fd);
	free(big);
	return (0);
}

static off_t
file_size(void)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (st.st_size);
}

/* The digest as it is defined, block after block, by libsodium alone. */
static void
plain_digest(const uint8_t *all, size_t len, uint8_t digest[32])
{
	static const uint8_t whole[16] = "errand.log";
	static const uint8_t block[16] = "errand.logblock";
	uint8_t leaf[32], n[8];
	crypto_generichash_blake2b_state st;
	size_t at;

	crypto_generichash_blake2b_init_salt_personal(&st, NULL, 0, 32, NULL,
	    whole);
	for (at = 0; at < len; at += 65536) {
		crypto_generichash_blake2b_salt_personal(leaf, 32, all + at,
		    len - at < 65536 ? len - at : 65536, NULL, 0, NULL, block);
		crypto_generichash_blake2b_update(&st, leaf, 32);
	}
	le_put64(n, len);
	crypto_generichash_blake2b_update(&st, n, 8);
	crypto_generichash_blake2b_final(&st, digest, 32);
}

/* The sum agrees with the file. */
static void
check_sum(const struct joblog_sum *sum)
{
	uint8_t digest[32], *all;
	size_t len = (size_t)file_size();

	assert_int_equal(sum->file_bytes, len);
	assert_non_null(all = malloc(len + 1));
	assert_int_equal(pread(fd, all, len, 0), len);
	plain_digest(all, len, digest);
	assert_memory_equal(digest, sum->digest, 32);
	free(all);
}

/* Read all from an offset into one buffer a stream; returns the total. */
static size_t
read_all(uint64_t offset, size_t cap, uint8_t *out[2], size_t len[2])
{
	struct joblog_reader *r = joblog_reader_new(fd, offset);
	uint8_t *buf = malloc(cap), stream;
	size_t total = 0;
	ssize_t n;

	assert_non_null(r);
	assert_non_null(buf);
	len[0] = len[1] = 0;
	while ((n = joblog_read(r, &stream, buf, cap)) > 0) {
		assert_in_range(stream, JOBLOG_STDOUT, JOBLOG_STDERR);
		memcpy(out[stream - 1] + len[stream - 1], buf, (size_t)n);
		len[stream - 1] += (size_t)n;
		total += (size_t)n;
		assert_int_equal(joblog_offset(r), offset + total);
	}
	assert_int_equal(n, 0);
	joblog_reader_free(r);
	free(buf);
	return (total);
}

static void
test_plain(void **arg)
{
	struct joblog_writer *w = joblog_writer_new(fd, NO_CAP);
	struct joblog_sum sum;
	uint8_t a[64], b[64], *out[2] = { a, b };
	size_t len[2];

	(void)arg;
	assert_int_equal(joblog_write(w, JOBLOG_STDOUT, "hello ", 6), 0);
	assert_int_equal(joblog_write(w, JOBLOG_STDERR, "oops", 4), 0);
	assert_int_equal(joblog_write(w, JOBLOG_STDOUT, "world", 5), 0);
	assert_int_equal(joblog_write(w, JOBLOG_STDOUT, "", 0), 0);
	assert_int_equal(joblog_write(w, JOBLOG_MARKER, "x", 1), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(joblog_bytes(w), 15);
	assert_int_equal(joblog_finish(w, &sum), 0);
	joblog_writer_free(w);
	joblog_writer_free(NULL);
	assert_int_equal(sum.bytes, 15);
	assert_int_equal(sum.stdout_bytes, 11);
	assert_int_equal(sum.stderr_bytes, 4);
	assert_int_equal(sum.truncated, 0);
	assert_int_equal(syncs, 1);
	check_sum(&sum);
	assert_int_equal(read_all(0, 3, out, len), 15);
	assert_memory_equal(a, "hello world", 11);
	assert_memory_equal(b, "oops", 4);
}

static void
test_empty(void **arg)
{
	struct joblog_writer *w = joblog_writer_new(fd, 10);
	struct joblog_sum sum;

	(void)arg;
	assert_int_equal(joblog_finish(w, &sum), 0);
	joblog_writer_free(w);
	assert_int_equal(syncs, 0);
	assert_int_equal(sum.bytes, 0);
	check_sum(&sum);
}

/* Head, marker, and the last bytes of each stream. */
static void
test_cap(void **arg)
{
	struct joblog_writer *w = joblog_writer_new(fd, 100000);
	struct joblog_sum sum;
	uint8_t *a = malloc(big_len), *b = malloc(big_len), *out[2] = { a, b };
	size_t len[2], at;

	(void)arg;
	for (at = 0; at < big_len; at += 4096) {
		assert_int_equal(joblog_write(w, JOBLOG_STDOUT, big + at,
		    4096), 0);
		if (at % 65536 == 0)
			assert_int_equal(joblog_write(w, JOBLOG_STDERR,
			    big + at, 777), 0);
	}
	assert_int_equal(joblog_bytes(w), 100000);
	assert_true(file_size() < 101000);
	assert_int_equal(joblog_finish(w, &sum), 0);
	joblog_writer_free(w);
	assert_int_equal(sum.truncated, 1);
	assert_int_equal(sum.stdout_bytes, big_len);
	assert_int_equal(sum.stderr_bytes, 16 * 777);
	check_sum(&sum);
	assert_int_equal(read_all(0, 50000, out, len), sum.bytes);
	assert_int_equal(len[0] + len[1], sum.bytes);
	/* 98446 bytes of stdout were in the head, and 2 pieces of stderr. */
	assert_int_equal(len[1], 16 * 777);
	assert_int_equal(len[0], 100000 - 2 * 777 + JOBLOG_TAIL);
	assert_memory_equal(a, big, len[0] - JOBLOG_TAIL);
	assert_memory_equal(a + len[0] - JOBLOG_TAIL,
	    big + big_len - JOBLOG_TAIL, JOBLOG_TAIL);
	free(a);
	free(b);
}

/* When the tails hold all the rest, nothing is missing. */
static void
test_cap_just(void **arg)
{
	struct joblog_writer *w = joblog_writer_new(fd, 1000);
	struct joblog_sum sum;
	uint8_t *a = malloc(big_len), *out[2] = { a, NULL };
	size_t len[2];

	(void)arg;
	assert_int_equal(joblog_write(w, JOBLOG_STDOUT, big,
	    1000 + JOBLOG_TAIL), 0);
	assert_int_equal(joblog_finish(w, &sum), 0);
	joblog_writer_free(w);
	assert_int_equal(sum.truncated, 0);
	assert_int_equal(sum.bytes, 1000 + JOBLOG_TAIL);
	check_sum(&sum);
	assert_int_equal(read_all(0, 999, out, len), sum.bytes);
	assert_memory_equal(a, big, len[0]);
	free(a);
}

/* Tails of every length, against a plain copy. */
static void
test_tails(void **arg)
{
	static const size_t steps[] = { 1, 7, 4096, 65535, 65536, 65537,
	    200000 };
	uint8_t *a = malloc(big_len), *out[2] = { a, a };
	struct joblog_writer *w;
	struct joblog_sum sum;
	size_t len[2], i, at, n, total = 300001;

	(void)arg;
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		w = joblog_writer_new(fd, 10);
		for (at = 0; at < total; at += n) {
			n = total - at < steps[i] ? total - at : steps[i];
			assert_int_equal(joblog_write(w, JOBLOG_STDERR,
			    big + at, n), 0);
		}
		assert_int_equal(joblog_finish(w, &sum), 0);
		joblog_writer_free(w);
		check_sum(&sum);
		assert_int_equal(sum.truncated, 1);
		assert_int_equal(read_all(0, 8192, out, len), 10 + JOBLOG_TAIL);
		assert_memory_equal(a, big, 10);
		assert_memory_equal(a + 10, big + total - JOBLOG_TAIL,
		    JOBLOG_TAIL);
	}
	free(a);
}

/* A full disk leaves whole frames, and the loss is told. */
static void
test_full(void **arg)
{
	struct joblog_writer *w = joblog_writer_new(fd, NO_CAP);
	struct joblog_sum sum;
	uint8_t a[300], *out[2] = { a, a };
	size_t len[2];
	ssize_t room;

	(void)arg;
	assert_int_equal(joblog_write(w, JOBLOG_STDOUT, big, 100), 0);
	for (room = 0; room < 108; room++) {
		disk_left = room;
		errno = 0;
		assert_int_equal(joblog_write(w, JOBLOG_STDOUT, big, 100), -1);
		assert_int_equal(errno, ENOSPC);
		assert_int_equal(file_size(), 108);
		lseek(fd, 0, SEEK_END);
	}
	disk_left = -1;
	assert_int_equal(joblog_write(w, JOBLOG_STDOUT, big + 100, 100), 0);
	assert_int_equal(joblog_finish(w, &sum), 0);
	joblog_writer_free(w);
	assert_int_equal(sum.truncated, 1);
	assert_int_equal(sum.bytes, 200);
	assert_int_equal(sum.stdout_bytes, 200 + 108 * 100);
	check_sum(&sum);
	assert_int_equal(read_all(0, 300, out, len), 200);
	assert_memory_equal(a, big, 200);
}

/* Put ${len} bytes of big where the next output is read to, and add them. */
static int
add(struct joblog_writer *w, uint8_t stream, size_t at, size_t len)
{
	struct iovec iov[JOBLOG_PIECES];
	size_t i, n, done;

	joblog_room(w, iov);
	for (i = done = 0; done < len; i++, done += n) {
		assert_in_range(i, 0, JOBLOG_PIECES - 1);
		n = len - done < iov[i].iov_len ? len - done : iov[i].iov_len;
		memcpy(iov[i].iov_base, big + at + done, n);
	}
	return (joblog_add(w, stream, len));
}

/*
 * Several frames at once, as they come out of a full pipe, are the same log as
 * the same bytes in any other way; and so is their digest.
 */
static void
test_pieces(void **arg)
{
	static const size_t steps[] = { 1000, 65535, 65536, 65537, 131072,
	    300000, JOBLOG_PIECES * JOBLOG_PIECE };
	uint8_t *a = malloc(big_len), *out[2] = { a, a };
	struct joblog_writer *w;
	struct joblog_sum sum;
	size_t len[2], i, at, n;

	(void)arg;
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		most = i % 2 == 0 ? SIZE_MAX : 70001;
		w = joblog_writer_new(fd, NO_CAP);
		for (at = 0; at < big_len; at += n) {
			n = big_len - at < steps[i] ? big_len - at : steps[i];
			assert_int_equal(add(w, JOBLOG_STDOUT, at, n), 0);
			/* At once there for whoever follows. */
			assert_true((size_t)file_size() > at + n);
		}
		assert_int_equal(joblog_finish(w, &sum), 0);
		joblog_writer_free(w);
		check_sum(&sum);
		assert_int_equal(read_all(0, 65536, out, len), big_len);
		assert_memory_equal(a, big, big_len);
	}
	free(a);
}

/* The cap, and a full disk, in the midst of several frames. */
static void
test_pieces_cut(void **arg)
{
	const size_t frame = JOBLOG_HEAD + JOBLOG_PIECE, all = 300000;
	uint8_t *a = malloc(big_len), *out[2] = { a, a };
	struct joblog_writer *w;
	struct joblog_sum sum;
	size_t len[2], i;

	(void)arg;
	w = joblog_writer_new(fd, 100000);
	assert_int_equal(add(w, JOBLOG_STDERR, 0, all), 0);
	assert_int_equal(joblog_bytes(w), 100000);
	assert_int_equal(joblog_finish(w, &sum), 0);
	joblog_writer_free(w);
	check_sum(&sum);
	assert_int_equal(sum.stderr_bytes, all);
	assert_int_equal(read_all(0, 70000, out, len), 100000 + JOBLOG_TAIL);
	assert_memory_equal(a, big, 100000);
	assert_memory_equal(a + 100000, big + all - JOBLOG_TAIL, JOBLOG_TAIL);

	for (i = 0; i <= 3; i++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		w = joblog_writer_new(fd, NO_CAP);
		disk_left = (ssize_t)(i * frame + (i == 0 ? 0 : i * 100));
		assert_int_equal(add(w, JOBLOG_STDOUT, 0, all), -1);
		assert_int_equal(errno, ENOSPC);
		assert_int_equal(file_size(), i * frame);
		disk_left = -1;
		lseek(fd, 0, SEEK_END);
		assert_int_equal(add(w, JOBLOG_STDOUT, 7, 100), 0);
		assert_int_equal(joblog_finish(w, &sum), 0);
		joblog_writer_free(w);
		check_sum(&sum);
		assert_int_equal(sum.bytes, i * JOBLOG_PIECE + 100);
		assert_int_equal(sum.stdout_bytes, all + 100);
		assert_int_equal(sum.truncated, 1);
		assert_int_equal(read_all(0, 65536, out, len), sum.bytes);
		assert_memory_equal(a, big, i * JOBLOG_PIECE);
	}
	free(a);
}

/*
 * Of the definition, by another program's BLAKE2b (hashlib of Python): files of
 * none, one and just over one and nine blocks.
 */
static void
test_digest(void **arg)
{
	static const struct {
		size_t len;
		const char *hex;
	} want[] = {
		{ 0, "9da8f02c2a63d61ea2c388bfe28ea1ae"
		    "c9f55ff020261b729356e75e040cdef3" },
		{ 1, "d5a18ae43fa585189791c5b2587750e0"
		    "507a6228cb29557bc7cc972c745eb6f6" },
		{ 65536, "0b0139e4909c81facdf8faa7f613f67d"
		    "a1923d9aa9962de0ee2fa57d6dc9fd1c" },
		{ 65537, "011d0a91e708f8134cd4e158777879dd"
		    "4583f52b8963ec667e3256101707884f" },
		{ 589825, "2a90da50b4de8344c2b4541a61fa4d31"
		    "7b5a780d878d0d891342a54501ad6745" },
		{ 1048576, "b63dadfc32af82d997938b649c6fa9c8"
		    "7b77dd2beb1f8d00fe8e00bea74393fd" },
	};
	struct joblog_digest d;
	uint8_t got[32], plain[32], bin[32];
	size_t i, at;

	(void)arg;
	for (i = 0; i < big_len; i++)
		big[i] = (uint8_t)(i * i >> 7);
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(sodium_hex2bin(bin, 32, want[i].hex, 64, NULL,
		    NULL, NULL), 0);
		plain_digest(big, want[i].len, plain);
		assert_memory_equal(plain, bin, 32);
		assert_int_equal(joblog_digest_init(&d), 0);
		joblog_digest_add(&d, big, want[i].len);
		joblog_digest_final(&d, got);
		assert_memory_equal(got, bin, 32);
		/* And a block at a time. */
		assert_int_equal(joblog_digest_init(&d), 0);
		for (at = 0; at < want[i].len; at += JOBLOG_BLOCK)
			joblog_digest_add(&d, big + at, want[i].len - at <
			    JOBLOG_BLOCK ? want[i].len - at : JOBLOG_BLOCK);
		joblog_digest_final(&d, got);
		assert_memory_equal(got, bin, 32);
	}
}

/* Any offset gives the rest of what offset 0 gives. */
static void
test_offsets(void **arg)
{
	struct joblog_writer *w = joblog_writer_new(fd, 3000);
	struct joblog_sum sum;
	uint8_t *a[2], *b[2];
	size_t i, at, n, la[2], lb[2];

	(void)arg;
	for (i = 0; i < 2; i++) {
		a[i] = malloc(big_len);
		b[i] = malloc(big_len);
	}
	for (at = 0, i = 0; at < 200000; at += n, i++) {
		n = 1 + i * 37 % 900;
		assert_int_equal(joblog_write(w, (uint8_t)(1 + i % 3 / 2),
		    big + at, n), 0);
	}
	assert_int_equal(joblog_finish(w, &sum), 0);
	joblog_writer_free(w);
	assert_int_equal(sum.truncated, 1);
	read_all(0, 65536, a, la);
	for (at = 0; at <= sum.bytes; at += at < 6000 ? 1 : 997) {
		assert_int_equal(read_all(at, 5000, b, lb), sum.bytes - at);
		for (i = 0; i < 2; i++)
			assert_memory_equal(a[i] + la[i] - lb[i], b[i], lb[i]);
	}
	for (i = 0; i < 2; i++) {
		free(a[i]);
		free(b[i]);
	}
}

/* A follower of a file that grows a byte at a time. */
static void
test_follow(void **arg)
{
	uint8_t file[200] = { 0 }, buf[64], got[64], stream;
	struct joblog_reader *r = joblog_reader_new(fd, 2);
	size_t i, len = 0, have = 0;
	ssize_t n;

	(void)arg;
	file[0] = JOBLOG_STDOUT;
	le_put32(file + 4, 5);
	memcpy(file + 8, "abcde", 5);
	file[13] = JOBLOG_STDERR;
	le_put32(file + 17, 6);
	memcpy(file + 21, "fghijk", 6);
	len = 27;
	for (i = 0; i < len; i++) {
		assert_int_equal(pwrite(fd, file + i, 1, (off_t)i), 1);
		while ((n = joblog_read(r, &stream, buf, sizeof(buf))) > 0) {
			assert_int_equal(stream, have < 3 ? 1 : 2);
			memcpy(got + have, buf, (size_t)n);
			have += (size_t)n;
		}
		assert_int_equal(n, 0);
	}
	assert_int_equal(have, 9);
	assert_memory_equal(got, "cdefghijk", 9);
	assert_int_equal(joblog_offset(r), 11);
	joblog_reader_free(r);

	/* An offset beyond the end waits for the log to come there. */
	r = joblog_reader_new(fd, 1000);
	assert_int_equal(joblog_read(r, &stream, buf, sizeof(buf)), 0);
	assert_int_equal(joblog_offset(r), 1000);
	joblog_reader_free(r);
}

static void
hostile(const uint8_t *head, uint64_t offset)
{
	struct joblog_reader *r = joblog_reader_new(fd, offset);
	uint8_t buf[64], stream;

	/* One good frame, then this. */
	assert_int_equal(pwrite(fd, "\1\0\0\0\2\0\0\0ab", 10, 0), 10);
	assert_int_equal(pwrite(fd, head, 8, 10), 8);
	if (offset < 2)
		assert_int_equal(joblog_read(r, &stream, buf, sizeof(buf)),
		    2 - offset);
	errno = 0;
	assert_int_equal(joblog_read(r, &stream, buf, sizeof(buf)), -1);
	assert_int_equal(errno, EPROTO);
	assert_int_equal(joblog_read(r, &stream, buf, sizeof(buf)), -1);
	joblog_reader_free(r);
}

/* Splice what can be, read the rest; 1 for each piece that was spliced. */
static size_t
splice_all(uint64_t offset, uint8_t *out, size_t *len)
{
	struct joblog_reader *r = joblog_reader_new(fd, offset);
	size_t spliced = 0;
	uint8_t stream;
	ssize_t n;
	int p[2];

	assert_int_equal(pipe2(p, O_NONBLOCK), 0);
	assert_true(fcntl(p[1], F_SETPIPE_SZ, 262144) > 0);
	*len = 0;
	for (;;) {
		n = joblog_splice(r, &stream, p[1], 65536);
		if (n > 0) {
			assert_int_equal(read(p[0], out + *len, (size_t)n), n);
			spliced++;
		} else if ((n = joblog_read(r, &stream, out + *len,
		    65536)) <= 0)
			break;
		assert_int_equal(stream, JOBLOG_STDOUT);
		*len += (size_t)n;
		assert_int_equal(joblog_offset(r), offset + *len);
	}
	assert_int_equal(n, 0);
	close(p[0]);
	close(p[1]);
	joblog_reader_free(r);
	return (spliced);
}

/* By whatever way, the same bytes: long and short pieces, from any offset. */
static void
test_splice(void **arg)
{
	static const size_t pieces[] = { 65536, 3, 65536, 65536, 20000, 100,
	    16384, 16383, 1, 65536 };
	static const uint64_t froms[] = { 0, 1, 65535, 65536, 65539, 100000,
	    216000, 250000 };
	struct joblog_writer *w = joblog_writer_new(fd, NO_CAP);
	struct joblog_sum sum;
	uint8_t *out;
	size_t i, len, total = 0;

	(void)arg;
	for (i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		assert_int_equal(joblog_write(w, JOBLOG_STDOUT, big + total,
		    pieces[i]), 0);
		total += pieces[i];
	}
	assert_int_equal(joblog_finish(w, &sum), 0);
	joblog_writer_free(w);
	assert_non_null(out = malloc(total + 65536));
	for (i = 0; i < sizeof(froms) / sizeof(froms[0]); i++) {
		assert_true(splice_all(froms[i], out, &len) > 0);
		assert_int_equal(len, total - froms[i]);
		assert_memory_equal(out, big + froms[i], len);
	}
	free(out);
}

/* A frame that is not whole may be cut off and its place used again. */
static void
test_splice_torn(void **arg)
{
	struct joblog_reader *r = joblog_reader_new(fd, 0);
	uint8_t head[JOBLOG_HEAD] = { JOBLOG_STDOUT }, stream, *out;
	ssize_t n;
	int p[2];

	(void)arg;
	assert_int_equal(pipe2(p, O_NONBLOCK), 0);
	le_put32(head + 4, 65536);
	assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
	assert_int_equal(write(fd, big, 65535), 65535);
	assert_int_equal(joblog_splice(r, &stream, p[1], 65536), 0);
	assert_int_equal(joblog_splice(r, &stream, p[1], 65536), 0);
	assert_int_equal(joblog_offset(r), 0);
	assert_int_equal(write(fd, big + 65535, 1), 1);
	assert_int_equal(joblog_splice(r, &stream, p[1], 20000), 20000);
	assert_int_equal(joblog_offset(r), 20000);
	assert_int_equal(stream, JOBLOG_STDOUT);

	/* It waits for no room. */
	while (joblog_splice(r, &stream, p[1], 16384) > 0)
		assert_true(joblog_offset(r) <= 65536);
	assert_true(joblog_offset(r) < 65536);

	/* Read, it ends where it ends, so that the next is spliced again. */
	assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
	assert_int_equal(write(fd, big, 65536), 65536);
	assert_non_null(out = malloc(131072));
	while (joblog_offset(r) < 65536) {
		n = joblog_read(r, &stream, out, 131072);
		assert_true(n > 0);
	}
	assert_int_equal(joblog_offset(r), 65536);
	free(out);
	close(p[0]);
	close(p[1]);
	joblog_reader_free(r);
}

static void
test_hostile(void **arg)
{
	static const uint8_t bad[][8] = {
		{ 0, 0, 0, 0, 1, 0, 0, 0 },
		{ 4, 0, 0, 0, 1, 0, 0, 0 },
		{ 255, 255, 255, 255, 255, 255, 255, 255 },
		{ 1, 1, 0, 0, 1, 0, 0, 0 },
		{ 1, 0, 1, 0, 1, 0, 0, 0 },
		{ 1, 0, 0, 1, 1, 0, 0, 0 },
		{ 1, 0, 0, 0, 0, 0, 0, 0 },
		{ 2, 0, 0, 0, 1, 0, 1, 0 },
		{ 1, 0, 0, 0, 255, 255, 255, 255 },
	};
	uint8_t buf[8], stream;
	struct joblog_reader *r;
	size_t i;

	(void)arg;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		hostile(bad[i], 0);
		hostile(bad[i], 1);
		hostile(bad[i], 2);
		hostile(bad[i], 77);
	}
	/* There is one marker at most. */
	assert_int_equal(pwrite(fd, "\3\0\0\0\1\0\0\0x\3\0\0\0\1\0\0\0x", 18,
	    0), 18);
	r = joblog_reader_new(fd, 0);
	assert_int_equal(joblog_read(r, &stream, buf, sizeof(buf)), -1);
	assert_int_equal(errno, EPROTO);
	joblog_reader_free(r);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return ((double)t.tv_sec + (double)t.tv_nsec / 1e9);
}

/* Not a limit, a figure. */
static void
test_speed(void **arg)
{
	struct joblog_writer *w = joblog_writer_new(fd, NO_CAP);
	struct joblog_reader *r;
	struct joblog_sum sum;
	uint8_t stream;
	ssize_t n;
	double a, b, c;
	int i;

	(void)arg;
	a = now();
	for (i = 0; i < 256 * 16; i++)
		assert_int_equal(joblog_write(w, JOBLOG_STDOUT, big, 65536), 0);
	assert_int_equal(joblog_finish(w, &sum), 0);
	joblog_writer_free(w);
	b = now();
	r = joblog_reader_new(fd, 0);
	while ((n = joblog_read(r, &stream, big, 262144)) > 0)
		continue;
	assert_int_equal(n, 0);
	assert_int_equal(joblog_offset(r), 256u << 20);
	joblog_reader_free(r);
	c = now();
	printf("# write %.0f MiB/s, read %.0f MiB/s\n", 256 / (b - a),
	    256 / (c - b));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_plain), T(test_empty), T(test_cap), T(test_cap_just),
		T(test_tails), T(test_full), T(test_offsets), T(test_follow),
		T(test_hostile), T(test_pieces), T(test_pieces_cut),
		T(test_splice), T(test_splice_torn),
		T(test_digest), T(test_speed),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
