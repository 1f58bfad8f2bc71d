#ifndef ERRAND_UPKEEP_H
#define ERRAND_UPKEEP_H

#include "stint.h"

struct store;
struct upkeep;

/*
 * What the index has to do for itself, in moments when nobody waits: steps of
 * some milliseconds, each a transaction of its own, with a look at the
 * channels in between.
 */
struct upkeep *upkeep_new(struct store *);
void upkeep_free(struct upkeep *);

/* The index was written: see whether there is anything to do. */
void upkeep_touch(struct upkeep *);

/* The longest step so far. */
struct stint_longest upkeep_longest(const struct upkeep *);

#endif /* !ERRAND_UPKEEP_H */
