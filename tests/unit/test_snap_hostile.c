/*
 * errand-snapshot and what is not as it should be: clients that break the
 * protocol, that send too much or read too little, and peers that lie.
 */

#include <zstd.h>

#include "snap_client.h"
#include "worker-snapshot/session.h"

#if defined(__SANITIZE_ADDRESS__)
#define RSS_MAX_KB      1000000
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RSS_MAX_KB      1000000
#endif
#endif
#ifndef RSS_MAX_KB
#define RSS_MAX_KB      65536
#endif

static void
raw_send(struct world *w, const void *p, size_t len)
{
	const uint8_t *b = p;
	ssize_t n;

	client_write(w);
	for (; len > 0; b += n, len -= (size_t)n) {
		n = send(w->sock, b, len, MSG_NOSIGNAL);
		if (n == -1)
			return;
	}
}

static struct world *
raw_new(void)
{
	struct world *w = world_new();

	w->raw = 1;
	return (w);
}

static size_t
raw_frame(uint8_t *p, uint32_t stream, uint8_t type, uint8_t flags,
    const void *body, size_t len)
{
	le_put32(p, (uint32_t)len);
	le_put32(p + 4, stream);
	p[8] = type;
	p[9] = flags;
	le_put16(p + 10, 0);
	if (len > 0)
		memcpy(p + FRAME_HEAD, body, len);
	return (FRAME_HEAD + len);
}

static void
raw_frame_send(struct world *w, uint32_t stream, uint8_t type, uint8_t flags,
    const void *body, size_t len)
{
	uint8_t buf[4096];

	raw_send(w, buf, raw_frame(buf, stream, type, flags, body, len));
}

static size_t
open_body(uint8_t verb, const char *job, uint8_t *buf, size_t cap)
{
	struct client_open o;

	memset(&o, 0, sizeof(o));
	o.verb = verb;
	strcpy(o.job, job);
	return ((size_t)client_open_pack(&o, buf, cap));
}

static void
raw_open(struct world *w, uint32_t stream, uint8_t verb, const char *job)
{
	uint8_t body[512];
	size_t n = open_body(verb, job, body, sizeof(body));

	raw_frame_send(w, stream, FRAME_OPEN, 0, body, n);
}

/* It was told why, and the worker ended as if nothing had happened. */
static void
must_end(struct world *w)
{
	world_until(w, w->eof);
	assert_true(w->hello_seen);
	assert_true(w->goaway);
	assert_int_equal(w->bye.code, ERR_INVALID);
	assert_true(strlen(w->bye.text) > 20);
	assert_int_equal(world_exit(w), 0);
	world_free(w);
}

static void
test_garbage(void **state)
{
	static const char http[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
	uint8_t buf[FRAME_HEAD + 8];
	struct world *w;

	(void)state;
	w = world_start(0);
	raw_send(w, http, sizeof(http) - 1);
	must_end(w);
	w = world_start(0);
	memset(buf, 0xff, sizeof(buf));
	raw_send(w, buf, sizeof(buf));
	must_end(w);
	w = world_start(0);
	memset(buf, 0, sizeof(buf));
	raw_send(w, buf, sizeof(buf));
	must_end(w);
	/* a HELLO that is none */
	w = world_start(0);
	raw_frame_send(w, 0, FRAME_HELLO, 0, "\377\377\377", 3);
	must_end(w);
	/* not HELLO */
	w = world_start(0);
	raw_frame_send(w, 0, FRAME_PING, 0, NULL, 0);
	must_end(w);
}

struct bad {
	uint32_t stream;
	uint8_t type;
	uint8_t flags;
	uint32_t len;           /* of zeros */
};

static void
test_bad_frames(void **state)
{
	static const struct bad bad[] = {
		{ 0, FRAME_HELLO, 0, 4 },
		{ 0, FRAME_OPEN, 0, 4 },
		{ 1, FRAME_OPEN, 0, 0 },        /* asks nothing */
		{ 1, FRAME_OPEN, 0, 7 },
		{ 2, FRAME_OPEN, 0, 0 },
		{ 1, FRAME_DATA, FRAME_OBJECT, 4 },
		{ 1, FRAME_END, 0, 0 },
		{ 1, FRAME_REPLY, 0, 0 },
		{ 0, FRAME_GOAWAY, 0, 0 },
		{ 0, FRAME_PING, 2, 0 },
		{ 0, FRAME_PING, 0, 1 },
		{ 1, FRAME_CREDIT_GRANT, 0, 8 },
		{ 0, 10, 0, 0 },
		{ 1, 0, 0, 0 },
	};
	static const uint8_t zeros[16];
	struct world *w;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		w = world_new();
		world_until(w, w->hello_seen);
		raw_frame_send(w, bad[i].stream, bad[i].type, bad[i].flags,
		    zeros, bad[i].len);
		must_end(w);
	}
}

static void
test_oversize(void **state)
{
	struct world *w = world_new();
	uint8_t head[FRAME_HEAD];

	(void)state;
	(void)raw_frame(head, 1, FRAME_OPEN, 0, NULL, 0);
	le_put32(head, FRAME_BODY_MAX + 1);
	raw_send(w, head, sizeof(head));
	must_end(w);
	w = world_new();
	le_put32(head, 0xffffffff);
	raw_send(w, head, sizeof(head));
	must_end(w);
}

/* Frames of a stream that it does not take, or not now. */
static void
test_wrong_order(void **state)
{
	struct world *w;

	(void)state;
	w = raw_new();
	raw_open(w, 1, CLIENT_WAIT, "last");
	raw_frame_send(w, 1, FRAME_DATA, FRAME_STDIN, "x", 1);
	must_end(w);
	w = raw_new();
	raw_open(w, 1, CLIENT_UPLOAD, "");
	raw_frame_send(w, 1, FRAME_DATA, FRAME_ENV, "x", 1);
	must_end(w);
	w = raw_new();
	raw_open(w, 1, CLIENT_UPLOAD, "");
	raw_frame_send(w, 1, FRAME_END, 0, NULL, 0);
	raw_frame_send(w, 1, FRAME_END, 0, NULL, 0);
	must_end(w);
	w = raw_new();
	raw_open(w, 1, CLIENT_GET, "");
	raw_frame_send(w, 1, FRAME_END, 0, NULL, 0);
	raw_frame_send(w, 1, FRAME_DATA, FRAME_REFS, "x", 1);
	must_end(w);
	w = raw_new();
	raw_open(w, 3, CLIENT_INFO, "");
	raw_open(w, 1, CLIENT_INFO, "");
	must_end(w);
}

/* Stopping anywhere is just an end. */
static void
test_half(void **state)
{
	uint8_t buf[1024];
	struct world *w;
	size_t n, cut;

	(void)state;
	n = open_body(CLIENT_STATUS, "last", buf + 512, 512);
	n = raw_frame(buf, 1, FRAME_OPEN, 0, buf + 512, n);
	for (cut = 0; cut <= n; cut += 5) {
		w = world_new();
		raw_send(w, buf, cut);
		world_done(w);
	}
	for (cut = 0; cut < FRAME_HEAD; cut += 4) {
		w = world_start(0);
		raw_send(w, buf, cut);
		world_done(w);
	}
}

static struct seen *
upload_bytes(struct world *w, const uint8_t *p, size_t len)
{
	struct client_open o;
	uint32_t id;

	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_UPLOAD;
	id = client_ask(w, &o);
	if (len > 0)
		assert_int_equal(frame_send(w->fc, id, FRAME_DATA,
		    FRAME_OBJECT, p, len), 0);
	assert_int_equal(frame_send(w->fc, id, FRAME_END, 0, NULL, 0), 0);
	return (seen_of(w, id));
}

/* What is wrong with one request ends one stream. */
static void
test_bad_uploads(void **state)
{
	static uint8_t big[256 * 1024];
	uint8_t rec[OBJREC_HEAD + 4096];
	struct world *w = world_new();
	struct objrec h;
	struct seen *s;
	size_t n;

	(void)state;
	memset(&h, 0, sizeof(h));
	h.ref.kind = OBJ_CHUNK;
	h.codec = OBJREC_ZSTD;
	/* a frame that gives more than it says */
	n = ZSTD_compress(rec + OBJREC_HEAD, 4096, big, sizeof(big), 3);
	assert_false(ZSTD_isError(n));
	h.raw_len = OBJ_MAX;
	h.len = (uint32_t)n;
	objrec_encode(&h, rec);
	s = upload_bytes(w, rec, OBJREC_HEAD + n);
	world_until(w, s->reset);
	assert_int_equal(s->err.code, ERR_INVALID);
	/* one that says more than an object may have */
	h.raw_len = sizeof(big);
	objrec_encode(&h, rec);
	s = upload_bytes(w, rec, OBJREC_HEAD + n);
	world_until(w, s->reset);
	assert_int_equal(s->err.code, ERR_INVALID);
	/* not zstd */
	h.raw_len = OBJ_MAX;
	objrec_encode(&h, rec);
	memset(rec + OBJREC_HEAD, 'x', n);
	s = upload_bytes(w, rec, OBJREC_HEAD + n);
	world_until(w, s->reset);
	/* cut off */
	s = upload_bytes(w, rec, OBJREC_HEAD + n - 1);
	world_until(w, s->reset);
	assert_int_equal(s->err.code, ERR_INVALID);
	s = upload_bytes(w, rec, 10);
	world_until(w, s->reset);
	/* none of it reached the store, and the connection is well */
	assert_int_equal(w->nobjs, 0);
	s = upload_bytes(w, NULL, 0);
	world_until(w, s->done);
	assert_int_equal(s->last.kind, CLIENT_UPLOADED);
	world_done(w);
}

/* Records of zeros: a kilobyte becomes a megabyte. */
static size_t
bombs_make(uint8_t *out, size_t cap)
{
	static uint8_t zeros[OBJ_MAX];
	uint8_t rec[OBJREC_HEAD + OBJ_MAX];
	struct obj_ref ref;
	size_t n, at;

	assert_int_equal(obj_ref_of(OBJ_CHUNK, zeros, OBJ_MAX, &ref), 0);
	assert_int_equal(objrec_pack(&ref, zeros, OBJ_MAX, rec, &n), 0);
	for (at = 0; at + n <= cap; at += n)
		memcpy(out + at, rec, n);
	return (at);
}

/* While the store does not answer, what is taken apart has a bound. */
static void
test_bomb(void **state)
{
	static uint8_t bombs[96 * 1024];
	size_t n = bombs_make(bombs, sizeof(bombs));
	struct world *w = world_new();
	struct seen *s[3];
	struct seen *info;
	uint64_t end;
	int i;

	(void)state;
	w->put_wait = 1;
	for (i = 0; i < 3; i++)
		s[i] = upload_bytes(w, bombs, n);
	world_until(w, w->nputs == 8);
	world_quiet(w, 300);
	assert_int_equal(w->puts_max, 8);
	assert_true(w->put_bytes <= 8 * LIMIT_PUT_BYTES);
	assert_true(proc_status(w->pid, "VmRSS:", 10) < RSS_MAX_KB);
	/* others are served meanwhile */
	info = client_simple(w, CLIENT_INFO, NULL);
	world_until(w, info->done);
	/* and it goes on when the store does */
	end = io_mono_us() + 60 * UINT64_C(1000000);
	while (!(s[0]->done && s[1]->done && s[2]->done)) {
		assert_true(io_mono_us() < end);
		if (w->nputs > 0)
			store_puts_release(w);
		world_step(w, 10);
		assert_false(s[0]->reset || s[1]->reset || s[2]->reset);
	}
	assert_int_equal(w->puts_max, 8);
	world_done(w);
}

static int
log_big(size_t bytes)
{
	static uint8_t piece[65536];
	struct joblog_writer *lw;
	FILE *f = tmpfile();
	size_t done;
	int fd;

	assert_non_null(f);
	fd = fcntl(fileno(f), F_DUPFD_CLOEXEC, 10);
	fclose(f);
	lw = joblog_writer_new(fd, UINT64_MAX);
	for (done = 0; done < bytes; done += sizeof(piece))
		assert_int_equal(joblog_write(lw, JOBLOG_STDOUT, piece,
		    sizeof(piece)), 0);
	joblog_writer_free(lw);
	return (fd);
}

static struct seen *
attach(struct world *w)
{
	struct client_open o;

	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_ATTACH;
	o.follow = 1;
	strcpy(o.job, w->job);
	return (seen_of(w, client_ask(w, &o)));
}

static void
running_job(struct world *w, size_t bytes)
{
	struct job_record *j = &w->jobs[w->njobs++];

	memset(j, 0, sizeof(*j));
	strcpy(j->id, w->job);
	j->state = JOB_EXITED;
	j->log.bytes = bytes;
	j->log.complete = 1;
	w->ended = 1;
	w->log_fd = log_big(bytes);
}

/* One that does not read, and one that grants no credit. */
static void
test_slow_readers(void **state)
{
	const size_t size = 32 * 1024 * 1024;
	struct world *w = world_new();
	struct seen *s, *t;

	(void)state;
	world_until(w, w->hello_seen);
	running_job(w, size);
	w->no_credit = 1;
	s = attach(w);
	world_until(w, s->len[FRAME_STDOUT] == FRAME_CREDIT);
	/* a stream without credit stops only itself */
	t = client_simple(w, CLIENT_INFO, NULL);
	world_until(w, t->done);
	assert_int_equal(s->len[FRAME_STDOUT], FRAME_CREDIT);
	assert_true(proc_status(w->pid, "VmRSS:", 10) < RSS_MAX_KB);
	w->no_credit = 0;
	t = attach(w);
	w->no_read = 1;
	world_quiet(w, 300);
	assert_true(proc_status(w->pid, "VmRSS:", 10) < RSS_MAX_KB);
	w->no_read = 0;
	world_until(w, t->done);
	assert_int_equal(t->len[FRAME_STDOUT], size);
	assert_int_equal(t->last.record.log.complete, 1);
	world_done(w);
}

/* Two streams share the connection. */
static void
test_fair(void **state)
{
	const size_t size = 8 * 1024 * 1024;
	struct world *w = world_new();
	struct seen *s, *t;

	(void)state;
	running_job(w, size);
	s = attach(w);
	t = attach(w);
	world_until(w, s->len[FRAME_STDOUT] > size / 2);
	assert_true(t->len[FRAME_STDOUT] > size / 8);
	world_until(w, s->done && t->done);
	assert_int_equal(s->len[FRAME_STDOUT], size);
	assert_int_equal(t->len[FRAME_STDOUT], size);
	world_done(w);
}

/* Requests without end, and nobody who reads the answers. */
static void
test_flood(void **state)
{
	struct world *w = world_new();
	uint8_t buf[64 * 1024], body[512];
	uint32_t id = 1;
	size_t n, at, total = 0;
	unsigned int stuck = 0;
	ssize_t sent;

	(void)state;
	world_until(w, w->hello_seen);
	w->no_read = 1;
	n = open_body(CLIENT_INFO, "", body, sizeof(body));
	while (total < 64 * 1024 * 1024 && stuck < 30) {
		for (at = 0; at + 256 < sizeof(buf); id += 2) {
			at += raw_frame(buf + at, id, FRAME_OPEN, 0, body, n);
			at += raw_frame(buf + at, id, FRAME_END, 0, NULL, 0);
			at += raw_frame(buf + at, 0, FRAME_PING, 0, NULL, 0);
		}
		sent = send(w->sock, buf, at, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent != (ssize_t)at) {
			/* Cut in the middle of a frame: no more after it. */
			while (stuck < 30) {
				world_step(w, 10);
				stuck++;
			}
			break;
		}
		total += at;
		world_step(w, 1);
		if (world_exited(w))
			break;
	}
	if (!world_exited(w))
		assert_true(proc_status(w->pid, "VmRSS:", 10) < RSS_MAX_KB);
	else
		assert_int_equal(WEXITSTATUS(w->status), 0);
	world_done(w);
}

static void
test_too_many(void **state)
{
	struct world *w = world_new();
	struct seen *s, *t;
	uint32_t id;
	int i;

	(void)state;
	/* of one kind */
	for (i = 0; i < 4; i++)
		(void)client_ask(w, &(struct client_open){
		    .verb = CLIENT_UPLOAD });
	s = seen_of(w, client_ask(w, &(struct client_open){
	    .verb = CLIENT_UPLOAD }));
	world_until(w, s->reset);
	assert_int_equal(s->err.code, ERR_BUSY);
	assert_true(s->err.retry);
	/* asked and taken back, again and again, of a store that sleeps */
	w->mute = 1;
	for (i = 0; i < 40; i++) {
		t = client_simple(w, CLIENT_STATUS, "last");
		world_quiet(w, 2);
		frame_send(w->fc, t->id, FRAME_RESET, 0, NULL, 0);
	}
	w->mute = 0;
	s = client_simple(w, CLIENT_INFO, NULL);
	world_until(w, s->done);
	world_done(w);

	/* of all kinds */
	w = raw_new();
	for (id = 1; id < 2 * FRAME_STREAMS + 3; id += 2)
		raw_open(w, id, CLIENT_GET, "");
	must_end(w);
}

/* Endless open and reset: refused for a while, never broken. */
static void
test_reset_flood(void **state)
{
	struct world *w = raw_new();
	unsigned int n;
	uint32_t id = 1;
	int i;

	(void)state;
	world_until(w, w->hello_seen);
	w->mute = 1;
	for (i = 0; i < 2000; i++, id += 2) {
		raw_open(w, id, CLIENT_WAIT, "last");
		raw_frame_send(w, id, FRAME_RESET, 0, NULL, 0);
		if (i % 20 == 0)
			world_step(w, 1);
		assert_false(w->eof);
	}
	world_quiet(w, 50);
	assert_false(world_exited(w));
	w->mute = 0;
	world_quiet(w, 50);
	/* and it is as before */
	n = w->nframes;
	raw_open(w, id, CLIENT_INFO, "");
	world_until(w, w->nframes == n + 1);
	world_done(w);
}

/* A SUBMIT waits for what was begun before it. */
static void
test_submit_waits(void **state)
{
	struct world *w = world_new();
	struct client_open o;
	struct seen *s;
	uint32_t up, id;

	(void)state;
	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_UPLOAD;
	up = client_ask(w, &o);
	o.verb = CLIENT_SUBMIT;
	memset(o.submit.idem, 1, sizeof(o.submit.idem));
	o.submit.spec.kind = OBJ_CHUNK;
	o.submit.spec.id[0] = 1;
	o.submit.spec_len = 5;
	id = client_ask(w, &o);
	s = seen_of(w, id);
	world_quiet(w, 50);
	/* not before its own END */
	frame_send(w->fc, up, FRAME_RESET, 0, NULL, 0);
	world_quiet(w, 50);
	assert_false(s->done || s->reset);
	frame_send(w->fc, id, FRAME_END, 0, NULL, 0);
	world_until(w, s->done || s->reset);
	assert_int_equal(s->last.kind, CLIENT_NEED);
	/* and not before an upload's END */
	o.verb = CLIENT_UPLOAD;
	up = client_ask(w, &o);
	o.verb = CLIENT_SUBMIT;
	id = client_ask(w, &o);
	s = seen_of(w, id);
	frame_send(w->fc, id, FRAME_END, 0, NULL, 0);
	world_quiet(w, 50);
	assert_false(s->done || s->reset);
	frame_send(w->fc, up, FRAME_END, 0, NULL, 0);
	world_until(w, s->done || s->reset);
	assert_int_equal(s->last.kind, CLIENT_NEED);
	world_done(w);
}

/* Our own processes that break the rules. */
static void
test_peers(void **state)
{
	struct world *w = world_new();
	struct snap_msg *m;
	struct seen *s;

	(void)state;
	world_until(w, w->hello_seen);
	assert_int_equal(chan_send_wait(w->store, (const uint8_t *)"junk", 4,
	    NULL, 0), 0);
	s = client_simple(w, CLIENT_STATUS, "last");
	world_until(w, s->reset);
	assert_int_equal(s->err.code, ERR_WORKER_LOST);
	assert_int_equal(chan_send_wait(w->sup, (const uint8_t *)"junk", 4,
	    NULL, 0), 0);
	assert_int_equal(world_exit(w), 101);
	world_free(w);

	w = world_new();
	world_until(w, w->hello_seen);
	m = sup_out(w, SNAP_SUBMITTED, 77);
	strcpy(m->u.submitted.job, w->job);
	m->u.submitted.state = JOB_QUEUED;
	sup_send(w, -1);
	assert_int_equal(world_exit(w), 101);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_bad_frames),
		cmocka_unit_test(test_oversize),
		cmocka_unit_test(test_wrong_order),
		cmocka_unit_test(test_half),
		cmocka_unit_test(test_bad_uploads),
		cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_slow_readers),
		cmocka_unit_test(test_fair),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_reset_flood),
		cmocka_unit_test(test_submit_waits),
		cmocka_unit_test(test_peers),
	};

	if (access(worker_path(), X_OK) == -1) {
		printf("1..0 # SKIP %s was not built\n", worker_path());
		return (0);
	}
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
