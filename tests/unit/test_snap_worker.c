/* errand-snapshot as a whole: what a client that behaves gets. */

#include "snap_client.h"
#include "snap_job.h"
#include "worker-snapshot/session.h"

/* A tree with one file, as records of an upload; returns the bytes. */
static size_t
tree_make(uint8_t *out, const void *content, size_t len, struct obj_ref *root,
    struct obj_ref *spec)
{
	uint8_t *grow[2] = { out, out };
	struct tree_builder *tb = tree_builder_new();
	struct tree_entry e;

	memset(&e, 0, sizeof(e));
	assert_int_equal(content_from_mem(content, len, bytes_sink, grow,
	    &e.ref), 0);
	e.kind = TREE_FILE;
	e.mode = 0644;
	e.size = len;
	e.name = (const uint8_t *)"file";
	e.name_len = 4;
	assert_int_equal(tree_builder_add(tb, &e), 0);
	assert_int_equal(tree_builder_finish(tb, bytes_sink, grow, root), 0);
	tree_builder_free(tb);
	assert_int_equal(content_from_mem("the spec", 8, bytes_sink, grow,
	    spec), 0);
	return ((size_t)(grow[1] - grow[0]));
}

static struct seen *
upload(struct world *w, const uint8_t *bytes, size_t len)
{
	struct client_open o;
	uint32_t id;

	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_UPLOAD;
	id = client_ask(w, &o);
	assert_int_equal(frame_send(w->fc, id, FRAME_DATA, FRAME_OBJECT,
	    bytes, len), 0);
	assert_int_equal(frame_send(w->fc, id, FRAME_END, 0, NULL, 0), 0);
	return (seen_of(w, id));
}

static struct seen *
submit(struct world *w, const struct obj_ref *root, const struct obj_ref *spec,
    int detach, const char *env, size_t envlen)
{
	struct client_open o;
	uint32_t id;

	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_SUBMIT;
	memset(o.submit.idem, 9, sizeof(o.submit.idem));
	o.submit.root = *root;
	o.submit.spec = *spec;
	o.submit.spec_len = 8;
	o.submit.detach = (uint8_t)detach;
	id = client_ask(w, &o);
	if (envlen > 0)
		assert_int_equal(frame_send(w->fc, id, FRAME_DATA, FRAME_ENV,
		    env, envlen), 0);
	assert_int_equal(frame_send(w->fc, id, FRAME_END, 0, NULL, 0), 0);
	return (seen_of(w, id));
}

static void
test_hello(void **state)
{
	struct world *w = world_new();

	(void)state;
	world_until(w, w->hello_seen);
	assert_int_equal(w->host.proto_min, PROTO_VERSION);
	assert_string_equal(w->host.tenant, "mara");
	assert_string_equal(w->host.host, "testhost");
	assert_int_equal(w->host.host_key[31], 7);
	assert_true(w->host.clock_us > 0);
	world_done(w);
}

/* What a client sends behind HELLO waits until it is known who it is. */
static void
test_pipelined(void **state)
{
	struct world *w = world_start(0);
	struct seen *s;

	(void)state;
	w->bind_wait = 1;
	client_hello(w, 1, 1);
	s = client_simple(w, CLIENT_INFO, NULL);
	world_until(w, w->bind_id != 0);
	world_quiet(w, 50);
	assert_false(w->hello_seen);
	sup_bound(w);
	world_until(w, s->done);
	assert_true(w->hello_seen);
	must_be(s, CLIENT_INFO_REPLY);
	assert_int_equal(s->last.cpus, 4);
	assert_int_equal(s->last.limits.pids, 99);
	assert_int_equal(s->last.used.store_bytes, 4321);
	assert_int_equal(s->last.quota.store_bytes, 1 << 20);
	world_done(w);
}

static void
test_denied(void **state)
{
	struct world *w = world_start(0);

	(void)state;
	(void)err_set(&w->deny, ERR_UNKNOWN_TENANT, "nobody knows you");
	client_hello(w, 1, 1);
	(void)client_simple(w, CLIENT_INFO, NULL);
	world_until(w, w->eof);
	assert_true(w->goaway);
	assert_int_equal(w->bye.code, ERR_UNKNOWN_TENANT);
	assert_string_equal(w->bye.text, "nobody knows you");
	assert_int_equal(world_exit(w), 0);
	world_free(w);
}

static void
test_versions(void **state)
{
	struct world *w = world_start(0);

	(void)state;
	client_hello(w, 2, 3);
	world_until(w, w->eof);
	assert_int_equal(w->bye.code, ERR_VERSION);
	assert_non_null(strstr(w->bye.text, "on the host"));
	assert_int_equal(w->host.proto_max, PROTO_VERSION);
	assert_int_equal(w->bind_id, 0);
	assert_int_equal(world_exit(w), 0);
	world_free(w);
}

/* Unlike the tree, a job without one still has a spec. */
static void
test_need(void **state)
{
	struct world *w = world_new();
	struct obj_ref root, spec, told;
	uint8_t buf[1024];
	struct seen *s;

	(void)state;
	(void)tree_make(buf, "hello", 5, &root, &spec);
	s = submit(w, &root, &spec, 0, NULL, 0);
	world_until(w, s->done || s->reset);
	must_be(s, CLIENT_NEED);
	assert_int_equal(s->last.objects, 2);
	assert_int_equal(s->len[FRAME_REFS], 2 * OBJ_REF_LEN);
	assert_int_equal(obj_ref_decode(s->data[FRAME_REFS], &told), 0);
	assert_true(obj_ref_equal(&told, &root));
	assert_int_equal(obj_ref_decode(s->data[FRAME_REFS] + OBJ_REF_LEN,
	    &told), 0);
	assert_true(obj_ref_equal(&told, &spec));
	world_done(w);
}

/* The whole life of a job, sent in one flight. */
static void
test_run(void **state)
{
	struct world *w = world_new();
	struct joblog_writer *lw;
	struct job_record rec = final_record(w->job, 3);
	struct obj_ref root, spec;
	uint8_t buf[1024];
	struct seen *up, *s;
	size_t len;

	(void)state;
	w->log_fd = log_make();
	lw = joblog_writer_new(w->log_fd, UINT64_MAX);
	len = tree_make(buf, "hello", 5, &root, &spec);
	up = upload(w, buf, len);
	s = submit(w, &root, &spec, 0, "A=1\0B=2\0", 8);
	world_until(w, s->nreplies > 0 || s->reset);
	must_be(up, CLIENT_UPLOADED);
	assert_int_equal(up->last.objects, 3);
	assert_int_equal(s->first.kind, CLIENT_ACCEPTED);
	assert_string_equal(s->first.record.id, w->job);
	assert_int_equal(s->first.record.state, JOB_STARTING);
	assert_true(s->first.record.times.submitted > 0);
	assert_int_equal(w->nvalues, 8);
	assert_memory_equal(w->values, "A=1\0B=2\0", 8);
	assert_true(obj_ref_equal(&w->submit.root, &root));

	world_until(w, w->nwatch == 1);
	assert_string_equal(w->watched, w->job);
	sup_event(w, w->job, JOB_SETTLING, NULL);
	world_until(w, s->njobs >= 1);
	assert_int_equal(s->last.record.state, JOB_SETTLING);
	joblog_write(lw, JOBLOG_STDOUT, "out\n", 4);
	sup_grew(w, w->job, 4);
	world_until(w, s->len[FRAME_STDOUT] == 4);
	/* The last output and the end come close together. */
	joblog_write(lw, JOBLOG_STDERR, "err\n", 4);
	rec.log.bytes = 8;
	sup_event(w, w->job, JOB_EXITED, &rec);
	world_until(w, s->done);
	must_be(s, CLIENT_RESULT);
	assert_int_equal(s->last.record.exit_code, 3);
	assert_int_equal(s->last.record.log.complete, 1);
	assert_int_equal(s->last.offset, 8);
	assert_memory_equal(s->data[FRAME_STDOUT], "out\n", 4);
	assert_memory_equal(s->data[FRAME_STDERR], "err\n", 4);
	/* 3 of the supervisor, 3 of the store, HELLO */
	assert_in_range(w->nmsgs, 5, 8);
	joblog_writer_free(lw);
	world_done(w);
}

static void
test_detached(void **state)
{
	struct world *w = world_new();
	struct obj_ref root, spec;
	uint8_t buf[1024];
	struct seen *s;
	size_t len;

	(void)state;
	len = tree_make(buf, "hello", 5, &root, &spec);
	(void)upload(w, buf, len);
	s = submit(w, &root, &spec, 1, NULL, 0);
	world_until(w, s->done || s->reset);
	must_be(s, CLIENT_ACCEPTED);
	assert_int_equal(w->nwatch, 0);
	assert_null(w->values);
	world_done(w);
}

/* The job goes on without its client; the worker does not. */
static void
test_client_leaves(void **state)
{
	struct world *w = world_new();
	struct obj_ref root, spec;
	uint8_t buf[1024];
	struct seen *s;
	size_t len;

	(void)state;
	w->log_fd = log_make();
	len = tree_make(buf, "hello", 5, &root, &spec);
	(void)upload(w, buf, len);
	s = submit(w, &root, &spec, 0, NULL, 0);
	world_until(w, s->nreplies > 0 && w->nwatch > 0);
	world_done(w);
}

/* Values that end in the middle, and more than is allowed. */
static void
test_values(void **state)
{
	struct world *w = world_new();
	struct obj_ref root, spec;
	uint8_t buf[1024];
	struct seen *s;
	char *many;

	(void)state;
	(void)upload(w, buf, tree_make(buf, "hello", 5, &root, &spec));
	s = submit(w, &root, &spec, 1, "A=1", 3);
	world_until(w, s->reset);
	assert_int_equal(s->err.code, ERR_INVALID);
	many = calloc(1, LIMIT_ENV_BYTES + 1);
	s = submit(w, &root, &spec, 1, many, LIMIT_ENV_BYTES);
	world_until(w, s->done || s->reset);
	must_be(s, CLIENT_ACCEPTED);
	assert_int_equal(w->nvalues, LIMIT_ENV_BYTES);
	s = submit(w, &root, &spec, 1, many, LIMIT_ENV_BYTES + 1);
	world_until(w, s->done || s->reset);
	assert_true(s->reset);
	assert_int_equal(s->err.code, ERR_LIMIT);
	free(many);
	world_done(w);
}

/* Large content up and down again, beside small requests. */
static void
test_bulk(void **state)
{
	struct world *w = world_new();
	struct obj_ref root, spec;
	uint8_t *buf = malloc(2 * sizeof(noise)), *refs;
	struct objrec rec;
	struct client_open o;
	struct seen *up, *s;
	size_t len, at, n = 0;
	uint32_t id;

	(void)state;
	len = tree_make(buf, noise, sizeof(noise), &root, &spec);
	up = upload(w, buf, len);
	s = client_simple(w, CLIENT_INFO, NULL);
	world_until(w, s->done);
	/* The short request did not wait for the long one. */
	assert_false(up->done);
	world_until(w, up->done || up->reset);
	must_be(up, CLIENT_UPLOADED);
	s = submit(w, &root, &spec, 1, NULL, 0);
	world_until(w, s->done || s->reset);
	must_be(s, CLIENT_ACCEPTED);

	refs = malloc(MAXOBJ * OBJ_REF_LEN);
	for (at = 0; at < w->nobjs; at++)
		obj_ref_encode(&w->objs[at].ref, refs + n++ * OBJ_REF_LEN);
	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_GET;
	id = client_ask(w, &o);
	assert_int_equal(frame_send(w->fc, id, FRAME_DATA, FRAME_REFS, refs,
	    n * OBJ_REF_LEN), 0);
	assert_int_equal(frame_send(w->fc, id, FRAME_END, 0, NULL, 0), 0);
	s = seen_of(w, id);
	world_until(w, s->done || s->reset);
	must_be(s, CLIENT_DONE);
	assert_int_equal(s->last.objects, n);
	for (at = 0, n = 0; at < s->len[FRAME_OBJECT]; n++) {
		assert_int_equal(objrec_decode(s->data[FRAME_OBJECT] + at,
		    &rec), 0);
		assert_true(obj_ref_equal(&rec.ref, &w->objs[n].ref));
		at += OBJREC_HEAD + rec.len;
	}
	assert_int_equal(n, s->last.objects);
	free(refs);
	free(buf);
	world_done(w);
}

static void
test_get_errors(void **state)
{
	struct world *w = world_new();
	struct client_open o;
	struct seen *s;
	uint8_t refs[OBJ_REF_LEN] = { OBJ_CHUNK, 1, 2, 3 };
	uint32_t id;

	(void)state;
	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_GET;
	id = client_ask(w, &o);
	frame_send(w->fc, id, FRAME_DATA, FRAME_REFS, refs, sizeof(refs));
	frame_send(w->fc, id, FRAME_END, 0, NULL, 0);
	s = seen_of(w, id);
	world_until(w, s->reset);
	assert_int_equal(s->err.code, ERR_MISSING);
	id = client_ask(w, &o);
	frame_send(w->fc, id, FRAME_DATA, FRAME_REFS, refs, 20);
	frame_send(w->fc, id, FRAME_END, 0, NULL, 0);
	s = seen_of(w, id);
	world_until(w, s->reset);
	assert_int_equal(s->err.code, ERR_INVALID);
	/* nothing asked, nothing given */
	s = client_simple(w, CLIENT_GET, NULL);
	world_until(w, s->done);
	must_be(s, CLIENT_DONE);
	assert_int_equal(s->last.objects, 0);
	world_done(w);
}

static void
test_admin(void **state)
{
	struct world *w = world_start(1);
	struct client_open o;
	struct seen *s;

	(void)state;
	(void)err_set(&w->deny, ERR_UNKNOWN_TENANT, "root is no tenant");
	client_hello(w, 1, 1);
	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_ADMIN;
	o.admin = SNAP_ADMIN_STATUS;
	s = seen_of(w, client_ask(w, &o));
	world_until(w, s->done || s->reset);
	must_be(s, CLIENT_ADMIN_REPLY);
	assert_int_equal(s->last.status->slots, 5);
	o.admin = SNAP_ADMIN_TENANT_LIST;
	s = seen_of(w, client_ask(w, &o));
	world_until(w, s->done || s->reset);
	must_be(s, CLIENT_ADMIN_REPLY);
	assert_int_equal(s->last.ntenants, 70);
	assert_string_equal(s->last.tenants[69].name, "t70");
	s = client_simple(w, CLIENT_STATUS, "last");
	world_until(w, s->reset);
	assert_int_equal(s->err.code, ERR_DENIED);
	world_done(w);
}

static void
test_no_admin_for_tenants(void **state)
{
	struct world *w = world_new();
	struct client_open o;
	struct seen *s;

	(void)state;
	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_ADMIN;
	o.admin = SNAP_ADMIN_STATUS;
	s = seen_of(w, client_ask(w, &o));
	world_until(w, s->reset);
	assert_int_equal(s->err.code, ERR_DENIED);
	/* and the connection lives on */
	s = client_simple(w, CLIENT_INFO, NULL);
	world_until(w, s->done);
	world_done(w);
}

/* The store goes: what needs it fails, with a word on what to do. */
static void
test_store_lost(void **state)
{
	struct world *w = world_new();
	struct seen *s;

	(void)state;
	s = client_simple(w, CLIENT_INFO, NULL);
	world_until(w, s->done);
	io_close(&w->store);
	s = client_simple(w, CLIENT_STATUS, "last");
	world_until(w, s->reset);
	assert_int_equal(s->err.code, ERR_WORKER_LOST);
	assert_true(s->err.retry);
	world_done(w);
}

static void
test_supervisor_lost(void **state)
{
	struct world *w = world_new();

	(void)state;
	world_until(w, w->hello_seen);
	io_close(&w->sup);
	assert_int_equal(world_exit(w), 0);
	world_free(w);
}

static void
test_fence(void **state)
{
	struct world *w;
	char path[64], target[256];
	ssize_t n;

	(void)state;
	if (getenv("SNAP_TEST_INSIDE") != NULL)
		return;         /* it has none there */
	w = world_new();
	world_until(w, w->hello_seen);
	assert_int_equal(proc_status(w->pid, "Seccomp:", 10), 2);
	assert_int_equal(proc_status(w->pid, "NoNewPrivs:", 10), 1);
	assert_int_equal(proc_status(w->pid, "CapEff:", 16), 0);
	assert_int_equal(proc_status(w->pid, "CapPrm:", 16), 0);
	if (geteuid() == 0) {
		assert_int_equal(proc_status(w->pid, "CapBnd:", 16), 0);
		assert_int_equal(proc_status(w->pid, "Uid:", 10), WORKER_UID);
		snprintf(path, sizeof(path), "/proc/%d/root", (int)w->pid);
		n = readlink(path, target, sizeof(target) - 1);
		assert_true(n > 0);
		target[n] = '\0';
		/* a directory that no longer has a name */
		assert_non_null(strstr(target, "(deleted)"));
	}
	world_done(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hello),
		cmocka_unit_test(test_pipelined),
		cmocka_unit_test(test_denied),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_need),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_detached),
		cmocka_unit_test(test_client_leaves),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_bulk),
		cmocka_unit_test(test_get_errors),
		cmocka_unit_test(test_admin),
		cmocka_unit_test(test_no_admin_for_tenants),
		cmocka_unit_test(test_store_lost),
		cmocka_unit_test(test_supervisor_lost),
		cmocka_unit_test(test_fence),
	};

	if (access(worker_path(), X_OK) == -1) {
		printf("1..0 # SKIP %s was not built\n", worker_path());
		return (0);
	}
	noise_make();
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
