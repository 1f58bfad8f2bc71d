#ifndef ERRAND_EXEC_MATERIALISE_H
#define ERRAND_EXEC_MATERIALISE_H

#include "lib/object.h"

struct err;
struct storeclient;

/**
 * materialise(dirfd, sc, root, err):
 * Make the tree ${root} in the empty directory ${dirfd}: modes and times
 * exact, holes kept.  Return 0, or -1 with ${err} set; then the directory holds
 * a part.
 */
int materialise(int, struct storeclient *, const struct obj_ref *,
    struct err *);

#endif /* !ERRAND_EXEC_MATERIALISE_H */
