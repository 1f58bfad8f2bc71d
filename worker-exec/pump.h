#ifndef ERRAND_EXEC_PUMP_H
#define ERRAND_EXEC_PUMP_H

#include <stdint.h>

#include "proto/job_types.h"

struct joblog_writer;

/*
 * The command's output on its way from two pipes into the log.
 */
struct pump {
	int fd[2];              /* stdout, stderr; -1 at the end */
	int big[2];             /* the pipe was made larger */
	struct joblog_writer *log;
	int failed;             /* errno of the first write that failed */
};

/* ${log} is an append-only file, ${cap} its most payload.  0 or -1. */
int pump_init(struct pump *, int log, uint64_t cap);
void pump_done(struct pump *);

/* Read once what stream ${i} has.  Output that cannot be kept is dropped. */
void pump_read(struct pump *, int);

/* Read both to their ends: no process of the job is left. */
void pump_drain(struct pump *);

/* Payload in the log so far. */
uint64_t pump_bytes(const struct pump *);

/* Finish and flush the log, and say what is in it.  Return 0 or -1. */
int pump_finish(struct pump *, struct job_log *);

#endif /* !ERRAND_EXEC_PUMP_H */
