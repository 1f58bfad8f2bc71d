#ifndef ERRAND_EXEC_STDIN_H
#define ERRAND_EXEC_STDIN_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The job's input on its way from errandd's pipe to the command: into a pipe,
 * or typed on its terminal.  What the command does not read stays where it is,
 * and so stops whoever writes; nothing is stored here but a few typed bytes.
 *
 * Invariants:
 *  1. from is -1 until the pipe came and after the end; to is -1 unless there
 *     is a command that may still read.  A pipe at to is ours, a terminal the
 *     pump's.
 *  2. taken counts what was read from from.
 *  3. stuck is set when to has no room; only then is room waited for.
 */
struct feed {
	int from, to;
	uint8_t tty;
	uint8_t stuck;
	uint8_t dry;            /* nobody can write into from any more */
	uint8_t ending;         /* what is in it is the last */
	uint8_t lost;           /* since nobody is there to send more */
	uint8_t big;            /* the pipes were made larger */
	uint8_t hang_up;        /* the terminal is to be hung up */
	uint64_t taken;
	size_t at, len;         /* typed[at .. len - 1] is to be typed */
	uint8_t typed[2048];
};

void feed_init(struct feed *);
void feed_done(struct feed *);

/* errandd's pipe (taken): 0, or -1 when it is none or not the first. */
int feed_from(struct feed *, int);

/* Where it goes: a pipe (taken) that does not block, or the terminal, on which
 * nothing will be typed unless there is ${input}. */
void feed_pipe(struct feed *, int);
void feed_terminal(struct feed *, int, int input);

/* What is in errandd's pipe is all; ${lost} for want of a client. */
void feed_end(struct feed *, int);

/* Bytes that came and are ours to pass on, or were passed on. */
uint64_t feed_offset(const struct feed *);

/* What to wait for, in two places; and, if any of it came, go on. */
void feed_poll(const struct feed *, struct pollfd *);
void feed_turn(struct feed *, const struct pollfd *);

#endif /* !ERRAND_EXEC_STDIN_H */
