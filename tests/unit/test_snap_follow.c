/* worker-snapshot/follow.c: order of output, states and the result. */

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

#include "lib/frame.h"
#include "lib/io.h"
#include "lib/joblog.h"
#include "worker-snapshot/follow.h"
#include "worker-snapshot/session.h"
#include "worker-snapshot/store_client.h"
#include "worker-snapshot/stream.h"
#include "worker-snapshot/sup.h"

#define JOB     "aaaabbbbccccdddd"

static struct session ses;
static struct stream str;
static struct snap_msg out;
static sup_fn *watch_fn;
static void *watch_cookie;
static store_fn *get_fn;
static void *get_cookie;
static char said[256];          /* what went out, in order */
static struct client_reply last;
static size_t room;             /* bytes that may still be sent */
static int failed;
static int log_w, log_r;
static struct joblog_writer *lw;

struct snap_msg *
__wrap_sup_msg(struct sup *sup, enum snap_op op)
{
	(void)sup;
	memset(&out, 0, sizeof(out));
	out.op = (uint8_t)op;
	return (&out);
}

void
__wrap_sup_request(struct sup *sup, int fd, sup_fn *fn, void *cookie)
{
	(void)sup;
	assert_int_equal(fd, -1);
	watch_fn = fn;
	watch_cookie = cookie;
}

void
__wrap_sup_cancel(struct sup *sup, const void *cookie)
{
	(void)sup;
	(void)cookie;
}

void
__wrap_store_cancel(struct store_client *sc, const void *cookie)
{
	(void)sc;
	(void)cookie;
}

void
__wrap_store_request(struct store_client *sc, struct store_msg *m, int fd,
    store_fn *fn, void *cookie)
{
	(void)sc;
	(void)fd;
	assert_int_equal(m->op, STORE_JOB_GET);
	get_fn = fn;
	get_cookie = cookie;
}

void
__wrap_stream_reply(struct stream *st, const struct client_reply *r, int more)
{
	assert_false(st->over);
	strcat(said, r->kind == CLIENT_RESULT ? "R" : "J");
	last = *r;
	if (!more) {
		strcat(said, ".");
		st->over = 1;
	}
}

void
__wrap_stream_data(struct stream *st, uint8_t channel, const void *p,
    size_t len)
{
	assert_false(st->over);
	(void)p;
	strcat(said, channel == FRAME_STDERR ? "e" : "o");
	room = room > len ? room - len : 0;
}

uint8_t *
__wrap_stream_buf(struct stream *st)
{
	static uint8_t buf[FRAME_SLICE];

	assert_false(st->over);
	return (buf);
}

/* Nothing is so long here. */
int
__wrap_stream_pipe(struct stream *st)
{
	(void)st;
	return (-1);
}

int
__wrap_stream_has_room(struct stream *st)
{
	st->want_room = room == 0;
	return (room > 0);
}

void
__wrap_stream_fail(struct stream *st, const struct err *e)
{
	failed = e->code;
	st->over = 1;
}

void
__wrap_stream_failf(struct stream *st, enum err_code code, const char *fmt,
    ...)
{
	(void)fmt;
	failed = (int)code;
	st->over = 1;
}

static int
setup(void **state)
{
	char path[] = "/tmp/test-follow-XXXXXX";

	(void)state;
	memset(&str, 0, sizeof(str));
	str.s = &ses;
	str.id = 1;
	said[0] = '\0';
	failed = 0;
	room = SIZE_MAX;
	watch_fn = NULL;
	get_fn = NULL;
	log_w = mkstemp(path);
	log_r = open(path, O_RDONLY);
	unlink(path);
	lw = joblog_writer_new(log_w, UINT64_MAX);
	return (0);
}

static int
teardown(void **state)
{
	(void)state;
	follow_free(str.follow);
	joblog_writer_free(lw);
	io_close(&log_w);
	io_close(&log_r);
	return (0);
}

static void
watched(int active, int with_log)
{
	struct snap_msg m;
	int fd = with_log ? dup(log_r) : -1;

	memset(&m, 0, sizeof(m));
	m.op = SNAP_WATCHED;
	m.u.watched.active = (uint8_t)active;
	m.u.watched.state = active ? JOB_RUNNING : 0;
	watch_fn(watch_cookie, &m, &fd);
	io_close(&fd);
	if (!str.over)
		follow_pump(str.follow);
}

static void
event(const char *job, uint8_t state, uint64_t log_bytes)
{
	struct snap_msg m;

	memset(&m, 0, sizeof(m));
	m.op = SNAP_JOB;
	strcpy(m.u.job.job, job);
	m.u.job.state = state;
	if (JOB_IS_FINAL(state)) {
		m.u.job.has_record = 1;
		strcpy(m.u.job.record.id, job);
		m.u.job.record.state = state;
		m.u.job.record.log.bytes = log_bytes;
		m.u.job.record.log.complete = 1;
	}
	follow_event(str.follow, &m);
	if (!str.over)
		follow_pump(str.follow);
}

static void
start(unsigned int how, const struct job_record *known)
{
	follow_start(&str, JOB, how, 0, known);
	assert_string_equal(out.u.watch.job, JOB);
	assert_int_equal(out.u.watch.log, (how & FOLLOW_LOG) != 0);
}

#define RUN     (FOLLOW_LOG | FOLLOW_STATES | FOLLOW_STAY)

static void
test_order(void **state)
{
	(void)state;
	start(RUN, NULL);
	watched(1, 1);
	joblog_write(lw, JOBLOG_STDOUT, "a", 1);
	follow_pump(str.follow);
	event(JOB, JOB_RUNNING, 0);     /* known from WATCHED */
	event(JOB, JOB_SETTLING, 0);
	event("zzzzbbbbccccdddd", JOB_EXITED, 0);
	joblog_write(lw, JOBLOG_STDERR, "b", 1);
	joblog_write(lw, JOBLOG_STDOUT, "c", 1);
	event(JOB, JOB_EXITED, 3);
	assert_string_equal(said, "oJeoR.");
	assert_int_equal(last.offset, 3);
	assert_true(last.record.log.complete);
}

/* The end waits for output that has no room. */
static void
test_room(void **state)
{
	(void)state;
	start(RUN, NULL);
	watched(1, 1);
	joblog_write(lw, JOBLOG_STDOUT, "a", 1);
	room = 0;
	event(JOB, JOB_EXITED, 1);
	assert_string_equal(said, "");
	assert_true(str.want_room);
	room = 1;
	follow_pump(str.follow);
	/* and the look behind it, whether there is more */
	room = 1;
	if (!str.over)
		follow_pump(str.follow);
	assert_string_equal(said, "oR.");
}

/* An end that comes before WATCHED does not go out before the log. */
static void
test_early_end(void **state)
{
	(void)state;
	start(RUN, NULL);
	joblog_write(lw, JOBLOG_STDOUT, "a", 1);
	event(JOB, JOB_EXITED, 1);
	assert_string_equal(said, "");
	watched(0, 1);
	assert_string_equal(said, "oR.");
	assert_null(get_fn);
}

/* One that has ended is asked of the store. */
static void
test_ended(void **state)
{
	uint8_t buf[LIMIT_RECORD];
	struct job_record rec;
	struct store_msg m;
	int fd = -1;

	(void)state;
	start(RUN, NULL);
	watched(0, 0);
	assert_non_null(get_fn);
	assert_string_equal(said, "");
	memset(&rec, 0, sizeof(rec));
	strcpy(rec.id, JOB);
	rec.state = JOB_FAILED;
	rec.log.bytes = 4;
	rec.log.complete = 1;
	memset(&m, 0, sizeof(m));
	m.op = STORE_OK;
	m.u.ok.data.p = buf;
	m.u.ok.data.len = (size_t)job_record_pack(&rec, buf, sizeof(buf));
	get_fn(get_cookie, &m, &fd);
	follow_pump(str.follow);
	/* its log is gone, and that is said */
	assert_string_equal(said, "R.");
	assert_int_equal(last.record.state, JOB_FAILED);
	assert_false(last.record.log.complete);
}

static void
test_look_only(void **state)
{
	struct job_record rec;

	(void)state;
	memset(&rec, 0, sizeof(rec));
	strcpy(rec.id, JOB);
	rec.state = JOB_STARTING;
	joblog_write(lw, JOBLOG_STDOUT, "a", 1);
	start(FOLLOW_LOG | FOLLOW_TELL, &rec);
	watched(1, 1);
	assert_string_equal(said, "JoJ.");
	assert_int_equal(last.record.state, JOB_RUNNING);
	assert_int_equal(last.offset, 1);
}

static void
test_gone(void **state)
{
	struct job_record rec;

	(void)state;
	memset(&rec, 0, sizeof(rec));
	strcpy(rec.id, JOB);
	rec.state = JOB_EXITED;
	rec.log.bytes = 1;
	start(FOLLOW_LOG | FOLLOW_TELL | FOLLOW_STAY, &rec);
	watched(0, 0);
	assert_int_equal(failed, ERR_NOT_FOUND);
}

/* A file that could be written through is not a log. */
static void
test_writable(void **state)
{
	struct snap_msg m;
	int fd = dup(log_w);

	(void)state;
	start(RUN, NULL);
	memset(&m, 0, sizeof(m));
	m.op = SNAP_WATCHED;
	m.u.watched.active = 1;
	m.u.watched.state = JOB_RUNNING;
	watch_fn(watch_cookie, &m, &fd);
	assert_true(fd != -1);
	io_close(&fd);
	joblog_write(lw, JOBLOG_STDOUT, "a", 1);
	event(JOB, JOB_EXITED, 1);
	assert_string_equal(said, "R.");
	assert_false(last.record.log.complete);
}

static void
test_refused(void **state)
{
	struct snap_msg m;
	int fd = -1;

	(void)state;
	start(RUN, NULL);
	memset(&m, 0, sizeof(m));
	m.op = SNAP_ERROR;
	(void)err_set(&m.u.error, ERR_NOT_FOUND, "no such job");
	watch_fn(watch_cookie, &m, &fd);
	assert_int_equal(failed, ERR_NOT_FOUND);
}

static void
test_cut_short(void **state)
{
	(void)state;
	start(RUN, NULL);
	watched(1, 1);
	joblog_write(lw, JOBLOG_STDOUT, "a", 1);
	event(JOB, JOB_EXITED, 100);
	assert_string_equal(said, "oR.");
	assert_false(last.record.log.complete);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_order),
		TEST(test_room),
		TEST(test_early_end),
		TEST(test_ended),
		TEST(test_look_only),
		TEST(test_gone),
		TEST(test_writable),
		TEST(test_refused),
		TEST(test_cut_short),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
