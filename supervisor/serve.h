#ifndef ERRAND_SERVE_H
#define ERRAND_SERVE_H

struct sup;

/*
 * When clients are let in, and when a private daemon has had its day.
 *
 * Invariants:
 *  1. Clients are let in once, and READY is said once, never before.
 *  2. READY means that store and exec are up and old jobs were seen to.
 */
struct serve;

/**
 * serve_new(sup, ready, transient):
 * ${ready} is called when READY may be said.  A ${transient} daemon ends after
 * SERVE_IDLE_US without a client and a job.  NULL for lack of memory.
 */
#define SERVE_IDLE_US   600000000ULL
struct serve *serve_new(struct sup *, void (*ready)(struct sup *), int);
void serve_free(struct serve *);

/* The store cannot be opened: there is nothing to wait for, and whoever comes
 * is to be told. */
void serve_stuck(struct serve *);

/* A worker came up, or old jobs were seen to: is everything there? */
void serve_look(struct serve *);

#endif /* !ERRAND_SERVE_H */
