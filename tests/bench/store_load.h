#ifndef ERRAND_TESTS_STORE_LOAD_H
#define ERRAND_TESTS_STORE_LOAD_H

/* What the benchmarks of the store have in common.  After store_driver.h. */

#include <sys/statvfs.h>

#include <time.h>

#include <sodium.h>

#include "tests/bench/bench.h"
#include "worker-store/index.h"
#include "worker-store/index_obj.h"

#define TENANT          7
#define FILLER          8               /* whose the other objects are */
#define FILL_BATCH      4096

static const struct obj_ref none;
static uint64_t seed = 1;

static inline double
ms_since(uint64_t start)
{
	return ((double)(io_mono_us() - start) / 1000);
}

static inline void
job_id(char *job)
{
	static uint64_t count;
	uint64_t n = ++count;
	size_t i;

	for (i = 0; i < JOB_ID_LEN; i++, n /= 26)
		job[i] = (char)('a' + n % 26);
	job[JOB_ID_LEN] = '\0';
}

/* A file beside the store, to compare with: descriptor. */
static inline int
beside(const struct drv *d)
{
	char path[300];
	int fd;

	(void)snprintf(path, sizeof(path), "%s.bare", d->log);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	assert_true(fd != -1);
	return (fd);
}

/* Append ${len} bytes to it and flush: milliseconds. */
static inline double
bare(const struct drv *d, size_t len)
{
	uint8_t *buf = malloc(len);
	uint64_t start;
	double ms;
	int fd = beside(d);

	assert_non_null(buf);
	randombytes_buf(buf, len);
	start = io_mono_us();
	assert_int_equal(io_write(fd, buf, len), 0);
	assert_int_equal(fdatasync(fd), 0);
	ms = ms_since(start);
	close(fd);
	free(buf);
	return (ms);
}

/* The n-th object of those that fill the index; there are no bytes to it. */
static inline struct ix_object
filler(uint64_t n)
{
	struct ix_object o = { .tenant = FILLER };

	assert_int_equal(obj_ref_of(OBJ_CHUNK, &n, sizeof(n), &o.ref), 0);
	o.loc.pack = 1;
	o.loc.off = (uint32_t)n;
	o.loc.len = o.loc.raw_len = sizeof(n);
	return (o);
}

static inline int
filler_by_key(const void *a, const void *b)
{
	return (ix_object_cmp(*(struct ix_object *const *)a,
	    *(struct ix_object *const *)b));
}

/* Longest steps of the index, in milliseconds. */
struct fill_times {
	double commit;
	double upkeep;
	double commit_cpu;
	double upkeep_cpu;
	double bare;            /* 400 bytes appended and flushed beside it */
};

static inline double
cpu_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return ((double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6);
}

static inline void
longer(double *max, double v)
{
	if (v > *max)
		*max = v;
}

static inline void
fill_batch(struct ix *ix, struct ix_object **p, size_t n, struct fill_times *t)
{
	uint64_t start = io_mono_us();
	double cpu = cpu_ms();
	int rc;

	assert_int_equal(ix_write(ix, 16 << 20), 0);
	assert_int_equal(ix_objects_put(ix, p, n), 0);
	assert_int_equal(ix_commit(ix), 0);
	longer(&t->commit, ms_since(start));
	longer(&t->commit_cpu, cpu_ms() - cpu);
	do {
		start = io_mono_us();
		cpu = cpu_ms();
		rc = ix_upkeep(ix);
		assert_true(rc != -1);
		longer(&t->upkeep, ms_since(start));
		longer(&t->upkeep_cpu, cpu_ms() - cpu);
	} while (rc == 1);
}

/* Open the index of a store that does not run. */
static inline struct ix *
fill_open(const struct drv *d)
{
	struct ix *ix;
	char path[300];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/index", d->dir);
	assert_true((fd = open(d->dir, O_RDONLY | O_DIRECTORY)) != -1);
	assert_non_null(ix = ix_open(fd, path, IX_MAP_MIN));
	close(fd);
	return (ix);
}

/* Give the index of a store that does not run ${n} objects in batches. */
static inline void
fill_index(const struct drv *d, uint64_t n, struct fill_times *t)
{
	static struct ix_object objs[FILL_BATCH], *p[FILL_BATCH];
	struct ix *ix = fill_open(d);
	uint64_t i, k;

	for (i = 0; i < n; i += k) {
		for (k = 0; k < FILL_BATCH && i + k < n; k++) {
			objs[k] = filler(i + k);
			p[k] = &objs[k];
		}
		qsort(p, k, sizeof(p[0]), filler_by_key);
		fill_batch(ix, p, k, t);
		if (i / FILL_BATCH % 4 == 0)
			longer(&t->bare, bare(d, 400));
	}
	ix_close(ix);
}

static inline double
disk_free(const char *where)
{
	struct statvfs v;

	assert_int_equal(statvfs(where, &v), 0);
	return ((double)v.f_bavail * (double)v.f_frsize);
}

/*
 * Nothing refers to the objects that fill the index.  When a disk has less than
 * four reserves left, at most 4 GiB, the store deletes such: then there would
 * be nothing to measure.
 */
static inline void
disk_check(const char *where, uint64_t n)
{
	const double want = 5.0 * (1 << 30) + 300.0 * (double)n;

	if (disk_free(where) < want)
		fail_msg("%s has %.1f GiB free, and this takes %.1f: give -d "
		    "another directory", where, disk_free(where) / (1 << 30),
		    want / (1 << 30));
}

/* A new store with ${n} objects, running. */
static inline void
store_with(struct drv *d, const char *where, uint64_t n, struct fill_times *t)
{
	disk_check(where, n);
	drv_init(d, where);
	assert_int_equal(drv_start(d), 0);
	assert_int_equal(drv_wait(d), 0);
	fill_index(d, n, t);
	assert_int_equal(drv_start(d), 0);
}

/* Puts that are ready to be sent. */
struct load {
	int fds[16];
	uint32_t n[16];
	size_t count;
	struct obj_ref root;
};

static inline void
load_flush(struct load *l, struct drv_objs *o)
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
static inline void
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
			load_flush(l, &o);
	}
	assert_int_equal(tree_builder_finish(tb, drv_sink, &o, &l->root), 0);
	tree_builder_free(tb);
	load_flush(l, &o);
	free(o.buf);
}

/* Put it all, one after the other, then publish: milliseconds. */
static inline double
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
		if (r.m.op != STORE_OK)
			fail_msg("%s", r.m.u.error.text);
	}
	if (drv_publish(d, TENANT, job, &l->root, spec, &r) != ERR_NONE)
		fail_msg("%s", r.m.u.error.text);
	return (ms_since(start));
}

/* A chunk that every job may have as its spec. */
static inline struct obj_ref
spec_put(struct drv *d, int t)
{
	struct drv_objs o = { 0 };
	struct obj_ref spec = drv_chunk(&o, ++seed, 100);
	struct drv_reply r;

	if (drv_put(d, t, &o, &r) != ERR_NONE)
		fail_msg("%s", r.m.u.error.text);
	free(o.buf);
	return (spec);
}

#endif /* !ERRAND_TESTS_STORE_LOAD_H */
