#ifndef ERRAND_SEGS_H
#define ERRAND_SEGS_H

#include <stddef.h>
#include <stdint.h>

/*
 * The runs of the index: which there are, where a key is in them, and their
 * merging.  Below index_obj.c; above the bytes (seg.h) and index.c.
 *
 * All that is new comes in a run of its own, at level 0: the objects of a
 * batch, or what gathered in the tree (recent.h).  The oldest runs of a level
 * are merged into one of the next level, a group or some at a time, each time
 * in a transaction that also takes what was merged away from the runs it came
 * from.  So a merge that has got half-way is a valid state: below a key the
 * new run has everything, from there on the old ones.
 *
 *   run  u64 number, big-endian -> u8 level, u8 state, u8 cut, u8 zero, u32
 *        first group, u32 groups, u64 entries, 36-byte key: with cut, entries
 *        up to it are not in the run any more
 *
 * Invariants:
 *  1. Every run of a level is newer than every run of a higher level, and of
 *     two runs in a level that with the higher number is newer.  The newest
 *     version of an entry is the one that counts.
 *  2. Of each level at most one run is being made, from runs of the level
 *     below that are all marked as its inputs, its oldest ones.
 *  3. No block of a run is ever written again.
 */
#define SEG_RECENT_MAX  4096    /* entries in the tree, then a run is made */
#define SEG_BATCH_MIN   64      /* a batch of so many makes a run */
#define SEG_TRIGGER_0   8       /* runs of level 0 that are merged */
#define SEG_TRIGGER     4       /* and of each other level */
#define SEG_RUNS_MAX    40      /* with more, every commit has to help */
#define SEG_IDLE_GROUPS 4       /* merged in one idle transaction */

/* What one transaction of upkeep may take of the map. */
#define SEG_ROOM        (8U * 1024 * 1024)

struct ix;
struct ix_object;
struct segs;

struct segs *segs_new(void);
void segs_free(struct segs *);

/* In a transaction, at the start: see which runs there are. */
int segs_load(struct ix *, struct segs *);

/* A write transaction begins (-1: no memory); it was committed, or not. */
int segs_begin(struct segs *);
void segs_committed(struct segs *);
void segs_aborted(struct segs *);

/* Find the newest version of a key in the runs: 0; -1 with errno: ENOENT. */
int seg_find(struct ix *, const uint8_t *key, uint8_t *entry);

/**
 * seg_out_batch(ix, objs, n):
 * Write sorted entries, none of which is in the tree of recent ones, as a run.
 */
int seg_out_batch(struct ix *, struct ix_object *const *, size_t);

/* Is there anything to do for idle moments? */
int seg_keep_due(struct ix *);

/**
 * seg_keep_step(ix, groups), seg_keep_forced(ix):
 * In a write transaction: move about ${groups} groups; do what cannot wait for
 * an idle moment.  0, or -1 with errno when the transaction has to be aborted.
 */
int seg_keep_step(struct ix *, size_t);
int seg_keep_forced(struct ix *);

/* From how many objects on a batch is a run. */
size_t segs_batch_min(const struct segs *);

/* Runs there are, and bytes of memory that they take. */
size_t segs_count(const struct segs *);
size_t segs_memory(const struct segs *);

#endif /* !ERRAND_SEGS_H */
