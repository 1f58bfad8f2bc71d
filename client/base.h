#ifndef ERRAND_BASE_H
#define ERRAND_BASE_H

#include "lib/object.h"
#include "lib/tree.h"
#include "merge.h"
#include "statcache.h"

/* Paths of a tree whose objects come from elsewhere. */
struct base;

/**
 * base_new(fetch, cookie, root):
 * Ready to look into the tree; NULL: no memory.
 */
struct base *base_new(obj_fetch_fn *, void *, const struct obj_ref *);
void base_free(struct base *);

/* Ask a stat cache first, if it is of this very tree; it is borrowed until
 * base_free.  0, or -1: no memory. */
int base_cache(struct base *, struct statcache *);

/**
 * base_find(b, path, len, side):
 * What the tree has there; borrowed until the next call.  Paths that come in
 * order are cheap.  1, 0: nothing, -1 with errno.
 */
int base_find(struct base *, const char *, size_t, struct merge_side *);

#endif /* !ERRAND_BASE_H */
