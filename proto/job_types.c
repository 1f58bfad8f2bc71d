/*
 * Names of states, limits and errors, and the job record on its own.  Memory
 * only.
 */
#include <stddef.h>

#include "proto/convert.h"
#include "proto/edge.h"
#include "proto/job_types.h"

static const char *const state_names[] = {
	[JOB_STAGED] = "staged",
	[JOB_QUEUED] = "queued",
	[JOB_STARTING] = "starting",
	[JOB_RUNNING] = "running",
	[JOB_SETTLING] = "settling",
	[JOB_EXITED] = "exited",
	[JOB_KILLED] = "killed",
	[JOB_FAILED] = "failed",
	[JOB_LOST] = "lost",
};

static const char *const limit_names[] = {
	[JOB_LIMIT_NONE] = NULL,
	[JOB_LIMIT_MEMORY] = "memory",
	[JOB_LIMIT_PIDS] = "pids",
	[JOB_LIMIT_DISK] = "disk",
	[JOB_LIMIT_INODES] = "inodes",
	[JOB_LIMIT_LOG] = "log",
	[JOB_LIMIT_RUNTIME] = "runtime",
	[JOB_LIMIT_CPU_TIME] = "cpu_time",
	[JOB_LIMIT_CHANGES] = "changes",
};

static const char *const err_names[ERR__MAX] = {
	[ERR_NONE] = "none",
	[ERR_INVALID] = "invalid",
	[ERR_NOT_FOUND] = "not_found",
	[ERR_AMBIGUOUS] = "ambiguous",
	[ERR_DENIED] = "denied",
	[ERR_UNKNOWN_TENANT] = "unknown_tenant",
	[ERR_LIMIT] = "limit",
	[ERR_FULL] = "full",
	[ERR_DAMAGED] = "damaged",
	[ERR_MISSING] = "missing",
	[ERR_CONFLICT] = "conflict",
	[ERR_IO] = "io",
	[ERR_BUSY] = "busy",
	[ERR_VERSION] = "version",
	[ERR_WORKER_LOST] = "worker_lost",
	[ERR_SANDBOX] = "sandbox",
	[ERR_CANCELLED] = "cancelled",
	[ERR_INTERNAL] = "internal",
};

#define NITEMS(a) (sizeof(a) / sizeof((a)[0]))

const char *
job_state_name(enum job_state state)
{
	if ((size_t)state >= NITEMS(state_names) || state_names[state] == NULL)
		return ("unknown");
	return (state_names[state]);
}

const char *
job_limit_name(enum job_limit limit)
{
	return ((size_t)limit < NITEMS(limit_names) ? limit_names[limit] :
	    NULL);
}

const char *
err_code_name(enum err_code code)
{
	return ((size_t)code < NITEMS(err_names) ? err_names[code] :
	    "unknown");
}

ssize_t
job_record_pack(const struct job_record *r, uint8_t *buf, size_t cap)
{
	return (map_pack(&record_map, r, buf, cap, LIMIT_RECORD));
}

int
job_record_parse(const uint8_t *buf, size_t len, struct job_record *r)
{
	return (map_parse(&record_map, buf, len, r, LIMIT_RECORD));
}
