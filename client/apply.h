#ifndef ERRAND_APPLY_H
#define ERRAND_APPLY_H

#include <stddef.h>
#include <stdint.h>

#include "merge.h"
#include "objget.h"
#include "session.h"

/*
 * Brings what a job changed into a tree of this machine.
 *
 * What is promised:
 *  1. All or nothing.  Everything is read, merged and staged before the first
 *     name in the tree changes.  A conflict, a full disk or a lost host means
 *     that nothing did (--conflicts aside).
 *  2. A client that dies, at whatever system call, leaves a journal, and the
 *     next command in this tree (apply_recover) finishes the apply or takes it
 *     back.  After a power cut too: contents and journal are flushed before
 *     the first rename, and a file system that orders its metadata shows the
 *     renames in the order they were made.  The renames themselves are not
 *     flushed.
 *  3. No edit is lost that somebody makes meanwhile.  A file that goes is moved
 *     aside, by exchange with the new one, and only then looked at: is it not
 *     the one that was merged, it goes back.  It is looked at once more before
 *     it is removed.  What remains is a program that holds the file open and
 *     writes into it after that: it writes to a file without a name, as after
 *     any editor's save.
 *  4. Nothing outside the root is touched, and no link followed.
 */
struct apply_opts {
	struct session *s;      /* .quiet, .json and the connection */
	struct objget *g;
	const struct job_record *rec;
	const char *root;       /* absolute */
	const char *cache;      /* stat cache of the tree, or NULL */
	const uint8_t *list;    /* the change list, checked */
	size_t len;
	char *const *want;      /* only these paths and what is below; or all */
	int nwant;
	int conflicts;          /* apply what can be, mark the rest */
};

struct apply_conflict {
	char *path;             /* owned, terminated */
	size_t len;
	enum merge_verdict why;
	const char *what;       /* what --conflicts did about it, or NULL */
};

struct apply_sum {
	uint64_t created, modified, deleted, bytes;
	uint64_t marked, copies;        /* what --conflicts wrote */
	struct apply_conflict *v;
	size_t n, cap;
};

/**
 * apply_run(opts, sum):
 * Return 0; EXIT_CONFLICT (${sum} says which, the caller prints them); or
 * another exit code after saying what is wrong.
 */
int apply_run(const struct apply_opts *, struct apply_sum *);
void apply_sum_done(struct apply_sum *);

/**
 * apply_recover(root, quiet):
 * Wait for an apply that runs in this tree, and finish one that was
 * interrupted or take it back.  Return 0, or an exit code after saying why the
 * tree cannot be used.
 */
int apply_recover(const char *, int);

#endif /* !ERRAND_APPLY_H */
