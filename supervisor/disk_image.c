/*
 * File systems of a given size for the workspaces of jobs.  Touches images/ in
 * the state directory, loop devices and mkfs.ext4; mounts, but into no
 * namespace.
 *
 * A size class (a power of two) is formatted once, as a template.  For each job
 * the template's few written blocks are copied to a sparse file without a name,
 * and one number in the copy is changed: how many blocks are kept for root,
 * which is how a class gives exactly the size that was asked for.
 *
 * Tried: a file system made for each job (5 to 25 ms against 0.9); project
 * quotas, which stock ext4 does not have, and of which many kernels know
 * nothing; a tmpfs, whose content counts as the job's memory.
 */
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/loop.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "disk_image.h"
#include "lib/io.h"
#include "lib/log.h"

#define BLOCK           UINT64_C(4096)
#define SLACK           (UINT64_C(256) << 10)   /* reached before it is full */
#define SLACK_INODES    32
#define CLASS_FIRST     23                      /* 8 MiB */
#define CLASS_LAST      40                      /* 1 TiB */
#define NCLASS          (CLASS_LAST - CLASS_FIRST + 1)
#define BYTES_PER_INODE "8192"
#define STOCK           4
#define REFILL_US       20000
#define LOOP_TRIES      32
#define SB_AT           1024                    /* ext4's superblock */
#define SB_RESERVED     8                       /* le32, blocks for root */
#define SHUTDOWN        _IOR('X', 125, uint32_t)
#define SHUTDOWN_NOFLUSH 2

struct class {
	int fd;                 /* the template, or -1 */
	uint64_t blocks;        /* that a job can have of it */
};

struct disk_images {
	int dir;
	char note[200];
	struct class class[NCLASS];
	struct disk stock[STOCK];       /* of ${usual} bytes */
	size_t nstock;
	uint64_t usual;
	struct event refill;
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

static int
mount_file(int file, struct disk *d)
{
	int loop = -1, n;

	d->mnt = d->dir = -1;
	if ((n = loop_over(file, &loop)) == -1)
		return (-1);
	d->mnt = mount_loop(n);
	io_close(&loop);
	if (d->mnt == -1)
		return (-1);
	if ((d->dir = openat(d->mnt, ".", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1) {
		io_close(&d->mnt);
		return (-1);
	}
	return (0);
}

/* Run mkfs on an open file; what it says goes to our log. */
static int
format(int fd, off_t size)
{
	static const char *const argv[] = { "mkfs.ext4", "-q", "-F", "-b", "4096", "-I", "256",
	    "-i", BYTES_PER_INODE, "-m", "0", "-O", "^has_journal,"
	    "^resize_inode,^metadata_csum,^64bit,sparse_super2", "-E",
	    "lazy_itable_init=1,nodiscard,num_backup_sb=0", "/proc/self/fd/0",
	    NULL };
	static const char *const env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
	    NULL };
	char *const *av = (char *const *)(uintptr_t)argv;
	char *const *ev = (char *const *)(uintptr_t)env;
	posix_spawn_file_actions_t fa;
	int rc, status;
	pid_t pid;

	if (ftruncate(fd, size) == -1 ||
	    posix_spawn_file_actions_init(&fa) != 0)
		return (-1);
	if ((rc = posix_spawn_file_actions_adddup2(&fa, fd,
	    STDIN_FILENO)) == 0 && (rc = posix_spawn(&pid,
	    "/usr/sbin/mkfs.ext4", &fa, NULL, av, ev)) == ENOENT)
		rc = posix_spawn(&pid, "/sbin/mkfs.ext4", &fa, NULL, av, ev);
	posix_spawn_file_actions_destroy(&fa);
	if (rc != 0) {
		errno = rc;
		return (-1);
	}
	if (waitpid(pid, &status, 0) == -1)
		return (-1);
	errno = EIO;
	return (status == 0 ? 0 : -1);
}

/* Make a class's template, and find out what a job can have of it. */
static int
class_make(struct disk_images *di, size_t i)
{
	struct class *c = &di->class[i];
	struct statfs sfs;
	struct disk d;
	int fd;

	if ((fd = nameless(di->dir)) == -1)
		return (-1);
	if (format(fd, (off_t)1 << (CLASS_FIRST + i)) == -1 ||
	    mount_file(fd, &d) == -1)
		goto err1;
	if (unlinkat(d.dir, "lost+found", AT_REMOVEDIR) == -1 ||
	    fstatfs(d.dir, &sfs) == -1)
		goto err2;
	io_close(&d.dir);
	io_close(&d.mnt);
	c->blocks = sfs.f_bavail;
	c->fd = fd;
	return (0);

err2:
	io_close(&d.dir);
	io_close(&d.mnt);
err1:
	io_close(&fd);
	return (-1);
}

/* The smallest class that can give so many blocks. */
static struct class *
class_for(struct disk_images *di, uint64_t blocks)
{
	size_t i;

	for (i = 0; i < NCLASS; i++) {
		if (blocks * BLOCK >= UINT64_C(1) << (CLASS_FIRST + i))
			continue;
		if (di->class[i].fd == -1 && class_make(di, i) == -1)
			return (NULL);
		if (di->class[i].blocks >= blocks)
			return (&di->class[i]);
	}
	errno = ERANGE;
	return (NULL);
}

static int
disk_make(struct disk_images *di, uint64_t bytes, struct disk *d)
{
	uint64_t want = (bytes + SLACK + BLOCK - 1) / BLOCK;
	struct class *c;
	uint8_t le[4];
	uint32_t keep;
	off_t size;
	int fd, i;

	if ((c = class_for(di, want)) == NULL)
		return (-1);
	if ((fd = nameless(di->dir)) == -1)
		return (-1);
	keep = (uint32_t)(c->blocks - want);
	for (i = 0; i < 4; i++)
		le[i] = (uint8_t)(keep >> (8 * i));
	if ((size = lseek(c->fd, 0, SEEK_END)) == -1 ||
	    copy_sparse(c->fd, fd, size) == -1 ||
	    io_pwrite(fd, le, sizeof(le), SB_AT + SB_RESERVED) == -1 ||
	    mount_file(fd, d) == -1) {
		io_close(&fd);
		return (-1);
	}
	io_close(&fd);
	return (0);
}

static void
on_refill(evutil_socket_t fd, short what, void *cookie)
{
	struct disk_images *di = cookie;

	(void)fd;
	(void)what;
	while (di->nstock < STOCK)
		if (disk_make(di, di->usual, &di->stock[di->nstock++]) == -1) {
			di->nstock--;
			log_warn("a file system for a job's disk limit");
			return;
		}
}

static void
refill_later(struct disk_images *di)
{
	static const struct timeval tv = { 0, REFILL_US };

	if (di->usual != 0 && evtimer_add(&di->refill, &tv) == -1)
		log_warnx("timer");
}

static void
try(struct disk_images *di)
{
	if (geteuid() != 0) {
		snprintf(di->note, sizeof(di->note), "an ordinary user cannot "
		    "mount the file systems that hold a job to it");
		return;
	}
	if (disk_make(di, di->usual != 0 ? di->usual : DISK_MIN,
	    &di->stock[0]) == -1) {
		snprintf(di->note, sizeof(di->note), "a file system on a loop "
		    "device could not be made: %s%s", strerror(errno),
		    errno == ENOENT ? " (is e2fsprogs installed, and "
		    "/dev/loop-control there?)" : "");
		return;
	}
	if (di->usual != 0)
		di->nstock = 1;
	else
		disk_drop(&di->stock[0]);
	refill_later(di);
}

struct disk_images *
disk_images_open(struct event_base *base, int state, uint64_t usual)
{
	struct disk_images *di;
	size_t i;

	if ((di = calloc(1, sizeof(*di))) == NULL)
		return (NULL);
	for (i = 0; i < NCLASS; i++)
		di->class[i].fd = -1;
	evtimer_assign(&di->refill, base, on_refill, di);
	di->usual = usual >= DISK_MIN && usual <= DISK_MAX ? usual : 0;
	if ((mkdirat(state, "images", 0700) == -1 && errno != EEXIST) ||
	    (di->dir = openat(state, "images", O_RDONLY | O_DIRECTORY |
	    O_NOFOLLOW | O_CLOEXEC)) == -1) {
		di->dir = -1;
		snprintf(di->note, sizeof(di->note), "images: %s",
		    strerror(errno));
	} else
		try(di);
	if (di->note[0] != '\0')
		log_info("disk limits do not hold here: %s", di->note);
	return (di);
}

void
disk_images_close(struct disk_images *di)
{
	size_t i;

	if (di == NULL)
		return;
	event_del(&di->refill);
	for (i = 0; i < NCLASS; i++)
		io_close(&di->class[i].fd);
	while (di->nstock > 0)
		disk_drop(&di->stock[--di->nstock]);
	io_close(&di->dir);
	free(di);
}

const char *
disk_images_note(const struct disk_images *di)
{
	return (di == NULL ? "none are kept" : di->note);
}

int
disk_take(struct disk_images *di, uint64_t bytes, uint32_t uid, uint32_t gid,
    struct disk *d)
{
	d->mnt = d->dir = -1;
	if (bytes < DISK_MIN || bytes > DISK_MAX) {
		errno = ERANGE;
		return (-1);
	}
	if (bytes == di->usual && di->nstock > 0)
		*d = di->stock[--di->nstock];
	else if (disk_make(di, bytes, d) == -1)
		return (-1);
	if (di->nstock < STOCK)
		refill_later(di);
	if (fchown(d->dir, uid, gid) == -1) {
		disk_drop(d);
		return (-1);
	}
	return (0);
}

enum job_limit
disk_full(const struct disk *d)
{
	struct statfs sfs;

	if (d->dir == -1 || fstatfs(d->dir, &sfs) == -1)
		return (JOB_LIMIT_NONE);
	if (sfs.f_bavail * BLOCK <= SLACK)
		return (JOB_LIMIT_DISK);
	return (sfs.f_ffree <= SLACK_INODES ? JOB_LIMIT_INODES :
	    JOB_LIMIT_NONE);
}

uint64_t
disk_used(const struct disk *d)
{
	struct statfs sfs;

	if (d->dir == -1 || fstatfs(d->dir, &sfs) == -1)
		return (0);
	return ((sfs.f_blocks - sfs.f_bfree) * BLOCK);
}

/*
 * Shutting a file system down keeps unmounting from writing to the image what
 * will be forgotten with it.
 */
void
disk_drop(struct disk *d)
{
	uint32_t how = SHUTDOWN_NOFLUSH;

	if (d->dir != -1 && ioctl(d->dir, SHUTDOWN, &how) == -1)
		log_debug("a job's disk: %s", strerror(errno));
	io_close(&d->dir);
	io_close(&d->mnt);
}
