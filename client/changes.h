#ifndef ERRAND_CHANGES_H
#define ERRAND_CHANGES_H

#include "lib/change.h"
#include "objget.h"

/**
 * changes_load(g, rec, buf, len):
 * The change list of a job, checked against the digest in its record.  The
 * caller frees ${*buf}.  Return 0, or an exit code after saying why not.
 */
int changes_load(struct objget *, const struct job_record *, uint8_t **,
    size_t *);

#endif /* !ERRAND_CHANGES_H */
