#ifndef ERRAND_FOLLOW_H
#define ERRAND_FOLLOW_H

#include <stddef.h>
#include <stdint.h>

#include "session.h"

struct input;

/*
 * The client's end of a stream that ends in a job's result: SUBMIT, ATTACH,
 * WAIT.  Output is written as it comes.
 *
 * Invariants:
 *  1. ${offset} counts the payload bytes that were written, so a new ATTACH
 *     from there loses nothing and shows nothing twice.
 *  2. ${state} only moves forward, but for follow_again.
 */
enum follow_state {
	FOLLOW_WAIT = 0,        /* no answer yet */
	FOLLOW_NEED,            /* SUBMIT: refs has what the host lacks */
	FOLLOW_ACCEPTED,        /* there is a job: record.id */
	FOLLOW_RESULT,          /* record is final */
	FOLLOW_ERROR,           /* err says why */
	FOLLOW_LOST             /* the connection is gone */
};

enum follow_show {
	FOLLOW_STDOUT = 1,
	FOLLOW_STDERR = 2,
	FOLLOW_BOTH = 3
};

struct follow {
	struct session *s;
	uint32_t stream;
	enum follow_state state;
	int accepted;           /* there was an ACCEPTED or a JOB */
	int show;               /* enum follow_show */
	struct job_record record;
	struct err err;
	uint8_t *refs;          /* encoded */
	size_t nrefs, refs_cap; /* in bytes */
	uint64_t offset;
	uint64_t skip;          /* output bytes to leave out first */
	int detach;             /* SUBMIT: the job's id is all that is wanted */
	uint64_t lost_us;       /* when it was lost, since the last output */
	uint64_t tried_us;      /* when a connection was made again */
	int watcher;            /* only looks: its signals are its own */
	struct input *in;       /* what the job reads, or NULL; not owned */
	int tty;                /* our terminal is the job's */
	int unwritten;          /* some of the output could not be written */
	int broken_pipe;        /* nobody reads our output any more */
	int tried;              /* enum follow_show: looked whether a pipe */
	int pipes;              /* enum follow_show: what may be spliced to */
	void (*on_state)(struct follow *);
	void *cookie;
};

/* A conn_frame_fn; ${cookie} is the struct follow. */
int follow_frame(void *, const struct frame *);
void follow_done(struct follow *);

/**
 * follow_run(f):
 * Go on until the job has its result: forwards signals (INT, INT, INT; TERM;
 * HUP, if the job has our terminal; QUIT detaches) unless it is a watcher,
 * which any of them ends; sends the input, if there is one; connects again for
 * 60 s when the connection is lost.
 * Returns the exit code of the command line.
 */
int follow_run(struct follow *);

/* Start an ATTACH from ${offset}.  0, or -1 when the connection is lost. */
int follow_attach(struct follow *, const char *job, uint64_t offset, int more);

/* The exit code that a final record means, said on stderr when it is ours. */
int follow_exit_code(const struct follow *);

#endif /* !ERRAND_FOLLOW_H */
