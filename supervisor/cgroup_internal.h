#ifndef ERRAND_CGROUP_INTERNAL_H
#define ERRAND_CGROUP_INTERNAL_H

#include <sys/queue.h>

#include <event2/event_struct.h>
#include <linux/limits.h>
#include <stdint.h>

#include "cgroup.h"
#include "cgroup_find.h"

struct hierarchy {
	unsigned int what;
	int fd;                 /* our base group */
	char parent[PATH_MAX];  /* where that is */
};

/*
 * Invariants:
 *  1. v2 is set exactly when h[0] is the unified tree with controllers; then
 *     nh is 1.
 *  2. Groups below our base are ours alone: job ids, nothing else.
 */
struct cgroups {
	struct event_base *base;
	char name[NAME_MAX];    /* of our base group */
	char note[LIMIT_TEXT];
	int v2;
	size_t nh;
	struct hierarchy h[CG_MAX];
	TAILQ_HEAD(, cgroup) dying;
	struct event timer;
};

struct cgroup {
	TAILQ_ENTRY(cgroup) next;       /* in dying */
	struct cgroups *cgs;
	char job[NAME_MAX + 1];
	int fd[CG_MAX];
	int tries;
};

/* Files of a group, small and read or written at once.  0, or -1. */
int cg_write(int, const char *, const char *, ...)
    __attribute__((format(printf, 3, 4)));
int cg_read(int, const char *, char *, size_t);

/* Kill all that are in the groups behind these descriptors. */
void cg_kill(const struct cgroups *, const int *);

/* Write a job's limits; 0 in one leaves it as it is.  0, or -1 with errno. */
int cg_limits(const struct cgroup *, const struct job_limits *);

#endif /* !ERRAND_CGROUP_INTERNAL_H */
