#ifndef ERRAND_SANDBOX_H
#define ERRAND_SANDBOX_H

#include <stddef.h>
#include <stdint.h>

/*
 * The engine that turns a worker's rule table into a seccomp filter and a
 * Landlock domain.  The tables are in each worker's sandbox.c.  The engine is
 * the only file that includes seccomp.h besides those tables, and only for
 * the numbers of the calls.
 */

enum sandbox_act {
	SANDBOX_ALLOW,
	SANDBOX_ERRNO           /* refuse softly with .err */
};

struct sandbox_rule {
	int nr;                 /* SCMP_SYS(name) */
	enum sandbox_act act;
	int err;
	/*
	 * With .masked: matches only when (argument[.arg] & .mask) == .value.
	 */
	int masked;
	unsigned int arg;
	uint64_t mask;
	uint64_t value;
};

/*
 * What happens to a call no rule names.
 *
 * For each call: the first masked rule that matches decides, then the rule
 * without .masked, then the default.  So "this call, but not with that
 * argument" and its reverse are two rules, in any order.
 *
 * With SANDBOX_KILL, what a C library does unasked (memory without PROT_EXEC,
 * futex, clocks, getrandom, return from signals, exit) is allowed unless the
 * table names the call.
 */
enum sandbox_default {
	SANDBOX_KILL,           /* the process dies of SIGSYS */
	SANDBOX_ENOSYS          /* the call does not exist */
};

struct sock_fprog;

/**
 * sandbox_seccomp(rules, n, def):
 * Install the filter for this process, no_new_privs included.  Foreign
 * architectures are killed.  Return 0, or -1 with errno.
 */
int sandbox_seccomp(const struct sandbox_rule *, size_t,
    enum sandbox_default);

/**
 * sandbox_compile(rules, n, def, prog):
 * The filter as a program (prog->filter is malloced), to be installed later
 * by sandbox_install, which calls no library.
 */
int sandbox_compile(const struct sandbox_rule *, size_t, enum sandbox_default,
    struct sock_fprog *);

/**
 * sandbox_compile_short(rules, n, def, prog):
 * The same as a shorter program, which is installed in half the time and takes
 * a little of every call: for who makes few.  A rule without .masked can only
 * allow (else EINVAL).
 */
int sandbox_compile_short(const struct sandbox_rule *, size_t,
    enum sandbox_default, struct sock_fprog *);
int sandbox_install(const struct sock_fprog *);

struct sandbox_path {
	int fd;                 /* O_PATH or other descriptor of it */
	int writable;           /* else read (and execute with .exec) only */
	int exec;
};

/*
 * What a job may take at least of what the kernel counts for all jobs together;
 * with fewer, programs do not work.
 */
#define SANDBOX_INOTIFY_INSTANCES       16
#define SANDBOX_INOTIFY_WATCHES         4096

/**
 * sandbox_landlock(paths, n):
 * Allow the file system only below ${paths}; n = 0 allows nothing.  Handles
 * every right the running kernel knows (REFER included), and on newer kernels
 * forbids TCP, abstract sockets and signals outside the domain.  Return the
 * ABI that was used, 0 where the kernel has none (or only ABI 1), -1 on error.
 */
int sandbox_landlock(const struct sandbox_path *, size_t);

/* The same, but TCP is left as it is: for jobs, which have a loopback. */
int sandbox_landlock_files(const struct sandbox_path *, size_t);

/**
 * sandbox_landlock_prepare(paths, n, fd):
 * The work of sandbox_landlock_files, but for entering: returns as that, with
 * a ruleset in ${*fd}, which execve closes, or -1 where the kernel has none.
 *
 * sandbox_landlock_enter(abi, fd, paths, n):
 * Add ${paths}, and be held to it from now on.  ${abi} is what the other
 * returned, more than 0.  Return 0, or -1.
 */
int sandbox_landlock_prepare(const struct sandbox_path *, size_t, int *);
int sandbox_landlock_enter(int, int, const struct sandbox_path *, size_t);

/**
 * sandbox_landlock_sign(word):
 * From now on this process says ${word} in the upper half of the descriptor
 * with which it enters a domain: the kernel does not look there, a filter of
 * system calls can.  So one that watches who enters one knows this call.
 */
void sandbox_landlock_sign(uint32_t);

/*
 * Without the rules by path, which make each open walk up from the file: in a
 * tree 10,000 deep that is minutes.  Forbidden are executing, making devices
 * and sockets, TCP and abstract sockets, and mounting, which every domain
 * forbids.  Links and renames between directories stay possible below ${paths}.
 */
int sandbox_landlock_light(const struct sandbox_path *, size_t);

/**
 * sandbox_drop(uid, gid):
 * For ever become an ordinary user: no supplementary groups, no capability in
 * any set, securebits locked, not dumpable, no_new_privs.  As an ordinary user
 * already (rootless), with the ids we have: everything but ids and groups.
 * Ids 0 are refused.  Return 0, or -1 (then end the process).
 */
int sandbox_drop(unsigned int, unsigned int);

/**
 * sandbox_bound(uid, gid, caps):
 * The same, but for these capabilities (bits by number), which stay when the
 * ids change later and are the most that this process and its children will
 * ever have.  For one that must make what user namespaces would have made.
 */
int sandbox_bound(unsigned int, unsigned int, uint64_t);

/*
 * Have these capabilities and no others, of those there are; the second does so
 * too, but those of ${may} are not in force until they are asked for again.  0,
 * or -1 with errno.
 */
int sandbox_caps(uint64_t);
int sandbox_caps_may(uint64_t caps, uint64_t may);

#endif /* !ERRAND_SANDBOX_H */
