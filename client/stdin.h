#ifndef ERRAND_STDIN_H
#define ERRAND_STDIN_H

#include <stdint.h>

struct follow;
struct session;

/*
 * Our standard input on its way to a job.  What was read and is not known to
 * have arrived is kept, so that nothing is lost or sent twice when the host is
 * found again.  Nothing is read before the command runs, and never more than
 * FRAME_CREDIT bytes beyond what the host has passed on.
 *
 * Invariants: acked <= sent <= seen <= acked + FRAME_CREDIT, all offsets in
 * the job's input; ring has [acked, seen).
 */
struct input;

/* NULL for lack of memory.  With ${tty} what is read was typed. */
struct input *input_new(struct session *, int tty);
void input_free(struct input *);

/* Ask for the input of a job; ${take} it from whoever has it. */
int input_start(struct input *, const char *job, int take);

/* Read, send and notice the end, as far as that goes now: in each turn. */
void input_turn(struct input *);

/* The connection is gone: all is kept for the next input_start. */
void input_lost(struct input *);

/* Leave it as it is: another client may go on. */
void input_leave(struct input *);

/* The user typed the key that detaches. */
int input_detached(const struct input *);

/* The host said that the command runs and we have its input; it has not been
 * taken back. */
int input_open(const struct input *);

/* Pass the size of our terminal on. */
void input_window(struct input *);

#endif /* !ERRAND_STDIN_H */
