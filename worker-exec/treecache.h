#ifndef ERRAND_EXEC_TREECACHE_H
#define ERRAND_EXEC_TREECACHE_H

#include "lib/object.h"

struct err;
struct storeclient;

/*
 * Trees of one tenant, each laid out once as a directory that jobs have below
 * their workspace:
 *
 *   trees/ROOT/tree         the tree
 *   trees/ROOT/mark         written last; holds the boot it was made in
 *
 * Nothing here is flushed, so what was made before a crash of the host is not
 * believed.  Whoever uses a tree holds a shared lock on its mark, and who
 * removes one an exclusive lock.
 */
#define TREECACHE_MAX   64      /* trees kept; those in use come on top */

struct treecache_use {
	int lock;               /* closed to let go */
	char path[128];         /* of the tree, below the tenant's directory */
};

/**
 * treecache_get(tenant, sc, root, use, err):
 * Find or make the tree ${root} below the tenant's directory.  Return 0, or -1
 * with ${err} set.
 */
int treecache_get(int, struct storeclient *, const struct obj_ref *,
    struct treecache_use *, struct err *);

#endif /* !ERRAND_EXEC_TREECACHE_H */
