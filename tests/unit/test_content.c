#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "content.h"
#include "le.h"
#include "list.h"
#include "objset.h"

#define KIB     1024
#define MIB     (1024 * 1024)
#define HELLO   "hello, world\n"

static int
mem_file(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd != -1);
	return (fd);
}

static void
put(int fd, const void *buf, size_t len, off_t off)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = pwrite(fd, (const uint8_t *)buf + done, len - done,
		    off + (off_t)done);
		assert_true(n > 0);
		done += (size_t)n;
	}
}

struct pieces {
	uint8_t *buf;
	uint64_t len;
	uint64_t zeros;
	int stop;
};

static int
take_piece(void *cookie, const uint8_t *buf, uint64_t len)
{
	struct pieces *p = cookie;

	if (buf == NULL) {
		p->zeros += len;
		if (p->buf != NULL)
			memset(p->buf + p->len, 0, len);
	} else if (p->buf != NULL)
		memcpy(p->buf + p->len, buf, len);
	p->len += len;
	return (p->stop);
}

/* Encode ${buf}, read it back and compare; return the reference. */
static struct obj_ref
round_trip(struct objset *s, const uint8_t *buf, size_t len)
{
	struct pieces p = { .buf = malloc(len + 1) };
	struct obj_ref ref, dry;

	assert_int_equal(content_from_mem(buf, len, objset_put, s, &ref), 0);
	assert_int_equal(content_from_mem(buf, len, NULL, NULL, &dry), 0);
	assert_true(obj_ref_equal(&ref, &dry));
	assert_int_equal(content_read(&ref, objset_get, s, take_piece, &p), 0);
	assert_int_equal(p.len, len);
	assert_memory_equal(p.buf, buf, len);
	free(p.buf);
	return (ref);
}

static void
test_vectors(void **state)
{
	struct objset s = { .n = 0 };
	uint8_t *buf = calloc(1, MIB);
	struct obj_ref ref;

	(void)state;
	ref = round_trip(&s, buf, 0);
	assert_int_equal(ref.kind, OBJ_NONE);
	ref = round_trip(&s, (const uint8_t *)HELLO, 13);
	assert_int_equal(ref.kind, OBJ_CHUNK);
	assert_id(&ref, "9619b4e7335366919878b43a1ab91dfb"
	    "5b7e8edd8b804bf5b00da32ac11d6675");
	ref = round_trip(&s, buf, CONTENT_ZERO_MIN - 1);
	assert_int_equal(ref.kind, OBJ_CHUNK);
	ref = round_trip(&s, buf, CONTENT_ZERO_MIN);
	assert_int_equal(ref.kind, OBJ_LIST);
	assert_id(&ref, "d1c16b07b3a5c02c7d2a7deabe7bfd2a"
	    "420fefb253cf98f525d17b735e7c15f1");
	memcpy(buf + CONTENT_ZERO_MIN, HELLO, 13);
	ref = round_trip(&s, buf, CONTENT_ZERO_MIN + 13);
	assert_id(&ref, "c9fd9151f844478be17fcbd7c52f6f54"
	    "3db41fe879331003d4c772e3ec5513f3");
	lcg_fill(buf, MIB);
	objset_mark(&s);
	ref = round_trip(&s, buf, MIB);
	assert_int_equal(s.added, 30);
	assert_id(&ref, "3845740e92309281ef16b5b467f8497d"
	    "c7a33db6ff1ba146a021e4c6ba6c0117");
	memset(buf + 300000, 0, 20000);
	ref = round_trip(&s, buf, MIB);
	assert_id(&ref, "b568e4e9dca4c2ae4493e9fd7f24b85f"
	    "44cedf9ae5133b036649b383c46c2c55");
	free(buf);
	objset_done(&s);
}

/* The content of a file is that of its bytes; written back it is the file. */
static void
check_file(int fd, const uint8_t *buf, size_t len, const struct obj_ref *want,
    struct objset *s)
{
	uint8_t *back = malloc(len + 1);
	struct obj_ref ref;
	struct stat st;
	uint64_t size;
	int out;

	assert_int_equal(content_from_fd(fd, objset_put, s, &ref, &size), 0);
	assert_int_equal(size, len);
	assert_true(obj_ref_equal(&ref, want));
	out = mem_file();
	assert_int_equal(content_to_fd(&ref, len, objset_get, s, out), 0);
	assert_int_equal(fstat(out, &st), 0);
	assert_int_equal(st.st_size, len);
	assert_int_equal(pread(out, back, len, 0), len);
	assert_memory_equal(back, buf, len);
	close(out);
	free(back);
}

/* Random bytes with runs of zeros of lengths about the limit and beyond. */
static size_t
random_content(uint64_t *seed, uint8_t *buf, size_t room)
{
	static const size_t run[] = { 100, 4096, CONTENT_ZERO_MIN - 1,
	    CONTENT_ZERO_MIN, CONTENT_ZERO_MIN + 1, 70000, 300000, 1500000 };
	size_t len = 0, n;

	for (;;) {
		n = rnd(seed) % 3 == 0 ? rnd(seed) % 400000 : rnd(seed) % 9000;
		if (n > room - len)
			break;
		rnd_fill(seed, buf + len, n);
		len += n;
		n = run[rnd(seed) % (sizeof(run) / sizeof(run[0]))];
		if (n > room - len)
			break;
		memset(buf + len, 0, n);
		len += n;
	}
	return (len);
}

/* Write only the pages that are not zero. */
static void
put_sparse(int fd, const uint8_t *buf, size_t len)
{
	static const uint8_t zero[4096];
	size_t off, n;

	for (off = 0; off < len; off += n) {
		n = len - off < sizeof(zero) ? len - off : sizeof(zero);
		if (memcmp(buf + off, zero, n) != 0)
			put(fd, buf + off, n, (off_t)off);
	}
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
}

static void
test_files(void **state)
{
	struct objset s = { .n = 0 };
	size_t room = 5 * MIB, len;
	uint8_t *buf = malloc(room);
	uint64_t seed;
	struct obj_ref ref;
	int fd;

	(void)state;
	for (seed = 1; seed <= 24; seed++) {
		uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15);

		len = random_content(&x, buf, seed < 8 ? 200 * KIB : room);
		ref = round_trip(&s, buf, len);
		fd = mem_file();
		put(fd, buf, len, 0);
		check_file(fd, buf, len, &ref, &s);
		close(fd);
		fd = mem_file();
		put_sparse(fd, buf, len);
		check_file(fd, buf, len, &ref, &s);
		close(fd);
	}
	free(buf);
	objset_done(&s);
}

/* Where two stretches meet a run: every length about every limit. */
static void
test_edges(void **state)
{
	static const size_t edge[] = { 1, 8191, 8192, 8193, 16383, 16384,
	    16385, 65519, 65520, 65521, 65535, 65536, 65537, 81903, 81904,
	    81905, MIB - 1, MIB, MIB + 1 };
	const size_t n = sizeof(edge) / sizeof(edge[0]);
	uint8_t *buf = malloc(3 * MIB);
	struct objset s = { .n = 0 };
	struct obj_ref ref;
	uint64_t seed = 5;
	size_t i, j, len;
	int fd;

	(void)state;
	for (i = 0; i < n; i++) {
		for (j = 0; j < 8; j++) {
			len = edge[i] + edge[j] + 1;
			rnd_fill(&seed, buf, edge[i]);
			memset(buf + edge[i], 0, edge[j]);
			buf[len - 1] = 1;
			ref = round_trip(&s, buf, len);
			fd = mem_file();
			put(fd, buf, len, 0);
			check_file(fd, buf, len, &ref, &s);
			close(fd);
			ref = round_trip(&s, buf, len - 1);
		}
	}
	free(buf);
	objset_done(&s);
}

static void
test_insertion(void **state)
{
	const size_t len = 64 * MIB;
	uint8_t *buf = malloc(len + 1);
	struct objset s = { .n = 0 };
	struct obj_ref ref;
	uint64_t seed = 11;

	(void)state;
	rnd_fill(&seed, buf + 1, len);
	assert_int_equal(content_from_mem(buf + 1, len, objset_put, &s,
	    &ref), 0);
	buf[0] = 'x';
	objset_mark(&s);
	assert_int_equal(content_from_mem(buf, len + 1, objset_put, &s,
	    &ref), 0);
	/* The first chunks, the list of them, and the list of lists. */
	assert_in_range(s.added, 2, 6);
	assert_in_range(s.bytes, 1, 300 * KIB);
	/* A byte changed in the middle. */
	objset_mark(&s);
	buf[len / 2] ^= 1;
	assert_int_equal(content_from_mem(buf, len + 1, objset_put, &s,
	    &ref), 0);
	assert_in_range(s.added, 2, 6);
	free(buf);
	objset_done(&s);
}

static double
cpu_seconds(void)
{
	struct rusage ru;

	assert_int_equal(getrusage(RUSAGE_SELF, &ru), 0);
	return ((double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
	    (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6);
}

static void
test_sparse(void **state)
{
	const uint64_t len = UINT64_C(5) << 30;
	struct objset s = { .n = 0 };
	struct pieces p = { .zeros = 0 };
	struct obj_ref ref;
	struct stat st;
	uint64_t size;
	double t = cpu_seconds();
	int fd = mem_file(), out = mem_file();

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	put(fd, "x", 1, 12345);
	put(fd, "y", 1, (off_t)(len / 2 + 77));
	assert_int_equal(content_from_fd(fd, objset_put, &s, &ref, &size), 0);
	assert_int_equal(size, len);
	assert_int_equal(content_read(&ref, objset_get, &s, take_piece,
	    &p), 0);
	assert_int_equal(p.len, len);
	assert_in_range(p.zeros, len - 100 * KIB, len - 2);
	/* It comes back as holes. */
	assert_int_equal(content_to_fd(&ref, len, objset_get, &s, out), 0);
	assert_int_equal(fstat(out, &st), 0);
	assert_int_equal(st.st_size, len);
	assert_in_range(st.st_blocks, 1, 1000);
	assert_true(cpu_seconds() - t < 1.0);
	close(fd);
	close(out);
	objset_done(&s);
}

struct meddler {
	struct objset s;
	int fd;
	off_t size;             /* to give the file at the first chunk */
};

static int
meddle(void *cookie, const struct obj_ref *ref, const void *buf, size_t len)
{
	struct meddler *m = cookie;

	if (m->size != -1)
		assert_int_equal(ftruncate(m->fd, m->size), 0);
	m->size = -1;
	return (objset_put(&m->s, ref, buf, len));
}

/* A file that changes its size while it is read: what was read is told. */
static void
test_moving(void **state)
{
	static const off_t to[] = { 0, 1, 100000, MIB, MIB + 1, 2 * MIB,
	    9 * MIB };
	uint8_t *buf = malloc(4 * MIB);
	struct pieces p = { .buf = malloc(10 * MIB) };
	struct meddler m = { .fd = -1 };
	struct obj_ref ref;
	uint64_t size, seed = 3;
	size_t i;
	int holes;

	(void)state;
	rnd_fill(&seed, buf, 4 * MIB);
	for (i = 0; i < 2 * sizeof(to) / sizeof(to[0]); i++) {
		holes = i & 1;
		m.fd = mem_file();
		put(m.fd, buf, 4 * MIB, 0);
		if (holes)
			assert_int_equal(ftruncate(m.fd, 8 * MIB), 0);
		m.size = to[i / 2];
		assert_int_equal(content_from_fd(m.fd, meddle, &m, &ref,
		    &size), 0);
		assert_in_range(size, 1, holes ? 8 * MIB : 4 * MIB);
		p.len = 0;
		assert_int_equal(content_read(&ref, objset_get, &m.s,
		    take_piece, &p), 0);
		assert_int_equal(p.len, size);
		/* The first window had been read before. */
		assert_memory_equal(p.buf, buf, MIB);
		close(m.fd);
	}
	free(p.buf);
	free(buf);
	objset_done(&m.s);
}

static int
sink_fails(void *cookie, const struct obj_ref *ref, const void *buf,
    size_t len)
{
	(void)cookie;
	(void)ref;
	(void)buf;
	(void)len;
	errno = ENOSPC;
	return (-1);
}

static void
test_failures(void **state)
{
	struct objset s = { .n = 0 };
	uint8_t *buf = malloc(MIB);
	struct pieces p = { .stop = 5 };
	struct obj_ref ref, tree = { .kind = OBJ_TREE };
	uint64_t size;
	int fd = mem_file(), pipefd[2];

	(void)state;
	lcg_fill(buf, MIB);
	put(fd, buf, MIB, 0);
	errno = 0;
	assert_int_equal(content_from_fd(fd, sink_fails, NULL, &ref,
	    &size), -1);
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(content_from_mem(buf, 100, sink_fails, NULL,
	    &ref), -1);
	assert_int_equal(pipe(pipefd), 0);
	errno = 0;
	assert_int_equal(content_from_fd(pipefd[0], NULL, NULL, &ref,
	    &size), -1);
	assert_int_equal(errno, EINVAL);
	close(pipefd[0]);
	close(pipefd[1]);

	ref = round_trip(&s, buf, MIB);
	assert_int_equal(content_read(&ref, objset_get, &s, take_piece,
	    &p), 5);
	errno = 0;
	assert_int_equal(content_read(&tree, objset_get, &s, take_piece,
	    &p), -1);
	assert_int_equal(errno, EPROTO);
	/* Another size than it has: refused, and no byte past the size. */
	errno = 0;
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(content_to_fd(&ref, MIB - 1, objset_get, &s,
	    fd), -1);
	assert_int_equal(errno, EPROTO);
	assert_true(lseek(fd, 0, SEEK_END) < MIB);
	assert_int_equal(content_to_fd(&ref, MIB + 1, objset_get, &s,
	    fd), -1);
	assert_int_equal(content_to_fd(&ref, UINT64_MAX, objset_get, &s,
	    fd), -1);
	/* Not there. */
	memset(ref.id, 1, sizeof(ref.id));
	errno = 0;
	assert_int_equal(content_read(&ref, objset_get, &s, take_piece,
	    &p), -1);
	assert_int_equal(errno, ENOENT);
	close(fd);
	free(buf);
	objset_done(&s);
}

/* A list of two items put as it is. */
static struct obj_ref
force2(struct objset *s, uint8_t level, uint8_t t1, uint64_t l1,
    const struct obj_ref *r1, uint64_t l2, const struct obj_ref *r2)
{
	uint8_t buf[128] = { 'E', 'L', 1, level };
	size_t n = 16;

	le_put64(buf + 4, l1 + l2);
	le_put32(buf + 12, 2);
	buf[n] = t1;
	le_put64(buf + n + 1, l1);
	n += 9;
	if (t1 == LIST_ITEM_REF) {
		memcpy(buf + n, r1->id, OBJ_ID_LEN);
		n += OBJ_ID_LEN;
	}
	buf[n] = LIST_ITEM_REF;
	le_put64(buf + n + 1, l2);
	memcpy(buf + n + 9, r2->id, OBJ_ID_LEN);
	return (objset_force(s, OBJ_LIST, buf, n + 41));
}

static int
read_errno(struct objset *s, const struct obj_ref *ref)
{
	struct pieces p = { .len = 0 };

	errno = 0;
	if (content_read(ref, objset_get, s, take_piece, &p) != -1)
		return (0);
	return (errno);
}

static void
test_hostile(void **state)
{
	struct objset s = { .n = 0 };
	struct obj_ref c, ref, list;

	(void)state;
	c = objset_force(&s, OBJ_CHUNK, HELLO, 13);
	list = force2(&s, 0, 1, 13, &c, 13, &c);
	assert_int_equal(read_errno(&s, &list), 0);
	/* Chunks of another length than said. */
	ref = force2(&s, 0, 1, 13, &c, 12, &c);
	assert_int_equal(read_errno(&s, &ref), EPROTO);
	ref = force2(&s, 0, 1, 14, &c, 13, &c);
	assert_int_equal(read_errno(&s, &ref), EPROTO);
	/* A short list that something follows. */
	ref = force2(&s, 1, 1, 26, &list, 26, &list);
	assert_int_equal(read_errno(&s, &ref), EPROTO);
	/* A list of another length, or another level. */
	ref = force2(&s, 1, 1, 25, &list, 26, &list);
	assert_int_equal(read_errno(&s, &ref), EPROTO);
	ref = force2(&s, 2, 1, 26, &list, 26, &list);
	assert_int_equal(read_errno(&s, &ref), EPROTO);
	/* A list that is not one. */
	ref = objset_force(&s, OBJ_LIST, HELLO, 13);
	assert_int_equal(read_errno(&s, &ref), EPROTO);
	ref = force2(&s, 0, 0, CONTENT_ZERO_MIN - 1, NULL, 13, &c);
	assert_int_equal(read_errno(&s, &ref), EPROTO);
	objset_done(&s);
}

static int
same_object(void *cookie, const struct obj_ref *ref, uint8_t *buf,
    size_t *len)
{
	static const uint8_t list[16] = { 'E', 'L', 1, LIST_LEVEL_MAX, 2, 0,
	    0, 0, 0, 0, 0, 0, 2 };
	int *asked = cookie;
	size_t i;

	(void)ref;
	memcpy(buf, list, sizeof(list));
	for (i = 16; i < 98; i += 41) {
		memset(buf + i, 0, 41);
		buf[i] = buf[i + 1] = 1;
	}
	*len = 98;
	++*asked;
	return (0);
}

static void
test_cycle(void **state)
{
	struct obj_ref ref = { .kind = OBJ_LIST };
	struct pieces p = { .len = 0 };
	int asked = 0;

	(void)state;
	errno = 0;
	assert_int_equal(content_read(&ref, same_object, &asked, take_piece,
	    &p), -1);
	assert_int_equal(errno, EPROTO);
	assert_int_equal(asked, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_insertion),
		cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_moving),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_cycle),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
