#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define JOBS    200             /* their index has several pages of each kind */
#define SETTLED 120

#include "tests/unit/store_jobs.h"
#include "lib/le.h"
#include "worker-store/index.h"

/*
 * An index with a damaged page may well open: LMDB's pages have no checksums.
 * Whatever a collection, rewriting and the next opening then make of it, from
 * the packs the index is made anew, and nothing that was acknowledged is
 * missing.
 */
#define ROUNDS  40
#define PAGE    4096

/* A copy of the store's directory beside it. */
static void
copy_store(const char *from, const char *to)
{
	int status;
	pid_t pid;

	if (access(to, F_OK) == 0)
		assert_int_equal(io_remove_tree(AT_FDCWD, to), 0);
	assert_true((pid = fork()) != -1);
	if (pid == 0) {
		(void)execlp("cp", "cp", "-a", "--", from, to, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int
index_file(const char *store, off_t *pages)
{
	char path[400];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/index/data.mdb", store);
	assert_true((fd = open(path, O_RDWR | O_CLOEXEC)) != -1);
	*pages = lseek(fd, 0, SEEK_END) / PAGE;
	return (fd);
}

/*
 * A page as a disk may give it back: as it was some time ago, as another one,
 * with a bit turned over, or as nothing.
 */
static void
page_damage(const char *store, const char *older)
{
	uint8_t page[PAGE];
	off_t n, old, at, from;
	int fd = index_file(store, &n), was = index_file(older, &old);
	int how = (int)rnd(4);

	at = (off_t)rnd((uint64_t)n);
	/* One of the first two as it was is a commit that never happened. */
	if (how == 0 && at < 2)
		at += 2;
	from = how == 0 ? at : (off_t)rnd((uint64_t)n);
	memset(page, 0, sizeof(page));
	if (how == 0 && at < old)
		assert_int_equal(io_pread(was, page, PAGE, at * PAGE), 0);
	else if (how < 3)
		assert_int_equal(io_pread(fd, page, PAGE, from * PAGE), 0);
	if (how == 2) {
		assert_int_equal(io_pread(fd, page, PAGE, at * PAGE), 0);
		page[rnd(PAGE)] ^= (uint8_t)(1 << rnd(8));
	}
	print_message("# page %d, %d\n", (int)at, how);
	assert_int_equal(io_pwrite(fd, page, PAGE, at * PAGE), 0);
	close(fd);
	close(was);
}

static void
index_write(const char *store, const uint8_t *page, off_t at)
{
	off_t n;
	int fd = index_file(store, &n);

	assert_int_equal(io_pwrite(fd, page, PAGE, at * PAGE), 0);
	close(fd);
}

/* Whether it serves.  If not, it has said what an operator has to do. */
static int
opens(struct drv *d)
{
	d->said[0] = '\0';
	if (drv_start(d) == 0)
		return (1);
	(void)drv_wait(d);
	if (strstr(d->said, "errandctl store rebuild-index") == NULL)
		fail_msg("it ended, saying \"%s\"", d->said);
	return (0);
}

/* Collect and rewrite, should it let itself be asked. */
static void
care(struct drv *d)
{
	struct store_msg bind = { .op = STORE_BIND };
	struct store_msg m = { .op = STORE_CARE };
	struct drv_reply r;
	int pair[2];

	assert_int_equal(chan_pair(pair), 0);
	bind.u.bind.rights = STORE_RIGHT_CARE;
	if (drv_call(d, d->fd, &bind, pair[1], &r) != ERR_NONE)
		goto out;
	m.u.care.task = CARE_GC;
	if (drv_call(d, pair[0], &m, -1, &r) != ERR_NONE)
		goto out;
	m.u.care.task = CARE_NEXT;
	while (!r.m.u.ok.care.done) {
		drv_reply_done(&r);
		if (drv_call(d, pair[0], &m, -1, &r) != ERR_NONE)
			goto out;
	}
	drv_reply_done(&r);
out:
	close(pair[0]);
}

static void
end(struct drv *d)
{
	kill(d->pid, SIGKILL);
	(void)drv_wait(d);
}

/* Is it found out, before anything is deleted?  Then it has ended. */
static int
finds(struct drv *d)
{
	int found;

	if (!opens(d))
		return (1);
	care(d);
	if ((found = drv_log_has(d, "nothing is collected")))
		end(d);
	return (found);
}

static void
anew(struct drv *d)
{
	int t;

	start_anew(d);
	t = drv_bind(d, T1, DRV_ALL);
	check_all(d, t, JOBS, SETTLED);
	close(t);
	end(d);
}

/* All the jobs, and a copy of the store as it was half-way. */
static void
fill_twice(struct drv *d, const char *older)
{
	uint64_t n;
	int t, t2;

	for (n = 0; n < JOBS; n++) {
		if (n == 0 || n == JOBS / 2) {
			if (n != 0) {
				close(t);
				drv_kill(d);
				copy_store(d->dir, older);
			}
			assert_int_equal(drv_start(d), 0);
			t = drv_bind(d, T1, DRV_ALL);
		}
		make_job(d, t, T1, n);
	}
	close(t);
	for (n = 0; n < SETTLED; n++)
		settle_job(d, T1, n, n + 1);
	t2 = drv_bind(d, T2, DRV_ALL);
	make_job(d, t2, T2, 5000);
	close(t2);
	drv_kill(d);
}

/* The store, its older self, and itself as it is to be again. */
static struct drv d;
static char older[300], whole[300];

static int
world_make(void **state)
{
	(void)state;
	drv_init(&d, getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
	(void)snprintf(older, sizeof(older), "%s.older", d.dir);
	(void)snprintf(whole, sizeof(whole), "%s.whole", d.dir);
	fill_twice(&d, older);
	copy_store(d.dir, whole);
	return (0);
}

static int
world_done(void **state)
{
	(void)state;
	drv_done(&d);
	return (0);
}

/* As it was, and silent. */
static void
again(void)
{
	copy_store(whole, d.dir);
	(void)unlink(d.log);
}

static void
test_pages(void **state)
{
	const char *s = getenv("ERRAND_TEST_SEED");
	int i, silent = 0, later = 0;

	(void)state;
	seed = s != NULL ? strtoull(s, NULL, 0) :
	    (uint64_t)getpid() * 2654435761u + 1;
	print_message("# ERRAND_TEST_SEED=%llu\n", (unsigned long long)seed);
	for (i = 0; i < ROUNDS; i++) {
		again();
		page_damage(d.dir, older);
		if (opens(&d)) {
			silent++;
			care(&d);
			later += drv_log_has(&d, "nothing is collected");
			end(&d);
			if (opens(&d))
				end(&d);
		}
		anew(&d);
	}
	print_message("# opened without a word: %d of %d, found later: %d\n",
	    silent, ROUNDS, later);
}

/*
 * What is known of LMDB's pages here: flags, where the offsets of the entries
 * end, those offsets, and in an entry the length of its key, of which only
 * those of the lists of unused pages have eight bytes.
 */
#define FLAGS_AT        10
#define LOWER_AT        12
#define OFFSETS_AT      16
#define LEAF            0x2
#define ENTRY_LONG      0x1

static int
is_leaf(const uint8_t *page)
{
	return (le_get16(page + FLAGS_AT) == LEAF &&
	    le_get16(page + LOWER_AT) > OFFSETS_AT);
}

static const uint8_t *
entry_of(const uint8_t *page)
{
	return (page + le_get16(page + OFFSETS_AT) % (PAGE - 32));
}

static int
is_list(const uint8_t *page)
{
	return (le_get16(entry_of(page) + 6) == 8);
}

static uint64_t in_use[256];
static size_t nin_use;

/* An entry of a leaf is not counted any more: pages that are in use tell. */
static void
test_hidden(void **state)
{
	int fd, lists = 0, t;
	uint8_t page[PAGE];
	off_t n, at;

	(void)state;
	fd = index_file(whole, &n);
	for (at = 2; at < n; at++) {
		assert_int_equal(io_pread(fd, page, PAGE, at * PAGE), 0);
		if (!is_leaf(page))
			continue;
		le_put16(page + LOWER_AT, (uint16_t)(le_get16(page +
		    LOWER_AT) - 2));
		again();
		index_write(d.dir, page, at);
		if (finds(&d)) {
			lists += is_list(page);
			if (!is_list(page))
				in_use[nin_use++ % 256] = (uint64_t)at;
			continue;
		}
		t = drv_bind(&d, T1, DRV_ALL);
		check_all(&d, t, JOBS, SETTLED);
		close(t);
		end(&d);
	}
	close(fd);
	print_message("# %zu pages, %d lists\n", nin_use, lists);
	/* Those of jobs, their order, references and ids at least. */
	assert_in_range(nin_use, 30, 256);
	assert_true(lists > 0);
}

/* A page is in use, and is in the list of those that are not. */
static void
test_unused(void **state)
{
	int fd, found = 0;
	uint8_t page[PAGE], *entry;
	off_t n, at;

	(void)state;
	fd = index_file(whole, &n);
	for (at = 2; at < n; at++) {
		assert_int_equal(io_pread(fd, page, PAGE, at * PAGE), 0);
		if (!is_leaf(page) || !is_list(page))
			continue;
		entry = page + (entry_of(page) - page);
		if (le_get16(entry + 4) & ENTRY_LONG)
			continue;
		/* Its head, its key, how many there are, then they. */
		le_put64(entry + 8 + 8 + 8, in_use[at % 30]);
		again();
		index_write(d.dir, page, at);
		if (finds(&d))
			found += drv_log_has(&d, "is in use and is not");
		else
			end(&d);
	}
	close(fd);
	assert_true(found > 0);
}

/* What contradicts itself though every page is right. */
enum how { GONE, OTHER, MORE };

struct lack {
	const char *what;
	enum ix_db db;
	enum how how;           /* an entry is gone, has another value, or
				 * there is one with another key */
	size_t at;              /* the byte that is another */
};

static const struct lack lacks[] = {
	{ "a job", IX_JOB, GONE, 0 },
	{ "a place in the order", IX_JOBSEQ, GONE, 0 },
	{ "a reference", IX_REF, GONE, 0 },
	{ "what is referred to", IX_REF, OTHER, 5 },
	{ "whose a reference is", IX_REF, MORE, 6 },
	{ "an idempotency id", IX_IDEM, GONE, 0 },
	{ "an unsettled job", IX_UNSETTLED, GONE, 0 },
	{ "a tenant", IX_USAGE, GONE, 0 },
	{ "how many jobs it has", IX_USAGE, OTHER, 80 },
	{ "where the open pack ends", IX_TOP, OTHER, 5 },
};

struct first {
	uint8_t key[IX_KEY_MAX], val[4096];
	size_t klen, len;
};

static int
on_first(void *cookie, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	struct first *f = cookie;

	assert_in_range(klen, 1, sizeof(f->key));
	assert_in_range(len, 1, sizeof(f->val));
	memcpy(f->key, key, f->klen = klen);
	memcpy(f->val, v, f->len = len);
	return (1);
}

static void
index_lack(const char *store, const struct lack *l)
{
	struct first f = { 0 };
	char path[400];
	struct ix *ix;
	int dirfd;

	(void)snprintf(path, sizeof(path), "%s/index", store);
	assert_true((dirfd = open(store, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) != -1);
	assert_non_null(ix = ix_open(dirfd, path, IX_MAP_MIN));
	assert_int_equal(ix_write(ix, 1 << 20), 0);
	assert_int_equal(ix_scan(ix, l->db, l->db == IX_TOP ? "open" : "",
	    l->db == IX_TOP ? 4 : 0, 0, on_first, &f), 1);
	(l->how == MORE ? f.key : f.val)[l->at] ^= 1;
	if (l->how == GONE)
		assert_int_equal(ix_del(ix, l->db, f.key, f.klen), 0);
	else
		assert_int_equal(ix_put(ix, l->db, f.key, f.klen, f.val,
		    f.len), 0);
	assert_int_equal(ix_commit(ix), 0);
	ix_close(ix);
	close(dirfd);
}

static void
test_lacks(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++) {
		again();
		index_lack(d.dir, &lacks[i]);
		/* Half a second is enough, unless it is told otherwise. */
		if (getenv("ERRAND_CRASH") == NULL ? opens(&d) : !finds(&d))
			fail_msg("%s: it was not found", lacks[i].what);
		anew(&d);
	}
	/* Nothing is wrong with it otherwise. */
	again();
	assert_false(finds(&d));
	end(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_unused),
		cmocka_unit_test(test_lacks),
	};

	return (cmocka_run_group_tests(tests, world_make, world_done));
}
