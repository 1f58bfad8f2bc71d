/*
 * Renaming a directory that is in a lower layer.  Touches what the two names
 * stand for, with the rights of whoever calls.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/size.h"
#include "rename_dir.h"

#define DEPTH_MAX       200     /* each level holds two descriptors */
#define TRIES           100

/* The names in a directory, each terminated, one after the other. */
struct names {
	char *p;
	size_t len, cap;
};

static int
names_read(int dir, struct names *n)
{
	struct dirent *e;
	size_t len;
	DIR *d;
	int fd;

	if ((fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (-1);
	if ((d = fdopendir(fd)) == NULL) {
		io_close(&fd);
		return (-1);
	}
	while ((errno = 0, e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		len = strlen(e->d_name) + 1;
		char *p = size_grow(n->p, &n->cap, n->len + len, 1);

		if (p == NULL)
			break;
		n->p = p;
		memcpy(n->p + n->len, e->d_name, len);
		n->len += len;
	}
	fd = errno;
	closedir(d);
	errno = fd;
	return (fd == 0 ? 0 : -1);
}

/* A directory opened for work: its owner can always read and write it. */
static int
open_own(int dir, const char *name, struct stat *st)
{
	int fd;

	if (fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) == -1)
		return (-1);
	if (!S_ISDIR(st->st_mode)) {
		errno = ENOTDIR;
		return (-1);
	}
	if ((st->st_mode & 0700) != 0700 && fchmodat(dir, name,
	    (st->st_mode & 07777) | 0700, 0) == -1)
		return (-1);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return (fd);
}

static int
finish(int fd, const struct stat *st)
{
	const struct timespec ts[2] = { st->st_atim, st->st_mtim };

	if (fchmod(fd, st->st_mode & 07777) == -1)
		return (-1);
	return (futimens(fd, ts));
}

static int move_content(int, int, unsigned int);

/* One directory to a name that is free, all of it. */
static int
move_dir(int from, int to, const char *name, unsigned int depth)
{
	struct stat st;
	int s, d = -1, rc = -1;

	if (depth == 0) {
		errno = EXDEV;
		return (-1);
	}
	if ((s = open_own(from, name, &st)) == -1)
		return (-1);
	if (mkdirat(to, name, 0700) == 0 && (d = openat(to, name, O_RDONLY |
	    O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) != -1 &&
	    move_content(s, d, depth - 1) == 0 && finish(d, &st) == 0)
		rc = unlinkat(from, name, AT_REMOVEDIR);
	else {
		int e = errno;

		(void)unlinkat(to, name, AT_REMOVEDIR);
		(void)finish(s, &st);
		errno = e;
	}
	io_close(&s);
	io_close(&d);
	return (rc);
}

static int
move_one(int from, int to, const char *name, unsigned int depth)
{
	struct stat st;

	if (renameat2(from, name, to, name, RENAME_NOREPLACE) == 0)
		return (0);
	if (errno != EXDEV)
		return (-1);
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (-1);
	if (!S_ISDIR(st.st_mode)) {
		errno = EXDEV;
		return (-1);
	}
	return (move_dir(from, to, name, depth));
}

/* All or nothing: what was moved goes back when something cannot be. */
static int
move_content(int from, int to, unsigned int depth)
{
	struct names n = { 0 };
	size_t at = 0, end;
	int rc = names_read(from, &n), e;

	while (rc == 0 && at < n.len) {
		if ((rc = move_one(from, to, n.p + at, depth)) == 0)
			at += strlen(n.p + at) + 1;
	}
	if (rc == -1) {
		e = errno;
		for (end = at, at = 0; at < end; at += strlen(n.p + at) + 1)
			(void)move_one(to, from, n.p + at, depth);
		errno = e;
	}
	free(n.p);
	return (rc);
}

/* What renameat2 would have said of the new name. */
static int
target_check(int ddir, const char *dname, unsigned int flags)
{
	struct names n = { 0 };
	struct stat st;
	int fd, rc;

	if (flags & ~(unsigned int)RENAME_NOREPLACE) {
		errno = EXDEV;
		return (-1);
	}
	if (fstatat(ddir, dname, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (errno == ENOENT ? 0 : -1);
	if (flags & RENAME_NOREPLACE)
		errno = EEXIST;
	else if (!S_ISDIR(st.st_mode))
		errno = ENOTDIR;
	else if ((fd = openat(ddir, dname, O_RDONLY | O_DIRECTORY |
	    O_NOFOLLOW | O_CLOEXEC)) != -1) {
		rc = names_read(fd, &n);
		io_close(&fd);
		free(n.p);
		if (rc == 0 && n.len == 0)
			return (0);
		errno = rc == -1 ? errno : ENOTEMPTY;
	}
	return (-1);
}

/* A new directory beside the target, under a name of ours. */
static int
temp_make(int ddir, char *name, size_t size)
{
	unsigned int i;

	for (i = 0; i < TRIES; i++) {
		(void)snprintf(name, size, ".errand-rename.%d.%u",
		    (int)getpid(), i);
		if (mkdirat(ddir, name, 0700) == 0)
			return (openat(ddir, name, O_RDONLY | O_DIRECTORY |
			    O_NOFOLLOW | O_CLOEXEC));
		if (errno != EEXIST)
			return (-1);
	}
	return (-1);
}

/* With everything in ${temp}: the names change. */
static int
names_change(int sdir, const char *sname, int ddir, const char *temp,
    const char *dname, unsigned int flags)
{

	if (renameat2(ddir, temp, ddir, dname, flags) == -1)
		return (-1);
	return (unlinkat(sdir, sname, AT_REMOVEDIR));
}

static int
by_content(int sdir, const char *sname, int ddir, const char *dname,
    unsigned int flags)
{
	char temp[64];
	struct stat st;
	int s, d, e;

	if (target_check(ddir, dname, flags) == -1 ||
	    (s = open_own(sdir, sname, &st)) == -1)
		return (-1);
	if ((d = temp_make(ddir, temp, sizeof(temp))) == -1)
		goto err1;
	if (move_content(s, d, DEPTH_MAX) == -1)
		goto err2;
	if (finish(d, &st) == -1 ||
	    names_change(sdir, sname, ddir, temp, dname, flags) == -1)
		goto err3;
	io_close(&d);
	io_close(&s);
	return (0);

err3:
	e = errno;
	(void)fchmod(d, 0700);
	(void)move_content(d, s, DEPTH_MAX);
	errno = e;
err2:
	e = errno;
	io_close(&d);
	(void)unlinkat(ddir, temp, AT_REMOVEDIR);
	errno = e;
err1:
	e = errno;
	(void)finish(s, &st);
	io_close(&s);
	errno = e;
	return (-1);
}

int
rename_dir(int sdir, const char *sname, int ddir, const char *dname,
    unsigned int flags)
{

	if (renameat2(sdir, sname, ddir, dname, flags) == 0)
		return (0);
	if (errno != EXDEV)
		return (-1);
	return (by_content(sdir, sname, ddir, dname, flags));
}
