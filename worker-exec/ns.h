#ifndef ERRAND_EXEC_NS_H
#define ERRAND_EXEC_NS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/capability.h>

/*
 * Namespaces and the ids in them.
 */

/* What a keeper is made with; NET is left out for the host's network. */
#define NS_KEEPER       (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | \
	CLONE_NEWUTS)

/* What pid 1 of a sandbox is made with, inside the keeper's. */
#define NS_INIT         (CLONE_NEWPID | CLONE_NEWNS)

/**
 * ns_clone(flags, pidfd):
 * Fork into new namespaces.  ${pidfd} may be NULL.  Returns as fork.
 */
pid_t ns_clone(uint64_t, int *);

/* Close every descriptor over 2 but the ${n} (at most 8) given.  0 or -1. */
int ns_close_others(const int *, size_t);

/* A pidfd of ourselves, or -1. */
int ns_pidfd_self(void);

/**
 * ns_trial(why, len):
 * Make a process as keepers are made and let it end.  Return 0, or -1 with a
 * sentence on what is closed here and how to open it.
 */
int ns_trial(char *, size_t);

/**
 * ns_map_self(inside, uid, gid):
 * Write our own maps: the id ${inside} is ${uid} and ${gid} of the namespace
 * above, which must be the ids we have there.  Return 0, or -1 with errno.
 */
int ns_map_self(unsigned int, unsigned int, unsigned int);

/*
 * Where user namespaces are closed, errand-exec keeps these rights of the
 * host's: to make namespaces and mounts, to become the tenant, to bring up a
 * loopback interface, to take the last of them from the command for good, and
 * to have keepers, who have another uid, killed when it dies.
 * Keepers and pids 1 keep less (NS_TENANT_CAPS), and none once the job is in.
 * Overlayfs works with the rights of whoever mounted it, in a directory of its
 * own that nobody may enter without the right to do so: that one a keeper has
 * in force for just that call.
 */
#define NS_OVERLAY_CAP  (UINT64_C(1) << CAP_DAC_OVERRIDE)
#define NS_BOUNDED_CAPS (UINT64_C(1) << CAP_SYS_ADMIN | \
	UINT64_C(1) << CAP_SETUID | UINT64_C(1) << CAP_SETGID | \
	UINT64_C(1) << CAP_NET_ADMIN | UINT64_C(1) << CAP_SETPCAP | \
	UINT64_C(1) << CAP_KILL | \
	NS_OVERLAY_CAP)
#define NS_TENANT_CAPS  (UINT64_C(1) << CAP_SYS_ADMIN | \
	UINT64_C(1) << CAP_SETPCAP)
/* Pid 1 may not be the tenant yet when its keeper has to end it. */
#define NS_KEEPER_CAPS  (NS_TENANT_CAPS | UINT64_C(1) << CAP_KILL)

/*
 * The same as ns_trial, tried by a child that has become ${uid} and ${gid} and
 * has no rights: what errand-exec will be able to do.
 */
int ns_trial_as(unsigned int, unsigned int, char *, size_t);

/**
 * ns_become_tenant(uid, caps, may):
 * Without a user namespace: become the tenant, with ${caps} and, not in force,
 * ${may}.  Keeps the promises of ns_become_root.  0, or -1 with errno.
 */
int ns_become_tenant(unsigned int, uint64_t, uint64_t);

/**
 * ns_unshare_all(n):
 * Go on in a user namespace below this one in which 0 to ${n} are what they are
 * here, where we must be root.  Return 0, or -1 with errno.
 */
int ns_unshare_all(unsigned int);

/*
 * Become uid and gid 0 of our namespace; afterwards no process of these ids may
 * trace us, and we die with our parent.  Return 0, or -1 with errno.
 */
int ns_become_root(void);

/* Bring the loopback interface up.  Return 0, or -1 with errno. */
int ns_loopback(void);

#endif /* !ERRAND_EXEC_NS_H */
