#ifndef ERRAND_SNAP_PEND_H
#define ERRAND_SNAP_PEND_H

#include <stddef.h>
#include <stdint.h>

#include "proto/limits.h"

/*
 * Requests that wait for their replies, on either of our two channels.
 *
 * Invariants:
 *  1. An entry is in use exactly when its id is not 0; ids never repeat.
 *  2. An entry whose fn is NULL was given up; its reply is dropped.
 */
#define PEND_MAX        LIMIT_REQUESTS
#define PEND_GATE       96      /* no new stream beyond; see dispatch.c */

typedef void pend_fn(void);     /* cast back by the owner of the table */

struct pend {
	uint64_t id;
	uint8_t op;
	uint8_t failed;         /* was never sent; the answer is an error */
	pend_fn *fn;
	void *cookie;
};

struct pend_table {
	uint64_t last;
	size_t used;
	struct pend slots[PEND_MAX];
};

/* A new entry with a new id, or NULL when all are taken. */
struct pend *pend_add(struct pend_table *, uint8_t op, pend_fn *, void *);

/* The entry of an id, or NULL. */
struct pend *pend_find(struct pend_table *, uint64_t id);

/* Copy an entry out and free its slot. */
struct pend pend_take(struct pend_table *, struct pend *);

/* Give up all requests of ${cookie}. */
void pend_cancel(struct pend_table *, const void *);

/* How many of ${op} are not answered, given up or not. */
unsigned int pend_count(const struct pend_table *, uint8_t op);

#endif /* !ERRAND_SNAP_PEND_H */
