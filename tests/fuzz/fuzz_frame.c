/*
 * What a peer sends, to both sides.  The first byte chooses the side and how
 * the bytes are cut; the connection answers as a real one would.
 */

#include <stdint.h>
#include <stdlib.h>

#include "frame.h"

struct user {
	struct frame_conn *fc;
	size_t frames;
	uint8_t sum;
};

static int
on_frame(void *cookie, const struct frame *f)
{
	struct user *u = cookie;
	size_t i;

	for (i = 0; i < f->len; i++)
		u->sum ^= f->body[i];   /* all of it can be read */
	u->frames++;
	if (f->type == FRAME_DATA && frame_consumed(u->fc, f->stream,
	    u->frames % 3 == 0 ? f->len / 2 : f->len) == -1)
		abort();
	if (f->type == FRAME_OPEN || f->type == FRAME_END) {
		(void)frame_send(u->fc, f->stream, FRAME_DATA, FRAME_STDOUT,
		    f->body, f->len);
		(void)frame_send(u->fc, f->stream, FRAME_REPLY,
		    u->frames % 2 == 0 ? FRAME_MORE : 0, NULL, 0);
	}
	return (0);
}

static void
drain(struct frame_conn *fc, size_t step)
{
	const uint8_t *out;
	size_t n;

	while ((n = frame_out(fc, &out)) > 0)
		frame_out_done(fc, n < step ? n : step);
}

static void
client_streams(struct frame_conn *fc)
{
	static const uint8_t big[100000];
	uint32_t id;
	int i;

	for (i = 0; i < 3; i++) {
		id = frame_stream_new(fc);
		if (frame_send(fc, id, FRAME_OPEN, 0, "x", 1) == -1 ||
		    frame_send(fc, id, FRAME_DATA, FRAME_STDIN, big,
		    sizeof(big)) == -1)
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct user u = { NULL, 0, 0 };
	enum frame_side side;
	size_t step, n;

	if (len == 0)
		return (0);
	side = data[0] & 1 ? FRAME_CLIENT : FRAME_HOST;
	step = data[0] & 2 ? (size_t)(data[0] >> 2) + 1 : len;
	if ((u.fc = frame_conn_new(side, on_frame, &u)) == NULL)
		abort();
	if (frame_send(u.fc, 0, FRAME_HELLO, 0, NULL, 0) == -1)
		abort();
	if (side == FRAME_CLIENT)
		client_streams(u.fc);
	for (data++, len--; len > 0; data += n, len -= n) {
		n = len < step ? len : step;
		drain(u.fc, 1 + step * 7);
		if (frame_feed(u.fc, data, n) == -1) {
			if (frame_fault(u.fc) == NULL ||
			    frame_feed(u.fc, data, n) == 0)
				abort();
			break;
		}
	}
	drain(u.fc, 65536);
	frame_conn_free(u.fc);
	return (0);
}
