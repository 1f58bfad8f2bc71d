/* What is received: every frame is checked before anybody acts on it. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "frame_internal.h"
#include "le.h"

/* Remember the first violation. */
static int
violation(struct frame_conn *fc, const char *why)
{
	if (fc->fault == NULL)
		fc->fault = why;
	errno = EPROTO;
	return (-1);
}

static int
deliver(struct frame_conn *fc, const struct frame *f)
{
	if (fc->fn(fc->cookie, f) == -1)
		return (violation(fc, "a frame was refused"));
	return (0);
}

static int
on_hello(struct frame_conn *fc, const struct frame *f)
{
	if (fc->hello_in)
		return (violation(fc, "a second HELLO"));
	fc->hello_in = 1;
	return (deliver(fc, f));
}

static int
on_open(struct frame_conn *fc, const struct frame *f)
{
	struct frame_stream *st;

	if (fc->side == FRAME_CLIENT)
		return (violation(fc, "OPEN from the host"));
	if (f->stream % 2 == 0 || f->stream <= fc->last_id)
		return (violation(fc, "stream ids must be odd and ascend"));
	if ((st = frame_stream_add(fc, f->stream)) == NULL)
		return (violation(fc, "too many streams"));
	st->opened = 1;
	return (deliver(fc, f));
}

static int
on_reply(struct frame_conn *fc, struct frame_stream *st, const struct frame *f)
{
	int live = st->live;

	if (fc->side == FRAME_HOST)
		return (violation(fc, "REPLY from the client"));
	if ((f->flags & FRAME_MORE) == 0) {
		st->theirs_ended = st->theirs_done = 1;
		st->live = 0;
		/* What is still waiting concerns nobody; END goes instead. */
		if (!st->ours_done) {
			frame_stream_drop(st);
			st->close_due = 1;
		}
		frame_stream_reap(fc, st);
	}
	return (live ? deliver(fc, f) : 0);
}

static int
on_data(struct frame_conn *fc, struct frame_stream *st, const struct frame *f)
{
	if (st->theirs_ended)
		return (violation(fc, "DATA after END"));
	if (f->len > st->announced - st->received)
		return (violation(fc, "DATA beyond the credit"));
	st->received += f->len;
	fc->bytes_in += f->len;
	return (st->live ? deliver(fc, f) : 0);
}

static int
on_credit(struct frame_conn *fc, struct frame_stream *st,
    const struct frame *f)
{
	uint64_t v = le_get64(f->body);

	if (v <= st->credit)
		return (violation(fc, "CREDIT does not grow"));
	st->credit = v;
	return (0);
}

static int
on_end(struct frame_conn *fc, struct frame_stream *st, const struct frame *f)
{
	int live = st->live;

	if (st->theirs_ended)
		return (violation(fc, "a second END"));
	st->theirs_ended = 1;
	if (fc->side == FRAME_HOST) {
		st->theirs_done = 1;
		frame_stream_reap(fc, st);
	}
	return (live ? deliver(fc, f) : 0);
}

static int
on_reset(struct frame_conn *fc, struct frame_stream *st, const struct frame *f)
{
	int live = st->live;

	st->live = 0;
	st->theirs_ended = st->theirs_done = 1;
	if (!st->ours_done) {
		frame_stream_drop(st);
		st->close_due = 1;
	}
	frame_stream_reap(fc, st);
	return (live ? deliver(fc, f) : 0);
}

/* A frame of a stream that must exist. */
static int
on_stream(struct frame_conn *fc, const struct frame *f)
{
	struct frame_stream *st = frame_stream_find(fc, f->stream);

	if (st == NULL || !st->opened) {
		/* These two can cross our last frame on the wire. */
		if (fc->side == FRAME_HOST && f->stream <= fc->last_id &&
		    f->stream % 2 == 1 &&
		    (f->type == FRAME_CREDIT_GRANT || f->type == FRAME_RESET))
			return (0);
		return (violation(fc, "a frame of a stream that is not open"));
	}
	if (st->theirs_done && fc->side == FRAME_CLIENT)
		return (violation(fc, "a frame after the last one"));
	switch (f->type) {
	case FRAME_REPLY:
		return (on_reply(fc, st, f));
	case FRAME_DATA:
		return (on_data(fc, st, f));
	case FRAME_CREDIT_GRANT:
		return (on_credit(fc, st, f));
	case FRAME_END:
		return (on_end(fc, st, f));
	default:
		return (on_reset(fc, st, f));
	}
}

/* A whole frame whose header was checked. */
static int
on_frame(struct frame_conn *fc, const struct frame *f)
{
	switch (f->type) {
	case FRAME_HELLO:
		return (on_hello(fc, f));
	case FRAME_OPEN:
		return (on_open(fc, f));
	case FRAME_PING:
		if (f->flags == 0)
			fc->pong_due = 1;
		return (0);
	case FRAME_GOAWAY:
		return (deliver(fc, f));
	default:
		return (on_stream(fc, f));
	}
}

/* What a header alone shows to be wrong: a sentence, or NULL. */
static const char *
head_fault(const struct frame_conn *fc, const struct frame *f, unsigned zero)
{
	static const struct {
		uint8_t flags;          /* highest value */
		uint8_t on_stream;
		uint32_t min;
		uint32_t max;
	} rules[] = {
		[FRAME_HELLO] = { 0, 0, 0, FRAME_BODY_MAX },
		[FRAME_OPEN] = { 0, 1, 0, FRAME_BODY_MAX },
		[FRAME_REPLY] = { FRAME_MORE, 1, 0, FRAME_BODY_MAX },
		[FRAME_DATA] = { FRAME_ENV, 1, 1, FRAME_SLICE },
		[FRAME_CREDIT_GRANT] = { 0, 1, 8, 8 },
		[FRAME_END] = { 0, 1, 0, 0 },
		[FRAME_RESET] = { 0, 1, 0, FRAME_BODY_MAX },
		[FRAME_PING] = { 1, 0, 0, 0 },
		[FRAME_GOAWAY] = { 0, 0, 0, FRAME_BODY_MAX },
	};

	if (f->type < FRAME_HELLO || f->type > FRAME_GOAWAY)
		return ("unknown frame type");
	if (!fc->hello_in && f->type != FRAME_HELLO)
		return ("the first frame is not HELLO");
	if (zero != 0)
		return ("a reserved field is not zero");
	if (f->flags > rules[f->type].flags)
		return ("unknown flags");
	if (f->len < rules[f->type].min || f->len > rules[f->type].max)
		return ("a frame of a length it must not have");
	if ((f->stream != 0) != rules[f->type].on_stream)
		return ("a frame on the wrong stream");
	if (f->type == FRAME_GOAWAY && fc->side == FRAME_HOST)
		return ("GOAWAY from the client");
	return (NULL);
}

static int
head_parse(struct frame_conn *fc, const uint8_t *p, struct frame *f)
{
	const char *why;

	f->len = le_get32(p);
	f->stream = le_get32(p + 4);
	f->type = p[8];
	f->flags = p[9];
	f->body = NULL;
	if ((why = head_fault(fc, f, le_get16(p + 10))) != NULL)
		return (violation(fc, why));
	return (0);
}

/* Make room for in_want bytes, all of one frame. */
static int
in_reserve(struct frame_conn *fc)
{
	uint8_t *p;

	if (fc->in_want <= fc->in_cap)
		return (0);
	if ((p = realloc(fc->in, fc->in_want)) == NULL)
		return (violation(fc, "out of memory"));
	fc->in = p;
	fc->in_cap = fc->in_want;
	return (0);
}

/* The buffered frame was handled. */
static void
in_reset(struct frame_conn *fc)
{
	fc->in_len = 0;
	fc->in_want = FRAME_HEAD;
	if (fc->in_cap > FRAME_HEAD + FRAME_SLICE) {
		free(fc->in);
		fc->in = NULL;
		fc->in_cap = 0;
	}
}

size_t
frame_want(const struct frame_conn *fc)
{
	return (fc->in_want - fc->in_len);
}

/* What on_stream and on_data would refuse is left to them. */
int
frame_body(const struct frame_conn *fc, struct frame *f)
{
	const struct frame_stream *st;

	if (fc->fault != NULL || fc->in_len != FRAME_HEAD ||
	    fc->in_want == FRAME_HEAD || fc->in_head.type != FRAME_DATA ||
	    (st = frame_stream_find(fc, fc->in_head.stream)) == NULL ||
	    !st->live || !st->opened || st->theirs_ended ||
	    fc->in_head.len > st->announced - st->received)
		return (0);
	*f = fc->in_head;
	return (1);
}

void
frame_body_done(struct frame_conn *fc, size_t n)
{
	struct frame_stream *st = frame_stream_find(fc, fc->in_head.stream);

	if (st != NULL)
		st->received += n;
	fc->bytes_in += n;
	fc->in_head.len -= n;
	fc->in_want -= n;
	if (fc->in_head.len == 0)
		in_reset(fc);
}

/* Go on with a frame that comes in pieces.  Returns the bytes used, or -1. */
static ssize_t
feed_piece(struct frame_conn *fc, const uint8_t *buf, size_t len)
{
	size_t n = fc->in_want - fc->in_len;

	if (n > len)
		n = len;
	if (in_reserve(fc) == -1)
		return (-1);
	memcpy(fc->in + fc->in_len, buf, n);
	fc->in_len += n;
	if (fc->in_len < fc->in_want)
		return ((ssize_t)n);
	if (fc->in_len == FRAME_HEAD && fc->in_want == FRAME_HEAD) {
		if (head_parse(fc, fc->in, &fc->in_head) == -1)
			return (-1);
		fc->in_want += fc->in_head.len;
	}
	if (fc->in_len == fc->in_want) {
		fc->in_head.body = fc->in + FRAME_HEAD;
		if (on_frame(fc, &fc->in_head) == -1)
			return (-1);
		in_reset(fc);
	}
	return ((ssize_t)n);
}

/* A frame that is whole in the caller's buffer.  Bytes used, 0, or -1. */
static ssize_t
feed_whole(struct frame_conn *fc, const uint8_t *buf, size_t len)
{
	struct frame f;

	if (fc->in_len > 0 || len < FRAME_HEAD)
		return (0);
	if (head_parse(fc, buf, &f) == -1)
		return (-1);
	if (f.len > len - FRAME_HEAD)
		return (0);
	f.body = buf + FRAME_HEAD;
	if (on_frame(fc, &f) == -1)
		return (-1);
	return ((ssize_t)(FRAME_HEAD + f.len));
}

int
frame_feed(struct frame_conn *fc, const uint8_t *buf, size_t len)
{
	ssize_t n;

	if (fc->fault != NULL) {
		errno = EPROTO;
		return (-1);
	}
	while (len > 0) {
		if ((n = feed_whole(fc, buf, len)) == 0)
			n = feed_piece(fc, buf, len);
		if (n == -1)
			return (-1);
		buf += n;
		len -= (size_t)n;
	}
	return (0);
}
