#ifndef ERRAND_STORE_WORD_H
#define ERRAND_STORE_WORD_H

/*
 * What errandd hears before the channel is served.  Where nobody listens
 * nothing happens.
 */

/* It takes longer: what we are busy with. */
void word_wait(const char *, ...) __attribute__((format(printf, 1, 2)));

/* The store cannot be opened, for this reason; we end. */
void word_trouble(const char *);

/**
 * word_on_signals():
 * From now on, being killed by a bad page (SIGBUS, SIGSEGV, SIGABRT) says so
 * in a sentence first: a damaged file is mapped memory here.
 */
void word_on_signals(void);

/* HELLO has been said: no more words to errandd, only to the log. */
void word_over(void);

#endif /* !ERRAND_STORE_WORD_H */
