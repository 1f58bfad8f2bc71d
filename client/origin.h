#ifndef ERRAND_ORIGIN_H
#define ERRAND_ORIGIN_H

#include "lib/object.h"

/*
 * Which tree of this machine a job came from: origins/NN in the state
 * directory, NN by the job's id, a record per job in order of submission.  A
 * file that grows beyond 64 KiB loses its older half.  Not flushed: what is
 * lost must be named by hand (--into).
 */

/* Remember the root (absolute) and its object.  0, or -1 with errno. */
int origin_set(const char *job, const char *root, const struct obj_ref *);

/* The root (PATH_MAX bytes) and the object that was submitted.  0, or -1 with
 * errno: ENOENT when the job is not known here. */
int origin_get(const char *job, char *root, struct obj_ref *);

#endif /* !ERRAND_ORIGIN_H */
