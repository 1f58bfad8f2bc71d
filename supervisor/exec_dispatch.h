#ifndef ERRAND_EXEC_DISPATCH_H
#define ERRAND_EXEC_DISPATCH_H

#include <stddef.h>

#include "proto/exec_msg.h"

struct child;
struct exec_link;
struct sup;

/* Supervise errand-exec and speak its channel. */
struct exec_link *exec_link_new(struct sup *, void (*up)(struct sup *),
    void (*down)(struct sup *));
void exec_link_free(struct exec_link *);
struct child *exec_link_child(struct exec_link *);

/* Can it run jobs?  If not and ${why} is set, it never will: why not. */
int exec_link_ready(const struct exec_link *, const char **);

/*
 * Is it there, and makes sandboxes without user namespaces?  ${why}, if set,
 * says why they are closed.
 */
int exec_link_bounded(const struct exec_link *, const char **);

/**
 * exec_link_prepare(x, m, fds, n):
 * Send a PREPARE with the keeper's end of its channel and perhaps a mount for
 * what the job writes; the descriptors are taken.  0 or -1.
 */
int exec_link_prepare(struct exec_link *, const struct exec_msg *, int *,
    size_t);

#endif /* !ERRAND_EXEC_DISPATCH_H */
