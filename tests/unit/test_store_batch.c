/*
 * The barriers, with failures where the disk would have them: the store runs
 * in this process, between one turn of its loop and the next.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/statvfs.h>

#include <cmocka.h>
#include <event2/event.h>
#include <lmdb.h>
#include <sodium.h>

#include "store_driver.h"
#include "worker-store/batch.h"
#include "worker-store/peer.h"
#include "worker-store/index.h"
#include "worker-store/pending.h"
#include "worker-store/seg_internal.h"
#include "worker-store/store.h"
#include "worker-store/upkeep.h"

#define T1      1001
#define JOB_A   "aaaaaaaaaaaaaaaa"
#define JOB_B   "bbbbbbbbbbbbbbbb"
#define JOB_C   "cccccccccccccccc"

static const struct obj_ref none;

struct in {
	struct drv d;           /* directory and the supervisor's end */
	struct event_base *base;
	struct store *st;
	struct peer *sup;
	int tenant;
};

static int sync_error;          /* what the next flush of a pack fails with */
static int commit_error;        /* and the next commit */
static int watch_fd = -1;       /* must be silent at every barrier */
static char order[32];          /* F: flush, C: commit */

static void
barrier_note(const char *what)
{
	char byte;

	if (watch_fd == -1)
		return;
	assert_int_equal(recv(watch_fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK),
	    -1);
	assert_int_equal(errno, EAGAIN);
	(void)strcat(order, what);
}

int __real_fdatasync(int);
int
__wrap_fdatasync(int fd)
{
	barrier_note("F");
	if (sync_error == 0)
		return (__real_fdatasync(fd));
	errno = sync_error;
	sync_error = 0;
	return (-1);
}

int __real_mdb_txn_commit(MDB_txn *);
int
__wrap_mdb_txn_commit(MDB_txn *txn)
{
	int rc = commit_error;

	barrier_note("C");
	if (rc == 0)
		return (__real_mdb_txn_commit(txn));
	commit_error = 0;
	mdb_txn_abort(txn);
	return (rc);
}

static int begin_error;         /* what the next transaction fails with */
static int put_error;           /* and the next entry */
static int map_error;           /* and every larger map */
static int disk_full;           /* no byte is free, as statvfs says */
static uint64_t clock_step;     /* microseconds that each look at it takes */
static uint64_t clock_stopped;  /* what it shows then, 0: it runs */

int __real_mdb_txn_begin(MDB_env *, MDB_txn *, unsigned int, MDB_txn **);
int
__wrap_mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned int flags,
    MDB_txn **txn)
{
	int rc = (flags & MDB_RDONLY) != 0 ? 0 : begin_error;

	if (rc == 0)
		return (__real_mdb_txn_begin(env, parent, flags, txn));
	begin_error = 0;
	return (rc);
}

int __real_mdb_put(MDB_txn *, MDB_dbi, MDB_val *, MDB_val *, unsigned int);
int
__wrap_mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *k, MDB_val *v,
    unsigned int flags)
{
	int rc = put_error;

	put_error = 0;
	return (rc != 0 ? rc : __real_mdb_put(txn, dbi, k, v, flags));
}

int __real_mdb_env_set_mapsize(MDB_env *, size_t);
int
__wrap_mdb_env_set_mapsize(MDB_env *env, size_t size)
{
	return (map_error != 0 ? map_error :
	    __real_mdb_env_set_mapsize(env, size));
}

int __real_mdb_env_info(MDB_env *, MDB_envinfo *);
int
__wrap_mdb_env_info(MDB_env *env, MDB_envinfo *info)
{
	int rc = __real_mdb_env_info(env, info);

	/* A map that is nearly used up. */
	if (map_error != 0)
		info->me_last_pgno = info->me_mapsize / 4096 - 4096;
	return (rc);
}

int __real_fstatvfs(int, struct statvfs *);
int
__wrap_fstatvfs(int fd, struct statvfs *vfs)
{
	int rc = __real_fstatvfs(fd, vfs);

	if (disk_full)
		vfs->f_bavail = 0;
	return (rc);
}

uint64_t __real_io_mono_us(void);
uint64_t
__wrap_io_mono_us(void)
{
	static uint64_t added;

	if (clock_stopped != 0)
		return (clock_stopped);
	added += clock_step;
	return (__real_io_mono_us() + added);
}

static int
setup(void **state)
{
	struct in *in = calloc(1, sizeof(*in));
	int pair[2];

	assert_non_null(in);
	drv_init(&in->d, "/tmp");
	if (geteuid() == 0)
		assert_int_equal(chown(in->d.dir, 0, 0), 0);
	assert_non_null(in->base = event_base_new());
	assert_int_equal(event_base_priority_init(in->base, STORE_PRIOS), 0);
	assert_non_null(in->st = store_open(in->base, in->d.dir, 0));
	assert_int_equal(chan_pair(pair), 0);
	in->d.fd = pair[0];
	in->sup = peer_new(in->st, pair[1], PEER_SUP, 0, 0);
	assert_non_null(in->sup);
	assert_int_equal(chan_pair(pair), 0);
	in->tenant = pair[0];
	assert_non_null(peer_new(in->st, pair[1], PEER_TENANT, T1, DRV_ALL));
	*state = in;
	return (0);
}

static int
teardown(void **state)
{
	struct in *in = *state;

	sync_error = commit_error = begin_error = put_error = map_error = 0;
	disk_full = 0;
	clock_step = clock_stopped = 0;
	watch_fd = -1;
	store_close(in->st);
	event_base_free(in->base);
	close(in->tenant);
	io_close(&in->d.fd);
	drv_done(&in->d);
	free(in);
	return (0);
}

/* Let the store do what there is to do. */
static void
turn(struct in *in)
{
	int i;

	for (i = 0; i < 20; i++)
		(void)event_base_loop(in->base, EVLOOP_NONBLOCK);
}

static int
ask(struct in *in, int fd, struct store_msg *m, int attach,
    struct drv_reply *r)
{
	(void)drv_send(&in->d, fd, m, attach);
	turn(in);
	if (drv_recv(fd, r) == -1)
		return (-1);
	return (r->m.op == STORE_OK ? ERR_NONE : r->m.u.error.code);
}

static void
hello(struct in *in)
{
	struct store_msg m = { .op = STORE_HELLO };

	m.u.hello.version = CHANNEL_VERSION;
	(void)drv_send(&in->d, in->d.fd, &m, -1);
}

static struct obj_ref
put(struct in *in, uint64_t seed)
{
	struct store_msg m = { .op = STORE_PUT };
	struct drv_objs o = { 0 };
	struct drv_reply r;
	struct obj_ref ref = drv_chunk(&o, seed, 500);

	m.u.put.objects = 1;
	assert_int_equal(ask(in, in->tenant, &m, memfd_make("put", o.buf,
	    o.len), &r), ERR_NONE);
	free(o.buf);
	return (ref);
}

static int
publish(struct in *in, const char *job, const struct obj_ref *spec)
{
	struct store_msg m = drv_publish_msg(T1, job, &none, spec);
	struct drv_reply r;

	return (ask(in, in->d.fd, &m, -1, &r));
}

static int
is_there(struct in *in, const struct obj_ref *ref)
{
	struct store_msg m = { .op = STORE_CHECK };
	struct drv_reply r;

	m.u.check.root = *ref;
	assert_int_equal(ask(in, in->tenant, &m, -1, &r), ERR_NONE);
	drv_reply_done(&r);
	return (r.m.u.ok.objects == 0);
}

static int
job_is_there(struct in *in, const char *job)
{
	struct store_msg m = { .op = STORE_JOB_GET };
	struct drv_reply r;

	memcpy(m.u.job.job, job, JOB_ID_LEN + 1);
	return (ask(in, in->tenant, &m, -1, &r) == ERR_NONE);
}

/* First the pack, then the index, then the reply. */
static void
test_order(void **state)
{
	struct in *in = *state;
	struct obj_ref spec;

	hello(in);
	spec = put(in, 1);
	watch_fd = in->d.fd;
	order[0] = '\0';
	assert_int_equal(publish(in, JOB_A, &spec), ERR_NONE);
	assert_string_equal(order, "FC");
	/* Nothing new in the pack: one barrier is enough. */
	order[0] = '\0';
	assert_int_equal(publish(in, JOB_B, &spec), ERR_NONE);
	assert_string_equal(order, "C");
}

/* One barrier for all that is there. */
static void
test_one_for_all(void **state)
{
	static const char *const jobs[] = { JOB_A, JOB_B, JOB_C };
	struct in *in = *state;
	struct store_msg m;
	struct drv_reply r;
	struct obj_ref spec;
	size_t i;

	hello(in);
	spec = put(in, 1);
	for (i = 0; i < 3; i++) {
		m = drv_publish_msg(T1, jobs[i], &none, &spec);
		(void)drv_send(&in->d, in->d.fd, &m, -1);
		m = drv_settle_msg(T1, jobs[i], i + 1, &none, &spec);
		(void)drv_send(&in->d, in->d.fd, &m, -1);
	}
	watch_fd = in->d.fd;
	order[0] = '\0';
	turn(in);
	assert_string_equal(order, "FC");
	for (i = 0; i < 6; i++) {
		assert_int_equal(drv_recv(in->d.fd, &r), 0);
		assert_int_equal(r.m.op, STORE_OK);
	}
}

/* A flush that failed takes what was pending with it, and says so. */
static void
test_flush_fails(void **state)
{
	struct in *in = *state;
	struct obj_ref kept, lost;

	hello(in);
	kept = put(in, 1);
	assert_int_equal(publish(in, JOB_A, &kept), ERR_NONE);
	lost = put(in, 2);
	sync_error = EIO;
	assert_int_equal(publish(in, JOB_B, &lost), ERR_IO);
	assert_false(is_there(in, &lost));
	assert_true(is_there(in, &kept));
	assert_false(job_is_there(in, JOB_B));
	assert_int_equal(publish(in, JOB_B, &lost), ERR_MISSING);
	lost = put(in, 2);
	sync_error = ENOSPC;
	assert_int_equal(publish(in, JOB_B, &lost), ERR_FULL);
	lost = put(in, 2);
	assert_int_equal(publish(in, JOB_B, &lost), ERR_NONE);
	assert_true(is_there(in, &lost));
}

/* A commit that failed leaves it pending: the next one takes it along. */
static void
test_commit_fails(void **state)
{
	struct in *in = *state;
	struct obj_ref a;

	hello(in);
	a = put(in, 1);
	commit_error = EIO;
	assert_int_equal(publish(in, JOB_A, &a), ERR_IO);
	assert_false(job_is_there(in, JOB_A));
	assert_true(is_there(in, &a));
	assert_int_equal(pending_count(in->st->pending), 1);
	assert_int_equal(publish(in, JOB_A, &a), ERR_NONE);
	assert_int_equal(pending_count(in->st->pending), 0);
	commit_error = ENOSPC;
	assert_int_equal(publish(in, JOB_B, &a), ERR_FULL);
	/* A full map is made larger, and nobody hears of it. */
	commit_error = MDB_MAP_FULL;
	assert_int_equal(publish(in, JOB_B, &a), ERR_NONE);
	assert_true(job_is_there(in, JOB_B));
}

/* A disk that is full shows as a broken one, and is not said to be one. */
static void
test_full_not_broken(void **state)
{
	struct in *in = *state;
	struct obj_ref a;

	hello(in);
	a = put(in, 1);
	commit_error = EIO;
	disk_full = 1;
	assert_int_equal(publish(in, JOB_A, &a), ERR_FULL);
	disk_full = 0;
	commit_error = EIO;
	assert_int_equal(publish(in, JOB_A, &a), ERR_IO);
	assert_int_equal(publish(in, JOB_A, &a), ERR_NONE);
	assert_true(is_there(in, &a));
}

/* The map is full in the middle of a transaction: a larger one, and again. */
static void
test_map_full(void **state)
{
	struct in *in = *state;
	struct ix_stat before, after;
	struct obj_ref a;

	hello(in);
	a = put(in, 1);
	ix_stat(in->st->ix, &before);
	put_error = MDB_MAP_FULL;
	assert_int_equal(publish(in, JOB_A, &a), ERR_NONE);
	ix_stat(in->st->ix, &after);
	assert_int_equal(after.map_bytes, 2 * before.map_bytes);
	assert_true(job_is_there(in, JOB_A));
	/* No larger one is to be had: it is said, and nothing is lost. */
	a = put(in, 2);
	map_error = ENOMEM;
	put_error = MDB_MAP_FULL;
	assert_int_equal(publish(in, JOB_B, &a), ERR_FULL);
	assert_false(job_is_there(in, JOB_B));
	map_error = 0;
	assert_int_equal(publish(in, JOB_B, &a), ERR_NONE);
	assert_true(is_there(in, &a));
}

/*
 * The map is nearly full and cannot be made larger: what is left is for jobs
 * to settle and for deleting, and is not given to new objects.
 */
static void
test_map_reserve(void **state)
{
	struct in *in = *state;
	struct store_msg m = { .op = STORE_PUT };
	struct drv_objs o = { 0 };
	struct drv_reply r;
	struct obj_ref a;

	hello(in);
	a = put(in, 1);
	map_error = ENOMEM;
	assert_int_equal(publish(in, JOB_A, &a), ERR_NONE);
	(void)drv_chunk(&o, 2, 500);
	m.u.put.objects = 1;
	assert_int_equal(ask(in, in->tenant, &m, memfd_make("put", o.buf,
	    o.len), &r), ERR_FULL);
	m = drv_settle_msg(T1, JOB_A, 1, &none, &none);
	assert_int_equal(ask(in, in->d.fd, &m, -1, &r), ERR_NONE);
	assert_int_equal(ix_write(in->st->ix, 0), 0);
	assert_int_equal(ix_object_del(in->st->ix, T1, &a), 0);
	assert_int_equal(ix_commit(in->st->ix), 0);
	map_error = 0;
	m = (struct store_msg){ .op = STORE_PUT, .u.put.objects = 1 };
	assert_int_equal(ask(in, in->tenant, &m, memfd_make("put", o.buf,
	    o.len), &r), ERR_NONE);
	free(o.buf);
}

/* A batch is over after 5 ms, whatever still waits. */
static void
test_age(void **state)
{
	static const char *const jobs[] = { JOB_A, JOB_B, JOB_C };
	struct in *in = *state;
	struct store_msg m;
	struct obj_ref spec;
	size_t i;

	hello(in);
	spec = put(in, 1);
	for (i = 0; i < 3; i++) {
		m = drv_publish_msg(T1, jobs[i], &none, &spec);
		(void)drv_send(&in->d, in->d.fd, &m, -1);
	}
	watch_fd = in->tenant;
	order[0] = '\0';
	clock_step = BATCH_AGE_US / 2 + 1;
	turn(in);
	clock_step = 0;
	/* The third one came when the first was 5 ms old. */
	assert_string_equal(order, "FC");
	for (i = 0; i < 2; i++) {
		m = drv_publish_msg(T1, i == 0 ? "dddddddddddddddd" :
		    "eeeeeeeeeeeeeeee", &none, &spec);
		(void)drv_send(&in->d, in->d.fd, &m, -1);
	}
	order[0] = '\0';
	clock_step = BATCH_AGE_US;
	turn(in);
	assert_string_equal(order, "C");
}

/* One that waits in the batch only to be refused in its turn. */
static struct job_req *
refused_req(struct in *in, uint64_t id)
{
	struct job_req *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->ask = (struct ask){ in->sup, id, STORE_PUBLISH };
	peer_hold(in->sup);
	in->sup->waiting++;
	r->state = REQ_DONE;
	r->refusal.code = ERR_CONFLICT;
	return (r);
}

/*
 * A batch is over at 4,096 requests, however fast they came.  No channel may
 * have as many under way, so they are handed over without one.
 */
static void
test_requests(void **state)
{
	struct in *in = *state;
	uint64_t i;

	hello(in);
	(void)put(in, 1);
	watch_fd = in->d.fd;
	order[0] = '\0';
	clock_stopped = io_mono_us();
	for (i = 1; i < BATCH_REQUESTS; i++)
		batch_take(in->st->batch, refused_req(in, i));
	assert_string_equal(order, "");
	assert_int_equal(in->sup->waiting, BATCH_REQUESTS - 1);
	batch_take(in->st->batch, refused_req(in, i));
	assert_string_equal(order, "FC");
	assert_int_equal(in->sup->waiting, 0);
}

/*
 * Objects that nobody asks for are made durable at 32 MiB: before the loop has
 * come to anything but the puts, so it was not the timer.
 */
static void
test_bytes(void **state)
{
	struct in *in = *state;
	struct store_msg m = { .op = STORE_PUT };
	struct drv_objs o = { 0 };
	struct drv_reply r;
	size_t i, k;

	hello(in);
	turn(in);
	for (i = 0; i < 9; i++) {
		for (k = 0; k < 62; k++)
			(void)drv_chunk(&o, 1000 * i + k, OBJ_MAX);
		m.u.put.objects = o.n;
		(void)drv_send(&in->d, in->tenant, &m, memfd_make("put",
		    o.buf, o.len));
		o.len = o.n = 0;
	}
	free(o.buf);
	watch_fd = in->d.fd;
	order[0] = '\0';
	(void)event_base_loop(in->base, EVLOOP_NONBLOCK);
	assert_string_equal(order, "FC");
	for (i = 0; i < 9; i++) {
		assert_int_equal(drv_recv(in->tenant, &r), 0);
		assert_int_equal(r.m.op, STORE_OK);
	}
}

/* Begun anew, or found out in an idle moment: it is the same. */
static void
test_panic_begin(void **state)
{
	struct in *in = *state;
	struct obj_ref a;

	hello(in);
	a = put(in, 1);
	begin_error = MDB_PANIC;
	assert_int_equal(publish(in, JOB_A, &a), ERR_IO);
	assert_true(in->st->broken);
	assert_int_equal(in->st->status, 111);
}

static void
test_panic_upkeep(void **state)
{
	struct in *in = *state;
	struct obj_ref a;

	hello(in);
	a = put(in, 1);
	assert_int_equal(publish(in, JOB_A, &a), ERR_NONE);
	ix_segs(in->st->ix)->limits.recent_max = 0;
	begin_error = MDB_PANIC;
	upkeep_touch(in->st->upkeep);
	turn(in);
	assert_true(in->st->broken);
	assert_int_equal(in->st->status, 111);
}

/* When LMDB wants to be opened again, the process has to end. */
static void
test_panic(void **state)
{
	struct in *in = *state;
	struct obj_ref a;

	hello(in);
	a = put(in, 1);
	commit_error = MDB_PANIC;
	assert_int_equal(publish(in, JOB_A, &a), ERR_IO);
	assert_true(in->st->broken);
	assert_int_equal(in->st->status, 111);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_order),
		TEST(test_one_for_all),
		TEST(test_flush_fails),
		TEST(test_commit_fails),
		TEST(test_full_not_broken),
		TEST(test_map_full),
		TEST(test_map_reserve),
		TEST(test_age),
		TEST(test_requests),
		TEST(test_bytes),
		TEST(test_panic),
		TEST(test_panic_begin),
		TEST(test_panic_upkeep),
	};

	if (sodium_init() == -1)
		return (1);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
