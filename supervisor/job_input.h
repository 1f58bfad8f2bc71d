#ifndef ERRAND_JOB_INPUT_H
#define ERRAND_JOB_INPUT_H

#include <event2/event_struct.h>
#include <stdint.h>

struct conn;
struct job;
struct sup;

/*
 * Who may write a job's input.  Its bytes go from the worker of a connection
 * into a pipe, and out of it to the keeper; errandd made the pipe and holds
 * ends of it, but neither reads nor writes.
 *
 * Invariants:
 *  1. to is the pipe's end for writing until the input is over; from the one
 *     for reading until the keeper has it.  Both are -1 in a job without input.
 *  2. holder is the connection that has a duplicate of to, and no other has.
 *  3. asker is the connection that waits for the answer to request ask_id.
 *  4. asked means that the keeper owes an INPUT_AT.
 */
struct job_input {
	int to, from;
	struct conn *holder;
	struct conn *asker;
	uint64_t ask_id;
	uint8_t given;          /* somebody had it */
	uint8_t asked;
	struct event timer;     /* the lease of a client that was lost */
};

/* In a new job: there is none. */
void job_input_init(struct job *);

/* Make the pipe, if the job has input.  0, or -1 with errno. */
int job_input_make(struct job *);

/* The keeper had its RUN: it gets the pipe. */
void job_input_hand_over(struct job *);

/* The command runs: whoever asked may write, or the lease begins. */
void job_input_started(struct job *);

/**
 * job_input_take(j, conn, id, take):
 * SNAP_INPUT: the connection gets TAKEN or ERROR for request ${id}, perhaps
 * later.  With ${take} another one loses it.
 */
void job_input_take(struct job *, struct conn *, uint64_t, int);

/* SNAP_INPUT_END of that connection; ${how} is an enum snap_input_end. */
void job_input_end(struct job *, struct conn *, int);

/* INPUT_AT of the keeper.  0, or -1: it was not asked. */
int job_input_at(struct job *, uint64_t);

/* SNAP_WINDOW: 0, or -1 with errno when it is not passed on: EPERM, EBUSY. */
int job_window(struct job *, const struct conn *, uint16_t, uint16_t);

/* There will be no input any more.  May be called again. */
void job_input_done(struct job *);

/* A connection has gone, with all it held. */
void job_inputs_drop(struct sup *, struct conn *);

#endif /* !ERRAND_JOB_INPUT_H */
