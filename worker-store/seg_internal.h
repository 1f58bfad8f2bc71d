#ifndef ERRAND_SEG_INTERNAL_H
#define ERRAND_SEG_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "seg.h"
#include "segs.h"

/* What the files seg*.c share of the runs in memory. */

enum run_state {
	RUN_WHOLE,
	RUN_MAKING,             /* being merged into */
	RUN_INPUT               /* being merged from */
};

/*
 * Invariant: head is where the head of the group is while place is ix_place of
 * its length.  Of a head that this transaction wrote, place stays 0.  A head is
 * checked when it is first used after the start, a data block each time.
 */
struct group {
	uint8_t first[SEG_KEY_LEN];
	uint64_t prefix;        /* its first 8 bytes as a number */
	uint16_t len;           /* of the head; 0: it was not checked yet */
	uint16_t blocks;
	uint16_t lines;
	const uint8_t *head;
	uint64_t place;
	uint64_t born;          /* the transaction that wrote it, 0: long ago */
};

struct run_is {                 /* what its record has */
	uint8_t level;
	uint8_t state;
	uint8_t cut;
	uint32_t first;
	uint32_t groups;
	uint64_t entries;
	uint8_t low[SEG_KEY_LEN];
};

struct run {
	uint64_t number;
	struct run_is is;
	struct run_is was;      /* when the transaction began */
	int old;                /* it was there then */
	int dead;               /* it is not there any more */
	struct group *groups;
	size_t cap;
};

/* For tests, which cannot wait until there are enough of everything. */
struct seg_limits {
	size_t recent_max;
	size_t batch_min;
	size_t group_entries;
	size_t trigger_0;
	size_t trigger;
	size_t runs_max;
};

#define SEG_LEVELS      32

/*
 * Which keys may be in the tree of recent entries: for a new object it spares
 * a search in there.  Bits are only added, also by transactions that are
 * aborted, until all are made anew.
 */
#define RECENT_BITS     131072          /* 16 for each of twice RECENT_MAX */

struct recent_filter {
	int stale;              /* to be made anew before it is used */
	uint8_t bits[RECENT_BITS / 8];
};

/*
 * Invariants:
 *  1. runs is in the order of age, the newest first.
 *  2. While open, kept has the runs there were when the write transaction
 *     began, those too that have been removed since.
 */
struct segs {
	struct run **runs;
	size_t n;
	size_t cap;
	struct run **kept;
	size_t nkept;
	size_t kept_cap;
	int open;               /* a write transaction is */
	uint64_t added;         /* entries, in this transaction */
	int drained;            /* the tree has been emptied in it */
	uint32_t stuck;         /* levels that cannot be merged: damage */
	struct seg_limits limits;
	uint8_t *entries;       /* of the group that is being made */
	struct recent_filter recent;
};

/* Add a run to the list, or take one out; the record is the caller's. */
struct run *segs_add(struct segs *, uint64_t number, uint8_t level,
    uint8_t state);
void segs_remove(struct segs *, struct run *);
uint64_t segs_next(const struct segs *);

/* Write a run's record, or remove it. */
int segs_record(struct ix *, const struct run *);
int segs_forget(struct ix *, struct run *);

/* Make room for one group more in memory; say with which key it begins. */
struct group *segs_group(struct run *);
void segs_group_first(struct group *, const uint8_t *key);

/* Log that a block is not what it should be; -1 with errno = EUCLEAN. */
int segs_damaged(uint64_t run, uint32_t number);

/* Look a block up and check it; borrowed as by ix_get. */
int segs_data(struct ix *, const struct run *, uint32_t number,
    const uint8_t **, size_t *n);
int segs_head(struct ix *, struct run *, uint32_t group, struct seg_head *);

/* The group where a key is if it is anywhere; -1 for none. */
int64_t segs_group_of(const struct run *, const uint8_t *key);

/* Write ${n} entries as the next group of a run; they end up on the map. */
int seg_out_group(struct ix *, struct run *, const uint8_t *, size_t);

#endif /* !ERRAND_SEG_INTERNAL_H */
