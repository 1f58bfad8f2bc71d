/*
 * What is in the tree now.  Reads below the root: directories, files, links.
 */
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <linux/fs.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "apply_internal.h"
#include "lib/content.h"
#include "lib/io.h"

#define READ_TRIES      3
#define RACY_NS         20000000        /* as in statcache.c */

static int64_t
ns_of(const struct timespec *ts)
{
	return ((int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec);
}

static int
same_stat(const struct stat *a, const struct stat *b)
{
	return (a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	    a->st_mode == b->st_mode && a->st_size == b->st_size &&
	    ns_of(&a->st_mtim) == ns_of(&b->st_mtim) &&
	    ns_of(&a->st_ctim) == ns_of(&b->st_ctim));
}

static uint8_t
kind_of(mode_t mode)
{
	return (S_ISREG(mode) ? TREE_FILE : S_ISDIR(mode) ? TREE_DIR :
	    S_ISLNK(mode) ? TREE_LINK : MERGE_OTHER);
}

static int
read_target(struct item *it, int dirfd, const char *name)
{
	char buf[TREE_TARGET_MAX + 2];
	ssize_t n;

	if ((n = readlinkat(dirfd, name, buf, sizeof(buf))) == -1)
		return (-1);
	if (n > TREE_TARGET_MAX) {
		it->ours.kind = MERGE_OTHER;
		return (0);
	}
	if ((it->target = malloc((size_t)n + 1)) == NULL)
		return (-1);
	memcpy(it->target, buf, (size_t)n);
	it->ours.target = (uint8_t *)it->target;
	it->ours.target_len = (uint16_t)n;
	return (0);
}

/*
 * Fill in kind, mode, target and stat.  Return 1 when something there that is
 * no directory is in the way of the path, 0, or -1.
 */
int
local_look(struct apply *a, struct item *it)
{
	const char *path = item_path(it), *base;
	int fd;

	memset(&it->ours, 0, sizeof(it->ours));
	if ((fd = walk_parent(&a->w, path, it->c.path_len, &base)) == -1) {
		if (errno == ENOENT)
			return (0);
		if (errno == ENOTDIR || errno == ELOOP)
			return (1);
		return (apply_fail(a, path, it->c.path_len, errno == EXDEV ?
		    "lies on another file system than the root of the tree; "
		    "fetch it with -o" : NULL));
	}
	if (fstatat(fd, base, &it->st, AT_SYMLINK_NOFOLLOW) == -1) {
		memset(&it->st, 0, sizeof(it->st));
		return (errno == ENOENT ? 0 : apply_fail(a, path,
		    it->c.path_len, NULL));
	}
	if (it->st.st_dev != a->st.dev)
		return (apply_fail(a, path, it->c.path_len, "lies on another "
		    "file system than the root of the tree; fetch it with -o"));
	it->ours.kind = kind_of(it->st.st_mode);
	it->ours.mode = it->st.st_mode & 0777;
	if (it->ours.kind == TREE_LINK && read_target(it, fd, base) == -1)
		return (apply_fail(a, path, it->c.path_len, NULL));
	return (0);
}

/* Does what becomes of it depend on what is in it? */
static int
matters(const struct item *it)
{
	return (it->selected && it->ours.kind == TREE_FILE &&
	    it->c.op != CHANGE_MODE && !it->blocked);
}

static int
open_ours(struct apply *a, const struct item *it)
{
	const char *base;
	int fd;

	fd = walk_parent(&a->w, item_path(it), it->c.path_len, &base);
	if (fd == -1)
		return (-1);
	return (openat(fd, base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_NOCTTY | O_CLOEXEC));
}

static void
note_racy(struct item *it)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	it->racy = ns_of(&it->st.st_mtim) >= ns_of(&now) - RACY_NS;
}

static int
hash_ours(struct apply *a, struct item *it)
{
	struct stat after;
	uint64_t size;
	int fd, i, rc = -1;

	if ((fd = open_ours(a, it)) == -1)
		goto err0;
	for (i = 0; i < READ_TRIES; i++) {
		note_racy(it);
		if (fstat(fd, &it->st) == -1 ||
		    content_from_fd(fd, NULL, NULL, &it->ours.ref, &size) ==
		    -1 || fstat(fd, &after) == -1)
			goto err1;
		if (same_stat(&it->st, &after) &&
		    size == (uint64_t)after.st_size) {
			rc = 0;
			break;
		}
	}
	note_racy(it);
	close(fd);
	if (rc == -1)
		return (apply_fail(a, item_path(it), it->c.path_len,
		    "is being written to; try again when it holds still"));
	it->ours.mode = it->st.st_mode & 0777;
	return (0);

err1:
	close(fd);
err0:
	return (apply_fail(a, item_path(it), it->c.path_len, NULL));
}

/* Is the file as the cache knows it?  Then that knows its content. */
static int
from_cache(struct statcache_at *c, struct item *it)
{
	const struct stat_entry *e;

	if (c == NULL ||
	    (e = statcache_at_find(c, item_path(it), it->c.path_len)) == NULL ||
	    !stat_entry_same(e, &it->st))
		return (0);
	it->ours.ref = e->ref;
	note_racy(it);
	return (1);
}

int
local_know(struct apply *a)
{
	struct statcache_at *c = NULL;
	size_t i;
	int rc = 0;

	if (a->sc != NULL)
		c = statcache_at_new(a->sc);
	for (i = 0; rc == 0 && i < a->n; i++) {
		if (!matters(&a->v[i]) || from_cache(c, &a->v[i]))
			continue;
		rc = apply_pulse(a) == -1 ? -1 : hash_ours(a, &a->v[i]);
	}
	statcache_at_free(c);
	return (rc);
}

void
local_begin(struct apply *a)
{
	if (a->o->cache != NULL)
		a->sc = statcache_load(a->o->cache);
}

int
local_read(struct apply *a, const struct item *it, uint8_t **buf, size_t *len)
{
	struct obj_ref now;
	char path[32];
	int fd, rc;

	if ((fd = open_ours(a, it)) == -1)
		return (-1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = io_file_read(AT_FDCWD, path, MERGE_TEXT_MAX, buf, len);
	close(fd);
	if (rc == -1)
		return (-1);
	/* What is merged is what was looked at. */
	if (content_from_mem(*buf, *len, NULL, NULL, &now) == 0 &&
	    obj_ref_equal(&now, &it->ours.ref))
		return (0);
	free(*buf);
	*buf = NULL;
	errno = ESTALE;
	return (-1);
}

/* Call with an O_PATH descriptor; the caller closes what it gets. */
static DIR *
list(int dirfd)
{
	DIR *d;
	int fd;

	if ((fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) ==
	    -1)
		return (NULL);
	if ((d = fdopendir(fd)) == NULL)
		close(fd);
	return (d);
}

int64_t
local_count(struct apply *a, const char *path, size_t len)
{
	const struct dirent *de;
	const char *base;
	int64_t n = 0;
	DIR *d;
	int fd, at;

	if ((at = walk_parent(&a->w, path, len, &base)) == -1 ||
	    (fd = openat(at, base, O_PATH | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1)
		return (-1);
	d = list(fd);
	close(fd);
	if (d == NULL)
		return (-1);
	while ((de = readdir(d)) != NULL)
		if (strcmp(de->d_name, ".") != 0 &&
		    strcmp(de->d_name, "..") != 0)
			n++;
	closedir(d);
	return (n);
}

/* Is there a directory entry of exactly this name? */
static int
is_listed(int dirfd, const char *name)
{
	const struct dirent *de;
	int found = 0;
	DIR *d;

	if ((d = list(dirfd)) == NULL)
		return (-1);
	while (!found && (de = readdir(d)) != NULL)
		found = strcmp(de->d_name, name) == 0;
	closedir(d);
	return (found);
}

/* Does this directory take names that differ in case for one? */
static int
folds_case(int dirfd, const char *name, const struct stat *st)
{
	char other[TREE_NAME_MAX + 1];
	struct stat os;
	int fd, flags = 0, any = 0;
	size_t i;

	fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd != -1) {
		(void)ioctl(fd, FS_IOC_GETFLAGS, &flags);
		close(fd);
		if ((flags & FS_CASEFOLD_FL) != 0)
			return (1);
	}
	for (i = 0; name[i] != '\0' && i < TREE_NAME_MAX; i++) {
		other[i] = (char)(isupper((unsigned char)name[i]) ?
		    tolower((unsigned char)name[i]) :
		    toupper((unsigned char)name[i]));
		any |= other[i] != name[i];
	}
	other[i] = '\0';
	return (any && fstatat(dirfd, other, &os, AT_SYMLINK_NOFOLLOW) == 0 &&
	    os.st_ino == st->st_ino && os.st_dev == st->st_dev);
}

/*
 * Something is at a path where nothing was submitted: is that its own name, or
 * one that this file system takes for the same?
 */
int
local_case_clash(struct apply *a, const struct item *it)
{
	const char *base;
	int fd;

	fd = walk_parent(&a->w, item_path(it), it->c.path_len, &base);
	return (fd != -1 && folds_case(fd, base, &it->st) &&
	    is_listed(fd, base) == 0);
}
