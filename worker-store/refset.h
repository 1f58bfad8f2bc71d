#ifndef ERRAND_REFSET_H
#define ERRAND_REFSET_H

#include <stddef.h>
#include <stdint.h>

#include "lib/object.h"

/* A set of references that remembers the order in which they came. */
struct refset;

/* ${max}: most references it will hold. */
struct refset *refset_new(size_t);
void refset_free(struct refset *);

/* 1 when it is new, 0 when it is there; -1: ENOMEM, EFBIG. */
int refset_add(struct refset *, const struct obj_ref *);

size_t refset_count(const struct refset *);
const struct obj_ref *refset_get(const struct refset *, size_t);

#endif /* !ERRAND_REFSET_H */
