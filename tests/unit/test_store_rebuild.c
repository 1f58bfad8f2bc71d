#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>

#include "tests/unit/store_jobs.h"
#include "lib/le.h"
#include "worker-store/index.h"
#include "worker-store/journal.h"
#include "worker-store/pack_rec.h"

/*
 * An index that is gone or damaged is made anew from the packs, and nothing
 * that was acknowledged is missing then.
 */
static void
rebuild(struct drv *d, int *t)
{
	assert_int_equal(drv_start(d), -1);
	assert_int_equal(drv_wait(d), 111);
	assert_non_null(strstr(d->said, "errandctl store rebuild-index"));
	d->rebuild = 1;
	assert_int_equal(drv_start(d), 0);
	d->rebuild = 0;
	if (strstr(d->said, "41 jobs") == NULL)
		fail_msg("%s", d->said);
	*t = drv_bind(d, T1, DRV_ALL);
}

/* However it ended: by its own will, or killed. */
static void
test_index_gone(void **state)
{
	struct drv d;
	int t, clean;

	(void)state;
	for (clean = 0; clean < 2; clean++) {
		fill(&d, &t);
		close(t);
		if (clean)
			assert_int_equal(drv_wait(&d), 0);
		else
			drv_kill(&d);
		index_remove(&d);
		rebuild(&d, &t);
		check_all(&d, t, JOBS, SETTLED);
		/* It goes on, and the next start finds all in order. */
		make_job(&d, t, T1, JOBS);
		settle_job(&d, T1, SETTLED, SETTLED + 1);
		close(t);
		assert_int_equal(drv_wait(&d), 0);
		assert_int_equal(drv_start(&d), 0);
		t = drv_bind(&d, T1, DRV_ALL);
		check_all(&d, t, JOBS + 1, SETTLED + 1);
		/* And a second time. */
		close(t);
		drv_kill(&d);
		index_remove(&d);
		start_anew(&d);
		t = drv_bind(&d, T1, DRV_ALL);
		check_all(&d, t, JOBS + 1, SETTLED + 1);
		close(t);
		drv_done(&d);
	}
}

/* Zeros over the pages that say what there is; a file that ends too early. */
static void
test_index_damaged(void **state)
{
	static const uint8_t zero[8192];
	char path[300];
	struct drv d;
	int t, fd, how;

	(void)state;
	for (how = 0; how < 2; how++) {
		fill(&d, &t);
		close(t);
		drv_kill(&d);
		(void)snprintf(path, sizeof(path), "%s/index/data.mdb", d.dir);
		assert_true((fd = open(path, O_RDWR | O_CLOEXEC)) != -1);
		if (how == 0)
			assert_int_equal(io_pwrite(fd, zero, sizeof(zero), 0),
			    0);
		else
			assert_int_equal(ftruncate(fd, 16384), 0);
		close(fd);
		rebuild(&d, &t);
		check_all(&d, t, JOBS, SETTLED);
		close(t);
		drv_done(&d);
	}
}

/* One page of the file, overwritten as a bad disk might. */
static void
page_damage(const struct drv *d)
{
	uint8_t page[4096];
	char path[300];
	off_t len, at;
	size_t i;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/index/data.mdb", d->dir);
	assert_true((fd = open(path, O_RDWR | O_CLOEXEC)) != -1);
	len = lseek(fd, 0, SEEK_END);
	at = (off_t)(rnd((uint64_t)len / 4096) * 4096);
	switch (rnd(3)) {
	case 0:
		memset(page, rnd(2) ? 0xff : 0, sizeof(page));
		break;
	case 1:
		for (i = 0; i < sizeof(page); i++)
			page[i] = (uint8_t)rnd(256);
		break;
	default:
		assert_int_equal(io_pread(fd, page, sizeof(page), at), 0);
		page[rnd(100)] ^= (uint8_t)(1 << rnd(8));
		break;
	}
	assert_int_equal(io_pwrite(fd, page, sizeof(page), at), 0);
	close(fd);
}

/* The store by its own will, or with the order that its words name. */
static void
open_somehow(struct drv *d)
{
	d->said[0] = '\0';
	if (drv_start(d) == 0)
		return;
	(void)drv_wait(d);
	if (strstr(d->said, "errandctl store rebuild-index") == NULL)
		fail_msg("it ended, saying \"%s\"", d->said);
	d->rebuild = 1;
	assert_int_equal(drv_start(d), 0);
	d->rebuild = 0;
}

/*
 * Whatever page is damaged, the store opens or says what to do; and made anew,
 * the index is right.
 */
static void
index_pages(uint64_t first)
{
	struct drv d;
	int t, i;

	seed = first;
	print_message("# ERRAND_TEST_SEED=%llu\n", (unsigned long long)seed);
	fill(&d, &t);
	close(t);
	for (i = 0; i < 25; i++) {
		drv_kill(&d);
		page_damage(&d);
		open_somehow(&d);
		drv_kill(&d);
		start_anew(&d);
		t = drv_bind(&d, T1, DRV_ALL);
		check_all(&d, t, JOBS, SETTLED);
		close(t);
	}
	drv_done(&d);
}

static void
test_index_pages(void **state)
{
	(void)state;
	if (getenv("ERRAND_TEST_SEED") != NULL) {
		index_pages(strtoull(getenv("ERRAND_TEST_SEED"), NULL, 0));
		return;
	}
	/* Pages that had LMDB write 16 TB, and that had the serial in them. */
	index_pages(UINT64_C(59390345716615));
	index_pages((uint64_t)getpid() * 2654435761u + 1);
}

static void
file_make(const struct drv *d, const char *name)
{
	char path[300];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", d->dir, name);
	assert_true((fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC,
	    0600)) != -1);
	if (geteuid() == 0)
		assert_int_equal(fchown(fd, DRV_UID, DRV_UID), 0);
	close(fd);
}

static void
away(const struct drv *d, const char *from, const char *to)
{
	char a[300], b[300];

	(void)snprintf(a, sizeof(a), "%s/%s", d->dir, from);
	(void)snprintf(b, sizeof(b), "%s/%s", d->dir, to);
	assert_int_equal(rename(a, b), 0);
}

/*
 * Interrupted at its beginning, between the two renames, and behind them, it
 * is begun again at the next start without being told.
 */
static void
test_interrupted(void **state)
{
	struct drv d;
	int t, at;

	(void)state;
	fill(&d, &t);
	close(t);
	for (at = 0; at < 3; at++) {
		drv_kill(&d);
		file_make(&d, "rebuild");
		if (at == 1)
			away(&d, "index", "index.new");
		if (at == 2) {
			/* A backup that was put in place looks like this. */
			index_remove(&d);
		}
		assert_int_equal(drv_start(&d), 0);
		assert_non_null(strstr(d.said, "41 jobs"));
		t = drv_bind(&d, T1, DRV_ALL);
		check_all(&d, t, JOBS, SETTLED);
		close(t);
	}
	/* And not once more. */
	drv_kill(&d);
	d.said[0] = '\0';
	assert_int_equal(drv_start(&d), 0);
	assert_string_equal(d.said, "");
	drv_done(&d);
}

static int
pack_open(const struct drv *d)
{
	char path[300];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/packs/00000001.pack", d->dir);
	assert_true((fd = open(path, O_RDWR | O_CLOEXEC)) != -1);
	return (fd);
}

/* The pack's header as a program of that version would have written it. */
static void
version_set(const struct drv *d, uint32_t version)
{
	uint8_t *key, head[PACK_HEAD];
	char path[300];
	size_t len;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/key", d->dir);
	assert_int_equal(io_file_read(AT_FDCWD, path, 64, &key, &len), 0);
	pack_head_encode(1, key, head);
	le_put32(head + 8, version);
	pack_head_seal(1, key, head);
	free(key);
	fd = pack_open(d);
	assert_int_equal(io_pwrite(fd, head, sizeof(head), 0), 0);
	close(fd);
}

static void
flip(const struct drv *d, off_t at)
{
	int fd = pack_open(d);
	uint8_t b;

	assert_int_equal(io_pread(fd, &b, 1, at), 0);
	b ^= 4;
	assert_int_equal(io_pwrite(fd, &b, 1, at), 0);
	close(fd);
}

/* Neither served nor made anew by a program that does not understand it. */
static void
test_newer_pack(void **state)
{
	struct drv d;
	int t;

	(void)state;
	fill(&d, &t);
	close(t);
	assert_int_equal(drv_wait(&d), 0);
	version_set(&d, 2);
	assert_int_equal(drv_start(&d), -1);
	assert_int_equal(drv_wait(&d), 111);
	assert_non_null(strstr(d.said, "newer version"));
	d.rebuild = 1;
	assert_int_equal(drv_start(&d), -1);
	assert_int_equal(drv_wait(&d), 111);
	assert_non_null(strstr(d.said, "newer version"));
	d.rebuild = 0;
	version_set(&d, 1);
	/* The rebuild that was ordered is done now. */
	assert_int_equal(drv_start(&d), 0);
	t = drv_bind(&d, T1, DRV_ALL);
	check_all(&d, t, JOBS, SETTLED);
	close(t);
	drv_done(&d);
}

/* What a task of an operator's came to: how much is damaged; what it says. */
static uint64_t
care(struct drv *d, uint32_t task, char *said, size_t len)
{
	struct store_msg m = { .op = STORE_CARE };
	struct drv_reply r;
	int op = drv_bind(d, 0, STORE_RIGHT_CARE);

	said[0] = '\0';
	m.u.care.task = task;
	do {
		assert_int_equal(drv_call(d, op, &m, -1, &r), ERR_NONE);
		(void)snprintf(said + strlen(said), len - strlen(said), "%s\n",
		    r.m.u.ok.care.text);
		drv_reply_done(&r);
		m.u.care.task = CARE_NEXT;
	} while (!r.m.u.ok.care.done);
	close(op);
	return (r.m.u.ok.care.bad);
}

/* Made anew from packs alone, whatever the store says before. */
static void
anew(struct drv *d, int *t)
{
	drv_kill(d);
	index_remove(d);
	start_anew(d);
	*t = drv_bind(d, T1, DRV_ALL);
}

/*
 * The header of a pack's file says nothing that is not known: when it is
 * damaged, in whichever field, nothing is lost, with the index or without, and
 * it can be mended.
 */
static void
test_pack_head(void **state)
{
	static const off_t places[] = { 3, 8, 17, 30, 60 };
	static char said[65536];
	struct drv d;
	size_t i;
	int t;

	(void)state;
	fill(&d, &t);
	close(t);
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		drv_kill(&d);
		flip(&d, places[i]);
		assert_int_equal(drv_start(&d), 0);
		t = drv_bind(&d, T1, DRV_ALL);
		check_all(&d, t, JOBS, SETTLED);
		close(t);
		anew(&d, &t);
		check_all(&d, t, JOBS, SETTLED);
		close(t);
		assert_int_equal(care(&d, CARE_VERIFY, said, sizeof(said)), 1);
		assert_non_null(strstr(said, "pack 1: its header is damaged"));
		assert_int_equal(care(&d, CARE_REPAIR, said, sizeof(said)), 0);
		assert_int_equal(care(&d, CARE_VERIFY, said, sizeof(said)), 0);
	}
	drv_done(&d);
}

/*
 * A header that leads nowhere, by one bit of its length or because a block of
 * the disk is gone, costs what is there and nothing that is behind.
 */
static void
test_lost_way(void **state)
{
	static const uint8_t zero[4096];
	static uint8_t raw[OBJ_MAX];
	struct obj_ref refs[JOBS];
	struct drv_objs o = { 0 };
	struct drv_reply r;
	uint8_t *buf, *p;
	char path[300];
	struct drv d;
	size_t len, i, left;
	int t, fd;

	(void)state;
	if (getenv("ERRAND_CRASH") != NULL) {
		print_message("# only with one pack\n");
		return;
	}
	fill(&d, &t);
	close(t);
	assert_int_equal(drv_wait(&d), 0);
	(void)snprintf(path, sizeof(path), "%s/packs/00000001.pack", d.dir);
	assert_int_equal(io_file_read(AT_FDCWD, path, 1 << 28, &buf, &len), 0);
	drv_bytes(10, raw, 900);
	assert_non_null(p = memmem(buf, len, raw, 900));
	/* The third byte of its stored length: 262 KB instead of 900 bytes. */
	flip(&d, p - buf - PACK_REC_HEAD + 18);
	drv_bytes(20, raw, 900);
	assert_non_null(p = memmem(buf, len, raw, 900));
	fd = pack_open(&d);
	assert_int_equal(io_pwrite(fd, zero, sizeof(zero), p - buf), 0);
	close(fd);
	free(buf);
	assert_int_equal(drv_start(&d), 0);
	anew(&d, &t);
	for (i = 0; i < JOBS; i++)
		refs[i] = drv_chunk(&o, i, 900);
	for (i = left = 0; i < JOBS; i++) {
		if (drv_get(&d, t, &refs[i], 1, &r) == ERR_NONE &&
		    r.m.u.ok.objects == 1)
			left++;
		else if (i != 10 && (i < 20 || i > 24))
			fail_msg("object %zu is lost", i);
		drv_reply_done(&r);
	}
	print_message("# %zu of %d objects are left\n", left, JOBS);
	assert_true(left < JOBS);
	free(o.buf);
	close(t);
	drv_done(&d);
}

/* So does more than is looked through at a time. */
static void
test_long_gap(void **state)
{
	static uint8_t zero[300 * 1024];
	struct drv_objs o = { 0 };
	struct obj_ref refs[12];
	struct drv_reply r;
	struct drv d;
	int t, fd, i;

	(void)state;
	if (getenv("ERRAND_CRASH") != NULL) {
		print_message("# only with one pack\n");
		return;
	}
	fill(&d, &t);
	for (i = 0; i < 12; i++)
		refs[i] = drv_chunk(&o, 7000 + (uint64_t)i, 60000);
	assert_int_equal(drv_put(&d, t, &o, &r), ERR_NONE);
	free(o.buf);
	make_job(&d, t, T1, JOBS);
	close(t);
	assert_int_equal(drv_wait(&d), 0);
	fd = pack_open(&d);
	assert_int_equal(io_pwrite(fd, zero, sizeof(zero), lseek(fd, 0,
	    SEEK_END) - 600000), 0);
	close(fd);
	assert_int_equal(drv_start(&d), 0);
	anew(&d, &t);
	check_all(&d, t, JOBS + 1, SETTLED);
	assert_int_equal(drv_get(&d, t, &refs[3], 1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 0);
	assert_int_equal(drv_get(&d, t, &refs[11], 1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 1);
	drv_reply_done(&r);
	close(t);
	drv_done(&d);
}

static void
key_swap(const struct drv *d, uint8_t *key)
{
	uint8_t *was;
	char path[300];
	size_t len;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/key", d->dir);
	assert_int_equal(io_file_read(AT_FDCWD, path, 64, &was, &len), 0);
	assert_true((fd = open(path, O_RDWR | O_CLOEXEC)) != -1);
	assert_int_equal(io_pwrite(fd, key, PACK_KEY_LEN, 0), 0);
	memcpy(key, was, PACK_KEY_LEN);
	close(fd);
	free(was);
}

static void
refused(struct drv *d, const char *why)
{
	d->said[0] = '\0';
	assert_int_equal(drv_start(d), -1);
	assert_int_equal(drv_wait(d), 111);
	if (strstr(d->said, why) == NULL)
		fail_msg("it said \"%s\"", d->said);
}

/* With another key nothing is served, made anew or taken for damaged. */
static void
test_other_key(void **state)
{
	uint8_t key[PACK_KEY_LEN] = { 1 };
	static char said[65536];
	struct drv d;
	int t;

	(void)state;
	fill(&d, &t);
	close(t);
	assert_int_equal(drv_wait(&d), 0);
	assert_int_equal(drv_start(&d), 0);
	drv_kill(&d);
	key_swap(&d, key);
	refused(&d, "not the one that the index was made with");
	d.rebuild = 1;
	refused(&d, "no pack was made with the file key");
	d.rebuild = 0;
	index_remove(&d);
	refused(&d, "no pack was made with the file key");
	key_swap(&d, key);
	assert_int_equal(drv_start(&d), 0);
	t = drv_bind(&d, T1, DRV_ALL);
	check_all(&d, t, JOBS, SETTLED);
	close(t);
	assert_int_equal(care(&d, CARE_VERIFY, said, sizeof(said)), 0);
	drv_done(&d);
}

/* A file that cannot be understood at all is left where it is. */
static void
test_foreign_pack(void **state)
{
	static uint8_t noise[300000];
	static char said[65536];
	char path[300];
	struct drv d;
	int t, fd;

	(void)state;
	fill(&d, &t);
	close(t);
	file_make(&d, "packs/00000062.pack");
	(void)snprintf(path, sizeof(path), "%s/packs/00000062.pack", d.dir);
	assert_true((fd = open(path, O_RDWR | O_CLOEXEC)) != -1);
	drv_bytes(99, noise, sizeof(noise));
	assert_int_equal(io_pwrite(fd, noise, sizeof(noise), 0), 0);
	close(fd);
	anew(&d, &t);
	check_all(&d, t, JOBS, SETTLED);
	close(t);
	(void)care(&d, CARE_GC, said, sizeof(said));
	assert_int_equal(access(path, F_OK), 0);
	drv_kill(&d);
	assert_int_equal(drv_start(&d), 0);
	assert_int_equal(access(path, F_OK), 0);
	drv_done(&d);
}

/* A pack that a crash left before its head was written. */
static void
test_pack_begun(void **state)
{
	struct drv d;
	int t, i;

	(void)state;
	fill(&d, &t);
	close(t);
	drv_kill(&d);
	file_make(&d, "packs/00000063.pack");
	for (i = 0; i < 2; i++) {
		start_anew(&d);
		t = drv_bind(&d, T1, DRV_ALL);
		check_all(&d, t, JOBS, SETTLED);
		close(t);
		drv_kill(&d);
	}
	assert_int_equal(drv_start(&d), 0);
	drv_done(&d);
}

static void
format_set(const struct drv *d, uint8_t format)
{
	const uint8_t v[4] = { format };
	char path[300];
	struct ix *ix;
	int dirfd;

	(void)snprintf(path, sizeof(path), "%s/index", d->dir);
	assert_true((dirfd = open(d->dir, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) != -1);
	assert_non_null(ix = ix_open(dirfd, path, IX_MAP_MIN));
	assert_int_equal(ix_write(ix, 1 << 20), 0);
	assert_int_equal(ix_put(ix, IX_META, "format", 6, v, sizeof(v)), 0);
	assert_int_equal(ix_commit(ix), 0);
	ix_close(ix);
	close(dirfd);
}

/* An index of a newer version is left as it is; an older one is read. */
static void
test_other_index(void **state)
{
	struct drv d;
	int t;

	(void)state;
	fill(&d, &t);
	close(t);
	assert_int_equal(drv_wait(&d), 0);
	format_set(&d, IX_FORMAT - 1);
	assert_int_equal(drv_start(&d), 0);
	t = drv_bind(&d, T1, DRV_ALL);
	check_all(&d, t, JOBS, SETTLED);
	close(t);
	assert_int_equal(drv_wait(&d), 0);
	format_set(&d, IX_FORMAT + 1);
	assert_int_equal(drv_start(&d), -1);
	assert_int_equal(drv_wait(&d), 111);
	assert_non_null(strstr(d.said, "install the newer version"));
	/* Whoever goes back for good can have a new one of the packs. */
	start_anew(&d);
	t = drv_bind(&d, T1, DRV_ALL);
	check_all(&d, t, JOBS, SETTLED);
	close(t);
	drv_done(&d);
}

/* One damaged object costs that object, a damaged header no other record. */
static void
test_damaged_pack(void **state)
{
	struct drv_objs o = { 0 };
	struct obj_ref refs[2];
	struct drv_reply r;
	uint8_t raw[OBJ_MAX], *buf, b;
	char path[300];
	struct drv d;
	size_t len;
	int t, fd, i;

	(void)state;
	fill(&d, &t);
	close(t);
	assert_int_equal(drv_wait(&d), 0);
	(void)snprintf(path, sizeof(path), "%s/packs/00000001.pack", d.dir);
	assert_int_equal(io_file_read(AT_FDCWD, path, 1 << 28, &buf, &len),
	    0);
	assert_true((fd = open(path, O_RDWR | O_CLOEXEC)) != -1);
	for (i = 0; i < 2; i++) {
		uint8_t *p;
		off_t at;

		drv_bytes(10 + (uint64_t)i, raw, 900);
		assert_non_null(p = memmem(buf, len, raw, 900));
		at = p - buf + (i == 0 ? 100 : -20);
		b = buf[at] ^ 4;
		assert_int_equal(io_pwrite(fd, &b, 1, at), 0);
		refs[i] = drv_chunk(&o, 10 + (uint64_t)i, 900);
	}
	close(fd);
	free(buf);
	index_remove(&d);
	start_anew(&d);
	assert_non_null(strstr(d.said, "1 damaged objects"));
	assert_true(drv_log_has(&d, "its header is damaged"));
	t = drv_bind(&d, T1, DRV_ALL);
	assert_int_equal(drv_get(&d, t, &refs[0], 1, &r), ERR_DAMAGED);
	assert_int_equal(drv_get(&d, t, &refs[1], 1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 0);
	drv_reply_done(&r);
	/* Put again, all is there. */
	assert_int_equal(drv_put(&d, t, &o, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 2);
	check_all(&d, t, JOBS, SETTLED);
	free(o.buf);
	close(t);
	drv_done(&d);
}

/*
 * What was forgotten and collected stays so, the rest is there, the chain of
 * receipts goes on, whatever packs the journal was moved to.
 */
static void
test_after_collection(void **state)
{
	struct drv_reply r;
	char job[JOB_ID_LEN + 1];
	struct drv d;
	uint64_t n;
	int t, round;

	(void)state;
	fill(&d, &t);
	/* Of those that are left some are settled; then none is. */
	for (round = 0; round < 2; round++) {
		assert_int_equal(forget(&d, round == 0 ? 20 : 15),
		    round == 0 ? 20 : 5);
		collect(&d);
		close(t);
		drv_kill(&d);
		index_remove(&d);
		start_anew(&d);
		t = drv_bind(&d, T1, DRV_ALL);
		for (n = 0; n < JOBS; n++) {
			job_name(n, job);
			assert_int_equal(drv_job(&d, t, STORE_JOB_GET, job,
			    &r), n < (round == 0 ? 20 : 25) ? ERR_NOT_FOUND :
			    ERR_NONE);
		}
		assert_int_equal(head_of(&d, T1), SETTLED);
		assert_int_equal(unsettled(&d), JOBS - SETTLED + 1);
	}
	settle_job(&d, T1, SETTLED, SETTLED + 1);
	assert_int_equal(head_of(&d, T1), SETTLED + 1);
	close(t);
	drv_done(&d);
}

/* The index of a store that does not run, in a transaction or being read. */
static struct ix *
index_begin(const struct drv *d, int (*begin)(struct ix *))
{
	char path[300];
	struct ix *ix;
	int dirfd;

	(void)snprintf(path, sizeof(path), "%s/index", d->dir);
	assert_true((dirfd = open(d->dir, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) != -1);
	assert_non_null(ix = ix_open(dirfd, path, IX_MAP_MIN));
	close(dirfd);
	assert_int_equal(begin(ix), 0);
	return (ix);
}

static int
writing(struct ix *ix)
{
	return (ix_write(ix, 1 << 20));
}

static void
index_end(struct ix *ix)
{
	assert_int_equal(ix_commit(ix), 0);
	ix_close(ix);
}

/* The index's journal, emptied if ${empty}, counted up to ${serial}, if any. */
static void
index_journal(const struct drv *d, int empty, const uint64_t *serial)
{
	struct ix *ix = index_begin(d, writing);

	if (empty)
		assert_int_equal(ix_empty(ix, IX_JOURNAL), 0);
	if (serial != NULL)
		assert_int_equal(journal_serial_put(ix, *serial), 0);
	index_end(ix);
}

/* Take the journal out of the packs and of the index, as it was once. */
static void
forget_journal(const struct drv *d)
{
	uint8_t *buf, *p;
	char path[300];
	size_t len;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/packs/00000001.pack", d->dir);
	assert_int_equal(io_file_read(AT_FDCWD, path, 1 << 28, &buf, &len),
	    0);
	/* Their headers are damaged: nobody takes them for records. */
	assert_true((fd = open(path, O_RDWR | O_CLOEXEC)) != -1);
	for (p = buf; (p = memmem(p, len - (size_t)(p - buf),
	    "\xe5\x52\xce\x1f\0\0\0\0\x4a", 9)) != NULL; p += 9)
		assert_int_equal(io_pwrite(fd, "\0", 1, p - buf), 0);
	close(fd);
	free(buf);
	index_journal(d, 1, NULL);
}

static uint64_t
counted(const struct drv *d)
{
	struct ix *ix = index_begin(d, ix_read);
	uint64_t serial;

	assert_int_equal(journal_serial_get(ix, &serial), 1);
	ix_read_end(ix);
	ix_close(ix);
	return (serial);
}

/*
 * A damaged page can hide how far the journal has counted, or say that it is
 * not far.  What is written then takes nothing away from what was.
 */
static void
test_serial_lost(void **state)
{
	uint64_t was, wrong;
	struct drv d;
	int t, hidden;

	(void)state;
	for (hidden = 0; hidden < 2; hidden++) {
		fill(&d, &t);
		close(t);
		assert_int_equal(drv_wait(&d), 0);
		was = counted(&d);
		wrong = was - (JOBS + SETTLED + 1);
		index_journal(&d, hidden, hidden ? NULL : &wrong);
		assert_int_equal(drv_start(&d), 0);
		t = drv_bind(&d, T1, DRV_ALL);
		make_job(&d, t, T1, JOBS);
		settle_job(&d, T1, SETTLED, SETTLED + 1);
		close(t);
		drv_kill(&d);
		if (hidden)
			assert_true(counted(&d) > was + JOBS);
		index_remove(&d);
		start_anew(&d);
		t = drv_bind(&d, T1, DRV_ALL);
		check_all(&d, t, JOBS + 1, SETTLED + 1);
		close(t);
		drv_done(&d);
	}
}

/* The highest number of a pack that there is, and the bytes of all. */
static uint32_t
newest_pack(const struct drv *d, uint64_t *bytes)
{
	char path[300];
	struct dirent *e;
	uint32_t n = 0;
	struct stat st;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "%s/packs", d->dir);
	assert_non_null(dir = opendir(path));
	for (*bytes = 0; (e = readdir(dir)) != NULL; ) {
		if (fstatat(dirfd(dir), e->d_name, &st, 0) == -1 ||
		    !S_ISREG(st.st_mode))
			continue;
		*bytes += (uint64_t)st.st_size;
		if (strtoul(e->d_name, NULL, 16) > n)
			n = (uint32_t)strtoul(e->d_name, NULL, 16);
	}
	closedir(dir);
	return (n);
}

static uint32_t
newest(const struct drv *d)
{
	uint64_t bytes;

	return (newest_pack(d, &bytes));
}

static uint64_t
packs_bytes(const struct drv *d)
{
	uint64_t bytes;

	(void)newest_pack(d, &bytes);
	return (bytes);
}

/* Jobs that bring nothing new: the journal is all that grows. */
static void
same_jobs(struct drv *d, uint64_t from, uint64_t to)
{
	struct drv_objs o = { 0 };
	struct obj_ref file, spec, root;
	struct drv_reply r;
	char job[JOB_ID_LEN + 1];

	file = drv_chunk(&o, 0, 900);
	spec = drv_chunk(&o, 100000, 60);
	root = drv_tree(&o, &file, 1, 900);
	free(o.buf);
	for (; from < to; from++) {
		job_name(from, job);
		assert_int_equal(drv_publish(d, T1, job, &root, &spec, &r),
		    ERR_NONE);
	}
}

static int
on_entry(void *cookie, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	(void)key;
	(void)klen;
	(void)v;
	(void)len;
	(*(unsigned int *)cookie)++;
	return (0);
}

/* Entries that the index lists, since the pack is not flushed for them. */
static unsigned int
listed(const struct drv *d)
{
	struct ix *ix = index_begin(d, ix_read);
	unsigned int n = 0;

	assert_int_equal(ix_scan(ix, IX_JOURNAL, "e", 1, 0, on_entry, &n), 0);
	ix_read_end(ix);
	ix_close(ix);
	return (n);
}

/* The same while there are entries of before it was lost: they are flushed. */
static void
test_serial_lost_listed(void **state)
{
	static const uint64_t low = 7;
	struct drv d;
	struct ix *ix;
	int t;

	(void)state;
	fill(&d, &t);
	close(t);
	assert_int_equal(drv_wait(&d), 0);
	index_journal(&d, 1, &low);
	assert_int_equal(drv_start(&d), 0);
	same_jobs(&d, 10000, 10003);
	drv_kill(&d);
	assert_int_equal(listed(&d), 3);
	ix = index_begin(&d, writing);
	assert_int_equal(ix_del(ix, IX_JOURNAL, "serial", 6), 0);
	index_end(ix);
	assert_int_equal(drv_start(&d), 0);
	/* More than are listed before all are flushed. */
	same_jobs(&d, 10003, 10103);
	assert_int_equal(drv_wait(&d), 0);
	assert_int_equal(listed(&d), 0);
	index_remove(&d);
	start_anew(&d);
	assert_int_equal(unsettled(&d), JOBS - SETTLED + 1 + 103);
	drv_done(&d);
}

#define SAME    2000            /* their journal fills several packs */
#define GONE    150             /* of them, more than rewriting waits for */

/* No pack is begun while nothing is done. */
static void
at_rest(const struct drv *d)
{
	uint32_t n;

	(void)usleep(500000);
	n = newest(d);
	(void)usleep(500000);
	assert_int_equal(newest(d), n);
}

/*
 * Packs that hold little but the journal of jobs that are there stay: when they
 * are filled, when too few jobs were forgotten to be worth it, and when the
 * index was made anew.
 */
static void
test_rest(void **state)
{
	struct drv d;
	uint64_t n;
	int t;

	(void)state;
	if (getenv("ERRAND_CRASH") == NULL) {
		print_message("# only with packs that are small\n");
		return;
	}
	fill(&d, &t);
	close(t);
	same_jobs(&d, 10000, 10000 + SAME);
	assert_true(newest(&d) > 5);
	at_rest(&d);
	for (n = 0; n < GONE; n++)
		settle_job(&d, T1, 10000 + n, SETTLED + 1 + n);
	while (forget(&d, 1) > 0)
		continue;
	at_rest(&d);
	drv_kill(&d);
	index_remove(&d);
	start_anew(&d);
	n = newest(&d);
	at_rest(&d);
	assert_in_range(newest(&d), n, n + 1);
	assert_int_equal(unsettled(&d), JOBS - SETTLED + 1 + SAME - GONE);
	drv_done(&d);
}

#define FEW     500

/* Unless most of those jobs have been forgotten. */
static void
test_forgotten(void **state)
{
	uint64_t n, was;
	struct drv d;
	int t;

	(void)state;
	if (getenv("ERRAND_CRASH") == NULL) {
		print_message("# only with packs that are small\n");
		return;
	}
	fill(&d, &t);
	close(t);
	same_jobs(&d, 10000, 10000 + FEW);
	for (n = 0; n < FEW; n++)
		settle_job(&d, T1, 10000 + n, SETTLED + 1 + n);
	(void)usleep(500000);
	was = packs_bytes(&d);
	while (forget(&d, 1) > 0)
		continue;
	for (n = 0; n < 100 && packs_bytes(&d) > was / 3; n++)
		(void)usleep(50000);
	assert_true(packs_bytes(&d) <= was / 3);
	assert_int_equal(head_of(&d, T1), SETTLED + FEW);
	drv_kill(&d);
	index_remove(&d);
	start_anew(&d);
	assert_int_equal(head_of(&d, T1), SETTLED + FEW);
	drv_done(&d);
}

/* An older store's jobs are in the packs once it has been opened. */
static void
test_older(void **state)
{
	struct drv d;
	int t;

	(void)state;
	if (getenv("ERRAND_CRASH") != NULL) {
		print_message("# only with one pack\n");
		return;
	}
	fill(&d, &t);
	close(t);
	assert_int_equal(drv_wait(&d), 0);
	forget_journal(&d);
	assert_int_equal(drv_start(&d), 0);
	assert_true(drv_log_has(&d, "41 jobs of an older version"));
	drv_kill(&d);
	index_remove(&d);
	rebuild(&d, &t);
	check_all(&d, t, JOBS, SETTLED);
	close(t);
	drv_done(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index_gone),
		cmocka_unit_test(test_index_damaged),
		cmocka_unit_test(test_index_pages),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_newer_pack),
		cmocka_unit_test(test_pack_head),
		cmocka_unit_test(test_lost_way),
		cmocka_unit_test(test_long_gap),
		cmocka_unit_test(test_other_key),
		cmocka_unit_test(test_foreign_pack),
		cmocka_unit_test(test_pack_begun),
		cmocka_unit_test(test_other_index),
		cmocka_unit_test(test_damaged_pack),
		cmocka_unit_test(test_after_collection),
		cmocka_unit_test(test_serial_lost),
		cmocka_unit_test(test_serial_lost_listed),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_older),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
