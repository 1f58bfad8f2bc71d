/*
 * What the size of the index costs: two stores side by side, one with few
 * objects and one with many, the page cache warm.
 *
 * Usage: store_scale [-d directory] [-r rounds] [-s few] [-n many] [-o file]
 *
 * Without -s and -n, ten thousand and ten million.  Both take turns.  Then the
 * longest steps of the index while it was filled, and the memory of the store.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/store_driver.h"
#include "tests/bench/store_load.h"
#include "worker-store/index.h"

#define LOOKUPS         20      /* in one sample of a look-up */
#define PAUSE_MS        50
#define BATCH           1000

static struct bench b;
static size_t rounds = 100;

/* One store of the two. */
struct side {
	struct drv d;
	const char *name;
	uint64_t objects;
	int fd;                 /* the tenant's channel */
	int filler;             /* that of the tenant with all the objects */
	struct obj_ref spec;
	struct fill_times times;
};

static const char *
named(const struct side *s, const char *what)
{
	static char name[96];

	(void)snprintf(name, sizeof(name), "%s, %s objects, ms", what,
	    s->name);
	return (name);
}

/* Is this object there?  As a client asks. */
static void
look_up(struct side *s, int there)
{
	struct ix_object o;
	struct drv_reply r;
	uint64_t start, n;
	double ms = 0;
	size_t i;

	for (i = 0; i < LOOKUPS; i++) {
		n = randombytes_uniform((uint32_t)s->objects);
		o = filler(there ? n : n + (1ULL << 40));
		start = io_mono_us();
		if (drv_check(&s->d, s->filler, &o.ref, &r) != ERR_NONE)
			fail_msg("%s", r.m.u.error.text);
		ms += ms_since(start);
		if (r.m.u.ok.objects != (there ? 0 : 1))
			fail_msg("object %llu is%s there; %.1f GiB of the disk "
			    "are free", (unsigned long long)n,
			    there ? " not" : "", disk_free(s->d.dir) /
			    (1 << 30));
		drv_reply_done(&r);
	}
	bench_add(&b, named(s, there ? "look-up" : "look-up of none"),
	    ms / LOOKUPS);
}

/* One new object, until it is durable. */
static void
single(struct side *s)
{
	char job[JOB_ID_LEN + 1];
	struct drv_objs o = { 0 };
	struct obj_ref fresh = drv_chunk(&o, ++seed, 400);
	struct drv_reply r;
	uint64_t start;

	job_id(job);
	start = io_mono_us();
	if (drv_put(&s->d, s->fd, &o, &r) != ERR_NONE)
		fail_msg("%s", r.m.u.error.text);
	if (drv_publish(&s->d, TENANT, job, &none, &fresh, &r) != ERR_NONE)
		fail_msg("%s", r.m.u.error.text);
	bench_add(&b, named(s, "single put"), ms_since(start));
	free(o.buf);
}

static void
batch(struct side *s)
{
	struct load l;

	load_make(&l, BATCH);
	bench_add(&b, named(s, "batch of 1000"), load_run(&s->d, s->fd, &l,
	    &s->spec));
}

static void
turn(struct side *s)
{
	look_up(s, 1);
	look_up(s, 0);
	single(s);
	batch(s);
}

static void
compare(const struct side *few, const struct side *many, const char *what,
    double target)
{
	char x[96], y[96], ratio[96];

	(void)snprintf(x, sizeof(x), "%s", named(few, what));
	(void)snprintf(y, sizeof(y), "%s", named(many, what));
	(void)snprintf(ratio, sizeof(ratio), "%s, %s / %s", what, many->name,
	    few->name);
	bench_show(&b, x);
	bench_show(&b, y);
	bench_ratio(&b, ratio, bench_median(&b, y) / bench_median(&b, x),
	    target, 0);
}

/* Memory that is no file's: the map is a file. */
static double
anonymous_mib(const struct side *s)
{
	char path[64], line[256];
	unsigned long kib = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup",
	    (int)s->d.pid);
	if ((f = fopen(path, "r")) == NULL)
		return (-1);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "Anonymous: %lu kB", &kib) == 1)
			break;
	}
	(void)fclose(f);
	return ((double)kib / 1024);
}

static void
side_open(struct side *s, const char *where)
{
	uint64_t start = io_mono_us();

	store_with(&s->d, where, s->objects, &s->times);
	printf("  %s objects took %.0f s\n", s->name, ms_since(start) / 1000);
	s->fd = drv_bind(&s->d, TENANT, DRV_ALL);
	s->filler = drv_bind(&s->d, FILLER, DRV_ALL);
	s->spec = spec_put(&s->d, s->fd);
}

static void
side_close(struct side *s)
{
	close(s->fd);
	close(s->filler);
	drv_done(&s->d);
}

/* The index by itself: microseconds for an object that is there, or not. */
static void
index_alone(const struct side *s)
{
	struct ix *ix = fill_open(&s->d);
	struct ix_object o, got;
	struct ix_stat st;
	uint64_t start;
	char name[96];
	int there;
	size_t i;

	for (there = 0; there < 2; there++) {
		(void)snprintf(name, sizeof(name), "index alone, %s, %s, us",
		    there ? "there" : "not there", s->name);
		for (i = 0; i < 50 * rounds; i++) {
			o = filler(randombytes_uniform((uint32_t)s->objects) +
			    (there ? 0 : 1ULL << 40));
			start = io_mono_us();
			assert_int_equal(ix_read(ix), 0);
			assert_int_equal(ix_object_get(ix, FILLER, &o.ref,
			    &got), there - 1);
			ix_read_end(ix);
			bench_add(&b, name, ms_since(start) * 1000);
		}
		bench_show(&b, name);
	}
	ix_stat(ix, &st);
	(void)snprintf(name, sizeof(name), "runs of %s", s->name);
	bench_fact(&b, name, (double)st.runs);
	(void)snprintf(name, sizeof(name), "map of %s, MiB", s->name);
	bench_fact(&b, name, (double)st.map_used / (1 << 20));
	(void)snprintf(name, sizeof(name), "memory for runs of %s, KiB",
	    s->name);
	bench_fact(&b, name, (double)st.memory / 1024);
	ix_close(ix);
}

static void
report(struct side *few, struct side *many)
{
	compare(few, many, "look-up", 2);
	compare(few, many, "look-up of none", 2);
	compare(few, many, "single put", 2);
	compare(few, many, "batch of 1000", 4);
	bench_fact(&b, "longest commit while filling, ms",
	    many->times.commit);
	bench_fact(&b, "  of that processor time, at most, ms",
	    many->times.commit_cpu);
	bench_fact(&b, "longest idle step while filling, ms",
	    many->times.upkeep);
	bench_fact(&b, "  longest flush of 400 bytes then, ms",
	    many->times.bare);
	bench_ratio(&b, "longest idle step, processor time, ms",
	    many->times.upkeep_cpu, PAUSE_MS, 0);
	bench_fact(&b, "store's memory with few, MiB", anonymous_mib(few));
	bench_fact(&b, "store's memory with many, MiB", anonymous_mib(many));
}

static struct side few = { .name = "few", .objects = 10000 };
static struct side many = { .name = "many", .objects = 10000000 };
static const char *dir = "/var/tmp", *out;

/* As a test, so that what goes wrong is named. */
static void
run(void **state)
{
	size_t i;

	(void)state;
	bench_init(&b, seed);
	bench_fact(&b, "few", (double)few.objects);
	bench_fact(&b, "many", (double)many.objects);
	side_open(&few, dir);
	side_open(&many, dir);
	for (i = 0; i < rounds; i++) {
		turn(i % 2 == 0 ? &few : &many);
		turn(i % 2 == 0 ? &many : &few);
	}
	report(&few, &many);
	assert_int_equal(drv_wait(&few.d), 0);
	assert_int_equal(drv_wait(&many.d), 0);
	index_alone(&few);
	index_alone(&many);
	bench_done(&b, out);
	side_close(&few);
	side_close(&many);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(run) };
	int opt;

	while ((opt = getopt(argc, argv, "d:r:s:n:o:")) != -1) {
		switch (opt) {
		case 'd':
			dir = optarg;
			break;
		case 'r':
			rounds = strtoul(optarg, NULL, 10);
			break;
		case 's':
			few.objects = strtoull(optarg, NULL, 10);
			break;
		case 'n':
			many.objects = strtoull(optarg, NULL, 10);
			break;
		case 'o':
			out = optarg;
			break;
		default:
			return (100);
		}
	}
	if (rounds == 0 || few.objects == 0 || many.objects == 0 ||
	    sodium_init() == -1)
		return (100);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
