#ifndef ERRAND_EXEC_KEEPER_H
#define ERRAND_EXEC_KEEPER_H

#include <stdint.h>
#include <sys/types.h>

#include "proto/job_types.h"

struct worker_args;
struct exec_filters;

/* One job, as EXEC_RUN gave it. */
struct run {
	char job[JOB_ID_LEN + 1];
	uint32_t host_uid;
	uint8_t net;
	uint8_t as_root;
	struct obj_ref root;
	struct obj_ref spec;
	uint64_t spec_len;
	struct job_limits limits;
	int chan;               /* job channel */
	int store;              /* store channel */
	int log;                /* append-only */
	int values;             /* sealed memfd, or -1 */
	uint64_t came_us;       /* monotonic */
	pid_t parent;
};

/* Be the keeper of one job.  Called in the new process; does not return. */
void keeper_main(struct run *, const struct worker_args *,
    const struct exec_filters *) __attribute__((noreturn));

/* Say on the job channel that no keeper could be made.  Best effort. */
void keeper_stillborn(int, const char *);

#endif /* !ERRAND_EXEC_KEEPER_H */
