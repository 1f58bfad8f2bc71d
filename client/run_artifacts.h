#ifndef ERRAND_RUN_ARTIFACTS_H
#define ERRAND_RUN_ARTIFACTS_H

#include "run_opts.h"
#include "session.h"

/**
 * run_artifacts_say(s, rec, o, root, workdir):
 * Of a job that has ended: name each --artifact that it did not make or change.
 * ${root} is "" when there was no tree, ${workdir} where the command ran in it.
 */
void run_artifacts_say(struct session *, const struct job_record *,
    const struct run_opts *, const char *, const char *);

#endif /* !ERRAND_RUN_ARTIFACTS_H */
