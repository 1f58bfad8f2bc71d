#ifndef ERRAND_EXEC_DISPATCH_H
#define ERRAND_EXEC_DISPATCH_H

struct dispatch;
struct event_base;
struct worker_args;
struct exec_filters;

/**
 * dispatch_new(base, fd, cfg, filters):
 * Serve errandd on the channel ${fd}.  ${filters} is read when jobs come.
 * Return NULL with errno on failure.
 */
struct dispatch *dispatch_new(struct event_base *, int,
    const struct worker_args *, const struct exec_filters *);

/*
 * Try whether sandboxes can be made here, and say HELLO.  In bounded mode the
 * note says why it is that.
 */
void dispatch_ready(struct dispatch *, const char *);

/* Keepers that live on then are not waited for: they end when we do. */
void dispatch_free(struct dispatch *);

#endif /* !ERRAND_EXEC_DISPATCH_H */
