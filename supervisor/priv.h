#ifndef ERRAND_PRIV_H
#define ERRAND_PRIV_H

#include <sched.h>
#include <stdint.h>
#include <sys/types.h>

#include "config.h"
#include "proto/limits.h"

struct cgroup;

/*
 * Everything the supervisor does with root's rights on behalf of a less
 * trusted process.  Nothing here believes what a message said: a process is
 * known by the pidfd that came from errand-exec, and is checked again.
 */

/* A user namespace, known by its inode. */
struct userns {
	dev_t dev;
	ino_t ino;
};

struct map_rule {
	uint32_t owner_uid;     /* who must own the namespace: errand-exec */
	uint32_t host_uid;      /* uid and gid that 0 inside stands for */
	uint32_t host_gid;
	struct uid_range more;  /* what 1, 2 and so on inside stand for */
};

/**
 * map_priv(pidfd, rule, ns):
 * Write the uid and gid maps of the process behind ${pidfd}, and tell its
 * namespace in ${ns}: "0 HOST 1" after denying setgroups; with more ids those
 * too, and its root may set groups, which are of those then.  Return 0, or -1
 * with errno (EPERM: it is not what it must be).
 */
int map_priv(int, const struct map_rule *, struct userns *);

/**
 * place_priv(pidfd, ns, cg, uid, fds, n):
 * Move the process behind ${pidfd}, which must be in the user namespace
 * ${ns} (NULL in rootless mode, where there is nothing to protect from it), to
 * the job's cgroups, or open what it moves itself by; see cgroup_place.  0, or
 * -1 with errno.
 */
int place_priv(int, const struct userns *, struct cgroup *, uint32_t, int *,
    size_t *);

/**
 * tenant_priv(pidfd, uid):
 * Where there is no user namespace to check: is the process pid 1 of a pid
 * namespace, and if ${uid} is not 0, has it that uid and gid and no other?  0,
 * or -1 with errno (EPERM: it is not; ESRCH: it has ended).
 */
int tenant_priv(int, uint32_t);

/* The processors a sandbox whose process was placed may use.  0 or -1. */
int cpus_priv(int, const cpu_set_t *);

/* SIGKILL to what a pidfd stands for; already dead is fine. */
void kill_priv(int);

/* Has it ended? */
int pidfd_dead(int);

/**
 * workdir_priv(work_fd, uid, gid):
 * Make the tenant's directory in the work root if it is not there: UID/ with
 * trees/ and jobs/, all 0700 and the tenant's.  0, or -1 with errno.
 */
int workdir_priv(int, uint32_t, uint32_t);

/**
 * workdir_remove_priv(work_fd, rule, job):
 * Begin to remove the directory of a job whose keeper is dead: a process with
 * the ids of ${rule} does, and nobody waits for it.
 */
void workdir_remove_priv(int, const struct map_rule *, const char *);

/* Remove what jobs of a former daemon left in every UID/jobs/. */
void workdir_sweep_priv(int);

/*
 * In a process that was forked for it: have a tenant's rights only.  0 or -1.
 */
int become_priv(uint32_t, uint32_t);

/* What is asked of a tenant's caches. */
struct caches_ask {
	uint8_t remove;         /* those that fit */
	uint32_t skip;          /* so many that fit are not told */
	uint8_t any;            /* all fit, else these: */
	char project[LIMIT_NAME + 1];
	char name[LIMIT_NAME + 1];
};

/**
 * caches_priv(work, uid, gid, ask):
 * Have a tenant's caches listed or removed with its own rights.  Return a pipe
 * from which at most LIMIT_CACHE_LIST struct cache_info can be read, or -1.
 */
int caches_priv(int, uint32_t, uint32_t, const struct caches_ask *);

#endif /* !ERRAND_PRIV_H */
