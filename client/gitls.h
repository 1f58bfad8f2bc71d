#ifndef ERRAND_GITLS_H
#define ERRAND_GITLS_H

#include <stddef.h>

/*
 * What Git says belongs to a work tree.  The only file that runs git for
 * selection; git is called so that the repository's own configuration can run
 * nothing and its index is not written.
 */
#define GIT_SAFE "git", "-c", "core.fsmonitor=false", "-c", \
    "core.hooksPath=/dev/null", "-c", "core.quotePath=false"

struct pathset {
	char *buf;              /* NUL terminated paths */
	size_t len, cap;
	const char **v;         /* sorted by bytes, without duplicates */
	size_t n;
};

/**
 * gitls(root, set, why):
 * Relative paths of files, links and gitlinks that are tracked, or untracked
 * and not ignored; below nested repositories and submodules too.  Directories
 * that are empty and not ignored end with a slash.  Return 0, or -1 with a
 * sentence in ${why} (LIMIT_TEXT bytes).
 */
int gitls(const char *, struct pathset *, char *);
void pathset_done(struct pathset *);

/* Append one path; sort and drop duplicates when all are in. */
int pathset_add(struct pathset *, const char *, size_t);
int pathset_sort(struct pathset *);

/**
 * gitls_output(argv, dir, in, inlen, out, outlen):
 * Run a program with a fixed environment and take its output.  Returns its
 * exit status, or -1 with errno.
 */
int gitls_output(const char *const *, const char *, const char *, size_t,
    char **, size_t *);

#endif /* !ERRAND_GITLS_H */
