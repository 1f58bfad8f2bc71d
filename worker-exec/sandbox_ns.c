/*
 * Namespaces, the ids in them, the loopback interface.  Forks, and writes our
 * own /proc/self maps.  The system call tables are in sandbox.c.
 */
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/close_range.h>
#include <linux/sched.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/sandbox.h"
#include "ns.h"

/*
 * Safe with any flags: the child is ours, and namespaces only narrow what it
 * can reach.  The raw call, because the library's fork has no flags; we have
 * one thread, so nothing is locked in the child.
 */
pid_t
ns_clone(uint64_t flags, int *pidfd)
{
	struct clone_args args = { .flags = flags, .exit_signal = SIGCHLD };

	if (pidfd != NULL) {
		args.flags |= CLONE_PIDFD;
		args.pidfd = (uint64_t)(uintptr_t)pidfd;
	}
	return ((pid_t)syscall(SYS_clone3, &args, sizeof(args)));
}

static int
by_number(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x < *y ? -1 : *x > *y);
}

int
ns_close_others(const int *keep, size_t n)
{
	unsigned int from = 3;
	int fds[8];
	size_t i;

	if (n > sizeof(fds) / sizeof(fds[0])) {
		errno = EINVAL;
		return (-1);
	}
	memcpy(fds, keep, n * sizeof(*fds));
	qsort(fds, n, sizeof(*fds), by_number);
	for (i = 0; i < n; i++) {
		if (fds[i] < (int)from)
			continue;
		if (fds[i] > (int)from && close_range(from,
		    (unsigned int)fds[i] - 1, 0) == -1)
			return (-1);
		from = (unsigned int)fds[i] + 1;
	}
	return (close_range(from, ~0U, 0));
}

int
ns_pidfd_self(void)
{

	return ((int)syscall(SYS_pidfd_open, getpid(), 0));
}

/* A number in a file of /proc/sys, or -1 when it is not there. */
static long
sysctl_get(const char *path)
{
	uint8_t *buf;
	size_t len;
	long n;

	if (io_file_read(AT_FDCWD, path, 64, &buf, &len) == -1)
		return (-1);
	n = strtol((const char *)buf, NULL, 10);
	free(buf);
	return (n);
}

/* Are we below another root than that of our mount namespace? */
static int
in_chroot(void)
{
	struct stat root, top;

	return (stat("/", &root) == 0 && stat("/proc/1/root", &top) == 0 &&
	    (root.st_dev != top.st_dev || root.st_ino != top.st_ino));
}

static void
explain(int err, char *why, size_t len)
{
	const char *p = "the kernel refuses user namespaces";

	if (sysctl_get("/proc/sys/user/max_user_namespaces") == 0)
		p = "user namespaces are closed: set the sysctl "
		    "user.max_user_namespaces to some thousands";
	else if (sysctl_get("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		p = "user namespaces are closed for ordinary users: set the "
		    "sysctl kernel.unprivileged_userns_clone to 1";
	else if (sysctl_get("/proc/sys/kernel/"
	    "apparmor_restrict_unprivileged_userns") == 1)
		p = "AppArmor keeps user namespaces from programs without a "
		    "profile: install the profile of errand-exec, or set the "
		    "sysctl kernel.apparmor_restrict_unprivileged_userns to 0";
	else if (err == EPERM && in_chroot())
		p = "an ordinary user cannot make user namespaces in a "
		    "chroot: start errandd as root, or outside of it";
	else if (err == ENOSPC || err == EUSERS)
		p = "there are as many user namespaces as the host allows: "
		    "raise the sysctl user.max_user_namespaces";
	else if (err == EINVAL || err == ENOSYS)
		p = "this kernel was built without user namespaces";
	(void)snprintf(why, len, "%s (%s)", p, strerror(err));
}

int
ns_trial(char *why, size_t len)
{
	int status;
	pid_t pid;

	if ((pid = ns_clone(NS_KEEPER | CLONE_NEWNET | CLONE_NEWPID,
	    NULL)) == 0)
		_exit(0);
	if (pid == -1) {
		explain(errno, why, len);
		return (-1);
	}
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		continue;
	return (0);
}

/* The sentence comes back through a pipe; none means that it worked. */
int
ns_trial_as(unsigned int uid, unsigned int gid, char *why, size_t len)
{
	ssize_t n = 0;
	int p[2], rc;
	pid_t pid;

	(void)snprintf(why, len, "whether user namespaces work could not be "
	    "tried");
	if (pipe2(p, O_CLOEXEC) == -1)
		return (-1);
	if ((pid = fork()) == 0) {
		if (sandbox_drop(uid, gid) == 0 &&
		    (rc = ns_trial(why, len)) == 0)
			_exit(0);
		(void)!write(p[1], why, strlen(why));
		_exit(1);
	}
	io_close(&p[1]);
	if (pid != -1 && (n = read(p[0], why, len - 1)) >= 0)
		why[n] = '\0';
	io_close(&p[0]);
	rc = 1;
	while (pid != -1 && waitpid(pid, &rc, 0) == -1 && errno == EINTR)
		continue;
	return (rc == 0 ? 0 : -1);
}

static int
map_write(const char *path, const char *text)
{
	int fd, rc;

	if ((fd = open(path, O_WRONLY | O_CLOEXEC)) == -1)
		return (-1);
	rc = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
	io_close(&fd);
	return (rc);
}

/*
 * Files in /proc of a process that may not be traced belong to root; so we may
 * be for as long as this takes.  Nobody else is in the namespace yet.
 */
int
ns_map_self(unsigned int inside, unsigned int uid, unsigned int gid)
{
	char text[48];

	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == -1 ||
	    map_write("/proc/self/setgroups", "deny") == -1)
		return (-1);
	(void)snprintf(text, sizeof(text), "%u %u 1\n", inside, uid);
	if (map_write("/proc/self/uid_map", text) == -1)
		return (-1);
	(void)snprintf(text, sizeof(text), "%u %u 1\n", inside, gid);
	if (map_write("/proc/self/gid_map", text) == -1)
		return (-1);
	return (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

/* The child's part: the parent's maps, when it says that it is below. */
static void __attribute__((noreturn))
map_parent(unsigned int n, int from)
{
	const char *const files[] = { "gid_map", "uid_map" };
	char path[64], text[48], word;
	size_t i;

	if (read(from, &word, 1) != 1)
		_exit(1);
	/* Two parts here too, since a part may not be of two up there. */
	(void)snprintf(text, sizeof(text), "0 0 1\n1 1 %u\n", n);
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(path, sizeof(path), "/proc/%d/%s",
		    (int)getppid(), files[i]);
		if (map_write(path, text) == -1)
			_exit(1);
	}
	_exit(0);
}

/*
 * Whoever is in the new namespace may map itself only; so somebody stays here
 * who writes the rest.  Safe because nothing is mapped that was not ours, and
 * what we are now, nobody in there can become: see ns_map_self for the files.
 */
int
ns_unshare_all(unsigned int n)
{
	int p[2], status = -1;
	pid_t pid;

	if (pipe2(p, O_CLOEXEC) == -1)
		return (-1);
	if ((pid = ns_clone(0, NULL)) == 0) {
		io_close(&p[1]);
		map_parent(n, p[0]);
	}
	if (pid != -1 && unshare(CLONE_NEWUSER) == 0 &&
	    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0)
		(void)!write(p[1], "", 1);
	io_close(&p[0]);
	io_close(&p[1]);
	while (pid != -1 && waitpid(pid, &status, 0) == -1 && errno == EINTR)
		continue;
	if (status != 0) {
		errno = EPERM;
		return (-1);
	}
	return (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

/*
 * Safe because "0" is here the one id of the host that was mapped: the
 * tenant's.  Both settings at the end are undone by the kernel when ids
 * change, hence here.
 */
int
ns_become_root(void)
{

	/* Refused where the maps forbid it; then there are none to lose. */
	(void)setgroups(0, NULL);
	if (setresgid(0, 0, 0) == -1 || setresuid(0, 0, 0) == -1)
		return (-1);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		return (-1);
	return (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
}

/*
 * Safe because it only takes away: another uid, and fewer rights.  What is left
 * of them is given up by init.c and keeper_run.c before the command goes.
 */
int
ns_become_tenant(unsigned int uid, uint64_t caps, uint64_t may)
{

	if (uid == 0 || setgroups(0, NULL) == -1 ||
	    setresgid(uid, uid, uid) == -1 || setresuid(uid, uid, uid) == -1 ||
	    sandbox_caps_may(caps, may) == -1 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		return (-1);
	return (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
}

/* ::1 comes by itself when the interface is up. */
int
ns_loopback(void)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd, rc;

	if ((fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) == -1)
		return (-1);
	rc = ioctl(fd, SIOCSIFFLAGS, &ifr);
	io_close(&fd);
	return (rc);
}
