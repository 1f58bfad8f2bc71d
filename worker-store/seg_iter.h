#ifndef ERRAND_SEG_ITER_H
#define ERRAND_SEG_ITER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Going through several runs at once, in the order of keys; of each key the
 * newest version is seen.  Blocks are copied and checked as they are reached,
 * so the index may be written meanwhile, but for the runs in question.
 */
struct ix;
struct run;
struct seg_iter;
struct segs;

/**
 * seg_iter_new(ix, runs, n, recent, after):
 * Begin behind the key ${after} (NULL: at the first) of ${n} runs, newest
 * first, and if ${recent} of the tree of recent entries, newer than all.
 */
struct seg_iter *seg_iter_new(struct ix *, struct run *const *, size_t, int,
    const uint8_t *);

/* The same with everything that there is. */
struct seg_iter *seg_iter_all(struct ix *, struct segs *, const uint8_t *);
void seg_iter_free(struct seg_iter *);

/* 1 with an entry that is borrowed until the next call, 0 at the end, or -1. */
int seg_iter_next(struct seg_iter *, const uint8_t **);

/* The group where run ${i} goes on; its number of groups when it is through. */
uint32_t seg_iter_group(const struct seg_iter *, size_t);

#endif /* !ERRAND_SEG_ITER_H */
