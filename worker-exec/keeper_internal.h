#ifndef ERRAND_EXEC_KEEPER_INTERNAL_H
#define ERRAND_EXEC_KEEPER_INTERNAL_H

#include <stdint.h>
#include <sys/types.h>

#include "command.h"
#include "keeper.h"
#include "meter.h"
#include "preexec.h"
#include "proto/job_types.h"
#include "pump.h"
#include "stdin.h"
#include "treecache.h"

struct exec_filters;
struct gate_msg;
struct init_msg;
struct job_msg;
struct storeclient;
struct worker_args;

/* The job, as JOBC_RUN gave it. */
struct run {
	char job[JOB_ID_LEN + 1];
	struct obj_ref root;
	struct obj_ref spec;
	uint64_t spec_len;
	struct job_limits limits;
	uint64_t cache_bytes, cache_total;      /* 0: no limit */
	uint32_t flags;         /* JOBC_RUN_... */
	uint16_t rows, cols;
	int store;              /* store channel, until storeclient has it */
	int log;                /* append-only */
	int values;             /* sealed memfd, or -1 */
	uint64_t came_us;       /* monotonic */
};

/*
 * Invariants:
 *  1. init > 0 from its fork until it was reaped; initfd is open as long.
 *  2. run is NULL until RUN was heard, which is once; sc and the pump's log
 *     come with it.
 *  3. GO was heard exactly when go is set.  The command is told only after it
 *     was handed what to execute: told implies go and handed.
 *  4. started implies told; done implies that the command's status is known.
 *  5. result.err is set at most once: the first fault is the one that counts.
 */
struct keeper {
	const struct prep *prep;
	const struct worker_args *cfg;
	const struct exec_filters *filters;
	struct run *run;
	struct run job;                 /* what run points at */
	struct storeclient *sc;
	struct pump pump;
	struct feed feed;
	struct job_result result;
	struct preexec_msg refused;     /* why it was not executed */
	struct command_image command;   /* what is to be executed */
	char *argv0;                    /* for sentences */
	char *workdir;
	struct keep *keep;              /* which new paths are kept */
	struct caches *caches;          /* or NULL */

	int chan;               /* errandd */
	int ctl;                /* pid 1 */
	int gate;               /* the process that will be the command */
	int exec_fd;            /* -1 once it was read to its end */
	int out[2];             /* its output, until the pump has it */
	int held[2];            /* the other ends of these, until all are dead:
				 * nobody has to be woken for their ends */
	int slave;              /* the terminal's other side, so that it does
				 * not hang up before all are dead; or -1 */
	int initfd;
	int viewfd;             /* the job's mount namespace, or -1 */
	int newstore;           /* a store channel not used yet, or -1 */
	pid_t init;

	/* of the sandbox */
	uint8_t mapped, placed, gated, proved, mounted, cached;
	uint8_t terminal;       /* it has one, as its job wants */
	int cache_at;           /* pid 1's word about the last cache */
	/* of the job */
	uint8_t has_git;        /* a stand-in lies in the upper directory */
	uint8_t go, handed, told, started, done;
	uint8_t cancelled;      /* ended before it was executed, as asked */
	uint8_t closed;         /* errandd is not interested any more */
	uint8_t log_ready;      /* a LOG may be sent */
	uint8_t signal;         /* to be delivered once it is started */
	uint64_t log_told;
	uint64_t go_mono, go_us;        /* when its gate was opened */
	uint64_t started_mono, ended_mono;

	/* workspace.c */
	int tenant;             /* directory of the tenant, or -1 */
	int jobdir;             /* this job's, locked, or -1 */
	int data;               /* where upper and work are, or -1 */
	uint8_t on_disk;        /* that is a mount of its own */
	uint8_t told_to_end;    /* a TERM came for it, of a limit or a user */
	struct treecache_use tree;
	struct meter meter;     /* of a disk limit that no file system holds */
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

/* Handle a message of the process that will be the command. */
void keeper_hear_gate(struct keeper *);

/* Tell pid 1, or the command's process. */
void keeper_tell_init(struct keeper *, const struct init_msg *, const int *,
    size_t);
void keeper_tell_gate(struct keeper *, uint32_t, int);

/* Let the command go, if it has all and may. */
void keeper_go(struct keeper *);

/* End the sandbox now. */
void keeper_kill(struct keeper *);

/* Tell of the log's growth, if it grew and a message is due or ${last}. */
void keeper_log(struct keeper *, int last);

/* Record the first fault.  Always -1. */
int keeper_fault(struct keeper *, const struct err *);
int keeper_fault_step(struct keeper *, const char *, int);

/* What to call it in the log: the job's id, or the sandbox's before. */
const char *keeper_name(const struct keeper *);

/* keeper_io.c */

/* Hand the command over, with what it reads.  0 or -1. */
int keeper_give(struct keeper *);

/* The gate made a terminal: its two sides, taken if they are that. */
void keeper_terminal(struct keeper *, int *);

/* Messages of errandd about it. */
int keeper_input(struct keeper *, int *);
int keeper_input_end(struct keeper *, const struct job_msg *);
int keeper_input_ask(struct keeper *, const struct job_msg *);
int keeper_window(struct keeper *, const struct job_msg *);

/* A signal for the terminal, whose foreground group gets it.  1 if it was. */
int keeper_signal_terminal(struct keeper *, int);

/* After a turn of the feed: does the terminal have to be hung up? */
void keeper_feed_look(struct keeper *);

/* keeper_prepare.c */

/* First of all: only our own descriptors, dead with our parent.  0 or -1. */
int keeper_shed(const struct prep *);

void keeper_say_hello(struct keeper *);

/**
 * keeper_prepare(k):
 * Make the sandbox, up to where it waits for its job.  When there is no job
 * yet, have a command run in it.  READY is said.  0, or -1 with the fault set.
 */
int keeper_prepare(struct keeper *);

/* keeper_run.c */

/* Take the job: what was in the message, and its descriptors.  0 or -1. */
int keeper_take(struct keeper *, const struct job_msg *, int *, size_t);

/* Bring the job into the sandbox: workspace, command.  0 or -1. */
int keeper_hand_in(struct keeper *);

/* The exec pipe can be read. */
void keeper_hear_exec(struct keeper *);

/* keeper.c */

/* Serve all until ${*flag} is set.  0, or -1 when it is not to go on. */
int keeper_await(struct keeper *, const uint8_t *);

/* workspace.c */

/*
 * Make the sandbox's directories and return a workspace without a tree as a
 * mount, or -1.
 */
int workspace_make(struct keeper *);

/* The workspace with the job's tree, over the same upper directory, or -1. */
int workspace_tree(struct keeper *);

/* Nothing but counting holds the job to its disk limit. */
int workspace_soft(const struct keeper *);

/* The mounts are made: our own names for them go.  Descriptors stay. */
void workspace_detach(struct keeper *);

/* Remove what is left of this job, and of others whose keepers died. */
void workspace_remove(struct keeper *);

#endif /* !ERRAND_EXEC_KEEPER_INTERNAL_H */
