#ifndef ERRAND_STATCACHE_H
#define ERRAND_STATCACHE_H

#include <sys/stat.h>

#include <stddef.h>
#include <stdint.h>

#include "lib/object.h"

/*
 * What the last acknowledged snapshot saw, so that unchanged files are not
 * read again.  A file is unchanged when device, inode, size, mode, mtime and
 * ctime are all as then, and neither time is so near to that scan that a later
 * write could have left it as it was (Git's rule for racy entries).  Private
 * to this client: a missing or damaged cache only costs time.  A directory is
 * read from the file when it is asked for.
 */
struct statcache;

struct stat_entry {
	uint64_t dev, ino, size;
	int64_t mtime_ns, ctime_ns;
	uint32_t mode;          /* st_mode */
	uint8_t racy;
	struct obj_ref ref;
	uint8_t plain[OBJ_ID_LEN];      /* directory: its id without times, kept
					 * with its own entry, not this one */
	const char *name;       /* borrowed, not terminated */
	uint16_t name_len;
};

struct stat_dir {
	struct obj_ref ref;
	uint8_t plain[OBJ_ID_LEN];
	uint32_t n;             /* entries */
	const uint8_t *p;       /* the next one */
	const uint8_t *end;
};

/* Open, and read what is where; NULL when there is none that can be used. */
struct statcache *statcache_load(const char *);
void statcache_free(struct statcache *);
void statcache_root(const struct statcache *, struct obj_ref *);

/* Find a directory by its path; good until statcache_free.  0, or -1. */
int statcache_dir(struct statcache *, const char *, struct stat_dir *);

/* The next entry, in name order: 1, 0 at the end. */
int stat_dir_next(struct stat_dir *, struct stat_entry *);

/* Is the entry what ${st} says now? */
int stat_entry_same(const struct stat_entry *, const struct stat *);

/* Fill from a stat; ${start_ns} is when the scan began (real time). */
void stat_entry_set(struct stat_entry *, const struct stat *, int64_t);

/*
 * Looking paths up, in the order of their bytes or nearly so: the directory
 * that was asked last is gone through once.  The cache stays the caller's.
 * find: the entry, borrowed until the next call, or NULL.
 */
struct statcache_at;
struct statcache_at *statcache_at_new(struct statcache *);
void statcache_at_free(struct statcache_at *);
const struct stat_entry *statcache_at_find(struct statcache_at *, const char *,
    size_t);

/* Writing: directories in any order, entries by name. */
struct statcache_out;
struct statcache_out *statcache_out_new(void);
void statcache_out_free(struct statcache_out *);
int statcache_out_dir(struct statcache_out *, const char *,
    const struct obj_ref *, const uint8_t *plain, const struct stat_entry *,
    size_t);
int statcache_out_save(struct statcache_out *, const char *,
    const struct obj_ref *);

#endif /* !ERRAND_STATCACHE_H */
