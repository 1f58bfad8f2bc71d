#ifndef ERRAND_GITLS_H
#define ERRAND_GITLS_H

#include <stddef.h>

/*
 * Running git, and sets of paths.  Git is called so that the repository's own
 * configuration can run nothing and its index is not written.
 */
#define GIT_SAFE "git", "-c", "core.fsmonitor=false", "-c", \
    "core.hooksPath=/dev/null", "-c", "core.quotePath=false"

struct pathset {
	char *buf;              /* NUL terminated paths */
	size_t len, cap;
	const char **v;         /* sorted by bytes, without duplicates */
	size_t n;
};

void pathset_done(struct pathset *);

/* Append one path; sort (as if letters had no case with ${fold}) and drop
 * duplicates when all are in.  0 or -1. */
int pathset_add(struct pathset *, const char *, size_t);
int pathset_sort(struct pathset *, int fold);

/**
 * gitls_output(argv, dir, in, inlen, out, outlen):
 * Run a program with a fixed environment and take its output.  Returns its
 * exit status, or -1 with errno.
 */
int gitls_output(const char *const *, const char *, const char *, size_t,
    char **, size_t *);

#endif /* !ERRAND_GITLS_H */
