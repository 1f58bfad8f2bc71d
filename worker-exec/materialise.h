#ifndef ERRAND_EXEC_MATERIALISE_H
#define ERRAND_EXEC_MATERIALISE_H

#include "lib/object.h"

struct err;
struct plan;
struct storeclient;
struct treeroom;

/**
 * materialise(dirfd, sc, root, room, entries, err):
 * Make the tree ${root} in the empty directory ${dirfd}: modes and times
 * exact, holes kept.  What it takes is added to ${room}.  ${*entries} is how
 * many it has.  Return 0, or -1 with ${err} set; then the directory holds a
 * part.
 */
int materialise(int, struct storeclient *, const struct obj_ref *,
    struct treeroom *, uint64_t *, struct err *);

/**
 * materialise_plan(dirfd, sc, plan, room, err):
 * The same for a plan that was read, which may be a difference: then the
 * directory is a layer over the tree that it is a difference to.
 */
int materialise_plan(int, struct storeclient *, const struct plan *,
    struct treeroom *, struct err *);

#endif /* !ERRAND_EXEC_MATERIALISE_H */
