/*
 * Small helpers on descriptors, files and clocks; they reach what the caller
 * names.
 */
#include <sys/file.h>
#include <sys/stat.h>

#include <linux/limits.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "io.h"

#define REPLACE_TRIES   100

int
io_read(int fd, void *buf, size_t len)
{
	uint8_t *p = buf;
	ssize_t n;

	while (len > 0) {
		if ((n = read(fd, p, len)) == -1) {
			if (errno == EINTR)
				continue;
			return (-1);
		}
		if (n == 0) {
			errno = EPIPE;
			return (-1);
		}
		p += n;
		len -= (size_t)n;
	}
	return (0);
}

int
io_write(int fd, const void *buf, size_t len)
{
	const uint8_t *p = buf;
	ssize_t n;

	while (len > 0) {
		if ((n = write(fd, p, len)) == -1) {
			if (errno == EINTR)
				continue;
			return (-1);
		}
		if (n == 0) {
			errno = EIO;
			return (-1);
		}
		p += n;
		len -= (size_t)n;
	}
	return (0);
}

/* Would ${len} bytes at ${off} leave the range of off_t? */
static int
span_check(size_t len, off_t off)
{
	off_t end;

	if (off < 0 || __builtin_add_overflow(off, len, &end)) {
		errno = EINVAL;
		return (-1);
	}
	return (0);
}

int
io_pread(int fd, void *buf, size_t len, off_t off)
{
	uint8_t *p = buf;
	ssize_t n;

	if (span_check(len, off) == -1)
		return (-1);
	while (len > 0) {
		if ((n = pread(fd, p, len, off)) == -1) {
			if (errno == EINTR)
				continue;
			return (-1);
		}
		if (n == 0) {
			errno = EPIPE;
			return (-1);
		}
		p += n;
		off += n;
		len -= (size_t)n;
	}
	return (0);
}

int
io_pwrite(int fd, const void *buf, size_t len, off_t off)
{
	const uint8_t *p = buf;
	ssize_t n;

	if (span_check(len, off) == -1)
		return (-1);
	while (len > 0) {
		if ((n = pwrite(fd, p, len, off)) == -1) {
			if (errno == EINTR)
				continue;
			return (-1);
		}
		if (n == 0) {
			errno = EIO;
			return (-1);
		}
		p += n;
		off += n;
		len -= (size_t)n;
	}
	return (0);
}

/* No retry on EINTR: on Linux the descriptor is gone all the same. */
void
io_close(int *fd)
{
	int keep = errno;

	if (*fd != -1)
		close(*fd);
	*fd = -1;
	errno = keep;
}

int
io_nonblock(int fd)
{
	int fl;

	if ((fl = fcntl(fd, F_GETFL)) == -1)
		return (-1);
	if (fl & O_NONBLOCK)
		return (0);
	return (fcntl(fd, F_SETFL, fl | O_NONBLOCK));
}

static uint64_t
clock_us(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts) == -1)
		return (0);     /* cannot fail for the clocks we ask */
	return ((uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000);
}

uint64_t
io_mono_us(void)
{

	return (clock_us(CLOCK_MONOTONIC));
}

uint64_t
io_real_us(void)
{

	return (clock_us(CLOCK_REALTIME));
}

/* O_NONBLOCK: a FIFO in place of the file must not hold us up. */
static int
open_regular(int dirfd, const char *path, struct stat *st)
{
	int fd;

	fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd == -1)
		goto err0;
	if (fstat(fd, st) == -1)
		goto err1;
	if (!S_ISREG(st->st_mode)) {
		errno = S_ISDIR(st->st_mode) ? EISDIR : EINVAL;
		goto err1;
	}
	return (fd);

err1:
	io_close(&fd);
err0:
	return (-1);
}

/*
 * Read to the end of file.  The size in ${st} is a first guess only: files in
 * /proc say 0, and a file may grow while we read it.
 */
static int
read_to_end(int fd, const struct stat *st, size_t max, uint8_t **buf,
    size_t *len)
{
	uint8_t *p = NULL, *q;
	size_t room = 512, used = 0;
	ssize_t n;

	if ((uint64_t)st->st_size >= room)
		room = (size_t)st->st_size + 1;
	for (;;) {
		/* One byte more than asked for, for the NUL. */
		if ((q = realloc(p, room + 1)) == NULL)
			goto err0;
		p = q;
		while (used < room) {
			if ((n = read(fd, p + used, room - used)) == -1) {
				if (errno == EINTR)
					continue;
				goto err0;
			}
			if (n == 0)
				goto done;
			used += (size_t)n;
			if (used > max) {
				errno = EFBIG;
				goto err0;
			}
		}
		if (__builtin_mul_overflow(room, 2, &room)) {
			errno = EFBIG;
			goto err0;
		}
	}
done:
	p[used] = '\0';
	*buf = p;
	*len = used;
	return (0);

err0:
	free(p);
	return (-1);
}

int
io_file_read(int dirfd, const char *path, size_t max, uint8_t **buf,
    size_t *len)
{
	struct stat st;
	int fd, rc;

	if ((fd = open_regular(dirfd, path, &st)) == -1)
		goto err0;
	if (st.st_size < 0 || (uint64_t)st.st_size > max ||
	    (uint64_t)st.st_size > SIZE_MAX / 4) {
		errno = EFBIG;
		goto err1;
	}
	rc = read_to_end(fd, &st, max, buf, len);
	io_close(&fd);
	return (rc);

err1:
	io_close(&fd);
err0:
	return (-1);
}

/*
 * Open ${tmp} and lock it.  A writer that came before us renames it away
 * while we wait for the lock, so what we locked must still be what the name
 * means; a file that a crash left behind is simply used.  The name is not
 * followed, and a file that is linked elsewhere or not ours is refused.
 */
static int
replace_open(int dirfd, const char *tmp)
{
	struct stat st, now;
	int fd, i;

	for (i = 0; i < REPLACE_TRIES; i++) {
		fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_NOFOLLOW |
		    O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
		if (fd == -1)
			return (-1);
		if (flock(fd, LOCK_EX) == -1 || fstat(fd, &st) == -1)
			goto err1;
		if (!S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
			errno = EPERM;
			goto err1;
		}
		if (fstatat(dirfd, tmp, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
		    now.st_dev == st.st_dev && now.st_ino == st.st_ino &&
		    st.st_nlink == 1)
			return (fd);
		io_close(&fd);
	}
	errno = EBUSY;
	return (-1);

err1:
	io_close(&fd);
	return (-1);
}

/* Flush the directory that holds ${name}: only then does a rename last. */
static int
sync_parent(int dirfd, const char *name)
{
	char dir[PATH_MAX];
	const char *slash;
	int fd, rc;

	slash = strrchr(name, '/');
	if (slash == NULL)
		snprintf(dir, sizeof(dir), ".");
	else
		snprintf(dir, sizeof(dir), "%.*s",
		    (int)(slash == name ? 1 : slash - name), name);
	fd = openat(dirfd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	rc = fsync(fd);
	io_close(&fd);
	return (rc);
}

int
io_file_replace(int dirfd, const char *name, mode_t mode, const void *buf,
    size_t len)
{
	char tmp[PATH_MAX];
	int fd, keep;

	if ((size_t)snprintf(tmp, sizeof(tmp), "%s.new", name) >= sizeof(tmp)) {
		errno = ENAMETOOLONG;
		goto err0;
	}
	if ((fd = replace_open(dirfd, tmp)) == -1)
		goto err0;
	/* The mode comes first: a secret is never in a readable file. */
	if (ftruncate(fd, 0) == -1 || fchmod(fd, mode) == -1)
		goto err1;
	if (io_write(fd, buf, len) == -1 || fsync(fd) == -1)
		goto err1;
	if (renameat(dirfd, tmp, dirfd, name) == -1)
		goto err1;
	io_close(&fd);
	return (sync_parent(dirfd, name));

err1:
	keep = errno;
	unlinkat(dirfd, tmp, 0);        /* the lock is still ours */
	errno = keep;
	io_close(&fd);
err0:
	return (-1);
}
