/* errand-snapshot as a whole: a job's record and what it changed, in one. */

#include "lib/change.h"
#include "lib/tree.h"
#include "snap_client.h"
#include "snap_job.h"
#include "worker-snapshot/session.h"

static int
count_one(void *cookie, const struct objrec *rec, const uint8_t *raw)
{
	struct obj_ref now;

	assert_int_equal(obj_ref_of(rec->ref.kind, raw, rec->raw_len, &now),
	    0);
	assert_true(obj_ref_equal(&now, &rec->ref));
	++*(size_t *)cookie;
	return (0);
}

/* Ask; how many objects came with the record? */
static size_t
objects(struct world *w, struct seen **out)
{
	struct seen *s = client_simple(w, CLIENT_CHANGES, w->job);
	struct objrec_reader *r;
	size_t n = 0;

	world_until(w, s->done || s->reset);
	must_be(s, CLIENT_DONE);
	assert_int_equal(s->nreplies, 2);
	assert_int_equal(s->first.kind, CLIENT_JOB);
	assert_string_equal(s->first.record.id, w->job);
	assert_non_null(r = objrec_reader_new(count_one, &n));
	assert_int_equal(objrec_reader_feed(r, s->data[FRAME_OBJECT],
	    s->len[FRAME_OBJECT]), 0);
	assert_true(objrec_reader_clean(r));
	objrec_reader_free(r);
	if (out != NULL)
		*out = s;
	return (n);
}

/* ${n} files of ${size} bytes, the last of ${last}; those that are not ${kept}
 * are not in the store. */
static void
list_make(struct world *w, struct job_record *j, size_t n, size_t size,
    size_t last, int kept)
{
	struct change_buf cb = { 0 };
	struct change c;
	char path[16];
	size_t i;

	assert_int_equal(change_buf_begin(&cb), 0);
	for (i = 0; i < n; i++) {
		memset(&c, 0, sizeof(c));
		c.op = CHANGE_CREATE;
		c.kind = TREE_FILE;
		c.mode = 0644;
		c.size = i == n - 1 ? last : size;
		snprintf(path, sizeof(path), "f%05zu", i);
		c.path = (const uint8_t *)path;
		c.path_len = (uint16_t)strlen(path);
		assert_int_equal(content_from_mem(noise + i, c.size,
		    kept ? world_sink : NULL, w, &c.ref), 0);
		assert_int_equal(change_buf_add(&cb, &c), 0);
	}
	assert_int_equal(content_from_mem(cb.p, cb.len, world_sink, w,
	    &j->changes.list), 0);
	j->changes.list_bytes = cb.len;
	j->changes.count = n;
	free(cb.p);
}

static void
a_small_result_comes_whole(void **state)
{
	struct world *w = world_new();
	struct job_record *j = job_add(w, w->job, JOB_EXITED, NULL);

	(void)state;
	assert_int_equal(objects(w, NULL), 0);  /* it changed nothing */
	list_make(w, j, 3, 100, 2000, 1);
	assert_int_equal(objects(w, NULL), 4);
	list_make(w, j, LIMIT_AHEAD_OBJECTS, 100, 100, 1);
	assert_int_equal(objects(w, NULL), 1 + LIMIT_AHEAD_OBJECTS);
	world_done(w);
}

static void
of_a_large_one_the_list_comes(void **state)
{
	struct world *w = world_new();
	struct job_record *j = job_add(w, w->job, JOB_EXITED, NULL);

	(void)state;
	list_make(w, j, LIMIT_AHEAD_OBJECTS + 1, 100, 100, 1);
	assert_int_equal(objects(w, NULL), 1);
	list_make(w, j, 2, 60000, 60000, 1);
	assert_int_equal(objects(w, NULL), 1);
	list_make(w, j, 2, 100, 2000000, 1);
	assert_int_equal(objects(w, NULL), 1);
	/* nor is a list that is no chunk sent, or one that is no list */
	list_make(w, j, 5000, 10, 10, 1);
	assert_int_equal(j->changes.list.kind, OBJ_LIST);
	assert_int_equal(objects(w, NULL), 0);
	assert_int_equal(content_from_mem("no list", 7, world_sink, w,
	    &j->changes.list), 0);
	assert_int_equal(objects(w, NULL), 1);
	world_done(w);
}

/* What is missing is for the client to hear of when it asks for it. */
static void
what_is_missing_is_left_out(void **state)
{
	struct world *w = world_new();
	struct job_record *j = job_add(w, w->job, JOB_EXITED, NULL);

	(void)state;
	list_make(w, j, 3, 100, 100, 0);
	assert_int_equal(objects(w, NULL), 1);
	memset(&j->changes.list, 7, sizeof(j->changes.list));
	j->changes.list.kind = OBJ_CHUNK;
	assert_int_equal(objects(w, NULL), 0);
	world_done(w);
}

static void
of_a_job_that_runs_the_record_comes(void **state)
{
	struct world *w = world_new();
	struct job_record *j = job_add(w, w->job, JOB_RUNNING, NULL);
	struct seen *s;

	(void)state;
	assert_int_equal(objects(w, &s), 0);
	assert_int_equal(s->first.record.state, JOB_RUNNING);
	j->state = JOB_EXITED;
	s = client_simple(w, CLIENT_CHANGES, "nobody");
	world_until(w, s->done || s->reset);
	assert_true(s->reset);
	assert_int_equal(s->err.code, ERR_NOT_FOUND);
	world_done(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_result_comes_whole),
		cmocka_unit_test(of_a_large_one_the_list_comes),
		cmocka_unit_test(what_is_missing_is_left_out),
		cmocka_unit_test(of_a_job_that_runs_the_record_comes),
	};

	if (access(worker_path(), X_OK) == -1) {
		printf("1..0 # SKIP %s was not built\n", worker_path());
		return (0);
	}
	noise_make();
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
