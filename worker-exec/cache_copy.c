/*
 * One file of a cache, from the job's disk to where caches are kept.  Reads
 * what a job left, by descriptors and without following links.
 */
#include <sys/stat.h>
#include <sys/xattr.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache_copy.h"
#include "lib/io.h"

#define PIECE   (64 * 1024)

static int
copy_range(int from, int to, off_t at, off_t end)
{
	char buf[PIECE];
	ssize_t n;

	while (at < end) {
		n = pread(from, buf, (size_t)(end - at < PIECE ? end - at :
		    PIECE), at);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0 || io_pwrite(to, buf, (size_t)n, at) == -1)
			return (-1);
		at += n;
	}
	return (0);
}

/* Holes stay holes: they may be larger than any disk. */
static int
copy_data(int from, int to, off_t size)
{
	off_t at = 0, end;

	while (at < size && (at = lseek(from, at, SEEK_DATA)) != -1) {
		if ((end = lseek(from, at, SEEK_HOLE)) == -1 ||
		    copy_range(from, to, at, end) == -1)
			return (-1);
		at = end;
	}
	if (at == -1 && errno != ENXIO)
		return (-1);
	return (ftruncate(to, size));
}

static int
copy_new(int from, const char *name, const struct stat *st, int to)
{
	const struct timespec ts[2] = { st->st_atim, st->st_mtim };
	int in, out, rc = -1;

	if ((in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_CLOEXEC)) == -1)
		return (-1);
	out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (out != -1 && copy_data(in, out, st->st_size) == 0 &&
	    fchmod(out, st->st_mode & 07777) == 0 && futimens(out, ts) == 0)
		rc = 0;
	io_close(&in);
	io_close(&out);
	return (rc);
}

int
cache_copy_file(int from, const char *name, const struct stat *st, int to,
    int links)
{
	char ino[24];

	if (st->st_nlink < 2)
		return (copy_new(from, name, st, to));
	(void)snprintf(ino, sizeof(ino), "%ju", (uintmax_t)st->st_ino);
	if (linkat(links, ino, to, name, 0) == 0)
		return (0);
	if (errno != ENOENT || copy_new(from, name, st, to) == -1)
		return (-1);
	return (linkat(to, name, links, ino, 0));
}

int
cache_copy_link(int from, const char *name, const struct stat *st, int to)
{
	const struct timespec ts[2] = { st->st_atim, st->st_mtim };
	char target[PATH_MAX];
	ssize_t n;

	n = readlinkat(from, name, target, sizeof(target) - 1);
	if (n <= 0 || n == (ssize_t)sizeof(target) - 1)
		return (-1);
	target[n] = '\0';
	if (symlinkat(target, to, name) == -1)
		return (-1);
	return (utimensat(to, name, ts, AT_SYMLINK_NOFOLLOW));
}

/*
 * Some mean something to an overlay that has the file below it.  Jobs cannot
 * set those in one; that is no reason to keep any.
 */
int
cache_strip(int dir, const char *name)
{
	char list[65536], *p;
	ssize_t n;
	int fd, rc = 0;

	if ((fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_CLOEXEC)) == -1)
		return (-1);
	if ((n = flistxattr(fd, list, sizeof(list))) == -1) {
		rc = errno == ENOTSUP ? 0 : -1;
		n = 0;
	}
	for (p = list; p < list + n; p += strlen(p) + 1)
		if (strncmp(p, "user.", 5) == 0 && fremovexattr(fd, p) == -1 &&
		    errno != ENODATA)
			rc = -1;
	io_close(&fd);
	return (rc);
}
