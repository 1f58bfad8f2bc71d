/*
 * Collection, leases and pack rewriting, against a model: random puts, checks,
 * jobs and their ends, collections that run meanwhile, channels that close and
 * stores that are killed.  The store is the one with small numbers (CRASH=1),
 * so that every collection has many steps and packs are short.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <time.h>

#include "lib/size.h"
#include "store_driver.h"
#include "worker-store/gc_marks.h"
#include "worker-store/index.h"
#include "worker-store/index_job.h"
#include "worker-store/index_obj.h"
#include "worker-store/index_pack.h"
#include "worker-store/pack_rec.h"

#define T1              1001

#define FILES           48
#define DIRS            24
#define TOPS            16
#define OBJECTS         (FILES + DIRS + TOPS)
#define ROOTS           (DIRS + TOPS)
#define KIDS            6
#define JOBS_MAX        64
#define STEPS           500
#define ROUNDS          6
#define STORM_US        20000000
#define OTHERS          6

static const struct obj_ref none;

/* An object of the model, with its bytes and what it names. */
struct item {
	struct obj_ref ref;
	uint8_t *buf;
	size_t len;
	size_t kids[KIDS];
	size_t nkids;
};

struct job {
	char id[JOB_ID_LEN + 1];
	size_t root;
	size_t after;           /* SIZE_MAX: not settled, or none */
	int settled;
};

struct world {
	struct drv d;
	int care;
	int t[2];               /* channels of the tenant */
	struct item items[OBJECTS];
	size_t nitems;
	size_t spec;
	struct job jobs[JOBS_MAX];
	size_t njobs;
	uint64_t serial;        /* of jobs */
	uint64_t sequence;
	uint64_t collections;
	uint64_t refused;
	int bare;               /* stamps cover nothing, only roots do */
};

static uint64_t seed;

static uint64_t
chance(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return ((seed >> 11) % n);
}

static int
keep(void *cookie, const struct obj_ref *ref, const void *buf, size_t len)
{
	struct world *w = cookie;
	struct item *it = &w->items[w->nitems++];

	it->ref = *ref;
	it->len = len;
	assert_non_null(it->buf = malloc(len));
	memcpy(it->buf, buf, len);
	return (0);
}

/* One that names some of the first ${below} items; small, so one object. */
static void
make_dir(struct world *w, size_t from, size_t below, size_t kids)
{
	struct tree_builder *tb = tree_builder_new();
	struct item *it = &w->items[w->nitems];
	struct obj_ref ref;
	size_t i, at;
	char name[16];

	assert_non_null(tb);
	for (i = 0; i < kids; i++) {
		struct tree_entry e = { .mode = 0644 };

		at = from + chance(below - from);
		e.kind = w->items[at].ref.kind == OBJ_CHUNK ? TREE_FILE :
		    TREE_DIR;
		e.size = e.kind == TREE_FILE ? w->items[at].len : 0;
		e.mtime_ns = (int64_t)w->nitems;        /* no two alike */
		(void)snprintf(name, sizeof(name), "n%zu", i);
		e.name = (const uint8_t *)name;
		e.name_len = (uint16_t)strlen(name);
		e.ref = w->items[at].ref;
		it->kids[i] = at;
		assert_int_equal(tree_builder_add(tb, &e), 0);
	}
	it->nkids = kids;
	at = w->nitems;
	assert_int_equal(tree_builder_finish(tb, keep, w, &ref), 0);
	assert_int_equal(w->nitems, at + 1);
	tree_builder_free(tb);
}

static void
make_items(struct world *w)
{
	uint8_t buf[8192];
	struct obj_ref ref;
	size_t i;

	for (i = 0; i < FILES; i++) {
		drv_bytes(seed + i, buf, 500 + 150 * i);
		assert_int_equal(obj_ref_of(OBJ_CHUNK, buf, 500 + 150 * i,
		    &ref), 0);
		(void)keep(w, &ref, buf, 500 + 150 * i);
	}
	w->spec = 0;
	for (i = 0; i < DIRS; i++)
		make_dir(w, 0, FILES, 4);
	for (i = 0; i < TOPS; i++)
		make_dir(w, FILES / 2, w->nitems, 4);
	assert_true(w->nitems <= OBJECTS);
}

/* Everything at and below an item. */
static void
closure(const struct world *w, size_t at, uint8_t *in)
{
	size_t i;

	if (in[at])
		return;
	in[at] = 1;
	for (i = 0; i < w->items[at].nkids; i++)
		closure(w, w->items[at].kids[i], in);
}

static void
referenced(const struct world *w, uint8_t *in)
{
	size_t i;

	memset(in, 0, OBJECTS);
	for (i = 0; i < w->njobs; i++) {
		closure(w, w->jobs[i].root, in);
		if (w->jobs[i].after != SIZE_MAX)
			closure(w, w->jobs[i].after, in);
		in[w->spec] = 1;
	}
}

static void
bind_all(struct world *w)
{
	struct store_msg m = { .op = STORE_BIND };
	struct drv_reply r;
	int pair[2];

	w->t[0] = drv_bind(&w->d, T1, DRV_ALL);
	w->t[1] = drv_bind(&w->d, T1, DRV_ALL);
	assert_int_equal(chan_pair(pair), 0);
	m.u.bind.rights = STORE_RIGHT_CARE;
	assert_int_equal(drv_call(&w->d, w->d.fd, &m, pair[1], &r), ERR_NONE);
	w->care = pair[0];
}

static void
close_all(struct world *w)
{
	io_close(&w->t[0]);
	io_close(&w->t[1]);
	io_close(&w->care);
}

static uint64_t
figure(struct world *w, const char *name)
{
	struct store_msg m = { .op = STORE_CARE };
	struct drv_reply r;
	size_t i;

	m.u.care.task = CARE_STAT;
	assert_int_equal(drv_call(&w->d, w->care, &m, -1, &r), ERR_NONE);
	for (i = 0; i < r.m.u.ok.care.nfigures; i++)
		if (strcmp(r.m.u.ok.care.figures[i].name, name) == 0)
			return (r.m.u.ok.care.figures[i].value);
	fail_msg("no figure %s", name);
	return (0);
}

static void
nap(void)
{
	const struct timespec ms = { 0, 1000000 };

	(void)nanosleep(&ms, NULL);
}

static void
collect(struct world *w)
{
	struct store_msg m = { .op = STORE_COLLECT };
	struct drv_reply r;

	m.u.head.tenant_id = chance(2) == 0 ? 0 : T1;
	assert_int_equal(drv_call(&w->d, w->d.fd, &m, -1, &r), ERR_NONE);
	w->collections++;
}

/* Until nothing is being collected or rewritten. */
static void
settle_down(struct world *w)
{
	int i, calm = 0;

	for (i = 0; i < 60000 && calm < 3; i++) {
		calm = figure(w, "gc_busy") == 0 &&
		    figure(w, "gc_waiting") == 0 &&
		    figure(w, "rewrite_pack") == 0 ? calm + 1 : 0;
		nap();
	}
	assert_int_equal(calm, 3);
}

static int
is_there(struct world *w, size_t at)
{
	struct drv_reply r;
	int there;

	assert_int_equal(drv_get(&w->d, w->t[0], &w->items[at].ref, 1, &r),
	    ERR_NONE);
	there = r.m.u.ok.objects == 1;
	if (there)
		assert_memory_equal(r.map + OBJREC_HEAD, w->items[at].buf,
		    w->items[at].len);
	drv_reply_done(&r);
	return (there);
}

static void
all_there(struct world *w, const uint8_t *in, const char *why)
{
	size_t i;

	for (i = 0; i < w->nitems; i++)
		if (in[i] && !is_there(w, i))
			fail_msg("object %zu of %s is gone", i, why);
}

/* Put what is in the set, with some left out if ${holes}. */
static void
put_set(struct world *w, int t, const uint8_t *in, int holes)
{
	struct drv_objs o = { 0 };
	struct drv_reply r;
	size_t i;

	for (i = 0; i < w->nitems; i++)
		if (in[i] && !(holes && chance(3) == 0))
			drv_add_ref(&o, &w->items[i].ref, w->items[i].buf,
			    w->items[i].len);
	if (o.n > 0)
		assert_int_equal(drv_put(&w->d, t, &o, &r), ERR_NONE);
	free(o.buf);
}

static size_t
some_root(void)
{
	return (FILES + chance(ROOTS));
}

/* A CHECK says the truth, and what it found stays on this channel. */
static int
check(struct world *w, int t, size_t root)
{
	uint8_t in[OBJECTS] = { 0 };
	struct obj_ref ref;
	struct drv_reply r;
	size_t i, k;
	int whole;

	closure(w, root, in);
	assert_int_equal(drv_check(&w->d, t, &w->items[root].ref, &r),
	    ERR_NONE);
	whole = r.m.u.ok.objects == 0;
	for (i = 0; i < r.m.u.ok.objects; i++) {
		assert_int_equal(obj_ref_decode(r.map + i * OBJ_REF_LEN,
		    &ref), 0);
		for (k = 0; k < w->nitems; k++)
			if (obj_ref_equal(&ref, &w->items[k].ref))
				break;
		assert_true(k < w->nitems && in[k]);
		assert_false(is_there(w, k));
	}
	drv_reply_done(&r);
	if (whole)
		all_there(w, in, "what CHECK called whole");
	return (whole);
}

static void
publish(struct world *w, size_t root, int wants)
{
	uint8_t in[OBJECTS] = { 0 };
	struct drv_reply r;
	struct job *j;
	size_t i;
	int rc;

	if (w->njobs == JOBS_MAX)
		return;
	j = &w->jobs[w->njobs];
	memset(j, 0, sizeof(*j));
	for (i = 0; i < JOB_ID_LEN; i++)
		j->id[i] = (char)('a' + ((w->serial >> (4 * i)) & 15));
	w->serial++;
	j->root = root;
	j->after = SIZE_MAX;
	rc = drv_publish(&w->d, T1, j->id, &w->items[root].ref,
	    &w->items[w->spec].ref, &r);
	closure(w, root, in);
	if (rc == ERR_NONE) {
		w->njobs++;
		all_there(w, in, "what was published");
		return;
	}
	assert_int_equal(rc, ERR_MISSING);
	assert_false(wants);
	w->refused++;
}

static int
settle(struct world *w)
{
	struct drv_reply r;
	struct job *j;
	size_t after, i;
	int rc;

	for (i = 0; i < w->njobs && w->jobs[i].settled; i++)
		;
	if (i == w->njobs)
		return (-1);
	j = &w->jobs[i];
	after = some_root();
	rc = drv_settle(&w->d, T1, j->id, w->sequence + 1,
	    &w->items[after].ref, &none, &r);
	if (rc == ERR_NONE)
		j->after = after;
	else {
		assert_int_equal(rc, ERR_MISSING);
		assert_int_equal(drv_settle(&w->d, T1, j->id, w->sequence + 1,
		    &none, &none, &r), ERR_NONE);
	}
	w->sequence++;
	j->settled = 1;
	return (0);
}

/* The oldest go, as many as the store says, and only settled ones. */
static void
expire(struct world *w)
{
	struct store_msg m = { .op = STORE_EXPIRE };
	struct drv_reply r;
	size_t i, k;

	m.u.expire.tenant_id = T1;
	m.u.expire.keep_jobs = 1 + chance(6);
	assert_int_equal(drv_call(&w->d, w->d.fd, &m, -1, &r), ERR_NONE);
	for (i = 0; i < r.m.u.ok.objects; i++) {
		for (k = 0; k < w->njobs; k++)
			if (memcmp(r.map + i * (4 + JOB_ID_LEN) + 4,
			    w->jobs[k].id, JOB_ID_LEN) == 0)
				break;
		assert_true(k < w->njobs);
		assert_int_equal(w->jobs[k].settled, 1);
		w->jobs[k] = w->jobs[--w->njobs];
	}
	drv_reply_done(&r);
	for (i = k = 0; i < w->njobs; i++)
		k += w->jobs[i].settled == 0;
	assert_true(w->njobs <= m.u.expire.keep_jobs || k > 0 ||
	    w->njobs <= k + m.u.expire.keep_jobs);
}

static void
start(struct world *w)
{
	assert_int_equal(drv_start(&w->d), 0);
	bind_all(w);
}

/* Cut off: what was referenced is there, the chain goes on. */
static void
crash(struct world *w)
{
	close_all(w);
	drv_kill(&w->d);
	start(w);
}

static void
cut(struct world *w, int which)
{
	close(w->t[which]);
	w->t[which] = drv_bind(&w->d, T1, DRV_ALL);
}

/* A tree alone is put, perhaps found, and asked about. */
static void
resume(struct world *w, int t)
{
	uint8_t in[OBJECTS] = { 0 };
	size_t root = some_root();

	in[root] = 1;
	put_set(w, t, in, 0);
	(void)check(w, t, root);
}

static void
one(struct world *w)
{
	uint8_t in[OBJECTS] = { 0 };
	int t = w->t[chance(2)];
	size_t root = some_root();
	int whole;

	closure(w, root, in);
	switch (chance(16)) {
	case 0: case 1:
		put_set(w, t, in, 1);
		break;
	case 2: case 3: case 4:
		/* As a client does it. */
		put_set(w, t, in, chance(2) == 0);
		in[w->spec] = 1;
		whole = check(w, t, root);
		if (whole)
			memset(in, 0, sizeof(in));
		in[w->spec] = 1;
		put_set(w, t, in, 0);
		if (chance(3) == 0)
			collect(w);
		publish(w, root, whole || !w->bare);
		break;
	case 5: case 6:
		(void)check(w, t, root);
		break;
	case 7:
		publish(w, root, 0);
		break;
	case 8: case 9:
		(void)settle(w);
		break;
	case 10:
		expire(w);
		break;
	case 11: case 12:
		/* Whoever asks while it runs must hear the truth. */
		cut(w, 0);
		cut(w, 1);
		while (w->njobs > 4 + chance(4) && settle(w) == 0)
			;
		expire(w);
		collect(w);
		for (whole = (int)chance(60); whole > 0; whole--)
			resume(w, w->t[chance(2)]);
		break;
	case 13:
		/* A connection that is cut; nothing of it is covered on. */
		cut(w, t == w->t[1]);
		break;
	case 14:
		referenced(w, in);
		all_there(w, in, "what is referenced");
		break;
	default:
		if (chance(8) == 0)
			crash(w);
	}
}

/* With nothing leased, exactly what is referenced is left. */
static void
exactly(struct world *w)
{
	uint8_t in[OBJECTS];
	size_t i;

	io_close(&w->t[0]);
	io_close(&w->t[1]);
	settle_down(w);
	w->t[0] = drv_bind(&w->d, T1, DRV_ALL);
	w->t[1] = drv_bind(&w->d, T1, DRV_ALL);
	collect(w);
	settle_down(w);
	referenced(w, in);
	for (i = 0; i < w->nitems; i++)
		if (is_there(w, i) != in[i])
			fail_msg("object %zu %s", i, in[i] ? "is gone" :
			    "was left");
	assert_int_equal(figure(w, "gc_abandoned"), 0);
	assert_int_equal(figure(w, "rewrite_stuck"), 0);
}

/* What the index says of itself, counted again. */
struct recount {
	struct ix_usage sum;
	uint64_t live[4096];
	uint64_t packs;
	uint64_t dead;
};

static int
on_object(void *cookie, const struct ix_object *o)
{
	struct recount *c = cookie;

	assert_int_equal(o->tenant, T1);
	assert_true(o->loc.pack < 4096);
	c->sum.objects++;
	c->sum.bytes += o->loc.raw_len;
	c->sum.stored += PACK_REC_HEAD + o->loc.len;
	c->live[o->loc.pack] += PACK_REC_HEAD + o->loc.len;
	return (0);
}

static int
on_pack(void *cookie, const struct ix_pack *p)
{
	struct recount *c = cookie;

	c->packs++;
	assert_int_equal(c->live[p->number], p->live);
	c->live[p->number] = 0;
	if (p->sealed && p->live < (p->len - PACK_HEAD) / 2)
		c->dead++;
	return (0);
}

static void
recount(struct world *w)
{
	struct recount *c = calloc(1, sizeof(*c));
	struct ix_usage u;
	struct stat st;
	char path[320];
	struct ix *ix;
	size_t i;
	int dirfd;

	assert_non_null(c);
	close_all(w);
	assert_int_equal(drv_wait(&w->d), 0);
	dirfd = open(w->d.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "%s/index", w->d.dir);
	assert_non_null(ix = ix_open(dirfd, path, 1 << 20));
	assert_int_equal(ix_read(ix), 0);
	assert_int_equal(ix_object_scan_all(ix, NULL, on_object, c), 0);
	assert_int_equal(ix_packs(ix, on_pack, c), 0);
	for (i = 0; i < 4096; i++) {
		assert_int_equal(c->live[i], 0);
		(void)snprintf(path, sizeof(path), "packs/%08zu.pack", i);
		if (fstatat(dirfd, path, &st, 0) == 0)
			c->packs--;
	}
	assert_int_equal(c->packs, 0);
	assert_int_equal(ix_usage_get(ix, T1, &u), 0);
	assert_int_equal(u.objects, c->sum.objects);
	assert_int_equal(u.bytes, c->sum.bytes);
	assert_int_equal(u.stored, c->sum.stored);
	assert_int_equal(u.kept, w->njobs);
	ix_read_end(ix);
	ix_close(ix);
	close(dirfd);
	free(c);
	/* It was opened as root. */
	if (geteuid() == 0) {
		(void)snprintf(path, sizeof(path), "%s/index/lock.mdb",
		    w->d.dir);
		assert_int_equal(chown(path, DRV_UID, DRV_UID), 0);
	}
	start(w);
}

/* The program with small numbers; the test's own is built without. */
static void
small_numbers(const char *more)
{
	const char *b = getenv("ERRAND_BUILD"), *mutant =
	    getenv("ERRAND_MUTANT");
	char bin[512], words[512];

	(void)snprintf(bin, sizeof(bin), "%s-crash/bin", b != NULL ? b :
	    "build");
	assert_int_equal(setenv("ERRAND_BIN", bin, 1), 0);
	(void)snprintf(words, sizeof(words), "lease-grace=0 gc-step-us=1 "
	    "gc-scan=4 gc-refs=1 pack-seal=60000 rewrite-seal=20000 %s %s",
	    more, mutant != NULL ? mutant : "");
	assert_int_equal(setenv("ERRAND_CRASH", words, 1), 0);
}

static void
setup_world(struct world *w)
{
	drv_init(&w->d, "/tmp");
	make_items(w);
	w->care = w->t[0] = w->t[1] = -1;
	start(w);
}

static void
done_world(struct world *w)
{
	size_t i;

	close_all(w);
	drv_done(&w->d);
	for (i = 0; i < w->nitems; i++)
		free(w->items[i].buf);
	free(w);
}

static void
test_model(void **state)
{
	const char *s = getenv("ERRAND_SEED");
	struct world *w = calloc(1, sizeof(*w));
	int i, k;

	(void)state;
	assert_non_null(w);
	seed = s != NULL ? strtoull(s, NULL, 10) : io_real_us() | 1;
	print_message("# seed %llu (ERRAND_SEED)\n", (unsigned long long)seed);
	small_numbers("");
	setup_world(w);
	for (i = 0; i < ROUNDS; i++) {
		w->bare = i % 2;
		small_numbers(w->bare ? "mutant=no-lease-stamps" : "");
		crash(w);
		for (k = 0; k < STEPS / ROUNDS; k++)
			one(w);
		exactly(w);
		recount(w);
	}
	print_message("# %llu collections, %llu jobs, %llu publications of "
	    "what was not whole\n", (unsigned long long)w->collections,
	    (unsigned long long)w->serial, (unsigned long long)w->refused);
	done_world(w);
}

/* The only job ends and is forgotten. */
static void
end(struct world *w)
{
	struct store_msg m = { .op = STORE_EXPIRE };
	struct drv_reply r;

	assert_int_equal(drv_settle(&w->d, T1, w->jobs[0].id,
	    ++w->sequence, &none, &none, &r), ERR_NONE);
	m.u.expire.tenant_id = T1;
	m.u.expire.keep_us = 1;
	assert_int_equal(drv_call(&w->d, w->d.fd, &m, -1, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 1);
	drv_reply_done(&r);
	w->njobs = 0;
}

/*
 * While a tree that was complete is being swept, and something below it has
 * gone already, nobody is told that it is whole.
 */
static void
test_voided(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	uint8_t in[OBJECTS];
	size_t root = 0, i, gone;
	int round, hits = 0;

	(void)state;
	assert_non_null(w);
	seed = 88172645463325252ULL;
	small_numbers("gc-scan=1");
	setup_world(w);
	for (round = 0; round < 60 && hits < 5; round++) {
		do
			root = FILES + DIRS + chance(TOPS);
		while (w->items[root].nkids < 4);
		memset(in, 0, sizeof(in));
		closure(w, root, in);
		in[w->spec] = 1;
		put_set(w, w->t[0], in, 0);
		publish(w, root, 1);
		end(w);
		cut(w, 0);
		cut(w, 1);
		collect(w);
		do {
			for (i = gone = 0; i < w->nitems; i++)
				gone += in[i] && i != w->spec &&
				    !is_there(w, i);
		} while (gone == 0);
		if (!is_there(w, root))
			continue;
		hits++;
		assert_int_equal(check(w, w->t[0], root), 0);
		settle_down(w);
	}
	assert_true(hits > 0);
	done_world(w);
}

/* Other tenants, with something to look at while their channels last. */
static void
others(struct world *w, int *fds)
{
	struct drv_objs o = { 0 };
	struct drv_reply r;
	uint32_t t;

	for (t = 0; t < OTHERS; t++) {
		(void)drv_chunk(&o, t, 100);
		fds[t] = drv_bind(&w->d, T1 + 1 + t, DRV_ALL);
		assert_int_equal(drv_put(&w->d, fds[t], &o, &r), ERR_NONE);
	}
	free(o.buf);
}

/*
 * One collection after another, asked for before the last is over, does not
 * keep packs from being rewritten and their room from being given back.
 */
static void
test_storm(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	uint64_t until = io_mono_us() + STORM_US, idle = 0, steps = 0;
	struct store_msg m = { .op = STORE_COLLECT };
	struct drv_reply r;
	uint8_t in[OBJECTS];
	uint64_t removed;
	int fds[OTHERS], i;

	(void)state;
	assert_non_null(w);
	seed = 88172645463325252ULL;
	small_numbers("pause=gc-epoch-new:10000");
	setup_world(w);
	others(w, fds);
	memset(in, 1, sizeof(in));
	put_set(w, w->t[0], in, 0);
	cut(w, 0);
	cut(w, 1);
	removed = figure(w, "rewrite_removed");
	while (figure(w, "rewrite_removed") == removed) {
		assert_int_equal(drv_call(&w->d, w->d.fd, &m, -1, &r),
		    ERR_NONE);
		idle += figure(w, "gc_waiting") == 0;
		steps++;
		if (io_mono_us() >= until)
			fail_msg("%d s, and no pack was rewritten",
			    STORM_US / 1000000);
	}
	print_message("# idle %llu of %llu\n", (unsigned long long)idle,
	    (unsigned long long)steps);
	/* It was a storm, and not over before it began. */
	assert_true(steps > 20);
	assert_true(idle < steps / 2);
	for (i = 0; i < OTHERS; i++)
		close(fds[i]);
	settle_down(w);
	done_world(w);
}

/* A set against the simplest set there is. */
static void
test_marks(void **state)
{
	static uint8_t seen[3][1 << 22];
	struct marks *m = marks_new();
	uint32_t i, pack, place;
	uint64_t n = 0;
	int rc;

	(void)state;
	assert_non_null(m);
	seed = 88172645463325252ULL;
	for (i = 0; i < 400000; i++) {
		pack = (uint32_t)chance(3);
		/* Dense at first, sparse behind. */
		place = chance(2) == 0 ? (uint32_t)chance(1 << 22) :
		    (uint32_t)chance(60000);
		assert_int_equal(marks_has(m, 7 + 5 * pack,
		    place * MARK_GRAIN + 3), seen[pack][place]);
		rc = marks_add(m, 7 + 5 * pack, place * MARK_GRAIN);
		assert_int_equal(rc, !seen[pack][place]);
		n += !seen[pack][place];
		seen[pack][place] = 1;
	}
	for (pack = 0; pack < 3; pack++)
		for (place = 0; place < 1 << 22; place++)
			assert_int_equal(marks_has(m, 7 + 5 * pack,
			    place * MARK_GRAIN), seen[pack][place]);
	assert_int_equal(marks_has(m, 8, 0), 0);
	assert_int_equal(marks_count(m), n);
	assert_true(marks_memory(m) <= 3 * ((1 << 22) / 8 + 8192));
	assert_int_equal(marks_add(m, 7, 256U << 20), -1);
	marks_free(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_voided),
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_model),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
