#ifndef ERRAND_CONN_H
#define ERRAND_CONN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/frame.h"
#include "proto/client_msg.h"

/*
 * A client's connection to a host, driven by conn_pump from the one thread of
 * the client.  Requests are streams; each has a function that gets its frames.
 *
 * Invariants:
 *  1. A stream's function is called only from conn_pump, and not again after
 *     the frame that ends the stream (final REPLY, RESET), unless it refused
 *     that one, or after a NULL frame.
 *  2. Once the connection is lost every open stream got a NULL frame, and all
 *     requests fail.
 */
struct conn;

/* ${f} is NULL when the connection is lost.  Return 0, or -1: violation. */
typedef int conn_frame_fn(void *, const struct frame *f);

/**
 * conn_open(addr, tenant, why):
 * Connect to "unix:PATH" and send HELLO; does not wait for the answer.  Return
 * NULL with a sentence in ${why} (LIMIT_TEXT bytes).
 */
struct conn *conn_open(const char *, const char *, char *);
void conn_close(struct conn *);

/**
 * conn_hello(c):
 * Wait for the host's HELLO.  Return it (borrowed), or NULL with conn_why.
 */
const struct client_hello *conn_hello(struct conn *);

/* The host's HELLO if it has come. */
const struct client_hello *conn_host(const struct conn *);

/**
 * conn_request(c, open, fn, cookie):
 * Open a stream.  Returns its number, or 0 when the connection is lost.
 */
uint32_t conn_request(struct conn *, const struct client_open *,
    conn_frame_fn *, void *);

/* Nobody hears this stream any more: what still comes on it is ignored.  For
 * whoever goes away before the frame that ends it. */
void conn_forget(struct conn *, uint32_t);

/* Does the frame end its stream: RESET, or a REPLY without FRAME_MORE? */
int conn_ends(const struct frame *);

/**
 * conn_direct(c, stream, fn, cookie):
 * From now on offer long DATA of the stream to ${fn} while it is still in the
 * socket ${fd}: it moves at most f->len bytes from there and returns their
 * number; 0 to have them read and given to the stream's own function, as all
 * that it does not take; or -1 with EAGAIN or EINTR.  What was moved is
 * consumed by that.  NULL: no more.  One stream at a time.
 */
typedef ssize_t conn_direct_fn(void *, const struct frame *f, int fd);
void conn_direct(struct conn *, uint32_t, conn_direct_fn *, void *);

/* Send DATA or END on a stream.  0, or -1. */
int conn_data(struct conn *, uint32_t, uint8_t channel, const void *, size_t);
int conn_end(struct conn *, uint32_t);

/* The stream's DATA was used: let the host send as much again. */
int conn_consumed(struct conn *, uint32_t, size_t);

/* Leave a stream before its end; nobody hears it any more. */
void conn_reset(struct conn *, uint32_t);

/* DATA bytes the host has granted a stream in all. */
uint64_t conn_credit(const struct conn *, uint32_t);

/* DATA bytes of a stream that are not yet written. */
size_t conn_waiting(const struct conn *, uint32_t);

/**
 * conn_pump(c, timeout_ms):
 * Wait for something to happen and handle it: at most ${timeout_ms} (-1: until
 * something does).  Also returns when a descriptor given to conn_watch is
 * readable, after calling its function, or when a signal came in.  Return 0,
 * or -1 when the connection is lost.
 */
int conn_pump(struct conn *, int);

/* More descriptors to wait for, one in each place; -1 takes it away. */
enum conn_watch_at { CONN_WATCH_SIGNALS, CONN_WATCH_INPUT, CONN_WATCH__MAX };
void conn_watch(struct conn *, enum conn_watch_at, int, void (*)(void *),
    void *);

/* Pump until ${*flag} is not 0.  0, or -1 when the connection is lost. */
int conn_until(struct conn *, const int *);

int conn_lost(const struct conn *);

/* Lost because the host broke the protocol: it would do so again. */
int conn_broken(const struct conn *);
const char *conn_why(const struct conn *);

/* The host's error when it ended the connection with one, else NULL. */
const struct err *conn_err(const struct conn *);

uint64_t conn_sent(const struct conn *);        /* DATA bytes */
uint64_t conn_received(const struct conn *);

#endif /* !ERRAND_CONN_H */
