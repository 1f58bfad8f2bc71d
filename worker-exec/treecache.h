#ifndef ERRAND_EXEC_TREECACHE_H
#define ERRAND_EXEC_TREECACHE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/object.h"

struct err;
struct storeclient;

/*
 * Trees of one tenant, each laid out once as a directory that jobs have below
 * their workspace:
 *
 *   trees/ROOT/tree         the tree, or a layer
 *   trees/ROOT/mark         written last; holds the boot it was made in
 *   trees/ROOT/below.N      of a layer: other names of the marks of those
 *                           below it, 1 being the next
 *
 * A layer holds what of the tree differs from another's, with overlayfs's
 * marks for what is gone; it and the directories below it are the tree.
 *
 * Nothing here is flushed, so what was made before a crash of the host is not
 * believed.  Whoever uses a tree holds a shared lock on its mark, and who
 * removes one an exclusive lock.  A mark with more than one name is that of a
 * tree that others lie on; it is not removed before them.  So the lock on the
 * topmost one keeps them all.
 */
#define TREECACHE_MAX    64     /* trees kept; those in use come on top */
#define TREECACHE_LAYERS 16     /* directories of one tree: overlayfs takes 500,
				 * but each is looked into for each name */

struct treecache_use {
	int lock;               /* closed to let go */
	size_t n;               /* of directories, from the topmost down: */
	char root[TREECACHE_LAYERS][2 * OBJ_ID_LEN + 1];
	uint64_t entries;       /* of the tree, about; 0: not known */
	uint64_t bytes;         /* on the disk, of the topmost one, about */
};

/**
 * treecache_get(tenant, sc, root, use, err):
 * Find or make the tree ${root} below the tenant's directory.  Return 0, or -1
 * with ${err} set.
 */
int treecache_get(int, struct storeclient *, const struct obj_ref *,
    struct treecache_use *, struct err *);

#endif /* !ERRAND_EXEC_TREECACHE_H */
