/* errand-snapshot and what a job reads: who may send it, and how much. */

#include "snap_client.h"
#include "worker-snapshot/session.h"

#define JOB     "aaaaaaaaaaaaaaa2"

static uint32_t
ask(struct world *w, int take)
{
	struct client_open o;

	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_INPUT;
	strcpy(o.job, JOB);
	o.take = take != 0;
	return (client_ask(w, &o));
}

static void
send_bytes(struct world *w, uint32_t id, const void *p, size_t len)
{
	assert_int_equal(frame_send(w->fc, id, FRAME_DATA, FRAME_STDIN, p,
	    len), 0);
}

/* A stream that may send. */
static struct seen *
granted(struct world *w)
{
	struct seen *s = seen_of(w, ask(w, 0));

	world_until(w, s->nreplies == 1);
	assert_int_equal(s->last.kind, CLIENT_INPUT_REPLY);
	return (s);
}

static void
gone_if_done(struct world *w)
{
	io_close(&w->input_fd);
	world_done(w);
}

static void
test_bytes(void **state)
{
	struct world *w = world_new();
	struct seen *s;
	char buf[16];
	ssize_t n;

	(void)state;
	w->input_offset = 77;
	s = granted(w);
	assert_int_equal(s->last.offset, 77);
	send_bytes(w, s->id, "hello", 5);
	world_until(w, (n = read(w->input_fd, buf, sizeof(buf))) > 0);
	assert_int_equal(n, 5);
	assert_memory_equal(buf, "hello", 5);
	assert_int_equal(frame_send(w->fc, s->id, FRAME_END, 0, NULL, 0), 0);
	world_until(w, s->done && w->ninput_end == 1);
	assert_int_equal(w->input_how, SNAP_INPUT_EOF);
	assert_int_equal(read(w->input_fd, buf, 1), 0);
	gone_if_done(w);
}

/* Credit comes as the job reads, and what is sent is not lost. */
static void
test_credit(void **state)
{
	static uint8_t piece[3 * FRAME_CREDIT], back[65536];
	struct world *w = world_new();
	size_t i, got = 0;
	struct seen *s;
	ssize_t n;

	(void)state;
	for (i = 0; i < sizeof(piece); i++)
		piece[i] = (uint8_t)(i * 2654435761U >> 13);
	s = granted(w);
	send_bytes(w, s->id, piece, sizeof(piece));
	world_quiet(w, 200);
	assert_true(frame_credit(w->fc, s->id) <= FRAME_CREDIT + 131072);
	assert_true(frame_waiting(w->fc, s->id) >= FRAME_CREDIT);
	assert_int_equal(frame_send(w->fc, s->id, FRAME_END, 0, NULL, 0), 0);
	while (got < sizeof(piece)) {
		world_step(w, 10);
		while ((n = read(w->input_fd, back, sizeof(back))) > 0) {
			assert_memory_equal(back, piece + got, (size_t)n);
			got += (size_t)n;
		}
	}
	world_until(w, s->done);
	assert_int_equal(w->ninput_end, 1);
	gone_if_done(w);
}

static void
test_unread(void **state)
{
	struct world *w = world_new();
	struct seen *s = granted(w);

	(void)state;
	io_close(&w->input_fd);
	world_until(w, s->done);
	assert_int_equal(s->last.kind, CLIENT_DONE);
	assert_int_equal(w->input_how, SNAP_INPUT_EOF);
	gone_if_done(w);
}

static void
test_leaving(void **state)
{
	struct world *w = world_new();
	struct seen *s = granted(w);

	(void)state;
	assert_int_equal(frame_send(w->fc, s->id, FRAME_RESET, 0, NULL, 0), 0);
	world_until(w, w->ninput_end == 1);
	assert_int_equal(w->input_how, SNAP_INPUT_LEFT);
	gone_if_done(w);
}

/* One that leaves before it was answered is not left with the input. */
static void
test_leaving_early(void **state)
{
	struct world *w = world_new();
	uint32_t id;
	char c;

	(void)state;
	w->input_mute = 1;
	id = ask(w, 0);
	world_until(w, w->input_id != 0);
	assert_int_equal(frame_send(w->fc, id, FRAME_RESET, 0, NULL, 0), 0);
	world_until(w, w->ninput_end == 1);
	sup_taken(w);
	world_until(w, read(w->input_fd, &c, 1) == 0);
	gone_if_done(w);
}

static void
test_taken_over(void **state)
{
	struct world *w = world_new();
	struct seen *s = granted(w);
	struct snap_msg *m = sup_out(w, SNAP_INPUT_STOP, 0);
	char c;

	(void)state;
	strcpy(m->u.input_stop.job, JOB);
	sup_send(w, -1);
	world_until(w, s->reset && w->ninput_end == 1);
	assert_int_equal(s->err.code, ERR_BUSY);
	assert_int_equal(w->input_how, SNAP_INPUT_LOST);
	assert_int_equal(read(w->input_fd, &c, 1), 0);
	gone_if_done(w);
}

static void
test_refused(void **state)
{
	struct world *w = world_new();
	struct client_open o;
	struct seen *s;

	(void)state;
	w->input_err = ERR_INVALID;
	s = seen_of(w, ask(w, 0));
	world_until(w, s->reset);
	assert_int_equal(s->err.code, ERR_INVALID);
	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_INPUT;
	strcpy(o.job, "last");
	s = seen_of(w, client_ask(w, &o));
	world_until(w, s->reset);
	assert_int_equal(s->err.code, ERR_INVALID);
	assert_int_equal(w->ninput_end, 0);
	gone_if_done(w);
}

/* Nothing is taken from those who were not asked: the stream ends, no more. */
static void
test_unasked(void **state)
{
	struct world *w = world_new();
	struct seen *s;

	(void)state;
	w->input_mute = 1;
	s = seen_of(w, ask(w, 0));
	world_until(w, w->input_id != 0);
	send_bytes(w, s->id, "x", 1);
	world_until(w, s->reset);
	assert_int_equal(s->err.code, ERR_INVALID);
	world_until(w, w->ninput_end == 1);
	w->input_mute = 0;
	(void)granted(w);
	gone_if_done(w);
}

static void
test_window(void **state)
{
	struct world *w = world_new();
	struct client_open o;
	struct seen *s;

	(void)state;
	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_WINDOW;
	strcpy(o.job, JOB);
	o.rows = 65535;
	o.cols = 1;
	s = seen_of(w, client_ask(w, &o));
	world_until(w, s->done);
	assert_int_equal(w->rows, 65535);
	assert_int_equal(w->cols, 1);
	gone_if_done(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_credit),
		cmocka_unit_test(test_unread),
		cmocka_unit_test(test_leaving),
		cmocka_unit_test(test_leaving_early),
		cmocka_unit_test(test_taken_over),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_unasked),
		cmocka_unit_test(test_window),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
