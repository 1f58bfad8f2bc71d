#ifndef ERRAND_REWRITE_H
#define ERRAND_REWRITE_H

#include <stdint.h>

#include "stint.h"

/*
 * Giving room back to the disk.  A sealed pack of which less than half is live
 * or the journal's is rewritten: what is live is copied to the open pack, in
 * steps of half a megabyte between batches, each of which flushes the copies
 * before one commit says where they are now.  When nothing is live any more, a
 * commit stops naming the pack, and only then is its file removed and the
 * directory flushed.  Copies are checked against their ids; a pack with a
 * damaged object is left as it is.  An open pack that is mostly dead is sealed
 * first.  A part of the journal is copied without what it tells of jobs that
 * are gone.
 *
 * While a collection holds a set of places (gc.h) nothing is moved.  Nobody
 * reads a pack over several handlers without holding all of them.
 */
struct rewrite;
struct store;

struct rewrite *rewrite_new(struct store *);
void rewrite_free(struct rewrite *);

struct rewrite_figures {
	uint32_t pack;          /* that is being rewritten, 0: none */
	uint64_t moved;         /* objects, since the start */
	uint64_t moved_bytes;
	uint64_t removed;       /* packs */
	uint64_t removed_bytes;
	uint64_t stuck;         /* packs that are left for their damage */
	struct stint_longest longest;   /* step */
};
void rewrite_figures(const struct store *, struct rewrite_figures *);

/* So many jobs were forgotten: what the journal tells of them is of no use. */
void rewrite_forgot(struct store *, size_t);

/* There may be packs to rewrite. */
void rewrite_kick(struct store *);

/*
 * A collection has ended, which took so long.  When packs have waited for some
 * seconds for one collection after another, it is their turn for as long, or
 * until none is left to be rewritten; rewrite_turn says whether it is.
 */
void rewrite_collected(struct store *, uint64_t us);
int rewrite_turn(const struct store *);

/* Keep all packs where they are until as many releases. */
void rewrite_hold(struct store *);
void rewrite_release(struct store *);

#endif /* !ERRAND_REWRITE_H */
