#ifndef ERRAND_EXEC_PTY_H
#define ERRAND_EXEC_PTY_H

#include <stdint.h>

/*
 * A job's terminal, made by the process that will be its command, in the
 * sandbox's own devpts.
 */

/* Both sides; the master does not block.  0, or -1 with errno. */
int pty_open(uint16_t rows, uint16_t cols, int *master, int *slave);

/* Our session's terminal, and 0, 1 and 2.  0, or -1 with errno. */
int pty_adopt(int slave);

/*
 * A kind of terminal (TERM) that nothing is known about here makes programs
 * fail: put a common one in its place.
 */
void pty_term(char **env);

#endif /* !ERRAND_EXEC_PTY_H */
