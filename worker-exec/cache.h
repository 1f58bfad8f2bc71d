#ifndef ERRAND_EXEC_CACHE_H
#define ERRAND_EXEC_CACHE_H

struct job_spec;
struct keeper;

/*
 * A job's caches: directories that outlive it.  Each is an overlay of its own,
 * over the saved state (lib/cachedir.h), which nobody writes to; what the job
 * writes is with its other data, in cN/upper, and becomes the next state if the
 * job does well.
 */
struct caches;

/**
 * caches_new(k, spec):
 * Take from the spec which there are; the result names them from now on.
 * Return 0, with k->caches NULL if there are none, or -1 with the fault set.
 */
int caches_new(struct keeper *, const struct job_spec *);

/* Mount them, the workspace being in place.  0, or -1 with the fault set. */
int caches_mount(struct keeper *);

/* The job is dead: undo what was made in the workspace to mount them on. */
void caches_unmake(struct keeper *);

/* Save those that are to be saved; the result tells of each. */
void caches_save(struct keeper *);

/* Let go of the saved states, and remove those that nobody needs. */
void caches_free(struct keeper *);

#endif /* !ERRAND_EXEC_CACHE_H */
