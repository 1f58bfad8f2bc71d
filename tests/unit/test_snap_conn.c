/* worker-snapshot/conn.c: silence, holding back, blocked writes, the end. */

#include <sys/socket.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "lib/frame.h"
#include "lib/io.h"
#include "lib/le.h"
#include "proto/client_msg.h"
#include "worker-snapshot/conn.h"

static const struct conn_times fast = { 60000, 40000, 120000 };
static const struct conn_times slow = { 9000000, 9000000, 9000000 };

struct fix {
	struct event_base *base;
	struct conn *c;
	int peer;
	unsigned int frames;
	unsigned int greeted;
	uint8_t last;
	int refuse;
	int hold;               /* at HELLO */
};

static int
on_frame(void *cookie, const struct frame *f)
{
	struct fix *x = cookie;

	x->frames++;
	x->last = f->type;
	if (x->refuse) {
		conn_blame(x->c, "the test does not like it");
		return (-1);
	}
	if (f->type == FRAME_HELLO && x->hold)
		conn_hold(x->c, 1);
	return (0);
}

static void
greet(void *cookie)
{
	struct fix *x = cookie;

	if (x->greeted++ == 0)
		(void)frame_send(conn_frames(x->c), 0, FRAME_HELLO, 0, "h",
		    1);
}

static void
after(void *cookie)
{
	struct fix *x = cookie;

	(void)conn_flush(x->c);
	if (conn_over(x->c))
		(void)event_base_loopbreak(x->base);
}

static const struct conn_ops ops = { on_frame, greet, after };

static struct fix *
fix_new(const struct conn_times *times)
{
	struct fix *x = calloc(1, sizeof(*x));
	int sv[2];

	assert_non_null(x);
	x->base = event_base_new();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	x->c = conn_new(x->base, sv[0], times, &ops, x);
	assert_non_null(x->c);
	x->peer = sv[1];
	return (x);
}

static void
fix_free(struct fix *x)
{
	conn_free(x->c);
	event_base_free(x->base);
	io_close(&x->peer);
	free(x);
}

static void
put(struct fix *x, uint32_t stream, uint8_t type, uint8_t flags,
    const void *body, size_t len)
{
	uint8_t buf[1024];

	le_put32(buf, (uint32_t)len);
	le_put32(buf + 4, stream);
	buf[8] = type;
	buf[9] = flags;
	le_put16(buf + 10, 0);
	if (len > 0)
		memcpy(buf + FRAME_HEAD, body, len);
	assert_int_equal(io_write(x->peer, buf, FRAME_HEAD + len), 0);
}

/* Run until it is over or so long. */
static void
run(struct fix *x, int ms)
{
	struct timeval tv = { ms / 1000, (ms % 1000) * 1000 };

	(void)event_base_loopexit(x->base, &tv);
	(void)event_base_dispatch(x->base);
}

/* Does the peer find a frame of this type in what it was sent? */
static int
got(struct fix *x, uint8_t type, struct err *e)
{
	static uint8_t buf[65536];
	ssize_t n = recv(x->peer, buf, sizeof(buf), MSG_DONTWAIT);
	size_t at, len;
	int found = 0;

	for (at = 0; n > 0 && at + FRAME_HEAD <= (size_t)n;
	    at += FRAME_HEAD + len) {
		len = le_get32(buf + at);
		if (buf[at + 8] != type)
			continue;
		found++;
		if (e != NULL)
			assert_int_equal(err_parse(buf + at + FRAME_HEAD, len,
			    e), 0);
	}
	return (found);
}

static void
test_no_hello(void **state)
{
	struct fix *x = fix_new(&fast);
	struct err e;
	uint64_t t = io_mono_us();

	(void)state;
	/* half a header is no HELLO */
	assert_int_equal(write(x->peer, "\1\0\0\0\0", 5), 5);
	run(x, 5000);
	assert_true(conn_over(x->c));
	assert_in_range(io_mono_us() - t, 50000, 2000000);
	assert_int_equal(x->greeted, 1);
	assert_int_equal(got(x, FRAME_GOAWAY, &e), 1);
	assert_int_equal(e.code, ERR_INVALID);
	fix_free(x);
}

static void
test_silence(void **state)
{
	struct fix *x = fix_new(&fast);

	(void)state;
	put(x, 0, FRAME_HELLO, 0, "x", 1);
	greet(x);
	run(x, 80);
	assert_false(conn_over(x->c));
	assert_true(got(x, FRAME_PING, NULL) >= 1);
	run(x, 5000);
	assert_true(conn_over(x->c));
	assert_int_equal(got(x, FRAME_GOAWAY, NULL), 1);
	fix_free(x);
}

/* An answer to PING is a sign of life. */
static void
test_pong(void **state)
{
	struct fix *x = fix_new(&fast);
	int i, pings = 0;

	(void)state;
	put(x, 0, FRAME_HELLO, 0, "x", 1);
	greet(x);
	for (i = 0; i < 8; i++) {
		run(x, 50);
		pings += got(x, FRAME_PING, NULL);
		put(x, 0, FRAME_PING, 1, NULL, 0);
	}
	assert_false(conn_over(x->c));
	assert_true(pings > 1);
	fix_free(x);
}

/* Behind HELLO nothing is read before we say so, and no time counts. */
static void
test_hold(void **state)
{
	struct fix *x = fix_new(&fast);

	(void)state;
	x->hold = 1;
	put(x, 0, FRAME_HELLO, 0, "xyz", 3);
	put(x, 1, FRAME_OPEN, 0, "x", 1);
	run(x, 300);
	assert_false(conn_over(x->c));
	assert_int_equal(x->frames, 1);
	conn_hold(x->c, 0);
	run(x, 30);
	assert_int_equal(x->frames, 2);
	assert_int_equal(x->last, FRAME_OPEN);
	fix_free(x);
}

/* HELLO byte by byte, with the next frame close behind. */
static void
test_trickle(void **state)
{
	struct fix *x = fix_new(&slow);
	static const uint8_t b[] = { 2, 0, 0, 0, 0, 0, 0, 0, FRAME_HELLO, 0, 0,
	    0, 'a', 'b', 0, 0, 0, 0, 1, 0, 0, 0, FRAME_OPEN, 0, 0, 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(b); i++) {
		assert_int_equal(write(x->peer, b + i, 1), 1);
		run(x, 1);
	}
	run(x, 10);
	assert_int_equal(x->frames, 2);
	fix_free(x);
}

static void
test_refused(void **state)
{
	struct fix *x = fix_new(&slow);
	struct err e;

	(void)state;
	x->refuse = 1;
	put(x, 0, FRAME_HELLO, 0, "x", 1);
	run(x, 5000);
	assert_true(conn_over(x->c));
	assert_int_equal(got(x, FRAME_GOAWAY, &e), 1);
	assert_non_null(strstr(e.text, "the test does not like it"));
	fix_free(x);
}

static void
test_closed(void **state)
{
	struct fix *x = fix_new(&slow);

	(void)state;
	put(x, 0, FRAME_HELLO, 0, "x", 1);
	io_close(&x->peer);
	run(x, 5000);
	assert_true(conn_over(x->c));
	assert_int_equal(x->frames, 1);
	fix_free(x);
}

/* While the socket takes nothing, nothing is read. */
static void
test_blocked(void **state)
{
	static uint8_t piece[65536];
	struct fix *x = fix_new(&slow);
	unsigned int before;
	size_t total = 0;
	ssize_t n;
	int i;

	(void)state;
	put(x, 0, FRAME_HELLO, 0, "x", 1);
	put(x, 1, FRAME_OPEN, 0, NULL, 0);
	greet(x);
	run(x, 20);
	before = x->frames;
	assert_int_equal(before, 2);
	for (i = 0; i < 16; i++)
		assert_int_equal(frame_send(conn_frames(x->c), 1, FRAME_DATA,
		    FRAME_BYTES, piece, sizeof(piece)), 0);
	(void)conn_flush(x->c);
	put(x, 3, FRAME_OPEN, 0, NULL, 0);
	run(x, 50);
	assert_int_equal(x->frames, before);
	/* the peer reads: all of it comes, and so does the request */
	for (i = 0; i < 100 && total < 16 * sizeof(piece); i++) {
		while ((n = recv(x->peer, piece, sizeof(piece),
		    MSG_DONTWAIT)) > 0)
			total += (size_t)n;
		run(x, 5);
	}
	assert_true(total >= 16 * sizeof(piece));
	run(x, 20);
	assert_int_equal(x->frames, before + 1);
	fix_free(x);
}

static void
test_not_a_socket(void **state)
{
	struct event_base *base = event_base_new();
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	assert_null(conn_new(base, p[0], &slow, &ops, NULL));
	assert_int_equal(errno, ENOTSOCK);
	close(p[0]);
	close(p[1]);
	event_base_free(base);
}

/* Have the loop write and the peer read until ${len} bytes of it are there. */
static void
take(struct fix *x, uint8_t *buf, size_t len)
{
	size_t have = 0;
	ssize_t n;
	int i;

	for (i = 0; have < len && i < 10000; i++) {
		(void)conn_flush(x->c);
		run(x, 1);
		n = recv(x->peer, buf + have, len - have, MSG_DONTWAIT);
		if (n > 0)
			have += (size_t)n;
	}
	assert_int_equal(have, len);
}

static void
put_away(struct fix *x, uint32_t id, uint8_t byte, size_t len)
{
	static uint8_t buf[FRAME_SLICE];
	int fd = conn_pipe(x->c, id);

	assert_true(fd >= 0);
	memset(buf, byte, len);
	assert_int_equal(write(fd, buf, len), len);
	assert_int_equal(conn_piped(x->c, id, FRAME_STDOUT, len), 0);
}

static void
is_data(const uint8_t *p, uint32_t id, uint8_t byte, size_t len)
{
	size_t i;

	assert_int_equal(le_get32(p), len);
	assert_int_equal(le_get32(p + 4), id);
	assert_int_equal(p[8], FRAME_DATA);
	for (i = 0; i < len; i++)
		assert_int_equal(p[FRAME_HEAD + i], byte);
}

/*
 * What was put in the pipe comes out behind its header, to a peer that is slow
 * too; and what a stream that was reset left there is never another's.
 */
static void
test_pipe(void **state)
{
	static uint8_t buf[16 * (FRAME_HEAD + FRAME_SLICE)];
	const size_t one = FRAME_HEAD + FRAME_SLICE;
	struct fix *x = fix_new(&slow);
	size_t i;

	(void)state;
	put(x, 0, FRAME_HELLO, 0, "h", 1);
	run(x, 20);
	greet(x);
	put(x, 1, FRAME_OPEN, 0, "a", 1);
	put(x, 3, FRAME_OPEN, 0, "b", 1);
	run(x, 20);
	take(x, buf, FRAME_HEAD + 1);

	for (i = 0; i < 12; i++)
		put_away(x, 1, (uint8_t)('a' + i), FRAME_SLICE);
	assert_int_equal(conn_pipe(x->c, 3), -1);
	take(x, buf, 12 * one);
	for (i = 0; i < 12; i++)
		is_data(buf + i * one, 1, (uint8_t)('a' + i), FRAME_SLICE);

	put_away(x, 3, 'x', 50);
	assert_int_equal(conn_pipe(x->c, 1), -1);
	take(x, buf, FRAME_HEAD + 50);
	is_data(buf, 3, 'x', 50);

	/* A body that was begun is ended; those after it stay for good. */
	for (i = 0; i < 15; i++)
		put_away(x, 1, 'k', FRAME_SLICE);
	take(x, buf, 100);
	put(x, 1, FRAME_RESET, 0, NULL, 0);
	assert_int_equal(frame_send(conn_frames(x->c), 3, FRAME_REPLY, 0, "r",
	    1), 0);
	for (i = 0; frame_stream_open(conn_frames(x->c), 1) && i < 100; i++)
		run(x, 1);
	for (i = 100; buf[8] == FRAME_DATA; ) {
		take(x, buf + i, FRAME_HEAD + FRAME_SLICE - i);
		is_data(buf, 1, 'k', FRAME_SLICE);
		take(x, buf, FRAME_HEAD);
		i = FRAME_HEAD;
	}
	assert_true(buf[8] == FRAME_REPLY || buf[8] == FRAME_RESET);
	assert_int_equal(conn_pipe(x->c, 3), -1);
	assert_false(conn_over(x->c));
	fix_free(x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_hello),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_pong),
		cmocka_unit_test(test_hold),
		cmocka_unit_test(test_trickle),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_blocked),
		cmocka_unit_test(test_not_a_socket),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
