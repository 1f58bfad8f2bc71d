#ifndef ERRAND_EXEC_SHARE_H
#define ERRAND_EXEC_SHARE_H

/**
 * share_unlimit(void):
 * Take the limits off what the kernel counts for the user who makes the
 * sandboxes, whoever's jobs are in them.  Works as root only; without it jobs
 * have a part of what we have.  Jobs get limits of their own: share_limit.
 */
void share_unlimit(void);

/**
 * share_limit(void):
 * Give the calling process, which will be a job's command, its own limits of
 * the same things.  Return 0, or -1 with errno.
 */
int share_limit(void);

/* How many terminals one of ${jobs} jobs on this host may have (0: it is not
 * known how many there are). */
unsigned int share_terminals(unsigned int);

/**
 * share_notify(proc, jobs):
 * Give the calling process's user namespace the part of one of ${jobs} jobs in
 * the host's inotify instances and watches.  ${proc} is the path of a /proc
 * that may be written to.  Where a security module forbids it, or the kernel
 * does not count them, jobs go on as they were.
 */
void share_notify(const char *, unsigned int);

#endif /* !ERRAND_EXEC_SHARE_H */
