#include "tests/proto/probe.h"

/* What is particular to the client's messages, and to events about jobs. */

static uint8_t buf[512 * 1024];

static void
err_texts(void **state)
{
	struct err e, out;
	char big[2 * LIMIT_TEXT];
	ssize_t n;

	(void)state;
	assert_int_equal(err_set(&e, ERR_BUSY, "wait %d s", 3), -1);
	assert_int_equal(e.code, ERR_BUSY);
	assert_int_equal(e.retry, 1);
	assert_string_equal(e.text, "wait 3 s");
	n = err_pack(&e, buf, sizeof(buf));
	assert_int_equal(err_parse(buf, (size_t)n, &out), 0);
	assert_memory_equal(&e, &out, sizeof(e));

	/* What a job wrote may be quoted, whatever it is. */
	(void)err_set(&e, ERR_IO, "file \xff\xfe\xc3\xa9\xc3");
	assert_string_equal(e.text, "file ??\xc3\xa9?");
	assert_int_equal(e.retry, 0);

	/* Too long, and cut in the middle of a character. */
	memset(big, 'x', sizeof(big));
	memcpy(big + LIMIT_TEXT - 2, "\xc3\xa9", 2);
	big[sizeof(big) - 1] = '\0';
	(void)err_set(&e, ERR_IO, "%s", big);
	assert_int_equal(strlen(e.text), LIMIT_TEXT - 1);
	assert_int_equal(e.text[LIMIT_TEXT - 2], '?');
	assert_true(err_pack(&e, buf, sizeof(buf)) > 0);
}

/* Text that is no UTF-8 is mended when packed, wherever it is. */
static void
text_mended(void **state)
{
	struct exec_msg m = { .op = EXEC_HELLO }, out;
	ssize_t n;

	(void)state;
	m.u.hello.version = CHANNEL_VERSION;
	strcpy(m.u.hello.note, "no \x80 here");
	n = exec_msg_pack(&m, buf, sizeof(buf));
	assert_true(n > 0);
	assert_int_equal(exec_msg_parse(buf, (size_t)n, &out), 0);
	assert_string_equal(out.u.hello.note, "no ? here");
	assert_string_equal(m.u.hello.note, "no \x80 here");
	strcpy(m.u.hello.software, "a\nb");
	assert_int_equal(exec_msg_pack(&m, buf, sizeof(buf)), -1);
}

static void
versions(void **state)
{
	struct client_hello h = { .proto_min = 2, .proto_max = 1 };

	(void)state;
	assert_int_equal(client_hello_pack(&h, buf, sizeof(buf)), -1);
	h.proto_max = 2;
	assert_int_equal(client_hello_pack(&h, buf, sizeof(buf)), 4);
	assert_int_equal(client_hello_parse(buf, 4, &h), 0);
	buf[3] = 1;
	assert_int_equal(client_hello_parse(buf, 4, &h), -1);
}

/* As many tenants as there may be, and one more. */
static void
many_tenants(void **state)
{
	struct client_reply r = { .kind = CLIENT_ADMIN_REPLY,
	    .admin = SNAP_ADMIN_TENANT_LIST }, out;
	ssize_t n;
	size_t i;

	(void)state;
	r.tenants = calloc(LIMIT_TENANTS + 1, sizeof(*r.tenants));
	assert_non_null(r.tenants);
	for (i = 0; i <= LIMIT_TENANTS; i++) {
		(void)snprintf(r.tenants[i].name, sizeof(r.tenants[i].name),
		    "tenant-%zu", i);
		r.tenants[i].id = (uint32_t)i;
		r.tenants[i].host_uid = 1879113728u + (uint32_t)i;
		r.tenants[i].nuids = 1;
		r.tenants[i].uids[0] = 1000 + (uint32_t)i;
	}
	r.ntenants = LIMIT_TENANTS;
	n = client_reply_pack(&r, buf, sizeof(buf));
	assert_true(n > 0);
	assert_int_equal(client_reply_parse(buf, (size_t)n, &out), 0);
	assert_int_equal(out.ntenants, LIMIT_TENANTS);
	assert_memory_equal(out.tenants, r.tenants,
	    LIMIT_TENANTS * sizeof(*r.tenants));
	client_reply_done(&out);
	assert_null(out.tenants);
	client_reply_done(&out);
	r.ntenants++;
	assert_int_equal(client_reply_pack(&r, buf, sizeof(buf)), -1);
	client_reply_done(&r);
}

static void
submit_complete(void **state)
{
	struct client_open o = { .verb = CLIENT_SUBMIT };

	(void)state;
	assert_int_equal(client_open_pack(&o, buf, sizeof(buf)), -1);
	o.submit.spec.kind = OBJ_CHUNK;
	o.submit.spec.id[0] = 1;
	o.submit.spec_len = 10;
	assert_int_equal(client_open_pack(&o, buf, sizeof(buf)), -1);
	o.submit.idem[15] = 1;
	assert_true(client_open_pack(&o, buf, sizeof(buf)) > 0);
	o.submit.spec_len = 0;
	assert_int_equal(client_open_pack(&o, buf, sizeof(buf)), -1);
}

static void
admin_names(void **state)
{
	struct client_open o = { .verb = CLIENT_ADMIN,
	    .admin = SNAP_ADMIN_TENANT_ADD };

	(void)state;
	assert_int_equal(client_open_pack(&o, buf, sizeof(buf)), -1);
	strcpy(o.tenant.name, "bob");
	assert_true(client_open_pack(&o, buf, sizeof(buf)) > 0);
	o.tenant.name[0] = '\0';
	o.admin = SNAP_ADMIN_STATUS;
	assert_true(client_open_pack(&o, buf, sizeof(buf)) > 0);
}

/* A record in an event is that of the job. */
static void
record_of_job(void **state)
{
	static struct snap_msg m, out;
	ssize_t n;

	(void)state;
	m.op = SNAP_JOB;
	strcpy(m.u.job.job, "abcdefghijklmnop");
	m.u.job.state = JOB_EXITED;
	m.u.job.has_record = 1;
	strcpy(m.u.job.record.id, "abcdefghijklmnop");
	m.u.job.record.state = JOB_EXITED;
	n = snap_msg_pack(&m, buf, sizeof(buf));
	assert_true(n > 0);
	assert_int_equal(snap_msg_parse(buf, (size_t)n, &out), 0);
	assert_int_equal(out.u.job.has_record, 1);
	assert_string_equal(out.u.job.record.id, "abcdefghijklmnop");
	m.u.job.record.id[0] = 'b';
	assert_int_equal(snap_msg_pack(&m, buf, sizeof(buf)), -1);
	m.u.job.has_record = 0;
	n = snap_msg_pack(&m, buf, sizeof(buf));
	assert_int_equal(snap_msg_parse(buf, (size_t)n, &out), 0);
	assert_int_equal(out.u.job.has_record, 0);
}

/* OK says what it answers. */
static void
snapshot_ok(void **state)
{
	static struct snap_msg m, out;
	ssize_t n;

	(void)state;
	m.op = SNAP_OK;
	m.id = 4;
	assert_int_equal(snap_msg_pack(&m, buf, sizeof(buf)), -1);
	m.reply_to = SNAP_LIVE;
	m.u.live.n = 1;
	strcpy(m.u.live.jobs[0].job, "abcdefghijklmnop");
	m.u.live.jobs[0].state = JOB_RUNNING;
	m.u.live.jobs[0].times.started = 12;
	n = snap_msg_pack(&m, buf, sizeof(buf));
	assert_true(n > 0);
	assert_int_equal(snap_msg_parse(buf, (size_t)n, &out), 0);
	assert_int_equal(out.reply_to, SNAP_LIVE);
	assert_int_equal(out.u.live.n, 1);
	assert_int_equal(out.u.live.jobs[0].times.started, 12);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(err_texts),
		cmocka_unit_test(text_mended),
		cmocka_unit_test(versions),
		cmocka_unit_test(many_tenants),
		cmocka_unit_test(submit_complete),
		cmocka_unit_test(admin_names),
		cmocka_unit_test(record_of_job),
		cmocka_unit_test(snapshot_ok),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
