/*
 * Renames of a job that overlayfs refuses.  In pid 1: reads the job's memory
 * and /proc/PID of its processes; what is moved is moved by a child without
 * capabilities.
 *
 * An overlay in a user namespace cannot rename a directory that is in a lower
 * layer (EXDEV), since it must not leave marks that jobs could forge.  Programs
 * that use rename and nothing else would fail.  So the kernel asks us about
 * each rename, and we let it go on unless the source is a directory of the
 * workspace.
 *
 * Safety: what is read may change while we look.  Letting the kernel go on
 * means that it looks again and checks for itself, so a wrong guess costs a
 * refused rename and gives nothing.  The child that moves has the job's uid and
 * not one capability, so it can do no more than the job, to whatever a path
 * leads; it stays on the workspace's file system.  A filter of the job's own
 * comes before ours.  A Landlock domain of its own the child does not have, and
 * nothing tells who is in one; so the kernel asks us about the call that enters
 * one too, and after the first nobody's rename is done for him any more.
 */
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/limits.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/sandbox.h"
#include "proto/limits.h"
#include "rename_dir.h"
#include "rename_watch.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#if defined(__x86_64__)
#define ARCH    AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH    AUDIT_ARCH_AARCH64
#else
#error "add the architecture's audit number"
#endif

#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self      446
#endif

/* Some process of the job is, or was, in a domain of its own. */
static int fenced;

/* A rename in the form of renameat2. */
struct order {
	int sfd, dfd;
	uint64_t spath, dpath;
	unsigned int flags;
};

/* Where the arguments of each call are; -1: it has none, so the default. */
static const struct call {
	int nr, sfd, spath, dfd, dpath, flags;
} calls[] = {
#ifdef SYS_rename
	{ SYS_rename, -1, 0, -1, 1, -1 },
#endif
#ifdef SYS_renameat
	{ SYS_renameat, 0, 1, 2, 3, -1 },
#endif
	{ SYS_renameat2, 0, 1, 2, 3, 4 },
};
#define NCALLS  (sizeof(calls) / sizeof(calls[0]))

/*
 * Our own process enters the job's domain after this and before the command.
 * It is known by a word that nobody else has: it is gone with the execve, and a
 * guess is asked about like any other call.
 */
static int
word_make(uint32_t *word)
{

	if (getrandom(word, sizeof(*word), 0) != sizeof(*word))
		return (-1);
	*word |= 1;             /* what programs say there is 0 */
	sandbox_landlock_sign(*word);
	return (0);
}

#define LOAD(member)    (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | \
	BPF_ABS, (uint32_t)(member))
#define EQUAL(k, yes, no) (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | \
	BPF_K, (uint32_t)(k), (uint8_t)(yes), (uint8_t)(no))
#define RETURN(act)     (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, (act))

int
rename_watch_install(void)
{
	struct sock_filter f[7 + NCALLS + 1];
	struct sock_fprog prog = { .filter = f };
	unsigned short n = 0;
	uint32_t word;
	size_t i;

	if (word_make(&word) == -1)
		return (-1);
	f[n++] = LOAD(offsetof(struct seccomp_data, arch));
	f[n++] = EQUAL(ARCH, 0, NCALLS + 4);
	f[n++] = LOAD(offsetof(struct seccomp_data, nr));
	for (i = 0; i < NCALLS; i++)
		f[n++] = EQUAL(calls[i].nr, NCALLS + 3 - i, 0);
	f[n++] = EQUAL(SYS_landlock_restrict_self, 0, 2);
	f[n++] = LOAD(offsetof(struct seccomp_data, args[0]) + 4);
	f[n++] = EQUAL(word, 0, 1);
	f[n++] = RETURN(SECCOMP_RET_ALLOW);
	f[n++] = RETURN(SECCOMP_RET_USER_NOTIF);
	prog.len = n;
	return ((int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_NEW_LISTENER |
	    SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &prog));
}

static uint64_t
argument(const struct seccomp_data *d, int at, uint64_t other)
{

	return (at == -1 ? other : d->args[at]);
}

static int
order_read(const struct seccomp_data *d, struct order *o)
{
	const struct call *c = NULL;
	size_t i;

	for (i = 0; i < NCALLS; i++)
		if (calls[i].nr == d->nr)
			c = &calls[i];
	if (c == NULL)
		return (-1);
	o->sfd = (int)argument(d, c->sfd, (uint64_t)AT_FDCWD);
	o->dfd = (int)argument(d, c->dfd, (uint64_t)AT_FDCWD);
	o->spath = d->args[c->spath];
	o->dpath = d->args[c->dpath];
	o->flags = (unsigned int)argument(d, c->flags, 0);
	return (0);
}

/* A string in the memory of a process, page by page. */
static int
string_read(pid_t pid, uint64_t at, char *buf, size_t size)
{
	size_t have = 0, n;
	struct iovec to, from;
	ssize_t got;

	while (have < size) {
		n = 4096 - (at + have) % 4096;
		if (n > size - have)
			n = size - have;
		to = (struct iovec){ buf + have, n };
		from = (struct iovec){ (void *)(uintptr_t)(at + have), n };
		if ((got = process_vm_readv(pid, &to, 1, &from, 1, 0)) <= 0)
			return (-1);
		if (memchr(buf + have, '\0', (size_t)got) != NULL)
			return (0);
		have += (size_t)got;
	}
	errno = ENAMETOOLONG;
	return (-1);
}

/* Where a relative path of the process begins. */
static int
base_open(pid_t pid, int fd, const char *path)
{
	char name[64];

	if (path[0] == '/')
		return (open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (fd == AT_FDCWD)
		snprintf(name, sizeof(name), "/proc/%d/cwd", (int)pid);
	else
		snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)pid, fd);
	return (open(name, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* A path and where it begins. */
struct place {
	int base;
	char path[PATH_MAX];
};

static int
place_read(pid_t pid, int fd, uint64_t at, struct place *p)
{

	p->base = -1;
	if (string_read(pid, at, p->path, sizeof(p->path)) == -1)
		return (-1);
	return ((p->base = base_open(pid, fd, p->path)) == -1 ? -1 : 0);
}

static const char *
rest(const char *path)
{

	while (*path == '/')
		path++;
	return (*path == '\0' ? "." : path);
}

/* The directory that holds the last part of a path, and that part. */
static int
parent_open(struct place *p, const char **last)
{
	size_t len = strlen(p->path);
	char *slash;
	int fd;

	while (len > 1 && p->path[len - 1] == '/')
		p->path[--len] = '\0';
	slash = strrchr(p->path, '/');
	*last = slash == NULL ? p->path : slash + 1;
	if (slash == NULL)
		return (openat(p->base, ".", O_RDONLY | O_DIRECTORY |
		    O_CLOEXEC));
	*slash = '\0';
	fd = openat(p->base, rest(p->path), O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC);
	return (fd);
}

static int
caps_drop(void)
{
	struct __user_cap_header_struct h = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct none[2];

	memset(none, 0, sizeof(none));
	return ((int)syscall(SYS_capset, &h, none));
}

/* 0, or an error number: the child's work. */
static int
move(struct place *from, struct place *to, unsigned int flags, dev_t dev)
{
	const char *sname, *dname;
	struct stat ss, ds;
	int s, d;

	if (caps_drop() == -1)
		return (EXDEV);
	if ((s = parent_open(from, &sname)) == -1 ||
	    (d = parent_open(to, &dname)) == -1)
		return (errno);
	if (fstat(s, &ss) == -1 || fstat(d, &ds) == -1 || ss.st_dev != dev ||
	    ds.st_dev != dev)
		return (EXDEV);
	return (rename_dir(s, sname, d, dname, flags) == 0 ? 0 : errno);
}

static int
answer(int listener, uint64_t id, int error, int go_on)
{
	struct seccomp_notif_resp r = {
		.id = id, .error = -error,
		.flags = go_on ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0
	};

	return (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &r));
}

/* Is it a directory on one of these, under a name that can be renamed? */
static int
concerns_us(const struct place *p, const dev_t *devs, size_t n, dev_t *dev)
{
	struct stat st;
	size_t i;

	if (fstatat(p->base, rest(p->path), &st, AT_SYMLINK_NOFOLLOW) == -1 ||
	    !S_ISDIR(st.st_mode))
		return (0);
	*dev = st.st_dev;
	for (i = 0; i < n; i++)
		if (devs[i] == st.st_dev)
			return (1);
	return (0);
}

/* The job waits until the child has answered; we go on. */
static int
ask_child(int listener, const struct seccomp_notif *q, struct place *from,
    struct place *to, unsigned int flags, dev_t dev)
{
	pid_t pid;

	if ((pid = fork()) == 0) {
		(void)answer(listener, q->id, move(from, to, flags, dev), 0);
		_exit(0);
	}
	return (pid == -1 ? -1 : 0);
}

/* 0: somebody answers it; -1: the kernel is to go on. */
static int
look(int listener, const struct seccomp_notif *q, const dev_t *devs, size_t n)
{
	struct place from = { .base = -1 }, to = { .base = -1 };
	uint64_t id = q->id;
	struct order o;
	dev_t dev;
	int rc = -1;

	if (order_read(&q->data, &o) == -1 ||
	    place_read((pid_t)q->pid, o.sfd, o.spath, &from) == -1 ||
	    !concerns_us(&from, devs, n, &dev) ||
	    place_read((pid_t)q->pid, o.dfd, o.dpath, &to) == -1)
		goto out;
	/* All of that was of the process that asked, and not of another one
	 * that has got its number. */
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0)
		rc = ask_child(listener, q, &from, &to, o.flags, dev);
out:
	io_close(&from.base);
	io_close(&to.base);
	return (rc);
}

int
rename_watch_serve(int listener, const char *top, const dev_t *more, size_t n)
{
	dev_t devs[1 + LIMIT_CACHES];
	struct seccomp_notif q;
	struct stat st;
	size_t i;

	memset(&q, 0, sizeof(q));
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &q) == -1)
		return (errno == EINTR || errno == ENOENT ? 0 : -1);
	devs[0] = stat(top, &st) == -1 ? 0 : st.st_dev;
	for (i = 0; i < n && i < LIMIT_CACHES; i++)
		devs[i + 1] = more[i];
	if (q.data.nr == SYS_landlock_restrict_self)
		fenced = 1;
	if (fenced || devs[0] == 0 || look(listener, &q, devs, i + 1) == -1)
		(void)answer(listener, q.id, 0, 1);
	return (0);
}
