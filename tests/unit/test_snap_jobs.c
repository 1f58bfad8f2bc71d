/* errand-snapshot as a whole: jobs by name, their output, state and end. */

#include "snap_client.h"
#include "snap_job.h"
#include "worker-snapshot/session.h"

static void
test_names(void **state)
{
	static const struct {
		const char *name;
		const char *id;         /* or NULL, and */
		int code;
	} cases[] = {
		{ "aaaaaaaaaaaaaaa2", "aaaaaaaaaaaaaaa2", 0 },
		{ "last", "bbbbbbbbbbbbbbb2", 0 },
		{ "nightly", "aaaaaaaaaaaaaaa3", 0 },
		{ "bbbb", "bbbbbbbbbbbbbbb2", 0 },
		{ "aaaaaaaaaaaaaaa", NULL, ERR_AMBIGUOUS },
		{ "aaa", NULL, ERR_NOT_FOUND },
		{ "nobody", NULL, ERR_NOT_FOUND },
		/* looks like an id, and is a label */
		{ "integrationtests", "bbbbbbbbbbbbbbb2", 0 },
		/* the label goes before the beginning of an id */
		{ "aaaaaaaa", "bxbbbbbbbbbbbbb3", 0 },
		{ "zzzzzzzzzzzzzzzz", NULL, ERR_NOT_FOUND },
	};
	struct world *w = world_new();
	struct seen *s;
	size_t i;

	(void)state;
	job_add(w, "bbbbbbbbbbbbbbb2", JOB_EXITED, "integrationtests");
	job_add(w, "aaaaaaaaaaaaaaa3", JOB_EXITED, "nightly");
	job_add(w, "aaaaaaaaaaaaaaa2", JOB_EXITED, "nightly");
	job_add(w, "bxbbbbbbbbbbbbb3", JOB_FAILED, "aaaaaaaa");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		s = client_simple(w, CLIENT_STATUS, cases[i].name);
		world_until(w, s->done || s->reset);
		if (cases[i].id == NULL) {
			assert_true(s->reset);
			assert_int_equal(s->err.code, cases[i].code);
			continue;
		}
		must_be(s, CLIENT_JOB);
		assert_string_equal(s->last.record.id, cases[i].id);
	}
	world_done(w);
}

/* A label in a spec of many chunks. */
static void
test_big_label(void **state)
{
	struct world *w = world_new();
	struct job_record *j;
	struct job_spec spec;
	char *argv[2];
	uint8_t *buf;
	struct seen *s;
	size_t len, i;

	(void)state;
	job_add(w, "bbbbbbbbbbbbbbb2", JOB_EXITED, "other");
	j = job_add(w, "aaaaaaaaaaaaaaa3", JOB_EXITED, NULL);
	memset(&spec, 0, sizeof(spec));
	argv[0] = (char *)(uintptr_t)"echo";
	argv[1] = malloc(500001);
	for (i = 0; i < 500000; i++)
		argv[1][i] = (char)('a' + noise[i] % 26);
	argv[1][i] = '\0';
	spec.argc = 2;
	spec.argv = argv;
	spec.workdir = (char *)(uintptr_t)"";
	spec.label = (char *)(uintptr_t)"huge";
	assert_int_equal(job_spec_pack(&spec, &buf, &len), 0);
	j->submit.spec_len = len;
	assert_int_equal(content_from_mem(buf, len, world_sink, w,
	    &j->submit.spec), 0);
	assert_int_equal(j->submit.spec.kind, OBJ_LIST);
	s = client_simple(w, CLIENT_STATUS, "huge");
	world_until(w, s->done || s->reset);
	must_be(s, CLIENT_JOB);
	assert_string_equal(s->last.record.id, "aaaaaaaaaaaaaaa3");
	free(argv[1]);
	free(buf);
	world_done(w);
}

static void
test_list(void **state)
{
	struct world *w = world_new();
	struct client_open o;
	struct seen *s;
	uint32_t id;

	(void)state;
	job_add(w, "aaaaaaaaaaaaaaa2", JOB_QUEUED, NULL);
	job_add(w, "aaaaaaaaaaaaaaa3", JOB_EXITED, NULL);
	job_add(w, "aaaaaaaaaaaaaaa4", JOB_QUEUED, NULL);
	strcpy(w->live[0].job, "aaaaaaaaaaaaaaa4");
	w->live[0].state = JOB_RUNNING;
	w->live[0].times.started = 77;
	w->nlive = 1;
	s = client_simple(w, CLIENT_LIST, NULL);
	world_until(w, s->done || s->reset);
	must_be(s, CLIENT_DONE);
	assert_int_equal(s->last.objects, 2);
	assert_int_equal(s->njobs, 2);
	assert_string_equal(s->first.record.id, "aaaaaaaaaaaaaaa2");
	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_LIST;
	o.all = 1;
	o.limit = 2;
	id = client_ask(w, &o);
	s = seen_of(w, id);
	world_until(w, s->done || s->reset);
	assert_int_equal(s->njobs, 2);
	s = client_simple(w, CLIENT_STATUS, "aaaaaaaaaaaaaaa4");
	world_until(w, s->done || s->reset);
	must_be(s, CLIENT_JOB);
	assert_int_equal(s->last.record.state, JOB_RUNNING);
	assert_int_equal(s->last.record.times.started, 77);
	assert_int_equal(s->last.record.times.submitted, 5);
	world_done(w);
}

static void
test_attach(void **state)
{
	struct world *w = world_new();
	struct joblog_writer *lw;
	struct job_record *j, rec;
	struct client_open o;
	struct seen *s;

	(void)state;
	j = job_add(w, w->job, JOB_STARTING, NULL);
	w->log_fd = log_make();
	lw = joblog_writer_new(w->log_fd, UINT64_MAX);
	joblog_write(lw, JOBLOG_STDOUT, "0123456789", 10);
	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_ATTACH;
	strcpy(o.job, "last");
	o.offset = 4;
	/* what there is */
	s = seen_of(w, client_ask(w, &o));
	world_until(w, s->done || s->reset);
	must_be(s, CLIENT_JOB);
	assert_int_equal(s->first.offset, 4);
	assert_int_equal(s->first.record.state, JOB_RUNNING);
	assert_int_equal(s->len[FRAME_STDOUT], 6);
	/* to the end */
	o.follow = 1;
	s = seen_of(w, client_ask(w, &o));
	world_until(w, s->len[FRAME_STDOUT] == 6);
	assert_false(s->done);
	joblog_write(lw, JOBLOG_STDOUT, "abc", 3);
	sup_grew(w, w->job, 13);
	world_until(w, s->len[FRAME_STDOUT] == 9);
	rec = final_record(w->job, 0);
	rec.log.bytes = 13;
	sup_event(w, w->job, JOB_EXITED, &rec);
	world_until(w, s->done);
	must_be(s, CLIENT_RESULT);
	assert_memory_equal(s->data[FRAME_STDOUT], "456789abc", 9);
	/* one that has ended, with its log and without */
	*j = rec;
	w->ended = 1;
	s = seen_of(w, client_ask(w, &o));
	world_until(w, s->done || s->reset);
	must_be(s, CLIENT_RESULT);
	assert_int_equal(s->len[FRAME_STDOUT], 9);
	io_close(&w->log_fd);
	s = seen_of(w, client_ask(w, &o));
	world_until(w, s->done || s->reset);
	assert_true(s->reset);
	assert_int_equal(s->err.code, ERR_NOT_FOUND);
	joblog_writer_free(lw);
	world_done(w);
}

/* A damaged log does not hide the result. */
static void
test_damaged_log(void **state)
{
	struct world *w = world_new();
	struct client_open o;
	struct seen *s;

	(void)state;
	*job_add(w, w->job, JOB_EXITED, NULL) = final_record(w->job, 5);
	w->ended = 1;
	w->log_fd = log_make();
	assert_int_equal(io_write(w->log_fd, "this is no frame at all", 23),
	    0);
	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_ATTACH;
	o.follow = 1;
	strcpy(o.job, "last");
	s = seen_of(w, client_ask(w, &o));
	world_until(w, s->done || s->reset);
	must_be(s, CLIENT_RESULT);
	assert_int_equal(s->last.record.exit_code, 5);
	assert_int_equal(s->last.record.log.complete, 0);
	world_done(w);
}

static void
test_wait_kill(void **state)
{
	struct world *w = world_new();
	struct job_record rec = final_record(w->job, 0);
	struct client_open o;
	struct seen *s, *k;

	(void)state;
	job_add(w, w->job, JOB_RUNNING, NULL);
	s = client_simple(w, CLIENT_WAIT, w->job);
	k = client_simple(w, CLIENT_KILL, w->job);
	world_until(w, w->signalled[0] != '\0' && w->nwatch == 2);
	assert_int_equal(w->signal, 0);
	world_quiet(w, 30);
	assert_false(s->done || k->done);
	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_KILL;
	o.no_wait = 1;
	o.signal = 2;
	strcpy(o.job, w->job);
	w->signalled[0] = '\0';
	seen_of(w, client_ask(w, &o));
	world_until(w, w->signalled[0] != '\0');
	assert_int_equal(w->signal, 2);
	rec.state = JOB_KILLED;
	sup_event(w, w->job, JOB_KILLED, &rec);
	world_until(w, s->done && k->done);
	must_be(s, CLIENT_RESULT);
	must_be(k, CLIENT_RESULT);
	assert_int_equal(k->last.record.state, JOB_KILLED);
	w->jobs[0] = rec;
	k = client_simple(w, CLIENT_KILL, w->job);
	s = client_simple(w, CLIENT_WAIT, w->job);
	world_until(w, k->done && s->done);
	must_be(k, CLIENT_RESULT);
	assert_int_equal(w->nwatch, 2);
	world_done(w);
}

static void
test_receipt(void **state)
{
	struct world *w = world_new();
	struct seen *s;

	(void)state;
	job_add(w, w->job, JOB_RUNNING, NULL);
	s = client_simple(w, CLIENT_RECEIPT, w->job);
	world_until(w, s->reset);
	assert_int_equal(s->err.code, ERR_NOT_FOUND);
	w->jobs[0].state = JOB_EXITED;
	s = client_simple(w, CLIENT_RECEIPT, w->job);
	world_until(w, s->done || s->reset);
	must_be(s, CLIENT_DONE);
	assert_int_equal(s->len[FRAME_BYTES], 9);
	assert_memory_equal(s->data[FRAME_BYTES], "a receipt", 9);
	world_done(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_big_label),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_attach),
		cmocka_unit_test(test_damaged_log),
		cmocka_unit_test(test_wait_kill),
		cmocka_unit_test(test_receipt),
	};

	if (access(worker_path(), X_OK) == -1) {
		printf("1..0 # SKIP %s was not built\n", worker_path());
		return (0);
	}
	noise_make();
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
