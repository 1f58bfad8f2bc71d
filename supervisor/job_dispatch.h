#ifndef ERRAND_JOB_DISPATCH_H
#define ERRAND_JOB_DISPATCH_H

#include <event2/util.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/job_msg.h"

struct job;

/* The job channel's callbacks (lib/chan.h); the cookie is the job. */
int job_msg_in(void *, const uint8_t *, size_t, int *, size_t);
void job_chan_end(void *, const char *);

/* Time for the LOGACK that was held back. */
void job_on_logack(evutil_socket_t, short, void *);

/* To the job's keeper, if it still listens.  0 or -1.  With a descriptor, which
 * is taken: */
int job_send(struct job *, const struct job_msg *);
int job_send_fd(struct job *, const struct job_msg *, int);

#endif /* !ERRAND_JOB_DISPATCH_H */
