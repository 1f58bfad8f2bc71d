#ifndef ERRAND_TESTS_STORE_JOBS_H
#define ERRAND_TESTS_STORE_JOBS_H

/*
 * A store with some jobs in it, and whether all of them are right.  Include
 * after cmocka.h.
 */
#include "tests/unit/store_driver.h"

#define T1      7
#define T2      8
#ifndef JOBS
#define JOBS    40
#define SETTLED 25
#endif

static inline void
job_name(uint64_t n, char *out)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
	size_t i;

	for (i = 0; i < JOB_ID_LEN; i++, n /= 32)
		out[JOB_ID_LEN - 1 - i] = digits[n % 32];
	out[JOB_ID_LEN] = '\0';
}

static inline void
make_job(struct drv *d, int t, uint32_t tenant, uint64_t n)
{
	struct drv_objs o = { 0 };
	struct obj_ref file, spec, root;
	struct drv_reply r;
	char job[JOB_ID_LEN + 1];

	file = drv_chunk(&o, n, 900);
	spec = drv_chunk(&o, 100000 + n, 60);
	root = drv_tree(&o, &file, 1, 900);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	free(o.buf);
	job_name(n, job);
	assert_int_equal(drv_publish(d, tenant, job, &root, &spec, &r),
	    ERR_NONE);
}

static inline void
settle_job(struct drv *d, uint32_t tenant, uint64_t n, uint64_t sequence)
{
	static const struct obj_ref none;
	struct drv_reply r;
	char job[JOB_ID_LEN + 1];

	job_name(n, job);
	assert_int_equal(drv_settle(d, tenant, job, sequence, &none, &none,
	    &r), ERR_NONE);
}

static inline uint64_t
head_of(struct drv *d, uint32_t tenant)
{
	struct store_msg m = { .op = STORE_HEAD };
	struct drv_reply r;

	m.u.head.tenant_id = tenant;
	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_NONE);
	return (r.m.u.ok.sequence);
}

static inline uint32_t
unsettled(struct drv *d)
{
	struct store_msg m = { .op = STORE_UNSETTLED };
	struct drv_reply r;
	uint32_t n;

	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_NONE);
	n = r.m.u.ok.objects;
	drv_reply_done(&r);
	return (n);
}

/* Started with the order to make the index anew, whatever there is of it. */
static inline void
start_anew(struct drv *d)
{
	d->rebuild = 1;
	d->said[0] = '\0';
	if (drv_start(d) == -1) {
		(void)drv_wait(d);
		fail_msg("made anew, it ended, saying \"%s\"", d->said);
	}
	d->rebuild = 0;
}

/* Records, receipts, trees, the chain, what the idempotency ids name. */
static inline void
check_all(struct drv *d, int t, uint64_t jobs, uint64_t settled)
{
	struct drv_objs o = { 0 };
	struct obj_ref refs[3];
	struct drv_reply r;
	char job[JOB_ID_LEN + 1];
	uint64_t n;

	for (n = 0; n < jobs; n++) {
		job_name(n, job);
		refs[0] = drv_chunk(&o, n, 900);
		refs[1] = drv_chunk(&o, 100000 + n, 60);
		refs[2] = drv_tree(&o, refs, 1, 900);
		o.len = o.n = 0;
		assert_int_equal(drv_job(d, t, STORE_JOB_GET, job, &r),
		    ERR_NONE);
		assert_int_equal(drv_job(d, t, STORE_RECEIPT_GET, job, &r),
		    n < settled ? ERR_NONE : ERR_NOT_FOUND);
		assert_int_equal(drv_get(d, t, refs, 3, &r), ERR_NONE);
		assert_int_equal(r.m.u.ok.objects, 3);
		drv_reply_done(&r);
		assert_int_equal(drv_check(d, t, &refs[2], &r), ERR_NONE);
		assert_int_equal(r.m.u.ok.objects, 0);
		assert_int_equal(drv_publish(d, T1, job, &refs[2], &refs[1],
		    &r), ERR_NONE);
		assert_int_equal(r.m.u.ok.existed, 1);
		assert_string_equal(r.m.u.ok.job, job);
	}
	free(o.buf);
	assert_int_equal(head_of(d, T1), settled);
	assert_int_equal(unsettled(d), jobs - settled + 1);
}

static inline void
fill(struct drv *d, int *t)
{
	uint64_t n;
	int t2;

	drv_init(d, getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
	assert_int_equal(drv_start(d), 0);
	*t = drv_bind(d, T1, DRV_ALL);
	for (n = 0; n < JOBS; n++)
		make_job(d, *t, T1, n);
	/* Nothing new with these: no flush of the pack is owed to them. */
	for (n = 0; n < SETTLED; n++)
		settle_job(d, T1, n, n + 1);
	t2 = drv_bind(d, T2, DRV_ALL);
	make_job(d, t2, T2, 5000);
	close(t2);
}

static inline void
index_remove(const struct drv *d)
{
	int fd = open(d->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd != -1);
	assert_int_equal(io_remove_tree(fd, "index"), 0);
	close(fd);
}

static uint64_t seed;

static inline uint64_t
rnd(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed % below);
}

/* Forget settled jobs, the oldest first, until so many jobs are left. */
static inline uint32_t
forget(struct drv *d, uint32_t keep)
{
	struct store_msg m = { .op = STORE_EXPIRE };
	struct drv_reply r;
	uint32_t n;

	m.u.expire.tenant_id = T1;
	m.u.expire.keep_jobs = keep;
	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_NONE);
	n = r.m.u.ok.objects;
	drv_reply_done(&r);
	return (n);
}

/* Collect and rewrite until there is nothing more to do. */
static inline void
collect(struct drv *d)
{
	struct store_msg m = { .op = STORE_CARE };
	struct drv_reply r;
	int op = drv_bind(d, 0, STORE_RIGHT_CARE);

	m.u.care.task = CARE_GC;
	assert_int_equal(drv_call(d, op, &m, -1, &r), ERR_NONE);
	m.u.care.task = CARE_NEXT;
	while (!r.m.u.ok.care.done) {
		drv_reply_done(&r);
		assert_int_equal(drv_call(d, op, &m, -1, &r), ERR_NONE);
	}
	print_message("# %s %llu, %s %llu\n", r.m.u.ok.care.figures[2].name,
	    (unsigned long long)r.m.u.ok.care.figures[2].value,
	    r.m.u.ok.care.figures[5].name,
	    (unsigned long long)r.m.u.ok.care.figures[5].value);
	close(op);
}

#endif /* !ERRAND_TESTS_STORE_JOBS_H */
