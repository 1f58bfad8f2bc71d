#ifndef ERRAND_EXEC_KEEPER_INTERNAL_H
#define ERRAND_EXEC_KEEPER_INTERNAL_H

#include <stdint.h>
#include <sys/types.h>

#include "keeper.h"
#include "preexec.h"
#include "proto/job_types.h"
#include "pump.h"
#include "treecache.h"

struct worker_args;
struct init_msg;
struct job_msg;
struct storeclient;

/*
 * Invariants:
 *  1. init > 0 from its fork until it was reaped; initfd is open as long.
 *  2. GO was heard exactly when go is set; the byte was written then.
 *  3. started implies go; done implies that the command's status is known.
 *  4. result.err is set at most once: the first fault is the one that counts.
 */
struct keeper {
	const struct run *run;
	const struct worker_args *cfg;
	struct storeclient *sc;
	struct pump pump;
	struct job_result result;
	struct preexec_msg refused;     /* why it was not executed */
	char *argv0;                    /* for sentences */
	char *workdir;
	struct keep *keep;              /* which new paths are kept */

	int chan;               /* errandd */
	int ctl;                /* pid 1 */
	int go_fd;
	int exec_fd;            /* -1 once it was read to its end */
	int initfd;
	int viewfd;             /* the job's mount namespace, or -1 */
	int newstore;           /* a store channel not used yet, or -1 */
	pid_t init;

	uint8_t mapped, placed, go, started, done;
	uint8_t cancelled;      /* ended before it was executed, as asked */
	uint8_t closed;         /* errandd is not interested any more */
	uint8_t log_ready;      /* a LOG may be sent */
	uint8_t signal;         /* to be delivered once it is started */
	uint64_t log_told;
	uint64_t started_mono, ended_mono;

	/* workspace.c */
	int tenant;             /* directory of the tenant, or -1 */
	int jobdir;             /* this job's, locked, or -1 */
	struct treecache_use tree;
};

/* keeper_chan.c */

/* Send a message; nobody minds when errandd is gone. */
void keeper_send(struct keeper *, const struct job_msg *, const int *, size_t);
void keeper_say(struct keeper *, int op, int fd);

/**
 * keeper_hear(k):
 * Handle the messages that wait on the job channel.  Return 0, or -1 with
 * errno = ECANCELED when the job is not to go on.  Its cookie is the keeper.
 */
int keeper_hear(void *);

/* Handle a message of pid 1. */
void keeper_hear_init(struct keeper *);

/* Tell pid 1. */
void keeper_tell_init(struct keeper *, const struct init_msg *, const int *,
    size_t);

/* End the sandbox now. */
void keeper_kill(struct keeper *);

/* Tell of the log's growth, if it grew and a message is due or ${last}. */
void keeper_log(struct keeper *, int last);

/* Record the first fault.  Always -1. */
int keeper_fault(struct keeper *, const struct err *);
int keeper_fault_step(struct keeper *, const char *, int);

/* workspace.c */

/* Make the job's directories and return its workspace as a mount, or -1. */
int workspace_make(struct keeper *);

/* Remove what is left of this job, and of others whose keepers died. */
void workspace_remove(struct keeper *);

#endif /* !ERRAND_EXEC_KEEPER_INTERNAL_H */
