#ifndef ERRAND_EXEC_CACHE_MERGE_H
#define ERRAND_EXEC_CACHE_MERGE_H

#include <stddef.h>
#include <stdint.h>

#define CACHE_DEPTH     100     /* directories: three descriptors each */
#define CACHE_ENTRY     4096    /* bytes that an entry counts at least */

/* What a saved state holds. */
struct cache_size {
	uint64_t bytes, entries;
};

/**
 * cache_merge(up, low, dir, max, size, why, len):
 * Make in ${dir}, which has an empty tree/, what an overlay of the directories
 * ${up} and ${low} (-1: none) shows.  What is in ${up} is moved there, or
 * copied from another file system; what is in ${low} gets another name.
 * Sockets, FIFOs, devices and extended attributes are left out.  At most ${max}
 * bytes; 0 is no limit.  Both descriptors are taken.  Return 0, or -1 with a
 * sentence in ${why}.
 */
int cache_merge(int, int, int, uint64_t, struct cache_size *, char *, size_t);

#endif /* !ERRAND_EXEC_CACHE_MERGE_H */
