#ifndef ERRAND_CHANGES_H
#define ERRAND_CHANGES_H

#include "lib/change.h"
#include "objget.h"

/**
 * changes_ask(s, g, name, rec):
 * Connect, and ask for a job's record together with what it changed, as far as
 * the host sends that along.  Return 0, or an exit code after saying why not.
 */
int changes_ask(struct session *, struct objget *, const char *,
    struct job_record *);

/**
 * changes_load(g, rec, buf, len):
 * The change list of a job, checked against the digest in its record.  The
 * caller frees ${*buf}.  Return 0, or an exit code after saying why not.
 */
int changes_load(struct objget *, const struct job_record *, uint8_t **,
    size_t *);

/**
 * changes_selected(want, n, c):
 * Is the change one of the ${n} paths, or below one?  Without any, all are.
 */
int changes_selected(char *const *, int, const struct change *);

/* Is each of the ${n} paths one that the list has?  0, or an exit code after
 * saying which is not. */
int changes_wanted(const uint8_t *, size_t, char *const *, int);

/* Say how much the job made that ignore rules excluded, if it did. */
void changes_say_ignored(const struct session *, const struct job_record *);

#endif /* !ERRAND_CHANGES_H */
