#ifndef ERRAND_SNAP_CONN_H
#define ERRAND_SNAP_CONN_H

#include <stddef.h>
#include <stdint.h>

#include "lib/frame.h"

struct conn;
struct err;
struct event_base;

/*
 * The client's connection: bytes of a socket to frames and back, and the
 * watch over its silence.
 *
 * Invariants:
 *  1. No more than the first frame is read before conn_hold says go on.
 *  2. Nothing is read while the socket does not take what is to be written:
 *     a client that does not read can make nothing grow here.
 *  3. Once it is over, no function of conn_ops but after is called, and that
 *     only from an event that was already being handled.
 */
struct conn_ops {
	/* a frame; -1 breaks the connection with the reason set by
	 * conn_blame */
	int (*frame)(void *, const struct frame *);
	/* GOAWAY is to follow: say HELLO if that was not done */
	void (*greet)(void *);
	/* after each event: replies may be written, the end noticed */
	void (*after)(void *);
};

struct conn_times {             /* microseconds */
	uint64_t hello;         /* until the first frame is whole */
	uint64_t ping;          /* of silence before a PING */
	uint64_t dead;          /* of silence that ends it */
};
extern const struct conn_times conn_times_default;

/**
 * conn_new(base, fd, times, ops, cookie):
 * Wrap the socket ${fd}, which is taken.  NULL with errno on failure, when
 * ${fd} is still the caller's.
 */
struct conn *conn_new(struct event_base *, int, const struct conn_times *,
    const struct conn_ops *, void *);
void conn_free(struct conn *);

struct frame_conn *conn_frames(struct conn *);

/* Stop reading, or go on. */
void conn_hold(struct conn *, int);

/* Write what the socket takes now.  Returns the number of bytes. */
size_t conn_flush(struct conn *);

/**
 * conn_pipe(c, stream):
 * A pipe whose bytes go to the client without a copy, as the body of DATA that
 * conn_piped announces.  It is one stream's while there is something in it, so
 * that what a stream that was reset left there never comes out as another's.
 * -1 when it cannot be had.
 */
int conn_pipe(struct conn *, uint32_t);

/* ${len} bytes were put there, for that channel of the stream.  0 or -1, as
 * frame_send_away. */
int conn_piped(struct conn *, uint32_t, uint8_t channel, size_t len);

/* Why a frame was refused: a static sentence. */
void conn_blame(struct conn *, const char *);

/**
 * conn_bye(c, err):
 * Say GOAWAY as well as it goes without waiting, and end the connection.
 */
void conn_bye(struct conn *, const struct err *);

/* Whether it has ended, from either side. */
int conn_over(const struct conn *);

#endif /* !ERRAND_SNAP_CONN_H */
