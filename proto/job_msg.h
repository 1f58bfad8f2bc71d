#ifndef ERRAND_JOB_MSG_H
#define ERRAND_JOB_MSG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/job_types.h"

/*
 * Supervisor and one sandbox's keeper, on the job channel: it concerns that
 * sandbox, and the one job that is run in it, and no other.  In this order,
 * each at most once but LOG, SIGNAL and STORE:
 *
 *   keeper  MAP     + 1 fd: pidfd of itself, in its new user namespace
 *   sup     MAPPED  the uid and gid maps are written
 *   keeper  PLACE   + 1 fd: pidfd of pid 1 of the sandbox
 *   sup     PLACED  + 0 to 8 fds: it is in the job's cgroups, or (on v1) joins
 *                   them by writing "0" into each descriptor
 *   keeper  READY   it waits for a command.  Without RUN before it: one has run
 *                   in it, so that it is known to work
 *   sup     RUN     + 2 or 3 fds: store channel, log (append only), values
 *                   (sealed memfd): the job.  May come at any time, before
 *                   READY or long after it
 *   sup     GO      the start is durable: execute (may come at any time after
 *                   RUN; the keeper waits for it before it executes)
 *   keeper  STARTED the command has been executed
 *   keeper  LOG     the log grew (at most one for each LOGACK, so that a flood
 *                   of output is not a flood of messages)
 *   sup     LOGACK  send the next LOG when there is something
 *   sup     SIGNAL  deliver to the command; KILL ends the sandbox
 *   sup     STORE   + 1 fd: the store was started again, and this is the job's
 *                   channel to it
 *   sup     INPUT   + 1 fd: the pipe that the job's input comes from (once)
 *   sup     INPUT_END  what is in that pipe is the end of it
 *   sup     INPUT_ASK  answered with
 *   keeper  INPUT_AT   so many bytes of input have come
 *   sup     WINDOW  the size of the job's terminal
 *   keeper  ENDED   no process of the job is left; usage may be read
 *   keeper  RESULT  all is collected and flushed; the keeper then exits
 */
enum job_op {
	JOBC_HELLO = 1, JOBC_MAP, JOBC_MAPPED, JOBC_PLACE, JOBC_PLACED, JOBC_GO,
	JOBC_STARTED, JOBC_LOG, JOBC_LOGACK, JOBC_SIGNAL, JOBC_ENDED,
	JOBC_RESULT, JOBC_STORE, JOBC_READY, JOBC_RUN, JOBC_INPUT,
	JOBC_INPUT_END, JOBC_INPUT_ASK, JOBC_INPUT_AT, JOBC_WINDOW,
	JOBC_OP__MAX
};

#define JOBC_RUN_VALUES 0x1     /* the third descriptor is there */
#define JOBC_RUN_INPUT  0x2     /* it reads what a client sends */
#define JOBC_RUN_TTY    0x4     /* it has a terminal */
#define JOBC_RUN_FLAGS  0x7

/* A job, as its sandbox has to know it. */
struct job_run {
	char job[JOB_ID_LEN + 1];
	uint32_t flags;
	struct obj_ref root;
	struct obj_ref spec;
	uint64_t spec_len;
	struct job_limits limits;
	uint16_t rows, cols;    /* of its terminal, at first */
	uint64_t cache_bytes;   /* one of its caches may hold */
	uint64_t cache_total;   /* all of the tenant's may hold */
};

struct job_msg {
	uint8_t op;
	union {
		uint32_t version;       /* HELLO, keeper's first */
		uint64_t started_us;    /* STARTED, real time */
		uint64_t log_bytes;     /* LOG: payload so far */
		uint8_t signal;         /* SIGNAL: 1 to 64 */
		struct job_result result;
		struct job_run run;
		uint8_t lost;           /* INPUT_END: for want of a client */
		uint64_t offset;        /* INPUT_AT */
		struct {
			uint16_t rows, cols;
		} window;
	} u;
};

ssize_t job_msg_pack(const struct job_msg *, uint8_t *, size_t);
int job_msg_parse(const uint8_t *, size_t, struct job_msg *);

#endif /* !ERRAND_JOB_MSG_H */
