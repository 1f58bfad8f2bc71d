#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "lib/io.h"
#include "lib/le.h"
#include "lib/objrec.h"
#include "worker-store/pack.h"
#include "worker-store/pack_walk.h"

#define TENANT  0x01020304

static const uint8_t key[PACK_KEY_LEN] = "a key of this test";
static int sync_error;          /* what the next fdatasync fails with */
static int write_error;

int __real_fdatasync(int);
int
__wrap_fdatasync(int fd)
{
	if (sync_error == 0)
		return (__real_fdatasync(fd));
	errno = sync_error;
	sync_error = 0;
	return (-1);
}

int __real_io_pwrite(int, const void *, size_t, off_t);
int
__wrap_io_pwrite(int fd, const void *buf, size_t len, off_t off)
{
	if (write_error == 0)
		return (__real_io_pwrite(fd, buf, len, off));
	errno = write_error;
	write_error = 0;
	return (-1);
}

struct dir {
	char path[64];
	int fd;
	struct packs *ps;
};

static int
setup(void **state)
{
	struct dir *d = calloc(1, sizeof(*d));

	assert_non_null(d);
	(void)strcpy(d->path, "/tmp/errand-pack-XXXXXX");
	assert_non_null(mkdtemp(d->path));
	d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(d->fd != -1);
	assert_non_null(d->ps = packs_open(d->fd, key));
	assert_int_equal(packs_begin(d->ps, 1), 0);
	packs_use(d->ps);
	*state = d;
	return (0);
}

static int
teardown(void **state)
{
	struct dir *d = *state;

	packs_close(d->ps);
	close(d->fd);
	assert_int_equal(io_remove_tree(AT_FDCWD, d->path), 0);
	free(d);
	return (0);
}

static struct obj_ref
append(struct dir *d, const void *buf, size_t len, struct pack_loc *loc)
{
	struct obj_ref ref;

	assert_int_equal(obj_ref_of(OBJ_CHUNK, buf, len, &ref), 0);
	assert_int_equal(pack_append(d->ps, TENANT, &ref, buf, len, loc), 0);
	return (ref);
}

static void
test_read_back(void **state)
{
	struct dir *d = *state;
	uint8_t text[3000], noise[OBJ_MAX], raw[OBJ_MAX];
	struct pack_loc a, b, c;
	struct obj_ref ra, rb, rc;

	memset(text, 'e', sizeof(text));
	randombytes_buf(noise, sizeof(noise));
	ra = append(d, text, sizeof(text), &a);
	rb = append(d, noise, sizeof(noise), &b);
	rc = append(d, "x", 1, &c);
	assert_int_equal(a.off, PACK_HEAD);
	assert_int_equal(a.codec, OBJREC_ZSTD);
	assert_true(a.len < 200);
	assert_int_equal(b.codec, OBJREC_RAW);
	assert_int_equal(b.off, a.off + PACK_REC_HEAD + a.len);
	assert_int_equal(pack_write(d->ps), 0);
	assert_int_equal(pack_read(d->ps, TENANT, &ra, &a, raw), 0);
	assert_memory_equal(raw, text, sizeof(text));
	assert_int_equal(pack_read(d->ps, TENANT, &rb, &b, raw), 0);
	assert_memory_equal(raw, noise, sizeof(noise));
	assert_int_equal(pack_read(d->ps, TENANT, &rc, &c, raw), 0);
	/* Another tenant's, another's place, another length: not this one. */
	assert_int_equal(pack_read(d->ps, TENANT + 1, &ra, &a, raw), -1);
	assert_int_equal(errno, EBADMSG);
	assert_int_equal(pack_read(d->ps, TENANT, &ra, &c, raw), -1);
	c.raw_len = c.len = 2;
	assert_int_equal(pack_read(d->ps, TENANT, &rc, &c, raw), -1);
	c.pack = 9;
	assert_int_equal(pack_read(d->ps, TENANT, &rc, &c, raw), -1);
	assert_int_equal(errno, EBADMSG);
}

/* Every bit of a header is covered, and so is its place. */
static void
test_header(void **state)
{
	struct pack_rec rec = { .tenant = TENANT, .codec = OBJREC_RAW }, got;
	uint8_t head[PACK_REC_HEAD];
	size_t i;

	(void)state;
	assert_int_equal(obj_ref_of(OBJ_CHUNK, "abc", 3, &rec.ref), 0);
	rec.raw_len = rec.len = 3;
	pack_rec_encode(&rec, (const uint8_t *)"abc", key, 3, 1000, head);
	assert_int_equal(pack_rec_decode(head, key, 3, 1000, &got), 0);
	assert_int_equal(got.tenant, TENANT);
	assert_true(obj_ref_equal(&got.ref, &rec.ref));
	assert_int_equal(pack_rec_verify(head, &got, (const uint8_t *)"abc"),
	    0);
	for (i = 0; i < 8 * sizeof(head); i++) {
		head[i / 8] ^= (uint8_t)(1 << i % 8);
		assert_int_equal(pack_rec_decode(head, key, 3, 1000, &got),
		    -1);
		head[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	assert_int_equal(pack_rec_decode(head, key, 2, 1000, &got), -1);
	assert_int_equal(pack_rec_decode(head, key, 3, 1001, &got), -1);
	assert_int_equal(pack_rec_decode(head, (const uint8_t *)
	    "another key of the same length...", 3, 1000, &got), -1);
	/* Compressed bytes have a checksum of their own. */
	rec.codec = OBJREC_ZSTD;
	pack_rec_encode(&rec, (const uint8_t *)"abc", key, 3, 1000, head);
	assert_int_equal(pack_rec_verify(head, &rec, (const uint8_t *)"abc"),
	    0);
	assert_int_equal(pack_rec_verify(head, &rec, (const uint8_t *)"abd"),
	    -1);
}

static void
test_file_header(void **state)
{
	uint8_t head[PACK_HEAD];

	(void)state;
	pack_head_encode(7, key, head);
	assert_int_equal(pack_head_check(head, 7, key), 0);
	assert_int_equal(pack_head_check(head, 8, key), -1);
	assert_int_equal(errno, EBADMSG);
	/* A newer version is one by its MAC; else it is damage. */
	le_put32(head + 8, PACK_VERSION + 1);
	assert_int_equal(pack_head_check(head, 7, key), -1);
	assert_int_equal(errno, EBADMSG);
	pack_head_seal(7, key, head);
	assert_int_equal(pack_head_check(head, 7, key), -1);
	assert_int_equal(errno, EPROTONOSUPPORT);
}

/* The record behind damaged headers, where it lies across two looks for it. */
static void
test_hunt(void **state)
{
	struct dir *d = *state;
	const uint64_t far = PACK_HEAD + 1 + 128 * 1024;
	uint8_t noise[60000];
	struct pack_loc locs[4];
	struct pack_walk w;
	int fd, found, i;

	randombytes_buf(noise, sizeof(noise));
	(void)append(d, noise, 60000, &locs[0]);
	(void)append(d, noise + 1, 59999, &locs[1]);
	(void)append(d, noise, far - 40 - packs_end(d->ps) - PACK_REC_HEAD,
	    &locs[2]);
	(void)append(d, noise, 500, &locs[3]);
	assert_int_equal(locs[3].off, far - 40);
	assert_int_equal(pack_sync(d->ps), 0);
	assert_true((fd = openat(d->fd, "packs/00000001.pack", O_RDWR |
	    O_CLOEXEC)) != -1);
	for (i = 0; i < 3; i++)
		assert_int_equal(io_pwrite(fd, "?", 1, (off_t)locs[i].off), 0);
	close(fd);
	assert_int_equal(pack_walk_open(&w, d->ps, 1, 0, 1), 0);
	while ((found = pack_walk_next(&w)) == PACK_ON)
		continue;
	assert_int_equal(found, PACK_BAD_HEAD);
	assert_int_equal(w.next, locs[3].off);
	assert_int_equal(pack_walk_next(&w), PACK_RECORD);
	assert_int_equal(pack_walk_next(&w), PACK_END);
	assert_int_equal(w.unreachable, 0);
	pack_walk_done(&w);
}

/*
 * Headers get their MACs together, when they are written: what was forgotten
 * before gets none, for there are other bytes in its place.
 */
static void
test_rewind_unwritten(void **state)
{
	struct dir *d = *state;
	uint8_t noise[3000], raw[OBJ_MAX];
	struct obj_ref refs[40];
	struct pack_loc locs[40];
	uint64_t end;
	size_t i;

	randombytes_buf(noise, sizeof(noise));
	refs[0] = append(d, "kept", 4, &locs[0]);
	end = packs_end(d->ps);
	for (i = 1; i < 40; i++)
		refs[i] = append(d, noise, i, &locs[i]);
	pack_rewind(d->ps, end);
	assert_int_equal(packs_end(d->ps), end);
	refs[1] = append(d, noise, sizeof(noise), &locs[1]);
	assert_int_equal(locs[1].off, end);
	refs[2] = append(d, noise + 1, sizeof(noise) - 1, &locs[2]);
	assert_int_equal(pack_write(d->ps), 0);
	for (i = 0; i < 3; i++)
		assert_int_equal(pack_read(d->ps, TENANT, &refs[i], &locs[i],
		    raw), 0);
	assert_memory_equal(raw, noise + 1, sizeof(noise) - 1);
}

static void
test_rewind(void **state)
{
	struct dir *d = *state;
	struct pack_loc a, b;
	struct obj_ref ra, rb;
	uint8_t raw[OBJ_MAX];
	uint64_t end;

	ra = append(d, "first", 5, &a);
	end = packs_end(d->ps);
	/* From the buffer, and from the file. */
	(void)append(d, "second", 6, &b);
	pack_rewind(d->ps, end);
	assert_int_equal(packs_end(d->ps), end);
	(void)append(d, "second", 6, &b);
	assert_int_equal(pack_write(d->ps), 0);
	pack_rewind(d->ps, end);
	assert_int_equal(packs_end(d->ps), end);
	rb = append(d, "third", 5, &b);
	assert_int_equal(b.off, end);
	assert_int_equal(pack_sync(d->ps), 0);
	assert_int_equal(packs_unsynced(d->ps), 0);
	assert_int_equal(pack_read(d->ps, TENANT, &ra, &a, raw), 0);
	assert_int_equal(pack_read(d->ps, TENANT, &rb, &b, raw), 0);
}

/* What a failed flush leaves is what was committed. */
static void
test_failed_flush(void **state)
{
	struct dir *d = *state;
	struct pack_loc a, b;
	struct obj_ref ra, rb;
	uint8_t raw[OBJ_MAX];
	uint64_t end, flushes;

	ra = append(d, "kept", 4, &a);
	assert_int_equal(pack_sync(d->ps), 0);
	pack_committed(d->ps);
	end = packs_end(d->ps);
	flushes = packs_flushes(d->ps);
	assert_int_equal(pack_sync(d->ps), 0);
	assert_int_equal(packs_flushes(d->ps), flushes);
	rb = append(d, "lost", 4, &b);
	sync_error = EIO;
	assert_int_equal(pack_sync(d->ps), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(packs_end(d->ps), end);
	assert_int_equal(pack_read(d->ps, TENANT, &rb, &b, raw), -1);
	(void)append(d, "lost", 4, &b);
	write_error = ENOSPC;
	assert_int_equal(pack_sync(d->ps), -1);
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(packs_end(d->ps), end);
	rb = append(d, "lost", 4, &b);
	assert_int_equal(pack_sync(d->ps), 0);
	assert_int_equal(pack_read(d->ps, TENANT, &ra, &a, raw), 0);
	assert_int_equal(pack_read(d->ps, TENANT, &rb, &b, raw), 0);
}

static void
test_attach(void **state)
{
	struct dir *d = *state;
	struct pack_loc a, b;
	struct obj_ref ra, rb;
	uint8_t raw[OBJ_MAX];
	uint64_t end;

	ra = append(d, "kept", 4, &a);
	assert_int_equal(pack_sync(d->ps), 0);
	end = packs_end(d->ps);
	rb = append(d, "never committed", 15, &b);
	assert_int_equal(pack_sync(d->ps), 0);
	packs_close(d->ps);
	assert_non_null(d->ps = packs_open(d->fd, key));
	assert_int_equal(packs_attach(d->ps, 1, end, 0), 0);
	assert_int_equal(packs_end(d->ps), end);
	assert_int_equal(pack_read(d->ps, TENANT, &ra, &a, raw), 0);
	assert_int_equal(pack_read(d->ps, TENANT, &rb, &b, raw), -1);
	packs_close(d->ps);
	/* Shorter than the index counts on, or not there: begin another. */
	assert_non_null(d->ps = packs_open(d->fd, key));
	assert_int_equal(packs_attach(d->ps, 1, end + 1, 0), 1);
	assert_true(packs_full(d->ps));
	assert_int_equal(packs_attach(d->ps, 2, PACK_HEAD, 0), 1);
	assert_int_equal(packs_check(d->ps, 1, end), 0);
	assert_int_equal(packs_check(d->ps, 1, end + 1), 1);
	assert_int_equal(packs_check(d->ps, 2, 0), 1);
	/* Another key's. */
	packs_close(d->ps);
	assert_non_null(d->ps = packs_open(d->fd, (const uint8_t *)
	    "another key of the same length..."));
	assert_int_equal(packs_attach(d->ps, 1, end, 0), 1);
}

static void
test_prune(void **state)
{
	struct dir *d = *state;
	struct pack_loc a;
	uint32_t last;

	assert_int_equal(packs_prune(d->ps, 1), 0);
	assert_int_equal(packs_begin(d->ps, 2), 0);
	assert_int_equal(packs_last(d->ps, &last), 0);
	assert_int_equal(last, 2);
	assert_int_equal(packs_prune(d->ps, 1), 0);
	assert_int_equal(packs_last(d->ps, &last), 0);
	assert_int_equal(last, 1);
	/* One that has records is not thrown away. */
	assert_int_equal(packs_begin(d->ps, 2), 0);
	packs_use(d->ps);
	(void)append(d, "x", 1, &a);
	assert_int_equal(pack_sync(d->ps), 0);
	assert_int_equal(packs_prune(d->ps, 1), -1);
	assert_int_equal(packs_last(d->ps, &last), 0);
	assert_int_equal(last, 2);
}

/* A pack's name goes at once, its blocks in pieces that take no long time. */
static void
test_remove(void **state)
{
	struct dir *d = *state;
	const uint64_t len = 200ULL << 20;
	struct stat sb;
	char path[100];
	int fd, pieces;

	assert_int_equal(packs_begin(d->ps, 2), 0);
	packs_use(d->ps);
	(void)snprintf(path, sizeof(path), "%s/packs/00000001.pack", d->path);
	assert_true((fd = open(path, O_RDWR)) != -1);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	assert_int_equal(packs_shrink(d->ps), 0);
	assert_int_equal(packs_remove(d->ps, 1), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(fstat(fd, &sb), 0);
	assert_int_equal(sb.st_size, len);
	for (pieces = 1; packs_shrink(d->ps); pieces++) {
		assert_int_equal(fstat(fd, &sb), 0);
		assert_true((uint64_t)sb.st_size < len);
		assert_true(pieces < 100);
	}
	assert_true(pieces >= 10);
	assert_int_equal(packs_shrink(d->ps), 0);
	close(fd);
	/* What is not there needs no removing. */
	assert_int_equal(packs_remove(d->ps, 1), 0);
	assert_int_equal(packs_shrink(d->ps), 0);
}

/* More packs than are held open, read in turns. */
static void
test_many_packs(void **state)
{
	struct dir *d = *state;
	struct pack_loc locs[100];
	struct obj_ref refs[100];
	uint8_t raw[OBJ_MAX];
	uint32_t i, k;

	for (i = 0; i < 100; i++) {
		if (i > 0) {
			assert_int_equal(packs_begin(d->ps, i + 1), 0);
			packs_use(d->ps);
		}
		refs[i] = append(d, &i, sizeof(i), &locs[i]);
		assert_int_equal(locs[i].pack, i + 1);
		assert_int_equal(pack_sync(d->ps), 0);
	}
	for (k = 0; k < 300; k++) {
		i = k * 37 % 100;
		assert_int_equal(pack_read(d->ps, TENANT, &refs[i], &locs[i],
		    raw), 0);
	}
}

static void
test_full(void **state)
{
	struct dir *d = *state;
	uint8_t noise[OBJ_MAX];
	struct pack_loc loc;
	struct obj_ref ref;
	uint64_t end;
	uint32_t i;

	randombytes_buf(noise, sizeof(noise));
	assert_int_equal(obj_ref_of(OBJ_CHUNK, noise, sizeof(noise), &ref), 0);
	for (i = 0; !packs_full(d->ps); i++)
		assert_int_equal(pack_append(d->ps, TENANT, &ref, noise,
		    sizeof(noise), &loc), 0);
	assert_true(packs_end(d->ps) < PACK_FILE_MAX - 32 * 1024 * 1024);
	/* There is still room for a batch; then there is an end. */
	while (pack_append(d->ps, TENANT, &ref, noise, sizeof(noise),
	    &loc) == 0)
		continue;
	assert_int_equal(errno, ENOSPC);
	end = packs_end(d->ps);
	assert_true(end <= PACK_FILE_MAX);
	assert_int_equal(pack_write(d->ps), 0);
	assert_int_equal(pack_read(d->ps, TENANT, &ref, &loc, noise), 0);
	assert_int_equal(packs_end(d->ps), end);
}

static int
pack_there(const struct dir *d, unsigned int number)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "packs/%08u.pack", number);
	return (faccessat(d->fd, name, F_OK, 0) == 0);
}

/* What is not named goes, from the oldest on, up to what cannot go. */
static void
test_sweep(void **state)
{
	const uint32_t named[] = { 1, 4 };
	struct dir *d = *state;
	unsigned int i;

	for (i = 2; i <= 7; i++) {
		assert_int_equal(packs_begin(d->ps, i), 0);
		packs_use(d->ps);
	}
	assert_int_equal(unlinkat(d->fd, "packs/00000003.pack", 0), 0);
	assert_int_equal(mkdirat(d->fd, "packs/00000003.pack", 0700), 0);
	assert_int_equal(packs_sweep(d->ps, named, 2, 7), -1);
	for (i = 1; i <= 7; i++)
		assert_int_equal(pack_there(d, i), i != 2);
	assert_int_equal(unlinkat(d->fd, "packs/00000003.pack", AT_REMOVEDIR),
	    0);
	assert_int_equal(packs_sweep(d->ps, named, 2, 7), 0);
	for (i = 1; i <= 7; i++)
		assert_int_equal(pack_there(d, i), i == 1 || i == 4 || i == 7);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_read_back),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_file_header),
		TEST(test_hunt),
		TEST(test_rewind),
		TEST(test_rewind_unwritten),
		TEST(test_failed_flush),
		TEST(test_attach),
		TEST(test_prune),
		TEST(test_many_packs),
		TEST(test_remove),
		TEST(test_sweep),
		TEST(test_full),
	};

	if (sodium_init() == -1)
		return (1);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
