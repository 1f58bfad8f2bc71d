#ifndef ERRAND_EXEC_KEEP_H
#define ERRAND_EXEC_KEEP_H

#include <stddef.h>
#include <stdint.h>

/*
 * Which of the paths that a job made anew are kept: what the spec says, frozen
 * when the job was submitted.  What was submitted is always kept, and is not
 * asked about here.
 */
struct job_spec;
struct keep;

/* Copies what it needs.  NULL with errno: EPROTO (the spec's rules are
 * malformed), ENOMEM. */
struct keep *keep_new(const struct job_spec *);
void keep_free(struct keep *);

/**
 * keep_wanted(k, dir, path, dirlen, isdir):
 * Is the new ${path} kept?  Its first ${dirlen} bytes are its directory, open
 * as ${dir}.  1 or 0; -1 with errno: ENOMEM, ETIME (the rules have taken too
 * long; once).
 */
int keep_wanted(struct keep *, int, const char *, size_t, int);

#endif /* !ERRAND_EXEC_KEEP_H */
