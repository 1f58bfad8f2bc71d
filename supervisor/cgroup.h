#ifndef ERRAND_CGROUP_H
#define ERRAND_CGROUP_H

#include <stdint.h>
#include <sys/types.h>

#include "proto/job_types.h"

struct cgroups;
struct cgroup;
struct config;
struct event_base;

/*
 * One group per job, in every hierarchy that helps: on v2 the one tree; on the
 * v1 hybrid one directory per controller, and the unified tree, where mounted,
 * for kill and the populated event; nothing where none is ours to use.
 */

/**
 * cgroups_open(base, cfg, tag):
 * Find what can be used, make our own base group errand.TAG in it (${tag}
 * tells daemons of one host apart), and remove what an earlier daemon of this
 * tag left there, processes included.  Never fails but for memory: without
 * cgroups, cgroups_kind says "none" and cgroups_note why.
 */
struct cgroups *cgroups_open(struct event_base *, const struct config *,
    const char *);
/* Removes the base group if it is empty. */
void cgroups_close(struct cgroups *);

/* "v2" "v1" "none"; NULL has none. */
const char *cgroups_kind(const struct cgroups *);
const char *cgroups_note(const struct cgroups *);       /* "" or a sentence */

/* 1 when they control this (of cgroup_find.h: CG_MEMORY, CG_CPU); NULL: 0. */
int cgroups_hold(const struct cgroups *, unsigned int);

/**
 * cgroup_new(cgs, id, limits):
 * Make a sandbox's groups and write its limits.  Without cgroups it is an
 * object without effect.  NULL with errno on failure.
 */
struct cgroup *cgroup_new(struct cgroups *, const char *,
    const struct job_limits *);

/**
 * cgroup_limit(cg, had, limits):
 * Hold it to other limits than ${had}, which it was made with.  0, or -1 with
 * errno.
 */
int cgroup_limit(struct cgroup *, const struct job_limits *,
    const struct job_limits *);

/**
 * cgroup_free(cg):
 * Forget it.  Its directories are removed a little later, for that takes long
 * and other jobs may be about to start; whoever is still in it is killed then.
 * _free(NULL) is a no-op.
 */
void cgroup_free(struct cgroup *);

/**
 * cgroup_place(cg, pid, uid, fds, n):
 * On v2, move the process.  On v1 that would wait for a grace period of the
 * kernel (5 to 15 ms) unless a thread moves itself: then ${fds} gets the files
 * (${*n} of them, at most CGROUP_JOIN_MAX) into which it writes "0".  They were
 * opened as ${uid}, so whoever holds them can move processes of that user and
 * of no other.  Return 0, or -1 with errno.
 */
#define CGROUP_JOIN_MAX 8
int cgroup_place(struct cgroup *, pid_t, uint32_t, int *, size_t *);

/* Send SIGKILL to all that are in it; not waited for. */
void cgroup_kill(struct cgroup *);

/* 1 when nobody is in it; also where there are no cgroups. */
int cgroup_empty(struct cgroup *);

/* Processor time of all that were in it, microseconds; 0: it is not known. */
uint64_t cgroup_cpu(const struct cgroup *);

/* What cgroups know replaces what is in ${u}; 1 in *pids_hit when the
 * number of processes reached its limit. */
void cgroup_usage(struct cgroup *, struct job_usage *, int *);

/**
 * cgroups_check(cfg):
 * Is cgroup_root, when it is given, there for memory, pids and cpu?  Return 0,
 * or -1 after logging where it is not.
 */
int cgroups_check(const struct config *);

#endif /* !ERRAND_CGROUP_H */
