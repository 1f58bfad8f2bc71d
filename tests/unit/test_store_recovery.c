/*
 * What the store is after it was killed, cut off or damaged, and what it says
 * when its disk is full.
 */
#include <sys/mount.h>
#include <sys/time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/size.h"
#include "store_driver.h"

#define T1              1001
#define ROUNDS          20
#define JOBS_MAX        4000
#define FILES           3
#define FILE_LEN        700

static const struct obj_ref none;

static void
job_name(uint64_t n, char *job)
{
	size_t i;

	for (i = 0; i < JOB_ID_LEN; i++, n /= 26)
		job[i] = (char)('a' + n % 26);
	job[JOB_ID_LEN] = '\0';
}

/* What is put for the n-th job: a tree of chunks, and a spec. */
static struct obj_ref
job_objects(struct drv_objs *o, uint64_t n, struct obj_ref *files,
    struct obj_ref *spec)
{
	size_t i;

	for (i = 0; i < FILES; i++)
		files[i] = drv_chunk(o, n * 10 + i, FILE_LEN);
	*spec = drv_chunk(o, n * 10 + 9, 50);
	return (drv_tree(o, files, FILES, FILE_LEN));
}

static int
put_job(struct drv *d, int t, uint64_t n, struct obj_ref *root,
    struct obj_ref *spec)
{
	struct drv_objs o = { 0 };
	struct obj_ref files[FILES];
	struct drv_reply r;
	int rc;

	*root = job_objects(&o, n, files, spec);
	rc = drv_put(d, t, &o, &r);
	free(o.buf);
	return (rc);
}

static int
do_job(struct drv *d, int t, uint64_t n)
{
	struct obj_ref root, spec;
	struct drv_reply r;
	char job[JOB_ID_LEN + 1];
	int rc;

	if ((rc = put_job(d, t, n, &root, &spec)) != ERR_NONE)
		return (rc);
	job_name(n, job);
	return (drv_publish(d, T1, job, &root, &spec, &r));
}

/* Everything of an acknowledged job is there. */
static void
verify_job(struct drv *d, int t, uint64_t n)
{
	struct drv_objs o = { 0 };
	struct obj_ref refs[FILES + 2];
	struct drv_reply r;
	char job[JOB_ID_LEN + 1];

	job_name(n, job);
	refs[FILES + 1] = job_objects(&o, n, refs, &refs[FILES]);
	free(o.buf);
	assert_int_equal(drv_job(d, t, STORE_JOB_GET, job, &r), ERR_NONE);
	assert_int_equal(drv_get(d, t, refs, FILES + 2, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, FILES + 2);
	drv_reply_done(&r);
	assert_int_equal(drv_check(d, t, &refs[FILES + 1], &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 0);
	/* Asked again, it is the same job, once. */
	assert_int_equal(drv_publish(d, T1, job, &refs[FILES + 1],
	    &refs[FILES], &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.existed, 1);
	assert_string_equal(r.m.u.ok.job, job);
}

static uint64_t
head_of(struct drv *d)
{
	struct store_msg m = { .op = STORE_HEAD };
	struct drv_reply r;

	m.u.head.tenant_id = T1;
	assert_int_equal(drv_call(d, d->fd, &m, -1, &r), ERR_NONE);
	return (r.m.u.ok.sequence);
}

static pid_t victim;

static void
on_alarm(int sig)
{
	(void)sig;
	kill(victim, SIGKILL);
}

static uint64_t
seed_get(void)
{
	const char *s = getenv("ERRAND_TEST_SEED");
	uint64_t seed = s != NULL ? strtoull(s, NULL, 10) : io_real_us();

	print_message("# ERRAND_TEST_SEED=%llu\n", (unsigned long long)seed);
	return (seed);
}

static uint32_t
next_random(uint64_t *x)
{
	*x = *x * 6364136223846793005ULL + 1442695040888963407ULL;
	return ((uint32_t)(*x >> 33));
}

/* State of the kill loop: what was acknowledged, over all rounds. */
struct ledger {
	uint8_t acked[JOBS_MAX];
	uint64_t next;                  /* job to be published */
	uint64_t settled;               /* last acknowledged sequence */
	uint64_t order[JOBS_MAX + 1];   /* which job each receipt is of */
};

/* The first published job that no receipt is of. */
static uint64_t
to_settle(const struct ledger *l)
{
	uint64_t n = l->settled == 0 ? 0 : l->order[l->settled] + 1;

	while (n < l->next && !l->acked[n])
		n++;
	return (n);
}

/* One more than was heard of may have come to be. */
static void
catch_up(struct drv *d, struct ledger *l)
{
	uint64_t head = head_of(d);

	assert_true(head == l->settled || head == l->settled + 1);
	l->settled = head;
}

/* Work until the store is killed; note what was acknowledged. */
static void
work(struct drv *d, int t, struct ledger *l)
{
	char job[JOB_ID_LEN + 1];
	struct drv_reply r;
	int rc;

	while (l->next < JOBS_MAX) {
		if ((rc = do_job(d, t, l->next)) != ERR_NONE)
			break;
		l->acked[l->next++] = 1;
		if (l->next % 3 != 0)
			continue;
		l->order[l->settled + 1] = to_settle(l);
		job_name(l->order[l->settled + 1], job);
		if ((rc = drv_settle(d, T1, job, l->settled + 1, &none, &none,
		    &r)) != ERR_NONE)
			break;
		l->settled++;
	}
	assert_int_equal(rc, -1);
}

static void
verify_all(struct drv *d, int t, const struct ledger *l)
{
	char job[JOB_ID_LEN + 1];
	struct drv_reply r;
	uint64_t i;

	for (i = 0; i < l->next; i++)
		if (l->acked[i])
			verify_job(d, t, i);
	for (i = 1; i <= l->settled; i++) {
		job_name(l->order[i], job);
		assert_int_equal(drv_job(d, t, STORE_RECEIPT_GET, job, &r),
		    ERR_NONE);
	}
}

static void
test_kill(void **state)
{
	struct ledger *l = calloc(1, sizeof(*l));
	struct itimerval in = { { 0, 0 }, { 0, 0 } };
	uint64_t x = seed_get();
	struct drv d;
	int round, t;

	(void)state;
	assert_non_null(l);
	drv_init(&d, "/tmp");
	(void)signal(SIGALRM, on_alarm);
	for (round = 0; round < ROUNDS; round++) {
		assert_int_equal(drv_start(&d), 0);
		t = drv_bind(&d, T1, DRV_ALL);
		catch_up(&d, l);
		verify_all(&d, t, l);
		victim = d.pid;
		in.it_value.tv_usec = 1 + next_random(&x) % 40000;
		assert_int_equal(setitimer(ITIMER_REAL, &in, NULL), 0);
		work(&d, t, l);
		close(t);
		assert_int_equal(drv_wait(&d), 1000 + SIGKILL);
		/* The job under way may exist; its number is not used again. */
		l->next++;
	}
	assert_int_equal(drv_start(&d), 0);
	t = drv_bind(&d, T1, DRV_ALL);
	catch_up(&d, l);
	verify_all(&d, t, l);
	print_message("# %d kills, %llu jobs\n", ROUNDS,
	    (unsigned long long)l->next);
	close(t);
	drv_done(&d);
	free(l);
}

/* The file of the first pack. */
static int
pack_open(const struct drv *d, int flags)
{
	char path[300];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/packs/00000001.pack", d->dir);
	assert_true((fd = open(path, flags | O_CLOEXEC)) != -1);
	return (fd);
}

static off_t
pack_len(const struct drv *d)
{
	struct stat st;
	int fd = pack_open(d, O_RDONLY);

	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	return (st.st_size);
}

/* Where in the pack the ${len} bytes are. */
static off_t
pack_find(const struct drv *d, const void *what, size_t len)
{
	uint8_t *buf, *p;
	size_t n;
	char path[300];
	off_t at;

	(void)snprintf(path, sizeof(path), "%s/packs/00000001.pack", d->dir);
	assert_int_equal(io_file_read(AT_FDCWD, path, 1 << 28, &buf, &n), 0);
	p = memmem(buf, n, what, len);
	assert_non_null(p);
	at = p - buf;
	free(buf);
	return (at);
}

static void
flip(const struct drv *d, off_t at)
{
	int fd = pack_open(d, O_RDWR);
	uint8_t b;

	assert_int_equal(io_pread(fd, &b, 1, at), 0);
	b ^= 0x20;
	assert_int_equal(io_pwrite(fd, &b, 1, at), 0);
	close(fd);
}

static void
test_torn_tail(void **state)
{
	struct drv d;
	off_t len;
	int t, fd;

	(void)state;
	drv_init(&d, "/tmp");
	assert_int_equal(drv_start(&d), 0);
	t = drv_bind(&d, T1, DRV_ALL);
	assert_int_equal(do_job(&d, t, 1), ERR_NONE);
	close(t);
	drv_kill(&d);
	len = pack_len(&d);
	fd = pack_open(&d, O_RDWR);
	assert_int_equal(io_pwrite(fd, "half a batch", 12, len), 0);
	close(fd);
	assert_int_equal(drv_start(&d), 0);
	assert_int_equal(pack_len(&d), len);
	assert_true(drv_log_has(&d, "unfinished batch dropped"));
	t = drv_bind(&d, T1, DRV_ALL);
	verify_job(&d, t, 1);
	assert_int_equal(do_job(&d, t, 2), ERR_NONE);
	verify_job(&d, t, 2);
	close(t);
	drv_done(&d);
}

static void
test_flipped_bit(void **state)
{
	struct drv_objs o = { 0 };
	struct obj_ref refs[FILES + 2];
	struct drv_reply r;
	uint8_t raw[OBJ_MAX];
	struct drv d;
	off_t at;
	int t;

	(void)state;
	drv_init(&d, "/tmp");
	assert_int_equal(drv_start(&d), 0);
	t = drv_bind(&d, T1, DRV_ALL);
	assert_int_equal(do_job(&d, t, 1), ERR_NONE);
	refs[FILES + 1] = job_objects(&o, 1, refs, &refs[FILES]);
	drv_bytes(10, raw, FILE_LEN);
	at = pack_find(&d, raw, FILE_LEN);
	/* In the bytes: it stays what it was called. */
	flip(&d, at + 17);
	assert_int_equal(drv_get(&d, t, refs, 1, &r), ERR_DAMAGED);
	assert_true(obj_ref_equal(&r.m.u.error.ref, &refs[0]));
	flip(&d, at + 17);
	assert_int_equal(drv_get(&d, t, refs, 1, &r), ERR_DAMAGED);
	/* In each part of the header before them. */
	drv_bytes(11, raw, FILE_LEN);
	at = pack_find(&d, raw, FILE_LEN);
	flip(&d, at - 1);
	assert_int_equal(drv_get(&d, t, refs + 1, 1, &r), ERR_DAMAGED);
	drv_bytes(12, raw, FILE_LEN);
	at = pack_find(&d, raw, FILE_LEN);
	flip(&d, at - 70);
	assert_int_equal(drv_get(&d, t, refs + 2, 1, &r), ERR_DAMAGED);
	/* The others are served, up to the damaged one. */
	assert_int_equal(drv_get(&d, t, refs + FILES, 1, &r), ERR_NONE);
	drv_reply_done(&r);
	refs[FILES + 1] = refs[0];
	assert_int_equal(drv_get(&d, t, refs + FILES, 2, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 1);
	drv_reply_done(&r);
	assert_true(drv_log_has(&d, "is damaged"));
	free(o.buf);
	close(t);
	drv_done(&d);
}

/* A tree that cannot be looked into is named, and nothing hangs on it. */
static void
test_damaged_tree(void **state)
{
	struct obj_ref root, spec;
	struct drv_reply r;
	char job[JOB_ID_LEN + 1];
	struct drv d;
	int t;

	(void)state;
	drv_init(&d, "/tmp");
	assert_int_equal(drv_start(&d), 0);
	t = drv_bind(&d, T1, DRV_ALL);
	assert_int_equal(put_job(&d, t, 1, &root, &spec), ERR_NONE);
	/* Its header has its id, which has its bytes behind it. */
	flip(&d, pack_find(&d, root.id, OBJ_ID_LEN) + 60);
	job_name(1, job);
	assert_int_equal(drv_publish(&d, T1, job, &root, &spec, &r),
	    ERR_DAMAGED);
	assert_true(obj_ref_equal(&r.m.u.error.ref, &root));
	/* Found out, it is missing: the next upload mends it. */
	assert_int_equal(drv_check(&d, t, &root, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 1);
	drv_reply_done(&r);
	assert_int_equal(do_job(&d, t, 1), ERR_NONE);
	verify_job(&d, t, 1);
	assert_int_equal(do_job(&d, t, 2), ERR_NONE);
	close(t);
	drv_done(&d);
}

/* A pack that lost its end does not keep the rest from being served. */
static void
test_truncated_pack(void **state)
{
	struct drv_objs o = { 0 };
	struct obj_ref refs[FILES], spec;
	struct drv_reply r;
	struct drv d;
	off_t len;
	int t, fd;

	(void)state;
	drv_init(&d, "/tmp");
	assert_int_equal(drv_start(&d), 0);
	t = drv_bind(&d, T1, DRV_ALL);
	assert_int_equal(do_job(&d, t, 1), ERR_NONE);
	len = pack_len(&d);
	assert_int_equal(do_job(&d, t, 2), ERR_NONE);
	close(t);
	assert_int_equal(drv_wait(&d), 0);
	fd = pack_open(&d, O_RDWR);
	assert_int_equal(ftruncate(fd, len + 100), 0);
	close(fd);
	assert_int_equal(drv_start(&d), 0);
	assert_true(drv_log_has(&d, "is lost"));
	t = drv_bind(&d, T1, DRV_ALL);
	verify_job(&d, t, 1);
	(void)job_objects(&o, 2, refs, &spec);
	assert_int_equal(drv_get(&d, t, &refs[2], 1, &r), ERR_DAMAGED);
	assert_int_equal(do_job(&d, t, 3), ERR_NONE);
	close(t);
	/* And once more, now that the damaged one is sealed. */
	assert_int_equal(drv_wait(&d), 0);
	assert_int_equal(drv_start(&d), 0);
	t = drv_bind(&d, T1, DRV_ALL);
	verify_job(&d, t, 3);
	free(o.buf);
	close(t);
	drv_done(&d);
}

/* How much a verification finds wrong. */
static uint64_t
verify_store(struct drv *d)
{
	struct store_msg m = { .op = STORE_BIND };
	struct drv_reply r;
	int pair[2];

	assert_int_equal(chan_pair(pair), 0);
	m.u.bind.rights = STORE_RIGHT_CARE;
	assert_int_equal(drv_call(d, d->fd, &m, pair[1], &r), ERR_NONE);
	m = (struct store_msg){ .op = STORE_CARE };
	m.u.care.task = CARE_VERIFY;
	do {
		assert_int_equal(drv_call(d, pair[0], &m, -1, &r), ERR_NONE);
		drv_reply_done(&r);
		m.u.care.task = CARE_NEXT;
	} while (!r.m.u.ok.care.done);
	close(pair[0]);
	return (r.m.u.ok.care.bad);
}

/*
 * A pack that is gone is said to be, and does not keep the rest from being
 * served: what was in it is damaged, and once a verification has found it all,
 * sending it again mends it.
 */
static void
test_missing_pack(void **state)
{
	struct drv_objs o = { 0 };
	struct obj_ref refs[FILES], spec;
	struct drv_reply r;
	struct drv d;
	char path[300];
	int t;

	(void)state;
	drv_init(&d, "/tmp");
	assert_int_equal(drv_start(&d), 0);
	t = drv_bind(&d, T1, DRV_ALL);
	assert_int_equal(do_job(&d, t, 1), ERR_NONE);
	close(t);
	assert_int_equal(drv_wait(&d), 0);
	(void)snprintf(path, sizeof(path), "%s/packs/00000001.pack", d.dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(drv_start(&d), 0);
	assert_true(drv_log_has(&d, "pack 1 cannot be opened"));
	assert_true(drv_log_has(&d, "are lost"));
	t = drv_bind(&d, T1, DRV_ALL);
	(void)job_objects(&o, 1, refs, &spec);
	assert_int_equal(drv_get(&d, t, &refs[0], 1, &r), ERR_DAMAGED);
	assert_true(verify_store(&d) > 0);
	assert_int_equal(drv_put(&d, t, &o, &r), ERR_NONE);
	verify_job(&d, t, 1);
	assert_int_equal(do_job(&d, t, 2), ERR_NONE);
	verify_job(&d, t, 2);
	free(o.buf);
	close(t);
	assert_int_equal(drv_wait(&d), 0);
	assert_int_equal(drv_start(&d), 0);
	t = drv_bind(&d, T1, DRV_ALL);
	verify_job(&d, t, 1);
	assert_int_equal(verify_store(&d), 0);
	close(t);
	drv_done(&d);
}

static void
move(const struct drv *d, const char *from, const char *to)
{
	char a[300], b[300];

	(void)snprintf(a, sizeof(a), "%s/%s", d->dir, from);
	(void)snprintf(b, sizeof(b), "%s/%s", d->dir, to);
	assert_int_equal(rename(a, b), 0);
}

/* It must not start, and must say why. */
static void
refused(struct drv *d, const char *why)
{
	assert_int_equal(drv_start(d), -1);
	assert_int_equal(drv_wait(d), 111);
	assert_true(drv_log_has(d, why));
}

/* What can be put right is not taken for lost. */
static void
test_pack_unopened(void **state)
{
	struct drv d;
	int t, fd;

	(void)state;
	drv_init(&d, "/tmp");
	assert_int_equal(drv_start(&d), 0);
	t = drv_bind(&d, T1, DRV_ALL);
	assert_int_equal(do_job(&d, t, 1), ERR_NONE);
	close(t);
	assert_int_equal(drv_wait(&d), 0);
	move(&d, "packs/00000001.pack", "away");
	assert_true((fd = open(d.dir, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) != -1);
	assert_int_equal(symlinkat("../away", fd, "packs/00000001.pack"), 0);
	refused(&d, "symbolic link: put the file itself in its place");
	assert_int_equal(unlinkat(fd, "packs/00000001.pack", 0), 0);
	move(&d, "away", "packs/00000001.pack");
	if (geteuid() == 0) {
		assert_int_equal(fchownat(fd, "packs/00000001.pack", 0, 0, 0),
		    0);
		refused(&d, "pack 1 cannot be opened (it must belong to user");
		assert_int_equal(fchownat(fd, "packs/00000001.pack", DRV_UID,
		    DRV_UID, 0), 0);
		assert_int_equal(fchownat(fd, "index/data.mdb", 0, 0, 0), 0);
		refused(&d, "index/data.mdb must belong to user");
		assert_int_equal(fchownat(fd, "index/data.mdb", DRV_UID,
		    DRV_UID, 0), 0);
	}
	close(fd);
	assert_int_equal(drv_start(&d), 0);
	t = drv_bind(&d, T1, DRV_ALL);
	verify_job(&d, t, 1);
	assert_int_equal(verify_store(&d), 0);
	close(t);
	drv_done(&d);
}

static void
test_refusals(void **state)
{
	struct drv d, twice;
	int t;

	(void)state;
	drv_init(&d, "/tmp");
	assert_int_equal(drv_start(&d), 0);
	t = drv_bind(&d, T1, DRV_ALL);
	assert_int_equal(do_job(&d, t, 1), ERR_NONE);
	close(t);
	twice = d;
	refused(&twice, "another errand-store");
	assert_int_equal(drv_wait(&d), 0);
	move(&d, "key", "key.away");
	refused(&d, "key is gone");
	move(&d, "key.away", "key");
	move(&d, "index", "index.away");
	refused(&d, "the index is gone");
	move(&d, "index.away", "index");
	assert_int_equal(chmod(d.dir, 0750), 0);
	refused(&d, "mode 0700");
	assert_int_equal(chmod(d.dir, 0700), 0);
	assert_int_equal(drv_start(&d), 0);
	t = drv_bind(&d, T1, DRV_ALL);
	verify_job(&d, t, 1);
	close(t);
	drv_done(&d);
}

/* Fill what is left of the disk, or give it back. */
static void
filler(const struct drv *d, int make)
{
	static uint8_t block[65536];
	char path[300];
	size_t len;
	int fd;

	(void)snprintf(path, sizeof(path), "%s.filler", d->log);
	if (!make) {
		assert_int_equal(unlink(path), 0);
		return;
	}
	assert_true((fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC,
	    0600)) != -1);
	for (len = sizeof(block); len > 0; len /= 2)
		while (write(fd, block, len) > 0)
			continue;
	close(fd);
}

/* Put until it is refused. */
static uint64_t
fill_by_puts(struct drv *d, int t)
{
	struct drv_objs o = { 0 };
	struct drv_reply r;
	uint64_t n;
	int rc;

	for (n = 0; n < 1000; n++) {
		(void)drv_chunk(&o, 1000000 + n, 60000);
		if ((rc = drv_put(d, t, &o, &r)) != ERR_NONE)
			break;
	}
	free(o.buf);
	assert_int_equal(rc, ERR_FULL);
	assert_int_equal(r.m.u.error.retry, 1);
	return (n);
}

static void
on_small_disk(struct drv *d, const char *where)
{
	struct obj_ref root, spec;
	struct drv_reply r;
	char job[JOB_ID_LEN + 1];
	uint64_t n;
	int t, rc = ERR_NONE;

	drv_init(d, where);
	assert_int_equal(drv_start(d), 0);
	t = drv_bind(d, T1, DRV_ALL);
	assert_int_equal(do_job(d, t, 1), ERR_NONE);
	n = fill_by_puts(d, t);
	print_message("# %llu puts of 60,000 bytes until it was full\n",
	    (unsigned long long)n);
	/* There is room for what is under way. */
	job_name(1, job);
	assert_int_equal(drv_settle(d, T1, job, 1, &none, &none, &r),
	    ERR_NONE);
	assert_int_equal(mount("tmpfs", where, "tmpfs", MS_REMOUNT,
	    "size=96m"), 0);
	assert_int_equal(do_job(d, t, 2), ERR_NONE);
	/*
	 * Not a byte left.  The index has pages to spare, for a while; what is
	 * refused then is not there, and can be published when there is room.
	 */
	assert_int_equal(put_job(d, t, 3, &root, &spec), ERR_NONE);
	filler(d, 1);
	for (n = 3; n < 1000; n++) {
		job_name(n, job);
		if ((rc = drv_publish(d, T1, job, &root, &spec, &r)) !=
		    ERR_NONE)
			break;
	}
	assert_int_equal(rc, ERR_FULL);
	assert_int_equal(drv_job(d, t, STORE_JOB_GET, job, &r),
	    ERR_NOT_FOUND);
	verify_job(d, t, 2);
	/* It can be opened so. */
	close(t);
	drv_kill(d);
	assert_int_equal(drv_start(d), 0);
	t = drv_bind(d, T1, DRV_ALL);
	verify_job(d, t, 2);
	filler(d, 0);
	assert_int_equal(drv_publish(d, T1, job, &root, &spec, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.existed, 0);
	assert_int_equal(do_job(d, t, 1000), ERR_NONE);
	close(t);
	drv_kill(d);
	assert_int_equal(drv_start(d), 0);
	t = drv_bind(d, T1, DRV_ALL);
	verify_job(d, t, 1);
	verify_job(d, t, 2);
	verify_job(d, t, 1000);
	assert_int_equal(drv_job(d, t, STORE_JOB_GET, job, &r), ERR_NONE);
	close(t);
	drv_done(d);
}

static void
test_full_disk(void **state)
{
	char where[] = "/tmp/errand-full-XXXXXX";
	struct drv d;

	(void)state;
	if (geteuid() != 0) {
		print_message("# needs root to mount a small disk\n");
		skip();
	}
	assert_non_null(mkdtemp(where));
	if (mount("tmpfs", where, "tmpfs", 0, "size=48m,mode=0711") == -1) {
		print_message("# needs the right to mount\n");
		(void)rmdir(where);
		skip();
	}
	on_small_disk(&d, where);
	assert_int_equal(umount(where), 0);
	assert_int_equal(rmdir(where), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_torn_tail),
		cmocka_unit_test(test_flipped_bit),
		cmocka_unit_test(test_damaged_tree),
		cmocka_unit_test(test_truncated_pack),
		cmocka_unit_test(test_missing_pack),
		cmocka_unit_test(test_pack_unopened),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_full_disk),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
