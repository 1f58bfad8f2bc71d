#ifndef ERRAND_EXEC_VIEW_H
#define ERRAND_EXEC_VIEW_H

#include <stdint.h>

#define VIEW_SCRATCH    (UINT64_C(1) << 30)

/* What varies from one view to another. */
struct view {
	const char *from;       /* which of the template's it is a copy of */
	uint64_t scratch;       /* bytes of /tmp and friends; 0: VIEW_SCRATCH */
	int net_host;
	unsigned int jobs;      /* that share the host: share.h */
	unsigned int terminals; /* a job may have */
	uint32_t runner;        /* its user's number in passwd; 0: 1000 */
};

/**
 * view_make(v, step):
 * Make the private parts of a view over a copy of the template's, in our own
 * mount namespace.  Return 0, or -1 with errno and ${*step} naming the step.
 */
int view_make(const struct view *, const char **);

/* Put the workspace ${mount} in, make the view our root.  Returns likewise. */
int view_enter(int, const char **);

/*
 * Later, from inside: put another mount over the workspace (-1: leave it), give
 * /tmp and friends so many bytes (0: as they are).  Returns likewise.
 */
int view_change(int, uint64_t, const char **);

/**
 * view_cache(mount, path):
 * Put a cache at an absolute path, and make the directories that are missing on
 * the way.  Return how many those are, or -1 with errno (ENOTDIR: a file or a
 * link is there).  Nothing of the job may run yet.
 */
int view_cache(int, const char *);

#endif /* !ERRAND_EXEC_VIEW_H */
