#ifndef ERRAND_SIGNALS_H
#define ERRAND_SIGNALS_H

/*
 * The signals a client is sent.  They are counted, and heard of through a
 * descriptor, so that none comes between looking and waiting.
 */

/* From now on INT, TERM, HUP and QUIT are counted.  0 or -1. */
int signals_catch(void);

/* And those that concern a terminal: WINCH, TSTP, CONT. */
void signals_catch_tty(void);

/* While this is set a signal ends the client at once: there is no job yet. */
void signals_early(int);

/* How often one came in since it was cleared; how many of the first four. */
int signals_seen(int);
int signals_any(void);
void signals_clear(int);

/* As if it had come in. */
void signals_pretend(int);

/* Readable when one came in since the last signals_drain. */
int signals_fd(void);
void signals_drain(void);

#endif /* !ERRAND_SIGNALS_H */
