#ifndef ERRAND_SELECT_H
#define ERRAND_SELECT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/rules.h"
#include "names.h"

/*
 * Which paths of a tree are sent.  Three modes, decided once:
 *   SELECT_GIT     in a Git work tree: tracked, and untracked but not ignored
 *   SELECT_IGNORE  .errandignore in the root: all but what it, and those in
 *                  directories below, exclude
 *   SELECT_ALL     --include-all
 * Directories are sent unless they are ignored; with something tracked below,
 * in any case.  ".git", in any case, is never sent.
 */
enum select_mode { SELECT_GIT, SELECT_IGNORE, SELECT_ALL };

#define SELECT_FILE     ".errandignore"

struct select;

/* A note for people: a path, and what was done about it. */
typedef void select_note_fn(void *, const char *path, const char *text);

/**
 * select_open(rootfd, root, mode, why):
 * Get ready; in Git mode this runs git.  Return NULL with a sentence in the
 * ${why} (LIMIT_TEXT bytes).
 */
struct select *select_open(int, const char *, enum select_mode, char *);
void select_free(struct select *);
enum select_mode select_mode_of(const struct select *);

/* Notes go here from now on; those about the tree as a whole come at once. */
void select_notes(struct select *, select_note_fn *, void *);

/* HEAD's commit in Git mode, or NULL; borrowed. */
const char *select_commit(const struct select *);

/**
 * select_names(sel, dirfd, dir, out):
 * The wanted names of the directory ${dir} ("" or "a/b", no slash at the end)
 * in byte order; ${out} is reused.  Its ignore rules are read, too: a walk from
 * the top over everything that is wanted has read all that matter.  Return 0,
 * or -1 with errno and perhaps a sentence in select_why.
 */
int select_names(struct select *, int, const char *, struct names *);
const char *select_why(const struct select *);

/* The rules that were read so far; NULL in SELECT_ALL.  Borrowed. */
const struct rules *select_rules(const struct select *);

/* Back from below to a directory that select_names was asked about, for
 * select_judge.  0 or -1. */
int select_return(struct select *, const char *);

/**
 * select_judge(sel, name, isdir, hit):
 * Why is this name of the directory asked about last sent, or not?
 * Return 1 when it is tracked (or something below is), else 0; ${hit} is what
 * the rules say (see rules_walk_match), 1 in ${excluded}.
 */
int select_judge(struct select *, const char *, int, struct rules_hit *,
    int *);

/* Would Git have ignored that name, which .errandignore sends?  By what rule is
 * in ${hit}. */
int select_beside_judge(struct select *, const char *, int,
    struct rules_hit *);

/* After a walk: a sentence about the files that are sent although Git ignores
 * them, in a static buffer; NULL when there are none. */
const char *select_unignored(const struct select *);

/* Is a directory in a Git work tree, by the look of it? */
int select_root_in_git(const char *);

/**
 * select_find_root(start, include_all, root, mode, why):
 * The root for a command given in directory ${start}: the Git work tree's top,
 * else the nearest directory with .errandignore, else ${start} itself with
 * ${include_all}.  ${root} has PATH_MAX bytes.  Return 0, or -1 with a
 * sentence in ${why} (LIMIT_TEXT bytes).
 */
int select_find_root(const char *, int, char *, enum select_mode *, char *);

/* The mode for a root that was named (--root).  As above. */
int select_root_mode(const char *, int, enum select_mode *, char *);

#endif /* !ERRAND_SELECT_H */
