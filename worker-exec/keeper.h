#ifndef ERRAND_EXEC_KEEPER_H
#define ERRAND_EXEC_KEEPER_H

#include <stdint.h>
#include <sys/types.h>

#include "proto/job_types.h"

struct worker_args;
struct exec_filters;

/* One sandbox, as EXEC_PREPARE asked for it. */
struct prep {
	char id[JOB_ID_LEN + 1];
	uint32_t host_uid;
	uint8_t net;
	uint8_t as_root;
	uint32_t ids;           /* more than one, so many more */
	uint64_t scratch;
	char image[IMAGE_NAME_MAX + 1];
	char view[IMAGE_NAME_MAX + 32]; /* in the template */
	int chan;               /* job channel */
	int disk;               /* a mount for what the job writes, or -1 */
	pid_t parent;
};

/* Be the keeper of one sandbox.  Called in the new process; does not return. */
void keeper_main(const struct prep *, const struct worker_args *,
    const struct exec_filters *) __attribute__((noreturn));

/* Say on the job channel that no keeper could be made.  Best effort. */
void keeper_stillborn(int, const char *);

#endif /* !ERRAND_EXEC_KEEPER_H */
