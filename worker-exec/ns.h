#ifndef ERRAND_EXEC_NS_H
#define ERRAND_EXEC_NS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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
 * Become uid and gid 0 of our namespace; afterwards no process of these ids may
 * trace us, and we die with our parent.  Return 0, or -1 with errno.
 */
int ns_become_root(void);

/* Bring the loopback interface up.  Return 0, or -1 with errno. */
int ns_loopback(void);

#endif /* !ERRAND_EXEC_NS_H */
