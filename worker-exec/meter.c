/*
 * Counting what a job has written while it runs.  A process of its own beside
 * the keeper, with the tenant's rights and the keeper's late fence: it reads
 * directories below one, and signals pid 1.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "meter.h"
#include "ns.h"

#define DEPTH_MAX       1000    /* directories open at once; what lies deeper is
                                 * not counted */

struct count {
	uint64_t bytes, files;
	uint64_t most_bytes, most_files;
};

static uint8_t
reached(const struct count *c)
{

	if (c->bytes >= c->most_bytes)
		return (JOB_LIMIT_DISK);
	return (c->files >= c->most_files ? JOB_LIMIT_INODES : JOB_LIMIT_NONE);
}

static void count_dir(struct count *, int, const char *, unsigned int);

/*
 * A file with several names is shared out among them, as it is counted once for
 * each.
 */
static void
count_entry(struct count *c, int dir, const char *name, unsigned int depth)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return;
	c->files++;
	if (S_ISDIR(st.st_mode)) {
		c->bytes += (uint64_t)st.st_blocks * 512;
		count_dir(c, dir, name, depth + 1);
	} else
		c->bytes += (uint64_t)st.st_blocks * 512 /
		    (st.st_nlink == 0 ? 1 : st.st_nlink);
}

/* What changes meanwhile is counted next time. */
static void
count_dir(struct count *c, int dir, const char *name, unsigned int depth)
{
	struct dirent *e;
	DIR *d;
	int fd;

	if (depth > DEPTH_MAX || (fd = openat(dir, name, O_RDONLY |
	    O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) == -1)
		return;
	if ((d = fdopendir(fd)) == NULL) {
		io_close(&fd);
		return;
	}
	while (reached(c) == JOB_LIMIT_NONE && (e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			count_entry(c, dirfd(d), e->d_name, depth);
	}
	(void)closedir(d);
}

/* The directories above are open while those below are read. */
static void
files_raise(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == -1)
		return;
	rl.rlim_cur = rl.rlim_max < DEPTH_MAX + 64 ? rl.rlim_max :
	    DEPTH_MAX + 64;
	(void)setrlimit(RLIMIT_NOFILE, &rl);
}

/* Is pid 1 dead, after at most so long? */
static int
wait_dead(int initfd, uint64_t ms)
{
	struct pollfd p = { .fd = initfd, .events = POLLIN };

	return (poll(&p, 1, (int)ms) == 1);
}

/*
 * The last count is made when pid 1 is dead: a job may have filled its limit
 * and failed for that before we looked.
 */
static void
count_all(const struct meter_start *s, struct meter_word *w)
{
	struct count c;
	uint64_t ms = 0, begin;
	int dead;

	do {
		dead = wait_dead(s->initfd, ms < METER_LEAST_MS ?
		    METER_LEAST_MS : ms > METER_MOST_MS ? METER_MOST_MS : ms);
		begin = io_mono_us();
		c = (struct count){ .most_bytes = s->bytes,
		    .most_files = s->bytes / METER_INODE };
		count_dir(&c, s->upper, ".", 0);
		ms = (io_mono_us() - begin) * METER_SHARE / 1000;
		w->bytes = c.bytes;
		w->files = c.files;
		w->limit = reached(&c);
	} while (!dead && w->limit == JOB_LIMIT_NONE);
	w->ended = !dead;
	if (!dead)
		(void)syscall(SYS_pidfd_send_signal, s->initfd, SIGKILL, NULL,
		    0);
}

static void __attribute__((noreturn))
meter_main(const struct meter_start *s, int fd, pid_t parent,
    int (*fence)(void *), void *cookie)
{
	const int keep[] = { fd, s->upper, s->initfd };
	struct meter_word w = { 0 };

	(void)prctl(PR_SET_NAME, "errand-meter", 0, 0, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1 ||
	    getppid() != parent ||
	    ns_close_others(keep, sizeof(keep) / sizeof(keep[0])) == -1)
		_exit(1);
	files_raise();
	if (fence(cookie) == -1)
		_exit(1);
	count_all(s, &w);
	_exit(write(fd, &w, sizeof(w)) == (ssize_t)sizeof(w) ? 0 : 1);
}

void
meter_init(struct meter *m)
{

	m->pid = -1;
	m->fd = -1;
}

int
meter_run(struct meter *m, const struct meter_start *s, int (*fence)(void *),
    void *cookie)
{
	pid_t self = getpid();
	int p[2];

	if (pipe2(p, O_CLOEXEC) == -1)
		return (-1);
	if ((m->pid = ns_clone(0, NULL)) == 0)
		meter_main(s, p[1], self, fence, cookie);
	io_close(&p[1]);
	if (m->pid == -1) {
		io_close(&p[0]);
		return (-1);
	}
	m->fd = p[0];
	return (0);
}

int
meter_done(struct meter *m, struct meter_word *w)
{
	int rc;

	if (m->pid == -1)
		return (-1);
	rc = read(m->fd, w, sizeof(*w)) == (ssize_t)sizeof(*w) ? 0 : -1;
	io_close(&m->fd);
	while (waitpid(m->pid, NULL, 0) == -1 && errno == EINTR)
		continue;
	m->pid = -1;
	return (rc);
}
