#ifndef ERRAND_DRYRUN_H
#define ERRAND_DRYRUN_H

#include "select.h"
#include "submit.h"

/**
 * dryrun(sub, f, sel, root, nul):
 * Everything up to a submission, with ${sub->scan} of the tree (NULL: without
 * one): says what would be sent, the largest first, what decides it, and what
 * of it the host lacks.  Directories and lists of chunks are uploaded so that
 * the host can tell; nothing refers to them.  Return 0, or an exit code after
 * saying why.
 */
int dryrun(struct submit *, struct follow *, struct select *, const char *,
    int nul);

#endif /* !ERRAND_DRYRUN_H */
