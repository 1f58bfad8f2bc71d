/* In which order it is written: control first, then DATA in turns. */

#include <stdlib.h>
#include <string.h>

#include "frame_internal.h"
#include "le.h"

/* Larger frames are written from where they are, not copied once more. */
#define COPY_MAX        8192

/* Put a small frame of our own behind what is to be written. */
static int
out_small(struct frame_conn *fc, uint32_t stream, uint8_t type, uint8_t flags,
    const void *body, size_t len)
{
	if (FRAME_HEAD + len > FRAME_OUT_MAX - fc->out_len)
		return (0);
	frame_head_put(fc->out + fc->out_len, stream, type, flags, len);
	if (len > 0)
		memcpy(fc->out + fc->out_len + FRAME_HEAD, body, len);
	fc->out_len += FRAME_HEAD + len;
	return (1);
}

/* Take the first frame of a queue.  Returns 0 when there is no room for it. */
static int
out_take(struct frame_conn *fc, struct frame_queue *q)
{
	struct frame_seg *seg = q->head;

	if (seg->len <= COPY_MAX) {
		if (seg->len > FRAME_OUT_MAX - fc->out_len)
			return (0);
		memcpy(fc->out + fc->out_len, seg->b + seg->off, seg->len);
		fc->out_len += seg->len;
		free(frame_queue_get(q));
		return (1);
	}
	if (fc->out_len > 0)
		return (0);
	fc->cur = frame_queue_get(q);
	return (1);
}

/* Send the first ${n} bytes of a DATA frame; the rest becomes a frame. */
static int
out_split(struct frame_conn *fc, struct frame_seg *seg, size_t n)
{
	uint32_t stream = le_get32(seg->b + seg->off + 4);
	uint8_t flags = frame_seg_flags(seg);

	if (!out_small(fc, stream, FRAME_DATA, flags,
	    seg->b + seg->off + FRAME_HEAD, n))
		return (0);
	seg->off += n;
	seg->len -= n;
	frame_head_put(seg->b + seg->off, stream, FRAME_DATA, flags,
	    seg->len - FRAME_HEAD);
	return (1);
}

/* The header of ${n} bytes that are away; the rest stays in the queue. */
static int
out_away(struct frame_conn *fc, struct frame_stream *st, size_t n)
{
	struct frame_seg *seg = st->queue.head;

	if (!out_small(fc, st->id, FRAME_DATA, frame_seg_flags(seg), NULL, 0))
		return (0);
	le_put32(fc->out + fc->out_len - FRAME_HEAD, (uint32_t)n);
	fc->owed = n;
	if ((seg->away -= n) == 0)
		free(frame_queue_get(&st->queue));
	return (1);
}

static int
out_data(struct frame_conn *fc, struct frame_stream *st)
{
	struct frame_seg *seg = st->queue.head;
	uint64_t room = st->credit - st->sent;
	size_t n = seg->away > 0 ? seg->away : seg->len - FRAME_HEAD;
	int cut = room < n, took;

	if (cut)
		n = (size_t)room;
	if (seg->away > 0)
		took = out_away(fc, st, n);
	else if (cut)
		took = out_split(fc, seg, n);
	else
		took = out_take(fc, &st->queue);
	if (took) {
		st->sent += n;
		st->waiting -= n;
		fc->bytes_out += n;
	}
	return (took);
}

/* The END or RESET that the other side waits for to forget the stream. */
static int
out_close(struct frame_conn *fc, struct frame_stream *st)
{
	uint8_t type = fc->side == FRAME_CLIENT ? FRAME_END : FRAME_RESET;

	if (!out_small(fc, st->id, type, 0, NULL, 0))
		return (0);
	st->close_due = 0;
	st->ours_done = 1;
	frame_stream_reap(fc, st);
	return (1);
}

static int
out_grant(struct frame_conn *fc, struct frame_stream *st)
{
	uint64_t total = FRAME_CREDIT + st->consumed;
	uint8_t body[8];

	le_put64(body, total);
	if (!out_small(fc, st->id, FRAME_CREDIT_GRANT, 0, body, sizeof(body)))
		return (0);
	st->announced = total;
	st->grant_due = 0;
	return (1);
}

/* A control frame at the head of a stream's queue. */
static int
out_control(struct frame_conn *fc, struct frame_stream *st)
{
	uint8_t type = frame_seg_type(st->queue.head);
	uint8_t flags = frame_seg_flags(st->queue.head);

	if (!out_take(fc, &st->queue))
		return (0);
	if (type == FRAME_OPEN)
		st->opened = 1;
	if (type == FRAME_RESET ||
	    (type == FRAME_REPLY && (flags & FRAME_MORE) == 0) ||
	    (type == FRAME_END && fc->side == FRAME_CLIENT)) {
		st->ours_done = 1;
		frame_stream_reap(fc, st);
	}
	return (1);
}

static int
has_control(const struct frame_stream *st)
{
	return (st->queue.head != NULL &&
	    frame_seg_type(st->queue.head) != FRAME_DATA);
}

static int
has_data(const struct frame_stream *st)
{
	return (st->queue.head != NULL && st->credit > st->sent &&
	    frame_seg_type(st->queue.head) == FRAME_DATA);
}

/* Take the DATA of the stream whose turn it is.  1, or 0 if there is none. */
static int
out_turn(struct frame_conn *fc)
{
	size_t i, k;

	for (k = 0; k < fc->nstreams; k++) {
		i = (fc->turn + k) % fc->nstreams;
		if (!has_data(&fc->streams[i]))
			continue;
		if (!out_data(fc, &fc->streams[i]))
			return (0);
		fc->turn = i + 1;
		return (1);
	}
	return (0);
}

/* Take one frame.  Returns 0 when there is none, or no room for the next. */
static int
out_next(struct frame_conn *fc)
{
	struct frame_stream *st;
	size_t i;

	if (fc->queue.head != NULL)
		return (out_take(fc, &fc->queue));
	if (fc->pong_due) {
		if (!out_small(fc, 0, FRAME_PING, 1, NULL, 0))
			return (0);
		fc->pong_due = 0;
		return (1);
	}
	for (i = 0; i < fc->nstreams; i++) {
		st = &fc->streams[i];
		if (st->close_due)
			return (out_close(fc, st));
		if (st->grant_due && st->live)
			return (out_grant(fc, st));
		if (has_control(st))
			return (out_control(fc, st));
	}
	return (out_turn(fc));
}

size_t
frame_out(struct frame_conn *fc, const uint8_t **buf)
{
	if (fc->out_len == 0 && fc->cur == NULL && fc->hello_out)
		while (fc->cur == NULL && fc->owed == 0 && out_next(fc))
			continue;
	if (fc->out_len > 0) {
		*buf = fc->out + fc->out_off;
		return (fc->out_len - fc->out_off);
	}
	if (fc->cur != NULL) {
		*buf = fc->cur->b + fc->cur->off;
		return (fc->cur->len);
	}
	*buf = NULL;
	return (0);
}

void
frame_out_done(struct frame_conn *fc, size_t n)
{
	if (fc->out_len > 0) {
		fc->out_off += n;
		if (fc->out_off == fc->out_len)
			fc->out_off = fc->out_len = 0;
	} else if (fc->cur != NULL) {
		fc->cur->off += n;
		fc->cur->len -= n;
		if (fc->cur->len == 0) {
			free(fc->cur);
			fc->cur = NULL;
		}
	}
}

size_t
frame_owed(const struct frame_conn *fc)
{
	return (fc->out_len == 0 ? fc->owed : 0);
}

void
frame_owed_done(struct frame_conn *fc, size_t n)
{
	fc->owed -= n;
}
