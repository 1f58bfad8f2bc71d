#ifndef ERRAND_SELECT_INTERNAL_H
#define ERRAND_SELECT_INTERNAL_H

#include "gitrepo.h"
#include "proto/limits.h"
#include "select.h"

/* Shared by select.c and select_git.c. */
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
	char why[LIMIT_TEXT];
};

/*
 * Invariants of struct select:
 *  1. repos is not empty exactly in SELECT_GIT.
 *  2. A repository's rules_kind RULES_REPO, INFO and GLOBAL are in ${rules}
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

#endif /* !ERRAND_SELECT_INTERNAL_H */
