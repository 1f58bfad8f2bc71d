/*
 * The next state of a cache, made of the former and of what a job wrote over
 * it.  Works on what jobs left, with the tenant's rights, by descriptors and
 * without following links.  Knows the marks of overlayfs.
 *
 * A saved state is never written to, so what did not change is the same files
 * under new names, and the cost of saving is that of the entries, not of the
 * bytes.
 */
#include <sys/stat.h>
#include <sys/xattr.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache_copy.h"
#include "cache_merge.h"
#include "collect_internal.h"
#include "lib/crash.h"
#include "lib/io.h"
#include "lib/text.h"

#define LINKS   "links"         /* beside the tree, while it is made */

struct merge {
	int dir;
	int links;              /* LINKS, or -1 */
	uint64_t max;
	struct cache_size size;
	struct links seen_up, seen_low;
	char *why;
	size_t len;
};

/* Recursion: a directory is entered by what merges directories. */
static int merge(struct merge *, DIR *, int, int, unsigned int);

/* The first fault is the one that counts.  Always -1. */
static int __attribute__((format(printf, 2, 3)))
refuse(struct merge *m, const char *fmt, ...)
{
	va_list ap;

	if (m->why[0] == '\0') {
		va_start(ap, fmt);
		(void)vsnprintf(m->why, m->len, fmt, ap);
		va_end(ap);
	}
	return (-1);
}

static int
failed(struct merge *m)
{
	int e = errno;

	if (e == ENOSPC || e == EDQUOT)
		return (refuse(m, "there is no room on the host"));
	return (refuse(m, "it could not be copied: %s", strerror(e)));
}

static int
is_dots(const char *name)
{
	return (strcmp(name, ".") == 0 || strcmp(name, "..") == 0);
}

/* Count it.  One inode of several names is counted once. */
static int
count(struct merge *m, struct links *seen, const struct stat *st)
{
	uint64_t n = (uint64_t)st->st_blocks * 512;
	struct link_seen *l;

	if (n < CACHE_ENTRY)
		n = CACHE_ENTRY;
	if (st->st_nlink > 1 && S_ISREG(st->st_mode)) {
		if ((l = links_get(seen, st->st_ino)) == NULL)
			return (failed(m));
		if (l->known)
			n = CACHE_ENTRY;
		l->known = 1;
	}
	m->size.entries++;
	if (__builtin_add_overflow(m->size.bytes, n, &m->size.bytes) ||
	    (m->max != 0 && m->size.bytes > m->max))
		return (refuse(m, "it is larger than the %s that one may hold "
		    "here", text_bytes(m->max)));
	return (0);
}

/*
 * A saved state is the tenant's alone, whatever ids the job had.  Before the
 * mode, for with the owner go its setuid bits.
 */
static int
own(struct merge *m, int dir, const char *name, const struct stat *st)
{
	if (st->st_uid == geteuid() && st->st_gid == getegid())
		return (0);
	if (fchownat(dir, name, geteuid(), getegid(),
	    AT_SYMLINK_NOFOLLOW) == -1)
		return (failed(m));
	return (0);
}

static int
links_dir(struct merge *m)
{
	if (m->links == -1 && mkdirat(m->dir, LINKS, 0700) == 0)
		m->links = openat(m->dir, LINKS, O_RDONLY | O_DIRECTORY |
		    O_NOFOLLOW | O_CLOEXEC);
	return (m->links);
}

/* A file or link that the job wrote. */
static int
move_leaf(struct merge *m, int up, const char *name, const struct stat *st,
    int to)
{
	int rc;

	if (count(m, &m->seen_up, st) == -1)
		return (-1);
	if (renameat(up, name, to, name) == 0) {
		CRASH_POINT("cache-moved");
		if (own(m, to, name, st) == -1)
			return (-1);
		if (S_ISREG(st->st_mode) && cache_strip(to, name) == -1)
			return (failed(m));
		return (0);
	}
	if (errno != EXDEV)
		return (failed(m));
	if (S_ISLNK(st->st_mode))
		rc = cache_copy_link(up, name, st, to);
	else if (st->st_nlink > 1 && links_dir(m) == -1)
		rc = -1;
	else
		rc = cache_copy_file(up, name, st, to, m->links);
	CRASH_POINT("cache-copied");
	return (rc == -1 ? failed(m) : 0);
}

static int
subdir(int dir, const char *name)
{
	if (dir == -1)
		return (-1);
	return (openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC));
}

/* A directory that is in one of them, or in both. */
static int
enter(struct merge *m, int up, int low, int to, const char *name,
    unsigned int depth)
{
	int u = subdir(up, name), l = subdir(low, name), t;
	DIR *d = NULL;

	if (up != -1 && (u == -1 || (d = fdopendir(u)) == NULL)) {
		io_close(&u);
		io_close(&l);
		return (failed(m));
	}
	if (mkdirat(to, name, 0700) == -1 || (t = subdir(to, name)) == -1) {
		if (d != NULL)
			closedir(d);
		io_close(&l);
		return (failed(m));
	}
	return (merge(m, d, l, t, depth + 1));
}

/* Another name for what did not change. */
static int
keep_leaf(struct merge *m, int low, const char *name, const struct stat *st,
    int to)
{
	if (count(m, &m->seen_low, st) == -1)
		return (-1);
	if (linkat(low, name, to, name, 0) == -1)
		return (failed(m));
	CRASH_POINT("cache-kept");
	return (0);
}

static int
see_up(struct merge *m, int up, int low, int to, const char *name,
    unsigned int depth)
{
	struct stat st;

	if (fstatat(up, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (failed(m));
	if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
		return (move_leaf(m, up, name, &st, to));
	/* What is no directory either is left out: devices, marks of what is
	 * gone.  It stays where it is, and hides what is below. */
	if (!S_ISDIR(st.st_mode))
		return (0);
	if (count(m, &m->seen_up, &st) == -1)
		return (-1);
	return (enter(m, up, low, to, name, depth));
}

static int
see_low(struct merge *m, int up, int low, int to, const char *name,
    unsigned int depth)
{
	struct stat st;

	if ((up != -1 && fstatat(up, name, &st, AT_SYMLINK_NOFOLLOW) == 0) ||
	    fstatat(to, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return (0);
	if (fstatat(low, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (failed(m));
	if (!S_ISDIR(st.st_mode))
		return (keep_leaf(m, low, name, &st, to));
	if (count(m, &m->seen_low, &st) == -1)
		return (-1);
	return (enter(m, -1, low, to, name, depth));
}

static int
see_all_low(struct merge *m, int up, int low, int to, unsigned int depth)
{
	struct dirent *e;
	int fd, rc = 0;
	DIR *d;

	if ((fd = openat(low, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (failed(m));
	if ((d = fdopendir(fd)) == NULL) {
		io_close(&fd);
		return (failed(m));
	}
	while (rc == 0 && (e = readdir(d)) != NULL)
		if (!is_dots(e->d_name))
			rc = see_low(m, up, low, to, e->d_name, depth);
	closedir(d);
	return (rc);
}

static int
is_opaque(int dir)
{
	char v;

	return (fgetxattr(dir, "user.overlay.opaque", &v, 1) == 1 && v == 'y');
}

static int
finish_dir(struct merge *m, const struct stat *st, int to)
{
	const struct timespec ts[2] = { st->st_atim, st->st_mtim };

	if (fchmod(to, st->st_mode & 07777) == -1 || futimens(to, ts) == -1)
		return (failed(m));
	return (0);
}

/*
 * What both show together, into ${to}.  Takes all three.  Mode and times are
 * those of the upper one; they are looked at before it is emptied.
 */
static int
merge(struct merge *m, DIR *d, int low, int to, unsigned int depth)
{
	int up = d == NULL ? -1 : dirfd(d), rc = 0;
	struct dirent *e;
	struct stat st;

	if (fstat(up != -1 ? up : low, &st) == -1)
		rc = failed(m);
	if (depth > CACHE_DEPTH)
		rc = refuse(m, "it is more than %d directories deep",
		    CACHE_DEPTH);
	if (up != -1 && is_opaque(up))
		io_close(&low);
	while (d != NULL && rc == 0 && (e = readdir(d)) != NULL)
		if (!is_dots(e->d_name))
			rc = see_up(m, up, low, to, e->d_name, depth);
	if (rc == 0 && low != -1)
		rc = see_all_low(m, up, low, to, depth);
	if (rc == 0)
		rc = finish_dir(m, &st, to);
	if (d != NULL)
		closedir(d);
	io_close(&low);
	io_close(&to);
	return (rc);
}

int
cache_merge(int up, int low, int dir, uint64_t max, struct cache_size *size,
    char *why, size_t len)
{
	struct merge m = { .dir = dir, .links = -1, .max = max, .why = why,
	    .len = len };
	int to, rc;
	DIR *d;

	why[0] = '\0';
	if ((d = fdopendir(up)) == NULL ||
	    (to = subdir(dir, "tree")) == -1) {
		rc = failed(&m);
		if (d != NULL)
			closedir(d);
		else
			io_close(&up);
		io_close(&low);
		return (rc);
	}
	rc = merge(&m, d, low, to, 1);
	if (m.links != -1 && io_remove_tree(dir, LINKS) == -1 && rc == 0)
		rc = failed(&m);
	io_close(&m.links);
	free(m.seen_up.v);
	free(m.seen_low.v);
	*size = m.size;
	return (rc);
}
