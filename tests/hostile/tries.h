#ifndef ERRAND_TEST_TRIES_H
#define ERRAND_TEST_TRIES_H

/*
 * What no worker may do, tried one by one.  Each returns -1 with errno when it
 * was refused; a fence may also end the process, which the daemon's log tells.
 */

#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pid_t try_pid;           /* of errandd */

/* A file or directory, with what it is of as the argument. */
static int
try_open(const char *path)
{
	return (open(path, O_RDONLY));
}

static int
try_create(const char *path)
{
	return (open(path, O_WRONLY | O_CREAT, 0600));
}

static int
try_unlink(const char *path)
{
	return (unlink(path));
}

static int
try_stat(const char *path)
{
	struct stat sb;

	return (stat(path, &sb));
}

static int
try_unix(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd;

	snprintf(sun.sun_path, sizeof(sun.sun_path), "%.100s", path);
	if ((fd = socket(AF_UNIX, SOCK_STREAM, 0)) == -1)
		return (-1);
	return (connect(fd, (struct sockaddr *)&sun, sizeof(sun)));
}

/* To a port on this host where the test listens. */
static int
try_tcp(const char *port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	int fd;

	sin.sin_port = htons((uint16_t)atoi(port));
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if ((fd = socket(AF_INET, SOCK_STREAM, 0)) == -1)
		return (-1);
	return (connect(fd, (struct sockaddr *)&sin, sizeof(sin)));
}

static int
try_pair(const char *unused)
{
	int p[2];

	(void)unused;
	return (socketpair(AF_UNIX, SOCK_STREAM, 0, p));
}

static int
try_exec(const char *path)
{
	char *argv[] = { (char *)(uintptr_t)path, NULL }, *env[] = { NULL };

	return (execve(path, argv, env));
}

static int
try_fork(const char *unused)
{
	(void)unused;
	return ((int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == -1 ? -1 : 0);
}

static int
try_ptrace(const char *unused)
{
	(void)unused;
	return ((int)ptrace(PTRACE_SEIZE, try_pid, NULL, NULL));
}

static int
try_kill(const char *unused)
{
	(void)unused;
	return (kill(try_pid, 0));
}

static int
try_pidfd(const char *unused)
{
	int fd;

	(void)unused;
	if ((fd = (int)syscall(SYS_pidfd_open, try_pid, 0)) == -1)
		return (-1);
	return ((int)syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0));
}

static int
try_getfd(const char *unused)
{
	int fd;

	(void)unused;
	if ((fd = (int)syscall(SYS_pidfd_open, try_pid, 0)) == -1)
		return (-1);
	return ((int)syscall(SYS_pidfd_getfd, fd, 2, 0));
}

static int
try_vmread(const char *unused)
{
	static char here[16];
	struct iovec l = { here, sizeof(here) }, r = { here, sizeof(here) };

	(void)unused;
	return (process_vm_readv(try_pid, &l, 1, &r, 1, 0) == -1 &&
	    errno != EFAULT ? -1 : 0);
}

static int
try_root(const char *unused)
{
	(void)unused;
	return ((int)syscall(SYS_setresuid, 0, 0, 0));
}

static int
try_chroot(const char *path)
{
	return ((int)syscall(SYS_chroot, path));
}

static int
try_mount(const char *path)
{
	return (mount("none", path, "tmpfs", 0, NULL));
}

static int
try_unshare(const char *unused)
{
	(void)unused;
	return (unshare(CLONE_NEWUSER));
}

static int
try_code(const char *unused)
{
	(void)unused;
	return (mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
}

static int
try_bpf(const char *unused)
{
	(void)unused;
	return ((int)syscall(SYS_bpf, 0, NULL, 0));
}

static int
try_uring(const char *unused)
{
	static char params[120];

	(void)unused;
	return ((int)syscall(SYS_io_uring_setup, 1, params));
}

static int
try_module(const char *unused)
{
	(void)unused;
	return ((int)syscall(SYS_init_module, "", 0, ""));
}

static const struct {
	const char *name;
	int (*fn)(const char *);
} tries[] = {
	{ "open", try_open }, { "create", try_create },
	{ "unlink", try_unlink }, { "stat", try_stat },
	{ "unix", try_unix }, { "tcp", try_tcp }, { "pair", try_pair },
	{ "exec", try_exec }, { "fork", try_fork },
	{ "ptrace", try_ptrace }, { "kill", try_kill },
	{ "pidfd", try_pidfd }, { "getfd", try_getfd },
	{ "vmread", try_vmread }, { "root", try_root },
	{ "chroot", try_chroot }, { "mount", try_mount },
	{ "unshare", try_unshare }, { "code", try_code },
	{ "bpf", try_bpf }, { "uring", try_uring }, { "module", try_module },
};

/* "open=/etc/shadow kill tcp=7": each word of the scenario from ${from} on. */
static void
try_all(size_t from)
{
	char name[32];
	const char *what;
	size_t i, k;

	for (i = from; i < scene.n; i++) {
		snprintf(name, sizeof(name), "%s", scene.word[i]);
		name[strcspn(name, "=")] = '\0';
		what = scene.word[i] + strlen(name);
		what += *what == '=';
		for (k = 0; k < sizeof(tries) / sizeof(tries[0]); k++) {
			if (strcmp(tries[k].name, name) != 0)
				continue;
			say("tries %s %s", name, what);
			if (tries[k].fn(what) == -1)
				say("%s %s: refused, errno %d", name, what,
				    errno);
			else
				say("%s %s: REACHED", name, what);
		}
	}
	say("tried all");
}

#endif /* !ERRAND_TEST_TRIES_H */
