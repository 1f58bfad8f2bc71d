#ifndef ERRAND_JOB_DISPATCH_H
#define ERRAND_JOB_DISPATCH_H

#include <event2/util.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/job_msg.h"

struct job;

/* A message of the job's keeper.  Return 0, or -1 when it broke a rule. */
int job_msg_in(struct job *, const struct job_msg *, int *, size_t);

/* Time for the LOGACK that was held back. */
void job_on_logack(evutil_socket_t, short, void *);

/* To the job's keeper, if it still listens.  0 or -1. */
int job_send(struct job *, const struct job_msg *);

#endif /* !ERRAND_JOB_DISPATCH_H */
