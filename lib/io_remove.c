/*
 * Removal of a directory tree that somebody else made.  Never leaves it: no
 * link is followed, no mount crossed.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2   452     /* Linux 6.6; the same on every architecture */
#endif

#define HELD            32      /* levels whose directory stays open */
#define AGAIN_MAX       64      /* times a directory may fill up behind us */

/*
 * A directory on the way from the top to where we are.
 *
 * Invariants:
 *  1. The deepest level has its directory open, and so have the first HELD;
 *     the others are reopened by ".." and must then be the same inode.
 *  2. name is the level's name in the level above (NULL at the top).
 */
struct level {
	DIR     *dir;
	char    *name;
	dev_t   dev;
	ino_t   ino;
};

struct walk {
	struct level    *levels;
	size_t          n;              /* levels in use */
	size_t          room;           /* levels allocated */
	int             again;          /* refilled directories met */
};

/*
 * Give ourselves rwx on the directory ${name}, never on what a link points
 * at.  The old C library's way to do that needs /proc, the new call does not.
 */
static int
unlock_dir(int dirfd, const char *name)
{

	if (syscall(SYS_fchmodat2, dirfd, name, 0700,
	    AT_SYMLINK_NOFOLLOW) == 0)
		return (0);
	if (errno != ENOSYS && errno != EPERM)
		return (-1);
	return (fchmodat(dirfd, name, 0700, AT_SYMLINK_NOFOLLOW));
}

static int
open_dir(int dirfd, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd;

	if ((fd = openat(dirfd, name, flags)) != -1 || errno != EACCES)
		return (fd);
	if (unlock_dir(dirfd, name) == -1)
		return (-1);
	return (openat(dirfd, name, flags));
}

static int
walk_grow(struct walk *w)
{
	struct level *p;
	size_t room = w->room == 0 ? 16 : w->room;

	if (w->n < w->room)
		return (0);
	if (__builtin_mul_overflow(room, 2, &room) ||
	    (p = reallocarray(w->levels, room, sizeof(*p))) == NULL)
		return (-1);
	w->levels = p;
	w->room = room;
	return (0);
}

static void
level_close(struct level *l)
{

	if (l->dir != NULL)
		closedir(l->dir);
	l->dir = NULL;
}

/* Enter ${name} below ${dirfd}: one level deeper, on the same device. */
static int
walk_enter(struct walk *w, int dirfd, const char *name)
{
	struct level *l;
	struct stat st;
	int fd;

	if (walk_grow(w) == -1 || (fd = open_dir(dirfd, name)) == -1)
		goto err0;
	if (fstat(fd, &st) == -1)
		goto err1;
	if (w->n > 0 && st.st_dev != w->levels[0].dev) {
		errno = EXDEV;
		goto err1;
	}

	/* Readable is not enough: we remove here.  Not ours to change? We
	 * shall see when the removal fails. */
	if ((st.st_mode & S_IRWXU) != S_IRWXU)
		(void)!fchmod(fd, 0700);

	l = &w->levels[w->n];
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	if ((l->name = strdup(name)) == NULL)
		goto err1;
	if ((l->dir = fdopendir(fd)) == NULL)
		goto err2;
	if (w->n > HELD)
		level_close(&w->levels[w->n - 1]);
	w->n++;
	return (0);

err2:
	free(l->name);
err1:
	io_close(&fd);
err0:
	return (-1);
}

/* Open the level above the deepest again, if it is not open still. */
static int
walk_reopen_parent(struct walk *w)
{
	struct level *p = &w->levels[w->n - 2];
	struct stat st;
	int fd;

	if (p->dir != NULL)
		return (0);
	fd = openat(dirfd(w->levels[w->n - 1].dir), "..",
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		goto err0;
	if (fstat(fd, &st) == -1)
		goto err1;
	if (st.st_dev != p->dev || st.st_ino != p->ino) {
		errno = ESTALE;         /* somebody moves directories about */
		goto err1;
	}
	if ((p->dir = fdopendir(fd)) == NULL)
		goto err1;
	return (0);

err1:
	io_close(&fd);
err0:
	return (-1);
}

static void
walk_pop(struct walk *w)
{
	struct level *l = &w->levels[--w->n];

	level_close(l);
	free(l->name);
}

static int
is_full(int err)
{

	return (err == ENOTEMPTY || err == EEXIST);
}

/*
 * Remove one entry, or enter it when it is a directory with something in it.
 * rmdir comes first: for an empty directory it is all there is to do, and on
 * a mount point it fails with EBUSY, so that no mount is ever entered.
 */
static int
remove_entry(struct walk *w, int dirfd, const char *name, int maybe_dir)
{

	if (!maybe_dir || unlinkat(dirfd, name, AT_REMOVEDIR) == -1) {
		if (maybe_dir && is_full(errno))
			return (walk_enter(w, dirfd, name));
		if (maybe_dir && errno != ENOTDIR && errno != ENOENT)
			return (-1);
		if (unlinkat(dirfd, name, 0) == -1 && errno != ENOENT)
			return (-1);
	}
	return (0);
}

/* The deepest level is empty, or looked so: remove it from the one above. */
static int
walk_leave(struct walk *w)
{
	const struct level *l = &w->levels[w->n - 1];
	char *name;
	int fd, rc;

	if (walk_reopen_parent(w) == -1)
		return (-1);
	fd = dirfd(w->levels[w->n - 2].dir);
	rc = unlinkat(fd, l->name, AT_REMOVEDIR);
	if (rc == -1 && errno == ENOENT)
		rc = 0;
	if (rc == -1 && is_full(errno) && w->again++ < AGAIN_MAX) {
		if ((name = strdup(l->name)) == NULL)
			return (-1);
		walk_pop(w);
		rc = walk_enter(w, fd, name);
		free(name);
		return (rc);
	}
	if (rc == 0)
		walk_pop(w);
	return (rc);
}

/* Empty the top level. */
static int
walk_run(struct walk *w)
{
	const struct dirent *e;
	DIR *dir;

	for (;;) {
		dir = w->levels[w->n - 1].dir;
		errno = 0;
		if ((e = readdir(dir)) == NULL) {
			if (errno != 0)
				return (-1);
			if (w->n == 1)
				return (0);
			if (walk_leave(w) == -1)
				return (-1);
			continue;
		}
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (remove_entry(w, dirfd(dir), e->d_name,
		    e->d_type == DT_DIR || e->d_type == DT_UNKNOWN) == -1)
			return (-1);
	}
}

/*
 * Once more when the top has filled up again: remove_entry either removes it
 * (no level is left then) or enters it.
 */
int
io_remove_tree(int dirfd, const char *name)
{
	struct walk w = { 0 };
	int keep, rc;

	for (;;) {
		rc = remove_entry(&w, dirfd, name, 1);
		if (rc == -1 || w.n == 0)
			break;
		if ((rc = walk_run(&w)) == -1)
			break;
		walk_pop(&w);
		if (w.again++ == AGAIN_MAX) {
			errno = ENOTEMPTY;
			rc = -1;
			break;
		}
	}
	keep = errno;
	while (w.n > 0)
		walk_pop(&w);
	free(w.levels);
	errno = keep;
	return (rc);
}
