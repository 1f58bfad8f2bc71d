#ifndef ERRAND_TTY_H
#define ERRAND_TTY_H

#include <stdint.h>

/*
 * The terminal on our descriptor 0.  Once it was made raw it is put back on
 * every way out that a process can do something about.
 */

/* Is descriptor 0 a terminal? */
int tty_is(void);

/* The size of the terminal on 0, 1 or 2; 24 and 80 when there is none. */
void tty_size(uint16_t *rows, uint16_t *cols);

/* Make it raw, and put it back.  Either may be called when it is so. */
void tty_raw(void);
void tty_restore(void);

/* After SIGCONT: whoever stopped us may have changed it. */
void tty_again(void);

/* Stop as SIGTSTP does, with the terminal put back for so long. */
void tty_stop(void);

#endif /* !ERRAND_TTY_H */
