#ifndef ERRAND_FRAME_H
#define ERRAND_FRAME_H

#include <stddef.h>
#include <stdint.h>

/*
 * The client connection: frames, streams and credit, without any I/O.  Both
 * ends feed it what they read and take from it what to write; the client does
 * so from a poll loop, the worker from libevent.
 *
 * A frame has a 12-byte header, little-endian: u32 length of the body, u32
 * stream, u8 type, u8 flags, u16 zero.
 *
 * Invariants:
 *  1. DATA is only sent within the peer's credit for the stream; a received
 *     DATA beyond what was granted is a violation.
 *  2. Streams opened by the client are odd and strictly ascending.
 *  3. Stream 0 carries HELLO, PING and GOAWAY only; the first frame in each
 *     direction is HELLO.
 *  4. Waiting DATA of several streams is sent in turns of at most FRAME_SLICE
 *     bytes; control frames go before waiting DATA, except that a frame queued
 *     on a stream never overtakes DATA queued before it on the same stream.
 *  5. After a violation nothing more is accepted.
 */
#define FRAME_HEAD      12
#define FRAME_SLICE     65536           /* most bytes of one DATA body */
#define FRAME_BODY_MAX  (256 * 1024)    /* most bytes of a control body */
#define FRAME_CREDIT    (1024 * 1024)   /* initial credit of a stream */
#define FRAME_STREAMS   64              /* open at once on a connection */

enum frame_type {
	FRAME_HELLO = 1,
	FRAME_OPEN = 2,
	FRAME_REPLY = 3,
	FRAME_DATA = 4,
	FRAME_CREDIT_GRANT = 5, /* body: u64, cumulative bytes allowed */
	FRAME_END = 6,
	FRAME_RESET = 7,
	FRAME_PING = 8,
	FRAME_GOAWAY = 9
};

#define FRAME_MORE      0x01    /* REPLY: another one follows */

enum frame_data {               /* DATA: flags say which channel */
	FRAME_STDIN = 0,
	FRAME_STDOUT = 1,
	FRAME_STDERR = 2,
	FRAME_OBJECT = 3,       /* objrec stream */
	FRAME_REFS = 4,         /* array of encoded obj_ref */
	FRAME_BYTES = 5,        /* plain bytes: receipt, change list, log */
	FRAME_ENV = 6           /* environment values: NAME=VALUE NUL ... */
};

enum frame_side { FRAME_CLIENT, FRAME_HOST };

struct frame {
	uint32_t stream;
	uint8_t type;
	uint8_t flags;
	const uint8_t *body;    /* borrowed for the callback */
	size_t len;
};

struct frame_conn;

/* A checked frame.  Return 0, or -1 to treat it as a violation. */
typedef int frame_fn(void *, const struct frame *);

struct frame_conn *frame_conn_new(enum frame_side, frame_fn *, void *);
void frame_conn_free(struct frame_conn *);

/**
 * frame_feed(fc, buf, len):
 * Take bytes from the peer.  HELLO, CREDIT, PING (answered at once; the answer
 * is a PING with flags 1) and stream states are checked here; every frame but
 * CREDIT and PING goes to the callback.  Received DATA is credited back only
 * by frame_consumed.  Return 0, or -1 with errno = EPROTO, and frame_fault
 * says why.
 */
int frame_feed(struct frame_conn *, const uint8_t *, size_t);
const char *frame_fault(const struct frame_conn *);

/* Bytes until the end of the header or the body that comes next. */
size_t frame_want(const struct frame_conn *);

/**
 * frame_body(fc, f):
 * For one who fed no byte beyond a header and would move the body himself: 1
 * when that was DATA which may come now, and none of its body was fed; ${f} is
 * then the frame, without its body.  0 when what comes next is to be fed.
 */
int frame_body(const struct frame_conn *, struct frame *);

/*
 * ${n} bytes of that body were moved, and were received by that; ${n} is at
 * most its length.  What is left may be moved or fed: the callback gets it as a
 * frame of its own.
 */
void frame_body_done(struct frame_conn *, size_t n);

/* The receiver has used up ${n} bytes of a stream's DATA: grant as much. */
int frame_consumed(struct frame_conn *, uint32_t stream, size_t n);

/**
 * frame_send(fc, stream, type, flags, body, len):
 * Queue a frame (copied).  DATA may be longer than the credit; it waits.
 * Return 0, or -1 (ENOMEM, EINVAL for a stream that is not open this way).
 * A REPLY without FRAME_MORE and a RESET from the host end the stream.
 */
int frame_send(struct frame_conn *, uint32_t, uint8_t, uint8_t, const void *,
    size_t);

/**
 * frame_room(fc):
 * FRAME_SLICE bytes, good until the next frame_send.  Long DATA that is put
 * there and given to it is sent from there, and not copied.  NULL when there is
 * no memory.
 */
uint8_t *frame_room(struct frame_conn *);

/**
 * frame_send_away(fc, stream, channel, len):
 * Queue DATA of 1 to FRAME_SLICE bytes whose body is not here: whoever writes
 * what frame_out gives writes the body too, when frame_owed says so.  It may
 * then be asked for in parts, as the credit allows, and never, when the stream
 * is reset before.  Return 0 or -1, as frame_send.
 */
int frame_send_away(struct frame_conn *, uint32_t, uint8_t, size_t);

/* DATA bytes queued on a stream and not yet taken; to push back on a source. */
size_t frame_waiting(const struct frame_conn *, uint32_t stream);

/* DATA bytes the peer has granted a stream in all; 0 if it is not open. */
uint64_t frame_credit(const struct frame_conn *, uint32_t stream);

/* A new stream of the client side (1, 3, 5 ...). */
uint32_t frame_stream_new(struct frame_conn *);

/* Is the stream open (not reset, final REPLY not sent or received)? */
int frame_stream_open(const struct frame_conn *, uint32_t);

/**
 * frame_out(fc, buf):
 * What can be written now: ${*buf} is borrowed until the next call on ${fc};
 * returns its length, 0 if there is nothing (or only DATA without credit).
 */
size_t frame_out(struct frame_conn *, const uint8_t **);

/* ${n} bytes of that were written. */
void frame_out_done(struct frame_conn *, size_t n);

/*
 * Bytes of the body of the oldest DATA that is away, which are to be written
 * now; frame_out gives nothing until frame_owed_done was told of all of them.
 */
size_t frame_owed(const struct frame_conn *);
void frame_owed_done(struct frame_conn *, size_t n);

/* Total DATA bytes sent and received, for the statistics shown to people. */
uint64_t frame_bytes_sent(const struct frame_conn *);
uint64_t frame_bytes_received(const struct frame_conn *);

#endif /* !ERRAND_FRAME_H */
