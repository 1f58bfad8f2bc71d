#ifndef ERRAND_RULES_H
#define ERRAND_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "ignore.h"

/*
 * All the ignore rules of a tree, as they were when it was sent.  Encoded, they
 * travel in a job's spec: what the job makes is judged by them, and by nothing
 * the job writes.  Permanent format, little-endian:
 *
 *   'E' 'I' version=1 zero, u16 length of the prefix, prefix, then entries to
 *   the end, strictly ascending by base (memcmp, shorter first) and kind:
 *   u8 kind, u8 flags (1: letters match in either case), u16 length of the
 *   base, base, u32 length of the text, text in gitignore syntax
 *
 * The prefix is where the tree lies in its repository, "" for the top.  Bases
 * are directories relative to the repository's top, so they may lie above the
 * tree.  Both are relative paths without empty parts, "." and "..".
 */
struct rules;

enum rules_kind {
	RULES_DIR = 1,          /* a directory's own file */
	RULES_INFO = 2,         /* a repository's info/exclude */
	RULES_GLOBAL = 3,       /* core.excludesFile */
	RULES_REPO = 4          /* no text: what is above does not reach here */
};

#define RULES_BYTES_MAX (512 * 1024)
#define RULES_FILES_MAX 20000

/* An empty set.  NULL: no memory. */
struct rules *rules_new(const char *prefix);
void rules_free(struct rules *);

/**
 * rules_add(r, kind, flags, base, name, text, len):
 * Add a file; ${flags} is IGNORE_FOLD or 0, ${name} is how people call it (may
 * be NULL).  One that is there already stays.  0, or -1 with errno.
 */
int rules_add(struct rules *, enum rules_kind, int, const char *,
    const char *, const char *, size_t);

/* Is it "" or a relative path without empty parts, "." and ".."? */
int rules_path_valid(const char *, size_t);

/* 0 without any rule: nothing is excluded. */
size_t rules_count(const struct rules *);

/**
 * rules_encode(r, buf, len):
 * The encoding, to be freed by the caller, without comments and without files
 * that say nothing.  0, or -1 with errno: EMSGSIZE (over RULES_BYTES_MAX).
 */
int rules_encode(const struct rules *, uint8_t **, size_t *);

/* Parse what a stranger encoded.  NULL with errno: EPROTO, ENOMEM. */
struct rules *rules_parse(const uint8_t *, size_t);

/* What decided about a path. */
struct rules_hit {
	struct ignore_hit rule; /* .line 0: no rule */
	const char *name;       /* the file's, or NULL; borrowed */
	size_t at;              /* length of the head of the path it matched: a
	                           directory above excludes all below; 0: the
	                           path itself */
	uint8_t above;          /* it is a directory above the tree */
};

/*
 * A walk over the tree.  Directories are entered in any order, but neighbours
 * are cheap.
 */
struct rules_walk;

struct rules_walk *rules_walk_new(const struct rules *);
void rules_walk_free(struct rules_walk *);

/**
 * rules_walk_enter(w, dir):
 * Go to the directory, relative to the tree, "" for its top.  0, or -1 with
 * errno = ENOMEM.
 */
int rules_walk_enter(struct rules_walk *, const char *);

/* Files were added for the directory that was entered last. */
void rules_walk_reload(struct rules_walk *);

/* Is the directory excluded, and so all below it? */
int rules_walk_excluded(const struct rules_walk *, struct rules_hit *);

/**
 * rules_walk_match(w, name, len, isdir, hit):
 * Is this name in the directory excluded?  1 or 0, and what decided in ${hit}
 * (may be NULL).  -1 with errno = ENOMEM.
 */
int rules_walk_match(struct rules_walk *, const char *, size_t, int,
    struct rules_hit *);

/* What all matching took so far; in steps, of which a second has some 10^8. */
uint64_t rules_walk_steps(const struct rules_walk *);

/* A directory as a base names it, relative to the tree; NULL when it is not in
 * the tree. */
const char *rules_below(const struct rules *, const char *);

/* Each file and rule in turn, for people: ${fn} returns 0 to go on. */
int rules_each(const struct rules *, int (*fn)(void *, const char *base,
    const char *name, const struct ignore_hit *), void *);

#endif /* !ERRAND_RULES_H */
