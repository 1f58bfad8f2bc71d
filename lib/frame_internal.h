#ifndef ERRAND_FRAME_INTERNAL_H
#define ERRAND_FRAME_INTERNAL_H

#include "frame.h"

/*
 * One encoded frame waiting to be sent: header and body at b + off.  The room
 * behind it may be filled by later DATA of the same channel.
 */
struct frame_seg {
	struct frame_seg *next;
	size_t off;             /* over 0 when a part was sent */
	size_t len;             /* of header and body */
	size_t cap;             /* of b */
	size_t away;            /* of the body, which is then not in b */
	uint8_t b[];
};

struct frame_queue {
	struct frame_seg *head;
	struct frame_seg *last;
};

/*
 * A stream ends when the host has sent its last frame (a REPLY without
 * FRAME_MORE, or RESET) and the client has sent END or RESET.  Each side keeps
 * its entry until both are through, so that frames that cross on the wire are
 * told from violations; a client that gets the last frame adds the END that is
 * missing, a host that gets RESET answers with RESET.
 *
 * Invariants of struct frame_stream:
 *  1. live means what frame_stream_open says; when it is not set, received
 *     DATA is counted and dropped.
 *  2. received <= announced <= FRAME_CREDIT + consumed.
 *  3. sent <= credit.
 *  4. waiting is the number of DATA bytes in the queue.
 *  5. ours_done (theirs_done): the last frame of our (their) direction was
 *     taken for sending (was received).
 */
struct frame_stream {
	uint32_t id;
	uint8_t live;
	uint8_t opened;         /* OPEN was taken for sending, or received */
	uint8_t ours_ended;     /* END, RESET or the last REPLY is queued */
	uint8_t ours_done;
	uint8_t theirs_ended;   /* their END was received: no more DATA */
	uint8_t theirs_done;
	uint8_t grant_due;
	uint8_t close_due;      /* an END (client) or RESET (host) to be made */
	uint64_t credit;        /* peer's grant, cumulative */
	uint64_t sent;
	uint64_t received;
	uint64_t consumed;
	uint64_t announced;     /* our grant, cumulative */
	size_t waiting;
	struct frame_queue queue;
};

/*
 * Invariants of struct frame_conn:
 *  1. streams[0 .. nstreams - 1] ascend by id.
 *  2. The queue of stream 0 holds HELLO, PING and GOAWAY; HELLO is first.
 *  3. What is being written is out[out_off .. out_len - 1], then cur, or
 *     owed bytes that are not here; nothing more is taken until that is done.
 *  4. What the peer can make grow without reading is one answer to PING (a
 *     flag), one grant a stream (a flag), and what the user of the connection
 *     chooses to queue on at most FRAME_STREAMS streams.
 */
struct frame_conn {
	enum frame_side side;
	frame_fn *fn;
	void *cookie;
	const char *fault;

	struct frame in_head;   /* of the frame in the buffer */
	uint8_t *in;            /* a frame that is not yet whole */
	size_t in_len;
	size_t in_cap;
	size_t in_want;         /* bytes until the next step */

	uint8_t *out;           /* small frames, joined */
	size_t out_off;
	size_t out_len;
	size_t owed;
	struct frame_seg *cur;  /* a large frame, written from where it is */
	struct frame_seg *room; /* what frame_room gave away, or NULL */

	uint8_t hello_in;
	uint8_t hello_out;
	uint8_t pong_due;
	uint32_t next_id;       /* client: of the next stream, 0: used up */
	uint32_t last_id;       /* highest id that was opened */
	size_t turn;            /* stream that is asked for DATA first */
	uint64_t bytes_in;
	uint64_t bytes_out;
	struct frame_queue queue;
	size_t nstreams;
	struct frame_stream streams[FRAME_STREAMS];
};

/* Most bytes of ${out}. */
#define FRAME_OUT_MAX   (FRAME_HEAD + FRAME_SLICE)

/* Write a header to FRAME_HEAD bytes. */
void frame_head_put(uint8_t *, uint32_t, uint8_t, uint8_t, size_t);

static inline uint8_t
frame_seg_type(const struct frame_seg *seg)
{
	return (seg->b[seg->off + 8]);
}

static inline uint8_t
frame_seg_flags(const struct frame_seg *seg)
{
	return (seg->b[seg->off + 9]);
}

/* Queue a frame (copied).  Return 0, or -1 with errno = ENOMEM. */
int frame_queue_add(struct frame_queue *, const struct frame *);

/* Queue DATA of any length in slices, all of it or nothing.  0 or -1. */
int frame_queue_data(struct frame_stream *, const struct frame *);

/* Queue the header of DATA whose body is away.  0, or -1 with ENOMEM. */
int frame_queue_away(struct frame_stream *, const struct frame *);

/* Queue the DATA that lies in ${fc->room}, which is then another's. */
void frame_queue_room(struct frame_conn *, struct frame_stream *,
    const struct frame *);

/* Take the first frame of a queue that has one. */
struct frame_seg *frame_queue_get(struct frame_queue *);
void frame_queue_clear(struct frame_queue *);

/* Add a stream of id ${id}, above all others.  NULL when the table is full. */
struct frame_stream *frame_stream_add(struct frame_conn *, uint32_t);
struct frame_stream *frame_stream_find(const struct frame_conn *, uint32_t);

/* Drop what waits on the stream. */
void frame_stream_drop(struct frame_stream *);

/* Forget the stream if both directions are done.  Its pointer, and those of
 * streams behind it, are then void. */
void frame_stream_reap(struct frame_conn *, struct frame_stream *);
void frame_stream_remove(struct frame_conn *, struct frame_stream *);

#endif /* !ERRAND_FRAME_INTERNAL_H */
