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
#include "worker-store/index_job.h"
#include "worker-store/index_obj.h"
#include "worker-store/pending.h"
#include "worker-store/refset.h"

#define SMALL_MAP       (1 << 20)
#define JOB_A           "aaaaaaaaaaaaaaaa"
#define JOB_B           "bbbbbbbbbbbbbbbb"
#define JOB_C           "cccccccccccccccc"

struct dir {
	char path[64];
	char index[80];
	int fd;
	struct ix *ix;
};

static void
reopen(struct dir *d)
{
	ix_close(d->ix);
	d->ix = ix_open(d->fd, d->index, SMALL_MAP);
}

static int
setup(void **state)
{
	struct dir *d = calloc(1, sizeof(*d));

	assert_non_null(d);
	(void)strcpy(d->path, "/tmp/errand-index-XXXXXX");
	assert_non_null(mkdtemp(d->path));
	(void)snprintf(d->index, sizeof(d->index), "%s/index", d->path);
	d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(d->fd != -1);
	reopen(d);
	assert_non_null(d->ix);
	assert_true(ix_fresh(d->ix));
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

static struct ix_object
object(uint32_t tenant, uint32_t n)
{
	struct ix_object o = { .tenant = tenant };

	assert_int_equal(obj_ref_of(OBJ_CHUNK, &n, sizeof(n), &o.ref), 0);
	o.loc.pack = 1;
	o.loc.off = n;
	o.loc.len = o.loc.raw_len = 100;
	return (o);
}

static void
test_objects(void **state)
{
	struct dir *d = *state;
	struct ix_object o = object(1, 7), got;
	struct obj_ref other;

	assert_int_equal(ix_write(d->ix, 0), 0);
	assert_int_equal(ix_object_put(d->ix, &o), 0);
	/* Seen inside the transaction, and gone with it. */
	assert_int_equal(ix_object_get(d->ix, 1, &o.ref, &got), 0);
	ix_abort(d->ix);
	assert_int_equal(ix_read(d->ix), 0);
	assert_int_equal(ix_object_get(d->ix, 1, &o.ref, &got), -1);
	assert_int_equal(errno, ENOENT);
	ix_read_end(d->ix);
	assert_int_equal(ix_write(d->ix, 0), 0);
	assert_int_equal(ix_object_put(d->ix, &o), 0);
	assert_int_equal(ix_object_mark(d->ix, 1, &o.ref, 3, 77), 0);
	assert_int_equal(ix_commit(d->ix), 0);
	reopen(d);
	assert_false(ix_fresh(d->ix));
	assert_int_equal(ix_read(d->ix), 0);
	assert_int_equal(ix_object_get(d->ix, 1, &o.ref, &got), 0);
	assert_int_equal(got.loc.off, 7);
	assert_int_equal(got.flags, IX_COMPLETE);
	assert_int_equal(got.epoch, 3);
	assert_int_equal(got.stamp, 77);
	assert_int_equal(ix_object_get(d->ix, 2, &o.ref, &got), -1);
	assert_int_equal(errno, ENOENT);
	other = o.ref;
	other.kind = OBJ_TREE;
	assert_int_equal(ix_object_get(d->ix, 1, &other, &got), -1);
	assert_int_equal(errno, ENOENT);
	ix_read_end(d->ix);
}

struct found {
	struct ix_object objs[64];
	size_t n;
	size_t stop;            /* after so many; 0: never */
};

static int
on_found(void *cookie, const struct ix_object *o)
{
	struct found *f = cookie;

	assert_true(f->n < 64);
	f->objs[f->n++] = *o;
	return (f->n == f->stop ? 7 : 0);
}

static void
put_some(struct dir *d, uint32_t tenant, uint32_t n)
{
	struct ix_object o;
	uint32_t i;

	assert_int_equal(ix_write(d->ix, 0), 0);
	for (i = 0; i < n; i++) {
		o = object(tenant, i);
		assert_int_equal(ix_object_put(d->ix, &o), 0);
	}
	assert_int_equal(ix_commit(d->ix), 0);
}

/* Each object once, in order, of one tenant or of all, in steps too. */
static void
test_scan(void **state)
{
	struct dir *d = *state;
	struct found all = { .n = 0 }, step = { .stop = 3 }, one = { .n = 0 };
	struct ix_object last;
	size_t i;
	int rc;

	put_some(d, 1, 10);
	put_some(d, 2, 20);
	put_some(d, 0xffffffff, 5);
	assert_int_equal(ix_read(d->ix), 0);
	assert_int_equal(ix_object_scan_all(d->ix, NULL, on_found, &all), 0);
	assert_int_equal(all.n, 35);
	for (i = 1; i < all.n; i++)
		assert_true(ix_object_cmp(&all.objs[i - 1], &all.objs[i]) < 0);
	assert_int_equal(ix_object_scan(d->ix, 2, NULL, on_found, &one), 0);
	assert_int_equal(one.n, 20);
	assert_int_equal(ix_object_cmp(&one.objs[0], &all.objs[10]), 0);
	one.n = 0;
	assert_int_equal(ix_object_scan(d->ix, 2, all.objs[14].ref.id,
	    on_found, &one), 0);
	assert_int_equal(one.n, 15);
	assert_int_equal(ix_object_cmp(&one.objs[0], &all.objs[15]), 0);
	one.n = 0;
	assert_int_equal(ix_object_scan(d->ix, 3, NULL, on_found, &one), 0);
	assert_int_equal(one.n, 0);
	rc = ix_object_scan_all(d->ix, NULL, on_found, &step);
	while (rc == 7) {
		last = step.objs[step.n - 1];
		step.stop = step.n + 3;
		rc = ix_object_scan_all(d->ix, &last, on_found, &step);
	}
	assert_int_equal(rc, 0);
	assert_int_equal(step.n, 35);
	for (i = 0; i < 35; i++)
		assert_int_equal(ix_object_cmp(&step.objs[i], &all.objs[i]),
		    0);
	ix_read_end(d->ix);
}

/* What is moved keeps its mark; what is deleted is gone. */
static void
test_move_del(void **state)
{
	struct dir *d = *state;
	struct ix_object o = object(1, 1), got;
	struct pack_loc loc = { .pack = 9, .off = 64, .len = 80,
		.raw_len = 100, .codec = 1 };

	put_some(d, 1, 3);
	put_some(d, 2, 3);
	assert_int_equal(ix_write(d->ix, 0), 0);
	assert_int_equal(ix_object_mark(d->ix, 1, &o.ref, 2, 5), 0);
	assert_int_equal(ix_object_move(d->ix, 1, &o.ref, &loc), 0);
	assert_int_equal(ix_object_get(d->ix, 1, &o.ref, &got), 0);
	assert_int_equal(got.loc.pack, 9);
	assert_int_equal(got.loc.len, 80);
	assert_int_equal(got.flags, IX_COMPLETE);
	assert_int_equal(got.epoch, 2);
	assert_int_equal(ix_object_del(d->ix, 1, &o.ref), 0);
	assert_int_equal(ix_object_get(d->ix, 1, &o.ref, &got), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(ix_object_del(d->ix, 1, &o.ref), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(ix_object_move(d->ix, 1, &o.ref, &loc), -1);
	assert_int_equal(ix_object_mark(d->ix, 1, &o.ref, 2, 5), -1);
	assert_int_equal(ix_object_get(d->ix, 2, &o.ref, &got), 0);
	assert_int_equal(ix_commit(d->ix), 0);
}

static void
test_newer_format(void **state)
{
	struct dir *d = *state;
	uint8_t v[4];

	le_put32(v, IX_FORMAT + 1);
	assert_int_equal(ix_write(d->ix, 0), 0);
	assert_int_equal(ix_put(d->ix, IX_META, "format", 6, v, sizeof(v)), 0);
	assert_int_equal(ix_commit(d->ix), 0);
	reopen(d);
	assert_null(d->ix);
}

/* The map grows before it is full, and by hand when it is. */
static void
test_growth(void **state)
{
	struct dir *d = *state;
	struct ix_stat before, after;
	struct ix_object o, got;
	uint32_t i, k;

	ix_stat(d->ix, &before);
	for (k = 0; k < 20; k++) {
		assert_int_equal(ix_write(d->ix, 0), 0);
		for (i = 0; i < 2000; i++) {
			o = object(k, i);
			assert_int_equal(ix_object_put(d->ix, &o), 0);
		}
		assert_int_equal(ix_commit(d->ix), 0);
	}
	ix_stat(d->ix, &after);
	assert_true(after.map_bytes > before.map_bytes);
	assert_true(after.map_used > SMALL_MAP);
	assert_int_equal(after.commits - before.commits, 20);
	assert_int_equal(after.flushes - before.flushes, 40);
	assert_int_equal(ix_grow(d->ix), 0);
	ix_stat(d->ix, &before);
	assert_int_equal(before.map_bytes, 2 * after.map_bytes);
	assert_int_equal(ix_read(d->ix), 0);
	for (k = 0; k < 20; k++) {
		o = object(k, k);
		assert_int_equal(ix_object_get(d->ix, k, &o.ref, &got), 0);
	}
	ix_read_end(d->ix);
}

struct seen {
	char text[200];
};

static int
note(void *cookie, const struct ix_job *job)
{
	struct seen *s = cookie;

	(void)strncat(s->text, (const char *)job->record, job->record_len);
	return (0);
}

static void
publish(struct dir *d, uint32_t tenant, const char *job)
{
	struct ix_publish p = {
		.job = job,
		.idem = (const uint8_t *)job,
		.record = (const uint8_t *)job,
		.record_len = 1
	};

	assert_int_equal(ix_write(d->ix, 0), 0);
	assert_int_equal(ix_job_publish(d->ix, tenant, &p), 0);
	assert_int_equal(ix_commit(d->ix), 0);
}

static void
settle(struct dir *d, uint32_t tenant, const char *job, uint64_t sequence)
{
	uint8_t digest[IX_DIGEST_LEN] = { (uint8_t)sequence };
	struct ix_settle s = {
		.job = job,
		.sequence = sequence,
		.digest = digest,
		.record = (const uint8_t *)"*",
		.record_len = 1,
		.receipt = (const uint8_t *)"receipt",
		.receipt_len = 7
	};

	assert_int_equal(ix_write(d->ix, 0), 0);
	assert_int_equal(ix_job_settle(d->ix, tenant, &s), 0);
	assert_int_equal(ix_commit(d->ix), 0);
}

static void
test_jobs(void **state)
{
	struct dir *d = *state;
	struct seen s = { "" };
	struct ix_usage u;
	struct ix_idem idem;
	struct ix_job j;

	publish(d, 1, JOB_A);
	publish(d, 1, JOB_C);
	publish(d, 2, JOB_A);
	publish(d, 1, JOB_B);
	settle(d, 1, JOB_C, 1);
	assert_int_equal(ix_read(d->ix), 0);
	assert_int_equal(ix_jobs_newest(d->ix, 1, note, &s), 0);
	assert_string_equal(s.text, "b*a");
	s.text[0] = '\0';
	assert_int_equal(ix_jobs_newest(d->ix, 3, note, &s), 0);
	assert_string_equal(s.text, "");
	assert_int_equal(ix_jobs_unsettled(d->ix, note, &s), 0);
	assert_string_equal(s.text, "aba");
	assert_int_equal(ix_job_get(d->ix, 1, JOB_C, &j), 0);
	assert_int_equal(j.settled, 1);
	assert_int_equal(j.sequence, 1);
	assert_int_equal(j.receipt_len, 7);
	assert_memory_equal(j.receipt, "receipt", 7);
	assert_int_equal(ix_job_get(d->ix, 2, JOB_C, &j), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(ix_idem_get(d->ix, 1, (const uint8_t *)JOB_B, &idem),
	    0);
	assert_string_equal(idem.job, JOB_B);
	assert_int_equal(ix_idem_get(d->ix, 2, (const uint8_t *)JOB_B, &idem),
	    -1);
	assert_int_equal(ix_usage_get(d->ix, 1, &u), 0);
	assert_int_equal(u.jobs, 3);
	assert_int_equal(u.sequence, 1);
	assert_int_equal(u.digest[0], 1);
	assert_int_equal(ix_usage_sum(d->ix, &u), 0);
	assert_int_equal(u.jobs, 4);
	ix_read_end(d->ix);
}

static void
test_pending(void **state)
{
	struct pending *p = pending_new();
	struct ix_object o;
	struct ix_object *const *sorted;
	struct obj_ref other;
	uint32_t i;

	(void)state;
	assert_non_null(p);
	for (i = 0; i < PENDING_MAX; i++) {
		o = object(i % 3, i);
		assert_int_equal(pending_due(p), i >= PENDING_COUNT);
		assert_int_equal(pending_add(p, &o), 0);
	}
	assert_int_equal(pending_add(p, &o), -1);
	assert_int_equal(errno, ENOBUFS);
	sorted = pending_sorted(p);
	for (i = 1; i < PENDING_MAX; i++)
		assert_true(ix_object_cmp(sorted[i - 1], sorted[i]) < 0);
	pending_cut(p, 1000);
	for (i = 0; i < PENDING_MAX; i++) {
		o = object(i % 3, i);
		assert_int_equal(pending_find(p, i % 3, &o.ref) != NULL,
		    i < 1000);
		assert_null(pending_find(p, 3, &o.ref));
		other = o.ref;
		other.kind = OBJ_LIST;
		assert_null(pending_find(p, i % 3, &other));
	}
	pending_cut(p, 0);
	o = object(0, 0);
	assert_null(pending_find(p, 0, &o.ref));
	/* By bytes, too. */
	for (i = 0; !pending_due(p); i++) {
		o = object(0, i);
		o.loc.len = OBJ_MAX;
		assert_int_equal(pending_add(p, &o), 0);
	}
	assert_true(i < 600);
	pending_free(p);
}

static void
test_refset(void **state)
{
	struct refset *s = refset_new(5000);
	struct ix_object o;
	uint32_t i;

	(void)state;
	assert_non_null(s);
	for (i = 0; i < 5000; i++) {
		o = object(0, i);
		assert_int_equal(refset_add(s, &o.ref), 1);
		assert_int_equal(refset_add(s, &o.ref), 0);
	}
	for (i = 0; i < 5000; i++) {
		o = object(0, i);
		assert_int_equal(refset_add(s, &o.ref), 0);
		assert_true(obj_ref_equal(refset_get(s, i), &o.ref));
	}
	o = object(0, i);
	assert_int_equal(refset_add(s, &o.ref), -1);
	assert_int_equal(errno, EFBIG);
	assert_int_equal(refset_count(s), 5000);
	refset_free(s);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_objects),
		TEST(test_scan),
		TEST(test_move_del),
		TEST(test_newer_format),
		TEST(test_growth),
		TEST(test_jobs),
		cmocka_unit_test(test_pending),
		cmocka_unit_test(test_refset),
	};

	if (sodium_init() == -1)
		return (1);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
