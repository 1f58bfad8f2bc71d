#ifndef ERRAND_LISTING_H
#define ERRAND_LISTING_H

#include <sys/stat.h>

#include "select.h"

/* One path that would be sent; its directory was just looked at, so that
 * select_judge can be asked.  ${path} is relative to the root.  Non-zero ends
 * the walk. */
typedef int listing_fn(void *, const char *path, const char *name,
    const struct stat *);

/**
 * listing_walk(rootfd, sel, fn, cookie):
 * All paths that would be sent: files, links, and directories before what is
 * in them, by their bytes.  Nothing is read but directories and ignore files.
 * Return 0, the value of ${fn}, or -1 after saying why.
 */
int listing_walk(int, struct select *, listing_fn *, void *);

#endif /* !ERRAND_LISTING_H */
