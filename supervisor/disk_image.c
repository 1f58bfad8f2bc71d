/*
 * Disks for jobs: a few of the usual size are kept ready, others are asked for
 * when they are needed.  Touches the channel of the process that makes them
 * (disk_maker.c), and mounts that it made.
 */
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "disk_image.h"
#include "disk_maker.h"
#include "lib/chan.h"
#include "lib/io.h"
#include "lib/log.h"

#define STOCK           8
#define SLACK_INODES    32
#define WAIT_MS         10000   /* for one that is not in stock */
#define AGAIN_US        1000000 /* after one could not be made */

/*
 * Invariants:
 *  1. stock are mounts of ${usual} bytes; nstock plus those asked for is at
 *     most STOCK.
 *  2. chan is -1 when the maker is dead; then it is started again before
 *     something is asked of it.
 */
struct disk_images {
	struct event_base *base;
	int dir;
	int chan;
	pid_t pid;
	struct event *readable;
	struct event *again;
	char note[200];
	int stock[STOCK];
	size_t nstock, asked;
	uint64_t usual;
};

static void on_readable(evutil_socket_t, short, void *);

static void
maker_stop(struct disk_images *di)
{
	if (di->readable != NULL)
		event_free(di->readable);
	di->readable = NULL;
	io_close(&di->chan);
	if (di->pid > 0) {
		(void)kill(di->pid, SIGKILL);
		(void)waitpid(di->pid, NULL, 0);
	}
	di->pid = 0;
	di->asked = 0;
}

/* In the child: nothing of ours but these two and the log. */
static void __attribute__((noreturn))
become_maker(int chan, int dir)
{
	int c = fcntl(chan, F_DUPFD_CLOEXEC, 16);
	int d = fcntl(dir, F_DUPFD_CLOEXEC, 16);
	sigset_t none;

	sigemptyset(&none);
	if (c == -1 || d == -1 || dup3(c, 3, O_CLOEXEC) == -1 ||
	    dup3(d, 4, O_CLOEXEC) == -1 || close_range(5, ~0U, 0) == -1 ||
	    sigprocmask(SIG_SETMASK, &none, NULL) == -1)
		_exit(1);
	disk_maker(3, 4);
}

static int
maker_start(struct disk_images *di)
{
	int pair[2];

	if (di->chan != -1)
		return (0);
	maker_stop(di);
	if (chan_pair(pair) == -1)
		return (-1);
	if ((di->pid = fork()) == 0)
		become_maker(pair[1], di->dir);
	io_close(&pair[1]);
	if (di->pid == -1) {
		di->pid = 0;
		io_close(&pair[0]);
		return (-1);
	}
	di->chan = pair[0];
	di->readable = event_new(di->base, di->chan, EV_READ | EV_PERSIST,
	    on_readable, di);
	if (di->readable == NULL || event_add(di->readable, NULL) == -1) {
		maker_stop(di);
		errno = ENOMEM;
		return (-1);
	}
	return (0);
}

static int
ask(struct disk_images *di, uint64_t bytes)
{
	struct disk_msg m = { .op = DISK_MAKE, .bytes = bytes };

	if (maker_start(di) == -1)
		return (-1);
	return (chan_send_wait(di->chan, (const uint8_t *)&m, sizeof(m), NULL,
	    0));
}

static void
refill(struct disk_images *di)
{
	while (di->usual != 0 && di->nstock + di->asked < STOCK) {
		if (ask(di, di->usual) == -1)
			return;
		di->asked++;
	}
}

/*
 * One answer, waiting at most so long.  A mount of the usual size goes into the
 * stock, another one to ${mnt}.  0, or -1 with errno when there is none.
 */
static int
hear(struct disk_images *di, int timeout, int *mnt)
{
	struct disk_msg m;
	size_t n = 1;
	ssize_t len;
	int fd = -1;

	len = chan_recv_wait(di->chan, (uint8_t *)&m, sizeof(m), &fd, &n,
	    timeout);
	if (len == -1 && errno == ETIMEDOUT)
		return (-1);
	if (len != (ssize_t)sizeof(m) || m.op != DISK_MADE) {
		log_warnx("the process that makes disks ended");
		if (n == 1)
			io_close(&fd);
		maker_stop(di);
		errno = EPIPE;
		return (-1);
	}
	if (m.bytes == di->usual && di->asked > 0)
		di->asked--;
	if (m.error != 0 || n != 1) {
		errno = m.error == 0 ? EIO : m.error;
		return (-1);
	}
	if (m.bytes == di->usual && di->nstock < STOCK)
		di->stock[di->nstock++] = fd;
	else
		*mnt = fd;
	return (0);
}

static void
on_readable(evutil_socket_t fd, short what, void *cookie)
{
	static const struct timeval tv = { AGAIN_US / 1000000, 0 };
	struct disk_images *di = cookie;
	int mnt = -1;

	(void)fd;
	(void)what;
	if (hear(di, 0, &mnt) == -1 && errno != ETIMEDOUT) {
		log_warn("a file system for a job's disk limit");
		(void)event_add(di->again, &tv);
	}
	io_close(&mnt);
}

static void
on_again(evutil_socket_t fd, short what, void *cookie)
{
	(void)fd;
	(void)what;
	refill(cookie);
}

/* A mount of that size, from the stock or made now; -1. */
static int
mount_get(struct disk_images *di, uint64_t bytes)
{
	uint64_t end = io_mono_us() + WAIT_MS * 1000;
	int mnt = -1;

	if (bytes == di->usual && di->nstock > 0)
		return (di->stock[--di->nstock]);
	if (bytes == di->usual && di->asked > 0)
		errno = 0;
	else if (ask(di, bytes) == -1)
		return (-1);
	else if (bytes == di->usual)
		di->asked++;
	while (io_mono_us() < end) {
		if (hear(di, WAIT_MS, &mnt) == -1)
			return (-1);
		if (mnt != -1)
			return (mnt);
		if (bytes == di->usual && di->nstock > 0)
			return (di->stock[--di->nstock]);
	}
	errno = ETIMEDOUT;
	return (-1);
}

static void
try(struct disk_images *di)
{
	int mnt;

	if (geteuid() != 0) {
		snprintf(di->note, sizeof(di->note), "an ordinary user cannot "
		    "mount the file systems that hold a job to it");
		return;
	}
	mnt = mount_get(di, di->usual != 0 ? di->usual : DISK_MIN);
	if (mnt == -1) {
		snprintf(di->note, sizeof(di->note), "a file system on a loop "
		    "device could not be made: %s%s", strerror(errno),
		    errno == ENOENT ? " (is e2fsprogs installed, and "
		    "/dev/loop-control there?)" : "");
		maker_stop(di);
		return;
	}
	io_close(&mnt);
	refill(di);
}

struct disk_images *
disk_images_open(struct event_base *base, int state, uint64_t usual)
{
	struct disk_images *di;

	if ((di = calloc(1, sizeof(*di))) == NULL)
		return (NULL);
	di->base = base;
	di->chan = -1;
	di->usual = usual >= DISK_MIN && usual <= DISK_MAX ? usual : 0;
	if ((di->again = evtimer_new(base, on_again, di)) == NULL) {
		free(di);
		return (NULL);
	}
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
	if (di == NULL)
		return;
	event_free(di->again);
	while (di->nstock > 0)
		io_close(&di->stock[--di->nstock]);
	maker_stop(di);
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
	if ((d->mnt = mount_get(di, bytes)) == -1)
		return (-1);
	refill(di);
	if ((d->dir = openat(d->mnt, ".", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1 || fchown(d->dir, uid, gid) == -1) {
		disk_drop(di, d);
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
	if (sfs.f_bavail * DISK_BLOCK <= DISK_SLACK)
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
	return ((sfs.f_blocks - sfs.f_bfree) * DISK_BLOCK);
}

/* Whoever has the last of its descriptors waits for its unmounting. */
void
disk_drop(struct disk_images *di, struct disk *d)
{
	struct disk_msg m = { .op = DISK_DROP };

	io_close(&d->mnt);
	if (d->dir == -1)
		return;
	if (di == NULL || di->chan == -1 || chan_send_wait(di->chan,
	    (const uint8_t *)&m, sizeof(m), &d->dir, 1) == -1)
		disk_shut(&d->dir);
	io_close(&d->dir);
}
