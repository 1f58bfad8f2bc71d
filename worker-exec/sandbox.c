/*
 * The rule tables of system calls, for this program and for jobs.  Not the
 * job's sandbox as a whole: its namespaces are made by sandbox_ns.c, its files
 * by view.c, its last fences by preexec.c.
 */
#include <linux/filter.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include <seccomp.h>

#include "lib/log.h"
#include "lib/sandbox.h"
#include "sandbox.h"

/*
 * Three rules hold for jobs:
 *  1. what ordinary programs need is allowed;
 *  2. what is closed on purpose says so: EPERM;
 *  3. everything else, newer calls included, does not exist: ENOSYS, so that
 *     programs fall back on what they did before.  clone3 is one of these: its
 *     flags are in memory, where a filter cannot see them.
 *
 * A filter is inherited and can only be narrowed, so that of this process and
 * its keepers is the jobs' table with what keepers need put before it; the
 * engine takes the first plain rule it finds for a call.
 */

#define A(name)         { .nr = SCMP_SYS(name), .act = SANDBOX_ALLOW }
#define R(name)         { .nr = SCMP_SYS(name), .act = SANDBOX_ERRNO, \
	.err = EPERM }
/* Calls that libraries of the day may not know by name. */
#define AN(number)      { .nr = (number), .act = SANDBOX_ALLOW }
#define RN(number)      { .nr = (number), .act = SANDBOX_ERRNO, .err = EPERM }

/* Only the low 32 bits of an int count: the kernel does not look at others. */
#define IF32(name, n, v, what, e) { .nr = SCMP_SYS(name), .act = (what), \
	.err = (e), .masked = 1, .arg = (n), .mask = 0xffffffff, \
	.value = (uint32_t)(v) }
#define NO_FLAG(name, n, flag) { .nr = SCMP_SYS(name), .act = SANDBOX_ERRNO, \
	.err = EPERM, .masked = 1, .arg = (n), .mask = (flag), \
	.value = (flag) }

static const struct sandbox_rule keeper_rules[] = {
	/* Namespaces, the mounts in them, the ids in them. */
	A(clone3), A(unshare), A(mount), A(umount2), A(pivot_root),
	A(open_tree), A(move_mount), A(mount_setattr), A(fsopen), A(fsconfig),
	A(fsmount), A(sethostname), A(setgroups), A(setresuid), A(setresgid),
	/* Whatever else these two differ in for jobs. */
	A(socket),
};

/*
 * What is not here does not exist.  io_setup is one of those: the host has
 * 65,536 of what it takes (fs.aio-max-nr), for all users together, and one job
 * could have them all.
 */
static const struct sandbox_rule job_rules[] = {
	/* New namespaces would widen what the kernel lets a job try. */
	NO_FLAG(clone, 0, CLONE_NEWNS), NO_FLAG(clone, 0, CLONE_NEWCGROUP),
	NO_FLAG(clone, 0, CLONE_NEWUTS), NO_FLAG(clone, 0, CLONE_NEWIPC),
	NO_FLAG(clone, 0, CLONE_NEWUSER), NO_FLAG(clone, 0, CLONE_NEWPID),
	NO_FLAG(clone, 0, CLONE_NEWNET),
	A(clone),

	/* Typing into somebody's terminal. */
	IF32(ioctl, 1, TIOCSTI, SANDBOX_ERRNO, EPERM),
	IF32(ioctl, 1, TIOCLINUX, SANDBOX_ERRNO, EPERM),
	A(ioctl),

	/* Pid 1 has the job's uid, which is all that the kernel asks for. */
	IF32(prlimit64, 0, 1, SANDBOX_ERRNO, EPERM),
	A(prlimit64),

	A(accept), A(accept4), A(access), A(alarm), A(arch_prctl), A(bind),
	A(brk), A(capget), A(capset), A(chdir), A(chmod), A(chown),
	A(clock_getres), A(clock_gettime), A(clock_nanosleep), A(close),
	A(close_range), A(connect), A(copy_file_range), A(creat), A(dup),
	A(dup2), A(dup3), A(epoll_create), A(epoll_create1), A(epoll_ctl),
	A(epoll_pwait), A(epoll_pwait2), A(epoll_wait), A(eventfd),
	A(eventfd2), A(execve), A(execveat), A(exit), A(exit_group),
	A(faccessat), A(faccessat2), A(fadvise64), A(fallocate), A(fchdir),
	A(fchmod), A(fchmodat), A(fchown), A(fchownat), A(fcntl), A(fdatasync),
	A(fgetxattr), A(flistxattr), A(flock), A(fork), A(fremovexattr),
	A(fsetxattr), A(fstat), A(fstatfs), A(fsync), A(ftruncate), A(futex),
	A(futimesat), A(get_mempolicy), A(get_robust_list), A(get_thread_area),
	A(getcpu), A(getcwd), A(getdents), A(getdents64), A(getegid),
	A(geteuid), A(getgid), A(getgroups), A(getitimer), A(getpeername),
	A(getpgid), A(getpgrp), A(getpid), A(getppid), A(getpriority),
	A(getrandom), A(getresgid), A(getresuid), A(getrlimit), A(getrusage),
	A(getsid), A(getsockname), A(getsockopt), A(gettid), A(gettimeofday),
	A(getuid), A(getxattr), A(inotify_add_watch), A(inotify_init),
	A(inotify_init1), A(inotify_rm_watch), A(ioprio_get),
	A(ioprio_set), A(kcmp), A(kill), A(landlock_add_rule),
	A(landlock_create_ruleset), A(landlock_restrict_self), A(lchown),
	A(lgetxattr), A(link), A(linkat), A(listen), A(listxattr),
	A(llistxattr), A(lremovexattr), A(lseek), A(lsetxattr), A(lstat),
	A(madvise), A(mbind), A(membarrier), A(memfd_create), A(mincore),
	A(mkdir), A(mkdirat), A(mknod), A(mknodat), A(mlock), A(mlock2),
	A(mlockall), A(mmap), A(modify_ldt), A(mprotect), A(mq_getsetattr),
	A(mq_notify), A(mq_open), A(mq_timedreceive), A(mq_timedsend),
	A(mq_unlink), A(mremap), A(msgctl), A(msgget), A(msgrcv), A(msgsnd),
	A(msync), A(munlock), A(munlockall), A(munmap), A(nanosleep),
	A(newfstatat), A(open), A(openat), A(openat2), A(pause),
	A(personality), A(pidfd_getfd), A(pidfd_open), A(pidfd_send_signal),
	A(pipe), A(pipe2), A(pkey_alloc), A(pkey_free), A(pkey_mprotect),
	A(poll), A(ppoll), A(prctl), A(pread64), A(preadv), A(preadv2),
	A(process_madvise), A(process_mrelease),
	A(process_vm_readv), A(process_vm_writev), A(pselect6), A(ptrace),
	A(pwrite64), A(pwritev), A(pwritev2), A(read), A(readahead),
	A(readlink), A(readlinkat), A(readv), A(recvfrom), A(recvmmsg),
	A(recvmsg), A(remap_file_pages), A(removexattr), A(rename),
	A(renameat), A(renameat2), A(restart_syscall), A(rmdir), A(rseq),
	A(rt_sigaction), A(rt_sigpending), A(rt_sigprocmask),
	A(rt_sigqueueinfo), A(rt_sigreturn), A(rt_sigsuspend),
	A(rt_sigtimedwait), A(rt_tgsigqueueinfo), A(sched_get_priority_max),
	A(sched_get_priority_min), A(sched_getaffinity), A(sched_getattr),
	A(sched_getparam), A(sched_getscheduler), A(sched_rr_get_interval),
	A(sched_setaffinity), A(sched_setattr), A(sched_setparam),
	A(sched_setscheduler), A(sched_yield), A(seccomp), A(select),
	A(semctl), A(semget), A(semop), A(semtimedop), A(sendfile),
	A(sendmmsg), A(sendmsg), A(sendto), A(set_mempolicy),
	A(set_robust_list), A(set_thread_area), A(set_tid_address),
	A(setfsgid), A(setfsuid), A(setgid), A(setgroups), A(setitimer),
	A(setpgid), A(setpriority), A(setregid), A(setresgid), A(setresuid),
	A(setreuid), A(setrlimit), A(setsid), A(setsockopt), A(setuid),
	A(setxattr), A(shmat), A(shmctl), A(shmdt), A(shmget), A(shutdown),
	A(sigaltstack), A(signalfd), A(signalfd4), A(socketpair), A(splice),
	A(stat), A(statfs), A(statx), A(symlink), A(symlinkat), A(sync),
	A(sync_file_range), A(syncfs), A(sysinfo), A(tee), A(tgkill), A(time),
	A(timer_create), A(timer_delete), A(timer_getoverrun),
	A(timer_gettime), A(timer_settime), A(timerfd_create),
	A(timerfd_gettime), A(timerfd_settime), A(times), A(tkill),
	A(truncate), A(umask), A(uname), A(unlink), A(unlinkat), A(utime),
	A(utimensat), A(utimes), A(vfork), A(vmsplice), A(wait4), A(waitid),
	A(write), A(writev),

	/* fchmodat2, map_shadow_stack, futex_wake, futex_wait, futex_requeue,
	 * statmount, listmount, mseal, setxattrat and its family */
	AN(452), AN(453), AN(454), AN(455), AN(456), AN(457), AN(458), AN(462),
	AN(463), AN(464), AN(465), AN(466),
	/* futex_waitv, set_mempolicy_home_node, memfd_secret, cachestat */
	AN(449), AN(450), AN(447), AN(451),

	R(acct), R(add_key), R(adjtimex), R(bpf), R(chroot), R(clock_adjtime),
	R(clock_settime), R(delete_module), R(fanotify_init), R(fanotify_mark),
	R(finit_module), R(fsconfig), R(fsmount), R(fsopen), R(fspick),
	R(init_module), R(io_uring_enter), R(io_uring_register),
	R(io_uring_setup), R(ioperm), R(iopl), R(kexec_file_load),
	R(kexec_load), R(keyctl), R(mount), R(mount_setattr), R(move_mount),
	R(name_to_handle_at), R(open_by_handle_at), R(open_tree),
	R(perf_event_open), R(pivot_root), R(quotactl), R(quotactl_fd),
	R(reboot), R(request_key), R(setdomainname), R(sethostname), R(setns),
	R(settimeofday), R(swapoff), R(swapon), R(syslog), R(umount2),
	R(unshare), R(userfaultfd), R(vhangup),
	/* open_tree_attr */
	RN(467),
};

/*
 * A keeper that has handed its job in: it reads and writes channels, pipes, the
 * log and files below its tenant's directory, and ends pid 1.  It makes no
 * process, socket, namespace or mount any more, and executes nothing.
 */
static const struct sandbox_rule late_rules[] = {
	/* Channels, pipes, waiting. */
	A(read), A(readv), A(write), A(writev), A(sendmsg), A(recvmsg), A(poll),
	A(ppoll), A(fcntl), A(close), A(close_range), A(dup), A(splice),
	A(wait4), A(waitid), A(pidfd_send_signal), A(restart_syscall),
	IF32(ioctl, 1, TIOCSTI, SANDBOX_ERRNO, EPERM),
	IF32(ioctl, 1, TIOCLINUX, SANDBOX_ERRNO, EPERM),
	A(ioctl),

	/* A long log is handed to the disk early: lib/writeout.c. */
	A(sync_file_range), A(fadvise64),

	/* Files. */
	A(open), A(openat), A(openat2), A(lseek), A(pread64), A(pwrite64),
	A(copy_file_range), A(ftruncate), A(fallocate), A(fdatasync), A(fsync),
	A(syncfs), A(flock), A(stat), A(lstat), A(fstat), A(newfstatat),
	A(statx), A(fstatfs), A(statfs), A(access), A(faccessat), A(faccessat2),
	A(readlink), A(readlinkat), A(getdents64), A(fchmod), A(fchmodat),
	A(fchown), A(fchownat), A(utimensat), A(mkdir),
	A(mkdirat), A(mknodat), A(link), A(linkat), A(symlinkat), A(rename),
	A(renameat), A(renameat2), A(unlink), A(unlinkat), A(rmdir), A(chdir),
	A(fchdir), A(getxattr), A(lgetxattr), A(fgetxattr), A(listxattr),
	A(llistxattr), A(flistxattr), A(setxattr), A(lsetxattr), A(fsetxattr),
	A(fremovexattr),

	/* Memory, time, the end. */
	A(brk), A(mmap), A(munmap), A(mremap), A(mprotect), A(madvise),
	A(memfd_create), A(getrandom), A(clock_gettime), A(gettimeofday),
	A(time), A(nanosleep), A(clock_nanosleep), A(futex), A(getpid),
	A(getppid), A(gettid), A(getuid), A(geteuid), A(getgid), A(getegid),
	A(getrusage), A(rt_sigaction), A(rt_sigprocmask), A(rt_sigreturn),
	A(tgkill), A(exit), A(exit_group),
	AN(451) /* cachestat */, AN(452) /* fchmodat2 */,
};

/* Families that a network namespace keeps apart; others reach the host. */
static const struct sandbox_rule none_rules[] = {
	IF32(socket, 0, AF_UNIX, SANDBOX_ALLOW, 0),
	IF32(socket, 0, AF_INET, SANDBOX_ALLOW, 0),
	IF32(socket, 0, AF_INET6, SANDBOX_ALLOW, 0),
	IF32(socket, 0, AF_NETLINK, SANDBOX_ALLOW, 0),
	{ .nr = SCMP_SYS(socket), .act = SANDBOX_ERRNO, .err = EAFNOSUPPORT },
};

/* On the host's network, names of unix sockets are the host's too. */
static const struct sandbox_rule host_rules[] = {
	IF32(socket, 0, AF_UNIX, SANDBOX_ERRNO, EPERM),
	IF32(socket, 0, AF_INET, SANDBOX_ALLOW, 0),
	IF32(socket, 0, AF_INET6, SANDBOX_ALLOW, 0),
	IF32(socket, 0, AF_NETLINK, SANDBOX_ALLOW, 0),
	{ .nr = SCMP_SYS(socket), .act = SANDBOX_ERRNO, .err = EAFNOSUPPORT },
};

#define NITEMS(a)       (sizeof(a) / sizeof((a)[0]))

/* The two tables as one. */
static struct sandbox_rule *
join(const struct sandbox_rule *a, size_t na, const struct sandbox_rule *b,
    size_t nb)
{
	struct sandbox_rule *r;
	size_t i;

	if ((r = calloc(na + nb, sizeof(*r))) == NULL)
		fatal("the filters");
	for (i = 0; i < na; i++)
		r[i] = a[i];
	for (i = 0; i < nb; i++)
		r[na + i] = b[i];
	return (r);
}

/* The keeper's own: few calls follow it, and a job waits for it. */
static struct sock_fprog *
filter_late(void)
{
	struct sock_fprog *prog;

	if ((prog = calloc(1, sizeof(*prog))) == NULL ||
	    sandbox_compile_short(late_rules, NITEMS(late_rules),
	    SANDBOX_ENOSYS, prog) == -1)
		fatal("the filters");
	return (prog);
}

static struct sock_fprog *
filter(const struct sandbox_rule *a, size_t na, const struct sandbox_rule *b,
    size_t nb)
{
	struct sandbox_rule *r = join(a, na, b, nb);
	struct sock_fprog *prog;

	if ((prog = calloc(1, sizeof(*prog))) == NULL ||
	    sandbox_compile(r, na + nb, SANDBOX_ENOSYS, prog) == -1)
		fatal("the filters");
	free(r);
	return (prog);
}

void
exec_fence(struct exec_filters *f)
{
	struct sandbox_rule *r;

	f->none = filter(none_rules, NITEMS(none_rules), job_rules,
	    NITEMS(job_rules));
	f->host = filter(host_rules, NITEMS(host_rules), job_rules,
	    NITEMS(job_rules));
	f->late = filter_late();
	r = join(keeper_rules, NITEMS(keeper_rules), job_rules,
	    NITEMS(job_rules));
	if (sandbox_seccomp(r, NITEMS(keeper_rules) + NITEMS(job_rules),
	    SANDBOX_ENOSYS) == -1)
		fatal("the filter of system calls");
	free(r);
}

static void
prog_free(struct sock_fprog *p)
{

	free(p->filter);
	free(p);
}

void
exec_filters_done(struct exec_filters *f)
{

	prog_free(f->none);
	prog_free(f->host);
	prog_free(f->late);
}
