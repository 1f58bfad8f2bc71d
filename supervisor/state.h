#ifndef ERRAND_STATE_H
#define ERRAND_STATE_H

#include <stddef.h>

struct config;
struct sup;

/**
 * state_open(sup):
 * Make what is missing below state_dir and run_dir, lock it against another
 * daemon, and set the descriptors in ${sup}.  Return 0, or -1 after saying
 * what is wrong and how to mend it.
 */
int state_open(struct sup *);
void state_close(struct sup *);

/* Can errand-store reach state_dir, as far as it exists?  0, or -1 after
 * saying what is closed. */
int state_passable(const struct config *);

/* A short name for this state directory, the same at each start. */
void state_tag(const struct sup *, char *, size_t);

/**
 * hostkey_open(sup):
 * Read keys/host.key, or make it (durable, 0600) with host.pub beside it.
 * 0, or -1 after logging.
 */
int hostkey_open(struct sup *);

#endif /* !ERRAND_STATE_H */
