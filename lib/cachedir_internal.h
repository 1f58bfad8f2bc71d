#ifndef ERRAND_CACHEDIR_INTERNAL_H
#define ERRAND_CACHEDIR_INTERNAL_H

#include "cachedir.h"

/* A directory, never through a link.  -1. */
int cachedir_opendir(int, const char *);

/* Write the mark of a directory that has none.  0 or -1. */
int cachedir_mark_write(int, const struct cachedir_mark *);

/* Read it, and when it was used last.  0, or -1 when it is not to be
 * believed: then both are zero. */
int cachedir_mark_read(int, struct cachedir_mark *, uint64_t *);

#endif /* !ERRAND_CACHEDIR_INTERNAL_H */
