/*
 * What a tenant's channel may say that nobody should: too much at once, more
 * than its quota, objects that name what is not there, chains without an end.
 * Each has a typed answer, and another tenant notices nothing.
 */
#include <sys/socket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/list.h"
#include "store_driver.h"

#define T1              1001
#define T2              1002
#define CHANNELS        400
#define EACH            250     /* 100,000 in all */
#define DEEP            3000
#define HELD            100
#define FDS_LIMIT       "128"   /* of the store */
#define UNREAD          100     /* on each of two channels */

static const struct obj_ref none;

static int
setup(void **state)
{
	struct drv *d = calloc(1, sizeof(*d));

	assert_non_null(d);
	drv_init(d, "/tmp");
	assert_int_equal(drv_start(d), 0);
	*state = d;
	return (0);
}

static int
teardown(void **state)
{
	drv_done(*state);
	free(*state);
	return (0);
}

/* A channel of a tenant that may use so much. */
static int
bind_quota(struct drv *d, uint32_t tenant, const struct store_quota *q)
{
	struct store_msg m = { .op = STORE_BIND };
	struct drv_reply r;
	int pair[2];

	assert_int_equal(chan_pair(pair), 0);
	m.u.bind.tenant_id = tenant;
	m.u.bind.rights = DRV_ALL;
	m.u.bind.quota = *q;
	assert_int_equal(drv_call(d, d->fd, &m, pair[1], &r), ERR_NONE);
	return (pair[0]);
}

static void
job_name(uint64_t n, char *job)
{
	size_t i;

	for (i = 0; i < JOB_ID_LEN; i++, n /= 26)
		job[i] = (char)('a' + n % 26);
	job[JOB_ID_LEN] = '\0';
}

/* A whole job of another tenant, put, checked and published. */
static void
other_works(struct drv *d, uint64_t n)
{
	struct drv_objs o = { 0 };
	struct obj_ref file, root, spec;
	struct drv_reply r;
	char job[JOB_ID_LEN + 1];
	int t = drv_bind(d, T2, DRV_ALL);

	file = drv_chunk(&o, 7000000 + n, 900);
	spec = drv_chunk(&o, 8000000 + n, 60);
	root = drv_tree(&o, &file, 1, 900);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	assert_int_equal(drv_check(d, t, &root, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 0);
	job_name(n, job);
	assert_int_equal(drv_publish(d, T2, job, &root, &spec, &r), ERR_NONE);
	free(o.buf);
	close(t);
}

static uint64_t
rss_kib(const struct drv *d)
{
	char path[64];
	const char *p;
	uint8_t *buf;
	size_t len;
	uint64_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)d->pid);
	assert_int_equal(io_file_read(AT_FDCWD, path, 65536, &buf, &len), 0);
	assert_non_null(p = strstr((char *)buf, "RssAnon:"));
	n = strtoull(p + 8, NULL, 10);
	free(buf);
	return (n);
}

/* 100,000 requests, none of whose answers is read before the last is sent. */
static void
test_in_flight(void **state)
{
	static int t[CHANNELS];
	struct drv *d = *state;
	struct store_msg m = { .op = STORE_JOB_GET };
	struct drv_reply r;
	uint8_t buf[CHAN_MSG_MAX];
	uint64_t before = rss_kib(d);
	ssize_t n;
	int i, k;

	/* Answers without descriptors: the kernel bounds those in flight. */
	memcpy(m.u.job.job, "qqqqqqqqqqqqqqqq", JOB_ID_LEN + 1);
	for (i = 0; i < CHANNELS; i++)
		t[i] = drv_bind(d, T1, DRV_ALL);
	for (k = 0; k < EACH; k++) {
		m.id = (uint64_t)k + 1;
		n = store_msg_pack(&m, buf, sizeof(buf));
		assert_true(n > 0);
		for (i = 0; i < CHANNELS; i++)
			assert_int_equal(chan_send_wait(t[i], buf, (size_t)n,
			    NULL, 0), 0);
		if (k % 50 == 0)
			other_works(d, (uint64_t)k);
	}
	other_works(d, EACH);
	print_message("# %llu KiB for %d answers that nobody reads\n",
	    (unsigned long long)(rss_kib(d) - before), CHANNELS * EACH);
	assert_true(rss_kib(d) - before < 100 * 1024);
	/* Each has its answer. */
	for (i = 0; i < CHANNELS; i++) {
		for (k = 0; k < EACH; k++) {
			assert_int_equal(drv_recv(t[i], &r), 0);
			assert_int_equal(r.m.op, STORE_ERROR);
			assert_int_equal(r.m.u.error.code, ERR_NOT_FOUND);
		}
		close(t[i]);
	}
	other_works(d, EACH + 1);
}

/*
 * Answers with descriptors that nobody reads: the kernel counts those under way
 * of all channels together.  Two channels may not use up what others need, and
 * when they read at last, everything is there.
 */
static void
test_unread_fds(void **state)
{
	struct drv *d = *state;
	struct drv_objs o = { 0 };
	struct obj_ref ref;
	struct drv_reply r;
	int t[3], i, k;

	if (geteuid() != 0) {
		print_message("# needs root: else the store is of the same "
		    "user as we, whose own requests count too\n");
		skip();
	}
	assert_int_equal(drv_wait(d), 0);
	assert_int_equal(setenv("ERRAND_TRACE", "prlimit --nofile=" FDS_LIMIT,
	    1), 0);
	assert_int_equal(drv_start(d), 0);
	assert_int_equal(unsetenv("ERRAND_TRACE"), 0);
	for (i = 0; i < 3; i++)
		t[i] = drv_bind(d, i < 2 ? T1 : T2, DRV_ALL);
	for (i = 0; i < 3; i += 2) {
		ref = drv_chunk(&o, 1, 500);
		assert_int_equal(drv_put(d, t[i], &o, &r), ERR_NONE);
	}
	for (k = 0; k < UNREAD; k++) {
		for (i = 0; i < 2; i++)
			(void)drv_get_ask(d, t[i], &ref, 1);
	}
	for (k = 0; k < 4 * UNREAD; k++) {
		assert_int_equal(drv_get(d, t[2], &ref, 1, &r), ERR_NONE);
		assert_int_equal(r.m.u.ok.objects, 1);
		drv_reply_done(&r);
	}
	for (i = 0; i < 2; i++) {
		for (k = 0; k < UNREAD; k++) {
			assert_int_equal(drv_recv(t[i], &r), 0);
			assert_int_equal(r.m.op, STORE_OK);
			assert_int_equal(r.m.u.ok.objects, 1);
			drv_reply_done(&r);
		}
	}
	for (i = 0; i < 3; i++)
		close(t[i]);
	free(o.buf);
}

/* Which quota, the limit, the use, and what to do. */
static void
refused(const struct drv_reply *r, const char *what, const char *limit)
{
	assert_int_equal(r->m.u.error.code, ERR_LIMIT);
	assert_non_null(strstr(r->m.u.error.text, what));
	assert_non_null(strstr(r->m.u.error.text, limit));
	assert_non_null(strstr(r->m.u.error.text, "ask the operator"));
}

static void
test_quotas(void **state)
{
	struct drv *d = *state;
	const struct store_quota q = { .bytes = 100000, .objects = 20,
	    .jobs = 3, .log_bytes = 5000 };
	struct store_msg m = { .op = STORE_USAGE };
	struct drv_objs o = { 0 };
	struct obj_ref spec, ref;
	struct drv_reply r;
	char job[JOB_ID_LEN + 1];
	int t = bind_quota(d, T1, &q), i;

	spec = drv_chunk(&o, 1, 100);
	(void)drv_chunk(&o, 2, 60000);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	/* All or nothing, and no byte over it. */
	ref = drv_chunk(&o, 3, 30000);
	(void)drv_chunk(&o, 4, 30000);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_LIMIT);
	refused(&r, "store quota", "97.7 KiB");
	assert_int_equal(drv_get(d, t, &ref, 1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 0);
	for (i = 0; i < 30; i++)
		(void)drv_chunk(&o, 100 + (uint64_t)i, 50);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_LIMIT);
	refused(&r, "quota of stored objects", "of 20");
	/* What is there counts once. */
	for (i = 0; i < 10; i++) {
		(void)drv_chunk(&o, 2, 60000);
		assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	}
	assert_int_equal(drv_call(d, t, &m, -1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.usage.bytes, 60100);
	assert_int_equal(r.m.u.ok.usage.objects, 2);
	assert_int_equal(r.m.u.ok.usage.quota.jobs, 3);
	for (i = 0; i < 3; i++) {
		job_name((uint64_t)i, job);
		assert_int_equal(drv_publish(d, T1, job, &none, &spec, &r),
		    ERR_NONE);
	}
	job_name(3, job);
	assert_int_equal(drv_publish(d, T1, job, &none, &spec, &r),
	    ERR_LIMIT);
	refused(&r, "quota of kept jobs", "3 of 3");
	/* The ones there are may end, and be said again. */
	job_name(0, job);
	assert_int_equal(drv_publish(d, T1, job, &none, &spec, &r), ERR_NONE);
	m = drv_settle_msg(T1, job, 1, &none, &none);
	m.u.settle.log_bytes = 6000;
	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_NONE);
	m.op = STORE_EXPIRE;
	memset(&m.u, 0, sizeof(m.u));
	m.u.expire.tenant_id = T1;
	m.u.expire.keep_jobs = 10;
	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 0);
	m.u.expire.log_bytes = 5999;
	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 1);
	drv_reply_done(&r);
	job_name(3, job);
	assert_int_equal(drv_publish(d, T1, job, &none, &spec, &r), ERR_NONE);
	other_works(d, 1);
	free(o.buf);
	close(t);
}

/* Puts that wait for room, from channels that are gone by then. */
static void
test_parked(void **state)
{
	struct drv *d = *state;
	const struct store_quota q = { .bytes = 100000 };
	struct store_msg m = { .op = STORE_PUT };
	struct drv_objs o = { 0 };
	struct drv_reply r;
	int t[HELD], i, k;

	t[0] = bind_quota(d, T1, &q);
	(void)drv_chunk(&o, 2, 60000);
	assert_int_equal(drv_put(d, t[0], &o, &r), ERR_NONE);
	close(t[0]);
	for (i = 0; i < HELD; i++) {
		t[i] = bind_quota(d, T1, &q);
		(void)drv_chunk(&o, 10 + (uint64_t)i, 60000);
		m.u.put.objects = 1;
		(void)drv_send(d, t[i], &m, memfd_make("put", o.buf, o.len));
		o.len = o.n = 0;
	}
	for (i = 0; i < HELD; i += 2)
		close(t[i]);
	other_works(d, 2);
	for (i = 1, k = 0; i < HELD; i += 2) {
		assert_int_equal(drv_recv(t[i], &r), 0);
		k += r.m.op == STORE_ERROR &&
		    r.m.u.error.code == ERR_LIMIT;
		close(t[i]);
	}
	/* What was put a moment ago is leased: there is no room for any. */
	assert_int_equal(k, HELD / 2);
	other_works(d, 3);
	free(o.buf);
}

/* Trees in one another, the innermost of which never came. */
static void
test_deep(void **state)
{
	struct drv *d = *state;
	struct tree_entry e = { .kind = TREE_DIR, .mode = 0755,
	    .name = (const uint8_t *)"d", .name_len = 1 };
	struct store_msg m = { .op = STORE_COLLECT };
	struct drv_objs o = { 0 }, first = { 0 };
	struct tree_builder *tb;
	struct obj_ref spec, missing;
	struct drv_reply r;
	char job[JOB_ID_LEN + 1];
	int t = drv_bind(d, T1, DRV_ALL), i;

	spec = drv_chunk(&o, 1, 50);
	e.ref = missing = drv_tree(&first, &spec, 1, 50);
	for (i = 0; i < DEEP; i++) {
		assert_non_null(tb = tree_builder_new());
		assert_int_equal(tree_builder_add(tb, &e), 0);
		assert_int_equal(tree_builder_finish(tb, drv_sink, &o,
		    &e.ref), 0);
		tree_builder_free(tb);
	}
	assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	assert_int_equal(drv_check(d, t, &e.ref, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 1);
	drv_reply_done(&r);
	job_name(1, job);
	assert_int_equal(drv_publish(d, T1, job, &e.ref, &spec, &r),
	    ERR_MISSING);
	assert_true(obj_ref_equal(&r.m.u.error.ref, &missing));
	/* With the last it is whole, and a collection gets through it. */
	assert_int_equal(drv_put(d, t, &first, &r), ERR_NONE);
	assert_int_equal(drv_publish(d, T1, job, &e.ref, &spec, &r),
	    ERR_NONE);
	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_NONE);
	other_works(d, 4);
	assert_int_equal(drv_check(d, t, &e.ref, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 0);
	free(o.buf);
	free(first.buf);
	close(t);
}

/* A list of what is not there, and one that lies about its parts. */
static void
test_lists(void **state)
{
	struct drv *d = *state;
	struct list_item it = { .type = LIST_ITEM_REF, .len = 1000 };
	struct list_builder *lb = list_builder_new();
	struct drv_objs o = { 0 };
	struct obj_ref list, lie;
	struct drv_reply r;
	char job[JOB_ID_LEN + 1];
	uint8_t buf[1000];
	int t = drv_bind(d, T1, DRV_ALL), i;

	assert_non_null(lb);
	for (i = 0; i < 3; i++) {
		drv_bytes((uint64_t)i, buf, sizeof(buf));
		assert_int_equal(obj_ref_of(OBJ_CHUNK, buf, sizeof(buf),
		    &it.ref), 0);
		assert_int_equal(list_builder_add(lb, &it), 0);
	}
	assert_int_equal(list_builder_finish(lb, drv_sink, &o, &list), 0);
	list_builder_free(lb);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	assert_int_equal(drv_check(d, t, &list, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 3);
	drv_reply_done(&r);
	job_name(1, job);
	assert_int_equal(drv_publish(d, T1, job, &none, &list, &r),
	    ERR_MISSING);
	/* The first length is another than the sum says. */
	buf[0] = 'E';
	buf[1] = 'L';
	buf[2] = 1;
	memset(buf + 3, 0, sizeof(buf) - 3);
	buf[4] = 200;
	buf[12] = 2;
	lie = drv_add(&o, OBJ_LIST, buf, 16 + 2 * 41);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_INVALID);
	assert_true(obj_ref_equal(&r.m.u.error.ref, &lie));
	other_works(d, 5);
	free(o.buf);
	close(t);
}

#define TEST(name)      cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_in_flight),
		TEST(test_unread_fds),
		TEST(test_quotas),
		TEST(test_parked),
		TEST(test_deep),
		TEST(test_lists),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
