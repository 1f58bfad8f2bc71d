/*
 * The runs of the index: their bytes, and that whatever is done to objects,
 * in whatever order, gives what a plain table gives.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "lib/io.h"
#include "lib/le.h"
#include "worker-store/index.h"
#include "worker-store/index_key.h"
#include "worker-store/index_obj.h"
#include "worker-store/recent.h"
#include "worker-store/seg.h"
#include "worker-store/seg_internal.h"

#define TENANTS         3
#define OBJECTS         600             /* of each tenant */
#define ALL             (TENANTS * OBJECTS)
#define MAP             (1 << 20)

/* What the index should say of each object. */
struct model {
	struct ix_object objs[ALL];     /* in the order of keys */
	uint8_t there[ALL];
};

struct dir {
	char path[64];
	char index[80];
	int fd;
	struct ix *ix;
	struct model now;
	struct model before;            /* the transaction */
	uint64_t rnd;
};

static uint32_t
rnd(struct dir *d, uint32_t below)
{
	d->rnd ^= d->rnd << 13;
	d->rnd ^= d->rnd >> 7;
	d->rnd ^= d->rnd << 17;
	return ((uint32_t)(d->rnd >> 20) % below);
}

static void
small_limits(struct dir *d)
{
	struct seg_limits *l = &ix_segs(d->ix)->limits;

	l->recent_max = 40;
	l->batch_min = 8;
	l->group_entries = 75;          /* two blocks, the second one short */
	l->trigger_0 = 3;
	l->trigger = 2;
	l->runs_max = 12;
}

static void
reopen(struct dir *d)
{
	ix_close(d->ix);
	d->ix = ix_open(d->fd, d->index, MAP);
	assert_non_null(d->ix);
	small_limits(d);
}

static int
by_key(const void *a, const void *b)
{
	return (ix_object_cmp(a, b));
}

/* Names of objects only: the rest comes with each put. */
static void
model_init(struct model *m)
{
	struct ix_object *o = m->objs;
	uint32_t t, i;

	for (t = 0; t < TENANTS; t++) {
		for (i = 0; i < OBJECTS; i++, o++) {
			o->tenant = t * 0x7fffffff + 1;
			assert_int_equal(obj_ref_of(OBJ_CHUNK + i % 3, &i,
			    sizeof(i), &o->ref), 0);
		}
	}
	qsort(m->objs, ALL, sizeof(m->objs[0]), by_key);
}

static int
setup(void **state)
{
	struct dir *d = calloc(1, sizeof(*d));

	assert_non_null(d);
	(void)strcpy(d->path, "/tmp/errand-segs-XXXXXX");
	assert_non_null(mkdtemp(d->path));
	(void)snprintf(d->index, sizeof(d->index), "%s/index", d->path);
	d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(d->fd != -1);
	model_init(&d->now);
	reopen(d);
	*state = d;
	return (0);
}

static int
teardown(void **state)
{
	struct dir *d = *state;

	ix_close(d->ix);
	close(d->fd);
	assert_int_equal(io_remove_tree(AT_FDCWD, d->path), 0);
	free(d);
	return (0);
}

static int
same(const struct ix_object *a, const struct ix_object *b)
{
	return (ix_object_cmp(a, b) == 0 && a->ref.kind == b->ref.kind &&
	    a->loc.pack == b->loc.pack && a->loc.off == b->loc.off &&
	    a->loc.len == b->loc.len && a->loc.raw_len == b->loc.raw_len &&
	    a->loc.codec == b->loc.codec && a->flags == b->flags &&
	    a->epoch == b->epoch && a->stamp == b->stamp);
}

static void
fill(struct dir *d, struct ix_object *o)
{
	o->loc.pack = rnd(d, 1000) + 1;
	o->loc.off = rnd(d, 1U << 28);
	o->loc.raw_len = rnd(d, OBJ_MAX + 1);
	o->loc.len = rnd(d, o->loc.raw_len + 1);
	o->loc.codec = (uint8_t)rnd(d, 2);
	o->flags = 0;
	o->epoch = o->stamp = rnd(d, 100);
}

static void
put_one(struct dir *d, struct model *m, uint32_t i)
{
	fill(d, &m->objs[i]);
	m->there[i] = 1;
	assert_int_equal(ix_object_put(d->ix, &m->objs[i]), 0);
}

/* A batch from anywhere, with objects that are there and such that are not. */
static void
put_batch(struct dir *d, struct model *m, uint32_t i)
{
	static struct ix_object *objs[ALL];
	uint32_t step = 1 + rnd(d, 9), max = rnd(d, 300);
	size_t n = 0;

	for (; i < ALL && n < max; i += step) {
		fill(d, &m->objs[i]);
		m->there[i] = 1;
		objs[n++] = &m->objs[i];
	}
	assert_int_equal(ix_objects_put(d->ix, objs, n), 0);
}

static void
mark(struct dir *d, struct model *m, uint32_t i)
{
	struct ix_object *o = &m->objs[i];
	int rc = ix_object_mark(d->ix, o->tenant, &o->ref, i, 7);

	assert_int_equal(rc, m->there[i] ? 0 : -1);
	if (!m->there[i])
		return;
	o->flags |= IX_COMPLETE;
	o->epoch = i;
	o->stamp = 7;
}

static void
move(struct dir *d, struct model *m, uint32_t i)
{
	struct ix_object *o = &m->objs[i];
	struct pack_loc loc = { .pack = i, .off = 1, .len = 2, .raw_len = 3 };
	int rc = ix_object_move(d->ix, o->tenant, &o->ref, &loc);

	assert_int_equal(rc, m->there[i] ? 0 : -1);
	if (m->there[i])
		o->loc = loc;
}

static void
delete(struct dir *d, struct model *m, uint32_t i)
{
	struct ix_object *o = &m->objs[i];
	int rc = ix_object_del(d->ix, o->tenant, &o->ref);

	assert_int_equal(rc, m->there[i] ? 0 : -1);
	m->there[i] = 0;
}

/* A third of a tenant at once, as a collection would. */
static void
delete_many(struct dir *d, struct model *m, uint32_t i)
{
	uint32_t n;

	for (n = 0; n < 200 && i < ALL; n++, i++)
		delete(d, m, i);
}

struct check {
	struct dir *d;
	size_t next;
	size_t end;
	int left;
};

static int
on_object(void *cookie, const struct ix_object *o)
{
	struct check *c = cookie;
	const struct model *m = &c->d->now;

	while (c->next < c->end && !m->there[c->next])
		c->next++;
	assert_true(c->next < c->end);
	assert_true(same(o, &m->objs[c->next]));
	c->next++;
	return (--c->left == 0);
}

/* Steps of random length through everything, and each object by itself. */
static void
check_all(struct dir *d)
{
	struct check c = { .d = d, .end = ALL };
	const struct ix_object *o;
	struct ix_object got;
	size_t i;
	int rc;

	do {
		c.left = 1 + (int)rnd(d, 400);
		rc = ix_object_scan_all(d->ix, c.next == 0 ? NULL :
		    &d->now.objs[c.next - 1], on_object, &c);
	} while (rc == 1);
	assert_int_equal(rc, 0);
	while (c.next < ALL)
		assert_false(d->now.there[c.next++]);
	for (i = 0; i < ALL; i++) {
		o = &d->now.objs[i];
		rc = ix_object_get(d->ix, o->tenant, &o->ref, &got);
		assert_int_equal(rc, d->now.there[i] ? 0 : -1);
		if (rc == 0)
			assert_true(same(o, &got));
		else
			assert_int_equal(errno, ENOENT);
	}
}

static void
check_tenant(struct dir *d)
{
	uint32_t t = rnd(d, TENANTS);
	struct check c = {
		.d = d,
		.next = t * OBJECTS,
		.end = (t + 1) * OBJECTS,
		.left = ALL + 1
	};

	assert_int_equal(ix_object_scan(d->ix, t * 0x7fffffff + 1, NULL,
	    on_object, &c), 0);
	while (c.next < c.end)
		assert_false(d->now.there[c.next++]);
}

typedef void op(struct dir *, struct model *, uint32_t);

static void
transaction(struct dir *d)
{
	static op *const ops[] = { put_one, put_one, put_batch, mark, mark,
		move, delete, delete, delete_many };
	uint32_t n = rnd(d, 30), i;

	d->before = d->now;
	assert_int_equal(ix_write(d->ix, 0), 0);
	for (i = 0; i < n; i++)
		ops[rnd(d, i == 0 ? 9 : 8)](d, &d->now, rnd(d, ALL));
	if (rnd(d, 10) == 0)
		check_all(d);
	if (rnd(d, 5) == 0) {
		if (rnd(d, 2) == 0) {
			assert_int_equal(seg_keep_step(d->ix, 1 + rnd(d, 5)),
			    0);
			check_all(d);
		}
		ix_abort(d->ix);
		d->now = d->before;
	} else
		assert_int_equal(ix_commit(d->ix), 0);
}

static void
keep(struct dir *d)
{
	uint32_t i;

	assert_int_equal(ix_write(d->ix, 0), 0);
	assert_int_equal(seg_keep_step(d->ix, 1 + rnd(d, 3)), 0);
	assert_int_equal(ix_commit(d->ix), 0);
	for (i = rnd(d, 4); i > 0; i--)
		assert_true(ix_upkeep(d->ix) != -1);
}

static int
count_key(void *cookie, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	uint64_t *n = cookie;

	(void)key;
	(void)klen;
	(void)v;
	assert_true(len <= SEG_BLOCK_MAX);
	(*n)++;
	return (0);
}

/* No block is left behind by merging, and none is missing. */
static void
check_blocks(struct dir *d)
{
	struct segs *s = ix_segs(d->ix);
	uint64_t want = 0, there = 0;
	struct seg_head head;
	uint32_t g;
	size_t i;

	for (i = 0; i < s->n; i++) {
		for (g = s->runs[i]->is.first; g < s->runs[i]->is.groups;
		    g++) {
			assert_int_equal(segs_head(d->ix, s->runs[i], g,
			    &head), 0);
			want += 1 + head.blocks;
		}
	}
	assert_int_equal(ix_scan(d->ix, IX_BLOCK, "", 0, 0, count_key,
	    &there), 0);
	assert_int_equal(there, want);
}

static void
look(struct dir *d)
{
	assert_int_equal(ix_read(d->ix), 0);
	check_all(d);
	check_tenant(d);
	check_blocks(d);
	ix_read_end(d->ix);
}

static uint64_t
seed_of(void)
{
	const char *env = getenv("ERRAND_SEED");
	uint64_t seed;

	if (env != NULL)
		seed = strtoull(env, NULL, 10);
	else
		randombytes_buf(&seed, sizeof(seed));
	seed = seed == 0 ? 1 : seed;
	print_message("ERRAND_SEED=%ju\n", (uintmax_t)seed);
	return (seed);
}

static void
test_random(void **state)
{
	struct dir *d = *state;
	size_t runs = 0, i;

	d->rnd = seed_of();
	for (i = 0; i < 800; i++) {
		transaction(d);
		if (rnd(d, 3) == 0)
			keep(d);
		if (rnd(d, 40) == 0)
			reopen(d);
		if (i % 10 == 0)
			look(d);
		if (ix_segs(d->ix)->n > runs)
			runs = ix_segs(d->ix)->n;
	}
	assert_true(runs > 4);
	while (ix_upkeep(d->ix) == 1)
		;
	look(d);
}

/* When everything is deleted, merging leaves nothing of it. */
static void
test_empty(void **state)
{
	struct dir *d = *state;
	uint32_t i, k;

	d->rnd = 1;
	for (k = 0; k < 4; k++) {
		assert_int_equal(ix_write(d->ix, 0), 0);
		for (i = 0; i < 10; i++)
			put_batch(d, &d->now, rnd(d, ALL));
		assert_int_equal(ix_commit(d->ix), 0);
	}
	assert_int_equal(ix_write(d->ix, 0), 0);
	for (i = 0; i < ALL; i++)
		delete(d, &d->now, i);
	assert_int_equal(ix_commit(d->ix), 0);
	look(d);
	ix_segs(d->ix)->limits.recent_max = 0;
	ix_segs(d->ix)->limits.trigger_0 = 1;
	ix_segs(d->ix)->limits.trigger = 1;
	for (i = 0; i < 1000 && ix_segs(d->ix)->n + (size_t)
	    ix_upkeep_due(d->ix) > 0; i++)
		assert_true(ix_upkeep(d->ix) != -1);
	look(d);
	assert_int_equal(ix_segs(d->ix)->n, 0);
}

/* What an aborted transaction took out of the tree is in it again. */
static void
test_drained(void **state)
{
	struct dir *d = *state;
	const struct model *m = &d->now;
	struct ix_object got;

	d->rnd = 9;
	ix_segs(d->ix)->limits.recent_max = 0;
	assert_int_equal(ix_write(d->ix, 0), 0);
	put_one(d, &d->now, 1);
	assert_int_equal(seg_keep_step(d->ix, 1), 0);
	put_one(d, &d->now, 2);
	ix_segs(d->ix)->limits.recent_max = 40;
	assert_int_equal(ix_commit(d->ix), 0);
	ix_segs(d->ix)->limits.recent_max = 0;
	assert_int_equal(ix_write(d->ix, 0), 0);
	assert_int_equal(seg_keep_step(d->ix, 1), 0);
	assert_int_equal(ix_object_get(d->ix, m->objs[2].tenant,
	    &m->objs[2].ref, &got), 0);
	ix_abort(d->ix);
	look(d);
}

/* A store of format 1 has all in the tree, in longer entries. */
static void
test_format_1(void **state)
{
	struct dir *d = *state;
	struct ix_object *o;
	uint8_t key[SEG_KEY_LEN], v[24];
	uint32_t i;

	d->rnd = 5;
	assert_int_equal(ix_write(d->ix, 0), 0);
	le_put32(v, 1);
	assert_int_equal(ix_put(d->ix, IX_META, "format", 6, v, 4), 0);
	for (i = 0; i < ALL; i++) {
		o = &d->now.objs[i];
		fill(d, o);
		o->flags = (uint8_t)(i % 2);
		o->stamp = 0;
		d->now.there[i] = 1;
		seg_key(o->tenant, o->ref.id, key);
		le_put32(v, o->loc.pack);
		le_put32(v + 4, o->loc.off);
		le_put32(v + 8, o->loc.len);
		le_put32(v + 12, o->loc.raw_len);
		v[16] = o->ref.kind;
		v[17] = o->loc.codec;
		v[18] = o->flags;
		v[19] = 0;
		le_put32(v + 20, o->epoch);
		assert_int_equal(ix_put(d->ix, IX_OBJECT, key, sizeof(key), v,
		    sizeof(v)), 0);
	}
	ix_segs(d->ix)->limits.recent_max = ALL;
	assert_int_equal(ix_commit(d->ix), 0);
	reopen(d);
	look(d);
	for (i = 0; ix_upkeep_due(d->ix); i++) {
		assert_int_not_equal(ix_upkeep(d->ix), -1);
		if (i % 4 == 0)
			look(d);
	}
	assert_true(i > 4);
	assert_true(ix_segs(d->ix)->n > 0);
	look(d);
	reopen(d);
	look(d);
}

/* Each bit of every block counts, and which block it is. */
static void
test_blocks(void **state)
{
	static uint8_t entries[SEG_GROUP_ENTRIES * SEG_ENTRY_LEN];
	uint8_t buf[SEG_BLOCK_MAX];
	const struct dir *d = *state;
	struct seg_head head;
	struct ix_object o;
	size_t len, n, i;

	for (i = 0; i < ALL; i++)
		assert_int_equal(seg_entry_encode(&d->now.objs[i],
		    entries + i * SEG_ENTRY_LEN), 0);
	len = seg_data_encode(9, 65, entries, SEG_DATA_ENTRIES, buf);
	assert_int_equal(len, SEG_BLOCK_MAX);
	assert_int_equal(seg_data_check(9, 65, buf, len, &n), 0);
	assert_int_equal(n, SEG_DATA_ENTRIES);
	assert_int_equal(seg_data_check(8, 65, buf, len, &n), -1);
	assert_int_equal(seg_data_check(9, 64, buf, len, &n), -1);
	assert_int_equal(seg_data_check(9, 65, buf, len - 1, &n), -1);
	assert_int_equal(seg_data_check(9, 65, buf, len - SEG_ENTRY_LEN, &n),
	    -1);
	for (i = 0; i < 8 * len; i++) {
		buf[i / 8] ^= (uint8_t)(1U << i % 8);
		errno = 0;
		assert_int_equal(seg_data_check(9, 65, buf, len, &n), -1);
		assert_int_equal(errno, EUCLEAN);
		buf[i / 8] ^= (uint8_t)(1U << i % 8);
	}
	len = seg_head_encode(9, 64, entries, ALL, buf);
	assert_int_equal(seg_head_check(9, 64, buf, len, &head), 0);
	assert_int_equal(head.blocks, (ALL + 69) / 70);
	for (i = 0; i < ALL; i++) {
		assert_true(seg_filter_has(&head, entries +
		    i * SEG_ENTRY_LEN));
		assert_int_equal(seg_head_find(&head, entries +
		    i * SEG_ENTRY_LEN), (int)(i / 70));
	}
	for (i = 0; i < 8 * len; i++) {
		buf[i / 8] ^= (uint8_t)(1U << i % 8);
		assert_int_equal(seg_head_check(9, 64, buf, len, &head), -1);
		buf[i / 8] ^= (uint8_t)(1U << i % 8);
	}
	/* A key before all of them is in no block. */
	o = d->now.objs[0];
	o.tenant = 0;
	assert_int_equal(seg_entry_encode(&o, entries), 0);
	assert_int_equal(seg_head_check(9, 64, buf, len, &head), 0);
	assert_int_equal(seg_head_find(&head, entries), -1);
	o.loc.len = 65536;
	assert_int_equal(seg_entry_encode(&o, entries), -1);
	assert_int_equal(errno, EOVERFLOW);
}

/* Of keys that are not there, the filter stops nearly all. */
static void
test_filter(void **state)
{
	static uint8_t entries[SEG_GROUP_ENTRIES * SEG_ENTRY_LEN];
	uint8_t buf[SEG_BLOCK_MAX];
	struct seg_head head;
	struct ix_object o = { .tenant = 1 };
	uint32_t i, passed = 0;
	size_t len;

	(void)state;
	for (i = 0; i < SEG_GROUP_ENTRIES; i++) {
		assert_int_equal(obj_ref_of(OBJ_CHUNK, &i, 4, &o.ref), 0);
		assert_int_equal(seg_entry_encode(&o, entries +
		    i * SEG_ENTRY_LEN), 0);
	}
	len = seg_head_encode(1, 0, entries, SEG_GROUP_ENTRIES, buf);
	assert_int_equal(seg_head_check(1, 0, buf, len, &head), 0);
	for (; i < SEG_GROUP_ENTRIES + 100000; i++) {
		assert_int_equal(obj_ref_of(OBJ_CHUNK, &i, 4, &o.ref), 0);
		assert_int_equal(seg_entry_encode(&o, entries), 0);
		passed += (uint32_t)seg_filter_has(&head, entries);
	}
	print_message("%u of 100000 pass\n", passed);
	assert_true(passed < 2000);
}

/* Change a byte of a block where it is kept. */
static void
damage(struct dir *d, uint64_t run, uint32_t number)
{
	uint8_t key[SEG_BLOCK_KEY_LEN], buf[SEG_BLOCK_MAX];
	const void *v;
	size_t len;

	seg_block_key(run, number, key);
	assert_int_equal(ix_write(d->ix, 0), 0);
	assert_int_equal(ix_get(d->ix, IX_BLOCK, key, sizeof(key), &v, &len),
	    0);
	memcpy(buf, v, len);
	buf[len / 2] ^= 4;
	assert_int_equal(ix_put(d->ix, IX_BLOCK, key, sizeof(key), buf, len),
	    0);
	assert_int_equal(ix_commit(d->ix), 0);
}

/* Damage is said, by every way that leads to it; the rest is as it was. */
static void
test_damage(void **state)
{
	struct dir *d = *state;
	struct check c = { .d = d, .end = ALL, .left = ALL + 1 };
	struct ix_object *objs[ALL], got;
	uint64_t bad = 0;
	size_t i;
	int rc;

	d->rnd = 3;
	ix_segs(d->ix)->limits.group_entries = SEG_GROUP_ENTRIES;
	for (i = 0; i < ALL; i++) {
		fill(d, &d->now.objs[i]);
		objs[i] = &d->now.objs[i];
		d->now.there[i] = 1;
	}
	assert_int_equal(ix_write(d->ix, 0), 0);
	assert_int_equal(ix_objects_put(d->ix, objs, ALL), 0);
	assert_int_equal(ix_commit(d->ix), 0);
	assert_int_equal(ix_segs(d->ix)->n, 1);
	damage(d, ix_segs(d->ix)->runs[0]->number, 3);
	assert_int_equal(ix_read(d->ix), 0);
	for (i = 0; i < ALL; i++) {
		errno = 0;
		rc = ix_object_get(d->ix, objs[i]->tenant, &objs[i]->ref,
		    &got);
		assert_int_equal(rc, i >= 140 && i < 210 ? -1 : 0);
		if (rc == 0)
			assert_true(same(&got, objs[i]));
		else {
			assert_int_equal(errno, EUCLEAN);
			bad++;
		}
	}
	assert_int_equal(bad, 70);
	errno = 0;
	assert_int_equal(ix_object_scan_all(d->ix, NULL, on_object, &c), -1);
	assert_int_equal(errno, EUCLEAN);
	ix_read_end(d->ix);
	/* Merging it stops; commits go on, and all else can be found. */
	ix_segs(d->ix)->limits.trigger_0 = 1;
	ix_segs(d->ix)->limits.runs_max = 0;
	for (i = 0; i < 5; i++) {
		assert_int_equal(ix_write(d->ix, 0), 0);
		put_one(d, &d->now, (uint32_t)i);
		assert_int_equal(ix_commit(d->ix), 0);
	}
	assert_int_equal(ix_upkeep(d->ix), 0);
	assert_int_equal(ix_read(d->ix), 0);
	for (i = 0; i < 140; i++) {
		assert_int_equal(ix_object_get(d->ix, objs[i]->tenant,
		    &objs[i]->ref, &got), 0);
		assert_true(same(&got, objs[i]));
	}
	ix_read_end(d->ix);
	/* A head is read when the index is opened. */
	damage(d, 1, 0);
	ix_close(d->ix);
	d->ix = ix_open(d->fd, d->index, MAP);
	assert_null(d->ix);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_blocks),
		TEST(test_filter),
		TEST(test_random),
		TEST(test_empty),
		TEST(test_drained),
		TEST(test_format_1),
		TEST(test_damage),
	};

	if (sodium_init() == -1)
		return (1);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
