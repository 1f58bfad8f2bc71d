/* Frames that wait to be sent. */

#include <stdlib.h>
#include <string.h>

#include "frame_internal.h"
#include "le.h"

/* Least room of a segment, so that short DATA is joined. */
#define SEG_MIN         4096

void
frame_head_put(uint8_t *p, uint32_t stream, uint8_t type, uint8_t flags,
    size_t len)
{
	le_put32(p, (uint32_t)len);
	le_put32(p + 4, stream);
	p[8] = type;
	p[9] = flags;
	le_put16(p + 10, 0);
}

uint8_t *
frame_room(struct frame_conn *fc)
{
	const size_t cap = FRAME_HEAD + FRAME_SLICE;

	if (fc->room == NULL) {
		if ((fc->room = malloc(sizeof(*fc->room) + cap)) == NULL)
			return (NULL);
		fc->room->cap = cap;
		fc->room->away = 0;
	}
	return (fc->room->b + FRAME_HEAD);
}

/* A frame of at most FRAME_BODY_MAX bytes with ${room} for its body. */
static struct frame_seg *
seg_new(const struct frame *f, size_t room)
{
	struct frame_seg *seg;
	size_t cap = FRAME_HEAD + (room < f->len ? f->len : room);

	if ((seg = malloc(sizeof(*seg) + cap)) == NULL)
		return (NULL);
	seg->next = NULL;
	seg->off = 0;
	seg->len = FRAME_HEAD + f->len;
	seg->cap = cap;
	seg->away = 0;
	frame_head_put(seg->b, f->stream, f->type, f->flags, f->len);
	if (f->len > 0)
		memcpy(seg->b + FRAME_HEAD, f->body, f->len);
	return (seg);
}

static void
frame_queue_put(struct frame_queue *q, struct frame_seg *seg)
{
	if (q->head == NULL)
		q->head = seg;
	else
		q->last->next = seg;
	q->last = seg;
}

struct frame_seg *
frame_queue_get(struct frame_queue *q)
{
	struct frame_seg *seg = q->head;

	q->head = seg->next;
	seg->next = NULL;
	return (seg);
}

void
frame_queue_clear(struct frame_queue *q)
{
	while (q->head != NULL)
		free(frame_queue_get(q));
}

int
frame_queue_add(struct frame_queue *q, const struct frame *f)
{
	struct frame_seg *seg;

	if ((seg = seg_new(f, 0)) == NULL)
		return (-1);
	frame_queue_put(q, seg);
	return (0);
}

int
frame_queue_away(struct frame_stream *st, const struct frame *f)
{
	struct frame head = *f;
	struct frame_seg *seg;

	head.len = 0;
	if ((seg = seg_new(&head, 0)) == NULL)
		return (-1);
	seg->away = f->len;
	frame_head_put(seg->b, f->stream, f->type, f->flags, f->len);
	frame_queue_put(&st->queue, seg);
	st->waiting += f->len;
	return (0);
}

void
frame_queue_room(struct frame_conn *fc, struct frame_stream *st,
    const struct frame *f)
{
	struct frame_seg *seg = fc->room;

	fc->room = NULL;
	seg->next = NULL;
	seg->off = 0;
	seg->len = FRAME_HEAD + f->len;
	frame_head_put(seg->b, f->stream, f->type, f->flags, f->len);
	frame_queue_put(&st->queue, seg);
	st->waiting += f->len;
}

/* How much of the DATA the last segment can still take. */
static size_t
join_room(const struct frame_queue *q, const struct frame *f)
{
	const struct frame_seg *seg = q->last;
	size_t room, most;

	if (q->head == NULL || frame_seg_type(seg) != FRAME_DATA ||
	    frame_seg_flags(seg) != f->flags || seg->away > 0)
		return (0);
	room = seg->cap - seg->off - seg->len;
	most = FRAME_HEAD + FRAME_SLICE - seg->len;
	return (room < most ? room : most);
}

static void
join(struct frame_seg *seg, const uint8_t *buf, size_t n)
{
	memcpy(seg->b + seg->off + seg->len, buf, n);
	seg->len += n;
	le_put32(seg->b + seg->off, (uint32_t)(seg->len - FRAME_HEAD));
}

int
frame_queue_data(struct frame_stream *st, const struct frame *f)
{
	struct frame_queue rest = { NULL, NULL };
	struct frame_seg *seg;
	struct frame part = *f;
	size_t joined = join_room(&st->queue, f), done;

	if (joined > f->len)
		joined = f->len;
	for (done = joined; done < f->len; done += part.len) {
		part.body = f->body + done;
		part.len = f->len - done;
		if (part.len > FRAME_SLICE)
			part.len = FRAME_SLICE;
		if ((seg = seg_new(&part, SEG_MIN)) == NULL)
			goto err0;
		frame_queue_put(&rest, seg);
	}
	if (joined > 0)
		join(st->queue.last, f->body, joined);
	while (rest.head != NULL)
		frame_queue_put(&st->queue, frame_queue_get(&rest));
	st->waiting += f->len;

	return (0);

err0:
	frame_queue_clear(&rest);
	return (-1);
}
