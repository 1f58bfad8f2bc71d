#ifndef ERRAND_GITREPO_H
#define ERRAND_GITREPO_H

#include <stddef.h>

#include "gitls.h"

/* What Git knows of a work tree; what is on disk in it is not looked at. */
struct gitrepo {
	char *prefix;           /* where the directory is in it, "" or "a/b" */
	char *commit;           /* of HEAD, or NULL */
	int fold;               /* core.ignoreCase */
	int linked;             /* a linked work tree or a submodule */
	struct pathset tracked; /* relative to the directory, sorted */
	struct pathset absent;  /* ignore files that are not checked out:
	                           "object stage path" in .buf, unsorted */
	size_t sparse;          /* tracked files that are not checked out */
	char *info;             /* rules of info/exclude, or NULL */
	size_t info_len;
	char *global;           /* rules of core.excludesFile, or NULL */
	size_t global_len;
	char *global_name;
};

/**
 * gitrepo_open(dir, own, g, why):
 * Ask about the work tree that ${dir} is in.  With ${own} it must be its top.
 * Return 0; 1 when it is not (or no work tree at all, with ${own}); or -1 with
 * a sentence in ${why} (LIMIT_TEXT bytes).
 */
int gitrepo_open(const char *, int, struct gitrepo *, char *);
void gitrepo_done(struct gitrepo *);

/* The content of an object, to be freed.  0 or -1. */
int gitrepo_blob(const char *dir, const char *id, char **, size_t *);

#define GITREPO_RULES_MAX (16UL * 1024 * 1024)

#endif /* !ERRAND_GITREPO_H */
