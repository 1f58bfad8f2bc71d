#ifndef ERRAND_SELECT_INTERNAL_H
#define ERRAND_SELECT_INTERNAL_H

#include <limits.h>

#include "gitrepo.h"
#include "proto/limits.h"
#include "select.h"

/* Shared by select.c, select_git.c and select_beside.c. */
struct repo {
	char *base;             /* below the root, "" for the root's own */
	struct gitrepo g;
};

struct select {
	enum select_mode mode;
	char *root;
	struct rules *rules;
	struct rules_walk *walk;        /* NULL in SELECT_ALL */
	struct repo **repos;            /* the root's own first */
	size_t nrepos;
	struct names all;       /* what is in the directory */
	struct names tracked;   /* what of it is tracked, or leads to such */
	int fold;               /* how those are compared */
	select_note_fn *note;
	void *cookie;
	struct select *git;     /* what Git would select; see select_beside.c */
	struct names git_names;
	uint64_t unignored;     /* files that it would not have sent */
	char unignored_path[PATH_MAX];  /* the first of them */
	char why[LIMIT_TEXT];
};

/*
 * Invariants of struct select:
 *  1. repos is not empty exactly in SELECT_GIT.
 *  2. git is NULL but in SELECT_IGNORE in a work tree of Git's.
 *  3. A repository's rules_kind RULES_REPO, INFO and GLOBAL are in ${rules}
 *     once it is in ${repos}.
 */

void select_note(const struct select *, const char *, const char *);

/**
 * select_load(sel, dirfd, dir, file):
 * Read the ignore file of the directory that was entered.  0, or -1 with errno
 * and a sentence in sel->why.
 */
int select_load(struct select *, int, const char *, const char *);

/* Take a repository over; its own rules come along.  0 or -1. */
int select_repo_add(struct select *, struct repo *);

/* Read the rules in directories above the root.  0, or -1 with ${why}. */
int select_load_above(struct select *, char *);

/* ${dir} was entered and has a .git: is a repository begun there? */
int select_repo_enter(struct select *, const char *);

/* Make sel->tracked for the directory.  0 or -1. */
int select_tracked(struct select *, const char *);
int select_is_tracked(const struct select *, const struct name *);

/* Make sel->git, if there is a reason and Git can be asked. */
void select_beside_open(struct select *, int);

/* Count what is ${sent} of the directory although Git ignores it. */
void select_beside_names(struct select *, int, const char *,
    const struct names *);

#endif /* !ERRAND_SELECT_INTERNAL_H */
