#ifndef ERRAND_EXEC_STORECLIENT_INTERNAL_H
#define ERRAND_EXEC_STORECLIENT_INTERNAL_H

#include <sys/queue.h>

#include <stddef.h>
#include <stdint.h>

#include "lib/object.h"
#include "proto/job_types.h"

#define GETS_MAX        4       /* batches of a lane, see struct lane */
#define PUTS_MAX        4       /* unanswered puts */
#define GET_OBJECTS     256     /* of one batch */

/*
 * Objects that are fetched in the order in which they were asked for.  There
 * are two such orders: lists, and whatever else is read one after the other;
 * and the chunks of files, which are known only when the lists are there.
 */
struct lane {
	struct obj_ref *wants;
	size_t want_at, want_n, want_cap;
	size_t ngets;           /* of it, under way or not yet used up */
};

/* A GET: what was asked for, in order, and what has come of it. */
struct get {
	TAILQ_ENTRY(get) link;
	struct lane *lane;
	uint64_t id;            /* 0 once answered */
	struct obj_ref *refs;
	size_t n;               /* asked for; after the answer, served */
	size_t next;            /* the first that nobody has fetched */
	const uint8_t *map;     /* records of refs[0..n) */
	size_t maplen;
	size_t at;              /* of refs[next] in the map */
	uint8_t soft;           /* that it is not there is no failure */
	uint8_t refused;        /* answered so for the first; id is 0 then */
};

/*
 * Invariants:
 *  1. Every get in the list has next < n, or is the one being fetched from.
 *     Soft ones may stay until the end: whoever tried gave up.
 *  2. wants[want_at..want_n) of a lane are asked for and in no get.
 *  3. Once failed is set, nothing more is sent.
 */
struct storeclient {
	int fd;
	int other;
	int (*serve)(void *);
	void *cookie;
	uint64_t id;            /* of the last request */
	int failed;             /* errno of the first failure */
	uint8_t gone;           /* it was the end of the channel */
	struct err err;
	uint8_t *packet;

	TAILQ_HEAD(get_head, get) gets;
	struct lane first, chunks;
	struct lane tries;      /* no wants: pieces of lists that were tried */

	uint8_t *put;           /* records that wait to be sent */
	size_t put_len, put_cap, put_objects;
	uint64_t puts[PUTS_MAX]; /* ids of the unanswered, 0: free */
};

/* Send one request with a memfd.  Returns its id, 0 on failure. */
uint64_t storeclient_send(struct storeclient *, int op, uint32_t n, int fd);

/* Wait for one message and file it.  Return 0, or -1 with errno. */
int storeclient_wait(struct storeclient *);

int storeclient_fail(struct storeclient *, int);

#endif /* !ERRAND_EXEC_STORECLIENT_INTERNAL_H */
