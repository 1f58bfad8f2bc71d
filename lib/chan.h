#ifndef ERRAND_CHAN_H
#define ERRAND_CHAN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct event_base;

/*
 * A channel between two of our processes: SOCK_SEQPACKET, one message per
 * packet of at most CHAN_MSG_MAX bytes, at most CHAN_FDS_MAX descriptors with
 * it.  Nothing blocks: what the socket does not take is queued, in order.
 *
 * Invariants:
 *  1. A descriptor given to chan_send is the channel's from then on.
 *  2. A descriptor received is the receiver's callback's only if it sets the
 *     slot to -1; the channel closes the rest.
 *  3. The end callback is called once, from the event loop (never from inside
 *     chan_send), and nothing is called after it.
 *  4. chan_free may be called inside any callback.
 */
#define CHAN_MSG_MAX    65536
#define CHAN_FDS_MAX    16
#define CHAN_FD         3       /* where a worker finds its channel */
#define CHAN_QUEUE_MAX  (8 * 1024 * 1024)

struct chan;

/* A whole message.  Return 0, or -1 to end the channel as a violation. */
typedef int chan_msg_fn(void *, const uint8_t *, size_t, int *, size_t);

/* The other end is gone, or broke the rules: ${why} says it in words. */
typedef void chan_end_fn(void *, const char *why);

/**
 * chan_new(base, fd, name, msg, end, cookie):
 * Wrap ${fd} (taken; made non-blocking and close-on-exec, buffers raised).
 * ${name} (copied) is for the log.  Return NULL with errno on failure, when
 * ${fd} is still the caller's.
 */
struct chan *chan_new(struct event_base *, int, const char *, chan_msg_fn *,
    chan_end_fn *, void *);
void chan_free(struct chan *);

/**
 * chan_send(c, buf, len, fds, nfds):
 * Send or queue a message.  The descriptors are taken whatever happens.
 * Return 0, or -1: ENOBUFS when the queue is full (the caller decides what
 * that means), EMSGSIZE, EPIPE when the channel has ended.
 */
int chan_send(struct chan *, const uint8_t *, size_t, const int *, size_t);

/* Bytes waiting in the queue. */
size_t chan_queued(const struct chan *);

/* Stop or go on reading (to push back on a flood). */
void chan_pause(struct chan *, int);

/*
 * Bound how many descriptors the other end may leave in its socket: the kernel
 * counts those of all channels of a user together, and one that does not read
 * would leave none for others.  With more than some forty unread, messages with
 * descriptors wait here, and nothing more is read from the channel meanwhile.
 */
void chan_bound(struct chan *);

/* A connected pair, close-on-exec, buffers raised.  0 or -1. */
int chan_pair(int[2]);

/*
 * One message without an event loop, for processes that do one thing at a
 * time.  chan_recv_wait blocks until a message comes or ${timeout_ms} passes
 * (-1: for ever).  It returns the length, 0 at the end of the channel, -1 with
 * errno: EPROTO when descriptors or data were cut off, ETIMEDOUT.
 * Received descriptors are the caller's, and those sent stay the caller's;
 * ${*nfds} is room in, count out.
 */
int chan_send_wait(int, const uint8_t *, size_t, const int *, size_t);
ssize_t chan_recv_wait(int, uint8_t *, size_t, int *, size_t *, int);

#endif /* !ERRAND_CHAN_H */
