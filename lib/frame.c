/* The connection and its streams. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame_internal.h"

/* Grant when this much was used up: early enough to keep a sender going. */
#define GRANT_STEP      (FRAME_CREDIT / 4)

struct frame_conn *
frame_conn_new(enum frame_side side, frame_fn *fn, void *cookie)
{
	struct frame_conn *fc;

	if ((fc = calloc(1, sizeof(*fc))) == NULL)
		goto err0;
	if ((fc->out = malloc(FRAME_OUT_MAX)) == NULL)
		goto err1;
	fc->side = side;
	fc->fn = fn;
	fc->cookie = cookie;
	fc->in_want = FRAME_HEAD;
	fc->next_id = 1;

	return (fc);

err1:
	free(fc);
err0:
	return (NULL);
}

void
frame_conn_free(struct frame_conn *fc)
{
	size_t i;

	if (fc == NULL)
		return;
	for (i = 0; i < fc->nstreams; i++)
		frame_queue_clear(&fc->streams[i].queue);
	frame_queue_clear(&fc->queue);
	free(fc->cur);
	free(fc->room);
	free(fc->out);
	free(fc->in);
	free(fc);
}

const char *
frame_fault(const struct frame_conn *fc)
{
	return (fc->fault);
}

uint64_t
frame_bytes_sent(const struct frame_conn *fc)
{
	return (fc->bytes_out);
}

uint64_t
frame_bytes_received(const struct frame_conn *fc)
{
	return (fc->bytes_in);
}

struct frame_stream *
frame_stream_find(const struct frame_conn *fc, uint32_t id)
{
	const struct frame_stream *st;
	size_t i;

	for (i = 0; i < fc->nstreams; i++) {
		st = &fc->streams[i];
		if (st->id == id)
			return ((struct frame_stream *)(uintptr_t)st);
	}
	return (NULL);
}

struct frame_stream *
frame_stream_add(struct frame_conn *fc, uint32_t id)
{
	struct frame_stream *st;

	if (fc->nstreams == FRAME_STREAMS)
		return (NULL);
	st = &fc->streams[fc->nstreams++];
	memset(st, 0, sizeof(*st));
	st->id = id;
	st->live = 1;
	st->credit = FRAME_CREDIT;
	st->announced = FRAME_CREDIT;
	fc->last_id = id;
	return (st);
}

void
frame_stream_drop(struct frame_stream *st)
{
	frame_queue_clear(&st->queue);
	st->waiting = 0;
}

void
frame_stream_remove(struct frame_conn *fc, struct frame_stream *st)
{
	size_t i = (size_t)(st - fc->streams);

	frame_queue_clear(&st->queue);
	fc->nstreams--;
	memmove(st, st + 1, (fc->nstreams - i) * sizeof(*st));
	if (fc->turn > i)
		fc->turn--;
}

void
frame_stream_reap(struct frame_conn *fc, struct frame_stream *st)
{
	if (st->ours_done && st->theirs_done)
		frame_stream_remove(fc, st);
}

int
frame_stream_open(const struct frame_conn *fc, uint32_t id)
{
	const struct frame_stream *st = frame_stream_find(fc, id);

	return (st != NULL && st->live);
}

uint64_t
frame_credit(const struct frame_conn *fc, uint32_t id)
{
	const struct frame_stream *st = frame_stream_find(fc, id);

	return (st != NULL && st->live ? st->credit : 0);
}

uint32_t
frame_stream_new(struct frame_conn *fc)
{
	uint32_t id = fc->next_id;

	if (fc->nstreams == FRAME_STREAMS || id == 0)
		return (0);
	fc->next_id = id > UINT32_MAX - 2 ? 0 : id + 2;
	return (id);
}

int
frame_consumed(struct frame_conn *fc, uint32_t id, size_t n)
{
	struct frame_stream *st = frame_stream_find(fc, id);

	if (st == NULL)
		return (0);     /* it ended meanwhile */
	if (n > st->received - st->consumed) {
		errno = EINVAL;
		return (-1);
	}
	st->consumed += n;
	if (st->live && !st->theirs_ended &&
	    FRAME_CREDIT + st->consumed - st->announced >= GRANT_STEP)
		st->grant_due = 1;
	return (0);
}
