#ifndef ERRAND_EXEC_TREECACHE_INTERNAL_H
#define ERRAND_EXEC_TREECACHE_INTERNAL_H

#include <time.h>

#include "plan.h"
#include "treecache.h"

#define HEX_LEN         (2 * OBJ_ID_LEN)

/* treecache_mark.c: what says that a tree is whole. */

enum treecache_how {
	TREECACHE_WAIT = 0x1,   /* for somebody who may be removing it */
	TREECACHE_TOUCH = 0x2   /* it is going to be used */
};

/**
 * treecache_find(trees, hex, how, use):
 * Lock the tree named ${hex}.  Return 0, or -1 with errno = ESTALE when it is
 * there and not to be believed.
 */
int treecache_find(int, const char *, int, struct treecache_use *);

/**
 * treecache_mark(trees, dir, use):
 * Mark the tree in ${dir} as whole, with what ${use} says of it, and lock it.
 * Return 0, or -1 with errno.
 */
int treecache_mark(int, int, struct treecache_use *);

/* When the tree named ${hex} was laid out.  Return 0, or -1. */
int treecache_made(int, const char *, uint64_t *);

/* What it takes on the disk, about; 0 when that cannot be known. */
uint64_t treecache_bytes(int, const char *);

/* treecache_check.c: whether it still is what was laid out. */

/**
 * treecache_check(trees, use):
 * Look at a tree that was found.  Return -1, or which of its directories was
 * changed since.
 */
int treecache_check(int, const struct treecache_use *);

/* treecache_trim.c: which there are, and which are too many. */

struct treecache_old {
	char name[HEX_LEN + 1];
	struct timespec used;
	uint64_t bytes;         /* treeroom.c's */
};

/* All of them, the oldest use first, to be freed.  Return 0, or -1. */
int treecache_list(int, struct treecache_old **, size_t *);

/**
 * treecache_evict(trees, name, stale):
 * Remove a tree that nobody uses, and, unless it is ${stale}, that no other
 * lies on.  Return 0, or -1 when it has to stay.
 */
int treecache_evict(int, const char *, int);

/*
 * Take the name of a tree away, whoever uses it: whoever does goes on, and it
 * is removed when nobody does.
 */
void treecache_aside(int, const char *);

/* Keep the most recently used ones. */
void treecache_trim(int);

/* treecache_base.c: what a new tree could be laid over. */

struct treecache_base {
	struct treecache_use use;
	struct plan plan;       /* what is different */
	uint64_t entries;       /* of the new tree, about */
};

/**
 * treecache_base(trees, sc, root, base):
 * Find the tree that ${root} is most like, and lock it.  Return 0, or -1 when
 * none is like it enough, or that one was changed.
 */
int treecache_base(int, struct storeclient *, const struct obj_ref *,
    struct treecache_base *);
void treecache_base_done(struct treecache_base *);

#endif /* !ERRAND_EXEC_TREECACHE_INTERNAL_H */
