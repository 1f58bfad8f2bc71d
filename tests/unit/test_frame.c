/* lib/frame*.c: two ends joined in memory, and bytes no end would send. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "lib/frame.h"
#include "lib/le.h"

#define LOG_MAX         512
#define BIG             (3 * FRAME_CREDIT + 12345)

struct seen {
	uint32_t stream;
	uint8_t type;
	uint8_t flags;
	size_t len;
};

struct peer {
	struct frame_conn *fc;
	struct seen log[LOG_MAX];
	size_t n;
	uint64_t data[256];     /* bytes received, by stream */
	uint64_t sum[256];      /* depends on the bytes and their order */
	int consume;
	int refuse;             /* type of frame to refuse */
};

static struct peer client, host;
static uint8_t *big;

static int
on_frame(void *cookie, const struct frame *f)
{
	struct peer *p = cookie;
	size_t i;

	if (p->n < LOG_MAX)
		p->log[p->n++] = (struct seen){ f->stream, f->type, f->flags,
		    f->len };
	if (f->type == FRAME_DATA) {
		p->data[f->stream % 256] += f->len;
		for (i = 0; i < f->len; i++)
			p->sum[f->stream % 256] =
			    p->sum[f->stream % 256] * 31 + f->body[i];
		if (p->consume)
			assert_int_equal(frame_consumed(p->fc, f->stream,
			    f->len), 0);
	}
	return (p->refuse == f->type ? -1 : 0);
}

static void
peer_init(struct peer *p, enum frame_side side)
{
	memset(p, 0, sizeof(*p));
	p->fc = frame_conn_new(side, on_frame, p);
	assert_non_null(p->fc);
	p->consume = 1;
}

static int
setup(void **arg)
{
	size_t i;

	(void)arg;
	if ((big = malloc(BIG)) == NULL)
		return (-1);
	for (i = 0; i < BIG; i++)
		big[i] = (uint8_t)(i * 2654435761u >> 13);
	peer_init(&client, FRAME_CLIENT);
	peer_init(&host, FRAME_HOST);
	return (0);
}

static int
teardown(void **arg)
{
	(void)arg;
	frame_conn_free(client.fc);
	frame_conn_free(host.fc);
	frame_conn_free(NULL);
	free(big);
	return (0);
}

static void
send_ok(struct peer *p, uint32_t id, uint8_t type, uint8_t flags,
    const void *buf, size_t len)
{
	assert_int_equal(frame_send(p->fc, id, type, flags, buf, len), 0);
}

static void
send_bad(struct peer *p, uint32_t id, uint8_t type, uint8_t flags,
    const void *buf, size_t len)
{
	errno = 0;
	assert_int_equal(frame_send(p->fc, id, type, flags, buf, len), -1);
	assert_int_equal(errno, EINVAL);
}

/* Move what there is from one end to the other, ${step} bytes at a time. */
static size_t
move(struct peer *from, struct peer *to, size_t step)
{
	const uint8_t *out;
	size_t n, total = 0;

	while ((n = frame_out(from->fc, &out)) > 0) {
		if (n > step)
			n = step;
		assert_int_equal(frame_feed(to->fc, out, n), 0);
		frame_out_done(from->fc, n);
		total += n;
	}
	return (total);
}

static void
settle(size_t step)
{
	while (move(&client, &host, step) + move(&host, &client, step) > 0)
		continue;
}

static void
hello(void)
{
	send_ok(&client, 0, FRAME_HELLO, 0, "c", 1);
	send_ok(&host, 0, FRAME_HELLO, 0, "h", 1);
	settle(SIZE_MAX);
}

static uint32_t
open_stream(void)
{
	uint32_t id = frame_stream_new(client.fc);

	assert_int_not_equal(id, 0);
	send_ok(&client, id, FRAME_OPEN, 0, "req", 3);
	return (id);
}

static void
saw(const struct peer *p, size_t i, uint32_t id, uint8_t type, size_t len)
{
	assert_true(i < p->n);
	assert_int_equal(p->log[i].stream, id);
	assert_int_equal(p->log[i].type, type);
	assert_int_equal(p->log[i].len, len);
}

static uint64_t
sum_of(const uint8_t *buf, size_t len)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < len; i++)
		sum = sum * 31 + buf[i];
	return (sum);
}

static void
test_round_trip(void **arg)
{
	uint32_t id;

	(void)arg;
	hello();
	id = open_stream();
	assert_int_equal(id, 1);
	send_ok(&client, id, FRAME_DATA, FRAME_OBJECT, "abcdef", 6);
	send_ok(&client, id, FRAME_END, 0, NULL, 0);
	settle(SIZE_MAX);
	assert_int_equal(host.n, 4);
	saw(&host, 0, 0, FRAME_HELLO, 1);
	saw(&host, 1, 1, FRAME_OPEN, 3);
	saw(&host, 2, 1, FRAME_DATA, 6);
	assert_int_equal(host.log[2].flags, FRAME_OBJECT);
	saw(&host, 3, 1, FRAME_END, 0);

	send_ok(&host, id, FRAME_REPLY, FRAME_MORE, "yes", 3);
	send_ok(&host, id, FRAME_DATA, FRAME_STDOUT, "out", 3);
	send_ok(&host, id, FRAME_REPLY, 0, NULL, 0);
	assert_false(frame_stream_open(host.fc, id));
	assert_true(frame_stream_open(client.fc, id));
	send_ok(&host, 0, FRAME_GOAWAY, 0, "bye", 3);
	settle(SIZE_MAX);
	assert_int_equal(client.n, 5);
	saw(&client, 1, 0, FRAME_GOAWAY, 3);
	saw(&client, 2, 1, FRAME_REPLY, 3);
	assert_int_equal(client.log[2].flags, FRAME_MORE);
	saw(&client, 3, 1, FRAME_DATA, 3);
	saw(&client, 4, 1, FRAME_REPLY, 0);
	assert_false(frame_stream_open(client.fc, id));
	assert_int_equal(frame_bytes_sent(client.fc), 6);
	assert_int_equal(frame_bytes_received(client.fc), 3);
	assert_int_equal(frame_bytes_received(host.fc), 6);
}

/* The first flight needs no answer. */
static void
test_one_flight(void **arg)
{
	uint32_t id;

	(void)arg;
	send_bad(&client, 1, FRAME_OPEN, 0, NULL, 0);
	send_ok(&client, 0, FRAME_HELLO, 0, "c", 1);
	id = open_stream();
	send_ok(&client, id, FRAME_DATA, FRAME_OBJECT, big, 200000);
	move(&client, &host, SIZE_MAX);
	assert_int_equal(host.data[id], 200000);
	assert_int_equal(host.sum[id], sum_of(big, 200000));
}

/* Nothing leaves the host before its HELLO. */
static void
test_hello_first(void **arg)
{
	const uint8_t *out;

	(void)arg;
	send_ok(&client, 0, FRAME_HELLO, 0, "c", 1);
	send_ok(&client, 0, FRAME_PING, 0, NULL, 0);
	send_ok(&client, open_stream(), FRAME_DATA, 0, big, FRAME_CREDIT);
	move(&client, &host, SIZE_MAX);
	assert_int_equal(frame_out(host.fc, &out), 0);
	send_ok(&host, 0, FRAME_HELLO, 0, "h", 1);
	assert_true(frame_out(host.fc, &out) > FRAME_HEAD);
	assert_int_equal(out[8], FRAME_HELLO);
	move(&host, &client, SIZE_MAX);
	saw(&client, 0, 0, FRAME_HELLO, 1);
}

static void
test_credit(void **arg)
{
	const uint8_t *out;
	uint32_t id;

	(void)arg;
	hello();
	host.consume = 0;
	id = open_stream();
	send_ok(&client, id, FRAME_DATA, FRAME_STDIN, big, BIG);
	assert_int_equal(frame_waiting(client.fc, id), BIG);
	settle(SIZE_MAX);
	assert_int_equal(host.data[id], FRAME_CREDIT);
	assert_int_equal(frame_waiting(client.fc, id), BIG - FRAME_CREDIT);
	assert_int_equal(frame_out(client.fc, &out), 0);

	/* A little is not yet worth a grant; a quarter is. */
	assert_int_equal(frame_consumed(host.fc, id, 1000), 0);
	settle(SIZE_MAX);
	assert_int_equal(host.data[id], FRAME_CREDIT);
	assert_int_equal(frame_consumed(host.fc, id, FRAME_CREDIT / 4), 0);
	settle(SIZE_MAX);
	assert_int_equal(host.data[id],
	    FRAME_CREDIT + 1000 + FRAME_CREDIT / 4);

	/* More than was received cannot have been used. */
	assert_int_equal(frame_consumed(host.fc, id, FRAME_CREDIT + 1), -1);
	assert_int_equal(errno, EINVAL);
	host.consume = 1;
	assert_int_equal(frame_consumed(host.fc, id, FRAME_CREDIT), 0);
	settle(SIZE_MAX);
	assert_int_equal(host.data[id], BIG);
	assert_int_equal(host.sum[id], sum_of(big, BIG));
	assert_int_equal(frame_waiting(client.fc, id), 0);
}

/* A stream without credit holds up no other. */
static void
test_stalled(void **arg)
{
	uint32_t a, b;

	(void)arg;
	hello();
	host.consume = 0;
	a = open_stream();
	b = open_stream();
	send_ok(&client, a, FRAME_DATA, 0, big, BIG);
	settle(SIZE_MAX);
	send_ok(&client, b, FRAME_DATA, 0, big, 1000);
	send_ok(&client, b, FRAME_END, 0, NULL, 0);
	settle(SIZE_MAX);
	assert_int_equal(host.data[a], FRAME_CREDIT);
	assert_int_equal(host.data[b], 1000);
	saw(&host, host.n - 1, b, FRAME_END, 0);
}

static void
test_fair(void **arg)
{
	size_t i, turns = 0, same = 0;
	uint32_t a, b;

	(void)arg;
	hello();
	a = open_stream();
	b = open_stream();
	settle(SIZE_MAX);
	host.n = 0;
	send_ok(&client, a, FRAME_DATA, 0, big, FRAME_CREDIT);
	send_ok(&client, b, FRAME_DATA, 0, big, FRAME_CREDIT);
	settle(SIZE_MAX);
	for (i = 1; i < host.n; i++) {
		assert_int_equal(host.log[i].type, FRAME_DATA);
		assert_true(host.log[i].len <= FRAME_SLICE);
		turns++;
		if (host.log[i].stream == host.log[i - 1].stream)
			same++;
	}
	assert_true(turns > 8);
	assert_true(same <= 1);

	/* A keystroke waits for one slice at most. */
	send_ok(&client, a, FRAME_DATA, 0, big, FRAME_CREDIT / 2);
	host.n = 0;
	send_ok(&client, b, FRAME_DATA, 0, "k", 1);
	settle(SIZE_MAX);
	for (i = 0; host.log[i].stream != b; i++)
		continue;
	assert_true(i <= 1);
}

/* Rule 4: control overtakes DATA of other streams, never of its own. */
static void
test_order(void **arg)
{
	uint32_t a, b;

	(void)arg;
	hello();
	a = open_stream();
	settle(SIZE_MAX);
	host.n = 0;
	send_ok(&client, a, FRAME_DATA, 0, big, 3 * FRAME_SLICE);
	send_ok(&client, a, FRAME_END, 0, NULL, 0);
	b = open_stream();
	settle(SIZE_MAX);
	assert_int_equal(host.n, 5);
	saw(&host, 0, b, FRAME_OPEN, 3);
	saw(&host, 1, a, FRAME_DATA, FRAME_SLICE);
	saw(&host, 3, a, FRAME_DATA, FRAME_SLICE);
	saw(&host, 4, a, FRAME_END, 0);

	client.n = 0;
	send_ok(&host, a, FRAME_DATA, FRAME_STDOUT, big, 100);
	send_ok(&host, a, FRAME_REPLY, FRAME_MORE, "m", 1);
	send_ok(&host, a, FRAME_DATA, FRAME_STDOUT, big, 50);
	send_ok(&host, a, FRAME_DATA, FRAME_STDERR, big, 60);
	send_ok(&host, a, FRAME_DATA, FRAME_STDERR, big, 7);
	send_ok(&host, a, FRAME_RESET, 0, "r", 1);
	send_ok(&host, b, FRAME_REPLY, 0, "b", 1);
	settle(SIZE_MAX);
	assert_int_equal(client.n, 6);
	saw(&client, 0, b, FRAME_REPLY, 1);
	saw(&client, 1, a, FRAME_DATA, 100);
	saw(&client, 2, a, FRAME_REPLY, 1);
	saw(&client, 3, a, FRAME_DATA, 50);
	saw(&client, 4, a, FRAME_DATA, 67);
	saw(&client, 5, a, FRAME_RESET, 1);
}

/* Many small writes become few frames, and arrive whole. */
static void
test_join(void **arg)
{
	uint32_t id;
	size_t i;

	(void)arg;
	hello();
	id = open_stream();
	for (i = 0; i < 100000; i++)
		send_ok(&client, id, FRAME_DATA, 0, big + i, 1);
	assert_int_equal(frame_waiting(client.fc, id), 100000);
	settle(SIZE_MAX);
	assert_int_equal(host.data[id], 100000);
	assert_int_equal(host.sum[id], sum_of(big, 100000));
	assert_true(host.n < 40);
}

/* Put bytes of big where frame_room says, and send them from there. */
static uint8_t *
send_room(uint32_t id, size_t at, size_t len)
{
	uint8_t *room = frame_room(host.fc);

	assert_non_null(room);
	memcpy(room, big + at, len);
	send_ok(&host, id, FRAME_DATA, FRAME_STDOUT, room, len);
	return (room);
}

/* Long DATA that lies there is not copied; short DATA is, and is joined. */
static void
test_room(void **arg)
{
	const size_t odd = 60001;
	const uint8_t *out;
	uint8_t *room;
	size_t i, all;
	uint32_t id;

	(void)arg;
	hello();
	id = open_stream();
	settle(SIZE_MAX);
	room = send_room(id, 0, FRAME_SLICE);
	assert_int_equal(frame_out(host.fc, &out), FRAME_HEAD + FRAME_SLICE);
	assert_ptr_equal(out, room - FRAME_HEAD);
	assert_ptr_not_equal(frame_room(host.fc), room);
	room = send_room(id, FRAME_SLICE, 100);
	memset(room, 255, FRAME_SLICE);
	assert_ptr_equal(send_room(id, FRAME_SLICE + 100, 50), room);
	settle(SIZE_MAX);
	all = FRAME_SLICE + 150;
	assert_int_equal(client.data[id], all);
	assert_int_equal(client.sum[id], sum_of(big, all));
	assert_int_equal(client.log[client.n - 1].len, 150);

	/* Where the credit ends in its midst. */
	client.consume = 0;
	for (i = 0; i < 20; i++, all += odd)
		(void)send_room(id, all, odd);
	settle(SIZE_MAX);
	assert_int_equal(client.data[id], FRAME_CREDIT);
	client.consume = 1;
	assert_int_equal(frame_consumed(client.fc, id, FRAME_CREDIT -
	    FRAME_SLICE - 150), 0);
	settle(SIZE_MAX);
	assert_int_equal(client.data[id], all);
	assert_int_equal(client.sum[id], sum_of(big, all));
	assert_int_equal(frame_waiting(host.fc, id), 0);
}

static void
frame_head(uint8_t *p, size_t len, uint32_t stream)
{
	le_put32(p, (uint32_t)len);
	le_put32(p + 4, stream);
	p[8] = FRAME_DATA;
	p[9] = FRAME_STDOUT;
	le_put16(p + 10, 0);
}

/* What is written for the host: frames, and bodies from ${at} on in big. */
static size_t
move_away(size_t at)
{
	const uint8_t *out;
	size_t n;

	for (;;) {
		if ((n = frame_out(host.fc, &out)) > 0) {
			/* No body is asked for before its header is out. */
			assert_int_equal(frame_owed(host.fc), 0);
			assert_int_equal(frame_feed(client.fc, out, n), 0);
			frame_out_done(host.fc, n);
		} else if ((n = frame_owed(host.fc)) > 0) {
			n = n > 7000 ? 7000 : n;
			assert_int_equal(frame_feed(client.fc, big + at, n), 0);
			frame_owed_done(host.fc, n);
			at += n;
		} else if (move(&client, &host, SIZE_MAX) == 0)
			return (at);
	}
}

/* DATA whose body is elsewhere: in order with all else, within the credit. */
static void
test_away(void **arg)
{
	size_t at, i;
	uint32_t id, other;

	(void)arg;
	hello();
	id = open_stream();
	other = open_stream();
	settle(SIZE_MAX);
	client.n = 0;
	assert_int_equal(frame_send_away(host.fc, id, FRAME_STDOUT, 5000), 0);
	send_ok(&host, id, FRAME_DATA, FRAME_STDOUT, big + 5000, 10);
	send_ok(&host, id, FRAME_DATA, FRAME_STDOUT, big + 5010, 20);
	assert_int_equal(frame_send_away(host.fc, id, FRAME_STDERR,
	    FRAME_SLICE), 0);
	send_ok(&host, other, FRAME_REPLY, 0, "o", 1);
	assert_int_equal(frame_waiting(host.fc, id), 5030 + FRAME_SLICE);
	at = move_away(0);
	assert_int_equal(at, 5000 + FRAME_SLICE);
	assert_int_equal(client.n, 4);
	saw(&client, 0, other, FRAME_REPLY, 1);
	saw(&client, 1, id, FRAME_DATA, 5000);
	saw(&client, 2, id, FRAME_DATA, 30);
	saw(&client, 3, id, FRAME_DATA, FRAME_SLICE);
	assert_int_equal(client.log[3].flags, FRAME_STDERR);

	/* Where the credit ends in its midst. */
	client.consume = 0;
	client.sum[id] = 0;
	for (i = 0; i < 40; i++)
		assert_int_equal(frame_send_away(host.fc, id, FRAME_STDOUT,
		    60001), 0);
	at = move_away(0);
	assert_int_equal(at, FRAME_CREDIT - 5030 - FRAME_SLICE);
	assert_int_equal(frame_waiting(host.fc, id), 40 * 60001 - at);
	client.consume = 1;
	assert_int_equal(frame_consumed(client.fc, id, at), 0);
	at = move_away(at);
	assert_int_equal(at, 40 * 60001);
	assert_int_equal(client.sum[id], sum_of(big, at));
	assert_int_equal(frame_waiting(host.fc, id), 0);

	assert_int_equal(frame_send_away(host.fc, id, 0, 0), -1);
	assert_int_equal(frame_send_away(host.fc, id, 0, FRAME_SLICE + 1), -1);
	assert_int_equal(frame_send_away(host.fc, other, 0, 1), -1);
	assert_int_equal(frame_send_away(host.fc, id, FRAME_ENV + 1, 1), -1);
}

/* A stream that is reset still has what was begun, and no more. */
static void
test_away_reset(void **arg)
{
	const uint8_t *out;
	uint32_t id;
	size_t n;

	(void)arg;
	hello();
	id = open_stream();
	settle(SIZE_MAX);
	assert_int_equal(frame_send_away(host.fc, id, FRAME_STDOUT, 900), 0);
	assert_int_equal(frame_send_away(host.fc, id, FRAME_STDOUT, 900), 0);
	n = frame_out(host.fc, &out);
	assert_int_equal(n, FRAME_HEAD);
	assert_int_equal(frame_feed(client.fc, out, n), 0);
	frame_out_done(host.fc, n);
	assert_int_equal(frame_owed(host.fc), 900);
	send_ok(&client, id, FRAME_RESET, 0, NULL, 0);
	move(&client, &host, SIZE_MAX);
	assert_int_equal(frame_out(host.fc, &out), 0);
	assert_int_equal(frame_owed(host.fc), 900);
	assert_int_equal(move_away(0), 900);
	assert_int_equal(frame_stream_open(host.fc, id), 0);
}

/* Feed the host's bytes, but no body of DATA: these are moved, by half. */
static void
feed_heads(const uint8_t *p, size_t len)
{
	struct frame f;
	size_t n;

	for (; len > 0; p += n, len -= n) {
		if (frame_body(client.fc, &f)) {
			n = f.len > 4000 ? f.len / 2 : f.len;
			n = n < len ? n : len;
			client.data[f.stream] += n;
			frame_body_done(client.fc, n);
			assert_int_equal(frame_consumed(client.fc, f.stream,
			    n), 0);
			continue;
		}
		n = frame_want(client.fc);
		n = n < len ? n : len;
		assert_true(n > 0);
		assert_int_equal(frame_feed(client.fc, p, n), 0);
	}
}

/* Bodies that their receiver takes himself count as if they had been fed. */
static void
test_body(void **arg)
{
	const uint8_t *out;
	struct frame f;
	uint32_t id;
	size_t n;

	(void)arg;
	hello();
	id = open_stream();
	settle(SIZE_MAX);
	client.n = 0;
	send_ok(&host, id, FRAME_DATA, FRAME_STDOUT, big, BIG);
	send_ok(&host, id, FRAME_REPLY, 0, "r", 1);
	do {
		while ((n = frame_out(host.fc, &out)) > 0) {
			feed_heads(out, n);
			frame_out_done(host.fc, n);
		}
	} while (move(&client, &host, SIZE_MAX) > 0);
	assert_int_equal(client.data[id], BIG);
	assert_int_equal(frame_bytes_received(client.fc), BIG);
	assert_int_equal(client.n, 1);
	saw(&client, 0, id, FRAME_REPLY, 1);
	assert_int_equal(frame_body(client.fc, &f), 0);
	assert_int_equal(frame_want(client.fc), FRAME_HEAD);
}

/* What is fed of a body that was begun comes as a frame of its own. */
static void
test_body_rest(void **arg)
{
	const uint8_t *out;
	struct frame f;
	uint32_t id;
	size_t n;

	(void)arg;
	hello();
	id = open_stream();
	settle(SIZE_MAX);
	client.n = 0;
	send_ok(&host, id, FRAME_DATA, FRAME_STDERR, big, 1000);
	n = frame_out(host.fc, &out);
	assert_int_equal(frame_feed(client.fc, out, FRAME_HEAD), 0);
	assert_int_equal(frame_body(client.fc, &f), 1);
	assert_int_equal(f.stream, id);
	assert_int_equal(f.flags, FRAME_STDERR);
	assert_int_equal(f.len, 1000);
	frame_body_done(client.fc, 300);
	assert_int_equal(frame_body(client.fc, &f), 1);
	assert_int_equal(f.len, 700);
	assert_int_equal(frame_feed(client.fc, out + FRAME_HEAD + 300, 1), 0);
	assert_int_equal(frame_body(client.fc, &f), 0);
	assert_int_equal(frame_want(client.fc), 699);
	assert_int_equal(frame_feed(client.fc, out + FRAME_HEAD + 301,
	    n - FRAME_HEAD - 301), 0);
	assert_int_equal(client.n, 1);
	saw(&client, 0, id, FRAME_DATA, 700);
	assert_int_equal(client.sum[id], sum_of(big + 300, 700));
}

/* What may not come is nobody's to move. */
static void
test_body_bad(void **arg)
{
	uint8_t head[FRAME_HEAD];
	struct frame f;
	uint32_t id;
	size_t left;

	(void)arg;
	hello();
	id = open_stream();
	settle(SIZE_MAX);
	/* All of the credit, in headers. */
	for (left = FRAME_CREDIT; left > 0; left -= FRAME_SLICE) {
		frame_head(head, FRAME_SLICE, id);
		assert_int_equal(frame_feed(client.fc, head, FRAME_HEAD), 0);
		assert_int_equal(frame_body(client.fc, &f), 1);
		frame_body_done(client.fc, FRAME_SLICE);
	}
	frame_head(head, 1, id);
	assert_int_equal(frame_feed(client.fc, head, FRAME_HEAD), 0);
	assert_int_equal(frame_body(client.fc, &f), 0);
	assert_int_equal(frame_feed(client.fc, big, 1), -1);
	assert_string_equal(frame_fault(client.fc), "DATA beyond the credit");
	assert_int_equal(frame_body(client.fc, &f), 0);
}

/* A conversation cut into steps of 1, 2, 3 ... bytes is the same one. */
static void
test_steps(void **arg)
{
	static struct seen want[LOG_MAX];
	size_t step, n = 0;
	uint32_t id;

	(void)arg;
	for (step = 0; step < 40; step++) {
		frame_conn_free(client.fc);
		frame_conn_free(host.fc);
		peer_init(&client, FRAME_CLIENT);
		peer_init(&host, FRAME_HOST);
		send_ok(&client, 0, FRAME_HELLO, 0, "c", 1);
		send_ok(&host, 0, FRAME_HELLO, 0, "h", 1);
		id = open_stream();
		send_ok(&client, id, FRAME_DATA, 0, big, 70000);
		send_ok(&client, id, FRAME_END, 0, NULL, 0);
		id = open_stream();
		send_ok(&client, id, FRAME_DATA, 0, big, 13);
		send_ok(&client, id, FRAME_RESET, 0, "no", 2);
		settle(step == 0 ? SIZE_MAX : step);
		if (step == 0) {
			n = host.n;
			memcpy(want, host.log, sizeof(want));
		}
		assert_int_equal(host.n, n);
		assert_memory_equal(host.log, want, n * sizeof(want[0]));
		assert_int_equal(host.sum[1], sum_of(big, 70000));
	}
}

static void
test_ping(void **arg)
{
	static const uint8_t ping[FRAME_HEAD] = { [8] = FRAME_PING };
	const uint8_t *out;
	size_t i;

	(void)arg;
	hello();
	for (i = 0; i < 100000; i++)
		assert_int_equal(frame_feed(host.fc, ping, sizeof(ping)), 0);
	assert_int_equal(frame_out(host.fc, &out), FRAME_HEAD);
	assert_int_equal(out[8], FRAME_PING);
	assert_int_equal(out[9], 1);
	move(&host, &client, SIZE_MAX);
	assert_int_equal(frame_out(client.fc, &out), 0);
	assert_int_equal(client.n, 1);
}

static void
test_client_reset(void **arg)
{
	uint32_t id;

	(void)arg;
	hello();
	host.consume = 0;
	id = open_stream();
	send_ok(&client, id, FRAME_DATA, 0, big, BIG);
	settle(SIZE_MAX);
	send_ok(&client, id, FRAME_RESET, 0, "x", 1);
	assert_false(frame_stream_open(client.fc, id));
	assert_int_equal(frame_waiting(client.fc, id), 0);
	send_bad(&client, id, FRAME_DATA, 0, "x", 1);
	client.n = 0;
	send_ok(&host, id, FRAME_DATA, 0, big, BIG);
	send_ok(&host, id, FRAME_REPLY, 0, NULL, 0);
	settle(SIZE_MAX);
	/* Crossing frames of the host are nobody's business any more. */
	assert_int_equal(client.n, 0);
	assert_false(frame_stream_open(host.fc, id));
	assert_int_equal(frame_waiting(host.fc, id), 0);

	/* One that never left is not heard of at all. */
	host.n = 0;
	id = open_stream();
	send_ok(&client, id, FRAME_RESET, 0, NULL, 0);
	settle(SIZE_MAX);
	assert_int_equal(host.n, 0);
	id = open_stream();
	settle(SIZE_MAX);
	saw(&host, 0, id, FRAME_OPEN, 3);
}

/* The last REPLY comes while the client still sends, grants and resets. */
static void
test_crossing(void **arg)
{
	uint32_t id;
	int i;

	(void)arg;
	hello();
	for (i = 0; i < 300; i++) {
		id = open_stream();
		send_ok(&client, id, FRAME_DATA, 0, big, FRAME_CREDIT * 2);
		move(&client, &host, SIZE_MAX);
		if (i % 4 == 0)
			send_ok(&host, id, FRAME_DATA, 0, big, FRAME_CREDIT);
		if (i % 5 == 0)
			send_ok(&client, id, FRAME_END, 0, NULL, 0);
		if (i % 3 == 0)
			send_ok(&client, id, FRAME_RESET, 0, NULL, 0);
		if (i % 2 == 0)
			send_ok(&host, id, FRAME_REPLY, 0, NULL, 0);
		else
			send_ok(&host, id, FRAME_RESET, 0, NULL, 0);
		settle(SIZE_MAX);
		assert_false(frame_stream_open(client.fc, id));
		assert_false(frame_stream_open(host.fc, id));
		host.n = client.n = 0;
	}
}

static void
test_limits(void **arg)
{
	uint32_t id = 0;
	int i;

	(void)arg;
	hello();
	for (i = 0; i < FRAME_STREAMS; i++)
		id = open_stream();
	assert_int_equal(id, 2 * FRAME_STREAMS - 1);
	assert_int_equal(frame_stream_new(client.fc), 0);
	settle(SIZE_MAX);
	send_ok(&host, 1, FRAME_REPLY, 0, NULL, 0);
	settle(SIZE_MAX);
	assert_int_equal(open_stream(), 2 * FRAME_STREAMS + 1);
	settle(SIZE_MAX);
}

static void
test_send_refused(void **arg)
{
	uint32_t id;

	(void)arg;
	hello();
	id = open_stream();
	settle(SIZE_MAX);
	send_bad(&client, 0, FRAME_HELLO, 0, NULL, 0);
	send_bad(&client, 0, FRAME_GOAWAY, 0, NULL, 0);
	send_bad(&client, 0, FRAME_PING, 1, NULL, 0);
	send_bad(&client, 0, FRAME_PING, 0, "x", 1);
	send_bad(&client, 0, FRAME_DATA, 0, "x", 1);
	send_bad(&client, id, FRAME_OPEN, 0, NULL, 0);
	send_bad(&client, id + 1, FRAME_OPEN, 0, NULL, 0);
	send_bad(&client, id + 2, FRAME_OPEN, 0, NULL, 0);
	send_bad(&client, id + 2, FRAME_DATA, 0, "x", 1);
	send_bad(&client, id, FRAME_REPLY, 0, NULL, 0);
	send_bad(&client, id, FRAME_DATA, FRAME_ENV + 1, "x", 1);
	send_bad(&client, id, FRAME_CREDIT_GRANT, 0, "12345678", 8);
	send_bad(&client, id, FRAME_END, 0, "x", 1);
	send_bad(&client, id, FRAME_RESET, 1, NULL, 0);
	send_bad(&client, id, FRAME_RESET, 0, big, FRAME_BODY_MAX + 1);
	send_bad(&client, id, 77, 0, NULL, 0);
	send_bad(&host, id, FRAME_OPEN, 0, NULL, 0);
	send_bad(&host, id, FRAME_REPLY, 2, NULL, 0);
	send_ok(&client, id, FRAME_DATA, 0, NULL, 0);
	send_ok(&client, id, FRAME_END, 0, NULL, 0);
	send_bad(&client, id, FRAME_END, 0, NULL, 0);
	send_bad(&client, id, FRAME_DATA, 0, "x", 1);
	settle(SIZE_MAX);
	assert_int_equal(frame_consumed(host.fc, 99, 5), 0);
}

/* --- what no honest peer sends --- */

struct raw {
	uint8_t b[600000];
	size_t len;
};

static struct raw raw;

static void
put(uint32_t id, uint8_t type, uint8_t flags, const void *body, size_t len)
{
	uint8_t *p = raw.b + raw.len;

	le_put32(p, (uint32_t)len);
	le_put32(p + 4, id);
	p[8] = type;
	p[9] = flags;
	p[10] = p[11] = 0;
	if (len > 0)
		memcpy(p + FRAME_HEAD, body, len);
	raw.len += FRAME_HEAD + len;
}

static void
begin(int with_hello)
{
	raw.len = 0;
	if (with_hello)
		put(0, FRAME_HELLO, 0, NULL, 0);
}

/* Feed raw in steps to a fresh end; open streams 1 and 3 on a client. */
static const char *
fault_of(enum frame_side side, size_t step, struct peer *p)
{
	const uint8_t *out;
	size_t at, n;
	int rc = 0;

	peer_init(p, side);
	send_ok(p, 0, FRAME_HELLO, 0, NULL, 0);
	if (side == FRAME_CLIENT) {
		send_ok(p, frame_stream_new(p->fc), FRAME_OPEN, 0, NULL, 0);
		send_ok(p, frame_stream_new(p->fc), FRAME_OPEN, 0, NULL, 0);
		while ((n = frame_out(p->fc, &out)) > 0)
			frame_out_done(p->fc, n);
		send_ok(p, frame_stream_new(p->fc), FRAME_OPEN, 0, NULL, 0);
	}
	for (at = 0; at < raw.len && rc == 0; at += n) {
		n = raw.len - at < step ? raw.len - at : step;
		rc = frame_feed(p->fc, raw.b + at, n);
	}
	if (rc == 0)
		return (NULL);
	assert_int_equal(errno, EPROTO);
	assert_int_equal(frame_feed(p->fc, raw.b, 1), -1);
	assert_int_equal(errno, EPROTO);
	return (frame_fault(p->fc));
}

static void
refused(enum frame_side side, const char *want)
{
	static struct peer a, b;
	const char *whole = fault_of(side, SIZE_MAX, &a);
	const char *bytes = fault_of(side, 1, &b);

	if (whole == NULL || strstr(whole, want) == NULL)
		fail_msg("want \"%s\", got \"%s\"", want,
		    whole == NULL ? "no fault" : whole);
	assert_string_equal(whole, bytes);
	assert_int_equal(a.n, b.n);
	frame_conn_free(a.fc);
	frame_conn_free(b.fc);
}

static void
test_bad_heads(void **arg)
{
	static const uint8_t types[] = { 2, 3, 4, 5, 6, 7, 8, 9 };
	size_t i;

	(void)arg;
	for (i = 0; i < sizeof(types); i++) {
		begin(0);
		put(i < 6, types[i], 0, "12345678", types[i] == 5 ? 8 : 0);
		refused(FRAME_HOST, "first frame is not HELLO");
	}
	begin(1), put(0, FRAME_HELLO, 0, NULL, 0);
	refused(FRAME_HOST, "second HELLO");
	begin(1), put(0, 0, 0, NULL, 0);
	refused(FRAME_HOST, "unknown frame type");
	begin(1), put(0, 10, 0, NULL, 0);
	refused(FRAME_CLIENT, "unknown frame type");
	begin(1), put(1, FRAME_OPEN, 0, NULL, 0), raw.b[raw.len - 1] = 1;
	refused(FRAME_HOST, "reserved");
	begin(1), put(1, FRAME_OPEN, 0, NULL, 0), raw.b[raw.len - 2] = 1;
	refused(FRAME_HOST, "reserved");
	begin(1), put(1, FRAME_OPEN, 1, NULL, 0);
	refused(FRAME_HOST, "flags");
	begin(1), put(1, FRAME_REPLY, 2, NULL, 0);
	refused(FRAME_CLIENT, "flags");
	begin(1), put(1, FRAME_DATA, 7, "x", 1);
	refused(FRAME_CLIENT, "flags");
	begin(1), put(0, FRAME_PING, 2, NULL, 0);
	refused(FRAME_CLIENT, "flags");
}

static void
test_bad_lengths(void **arg)
{
	(void)arg;
	begin(1), put(1, FRAME_OPEN, 0, big, FRAME_BODY_MAX + 1);
	refused(FRAME_HOST, "length");
	begin(0), put(0, FRAME_HELLO, 0, big, FRAME_BODY_MAX + 1);
	refused(FRAME_HOST, "length");
	begin(1), put(1, FRAME_DATA, 0, big, FRAME_SLICE + 1);
	refused(FRAME_CLIENT, "length");
	begin(1), put(1, FRAME_DATA, 0, NULL, 0);
	refused(FRAME_CLIENT, "length");
	begin(1), put(1, FRAME_CREDIT_GRANT, 0, big, 7);
	refused(FRAME_CLIENT, "length");
	begin(1), put(1, FRAME_CREDIT_GRANT, 0, big, 9);
	refused(FRAME_CLIENT, "length");
	begin(1), put(1, FRAME_END, 0, big, 1);
	refused(FRAME_CLIENT, "length");
	begin(1), put(0, FRAME_PING, 0, big, 1);
	refused(FRAME_CLIENT, "length");
	/* Refused by the header alone, before there is a body. */
	begin(1), put(1, FRAME_OPEN, 0, NULL, 0);
	le_put32(raw.b + raw.len - FRAME_HEAD, UINT32_MAX);
	refused(FRAME_HOST, "length");
}

static void
test_bad_streams(void **arg)
{
	(void)arg;
	begin(1), put(0, FRAME_DATA, 0, "x", 1);
	refused(FRAME_CLIENT, "wrong stream");
	begin(1), put(3, FRAME_PING, 0, NULL, 0);
	refused(FRAME_CLIENT, "wrong stream");
	begin(0), put(1, FRAME_HELLO, 0, NULL, 0);
	refused(FRAME_HOST, "wrong stream");
	begin(1), put(2, FRAME_OPEN, 0, NULL, 0);
	refused(FRAME_HOST, "odd and ascend");
	begin(1), put(3, FRAME_OPEN, 0, NULL, 0),
	    put(1, FRAME_OPEN, 0, NULL, 0);
	refused(FRAME_HOST, "odd and ascend");
	begin(1), put(3, FRAME_OPEN, 0, NULL, 0),
	    put(3, FRAME_OPEN, 0, NULL, 0);
	refused(FRAME_HOST, "odd and ascend");
	begin(1), put(1, FRAME_OPEN, 0, NULL, 0);
	refused(FRAME_CLIENT, "OPEN from the host");
	begin(1), put(1, FRAME_OPEN, 0, NULL, 0),
	    put(1, FRAME_REPLY, 0, NULL, 0);
	refused(FRAME_HOST, "REPLY from the client");
	begin(1), put(0, FRAME_GOAWAY, 0, NULL, 0);
	refused(FRAME_HOST, "GOAWAY from the client");
	begin(1), put(1, FRAME_DATA, 0, "x", 1);
	refused(FRAME_HOST, "not open");
	begin(1), put(1, FRAME_RESET, 0, NULL, 0);
	refused(FRAME_HOST, "not open");
	begin(1), put(7, FRAME_REPLY, 0, NULL, 0);
	refused(FRAME_CLIENT, "not open");
	/* Stream 5 is still waiting to be opened. */
	begin(1), put(5, FRAME_REPLY, 0, NULL, 0);
	refused(FRAME_CLIENT, "not open");
}

static void
test_bad_states(void **arg)
{
	uint8_t less[8];

	(void)arg;
	begin(1), put(1, FRAME_REPLY, 0, NULL, 0),
	    put(1, FRAME_DATA, 0, "x", 1);
	refused(FRAME_CLIENT, "after the last");
	begin(1), put(1, FRAME_RESET, 0, NULL, 0),
	    put(1, FRAME_REPLY, 0, NULL, 0);
	refused(FRAME_CLIENT, "after the last");
	begin(1), put(1, FRAME_END, 0, NULL, 0), put(1, FRAME_DATA, 0, "x", 1);
	refused(FRAME_CLIENT, "DATA after END");
	begin(1), put(1, FRAME_OPEN, 0, NULL, 0), put(1, FRAME_END, 0, NULL, 0),
	    put(1, FRAME_END, 0, NULL, 0);
	refused(FRAME_HOST, "second END");
	le_put64(less, FRAME_CREDIT);
	begin(1), put(1, FRAME_CREDIT_GRANT, 0, less, 8);
	refused(FRAME_CLIENT, "does not grow");
	le_put64(less, UINT64_MAX);
	begin(1), put(1, FRAME_CREDIT_GRANT, 0, less, 8),
	    put(1, FRAME_CREDIT_GRANT, 0, less, 8);
	refused(FRAME_CLIENT, "does not grow");
}

/* What was not granted is refused, and so are streams beyond the limit. */
static void
test_bad_amounts(void **arg)
{
	struct peer p;
	int i, rc = 0;

	(void)arg;
	peer_init(&p, FRAME_HOST);
	p.consume = 0;
	begin(1), put(1, FRAME_OPEN, 0, NULL, 0);
	assert_int_equal(frame_feed(p.fc, raw.b, raw.len), 0);
	begin(0), put(1, FRAME_DATA, 0, big, FRAME_SLICE);
	for (i = 0; i < FRAME_CREDIT / FRAME_SLICE; i++)
		assert_int_equal(frame_feed(p.fc, raw.b, raw.len), 0);
	begin(0), put(1, FRAME_DATA, 0, "x", 1);
	assert_int_equal(frame_feed(p.fc, raw.b, raw.len), -1);
	assert_string_equal(frame_fault(p.fc), "DATA beyond the credit");
	frame_conn_free(p.fc);

	/* Opening and dropping without ever reading does not grow memory. */
	peer_init(&p, FRAME_HOST);
	begin(1);
	assert_int_equal(frame_feed(p.fc, raw.b, raw.len), 0);
	for (i = 0; i < 1000 && rc == 0; i++) {
		begin(0);
		put((uint32_t)i * 2 + 1, FRAME_OPEN, 0, NULL, 0);
		put((uint32_t)i * 2 + 1, FRAME_RESET, 0, NULL, 0);
		rc = frame_feed(p.fc, raw.b, raw.len);
	}
	assert_int_equal(i, FRAME_STREAMS + 1);
	assert_string_equal(frame_fault(p.fc), "too many streams");
	frame_conn_free(p.fc);

	peer_init(&p, FRAME_HOST);
	p.refuse = FRAME_OPEN;
	begin(1), put(1, FRAME_OPEN, 0, NULL, 0);
	assert_int_equal(frame_feed(p.fc, raw.b, raw.len), -1);
	assert_string_equal(frame_fault(p.fc), "a frame was refused");
	frame_conn_free(p.fc);
}

static int
eat(void *cookie, const struct frame *f)
{
	struct frame_conn **fc = cookie;

	if (f->type == FRAME_DATA)
		return (frame_consumed(*fc, f->stream, f->len));
	return (0);
}

/* Not a limit, a figure: what one core moves through both ends. */
static void
test_speed(void **arg)
{
	struct frame_conn *c, *h;
	struct timespec a, b;
	const uint8_t *out;
	size_t n, done = 0, total = 512u << 20;
	double s;

	(void)arg;
	c = frame_conn_new(FRAME_CLIENT, eat, &c);
	h = frame_conn_new(FRAME_HOST, eat, &h);
	frame_send(c, 0, FRAME_HELLO, 0, NULL, 0);
	frame_send(h, 0, FRAME_HELLO, 0, NULL, 0);
	frame_send(c, frame_stream_new(c), FRAME_OPEN, 0, NULL, 0);
	clock_gettime(CLOCK_MONOTONIC, &a);
	while (done < total) {
		while (frame_waiting(c, 1) < 4 * FRAME_SLICE) {
			assert_int_equal(frame_send(c, 1, FRAME_DATA, 0, big,
			    FRAME_SLICE), 0);
			done += FRAME_SLICE;
		}
		while ((n = frame_out(c, &out)) > 0) {
			assert_int_equal(frame_feed(h, out, n), 0);
			frame_out_done(c, n);
		}
		while ((n = frame_out(h, &out)) > 0) {
			assert_int_equal(frame_feed(c, out, n), 0);
			frame_out_done(h, n);
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	s = (double)(b.tv_sec - a.tv_sec) +
	    (double)(b.tv_nsec - a.tv_nsec) / 1e9;
	printf("# %.0f MiB/s\n", (double)(done >> 20) / s);
	frame_conn_free(c);
	frame_conn_free(h);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_round_trip), T(test_one_flight), T(test_hello_first),
		T(test_credit), T(test_stalled), T(test_fair), T(test_order),
		T(test_join), T(test_room), T(test_away), T(test_away_reset),
		T(test_body), T(test_body_rest), T(test_body_bad),
		T(test_steps), T(test_ping),
		T(test_client_reset), T(test_crossing), T(test_limits),
		T(test_send_refused), T(test_bad_heads), T(test_bad_lengths),
		T(test_bad_streams), T(test_bad_states), T(test_bad_amounts),
		T(test_speed),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
