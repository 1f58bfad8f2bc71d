#ifndef ERRAND_SPAWN_H
#define ERRAND_SPAWN_H

#include <stdint.h>
#include <sys/types.h>

struct config;
struct role;

struct spawn {
	const struct role *role;
	const struct config *cfg;
	uint32_t uid;           /* what it is to become; also its gid */
	int level;              /* of its log */
	int rebuild;            /* the store: -R */
	int chan;               /* becomes descriptor 3; borrowed */
};

/**
 * spawn_worker(sp, pid, pidfd):
 * Start a worker's program with its channel as descriptor 3, /dev/null as 0
 * and 1, our stderr as 2, and nothing else.  Return 0, or -1 with errno.
 */
int spawn_worker(const struct spawn *, pid_t *, int *);

#endif /* !ERRAND_SPAWN_H */
