#ifndef ERRAND_LISTEN_H
#define ERRAND_LISTEN_H

struct listeners;
struct sup;

/**
 * listen_open(sup):
 * Make errand.sock and control.sock in run_dir.  A socket that nobody listens
 * on any more is replaced; one that is in use is a fault.  NULL after logging
 * what is wrong and how to mend it.  Nothing is accepted before listen_start.
 */
struct listeners *listen_open(struct sup *);

/* Begin, or stop, to accept.  0 or -1. */
int listen_start(struct listeners *);
void listen_stop(struct listeners *);

/* Close them and remove the sockets. */
void listen_close(struct listeners *);

#endif /* !ERRAND_LISTEN_H */
