#ifndef ERRAND_SCAN_INTERNAL_H
#define ERRAND_SCAN_INTERNAL_H

#include <sys/stat.h>

#include "scan.h"
#include "select.h"
#include "statcache.h"

/* Shared by scan.c (the walk), scan_tree.c (directories) and scan_file.c
 * (files). */
struct link_seen {              /* a file with several names */
	uint64_t dev, ino;
	char *path;             /* the first one met */
};

struct scan {
	struct scan_opts o;
	struct scan_sum sum;
	int rootfd;
	uint64_t dev;           /* of the directory we are in */
	int64_t start_ns;       /* real time when the scan began */
	struct statcache *old;  /* NULL: read everything */
	struct statcache_out *out;
	struct objtab *tab;
	char *path;             /* where we are, relative to the root */
	size_t path_len, path_cap;
	unsigned depth;
	int refresh;            /* save the cache though the root is the same */
	char *why;              /* the caller's, while scan_run runs */
	struct link_seen *links;
	size_t nlinks;
	int64_t file;           /* objtab index of the file being read */
};

/*
 * Invariants of struct scan:
 *  1. ${tab} holds every object of this root that is not below ${old}'s.
 *  2. ${path} is the directory or file being looked at, without slash at
 *     either end.
 */

/**
 * scan_file(s, dirfd, name, st, ref):
 * Read a regular file into objects.  ${st} becomes what it was when it was
 * read.  Returns 0; 1 when it is not there any more; or -1 with errno and the
 * scan's sentence set.
 */
int scan_file(struct scan *, int, const char *, struct stat *,
    struct obj_ref *);

/* One directory being read; the parents are on the C stack. */
struct level {
	int fd;
	struct names names;
	struct stat_entry *v;
	size_t n;
	struct stat_dir old;
	int has_old;
	int same;               /* nothing differs from ${old} so far */
	struct stat_entry at;   /* where the merge with ${old} stands */
	int at_valid;
};

/**
 * scan_encode(s, l, ref, plain):
 * Make the objects of a directory that was read into ${l}; those that the host
 * has, since they are also the old directory's, are left out.  ${plain} is the
 * id without times.  0, or -1 with the scan's sentence set.
 */
int scan_encode(struct scan *, struct level *, struct obj_ref *, uint8_t *);

/* Set the scan's sentence: the path, ${what}, errno. */
void scan_fault(struct scan *, const char *);
void scan_note(struct scan *, const char *);
void scan_links_free(struct scan *);

#endif /* !ERRAND_SCAN_INTERNAL_H */
