#ifndef ERRAND_PLACES_H
#define ERRAND_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "proto/snapshot_msg.h"

struct places;
struct holder;
struct tenants;

#define PLACES_UID_MAX  32      /* of one local user */

/*
 * Who holds how many of the places that clients have, and whether one more may
 * come in.
 *
 * Invariants:
 *  1. A tenant that an operator made and that holds none finds one, whatever
 *     others hold: places are kept for those, as long as they are no more than
 *     half of all.
 *  2. Of what is left nobody gets more than he leaves (share.h).
 */
struct places *places_new(struct tenants *, size_t);
void places_free(struct places *);

/**
 * places_take(ps, uid, err):
 * One for a client whose peer is ${uid}; given back with places_give.  NULL
 * with ${err} filled.
 */
struct holder *places_take(struct places *, uint32_t, struct err *);
void places_give(struct places *, struct holder *);

/* How many the same user holds. */
unsigned int places_held(const struct holder *);

#endif /* !ERRAND_PLACES_H */
