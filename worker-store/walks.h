#ifndef ERRAND_WALKS_H
#define ERRAND_WALKS_H

struct store;
struct walk;
struct walks;

/* The end of a walk: ${rc} as of walk_step, errno with -1. */
typedef void walks_fn(void *, int rc);

struct walks *walks_new(struct store *);
void walks_free(struct walks *);

/**
 * walks_run(ws, w, fn, drop, cookie):
 * Walk ${w}, which stays the caller's, and call ${fn} at the end: at once when
 * it is short, else from the event loop, tenants in turn.  When the queue is
 * freed first, ${drop} is called instead.  Return 0, or -1 with errno =
 * ENOMEM when neither will be.
 */
int walks_run(struct walks *, struct walk *, walks_fn *, void (*)(void *),
    void *);

#endif /* !ERRAND_WALKS_H */
