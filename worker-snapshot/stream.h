#ifndef ERRAND_SNAP_STREAM_H
#define ERRAND_SNAP_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "proto/client_msg.h"

struct follow;
struct resolve;
struct route;
struct session;

/*
 * Output that may wait on a stream, with a slice more, before its source stops.
 * So much fits in the connection's pipe, wherever in their pages slices begin.
 */
#define STREAM_WAITING  (1024 * 1024)

/*
 * One request of the client.
 *
 * Invariants:
 *  1. Requests to the store and the supervisor carry the stream, or what it
 *     owns, as their cookie; all are cancelled before it is freed.
 *  2. Once over is set nothing more is sent on it and none of its functions
 *     but done is called.
 *  3. resolve, follow and priv belong to the stream.
 */
struct stream {
	struct session *s;
	const struct route *route;
	uint32_t id;
	uint8_t over;
	uint8_t ended;          /* the client's END came */
	uint8_t want_room;      /* its source stopped for STREAM_WAITING */
	struct resolve *resolve;
	struct follow *follow;
	void *priv;             /* freed by the route's done, else by free */
};

/* The stream of that id that is not over, or NULL. */
struct stream *stream_find(struct session *, uint32_t);

/* Make one; it must be above all others.  NULL with errno. */
struct stream *stream_new(struct session *, uint32_t, const struct route *);

/* Cancel what it waits for and free it. */
void stream_free(struct stream *);

/**
 * stream_reply(st, reply, more):
 * Send a REPLY; without ${more} it is the last word and the stream is over.
 */
void stream_reply(struct stream *, const struct client_reply *, int);

/* The last word, with nothing but a count and a number of bytes. */
void stream_count(struct stream *, enum client_reply_kind, uint64_t, uint64_t);

/* Send DATA of any length on a channel (enum frame_data). */
void stream_data(struct stream *, uint8_t, const void *, size_t);

/* May its source go on?  If not, it is asked again when there is room. */
int stream_has_room(struct stream *);

/*
 * Where to put the next FRAME_SLICE bytes for stream_data, so that they are not
 * copied.  NULL when the stream is lost for want of memory.
 */
uint8_t *stream_buf(struct stream *);

/*
 * The pipe that DATA may be put in, to be told of by stream_piped, so that it
 * is never in our memory; -1 when there is none now.
 */
int stream_pipe(struct stream *);
void stream_piped(struct stream *, uint8_t, size_t);

/* End it with a typed error. */
void stream_fail(struct stream *, const struct err *);
void stream_failf(struct stream *, enum err_code, const char *, ...)
    __attribute__((format(printf, 3, 4)));

#endif /* !ERRAND_SNAP_STREAM_H */
