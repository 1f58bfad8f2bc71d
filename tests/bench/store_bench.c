/*
 * What the store costs, against what the disk and the processor cost in the
 * same run.
 *
 * Usage: store_bench [-d directory] [-r rounds] [-n objects] [-o file] [what]
 *
 * What: jobs, publish, bulk, sweep, get; without, all of them.  The index has
 * -n objects beforehand, a million if it is not said.  Variants take turns.
 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/store_driver.h"
#include "tests/bench/store_load.h"
#include "worker-store/index.h"

#define SMALL           1000
#define WIDE            10000
#define CLIENTS_MAX     64
#define SWEEP_JOBS      512
#define BULK            (1024U * 1024 * 1024)
#define BULK_CHUNKS     63              /* in one put: just under 4 MiB */
#define BULK_WINDOW     4
#define BULK_FLUSH      (32U * 1024 * 1024)

static struct bench b;
static size_t rounds = 15;

/* Processor time that the store has taken, in milliseconds. */
static double
store_cpu(const struct drv *d)
{
	unsigned long long ns = 0;
	char path[64];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)d->pid);
	if ((f = fopen(path, "r")) != NULL) {
		if (fscanf(f, "%llu", &ns) != 1)
			ns = 0;
		(void)fclose(f);
	}
	return ((double)ns / 1e6);
}

static void
bench_publish(struct drv *d, int t, const struct obj_ref *spec, size_t n,
    size_t times, double target)
{
	char put[64], append[64], ratio[64], cpu[64];
	struct load l;
	double before;
	size_t i;

	(void)snprintf(put, sizeof(put), "put and publish %zu x 1 KiB, ms", n);
	(void)snprintf(append, sizeof(append), "append %zu KiB, flush, ms", n);
	(void)snprintf(ratio, sizeof(ratio), "publish %zu / append", n);
	(void)snprintf(cpu, sizeof(cpu), "its processor time, %zu, ms", n);
	for (i = 0; i < times; i++) {
		load_make(&l, n);
		if (i % 2 == 0)
			bench_add(&b, append, bare(d, n * 1024));
		before = store_cpu(d);
		bench_add(&b, put, load_run(d, t, &l, spec));
		bench_add(&b, cpu, store_cpu(d) - before);
		if (i % 2 != 0)
			bench_add(&b, append, bare(d, n * 1024));
	}
	bench_show(&b, append);
	bench_show(&b, put);
	bench_show(&b, cpu);
	bench_ratio(&b, ratio, bench_median(&b, put) /
	    bench_median(&b, append), target, 0);
}

static void
publish_small(struct drv *d, int t, const struct obj_ref *spec)
{
	bench_publish(d, t, spec, SMALL, 2 * rounds, 4);
}

static void
publish_wide(struct drv *d, int t, const struct obj_ref *spec)
{
	bench_publish(d, t, spec, WIDE, rounds > 5 ? 5 : rounds, 4);
}

static void
one_job(struct drv *d, int t, const struct obj_ref *spec, uint64_t sequence)
{
	struct drv_objs o = { 0 };
	struct obj_ref fresh = drv_chunk(&o, ++seed, 400);
	char job[JOB_ID_LEN + 1];
	struct drv_reply r;
	uint64_t start;

	bench_add(&b, "append 400 bytes, flush, ms", bare(d, 400));
	assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	job_id(job);
	start = io_mono_us();
	assert_int_equal(drv_publish(d, TENANT, job, &none, &fresh, &r),
	    ERR_NONE);
	bench_add(&b, "publish, no tree, new spec, ms", ms_since(start));
	start = io_mono_us();
	assert_int_equal(drv_settle(d, TENANT, job, sequence, &none, &none,
	    &r), ERR_NONE);
	bench_add(&b, "settle, no changes, ms", ms_since(start));
	job_id(job);
	start = io_mono_us();
	assert_int_equal(drv_publish(d, TENANT, job, &none, spec, &r),
	    ERR_NONE);
	bench_add(&b, "publish, no tree, known spec, ms", ms_since(start));
	free(o.buf);
}

static void
jobs(struct drv *d, int t, const struct obj_ref *spec)
{
	size_t i;

	for (i = 0; i < 5 * rounds; i++)
		one_job(d, t, spec, i + 1);
	bench_show(&b, "append 400 bytes, flush, ms");
	bench_show(&b, "publish, no tree, new spec, ms");
	bench_show(&b, "publish, no tree, known spec, ms");
	bench_show(&b, "settle, no changes, ms");
}

static void
get(struct drv *d, int t, const struct obj_ref *spec)
{
	struct drv_objs o = { 0 };
	struct drv_reply r;
	struct obj_ref refs[BULK_CHUNKS];
	uint64_t start;
	size_t i;

	(void)spec;
	for (i = 0; i < BULK_CHUNKS; i++)
		refs[i] = drv_chunk(&o, ++seed, OBJ_MAX);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	for (i = 0; i < rounds; i++) {
		start = io_mono_us();
		assert_int_equal(drv_get(d, t, refs, BULK_CHUNKS, &r),
		    ERR_NONE);
		bench_add(&b, "get 4 MiB, ms", ms_since(start));
		assert_int_equal(r.m.u.ok.objects, BULK_CHUNKS);
		drv_reply_done(&r);
	}
	bench_show(&b, "get 4 MiB, ms");
	free(o.buf);
}

/* Chunks of noise, ready to be put: ${n} descriptors. */
static void
bulk_make(int *fds, size_t n)
{
	uint8_t raw[OBJ_MAX];
	struct drv_objs o = { 0 };
	size_t i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < BULK_CHUNKS; k++) {
			randombytes_buf(raw, sizeof(raw));
			(void)drv_add(&o, OBJ_CHUNK, raw, sizeof(raw));
		}
		fds[i] = memfd_make("put", o.buf, o.len);
		assert_true(fds[i] != -1);
		o.len = o.n = 0;
	}
	free(o.buf);
}

/* All of it durable: seconds. */
static double
bulk_store(struct drv *d, int t, int *fds, size_t n)
{
	struct store_msg m = { .op = STORE_PUT };
	char job[JOB_ID_LEN + 1];
	struct drv_reply r;
	struct obj_ref spec;
	uint64_t start = io_mono_us();
	size_t sent, got = 0;

	m.u.put.objects = BULK_CHUNKS;
	for (sent = 0; got < n; got++) {
		for (; sent < n && sent - got < BULK_WINDOW; sent++)
			(void)drv_send(d, t, &m, fds[sent]);
		assert_int_equal(drv_recv(t, &r), 0);
		assert_int_equal(r.m.op, STORE_OK);
		assert_int_equal(r.m.u.ok.objects, BULK_CHUNKS);
	}
	spec = spec_put(d, t);
	job_id(job);
	assert_int_equal(drv_publish(d, TENANT, job, &none, &spec, &r),
	    ERR_NONE);
	return (ms_since(start) / 1000);
}

static double
bulk_disk(const struct drv *d, const uint8_t *buf, size_t len, size_t n)
{
	uint64_t start = io_mono_us();
	size_t i, unsynced = 0;
	int fd = beside(d);

	for (i = 0; i < n; i++) {
		assert_int_equal(io_write(fd, buf, len), 0);
		if ((unsynced += len) < BULK_FLUSH && i + 1 < n)
			continue;
		assert_int_equal(fdatasync(fd), 0);
		unsynced = 0;
	}
	close(fd);
	return (ms_since(start) / 1000);
}

static double
bulk_hash(const uint8_t *buf, size_t n)
{
	uint64_t start = io_mono_us();
	struct obj_ref ref;
	size_t i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < BULK_CHUNKS; k++)
			assert_int_equal(obj_ref_of(OBJ_CHUNK, buf +
			    k * OBJ_MAX, OBJ_MAX, &ref), 0);
	}
	return (ms_since(start) / 1000);
}

/* One GiB in, the disk's own rate, and that of one core. */
static void
bulk(struct drv *d, int t, const struct obj_ref *spec)
{
	const size_t len = (size_t)BULK_CHUNKS * OBJ_MAX, n = BULK / len;
	const double mib = (double)(len * n) / (1 << 20);
	uint8_t *buf = malloc(len);
	double disk, hash, before;
	char path[300];
	size_t i;
	int fds[512];

	(void)spec;
	assert_non_null(buf);
	assert_true(n <= 512);
	randombytes_buf(buf, len);
	(void)snprintf(path, sizeof(path), "%s.bare", d->log);
	for (i = 0; i < (rounds + 4) / 5; i++) {
		bulk_make(fds, n);
		bench_add(&b, "disk alone, MiB/s", mib / bulk_disk(d, buf,
		    len, n));
		bench_add(&b, "hash alone, MiB/s", mib / bulk_hash(buf, n));
		before = store_cpu(d);
		bench_add(&b, "store, MiB/s", mib / bulk_store(d, t, fds, n));
		bench_add(&b, "its processor time, ms/MiB", (store_cpu(d) -
		    before) / mib);
		(void)unlink(path);
	}
	free(buf);
	bench_show(&b, "disk alone, MiB/s");
	bench_show(&b, "hash alone, MiB/s");
	bench_show(&b, "store, MiB/s");
	bench_show(&b, "its processor time, ms/MiB");
	disk = 0.6 * bench_median(&b, "disk alone, MiB/s");
	hash = 0.8 * bench_median(&b, "hash alone, MiB/s");
	bench_ratio(&b, "bulk / min(0.6 disk, 0.8 hash)",
	    bench_median(&b, "store, MiB/s") / (disk < hash ? disk : hash), 1,
	    1);
}

/* One client: puts a new spec, publishes a job with it, and again. */
struct client {
	int fd;
	uint32_t tenant;
	uint64_t id;            /* of the publish that is under way; or 0 */
	struct obj_ref spec;
};

static void
client_put(struct drv *d, struct client *c)
{
	struct store_msg m = { .op = STORE_PUT };
	struct drv_objs o = { 0 };

	c->id = 0;
	c->spec = drv_chunk(&o, ++seed, 400);
	m.u.put.objects = 1;
	(void)drv_send(d, c->fd, &m, memfd_make("put", o.buf, o.len));
	free(o.buf);
}

static void
client_publish(struct drv *d, struct client *c)
{
	char job[JOB_ID_LEN + 1];
	struct store_msg m;

	job_id(job);
	m = drv_publish_msg(c->tenant, job, &none, &c->spec);
	c->id = drv_send(d, d->fd, &m, -1);
}

/* A publish was answered: whose was it? */
static void
answered(struct drv *d, struct client *c, size_t n, uint64_t id, size_t left)
{
	size_t i;

	for (i = 0; i < n && c[i].id != id; i++)
		;
	assert_true(i < n);
	c[i].id = 0;
	if (left >= n)
		client_put(d, &c[i]);
}

static void
sweep_run(struct drv *d, struct client *c, size_t n, size_t total)
{
	struct pollfd p[CLIENTS_MAX + 1];
	struct drv_reply r;
	size_t i, left = total;

	for (i = 0; i < n; i++) {
		p[i] = (struct pollfd){ .fd = c[i].fd, .events = POLLIN };
		client_put(d, &c[i]);
	}
	p[n] = (struct pollfd){ .fd = d->fd, .events = POLLIN };
	while (left > 0) {
		assert_true(poll(p, n + 1, DRV_WAIT_MS) > 0);
		for (i = 0; i <= n; i++) {
			if ((p[i].revents & POLLIN) == 0)
				continue;
			assert_int_equal(drv_recv(p[i].fd, &r), 0);
			assert_int_equal(r.m.op, STORE_OK);
			if (i < n)
				client_publish(d, &c[i]);
			else
				answered(d, c, n, r.m.id, --left);
		}
	}
}

static void
sweep_one(struct drv *d, size_t n, size_t total)
{
	struct client c[CLIENTS_MAX] = { { 0 } };
	struct drv_reply before, after;
	char name[64];
	uint64_t start;
	double s, flushes;
	size_t i;

	for (i = 0; i < n; i++) {
		c[i].tenant = 100 + (uint32_t)i;
		c[i].fd = drv_bind(d, c[i].tenant, DRV_ALL);
	}
	drv_stat(d, &before);
	start = io_mono_us();
	sweep_run(d, c, n, total);
	s = ms_since(start) / 1000;
	drv_stat(d, &after);
	for (i = 0; i < n; i++)
		close(c[i].fd);
	flushes = (double)(after.m.u.ok.stat.flushes -
	    before.m.u.ok.stat.flushes) / (double)total;
	(void)snprintf(name, sizeof(name), "%zu clients, publishes/s", n);
	bench_add(&b, name, (double)total / s);
	(void)snprintf(name, sizeof(name), "%zu clients, flushes/publish", n);
	bench_add(&b, name, flushes);
}

static void
sweep(struct drv *d, int t, const struct obj_ref *spec)
{
	static const size_t clients[] = { 1, 4, 16, 64 };
	char name[64];
	size_t i, k;

	(void)t;
	(void)spec;
	for (k = 0; k < (rounds + 4) / 5; k++) {
		for (i = 0; i < 4; i++)
			sweep_one(d, clients[k % 2 == 0 ? i : 3 - i],
			    clients[k % 2 == 0 ? i : 3 - i] == 1 ? 100 :
			    SWEEP_JOBS);
	}
	for (i = 0; i < 4; i++) {
		(void)snprintf(name, sizeof(name), "%zu clients, publishes/s",
		    clients[i]);
		bench_show(&b, name);
		(void)snprintf(name, sizeof(name),
		    "%zu clients, flushes/publish", clients[i]);
		if (clients[i] == 1)
			bench_show(&b, name);
		else
			bench_ratio(&b, name, bench_median(&b, name), 1, 0);
	}
}

static const struct {
	const char *name;
	void (*fn)(struct drv *, int, const struct obj_ref *);
} whats[] = {
	{ "jobs", jobs },
	{ "publish", publish_small },
	{ "publish", publish_wide },
	{ "sweep", sweep },
	{ "get", get },
	{ "bulk", bulk },
};

static int
wanted(const char *name, char *const *argv)
{
	if (*argv == NULL)
		return (1);
	for (; *argv != NULL; argv++) {
		if (strcmp(*argv, name) == 0)
			return (1);
	}
	return (0);
}

static const char *dir = "/var/tmp", *out;
static uint64_t objects = 1000000;
static char *const *which;

/* As a test, so that what goes wrong is named. */
static void
run(void **state)
{
	struct fill_times times = { 0 };
	struct obj_ref spec;
	struct drv d;
	size_t i;
	int t;

	(void)state;
	bench_init(&b, seed);
	store_with(&d, dir, objects, &times);
	bench_fact(&b, "objects in the index", (double)objects);
	t = drv_bind(&d, TENANT, DRV_ALL);
	spec = spec_put(&d, t);
	for (i = 0; i < sizeof(whats) / sizeof(whats[0]); i++) {
		if (wanted(whats[i].name, which))
			whats[i].fn(&d, t, &spec);
	}
	bench_done(&b, out);
	close(t);
	drv_done(&d);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(run) };
	int opt;

	while ((opt = getopt(argc, argv, "d:r:n:o:")) != -1) {
		switch (opt) {
		case 'd':
			dir = optarg;
			break;
		case 'r':
			rounds = strtoul(optarg, NULL, 10);
			break;
		case 'n':
			objects = strtoull(optarg, NULL, 10);
			break;
		case 'o':
			out = optarg;
			break;
		default:
			return (100);
		}
	}
	if (rounds == 0 || sodium_init() == -1)
		return (100);
	which = argv + optind;
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
