#ifndef ERRAND_STATCACHE_INTERNAL_H
#define ERRAND_STATCACHE_INTERNAL_H

#include "lib/object.h"
#include "statcache.h"

/*
 * The stat cache file, in native byte order (it never leaves this machine):
 * head, index, blocks.  Head: magic, u32 directories, root reference, zeros,
 * u64 checksum of head (with 0 there) and index.  Index: a struct stat_block
 * per directory, by hash of its path.  Block: u32 path length, path, reference,
 * id without times, u32 entries, entries.  Each block has its own checksum, so
 * that one directory is read without the others.
 */
#define STAT_MAGIC      "errand stat 3\n\0"
#define STAT_HEAD       64
#define STAT_AT_DIRS    16
#define STAT_AT_ROOT    20
#define STAT_AT_SUM     56
#define STAT_ENTRY      (5 * 8 + 4 + 1 + 2 + OBJ_REF_LEN)
#define STAT_DIR_HEAD   (8 + OBJ_REF_LEN + OBJ_ID_LEN)

struct stat_block {
	uint64_t hash;          /* stat_sum of the path */
	uint64_t off, len;
	uint64_t sum;
};

/* Finds damage and spreads paths; no promise against whom damages on purpose:
 * the file is the user's own. */
uint64_t stat_sum(const void *, size_t);

#endif /* !ERRAND_STATCACHE_INTERNAL_H */
