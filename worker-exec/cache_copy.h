#ifndef ERRAND_EXEC_CACHE_COPY_H
#define ERRAND_EXEC_CACHE_COPY_H

#include <sys/stat.h>

/**
 * cache_copy_file(from, name, st, to, links):
 * Copy a file under the same name into the directory ${to} of another file
 * system: content, holes, mode and times.  ${links} is a directory in which
 * copies of files with several names are found again.  0 or -1.
 */
int cache_copy_file(int, const char *, const struct stat *, int, int);

/* The same for a symbolic link. */
int cache_copy_link(int, const char *, const struct stat *, int);

/* Remove the attributes of a file that its owner can set. */
int cache_strip(int, const char *);

#endif /* !ERRAND_EXEC_CACHE_COPY_H */
