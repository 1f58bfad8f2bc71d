#ifndef ERRAND_JOB_ROOM_H
#define ERRAND_JOB_ROOM_H

#include "proto/snapshot_msg.h"

struct tenant;
struct tenants;

/**
 * job_room(ts, jobs, t, values, err):
 * Is there room for one more job of ${t}, with ${values} bytes of environment,
 * beside the ${jobs} that have not ended?  0, or -1 with ${err}.
 */
int job_room(struct tenants *, uint64_t, const struct tenant *, uint64_t,
    struct err *);

#endif /* !ERRAND_JOB_ROOM_H */
