/* What may be sent. */

#include <errno.h>

#include "frame_internal.h"

/* Shorter DATA is joined with its like instead. */
#define ROOM_MIN        16384

static int
invalid(void)
{
	errno = EINVAL;
	return (-1);
}

static int
send_open(struct frame_conn *fc, const struct frame *f)
{
	struct frame_stream *st;

	if (fc->side == FRAME_HOST || f->stream % 2 == 0 ||
	    f->stream <= fc->last_id ||
	    (fc->next_id != 0 && f->stream >= fc->next_id))
		return (invalid());
	if ((st = frame_stream_add(fc, f->stream)) == NULL)
		return (invalid());
	if (frame_queue_add(&st->queue, f) == -1) {
		frame_stream_remove(fc, st);
		return (-1);
	}
	return (0);
}

/*
 * A client's RESET takes back what waits; a host's comes after the output that
 * is on its way.
 */
static int
send_reset(struct frame_conn *fc, struct frame_stream *st,
    const struct frame *f)
{
	if (fc->side == FRAME_CLIENT) {
		if (!st->opened) {
			frame_stream_remove(fc, st);
			return (0);     /* the host never heard of it */
		}
		frame_stream_drop(st);
	}
	if (frame_queue_add(&st->queue, f) == -1)
		return (-1);
	st->ours_ended = 1;
	st->live = 0;
	return (0);
}

static int
send_reply(struct frame_conn *fc, struct frame_stream *st,
    const struct frame *f)
{
	if (fc->side == FRAME_CLIENT || f->flags > FRAME_MORE)
		return (invalid());
	if (frame_queue_add(&st->queue, f) == -1)
		return (-1);
	if ((f->flags & FRAME_MORE) == 0) {
		st->ours_ended = 1;
		st->live = 0;
	}
	return (0);
}

static int
send_end(struct frame_stream *st, const struct frame *f)
{
	if (st->ours_ended || f->len > 0)
		return (invalid());
	if (frame_queue_add(&st->queue, f) == -1)
		return (-1);
	st->ours_ended = 1;
	return (0);
}

static int
send_data(struct frame_conn *fc, struct frame_stream *st,
    const struct frame *f)
{
	if (st->ours_ended || f->flags > FRAME_ENV)
		return (invalid());
	if (f->len < ROOM_MIN || fc->room == NULL ||
	    f->body != fc->room->b + FRAME_HEAD)
		return (frame_queue_data(st, f));
	frame_queue_room(fc, st, f);
	return (0);
}

static int
send_stream(struct frame_conn *fc, const struct frame *f)
{
	struct frame_stream *st = frame_stream_find(fc, f->stream);

	if (st == NULL || !st->live)
		return (invalid());
	if (f->flags != 0 && f->type != FRAME_DATA && f->type != FRAME_REPLY)
		return (invalid());
	switch (f->type) {
	case FRAME_REPLY:
		return (send_reply(fc, st, f));
	case FRAME_DATA:
		return (send_data(fc, st, f));
	case FRAME_END:
		return (send_end(st, f));
	case FRAME_RESET:
		return (send_reset(fc, st, f));
	default:
		return (invalid());
	}
}

/* HELLO, PING, GOAWAY. */
static int
send_conn(struct frame_conn *fc, const struct frame *f)
{
	if (f->flags != 0 ||
	    (f->type == FRAME_HELLO && fc->hello_out) ||
	    (f->type == FRAME_PING && f->len > 0) ||
	    (f->type == FRAME_GOAWAY && fc->side == FRAME_CLIENT))
		return (invalid());
	if (f->type != FRAME_HELLO && f->type != FRAME_PING &&
	    f->type != FRAME_GOAWAY)
		return (invalid());
	if (frame_queue_add(&fc->queue, f) == -1)
		return (-1);
	fc->hello_out = 1;
	return (0);
}

int
frame_send(struct frame_conn *fc, uint32_t stream, uint8_t type, uint8_t flags,
    const void *body, size_t len)
{
	struct frame f = { stream, type, flags, body, len };

	if (type != FRAME_DATA && len > FRAME_BODY_MAX)
		return (invalid());
	if (!fc->hello_out && type != FRAME_HELLO)
		return (invalid());
	if (stream == 0)
		return (send_conn(fc, &f));
	if (type == FRAME_OPEN)
		return (flags != 0 ? invalid() : send_open(fc, &f));
	return (send_stream(fc, &f));
}

int
frame_send_away(struct frame_conn *fc, uint32_t id, uint8_t channel,
    size_t len)
{
	struct frame f = { id, FRAME_DATA, channel, NULL, len };
	struct frame_stream *st = frame_stream_find(fc, id);

	if (st == NULL || !st->live || st->ours_ended || channel > FRAME_ENV ||
	    len == 0 || len > FRAME_SLICE)
		return (invalid());
	return (frame_queue_away(st, &f));
}

size_t
frame_waiting(const struct frame_conn *fc, uint32_t id)
{
	const struct frame_stream *st = frame_stream_find(fc, id);

	return (st == NULL ? 0 : st->waiting);
}
