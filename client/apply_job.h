#ifndef ERRAND_APPLY_JOB_H
#define ERRAND_APPLY_JOB_H

#include "objget.h"
#include "session.h"

/* Apply a job's changes, for a command: finds the tree, says what was done. */
struct apply_how {
	const char *into;       /* another tree than it came from, or NULL */
	char *const *want;      /* paths, as for fetch */
	int nwant;
	int conflicts;
	int again;              /* into is not the user's: no hint has it */
	int json_fd;            /* where --json goes */
};

/**
 * apply_job(s, g, rec, how):
 * What comes from the host is fetched by ${g}.  Return an exit code, after
 * saying everything.  The job must have ended.
 */
int apply_job(struct session *, struct objget *, const struct job_record *,
    const struct apply_how *);

#endif /* !ERRAND_APPLY_JOB_H */
