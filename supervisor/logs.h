#ifndef ERRAND_LOGS_H
#define ERRAND_LOGS_H

#include <stdint.h>

/*
 * The jobs' output files: logs/TENANT-ID/JOB.log, all of them ours.  The
 * directory says whose a log is, so that a tenant that knows the id of
 * another's job does not get at its output.
 */

/*
 * Make the log of a job that was admitted: empty, and marked as that of a job
 * of which nothing was executed.  0, or -1 with errno.
 */
int logs_make(int, uint32_t, const char *);

/* Take the mark away: an append-only descriptor for the keeper, or -1. */
int logs_begin(int, uint32_t, const char *);

/* May something of the job have been executed? */
int logs_begun(int, uint32_t, const char *);

/* Flush the names of a tenant's logs.  0, or -1 with errno. */
int logs_sync(int, uint32_t);

/* A read-only descriptor for a follower; -1 with ENOENT if there is none. */
int logs_open(int, uint32_t, const char *);

/* Remove the log of a job that never was. */
void logs_remove(int, uint32_t, const char *);

#endif /* !ERRAND_LOGS_H */
