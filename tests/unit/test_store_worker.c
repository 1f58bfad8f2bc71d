/*
 * The store as its peers see it: a real errand-store, asked over real
 * channels.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store_driver.h"

#define NITEMS(x)       (sizeof(x) / sizeof((x)[0]))
#define T1              1001
#define T2              1002
#define JOB_A           "aaaaaaaaaaaaaaaa"
#define JOB_B           "bbbbbbbbbbbbbbbb"
#define JOB_C           "cccccccccccccccc"

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

/* A spec is there and a job can be published. */
static struct obj_ref
put_spec(struct drv *d, int fd, uint64_t seed)
{
	struct drv_objs o = { 0 };
	struct drv_reply r;
	struct obj_ref ref;

	ref = drv_chunk(&o, seed, 100);
	assert_int_equal(drv_put(d, fd, &o, &r), ERR_NONE);
	free(o.buf);
	return (ref);
}

static void
test_round_trip(void **state)
{
	struct drv *d = *state;
	struct drv_objs o = { 0 };
	struct obj_ref files[3], root, refs[4];
	struct objrec rec;
	struct drv_reply r;
	uint8_t want[OBJ_MAX];
	size_t i, at = 0;
	int t = drv_bind(d, T1, DRV_ALL);

	for (i = 0; i < 3; i++)
		files[i] = drv_chunk(&o, i, 1000 + i);
	root = drv_tree(&o, files, 3, 1000);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 4);
	assert_int_equal(drv_check(d, t, &root, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 0);
	memcpy(refs, files, sizeof(files));
	refs[3] = root;
	assert_int_equal(drv_get(d, t, refs, 4, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 4);
	for (i = 0; i < 4; i++) {
		assert_true(at + OBJREC_HEAD <= r.len);
		assert_int_equal(objrec_decode(r.map + at, &rec), 0);
		assert_true(obj_ref_equal(&rec.ref, &refs[i]));
		if (i < 3) {
			drv_bytes(i, want, 1000 + i);
			assert_memory_equal(r.map + at + OBJREC_HEAD, want,
			    1000 + i);
		}
		at += OBJREC_HEAD + rec.len;
	}
	assert_int_equal(at, r.len);
	drv_reply_done(&r);
	/* Put again: a success, and nothing new. */
	for (i = 0; i < 3; i++)
		(void)drv_chunk(&o, i, 1000 + i);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 0);
	free(o.buf);
	close(t);
}

/* What compresses comes back as it was. */
static void
test_compressible(void **state)
{
	struct drv *d = *state;
	struct drv_objs o = { 0 };
	struct drv_reply r;
	struct obj_ref ref;
	uint8_t buf[OBJ_MAX];
	int t = drv_bind(d, T1, DRV_ALL);

	memset(buf, 'x', sizeof(buf));
	ref = drv_add(&o, OBJ_CHUNK, buf, sizeof(buf));
	assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	assert_int_equal(drv_get(d, t, &ref, 1, &r), ERR_NONE);
	assert_int_equal(r.len, OBJREC_HEAD + sizeof(buf));
	assert_memory_equal(r.map + OBJREC_HEAD, buf, sizeof(buf));
	drv_reply_done(&r);
	free(o.buf);
	close(t);
}

/* One full answer: what does not fit is left out, and can be asked for. */
static void
test_get_prefix(void **state)
{
	struct drv *d = *state;
	struct drv_objs o = { 0 };
	struct drv_reply r;
	struct obj_ref refs[100];
	size_t i;
	int t = drv_bind(d, T1, DRV_ALL);

	for (i = 0; i < NITEMS(refs); i++) {
		refs[i] = drv_chunk(&o, 500 + i, OBJ_MAX);
		if (o.len > 3 * 1024 * 1024 || i + 1 == NITEMS(refs))
			assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	}
	assert_int_equal(drv_get(d, t, refs, NITEMS(refs), &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, LIMIT_GET_BYTES /
	    (OBJREC_HEAD + OBJ_MAX));
	assert_true(r.len <= LIMIT_GET_BYTES);
	drv_reply_done(&r);
	/* A missing one ends it as well. */
	(void)obj_ref_of(OBJ_CHUNK, "no", 2, &refs[2]);
	assert_int_equal(drv_get(d, t, refs, 5, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 2);
	drv_reply_done(&r);
	assert_int_equal(drv_get(d, t, refs + 2, 3, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 0);
	assert_null(r.map);
	free(o.buf);
	close(t);
}

static void
test_wrong_id(void **state)
{
	struct drv *d = *state;
	struct drv_objs o = { 0 };
	struct drv_reply r;
	struct obj_ref good, bad;
	int t = drv_bind(d, T1, DRV_ALL);

	good = drv_chunk(&o, 1, 500);
	bad = good;
	bad.id[7] ^= 1;
	drv_add_ref(&o, &bad, "something else", 14);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_DAMAGED);
	assert_true(obj_ref_equal(&r.m.u.error.ref, &bad));
	assert_int_equal(drv_get(d, t, &bad, 1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 0);
	/* All or nothing. */
	assert_int_equal(drv_get(d, t, &good, 1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 0);
	/* The right bytes under the wrong kind are wrong as well. */
	bad = good;
	bad.kind = OBJ_LIST;
	drv_add_ref(&o, &bad, "x", 1);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_DAMAGED);
	/* And the channel is as good as before. */
	(void)drv_chunk(&o, 1, 500);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 1);
	free(o.buf);
	close(t);
}

static void
test_malformed_objects(void **state)
{
	struct drv *d = *state;
	struct drv_objs o = { 0 };
	struct drv_reply r;
	struct store_msg m = { .op = STORE_PUT };
	int t = drv_bind(d, T1, DRV_ALL);

	(void)drv_add(&o, OBJ_TREE, "not a tree", 10);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_INVALID);
	(void)drv_add(&o, OBJ_LIST, "EL\1\0", 4);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_INVALID);
	/* More, and fewer, records than was said. */
	(void)drv_chunk(&o, 1, 10);
	o.n = 2;
	assert_int_equal(drv_put(d, t, &o, &r), ERR_INVALID);
	(void)drv_chunk(&o, 1, 10);
	(void)drv_chunk(&o, 2, 10);
	o.n = 1;
	assert_int_equal(drv_put(d, t, &o, &r), ERR_INVALID);
	/* A record that claims more than there is. */
	(void)drv_chunk(&o, 1, 10);
	o.len -= 3;
	assert_int_equal(drv_put(d, t, &o, &r), ERR_INVALID);
	/* A codec, which this process must not undo for a tenant. */
	(void)drv_chunk(&o, 1, 100);
	o.buf[1] = OBJREC_ZSTD;
	assert_int_equal(drv_put(d, t, &o, &r), ERR_INVALID);
	/* Nothing at all. */
	m.u.put.objects = 1;
	assert_int_equal(drv_call(d, t, &m, memfd_make("put", "", 0), &r),
	    ERR_INVALID);
	drv_stat(d, &r);
	assert_int_equal(r.m.u.ok.stat.objects, 0);
	free(o.buf);
	close(t);
}

static void
test_missing(void **state)
{
	struct drv *d = *state;
	struct drv_objs o = { 0 }, kept = { 0 };
	struct drv_reply r;
	struct obj_ref files[5], root, spec, ref;
	size_t i;
	int t = drv_bind(d, T1, DRV_ALL);

	spec = put_spec(d, t, 77);
	for (i = 0; i < 5; i++)
		files[i] = drv_chunk(i == 2 || i == 4 ? &kept : &o, i, 300);
	root = drv_tree(&o, files, 5, 300);
	assert_int_equal(drv_check(d, t, &root, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 1);
	assert_int_equal(obj_ref_decode(r.map, &ref), 0);
	assert_true(obj_ref_equal(&ref, &root));
	drv_reply_done(&r);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	assert_int_equal(drv_check(d, t, &root, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 2);
	assert_int_equal(r.len, 2 * OBJ_REF_LEN);
	assert_int_equal(obj_ref_decode(r.map, &ref), 0);
	assert_true(obj_ref_equal(&ref, &files[2]));
	drv_reply_done(&r);
	assert_int_equal(drv_publish(d, T1, JOB_A, &root, &spec, &r),
	    ERR_MISSING);
	assert_true(obj_ref_equal(&r.m.u.error.ref, &files[2]));
	assert_int_equal(drv_put(d, t, &kept, &r), ERR_NONE);
	(void)obj_ref_of(OBJ_CHUNK, "no", 2, &ref);
	assert_int_equal(drv_publish(d, T1, JOB_A, &root, &ref, &r),
	    ERR_MISSING);
	assert_int_equal(drv_publish(d, T1, JOB_A, &root, &spec, &r),
	    ERR_NONE);
	/* A result that is not there cannot be settled. */
	assert_int_equal(drv_settle(d, T1, JOB_A, 1, &root, &ref, &r),
	    ERR_MISSING);
	assert_int_equal(drv_settle(d, T1, JOB_A, 1, &root, &spec, &r),
	    ERR_NONE);
	free(o.buf);
	free(kept.buf);
	close(t);
}

static void
test_tenants_apart(void **state)
{
	struct drv *d = *state;
	struct drv_objs o = { 0 };
	struct drv_reply r;
	struct obj_ref file, root, spec;
	struct store_msg list = { .op = STORE_JOB_LIST };
	int a = drv_bind(d, T1, DRV_ALL), b = drv_bind(d, T2, DRV_ALL);

	spec = put_spec(d, a, 1);
	file = drv_chunk(&o, 2, 400);
	root = drv_tree(&o, &file, 1, 400);
	assert_int_equal(drv_put(d, a, &o, &r), ERR_NONE);
	assert_int_equal(drv_publish(d, T1, JOB_A, &root, &spec, &r),
	    ERR_NONE);
	/* Durable or pending, the other one sees nothing of it. */
	assert_int_equal(drv_get(d, b, &file, 1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 0);
	assert_int_equal(drv_check(d, b, &root, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 1);
	drv_reply_done(&r);
	assert_int_equal(drv_job(d, b, STORE_JOB_GET, JOB_A, &r),
	    ERR_NOT_FOUND);
	list.u.list.limit = 10;
	assert_int_equal(drv_call(d, b, &list, -1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 0);
	assert_int_equal(drv_publish(d, T2, JOB_B, &root, &spec, &r),
	    ERR_MISSING);
	/* Put by the other, it is new, and the job's id is free. */
	(void)drv_chunk(&o, 2, 400);
	assert_int_equal(drv_put(d, b, &o, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 1);
	assert_int_equal(drv_publish(d, T2, JOB_A, &none, &file, &r),
	    ERR_NONE);
	assert_int_equal(r.m.u.ok.existed, 0);
	assert_int_equal(drv_settle(d, T2, JOB_B, 1, &none, &none, &r),
	    ERR_NOT_FOUND);
	free(o.buf);
	close(a);
	close(b);
}

static void
test_jobs(void **state)
{
	static const char *const jobs[] = { JOB_A, JOB_B, JOB_C };
	struct drv *d = *state;
	struct drv_reply r;
	struct obj_ref spec;
	struct store_msg m = { .op = STORE_JOB_LIST };
	size_t i;
	int t = drv_bind(d, T1, DRV_ALL);

	spec = put_spec(d, t, 1);
	for (i = 0; i < 3; i++)
		assert_int_equal(drv_publish(d, T1, jobs[i], &none, &spec,
		    &r), ERR_NONE);
	assert_int_equal(drv_job(d, t, STORE_JOB_GET, JOB_B, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.data.len, JOB_ID_LEN);
	assert_memory_equal(r.m.u.ok.data.p, JOB_B, JOB_ID_LEN);
	assert_int_equal(drv_job(d, t, STORE_RECEIPT_GET, JOB_B, &r),
	    ERR_NOT_FOUND);
	assert_int_equal(drv_settle(d, T1, JOB_B, 1, &none, &none, &r),
	    ERR_NONE);
	assert_int_equal(drv_job(d, t, STORE_JOB_GET, JOB_B, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.data.len, 7);
	assert_int_equal(drv_job(d, t, STORE_RECEIPT_GET, JOB_B, &r),
	    ERR_NONE);
	assert_memory_equal(r.m.u.ok.data.p, JOB_B, JOB_ID_LEN);
	/* Newest first, as many as asked for. */
	m.u.list.limit = 2;
	assert_int_equal(drv_call(d, t, &m, -1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 2);
	assert_int_equal(r.len, 4 + JOB_ID_LEN + 4 + 7);
	assert_memory_equal(r.map + 4, JOB_C, JOB_ID_LEN);
	assert_memory_equal(r.map + 4 + JOB_ID_LEN + 4, "settled", 7);
	drv_reply_done(&r);
	m.op = STORE_UNSETTLED;
	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 2);
	assert_memory_equal(r.map + 4, JOB_A, JOB_ID_LEN);
	drv_reply_done(&r);
	close(t);
}

static void
check_head(struct drv *d, uint32_t tenant, uint64_t want, const char *job)
{
	struct store_msg m = { .op = STORE_HEAD };
	struct drv_reply r;

	m.u.head.tenant_id = tenant;
	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.sequence, want);
	if (want > 0)
		assert_memory_equal(r.m.u.ok.digest, job, JOB_ID_LEN);
}

static void
test_sequence(void **state)
{
	struct drv *d = *state;
	struct drv_reply r;
	struct obj_ref spec;
	int t = drv_bind(d, T1, DRV_ALL);

	spec = put_spec(d, t, 1);
	check_head(d, T1, 0, NULL);
	assert_int_equal(drv_publish(d, T1, JOB_A, &none, &spec, &r),
	    ERR_NONE);
	assert_int_equal(drv_publish(d, T1, JOB_B, &none, &spec, &r),
	    ERR_NONE);
	assert_int_equal(drv_settle(d, T1, JOB_A, 2, &none, &none, &r),
	    ERR_CONFLICT);
	check_head(d, T1, 0, NULL);
	assert_int_equal(drv_settle(d, T1, JOB_A, 1, &none, &none, &r),
	    ERR_NONE);
	check_head(d, T1, 1, JOB_A);
	assert_int_equal(drv_settle(d, T1, JOB_B, 1, &none, &none, &r),
	    ERR_CONFLICT);
	assert_int_equal(drv_settle(d, T1, JOB_B, 3, &none, &none, &r),
	    ERR_CONFLICT);
	assert_int_equal(drv_settle(d, T1, JOB_C, 2, &none, &none, &r),
	    ERR_NOT_FOUND);
	/* The same once more is what a supervisor says that heard nothing. */
	assert_int_equal(drv_settle(d, T1, JOB_A, 1, &none, &none, &r),
	    ERR_NONE);
	assert_int_equal(drv_settle(d, T1, JOB_A, 2, &none, &none, &r),
	    ERR_CONFLICT);
	assert_int_equal(drv_settle(d, T1, JOB_B, 2, &none, &none, &r),
	    ERR_NONE);
	check_head(d, T1, 2, JOB_B);
	check_head(d, T2, 0, NULL);
	close(t);
}

static void
test_idempotency(void **state)
{
	struct drv *d = *state;
	struct store_msg m;
	struct drv_reply r;
	struct obj_ref spec, other, missing;
	int t = drv_bind(d, T1, DRV_ALL);

	spec = put_spec(d, t, 1);
	other = put_spec(d, t, 2);
	(void)obj_ref_of(OBJ_CHUNK, "no", 2, &missing);
	m = drv_publish_msg(T1, JOB_A, &none, &spec);
	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.existed, 0);
	/* Again, with another job id: the first one's is told. */
	memcpy(m.u.publish.job, JOB_B, JOB_ID_LEN);
	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.existed, 1);
	assert_string_equal(r.m.u.ok.job, JOB_A);
	m.u.publish.spec = other;
	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_CONFLICT);
	m.u.publish.spec = missing;
	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_CONFLICT);
	/* A job's id is used once. */
	m = drv_publish_msg(T1, JOB_B, &none, &spec);
	memcpy(m.u.publish.job, JOB_A, JOB_ID_LEN);
	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_CONFLICT);
	drv_stat(d, &r);
	assert_int_equal(r.m.u.ok.stat.jobs, 1);
	close(t);
}

/* A job that waited: its record is replaced until it is settled, not after. */
static void
test_record_anew(void **state)
{
	static const uint8_t anew[] = "starting";
	struct drv *d = *state;
	struct store_msg m;
	struct drv_reply r;
	struct obj_ref spec;
	int t = drv_bind(d, T1, DRV_ALL);

	spec = put_spec(d, t, 1);
	m = drv_publish_msg(T1, JOB_A, &none, &spec);
	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_NONE);
	m.u.publish.record.p = anew;
	m.u.publish.record.len = sizeof(anew);
	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.existed, 1);
	memset(&m, 0, sizeof(m));
	m.op = STORE_JOB_GET;
	memcpy(m.u.job.job, JOB_A, JOB_ID_LEN);
	assert_int_equal(drv_call(d, t, &m, -1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.data.len, sizeof(anew));
	assert_memory_equal(r.m.u.ok.data.p, anew, sizeof(anew));
	drv_stat(d, &r);
	assert_int_equal(r.m.u.ok.stat.jobs, 1);
	assert_int_equal(drv_settle(d, T1, JOB_A, 1, &none, &none, &r),
	    ERR_NONE);
	m = drv_publish_msg(T1, JOB_A, &none, &spec);
	m.u.publish.record.p = anew;
	m.u.publish.record.len = sizeof(anew);
	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_NONE);
	memset(&m, 0, sizeof(m));
	m.op = STORE_JOB_GET;
	memcpy(m.u.job.job, JOB_A, JOB_ID_LEN);
	assert_int_equal(drv_call(d, t, &m, -1, &r), ERR_NONE);
	assert_true(r.m.u.ok.data.len != sizeof(anew) ||
	    memcmp(r.m.u.ok.data.p, anew, sizeof(anew)) != 0);
	close(t);
}

/*
 * Stop the store, fill its socket, let it go on: it finds everything in one
 * wake-up.  Replies come in order; refusals concern themselves alone.
 */
static void
test_group_commit(void **state)
{
	struct drv *d = *state;
	struct store_msg m[40];
	struct drv_reply r;
	struct obj_ref spec, missing;
	uint64_t ids[40], commits, flushes;
	char job[40][JOB_ID_LEN + 1];
	size_t i;
	int t = drv_bind(d, T1, DRV_ALL), code;

	spec = put_spec(d, t, 1);
	(void)obj_ref_of(OBJ_CHUNK, "no", 2, &missing);
	assert_int_equal(drv_publish(d, T1, JOB_A, &none, &spec, &r),
	    ERR_NONE);
	drv_stat(d, &r);
	commits = r.m.u.ok.stat.commits;
	flushes = r.m.u.ok.stat.flushes;
	kill(d->pid, SIGSTOP);
	for (i = 0; i < 40; i++) {
		(void)snprintf(job[i], sizeof(job[i]), "groupgroupgrou%c%c",
		    (int)('a' + i / 20), (int)('a' + i % 20));
		if (i < 20)     /* 7: incomplete; 9: a repeat; 11: mixed up */
			m[i] = drv_publish_msg(T1, job[i == 9 || i == 11 ? 8 :
			    i], &none, i == 7 ? &missing : &spec);
		else            /* 31 follows a sequence that is not next */
			m[i] = drv_settle_msg(T1, job[i == 27 || i == 29 ||
			    i == 31 ? 5 : i - 20], i - 19, &none, &none);
		if (i == 11)
			m[i].u.publish.root = spec, m[i].u.publish.root.kind =
			    OBJ_TREE;
		ids[i] = drv_send(d, d->fd, &m[i], -1);
	}
	kill(d->pid, SIGCONT);
	for (i = 0; i < 40; i++) {
		assert_int_equal(drv_recv(d->fd, &r), 0);
		assert_int_equal(r.m.id, ids[i]);
		code = r.m.op == STORE_OK ? ERR_NONE : r.m.u.error.code;
		if (i == 7)
			assert_int_equal(code, ERR_MISSING);
		else if (i == 9) {
			assert_int_equal(code, ERR_NONE);
			assert_int_equal(r.m.u.ok.existed, 1);
			assert_string_equal(r.m.u.ok.job, job[8]);
		} else if (i == 11 || i >= 27)
			assert_int_not_equal(code, ERR_NONE);
		else
			assert_int_equal(code, ERR_NONE);
	}
	check_head(d, T1, 7, job[6]);
	drv_stat(d, &r);
	assert_true(r.m.u.ok.stat.commits - commits <= 3);
	print_message("# 40 requests: %u commits, %u flushes\n",
	    (unsigned int)(r.m.u.ok.stat.commits - commits),
	    (unsigned int)(r.m.u.ok.stat.flushes - flushes));
	close(t);
}

/* What one job costs, as the design has it. */
static void
test_flushes(void **state)
{
	struct drv *d = *state;
	struct drv_reply r;
	struct obj_ref spec;
	uint64_t f;
	int t = drv_bind(d, T1, DRV_ALL);

	spec = put_spec(d, t, 1);
	drv_stat(d, &r);
	f = r.m.u.ok.stat.flushes;
	assert_int_equal(drv_publish(d, T1, JOB_A, &none, &spec, &r),
	    ERR_NONE);
	drv_stat(d, &r);
	assert_int_equal(r.m.u.ok.stat.flushes - f, 3); /* pack, pages, meta */
	f = r.m.u.ok.stat.flushes;
	assert_int_equal(drv_publish(d, T1, JOB_B, &none, &spec, &r),
	    ERR_NONE);
	drv_stat(d, &r);
	assert_int_equal(r.m.u.ok.stat.flushes - f, 2);
	f = r.m.u.ok.stat.flushes;
	assert_int_equal(drv_settle(d, T1, JOB_A, 1, &none, &none, &r),
	    ERR_NONE);
	drv_stat(d, &r);
	assert_int_equal(r.m.u.ok.stat.flushes - f, 2);
	close(t);
}

/* Objects that nobody publishes become durable on their own. */
static void
test_idle_commit(void **state)
{
	struct drv *d = *state;
	struct drv_reply r;
	uint64_t until = io_mono_us() + 10 * 1000000ULL;
	int t = drv_bind(d, T1, DRV_ALL);

	(void)put_spec(d, t, 1);
	do {
		drv_stat(d, &r);
		assert_true(io_mono_us() < until);
	} while (r.m.u.ok.stat.objects == 0);
	assert_int_equal(r.m.u.ok.stat.objects, 1);
	close(t);
}

/* Many directories: the walk takes more than one step. */
static void
test_wide(void **state)
{
	struct drv *d = *state;
	struct drv_objs o = { 0 };
	struct drv_reply r;
	struct tree_builder *tb = tree_builder_new();
	struct tree_entry e = { .kind = TREE_DIR, .mode = 0755 };
	struct obj_ref files[100], root, spec;
	uint64_t start, i, j;
	char name[32];
	int t = drv_bind(d, T1, DRV_ALL);

	spec = put_spec(d, t, 1);
	start = io_mono_us();
	for (i = 0; i < 100; i++) {
		for (j = 0; j < 100; j++)
			files[j] = drv_chunk(&o, 1000 + i * 100 + j, 1024);
		e.ref = drv_tree(&o, files, 100, 1024);
		(void)snprintf(name, sizeof(name), "d%06u", (unsigned int)i);
		e.name = (const uint8_t *)name;
		e.name_len = (uint16_t)strlen(name);
		assert_int_equal(tree_builder_add(tb, &e), 0);
		if (o.len > LIMIT_PUT_BYTES / 2 || i == 99)
			assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	}
	assert_int_equal(tree_builder_finish(tb, drv_sink, &o, &root), 0);
	tree_builder_free(tb);
	assert_int_equal(drv_check(d, t, &root, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 1);
	drv_reply_done(&r);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	assert_int_equal(drv_publish(d, T1, JOB_A, &root, &spec, &r),
	    ERR_NONE);
	print_message("# 10,000 x 1 KiB put and published: %u ms\n",
	    (unsigned int)((io_mono_us() - start) / 1000));
	/* Marked complete, it costs nothing the second time. */
	start = io_mono_us();
	assert_int_equal(drv_publish(d, T1, JOB_B, &root, &spec, &r),
	    ERR_NONE);
	print_message("# published again: %u us\n",
	    (unsigned int)(io_mono_us() - start));
	free(o.buf);
	close(t);
}

/* More than a pack holds: the next one is begun, the first still read. */
static void
test_next_pack(void **state)
{
	struct drv *d = *state;
	struct drv_objs o = { 0 };
	struct drv_reply r;
	struct obj_ref first = none, last = none;
	uint8_t noise[OBJ_MAX];
	uint64_t i;
	int t = drv_bind(d, T1, DRV_ALL);

	drv_bytes(1, noise, sizeof(noise));
	for (i = 0; i < 3700; i++) {
		memcpy(noise, &i, sizeof(i));
		last = drv_add(&o, OBJ_CHUNK, noise, sizeof(noise));
		if (i == 0)
			first = last;
		if (o.n == 62)
			assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	}
	assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	assert_int_equal(drv_publish(d, T1, JOB_A, &none, &last, &r),
	    ERR_NONE);
	drv_stat(d, &r);
	assert_int_equal(r.m.u.ok.stat.packs, 2);
	assert_int_equal(r.m.u.ok.stat.objects, 3700);
	close(t);
	drv_kill(d);
	assert_int_equal(drv_start(d), 0);
	t = drv_bind(d, T1, DRV_ALL);
	assert_int_equal(drv_get(d, t, &first, 1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 1);
	drv_reply_done(&r);
	assert_int_equal(drv_get(d, t, &last, 1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 1);
	drv_reply_done(&r);
	free(o.buf);
	close(t);
}

/* A violation on a tenant's channel ends that channel and no other. */
static void
test_violations(void **state)
{
	struct drv *d = *state;
	struct drv_objs o = { 0 };
	struct drv_reply r;
	struct store_msg m;
	struct obj_ref ref;
	uint8_t *map;
	int t, other = drv_bind(d, T1, DRV_ALL), fd;
	size_t i;

	ref = put_spec(d, other, 1);
	for (i = 0; i < 7; i++) {
		t = drv_bind(d, T1, DRV_ALL);
		memset(&m, 0, sizeof(m));
		m.op = STORE_PUT;
		m.u.put.objects = 1;
		fd = -1;
		switch (i) {
		case 0:         /* a memfd that can still change */
			fd = memfd_open("put", 100, &map);
			break;
		case 1:         /* a file */
			fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
			break;
		case 2:         /* no descriptor */
			break;
		case 3:         /* one too many */
			m.op = STORE_CHECK;
			m.u.check.root = ref;
			fd = memfd_make("x", "x", 1);
			break;
		case 4:         /* not a tenant's to ask */
			m.op = STORE_STAT;
			break;
		case 5:         /* HELLO has no place here */
			m.op = STORE_HELLO;
			m.u.hello.version = CHANNEL_VERSION;
			break;
		case 6:         /* one that cannot be read */
			m.op = STORE_GET;
			m.u.get.refs = 1;
			fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
			break;
		}
		(void)drv_send(d, t, &m, fd);
		assert_int_equal(drv_recv(t, &r), -1);
		close(t);
	}
	t = drv_bind(d, T1, DRV_ALL);
	assert_int_equal(chan_send_wait(t, (const uint8_t *)"\xff\xff\xff", 3,
	    NULL, 0), 0);
	assert_int_equal(drv_recv(t, &r), -1);
	close(t);
	assert_int_equal(drv_get(d, other, &ref, 1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 1);
	drv_reply_done(&r);
	free(o.buf);
	close(other);
}

static void
test_rights(void **state)
{
	struct drv *d = *state;
	struct drv_objs o = { 0 };
	struct drv_reply r;
	struct obj_ref ref;
	int put = drv_bind(d, T1, STORE_RIGHT_PUT);
	int get = drv_bind(d, T1, STORE_RIGHT_GET);
	int jobs = drv_bind(d, T1, STORE_RIGHT_JOBS);

	ref = put_spec(d, put, 1);
	assert_int_equal(drv_publish(d, T1, JOB_A, &none, &ref, &r),
	    ERR_NONE);
	assert_int_equal(drv_get(d, put, &ref, 1, &r), ERR_DENIED);
	assert_int_equal(drv_job(d, put, STORE_JOB_GET, JOB_A, &r),
	    ERR_DENIED);
	assert_int_equal(drv_get(d, get, &ref, 1, &r), ERR_NONE);
	drv_reply_done(&r);
	assert_int_equal(drv_check(d, get, &ref, &r), ERR_DENIED);
	(void)drv_chunk(&o, 5, 10);
	assert_int_equal(drv_put(d, get, &o, &r), ERR_DENIED);
	assert_int_equal(drv_job(d, get, STORE_RECEIPT_GET, JOB_A, &r),
	    ERR_DENIED);
	assert_int_equal(drv_get(d, jobs, &ref, 1, &r), ERR_DENIED);
	assert_int_equal(drv_job(d, jobs, STORE_JOB_GET, JOB_A, &r),
	    ERR_NONE);
	free(o.buf);
	close(put);
	close(get);
	close(jobs);
}

/* BIND can name an object: the channel is sent that, if it may have it. */
static void
test_first(void **state)
{
	struct drv *d = *state;
	struct drv_reply r;
	struct obj_ref ref, not_there = { .kind = OBJ_CHUNK };
	int put = drv_bind(d, T1, STORE_RIGHT_PUT), t;

	ref = put_spec(d, put, 1);
	t = drv_bind_first(d, T1, STORE_RIGHT_GET, &ref);
	assert_int_equal(drv_recv(t, &r), 0);
	assert_int_equal(r.m.id, STORE_FIRST_ID);
	assert_int_equal(r.m.op, STORE_OK);
	assert_int_equal(r.m.reply_to, STORE_GET);
	assert_int_equal(r.m.u.ok.objects, 1);
	assert_true(r.len > OBJREC_HEAD);
	drv_reply_done(&r);
	close(t);

	/* Another tenant does not have it; a channel without the right waits
	 * for nothing, as the answer to what it asks shows. */
	t = drv_bind_first(d, T2, STORE_RIGHT_GET, &ref);
	assert_int_equal(drv_recv(t, &r), 0);
	assert_int_equal(r.m.op, STORE_OK);
	assert_int_equal(r.m.u.ok.objects, 0);
	close(t);
	t = drv_bind_first(d, T1, STORE_RIGHT_GET, &not_there);
	assert_int_equal(drv_recv(t, &r), 0);
	assert_int_equal(r.m.u.ok.objects, 0);
	close(t);
	t = drv_bind_first(d, T1, STORE_RIGHT_PUT, &ref);
	assert_int_equal(drv_get(d, t, &ref, 1, &r), ERR_DENIED);
	close(t);
	close(put);
}

/* Asking without reading the answers is bounded. */
static void
test_flood(void **state)
{
	struct drv *d = *state;
	struct drv_reply r;
	struct store_msg m = { .op = STORE_JOB_LIST };
	uint8_t buf[CHAN_MSG_MAX];
	ssize_t n;
	size_t i, sent = 0;
	int t = drv_bind(d, T1, DRV_ALL), other = drv_bind(d, T2, DRV_ALL);

	m.id = 1;
	n = store_msg_pack(&m, buf, sizeof(buf));
	assert_true(n > 0);
	for (i = 0; i < 100000; i++, sent++) {
		if (chan_send_wait(t, buf, (size_t)n, NULL, 0) == -1)
			break;
	}
	print_message("# channel closed after %zu unread\n", sent);
	assert_true(sent < 100000);
	assert_int_equal(drv_job(d, other, STORE_JOB_GET, JOB_A, &r),
	    ERR_NOT_FOUND);
	close(t);
	close(other);
}

/* A holder that goes away in the middle of it disturbs nobody. */
static void
test_closed_in_between(void **state)
{
	struct drv *d = *state;
	struct drv_objs o = { 0 };
	struct drv_reply r;
	struct store_msg m = { .op = STORE_PUT };
	struct obj_ref ref;
	int t, i;

	for (i = 0; i < 50; i++) {
		t = drv_bind(d, T1, DRV_ALL);
		ref = drv_chunk(&o, (uint64_t)i, 20000);
		m.u.put.objects = 1;
		(void)drv_send(d, t, &m, memfd_make("put", o.buf, o.len));
		m.op = STORE_CHECK;
		m.u.check.root = ref;
		(void)drv_send(d, t, &m, -1);
		close(t);
		m.op = STORE_PUT;
		o.len = o.n = 0;
	}
	/* What was sent before is done all the same. */
	t = drv_bind(d, T1, DRV_ALL);
	assert_int_equal(drv_get(d, t, &ref, 1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 1);
	drv_reply_done(&r);
	free(o.buf);
	close(t);
}

static void
test_supervisor_violation(void **state)
{
	struct drv d;
	struct drv_reply r;
	struct store_msg m = { .op = STORE_JOB_LIST };

	(void)state;
	drv_init(&d, "/tmp");
	assert_int_equal(drv_start(&d), 0);
	m.u.list.limit = 1;
	(void)drv_send(&d, d.fd, &m, -1);
	assert_int_equal(drv_recv(d.fd, &r), -1);
	assert_int_equal(drv_wait(&d), 101);
	drv_done(&d);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_round_trip),
		TEST(test_compressible),
		TEST(test_get_prefix),
		TEST(test_wrong_id),
		TEST(test_malformed_objects),
		TEST(test_missing),
		TEST(test_tenants_apart),
		TEST(test_jobs),
		TEST(test_sequence),
		TEST(test_idempotency),
		TEST(test_record_anew),
		TEST(test_group_commit),
		TEST(test_flushes),
		TEST(test_idle_commit),
		TEST(test_wide),
		TEST(test_next_pack),
		TEST(test_violations),
		TEST(test_rights),
		TEST(test_first),
		TEST(test_flood),
		TEST(test_closed_in_between),
		cmocka_unit_test(test_supervisor_violation),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
