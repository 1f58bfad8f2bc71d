/*
 * job_syscalls calls|fds|trace|core|xattr DIR|names DIR|deep N|fill MIB|
 *     forks N|abstract NAME|stubborn
 *
 * What a hostile job tries, told line by line:
 *
 *   calls     for each system call that jobs may not have: "NAME refused" (the
 *             filter said EPERM), "NAME absent" (ENOSYS), "NAME kernel" (the
 *             kernel said EPERM: this call cannot be told from a filtered one)
 *             or "NAME reached ERRNO".  The arguments are such that the kernel
 *             would say something else than EPERM where it can, and that
 *             nothing happens if it lets the call through.
 *   fds       each open descriptor above 2, one a line
 *   trace     what of pid 1 can be reached
 *   core      does a crash leave a core?
 *   xattr     mark DIR and what is in it the way overlayfs marks its own
 *   names     files named by every byte that can be in a name
 *   deep      N directories in one another
 *   fill      touch that many MiB of memory
 *   forks     make N processes, tell how many there are
 *   abstract  connect to an abstract socket
 *   stubborn  ignore every signal that can be ignored, for ever
 *
 * Exit status: 0 when it did what was asked, 1 when it could not.
 */

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define BAD     ((long)-4096)   /* no address */
#define HIGH    (1L << 32)      /* the kernel looks at 32 bits of some */
#define THREAD  0x00010000L     /* CLONE_THREAD alone: EINVAL */

/* What each must be. */
enum want {
	REFUSED,                /* the filter's EPERM */
	EITHER,                 /* EPERM; the kernel's looks the same */
	ABSENT,                 /* ENOSYS */
	NOFAMILY,               /* EAFNOSUPPORT or EPERM */
	REACHED                 /* a control: the kernel itself answers */
};

static const struct probe {
	const char *name;
	enum want want;
	long nr;
	long a[6];
} probes[] = {
	/* Controls: these are open, so the kernel itself must answer. */
	{ "control-ioctl", REACHED, SYS_ioctl, { -1, TIOCGWINSZ } },
	{ "control-clone", REACHED, SYS_clone, { THREAD } },
	{ "control-close", REACHED, SYS_close, { -1 } },
	{ "control-mq_open", REACHED, SYS_mq_open, { BAD, 0 } },
	{ "control-socket", REACHED, SYS_socket, { AF_UNIX, 99 } },

	{ "mount", REFUSED, SYS_mount, { BAD, BAD, BAD, 0, BAD } },
	{ "umount2", REFUSED, SYS_umount2, { BAD, 1 << 30 } },
	{ "unshare", REFUSED, SYS_unshare, { 0 } },
	{ "unshare-user", REFUSED, SYS_unshare, { CLONE_NEWUSER } },
	{ "setns", REFUSED, SYS_setns, { -1, 0 } },
	{ "chroot", REFUSED, SYS_chroot, { BAD } },
	{ "pivot_root", EITHER, SYS_pivot_root, { BAD, BAD } },
	{ "open_tree", REFUSED, SYS_open_tree, { -1, BAD, 1 << 30 } },
	{ "move_mount", EITHER, SYS_move_mount, { -1, BAD, -1, BAD, 0 } },
	{ "mount_setattr", REFUSED, SYS_mount_setattr,
	    { -1, BAD, 1 << 30, BAD, 0 } },
	{ "fsopen", EITHER, SYS_fsopen, { BAD, 0 } },
	{ "fsconfig", REFUSED, SYS_fsconfig, { -1, 0, 0, 0, 0 } },
	{ "fsmount", EITHER, SYS_fsmount, { -1, 0, 0 } },
	{ "fspick", EITHER, SYS_fspick, { -1, BAD, 0 } },
	{ "bpf", REFUSED, SYS_bpf, { 0, BAD, 1 << 20 } },
	{ "perf_event_open", REFUSED, SYS_perf_event_open,
	    { BAD, 0, 0, -1, 1 << 30 } },
	{ "keyctl", REFUSED, SYS_keyctl, { 4096 } },
	{ "add_key", REFUSED, SYS_add_key, { BAD, BAD, 0, 0, 0 } },
	{ "request_key", REFUSED, SYS_request_key, { BAD, BAD, BAD, 0 } },
	{ "userfaultfd", REFUSED, SYS_userfaultfd, { 1 | 1 << 30 } },
	{ "io_uring_setup", REFUSED, SYS_io_uring_setup, { 0, BAD } },
	{ "io_uring_enter", REFUSED, SYS_io_uring_enter, { -1 } },
	{ "io_uring_register", REFUSED, SYS_io_uring_register, { -1, 9999 } },
	{ "init_module", EITHER, SYS_init_module, { BAD, 0, BAD } },
	{ "finit_module", EITHER, SYS_finit_module, { -1, BAD, 0 } },
	{ "delete_module", EITHER, SYS_delete_module, { BAD, 0 } },
	{ "kexec_load", EITHER, SYS_kexec_load, { 0, 99, BAD, 1 << 30 } },
	{ "kexec_file_load", EITHER, SYS_kexec_file_load,
	    { -1, -1, 0, BAD, 1 << 20 } },
	{ "clock_settime", REFUSED, SYS_clock_settime, { 99, BAD } },
	{ "clock_adjtime", REFUSED, SYS_clock_adjtime, { 99, BAD } },
	{ "settimeofday", REFUSED, SYS_settimeofday, { BAD, BAD } },
	{ "adjtimex", REFUSED, SYS_adjtimex, { BAD } },
	{ "swapon", EITHER, SYS_swapon, { BAD, 1 << 30 } },
	{ "swapoff", EITHER, SYS_swapoff, { BAD } },
	{ "reboot", EITHER, SYS_reboot, { 0, 0, 0, 0 } },
	{ "acct", EITHER, SYS_acct, { BAD } },
	{ "quotactl", REFUSED, SYS_quotactl, { 0x7fffff7f, BAD, 0, BAD } },
	{ "syslog", EITHER, SYS_syslog, { 99, 0, 0 } },
	{ "sethostname", EITHER, SYS_sethostname, { BAD, -1 } },
	{ "setdomainname", EITHER, SYS_setdomainname, { BAD, -1 } },
	{ "iopl", REFUSED, SYS_iopl, { 9 } },
	{ "ioperm", REFUSED, SYS_ioperm, { -1, 1, 0 } },
	{ "vhangup", EITHER, SYS_vhangup, { 0 } },
	{ "fanotify_init", REFUSED, SYS_fanotify_init, { 1 << 30 | 0x200 } },
	{ "fanotify_mark", REFUSED, SYS_fanotify_mark, { -1, 1 << 30 } },
	{ "name_to_handle_at", REFUSED, SYS_name_to_handle_at,
	    { -1, BAD, BAD, BAD, 1 << 30 } },
	{ "open_by_handle_at", EITHER, SYS_open_by_handle_at, { -1, BAD } },

	/* Type into a terminal; the kernel looks at 32 bits of the number. */
	{ "TIOCSTI", REFUSED, SYS_ioctl, { -1, TIOCSTI, BAD } },
	{ "TIOCSTI-high", REFUSED, SYS_ioctl, { -1, TIOCSTI | HIGH, BAD } },
	{ "TIOCSTI-top", REFUSED, SYS_ioctl,
	    { -1, TIOCSTI | (long)(1UL << 63), BAD } },
	{ "TIOCLINUX", REFUSED, SYS_ioctl, { -1, TIOCLINUX, BAD } },
	{ "TIOCLINUX-high", REFUSED, SYS_ioctl,
	    { -1, TIOCLINUX | HIGH, BAD } },

	/* New namespaces, one by one. */
	{ "clone-newns", REFUSED, SYS_clone, { THREAD | CLONE_NEWNS } },
	{ "clone-newuser", REFUSED, SYS_clone, { THREAD | CLONE_NEWUSER } },
	{ "clone-newpid", REFUSED, SYS_clone, { THREAD | CLONE_NEWPID } },
	{ "clone-newnet", REFUSED, SYS_clone, { THREAD | CLONE_NEWNET } },
	{ "clone-newipc", REFUSED, SYS_clone, { THREAD | CLONE_NEWIPC } },
	{ "clone-newuts", REFUSED, SYS_clone, { THREAD | CLONE_NEWUTS } },
	{ "clone-newcgroup", REFUSED, SYS_clone,
	    { THREAD | CLONE_NEWCGROUP } },
	{ "clone3", ABSENT, SYS_clone3, { 0, 0 } },

	/* What nobody has listed does not exist. */
	{ "io_setup", ABSENT, SYS_io_setup, { 1, BAD } },
	{ "io_submit", ABSENT, SYS_io_submit, { 0, 0, 0 } },
	{ "unknown-999", ABSENT, 999, { 0 } },
	{ "ustat", ABSENT, SYS_ustat, { 0, BAD } },
	{ "sysfs", ABSENT, SYS_sysfs, { 3 } },
	{ "lsm_list_modules", ABSENT, 461, { BAD, BAD, 1 } },

	/* Families that reach the host around the network namespace. */
	{ "AF_VSOCK", NOFAMILY, SYS_socket, { 40, SOCK_STREAM, 0 } },
	{ "AF_ALG", NOFAMILY, SYS_socket, { 38, SOCK_SEQPACKET, 0 } },
	{ "AF_PACKET", NOFAMILY, SYS_socket, { AF_PACKET, SOCK_RAW, 0 } },
	{ "AF_VSOCK-high", NOFAMILY, SYS_socket,
	    { 40 | HIGH, SOCK_STREAM, 0 } },
};

static int
as_wanted(const struct probe *p, long rc, int e)
{
	switch (p->want) {
	case REFUSED:
	case EITHER:
		return (rc == -1 && e == EPERM);
	case ABSENT:
		return (rc == -1 && e == ENOSYS);
	case NOFAMILY:
		return (rc == -1 && (e == EAFNOSUPPORT || e == EPERM));
	default:
		return (rc == -1 && e != EPERM && e != ENOSYS);
	}
}

static void
probe(const struct probe *p)
{
	static const char *const names[] = { "refused",
	    "refused, by whomever", "absent", "no such family", "reached" };
	long rc;

	errno = 0;
	rc = syscall(p->nr, p->a[0], p->a[1], p->a[2], p->a[3], p->a[4],
	    p->a[5]);
	if (as_wanted(p, rc, errno))
		printf("ok %s: %s\n", p->name, names[p->want]);
	else
		printf("not ok %s: should be %s, is %ld, %s\n", p->name,
		    names[p->want], rc, strerror(errno));
	fflush(stdout);
}

/* A child makes the call; a filter may kill it. */
static void
foreign(const char *name, int (*fn)(void))
{
	int status;
	pid_t pid;

	if ((pid = fork()) == 0)
		_exit(fn());
	if (pid == -1 || waitpid(pid, &status, 0) != pid)
		err(1, "%s", name);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		printf("ok %s: killed\n", name);
	else
		printf("not ok %s: status %x\n", name, status);
	fflush(stdout);
}

#ifdef __x86_64__
static int
call_32bit(void)
{
	long rc;

	__asm__ volatile ("int $0x80" : "=a"(rc) : "a"(20L) : "memory");
	return (rc == getpid() ? 1 : 2);
}

static int
call_x32(void)
{
	return (syscall(0x40000000L | SYS_getpid) == getpid() ? 1 : 2);
}
#endif

static int
do_calls(char **a)
{
	size_t i;

	(void)a;
	for (i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		probe(&probes[i]);
#ifdef __x86_64__
	foreign("32-bit calls", call_32bit);
	foreign("x32 calls", call_x32);
#endif
	return (0);
}

static int
do_fds(char **a)
{
	int fd;

	(void)a;
	for (fd = 3; fd < 65536; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			printf("%d\n", fd);
	return (0);
}

static void
said(const char *what, int reached)
{
	printf("%s %s%s%s\n", reached ? "not ok" : "ok", what, reached ?
	    ": reached" : ": ", reached ? "" : strerror(errno));
	fflush(stdout);
}

/* The control is a child of ours: the same calls reach it. */
static void
trace_control(void)
{
	int status, pidfd, fd;
	pid_t pid;

	if ((pid = fork()) == 0)
		for (;;)
			pause();
	if (ptrace(PTRACE_ATTACH, pid, 0, 0) == 0 &&
	    waitpid(pid, &status, 0) == pid &&
	    ptrace(PTRACE_DETACH, pid, 0, 0) == 0)
		printf("ok control: a process of the job can be traced\n");
	else
		printf("not ok control: a child cannot be traced: %s\n",
		    strerror(errno));
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, 1, 0);
	printf("%s control: a descriptor of a child can be taken\n",
	    fd != -1 ? "ok" : "not ok");
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
	fflush(stdout);
}

static int
do_trace(char **a)
{
	static const char *const files[] = { "environ", "mem", "maps", "root/",
	    "cwd/", "fd/", "fd/0", "ns/mnt", "exe", "stack", "auxv",
	    "syscall", "map_files/" };
	char path[64], buf[8];
	struct iovec local = { buf, 8 }, remote = { &local, 8 };
	size_t i;
	int fd;

	(void)a;
	trace_control();
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "/proc/1/%s", files[i]);
		fd = open(path, O_RDONLY);
		/* Some open, and refuse to be read. */
		if (fd != -1 && read(fd, buf, 1) <= 0 && errno != EISDIR &&
		    errno != EINVAL)
			fd = -1;
		said(path, fd != -1);
	}
	said("readlink /proc/1/exe", readlink("/proc/1/exe", buf, 8) != -1);
	said("readlink /proc/1/root", readlink("/proc/1/root", buf, 8) != -1);
	said("attach to pid 1", ptrace(PTRACE_ATTACH, 1, 0, 0) != -1);
	said("seize pid 1", ptrace(PTRACE_SEIZE, 1, 0, 0) != -1);
	said("read pid 1's memory", process_vm_readv(1, &local, 1, &remote, 1,
	    0) != -1);
	fd = (int)syscall(SYS_pidfd_open, 1, 0);
	said("take a descriptor of pid 1", syscall(SYS_pidfd_getfd, fd, 1,
	    0) != -1);
	/* Only a pid 1 that outlives this is ours. */
	(void)kill(1, SIGKILL);
	(void)kill(1, SIGTERM);
	said("end pid 1", kill(1, 0) == -1 && errno == ESRCH);
	return (0);
}

static int
do_core(char **a)
{
	int status;
	pid_t pid;

	(void)a;
	if ((pid = fork()) == 0) {
		(void)signal(SIGSEGV, SIG_DFL);
		(void)raise(SIGSEGV);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		err(1, "wait");
	printf("signal %d, core %d\n", WTERMSIG(status),
	    WCOREDUMP(status) != 0);
	return (0);
}

/* What overlayfs writes to say "replaced", "moved from" and "deleted". */
static int
do_xattr(char **a)
{
	static const char *const names[] = { "opaque", "redirect", "metacopy",
	    "whiteout", "origin", "impure", "nlink", "upper", "whiteouts" };
	static const char *const spaces[] = { "user.overlay.",
	    "trusted.overlay.", "user.overlay.overlay." };
	char name[64];
	const char *value;
	size_t i, k;
	int n = 0;

	for (k = 0; k < sizeof(spaces) / sizeof(spaces[0]); k++)
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			snprintf(name, sizeof(name), "%s%s", spaces[k],
			    names[i]);
			value = strcmp(names[i], "redirect") == 0 ?
			    "/secret" : "y";
			n += setxattr(a[0], name, value, strlen(value),
			    0) == 0;
		}
	printf("%d set\n", n);
	return (0);
}

static int
do_names(char **a)
{
	char name[4];
	int c, fd, dir;

	if (mkdir(a[0], 0755) == -1 || (dir = open(a[0], O_RDONLY)) == -1)
		err(1, "%s", a[0]);
	for (c = 1; c < 256; c++) {
		if (c == '/')
			continue;
		snprintf(name, sizeof(name), "%cx", c);
		fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
		if (fd == -1)
			err(1, "byte %d", c);
		close(fd);
	}
	return (0);
}

static int
do_deep(char **a)
{
	int i, n = atoi(a[0]), fd;

	for (i = 0; i < n; i++)
		if (mkdir("d", 0755) == -1 || chdir("d") == -1)
			err(1, "%d", i);
	if ((fd = open("bottom", O_WRONLY | O_CREAT, 0644)) == -1 ||
	    write(fd, "deep\n", 5) != 5)
		err(1, "bottom");
	return (0);
}

/* So many empty files, a thousand to a directory. */
static int
do_many(char **a)
{
	int i, n = atoi(a[0]), fd, dir = -1;
	char name[16];

	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "d%d", i / 1000);
		if (i % 1000 == 0 && ((dir != -1 && close(dir) == -1) ||
		    mkdir(name, 0755) == -1 ||
		    (dir = open(name, O_RDONLY)) == -1))
			err(1, "%s", name);
		snprintf(name, sizeof(name), "f%d", i);
		if ((fd = openat(dir, name, O_WRONLY | O_CREAT, 0644)) == -1)
			err(1, "%s", name);
		close(fd);
	}
	return (0);
}

static int
do_fill(char **a)
{
	size_t len = (size_t)atoi(a[0]) << 20, i;
	volatile char *p;

	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE |
	    MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		err(1, "mmap");
	for (i = 0; i < len; i += 4096)
		p[i] = 1;
	printf("filled\n");
	return (0);
}

static int
do_forks(char **a)
{
	int i, n = atoi(a[0]);
	pid_t pid;

	for (i = 0; i < n; i++) {
		if ((pid = fork()) == -1)
			break;
		if (pid == 0)
			for (;;)
				pause();
	}
	printf("%d\n", i);
	fflush(stdout);         /* a sanitizer's end may need a process too */
	return (i < n);
}

static int
do_abstract(char **a)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	size_t len = strlen(a[0]);
	int s;

	memcpy(sun.sun_path + 1, a[0], len);
	if ((s = socket(AF_UNIX, SOCK_STREAM, 0)) == -1 ||
	    connect(s, (struct sockaddr *)&sun, (socklen_t)(sizeof(
	    sa_family_t) + 1 + len)) == -1)
		err(1, "@%s", a[0]);
	return (0);
}

static int __attribute__((noreturn))
do_stubborn(char **a)
{
	int i;

	(void)a;
	for (i = 1; i < 65; i++)
		(void)signal(i, SIG_IGN);
	for (;;)
		pause();
}

static const struct command {
	const char *name;
	int args;
	int (*fn)(char **);
} commands[] = {
	{ "calls", 0, do_calls }, { "fds", 0, do_fds },
	{ "trace", 0, do_trace }, { "core", 0, do_core },
	{ "xattr", 1, do_xattr }, { "names", 1, do_names },
	{ "deep", 1, do_deep }, { "many", 1, do_many },
	{ "fill", 1, do_fill },
	{ "forks", 1, do_forks }, { "abstract", 1, do_abstract },
	{ "stubborn", 0, do_stubborn },
};

int
main(int argc, char **argv)
{
	const struct command *c;
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		c = &commands[i];
		if (argc >= 2 && strcmp(argv[1], c->name) == 0 &&
		    argc == 2 + c->args)
			return (c->fn(argv + 2));
	}
	errx(2, "usage: see job_syscalls.c");
}
