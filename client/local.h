#ifndef ERRAND_LOCAL_H
#define ERRAND_LOCAL_H

/**
 * local_start(addr, why):
 * Use this user's private daemon, started (`errandd --user`) when it does not
 * run.  ${addr} gets its address (PATH_MAX + 8 bytes).  Return 0, or -1 with a
 * sentence in ${why} (LIMIT_TEXT bytes).
 */
int local_start(char *, char *);

/* The same, and one that does not run is not started: -1. */
int local_find(char *, char *);

#endif /* !ERRAND_LOCAL_H */
