#ifndef ERRAND_STORE_DOUBT_H
#define ERRAND_STORE_DOUBT_H

#include <stdint.h>

#include "stint.h"

/*
 * Is the index fit to be believed when it says that something is not there?
 * LMDB's pages have no checksums: one that a disk gives back changed, or as it
 * was some time ago, may hide entries, and nothing notices.  Whoever reads a
 * hidden job or object is told that it is not there, and rebuilding the index
 * brings it back; unless a collection or rewriting has believed it first.  So
 * before either does anything after an opening, the index is looked through
 * once, if need be in steps between everything else, as it is at one moment:
 *
 *   - each table has as many entries as LMDB has counted when it wrote them;
 *   - each job has its record, its idempotency id, the references that were
 *     published with it, and is among the unsettled ones if it is one;
 *   - each reference is a job's; each tenant has as many jobs as were counted.
 *
 * Of objects only the number of entries is looked at: those that are hidden
 * keep their pack from being removed (its live bytes do not come to nothing),
 * and what they reach from being collected.
 */
struct doubt;
struct store;

struct doubt *doubt_new(struct store *);
void doubt_free(struct doubt *);

/*
 * Look as far as half a second goes, in which a store of a hundred thousand
 * jobs is looked through: LMDB may do anything with a damaged page, and
 * most of all when it writes.  0, also when the rest is left for later; -1 with
 * errno, EUCLEAN after logging.
 */
int doubt_open(struct store *);

/*
 * May something be deleted?  1: yes.  0: it is being looked at; gc_kick and
 * rewrite_kick follow.  -1 with EUCLEAN: no, it was logged why.
 */
int doubt_none(struct store *);

/* If errno is EUCLEAN: somebody else has come upon damage.  Keeps errno. */
void doubt_errno(struct store *);

/* Was it found damaged? */
int doubt_damaged(const struct store *);

/* The longest step so far. */
struct stint_longest doubt_longest(const struct store *);

#endif /* !ERRAND_STORE_DOUBT_H */
