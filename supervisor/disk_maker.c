/*
 * File systems of a given size for the workspaces of jobs, in a process beside
 * errandd, which must not wait for disks.  Touches images/ in the state
 * directory, loop devices and mkfs.ext4; mounts, but into no namespace.
 *
 * A size class (a power of two) is formatted once, as a template.  For each job
 * the template's few written blocks are copied to a sparse file without a name,
 * and one number in the copy is changed: how many blocks are kept for root,
 * which is how a class gives exactly the size that was asked for.  Image and
 * device go with the last mount and descriptor, however we end.
 *
 * It has errandd's rights, hears errandd alone, and reads nothing that a job
 * wrote: of a file system it only closes the root directory.
 *
 * Tried: a file system made for each job (5 to 25 ms against 0.9); project
 * quotas, which stock ext4 does not have, and of which many kernels know
 * nothing; a tmpfs, whose content counts as the job's memory; all of this in
 * errandd, whose loop then waited for the unmounting of a full disk (100 ms on
 * a busy host).
 *
 * Formatting takes a second where a class is large, so mkfs runs beside us, and
 * what waits for it is answered when it is over.
 */
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/loop.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "disk_maker.h"
#include "lib/chan.h"
#include "lib/io.h"
#include "lib/log.h"
#include "proto/job_types.h"

#define BLOCK           DISK_BLOCK
#define SLACK           JOB_DISK_SLACK
#define CLASS_FIRST     23                      /* 8 MiB */
#define CLASS_LAST      40                      /* 1 TiB */
#define NCLASS          (CLASS_LAST - CLASS_FIRST + 1)
#define BYTES_PER_INODE "8192"
#define LOOP_TRIES      32
#define SB_AT           1024                    /* ext4's superblock */
#define SB_RESERVED     8                       /* le32, blocks for root */
#define SHUTDOWN        _IOR('X', 125, uint32_t)
#define SHUTDOWN_NOFLUSH 2
#define WAITING_MAX     4096                    /* jobs there are at most */

struct class {
	int fd;                 /* the template, or -1 */
	uint64_t blocks;        /* that a job can have of it */
	pid_t mkfs;             /* formats it, or 0 */
	int over;               /* pidfd of that */
	int raw;                /* what it formats */
	int error;              /* how that ended, while it is told */
};

struct maker {
	int dir, chan;
	struct class class[NCLASS];
	size_t nwaiting;
	uint64_t waiting[WAITING_MAX];  /* sizes asked for, in order */
};

static int
copy_range(int from, int to, off_t at, off_t end)
{
	loff_t in, out;
	ssize_t n;

	while (at < end) {
		in = out = at;
		n = copy_file_range(from, &in, to, &out, (size_t)(end - at), 0);
		if (n <= 0) {
			errno = n == 0 ? EIO : errno;
			return (-1);
		}
		at += n;
	}
	return (0);
}

/* What is written of a sparse file. */
static int
copy_sparse(int from, int to, off_t size)
{
	off_t at = 0, end;

	if (ftruncate(to, size) == -1)
		return (-1);
	while ((at = lseek(from, at, SEEK_DATA)) != -1) {
		if ((end = lseek(from, at, SEEK_HOLE)) == -1 ||
		    copy_range(from, to, at, end) == -1)
			return (-1);
		at = end;
	}
	return (errno == ENXIO ? 0 : -1);
}

/* A file that has no name any more. */
static int
nameless(int dir)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "new.%d", (int)getpid());
	(void)unlinkat(dir, name, 0);
	if ((fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC |
	    O_NOFOLLOW, 0600)) == -1)
		return (-1);
	(void)unlinkat(dir, name, 0);
	return (fd);
}

/* A free loop device over the file; its number, and it open in ${loop}. */
static int
loop_over(int file, int *loop)
{
	struct loop_config lc;
	char path[32];
	int ctl, n = -1, tries;

	if ((ctl = open("/dev/loop-control", O_RDWR | O_CLOEXEC)) == -1)
		return (-1);
	memset(&lc, 0, sizeof(lc));
	lc.fd = (uint32_t)file;
	lc.block_size = (uint32_t)BLOCK;
	lc.info.lo_flags = LO_FLAGS_AUTOCLEAR;
	for (tries = 0; tries < LOOP_TRIES; tries++) {
		if ((n = ioctl(ctl, LOOP_CTL_GET_FREE)) == -1)
			break;
		snprintf(path, sizeof(path), "/dev/loop%d", n);
		if ((*loop = open(path, O_RDWR | O_CLOEXEC)) == -1)
			break;
		if (ioctl(*loop, LOOP_CONFIGURE, &lc) == 0) {
			io_close(&ctl);
			return (n);
		}
		io_close(loop);
		if (errno != EBUSY)     /* somebody else was faster */
			break;
	}
	io_close(&ctl);
	return (-1);
}

/* Mounted, but nowhere. */
static int
mount_loop(int n)
{
	char path[32];
	int fs, mnt = -1;

	snprintf(path, sizeof(path), "/dev/loop%d", n);
	if ((fs = fsopen("ext4", FSOPEN_CLOEXEC)) == -1)
		return (-1);
	if (fsconfig(fs, FSCONFIG_SET_STRING, "source", path, 0) == 0 &&
	    fsconfig(fs, FSCONFIG_SET_FLAG, "noinit_itable", NULL, 0) == 0 &&
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		mnt = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID |
		    MOUNT_ATTR_NODEV);
	io_close(&fs);
	return (mnt);
}

/* The mount of the file system in a file, or -1. */
static int
mount_file(int file)
{
	int loop = -1, mnt, n;

	if ((n = loop_over(file, &loop)) == -1)
		return (-1);
	mnt = mount_loop(n);
	io_close(&loop);
	return (mnt);
}

/* Run mkfs on an open file; what it says goes to our log.  Its pid, or -1. */
static pid_t
format(int fd, off_t size)
{
	static const char *const argv[] = { "mkfs.ext4", "-q", "-F",
	    "-b", "4096", "-I", "256", "-i", BYTES_PER_INODE,
	    "-m", "0", "-O", "^has_journal,"
	    "^resize_inode,^metadata_csum,^64bit,uninit_bg,sparse_super2", "-E",
	    "lazy_itable_init=1,nodiscard,num_backup_sb=0", "/proc/self/fd/0",
	    NULL };
	static const char *const env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
	    NULL };
	char *const *av = (char *const *)(uintptr_t)argv;
	char *const *ev = (char *const *)(uintptr_t)env;
	posix_spawn_file_actions_t fa;
	pid_t pid;
	int rc;

	if (ftruncate(fd, size) == -1 ||
	    posix_spawn_file_actions_init(&fa) != 0)
		return (-1);
	if ((rc = posix_spawn_file_actions_adddup2(&fa, fd,
	    STDIN_FILENO)) == 0 && (rc = posix_spawn(&pid,
	    "/usr/sbin/mkfs.ext4", &fa, NULL, av, ev)) == ENOENT)
		rc = posix_spawn(&pid, "/sbin/mkfs.ext4", &fa, NULL, av, ev);
	posix_spawn_file_actions_destroy(&fa);
	errno = rc;
	return (rc == 0 ? pid : -1);
}

/* Begin to make a class's template. */
static int
class_begin(struct maker *m, size_t i)
{
	struct class *c = &m->class[i];
	pid_t pid;
	int e;

	if ((c->raw = nameless(m->dir)) == -1)
		return (-1);
	if ((pid = format(c->raw, (off_t)1 << (CLASS_FIRST + i))) == -1) {
		e = errno;
		io_close(&c->raw);
		errno = e;
		return (-1);
	}
	c->mkfs = pid;
	c->over = (int)syscall(SYS_pidfd_open, pid, 0);
	return (0);
}

/* It is formatted: find out what a job can have of it. */
static int
class_learn(struct class *c)
{
	int mnt = -1, dir = -1, rc = -1;
	struct statfs sfs;

	if ((mnt = mount_file(c->raw)) == -1 ||
	    (dir = openat(mnt, ".", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1 ||
	    unlinkat(dir, "lost+found", AT_REMOVEDIR) == -1 ||
	    fstatfs(dir, &sfs) == -1)
		goto out;
	c->blocks = sfs.f_bavail;
	rc = 0;
out:
	io_close(&dir);
	io_close(&mnt);
	return (rc);
}

/* Its mkfs has ended, or is waited for. */
static void
class_end(struct class *c)
{
	int status = -1;

	if (waitpid(c->mkfs, &status, 0) == -1 || status != 0)
		c->error = EIO;
	else if (class_learn(c) == -1)
		c->error = errno == 0 || errno == EAGAIN ? EIO : errno;
	else {
		c->fd = c->raw;
		c->raw = -1;
	}
	io_close(&c->raw);
	io_close(&c->over);
	c->mkfs = 0;
}

/* Is its template there?  0, or -1 with errno; EAGAIN: it is being made. */
static int
class_ready(struct maker *m, size_t i)
{
	struct class *c = &m->class[i];

	if (c->fd != -1)
		return (0);
	if ((errno = c->error) != 0)
		return (-1);
	if (c->mkfs == 0 && class_begin(m, i) == -1)
		return (-1);
	if (c->over == -1) {            /* nothing would tell us */
		class_end(c);
		errno = c->error;
		c->error = 0;
		return (c->fd == -1 ? -1 : 0);
	}
	errno = EAGAIN;
	return (-1);
}

/* The smallest class that can give so many blocks; NULL as class_ready. */
static struct class *
class_for(struct maker *m, uint64_t blocks)
{
	size_t i;

	for (i = 0; i < NCLASS; i++) {
		if (blocks * BLOCK >= UINT64_C(1) << (CLASS_FIRST + i))
			continue;
		if (class_ready(m, i) == -1)
			return (NULL);
		if (m->class[i].blocks >= blocks)
			return (&m->class[i]);
	}
	errno = ERANGE;
	return (NULL);
}

/* A file system that holds so much, as a mount; or -1. */
static int
make(struct maker *m, uint64_t bytes)
{
	uint64_t want = (bytes + SLACK + BLOCK - 1) / BLOCK;
	struct class *c;
	uint8_t le[4];
	uint32_t keep;
	off_t size;
	int fd, mnt = -1, i;

	if ((c = class_for(m, want)) == NULL)
		return (-1);
	if ((fd = nameless(m->dir)) == -1)
		return (-1);
	keep = (uint32_t)(c->blocks - want);
	for (i = 0; i < 4; i++)
		le[i] = (uint8_t)(keep >> (8 * i));
	if ((size = lseek(c->fd, 0, SEEK_END)) != -1 &&
	    copy_sparse(c->fd, fd, size) == 0 &&
	    io_pwrite(fd, le, sizeof(le), SB_AT + SB_RESERVED) == 0)
		mnt = mount_file(fd);
	if (mnt == -1 && errno == EAGAIN)
		errno = EIO;
	io_close(&fd);
	return (mnt);
}

/*
 * Shutting a file system down keeps unmounting from writing to the image what
 * will be forgotten with it.
 */
void
disk_shut(int *dir)
{
	uint32_t how = SHUTDOWN_NOFLUSH;

	if (*dir != -1 && ioctl(*dir, SHUTDOWN, &how) == -1)
		log_debug("a job's disk: %s", strerror(errno));
	io_close(dir);
}

/* Answer, or say that it has to wait: -1. */
static int
answer(struct maker *m, uint64_t bytes)
{
	struct disk_msg r = { .op = DISK_MADE, .bytes = bytes };
	int mnt = make(m, bytes);

	if (mnt == -1 && errno == EAGAIN)
		return (-1);    /* class_for's; nobody else says that */
	if (mnt == -1)
		r.error = errno == 0 ? EIO : errno;
	if (chan_send_wait(m->chan, (const uint8_t *)&r, sizeof(r), &mnt,
	    mnt == -1 ? 0 : 1) == -1)
		_exit(1);
	io_close(&mnt);
	return (0);
}

static void
on_make(struct maker *m, uint64_t bytes)
{
	struct disk_msg r = { .op = DISK_MADE, .error = EBUSY,
	    .bytes = bytes };

	if (answer(m, bytes) == 0)
		return;
	if (m->nwaiting < WAITING_MAX)
		m->waiting[m->nwaiting++] = bytes;
	else if (chan_send_wait(m->chan, (const uint8_t *)&r, sizeof(r), NULL,
	    0) == -1)
		_exit(1);
}

/* A class is there, or cannot be made: who waits for it is told. */
static void
on_formatted(struct maker *m, struct class *c)
{
	size_t i, left = 0;

	class_end(c);
	for (i = 0; i < m->nwaiting; i++)
		if (answer(m, m->waiting[i]) == -1)
			m->waiting[left++] = m->waiting[i];
	m->nwaiting = left;
	c->error = 0;           /* the next one may try again */
}

static void
on_request(struct maker *m)
{
	struct disk_msg q;
	size_t n = 1;
	int fd = -1;

	if (chan_recv_wait(m->chan, (uint8_t *)&q, sizeof(q), &fd, &n,
	    -1) != (ssize_t)sizeof(q))
		_exit(0);
	if (q.op == DISK_MAKE && n == 0)
		on_make(m, q.bytes);
	else if (q.op == DISK_DROP && n == 1)
		disk_shut(&fd);
	else
		_exit(1);
}

static void __attribute__((noreturn))
serve(struct maker *m)
{
	struct pollfd p[1 + NCLASS];
	size_t i;

	for (;;) {
		p[0] = (struct pollfd){ .fd = m->chan, .events = POLLIN };
		for (i = 0; i < NCLASS; i++)
			p[1 + i] = (struct pollfd){ .fd = m->class[i].over,
			    .events = POLLIN };
		if (poll(p, 1 + NCLASS, -1) == -1 && errno != EINTR)
			_exit(1);
		for (i = 0; i < NCLASS; i++)
			if (p[1 + i].revents != 0)
				on_formatted(m, &m->class[i]);
		if (p[0].revents != 0)
			on_request(m);
	}
}

/* Dead with errandd, and deaf to what is meant for it. */
void
disk_maker(int chan, int images)
{
	static struct maker m;
	size_t i;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)prctl(PR_SET_NAME, "errand-disks", 0, 0, 0);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	m.dir = images;
	m.chan = chan;
	for (i = 0; i < NCLASS; i++)
		m.class[i].fd = m.class[i].over = m.class[i].raw = -1;
	serve(&m);
}
