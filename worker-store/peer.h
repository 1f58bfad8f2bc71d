#ifndef ERRAND_PEER_H
#define ERRAND_PEER_H

#include <sys/queue.h>

#include <stddef.h>
#include <stdint.h>

#include "proto/store_msg.h"

struct chan;
struct lease;
struct store;

enum peer_kind {
	PEER_SUP = 1,           /* the supervisor, on fd 3: we end with it */
	PEER_TENANT = 2,        /* a worker bound to a tenant: it ends alone */
	PEER_CARE = 4           /* a worker that serves an operator: the same */
};

/*
 * The other end of a channel.
 *
 * Invariants:
 *  1. Once bound, tenant and rights never change; on the supervisor's own
 *     channel both are zero and nothing looks at them.
 *  2. chan is NULL once the channel has ended; whoever still holds the peer
 *     may answer then as before, into the void.
 *  3. waiting counts the requests that are neither answered nor being handled.
 */
struct peer {
	LIST_ENTRY(peer) link;
	struct store *st;
	struct chan *chan;
	enum peer_kind kind;
	uint32_t tenant;
	uint32_t rights;
	char name[32];          /* for the log */
	int hello;              /* its own has come */
	unsigned int waiting;
	unsigned int unread;    /* replies since the socket last took all */
	unsigned int held;
	struct lease *lease;    /* NULL: nothing is covered */
};

/* A request that is to be answered. */
struct ask {
	struct peer *peer;
	uint64_t id;
	uint8_t op;
};

struct peers;
struct peers *peers_new(void);
void peers_free(struct peers *);

/**
 * peer_new(st, fd, kind, tenant, rights):
 * Serve the channel ${fd} (taken on success).  Return the peer, or NULL with
 * errno.
 */
struct peer *peer_new(struct store *, int, enum peer_kind, uint32_t,
    uint32_t);

/* Keep a peer's memory while a request of it waits; let it go. */
void peer_hold(struct peer *);
void peer_release(struct peer *);

/* Say that we are ready, in the first message of this end. */
void peer_hello(struct peer *, int landlock);

/* End the channel after logging why. */
void peer_close(struct peer *, const char *);

/* True while the peer may ask for more. */
int peer_may_ask(struct peer *);

/**
 * ask_ok(a, m, fd), ask_err(a, e):
 * Answer a request; m->u.ok is filled by the caller, the rest here.  ${fd}
 * goes with it, -1 for none; it is taken.
 */
void ask_ok(const struct ask *, struct store_msg *, int);
void ask_err(const struct ask *, const struct err *);

#endif /* !ERRAND_PEER_H */
