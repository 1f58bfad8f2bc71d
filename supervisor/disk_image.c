/*
 * Disks for jobs: a few of the usual size are kept ready, others are asked for
 * when they are needed.  Touches the channel of the process that makes them
 * (disk_maker.c), and mounts that it made.
 */
#include <sys/queue.h>
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
#define KNOWN           64      /* sizes; another one is only asked for first */
#define WAIT_MS         10000   /* for one that is not in stock */
#define LATE_S          60      /* that has to be formatted, on busy disks */
#define AGAIN_US        1000000 /* after one could not be made; doubled */
#define AGAIN_MAX       6               /* so often: to about a minute */

/* Somebody who waits for one, that was asked for on his behalf. */
struct disk_wait {
	TAILQ_ENTRY(disk_wait) next;
	struct disk_images *di;
	uint64_t bytes;
	int mnt;                /* it, once it is there */
	int error;              /* why it will not be */
	void (*fn)(void *, int); /* NULL: he looks himself */
	void *cookie;
	struct event *late;
};

/*
 * Invariants:
 *  1. stock are mounts of ${usual} bytes; asked is how many of these are asked
 *     for, whoever wants them.
 *  2. chan is -1 when the maker is dead; then it is started again before
 *     something is asked of it, and when again comes; nobody waits who has not
 *     been told.
 *  3. known are sizes whose class this maker has formatted.
 *  4. given is the mount of whoever is being called back, else -1.
 */
struct disk_images {
	struct event_base *base;
	int dir;
	int chan;
	pid_t pid;
	struct event *readable;
	struct event *again;
	struct event *deliver;
	TAILQ_HEAD(, disk_wait) waits;
	int given;
	uint64_t given_bytes;
	uint64_t known[KNOWN];  /* the last sizes that this maker has made */
	size_t nknown;
	char note[200];
	unsigned int fails;     /* since one was made */
	int stock[STOCK];
	size_t nstock, asked;
	uint64_t usual;
};

static void on_readable(evutil_socket_t, short, void *);
static void on_deliver(evutil_socket_t, short, void *);

/* It will not come: those who wait hear of it. */
static void
waits_fail(struct disk_images *di, int error)
{
	struct disk_wait *w;

	TAILQ_FOREACH(w, &di->waits, next)
		if (w->mnt == -1 && w->error == 0)
			w->error = error;
	event_active(di->deliver, 0, 0);
}

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
	di->asked = di->nknown = 0;
	waits_fail(di, EPIPE);
}

/* Try once more by ourselves, the later the more often it went wrong. */
static void
later(struct disk_images *di)
{
	uint64_t us = (uint64_t)AGAIN_US << di->fails;
	const struct timeval tv = { (time_t)(us / 1000000), 0 };

	if (di->fails < AGAIN_MAX)
		di->fails++;
	(void)event_add(di->again, &tv);
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

	if (maker_start(di) == -1 || chan_send_wait(di->chan,
	    (const uint8_t *)&m, sizeof(m), NULL, 0) == -1)
		return (-1);
	if (bytes == di->usual)
		di->asked++;
	return (0);
}

static void
refill(struct disk_images *di)
{
	while (di->usual != 0 && di->nstock + di->asked < STOCK)
		if (ask(di, di->usual) == -1)
			return;
}

/* The first who waits for that size. */
static struct disk_wait *
wait_find(struct disk_images *di, uint64_t bytes)
{
	struct disk_wait *w;

	TAILQ_FOREACH(w, &di->waits, next)
		if (w->bytes == bytes && w->mnt == -1 && w->error == 0)
			return (w);
	return (NULL);
}

int
disk_known(const struct disk_images *di, uint64_t bytes)
{
	size_t i;

	if (bytes == di->usual && di->nstock > 0)
		return (1);
	for (i = 0; i < di->nknown && i < KNOWN; i++)
		if (di->known[i] == bytes)
			return (1);
	return (0);
}

/* To whoever waits for it, else into the stock. */
static void
arrived(struct disk_images *di, uint64_t bytes, int mnt)
{
	struct disk_wait *w = wait_find(di, bytes);

	di->fails = 0;
	if (!disk_known(di, bytes))
		di->known[di->nknown++ % KNOWN] = bytes;
	if (w != NULL)
		w->mnt = mnt;
	else if (bytes == di->usual && di->nstock < STOCK)
		di->stock[di->nstock++] = mnt;
	else
		io_close(&mnt);
}

/*
 * One answer, waiting at most so long.  0, or -1 with errno when nothing came,
 * or it was that there is none.
 */
static int
hear(struct disk_images *di, int timeout)
{
	struct disk_wait *w;
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
		later(di);
		errno = EPIPE;
		return (-1);
	}
	if (m.bytes == di->usual && di->asked > 0)
		di->asked--;
	if (m.error == 0 && n == 1) {
		arrived(di, m.bytes, fd);
		return (0);
	}
	errno = m.error == 0 ? EIO : m.error;
	if ((w = wait_find(di, m.bytes)) != NULL)
		w->error = errno;
	return (-1);
}

/* He waits no more; what he gets is ours to give while he is called. */
static void
call_back(struct disk_images *di, struct disk_wait *w)
{
	const struct disk_wait was = *w;

	w->mnt = -1;
	disk_unwait(w);
	di->given = was.mnt;
	di->given_bytes = was.bytes;
	was.fn(was.cookie, was.error);
	io_close(&di->given);
}

/* Call back those who have what they wait for, or never will. */
static void
on_deliver(evutil_socket_t fd, short what, void *cookie)
{
	struct disk_images *di = cookie;
	struct disk_wait *w = TAILQ_FIRST(&di->waits);

	(void)fd;
	(void)what;
	while (w != NULL) {
		if (w->fn != NULL && (w->mnt != -1 || w->error != 0)) {
			call_back(di, w);
			/* Who was called may have taken others out. */
			w = TAILQ_FIRST(&di->waits);
		} else
			w = TAILQ_NEXT(w, next);
	}
}

static void
on_readable(evutil_socket_t fd, short what, void *cookie)
{
	struct disk_images *di = cookie;

	(void)fd;
	(void)what;
	if (hear(di, 0) == -1 && errno != ETIMEDOUT) {
		log_warn("a file system for a job's disk limit");
		if (di->chan != -1)
			later(di);
	}
	on_deliver(-1, 0, di);
}

static void
on_late(evutil_socket_t fd, short what, void *cookie)
{
	struct disk_wait *w = cookie;

	(void)fd;
	(void)what;
	if (w->mnt == -1 && w->error == 0)
		w->error = ETIMEDOUT;
	on_deliver(-1, 0, w->di);
}

struct disk_wait *
disk_await(struct disk_images *di, uint64_t bytes, void (*fn)(void *, int),
    void *cookie)
{
	static const struct timeval tv = { LATE_S, 0 };
	struct disk_wait *w;

	if ((w = calloc(1, sizeof(*w))) == NULL)
		return (NULL);
	w->di = di;
	w->bytes = bytes;
	w->mnt = -1;
	w->fn = fn;
	w->cookie = cookie;
	errno = ENOMEM;
	if ((w->late = evtimer_new(di->base, on_late, w)) == NULL)
		goto err1;
	if (evtimer_add(w->late, &tv) == -1 || ask(di, bytes) == -1)
		goto err2;
	TAILQ_INSERT_TAIL(&di->waits, w, next);
	return (w);

err2:
	event_free(w->late);
err1:
	free(w);
	return (NULL);
}

void
disk_unwait(struct disk_wait *w)
{
	if (w == NULL)
		return;
	TAILQ_REMOVE(&w->di->waits, w, next);
	event_free(w->late);
	io_close(&w->mnt);
	free(w);
}

static void
on_again(evutil_socket_t fd, short what, void *cookie)
{
	struct disk_images *di = cookie;

	(void)fd;
	(void)what;
	if (maker_start(di) == -1)
		later(di);
	else
		refill(di);
}

/* One that is made now; we wait for it, and what comes for others is kept. */
static int
mount_wait(struct disk_images *di, uint64_t bytes)
{
	struct disk_wait w = { .di = di, .bytes = bytes, .mnt = -1 };
	uint64_t end = io_mono_us() + WAIT_MS * 1000;

	if (ask(di, bytes) == -1)
		return (-1);
	TAILQ_INSERT_TAIL(&di->waits, &w, next);
	while (w.mnt == -1 && w.error == 0) {
		if (di->chan == -1 || io_mono_us() >= end)
			w.error = ETIMEDOUT;
		else if (hear(di, WAIT_MS) == -1 && errno == ETIMEDOUT)
			w.error = ETIMEDOUT;
	}
	TAILQ_REMOVE(&di->waits, &w, next);
	event_active(di->deliver, 0, 0);
	errno = w.error;
	return (w.mnt);
}

/* A mount of that size: ours, from the stock, or made now; -1. */
static int
mount_get(struct disk_images *di, uint64_t bytes)
{
	int mnt;

	if (di->given != -1 && di->given_bytes == bytes) {
		mnt = di->given;
		di->given = -1;
		return (mnt);
	}
	if (bytes == di->usual && di->nstock > 0)
		return (di->stock[--di->nstock]);
	return (mount_wait(di, bytes));
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
		(void)event_del(di->again);
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
	di->chan = di->given = -1;
	TAILQ_INIT(&di->waits);
	di->usual = usual >= DISK_MIN && usual <= DISK_MAX ? usual : 0;
	if ((di->again = evtimer_new(base, on_again, di)) == NULL)
		goto err1;
	if ((di->deliver = event_new(base, -1, 0, on_deliver, di)) == NULL)
		goto err2;
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

err2:
	event_free(di->again);
err1:
	free(di);
	return (NULL);
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
	while (!TAILQ_EMPTY(&di->waits))
		disk_unwait(TAILQ_FIRST(&di->waits));
	event_free(di->deliver);
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
	if (sfs.f_bavail * DISK_BLOCK <= JOB_DISK_SLACK)
		return (JOB_LIMIT_DISK);
	return (sfs.f_ffree <= JOB_DISK_SLACK_INODES ? JOB_LIMIT_INODES :
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
