#ifndef ERRAND_EXEC_COLLECT_INTERNAL_H
#define ERRAND_EXEC_COLLECT_INTERNAL_H

#include <sys/stat.h>

#include <stddef.h>
#include <stdint.h>

#include "lib/change.h"
#include "lib/tree.h"
#include "proto/job_types.h"

struct keep;
struct storeclient;

/* collect_list.c: a directory as the submitted tree and as the job has it. */

struct olds {
	struct tree_entry *v;   /* names and targets are in .text */
	size_t n, cap;
	char *text;
	size_t text_len, text_cap;
};

struct names {
	char **v;               /* in byte order */
	size_t n, cap;
};

/* 0, or -1 with errno. */
int olds_read(struct olds *, struct storeclient *, const struct obj_ref *);

/* The same for a tree that may not be in the store any more: ENOENT. */
int olds_try(struct olds *, struct storeclient *, const struct obj_ref *);
void olds_done(struct olds *);
int names_read(struct names *, int);
void names_done(struct names *);

/* collect_record.c: what changed, in the order it was found. */

struct record {
	struct change change;   /* .path and .target are offsets: see below */
	size_t path;
	size_t target;
};

struct records {
	struct record *v;
	size_t n, cap;
	char *text;
	size_t text_len, text_cap;
};

/* Copies path and target.  0, or -1 with errno. */
int records_add(struct records *, const struct change *);

/* The canonical list of them all, to be freed by the caller.  0 or -1. */
int records_encode(struct records *, struct change_buf *);
void records_done(struct records *);

/* collect_links.c: inodes with several names, by number. */

struct link_seen {
	ino_t ino;              /* 0: free */
	struct obj_ref ref;
	uint64_t size;
	uint8_t known;          /* ref and size are set */
};

struct links {
	struct link_seen *v;
	size_t n;
	size_t room;            /* a power of two */
};

/* The place of an inode, new ones with .known unset; NULL: no memory.  Valid
 * until the next call. */
struct link_seen *links_get(struct links *, ino_t);

/*
 * The state of one collection.
 *
 * Invariants:
 *  1. dir is the directory of the deepest frame that has one in the upper.
 *  2. path[0..path_len) names what is being looked at, without a slash at
 *     either end.
 *  3. why is the first reason for which something is missing from the list;
 *     the tree is only given when there is none.
 *  4. stop ends the walk: the store failed, or a limit was reached.
 */
struct collect {
	struct storeclient *sc;
	struct keep *keep;      /* borrowed; NULL: all is kept */
	struct records records;
	struct links links;
	uint64_t limit;         /* entries, 0: none */
	uint64_t bytes;         /* content of created and modified files */
	uint64_t disk;
	uint64_t skipped;       /* FIFOs, sockets, devices */
	uint64_t ignored;       /* new, and not wanted by ${keep} */
	uint8_t over;           /* the limit was reached */
	uint8_t stop;
	int err;                /* errno, when ours failed */
	char why[256];

	int dir;
	char *path;
	size_t path_len, path_cap;
};

#define COLLECT_PATH_MAX 65535

/* collect.c */

/* Something will be missing from the changes; the first reason is kept. */
void collect_lack(struct collect *, const char *, ...)
    __attribute__((format(printf, 2, 3)));

/* Ours failed: the walk ends.  Always -1. */
int collect_fail(struct collect *);

/* Record what became of c->path.  0, or -1 when the walk is to end. */
int collect_record(struct collect *, int op, const struct tree_entry *);

/* collect_file.c */

/**
 * collect_open(dir, name, mode, flags):
 * Open what the job left, of that mode, for reading, although its mode may not
 * allow it; no link is followed.  Returns a descriptor, or -1 with errno.
 */
int collect_open(int, const char *, mode_t, int);

/**
 * collect_file(c, name, st, old, e):
 * Describe the regular file ${name} in c->dir in ${e}, and put its content
 * unless it is that of ${old} (or NULL).  Return 1, 0 when it had to be left
 * out, -1 when the walk is to end.
 */
int collect_file(struct collect *, const char *, const struct stat *,
    const struct tree_entry *, struct tree_entry *);

/* collect_walk.c */

/**
 * collect_walk(c, old, root):
 * Compare the directory c->dir with the tree ${old}.  ${root} becomes the tree
 * after, ${old} when nothing changed.  Return 0, or -1 when it was ended.
 */
int collect_walk(struct collect *, const struct obj_ref *, struct obj_ref *);

#endif /* !ERRAND_EXEC_COLLECT_INTERNAL_H */
