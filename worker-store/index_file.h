#ifndef ERRAND_INDEX_FILE_H
#define ERRAND_INDEX_FILE_H

#include <stdint.h>

/* Make the directory ${path} below ${parent}, or open it: it, or -1, logged. */
int ix_file_dir(int parent, const char *path);

/* LMDB never flushes the directory that its files are in.  0 or -1, logged. */
#define IX_FILE_FLUSHES 2
int ix_file_sync(int dirfd, int parent);

/**
 * ix_file_whole(dirfd, want, page):
 * Has the file the ${want} bytes that its pages take?  Return 0, or -1 after
 * logging (EUCLEAN: it was cut off).
 */
int ix_file_whole(int, uint64_t, uint64_t);

/* Is there no room left on its disk? */
int ix_file_disk_full(int dirfd);

#endif /* !ERRAND_INDEX_FILE_H */
