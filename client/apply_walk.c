/*
 * Finds directories below a root; see apply_walk.h.  Opens directories only.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/openat2.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apply_walk.h"
#include "lib/io.h"
#include "lib/size.h"

#define STEP_MAX        4000    /* below PATH_MAX, above any name */

void
walk_init(struct walk *w, int rootfd)
{
	memset(w, 0, sizeof(*w));
	w->root = rootfd;
	w->at = -1;
}

void
walk_forget(struct walk *w)
{
	io_close(&w->at);
	w->len = 0;
}

void
walk_done(struct walk *w)
{
	walk_forget(w);
	free(w->path);
	w->path = NULL;
}

static int
open_dir(int dirfd, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
	    RESOLVE_NO_XDEV };

	return ((int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how)));
}

/* Go down by ${n} bytes of path. */
static int
step(struct walk *w, const char *path, size_t n)
{
	char part[STEP_MAX + 1];
	int fd;

	memcpy(part, path, n);
	part[n] = '\0';
	if ((fd = open_dir(w->at, part)) == -1)
		return (-1);
	io_close(&w->at);
	w->at = fd;
	return (0);
}

/* How much of ${len} bytes of path to take at once: whole parts. */
static size_t
piece(const char *path, size_t len)
{
	size_t n = len;

	if (n <= STEP_MAX)
		return (n);
	for (n = STEP_MAX; n > 0 && path[n] != '/'; n--)
		;
	return (n);
}

static int
is_below(const struct walk *w, const char *path, size_t len)
{
	return (w->at != -1 && w->len <= len &&
	    memcmp(w->path, path, w->len) == 0 &&
	    (w->len == 0 || w->len == len || path[w->len] == '/'));
}

static int
enter(struct walk *w, const char *path, size_t len)
{
	size_t i, n;
	char *p;

	w->moved = w->at == -1 || w->len != len ||
	    memcmp(w->path, path, len) != 0;
	if (!w->moved)
		return (0);
	if ((p = size_grow(w->path, &w->cap, len + 1, 1)) == NULL)
		return (-1);
	w->path = p;
	if (!is_below(w, path, len)) {
		walk_forget(w);
		if ((w->at = open_dir(w->root, ".")) == -1)
			return (-1);
	}
	for (i = w->len; i < len; i += n) {
		i += path[i] == '/';
		if ((n = piece(path + i, len - i)) == 0) {
			errno = ENAMETOOLONG;
			goto err0;
		}
		if (step(w, path + i, n) == -1)
			goto err0;
	}
	memcpy(w->path, path, len);
	w->len = len;
	return (0);

err0:
	walk_forget(w);
	return (-1);
}

int
walk_parent(struct walk *w, const char *path, size_t len, const char **base)
{
	const char *slash = memrchr(path, '/', len);

	*base = slash == NULL ? path : slash + 1;
	if (enter(w, path, slash == NULL ? 0 : (size_t)(slash - path)) == -1)
		return (-1);
	return (w->at);
}

size_t
walk_blocked(struct walk *w, const char *path, size_t len)
{
	char name[NAME_MAX + 1];
	struct stat st;
	size_t i, n;
	int fd;

	for (i = 0; i < len; i += n + 1) {
		if (enter(w, path, i == 0 ? 0 : i - 1) == -1)
			return (0);
		fd = w->at;
		for (n = 0; i + n < len && path[i + n] != '/'; n++)
			if (n == NAME_MAX)
				return (0);
		memcpy(name, path + i, n);
		name[n] = '\0';
		if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
			return (0);
		if (!S_ISDIR(st.st_mode))
			return (i + n);
	}
	return (0);
}
