/*
 * What a client of the store waits at most because of what the store does for
 * itself: merging its index, collecting, rewriting packs.
 *
 * Usage: store_pauses [-d directory] [-n objects] [-o file]
 *
 * The index has -n objects beforehand, a million if it is not said.  In each
 * phase somebody asks on and on, and the longest answer is noted.  Of the steps
 * themselves the store says the longest: by the clock, without the waiting for
 * flushes, and of the processor.  How long a flush takes is the disk's affair;
 * a process beside the store appends 4 KiB and flushes them, ten times a
 * second, and notes the longest.  On a busy machine only the last is ours
 * alone.
 *
 * The store is that of a build with CRASH=1, for one number: what was put a
 * moment ago may be collected.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/store_driver.h"
#include "tests/bench/store_load.h"
#include "worker-store/index.h"

#define PAUSE_MS        50
#define JOBS            100
#define KEPT            35
#define PHASE_S         600

static struct bench b;
static const char *dir = "/var/tmp", *out;
static uint64_t objects = 1000000;

/* Shared with the process that asks. */
struct asker {
	volatile uint64_t longest_us;
	volatile uint64_t answers;
	volatile uint64_t longest_flush_us;     /* of the process that does */
};
static struct asker *asker;

/* Asks for what is not there, again and again, until it is killed. */
static void
ask_on(struct drv d, int fd)
{
	struct drv_reply r;
	struct ix_object o;
	uint64_t start, us, n;

	for (n = 1ULL << 40;; n++) {
		o = filler(n);
		start = io_mono_us();
		if (drv_check(&d, fd, &o.ref, &r) != ERR_NONE)
			_exit(1);
		us = io_mono_us() - start;
		drv_reply_done(&r);
		asker->answers++;
		if (us > asker->longest_us)
			asker->longest_us = us;
		(void)usleep(200);
	}
}

/* What the disk takes, whoever asks it. */
static void
flush_on(struct drv d)
{
	uint64_t us;

	for (;;) {
		us = (uint64_t)(bare(&d, 4096) * 1000);
		if (us > asker->longest_flush_us)
			asker->longest_flush_us = us;
		(void)usleep(100000);
	}
}

static pid_t
flusher_start(struct drv *d)
{
	pid_t pid;

	assert_true((pid = fork()) != -1);
	if (pid == 0)
		flush_on(*d);
	return (pid);
}

static pid_t
asker_start(struct drv *d)
{
	int fd = drv_bind(d, FILLER, DRV_ALL);
	pid_t pid;

	asker = mmap(NULL, sizeof(*asker), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(asker != MAP_FAILED);
	assert_true((pid = fork()) != -1);
	if (pid == 0)
		ask_on(*d, fd);
	close(fd);
	return (pid);
}

static int
operator_bind(struct drv *d)
{
	struct store_msg m = { .op = STORE_BIND };
	struct drv_reply r;
	int pair[2];

	assert_int_equal(chan_pair(pair), 0);
	m.u.bind.rights = STORE_RIGHT_CARE;
	assert_int_equal(drv_call(d, d->fd, &m, pair[1], &r), ERR_NONE);
	return (pair[0]);
}

static uint64_t
figure(struct drv *d, int op, const char *name)
{
	struct store_msg m = { .op = STORE_CARE };
	struct drv_reply r;
	uint32_t i;

	m.u.care.task = CARE_STAT;
	assert_int_equal(drv_call(d, op, &m, -1, &r), ERR_NONE);
	for (i = 0; i < r.m.u.ok.care.nfigures; i++) {
		if (strcmp(r.m.u.ok.care.figures[i].name, name) == 0)
			return (r.m.u.ok.care.figures[i].value);
	}
	fail_msg("no figure %s", name);
	return (0);
}

/* Until nothing has been committed for some time and nothing is under way. */
static void
calm(struct drv *d, int op)
{
	uint64_t was, now = 0, end = io_mono_us() + PHASE_S * 1000000ULL;
	int still = 0;

	while (still < 10) {
		was = now;
		(void)usleep(30000);
		now = figure(d, op, "commits");
		still = was == now && figure(d, op, "gc_busy") == 0 &&
		    figure(d, op, "gc_waiting") == 0 &&
		    figure(d, op, "rewrite_pack") == 0 ? still + 1 : 0;
		if (io_mono_us() >= end)
			fail_msg("not over after %d s", PHASE_S);
	}
}

/* Jobs with trees of a thousand files: the index grows and is merged. */
static void
fill(struct drv *d, int t)
{
	struct obj_ref spec = spec_put(d, t);
	struct drv_reply r;
	struct load l;
	size_t i;

	for (i = 0; i < JOBS; i++) {
		load_make(&l, 1000);
		(void)load_run(d, t, &l, &spec);
	}
	for (i = 1; i <= JOBS; i++) {
		char job[JOB_ID_LEN + 1];
		uint64_t n = i, k;

		/* As job_id made them. */
		for (k = 0; k < JOB_ID_LEN; k++, n /= 26)
			job[k] = (char)('a' + n % 26);
		job[JOB_ID_LEN] = '\0';
		assert_int_equal(drv_settle(d, TENANT, job, i, &none, &none,
		    &r), ERR_NONE);
	}
}

/* Most of the jobs are forgotten; nothing refers to the fillers, either. */
static void
drop(struct drv *d)
{
	struct store_msg m = { .op = STORE_EXPIRE };
	struct drv_reply r;

	m.u.expire.tenant_id = TENANT;
	m.u.expire.keep_jobs = KEPT;
	do {
		assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_NONE);
		drv_reply_done(&r);
	} while (r.m.u.ok.objects > 0);
	m = (struct store_msg){ .op = STORE_COLLECT };
	m.u.head.tenant_id = FILLER;
	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_NONE);
	m.u.head.tenant_id = TENANT;
	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_NONE);
}

static void
answers(const char *phase)
{
	char name[96];

	(void)snprintf(name, sizeof(name), "longest answer while %s, ms",
	    phase);
	bench_fact(&b, name, (double)asker->longest_us / 1000);
	(void)snprintf(name, sizeof(name), "  of so many");
	bench_fact(&b, name, (double)asker->answers);
	bench_fact(&b, "  longest flush of 4 KiB beside it, ms",
	    (double)asker->longest_flush_us / 1000);
	asker->longest_us = asker->answers = asker->longest_flush_us = 0;
}

static void
steps(struct drv *d, int op, const char *what, const char *figures)
{
	char name[96];

	(void)snprintf(name, sizeof(name), "%s_longest_us", figures);
	bench_fact(&b, what, (double)figure(d, op, name) / 1000);
	(void)snprintf(name, sizeof(name), "%s_longest_own_us", figures);
	bench_ratio(&b, "  without waiting for flushes",
	    (double)figure(d, op, name) / 1000, PAUSE_MS, 0);
	(void)snprintf(name, sizeof(name), "%s_longest_cpu_us", figures);
	bench_fact(&b, "  processor time", (double)figure(d, op, name) / 1000);
}

static void
no_grace(void)
{
	const char *build = getenv("ERRAND_BUILD");
	char bin[512];

	(void)snprintf(bin, sizeof(bin), "%s-crash/bin", build != NULL ?
	    build : "build");
	assert_int_equal(setenv("ERRAND_BIN", bin, 1), 0);
	assert_int_equal(setenv("ERRAND_CRASH", "lease-grace=0", 1), 0);
}

static void
run(void **state)
{
	struct fill_times times = { 0 };
	double load[3] = { 0 };
	struct drv d;
	pid_t pid, flusher;
	int t, op;

	(void)state;
	no_grace();
	bench_init(&b, seed);
	(void)getloadavg(load, 3);
	bench_fact(&b, "load of the machine", load[0]);
	store_with(&d, dir, objects, &times);
	bench_fact(&b, "objects in the index", (double)objects);
	pid = asker_start(&d);
	flusher = flusher_start(&d);
	t = drv_bind(&d, TENANT, DRV_ALL);
	op = operator_bind(&d);
	calm(&d, op);
	answers("nothing happens");
	fill(&d, t);
	calm(&d, op);
	answers("merging");
	/* With its channel, what it leases ends. */
	close(t);
	drop(&d);
	calm(&d, op);
	answers("collecting and rewriting");
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(kill(flusher, SIGKILL), 0);
	assert_int_equal(waitpid(flusher, NULL, 0), flusher);
	bench_fact(&b, "objects collected",
	    (double)figure(&d, op, "gc_deleted"));
	bench_fact(&b, "objects moved", (double)figure(&d, op,
	    "rewrite_moved"));
	steps(&d, op, "longest step of merging, ms", "upkeep");
	steps(&d, op, "longest step of collecting, ms", "gc");
	steps(&d, op, "longest step of rewriting, ms", "rewrite");
	(void)getloadavg(load, 3);
	bench_fact(&b, "load of the machine at the end", load[0]);
	bench_done(&b, out);
	close(op);
	drv_done(&d);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(run) };
	int opt;

	while ((opt = getopt(argc, argv, "d:n:o:")) != -1) {
		if (opt == 'd')
			dir = optarg;
		else if (opt == 'n')
			objects = strtoull(optarg, NULL, 10);
		else if (opt == 'o')
			out = optarg;
		else
			return (100);
	}
	if (objects == 0 || sodium_init() == -1)
		return (100);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
