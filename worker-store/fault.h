#ifndef ERRAND_FAULT_H
#define ERRAND_FAULT_H

#include "proto/job_types.h"

/*
 * What went wrong, for the other end of a channel.  ${ref} may be NULL.
 */
void fault_set(struct err *, enum err_code, const struct obj_ref *,
    const char *, ...) __attribute__((format(printf, 4, 5)));

/* The same from an errno of the store's own parts. */
void fault_errno(struct err *, int, const struct obj_ref *);

#endif /* !ERRAND_FAULT_H */
