#ifndef ERRAND_EXEC_METER_H
#define ERRAND_EXEC_METER_H

#include <stdint.h>
#include <sys/types.h>

#include "proto/job_types.h"

/*
 * Where no file system holds a job to its disk limit, a process counts what the
 * job has written, over and over, and ends the job when that is too much.  How
 * much more it can be by then depends on how fast it is written: see
 * METER_LEAST_MS.
 */
#define METER_LEAST_MS  10      /* from one count to the next */
#define METER_MOST_MS   2000
#define METER_SHARE     10      /* a tenth of one processor's time at most */
#define METER_INODE     8192    /* bytes of the limit for each file, as in the
                                 * file systems that errandd makes */

struct meter_start {
	int upper;              /* directory: what the job writes is below it */
	int initfd;             /* pidfd of pid 1 of the sandbox */
	uint64_t bytes;         /* the limit */
};

/* What was found last. */
struct meter_word {
	uint64_t bytes, files;
	uint8_t limit;          /* enum job_limit: is one reached? */
	uint8_t ended;          /* so the job was ended */
};

/* A meter that runs; pid is -1 without one. */
struct meter {
	pid_t pid;
	int fd;
};

void meter_init(struct meter *);

/**
 * meter_run(m, start, fence):
 * Start one.  In its process ${fence} is called first, with the cookie.  0 or
 * -1 with errno.
 */
int meter_run(struct meter *, const struct meter_start *, int (*)(void *),
    void *);

/**
 * meter_done(m, word):
 * Pid 1 is dead: wait for its last count.  Return 0, or -1 when there is none.
 */
int meter_done(struct meter *, struct meter_word *);

#endif /* !ERRAND_EXEC_METER_H */
