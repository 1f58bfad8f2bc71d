/*
 * What the store costs, against what the disk costs in the same run.
 * Usage: store_bench [directory [rounds]]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/store_driver.h"

#define TENANT          7
#define ROUNDS_MAX      1001
#define SMALL           1000
#define WIDE            10000

static const struct obj_ref none;
static uint64_t job_count;
static uint64_t seed = 1;

static int
by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y ? -1 : x > y);
}

static uint64_t
median(uint64_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return (v[n / 2]);
}

static void
show(const char *what, uint64_t us)
{
	printf("%-52s %8.3f ms\n", what, (double)us / 1000);
}

static void
job_id(char *job)
{
	uint64_t n = ++job_count;
	size_t i;

	for (i = 0; i < JOB_ID_LEN; i++, n /= 26)
		job[i] = (char)('a' + n % 26);
	job[JOB_ID_LEN] = '\0';
}

/* Append ${len} bytes to a file beside the store and flush it. */
static uint64_t
bare(const struct drv *d, size_t len)
{
	char path[300];
	uint8_t *buf = calloc(1, len);
	uint64_t start, us;
	int fd;

	assert_non_null(buf);
	drv_bytes(++seed, buf, len);
	(void)snprintf(path, sizeof(path), "%s.bare", d->log);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	assert_true(fd != -1);
	start = io_mono_us();
	assert_int_equal(io_write(fd, buf, len), 0);
	assert_int_equal(fdatasync(fd), 0);
	us = io_mono_us() - start;
	close(fd);
	free(buf);
	return (us);
}

/* Puts that are ready to be sent. */
struct load {
	int fds[16];
	uint32_t n[16];
	size_t count;
	struct obj_ref root;
};

static void
flush(struct load *l, struct drv_objs *o)
{
	if (o->n == 0)
		return;
	assert_true(l->count < 16);
	assert_true((l->fds[l->count] = memfd_make("put", o->buf,
	    o->len)) != -1);
	l->n[l->count++] = o->n;
	o->len = o->n = 0;
}

/* ${n} new files of 1 KiB in directories of 100. */
static void
load_make(struct load *l, size_t n)
{
	struct tree_builder *tb = tree_builder_new();
	struct tree_entry e = { .kind = TREE_DIR, .mode = 0755 };
	struct obj_ref files[100];
	struct drv_objs o = { 0 };
	char name[32];
	size_t i, j;

	memset(l, 0, sizeof(*l));
	for (i = 0; i < n / 100; i++) {
		for (j = 0; j < 100; j++)
			files[j] = drv_chunk(&o, ++seed, 1024);
		e.ref = drv_tree(&o, files, 100, 1024);
		(void)snprintf(name, sizeof(name), "d%06zu", i);
		e.name = (const uint8_t *)name;
		e.name_len = (uint16_t)strlen(name);
		assert_int_equal(tree_builder_add(tb, &e), 0);
		if (o.len > LIMIT_PUT_BYTES / 2)
			flush(l, &o);
	}
	assert_int_equal(tree_builder_finish(tb, drv_sink, &o, &l->root), 0);
	tree_builder_free(tb);
	flush(l, &o);
	free(o.buf);
}

/* Put it all, one after the other, then publish; microseconds. */
static uint64_t
load_run(struct drv *d, int t, struct load *l, const struct obj_ref *spec)
{
	struct store_msg m = { .op = STORE_PUT };
	struct drv_reply r;
	char job[JOB_ID_LEN + 1];
	uint64_t start = io_mono_us();
	size_t i;

	job_id(job);
	for (i = 0; i < l->count; i++) {
		m.u.put.objects = l->n[i];
		(void)drv_send(d, t, &m, l->fds[i]);
	}
	for (i = 0; i < l->count; i++) {
		assert_int_equal(drv_recv(t, &r), 0);
		assert_int_equal(r.m.op, STORE_OK);
	}
	assert_int_equal(drv_publish(d, TENANT, job, &l->root, spec, &r),
	    ERR_NONE);
	return (io_mono_us() - start);
}

static void
bench_publish(struct drv *d, int t, const struct obj_ref *spec, size_t n,
    size_t rounds)
{
	uint64_t a[ROUNDS_MAX], b[ROUNDS_MAX], x, y;
	struct load l;
	char what[80];
	size_t i;

	for (i = 0; i < rounds; i++) {
		load_make(&l, n);
		a[i] = bare(d, n * 1024);
		b[i] = load_run(d, t, &l, spec);
	}
	(void)snprintf(what, sizeof(what), "append of %zu KiB and fdatasync",
	    n);
	show(what, x = median(a, rounds));
	(void)snprintf(what, sizeof(what), "put and publish of %zu x 1 KiB",
	    n);
	show(what, y = median(b, rounds));
	printf("%-52s %8.2f\n", "  ratio", (double)y / (double)x);
}

static void
bench_jobs(struct drv *d, int t, const struct obj_ref *spec, size_t rounds)
{
	uint64_t a[ROUNDS_MAX], b[ROUNDS_MAX], c[ROUNDS_MAX], e[ROUNDS_MAX];
	struct drv_objs o = { 0 };
	struct drv_reply r;
	struct obj_ref fresh;
	char job[JOB_ID_LEN + 1];
	uint64_t start;
	size_t i;

	for (i = 0; i < rounds; i++) {
		a[i] = bare(d, 400);
		fresh = drv_chunk(&o, ++seed, 400);
		assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
		job_id(job);
		start = io_mono_us();
		assert_int_equal(drv_publish(d, TENANT, job, &none, &fresh,
		    &r), ERR_NONE);
		b[i] = io_mono_us() - start;
		start = io_mono_us();
		assert_int_equal(drv_settle(d, TENANT, job, i + 1, &none,
		    &none, &r), ERR_NONE);
		c[i] = io_mono_us() - start;
		job_id(job);
		start = io_mono_us();
		assert_int_equal(drv_publish(d, TENANT, job, &none, spec, &r),
		    ERR_NONE);
		e[i] = io_mono_us() - start;
	}
	free(o.buf);
	show("append of 400 bytes and fdatasync", median(a, rounds));
	show("publish, no tree, new spec", median(b, rounds));
	show("publish, no tree, known spec", median(e, rounds));
	show("settle, no changes", median(c, rounds));
}

static void
bench_get(struct drv *d, int t, size_t rounds)
{
	struct drv_objs o = { 0 };
	struct drv_reply r;
	struct obj_ref refs[63];
	uint64_t a[ROUNDS_MAX], start;
	size_t i;

	for (i = 0; i < 63; i++)
		refs[i] = drv_chunk(&o, ++seed, OBJ_MAX);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	for (i = 0; i < rounds; i++) {
		start = io_mono_us();
		assert_int_equal(drv_get(d, t, refs, 63, &r), ERR_NONE);
		a[i] = io_mono_us() - start;
		assert_int_equal(r.m.u.ok.objects, 63);
		drv_reply_done(&r);
	}
	show("get of 4 MiB", median(a, rounds));
	free(o.buf);
}

int
main(int argc, char **argv)
{
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 15;
	struct drv_objs o = { 0 };
	struct obj_ref spec;
	struct drv_reply r;
	struct drv d;
	int t;

	if (rounds == 0 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "rounds: 1 to %d\n", ROUNDS_MAX);
		return (100);
	}
	drv_init(&d, argc > 1 ? argv[1] : "/var/tmp");
	assert_int_equal(drv_start(&d), 0);
	t = drv_bind(&d, TENANT, DRV_ALL);
	spec = drv_chunk(&o, 0, 100);
	assert_int_equal(drv_put(&d, t, &o, &r), ERR_NONE);
	free(o.buf);
	bench_jobs(&d, t, &spec, rounds * 5 > ROUNDS_MAX ? ROUNDS_MAX :
	    rounds * 5);
	bench_publish(&d, t, &spec, SMALL, rounds);
	bench_publish(&d, t, &spec, WIDE, rounds > 5 ? 5 : rounds);
	bench_get(&d, t, rounds);
	drv_stat(&d, &r);
	printf("%ju objects, %ju commits, %ju flushes\n",
	    (uintmax_t)r.m.u.ok.stat.objects,
	    (uintmax_t)r.m.u.ok.stat.commits,
	    (uintmax_t)r.m.u.ok.stat.flushes);
	close(t);
	drv_done(&d);
	return (0);
}
