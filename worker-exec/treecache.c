/*
 * The trees of a tenant that lie ready as directories: found, made, evicted.
 * Touches trees/ in that tenant's work directory, with its rights.
 */
#include <sys/file.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/log.h"
#include "lib/size.h"
#include "materialise.h"
#include "proto/client_msg.h"
#include "treecache.h"

#define HEX_LEN         (2 * OBJ_ID_LEN)
#define BOOT_LEN        36
#define STALE_S         3600    /* an unfinished tree of a dead keeper */

static int
fault(struct err *err, const char *what)
{
	int e = errno;

	if (e == ENOSPC || e == EDQUOT)
		return (err_set(err, ERR_FULL, "there is no room on the host "
		    "for the submitted tree (%s)", strerror(e)));
	return (err_set(err, ERR_IO, "the host's copy of the submitted tree: "
	    "%s: %s", what, strerror(e)));
}

/* This boot's name.  Without one, nothing is ever found. */
static int
boot_id(char *boot)
{
	int fd, rc;

	fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	rc = io_read(fd, boot, BOOT_LEN);
	io_close(&fd);
	return (rc);
}

/* A mark that is whole, of this boot, and not being removed: locked. */
static int
mark_lock(int dir)
{
	char boot[BOOT_LEN], is[BOOT_LEN];
	struct stat st;
	int fd;

	if ((fd = openat(dir, "mark", O_RDWR | O_NOFOLLOW | O_CLOEXEC)) == -1)
		goto err0;
	if (flock(fd, LOCK_SH | LOCK_NB) == -1)
		goto err1;
	if (fstat(fd, &st) == -1 || st.st_nlink == 0)
		goto err1;
	if (io_read(fd, is, BOOT_LEN) == -1 || boot_id(boot) == -1 ||
	    memcmp(is, boot, BOOT_LEN) != 0)
		goto err1;
	/* The oldest use goes first when there are too many. */
	(void)futimens(fd, NULL);
	return (fd);

err1:
	io_close(&fd);
err0:
	return (-1);
}

static int
open_dir(int dir, const char *name)
{

	return (openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC));
}

static int
find(int trees, const char *hex, struct treecache_use *use)
{
	int dir;

	if ((dir = open_dir(trees, hex)) == -1)
		return (-1);
	use->lock = mark_lock(dir);
	io_close(&dir);
	return (use->lock == -1 ? -1 : 0);
}

static int
mark_make(int dir)
{
	char boot[BOOT_LEN];
	int fd;

	if (boot_id(boot) == -1)
		return (-1);
	fd = openat(dir, "mark", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd == -1)
		return (-1);
	if (flock(fd, LOCK_SH) == -1 || io_write(fd, boot, BOOT_LEN) == -1)
		io_close(&fd);
	return (fd);
}

/* Lay the tree out in ${dir}.  Return the locked mark, or -1. */
static int
fill(int dir, struct storeclient *sc, const struct obj_ref *root,
    struct err *err)
{
	int tree, mark, rc;

	if (mkdirat(dir, "tree", 0700) == -1 ||
	    (tree = open_dir(dir, "tree")) == -1)
		return (fault(err, "tree"));
	rc = materialise(tree, sc, root, err);
	io_close(&tree);
	if (rc == -1)
		return (-1);
	if ((mark = mark_make(dir)) == -1)
		return (fault(err, "mark"));
	return (mark);
}

/* Give the finished tree its name.  Somebody may have been faster. */
static int
publish(int trees, const char *tmp, const char *hex, struct treecache_use *use,
    struct err *err)
{
	int tries;

	for (tries = 0; tries < 3; tries++) {
		if (renameat2(trees, tmp, trees, hex,
		    RENAME_NOREPLACE) == 0)
			return (0);
		if (errno != EEXIST && errno != ENOTEMPTY)
			break;
		io_close(&use->lock);
		if (find(trees, hex, use) == 0) {
			(void)io_remove_tree(trees, tmp);
			return (0);
		}
		/* What is there is of another boot, or broken. */
		if (io_remove_tree(trees, hex) == -1)
			break;
	}
	return (fault(err, hex));
}

static int
make(int trees, struct storeclient *sc, const struct obj_ref *root,
    const char *hex, struct treecache_use *use, struct err *err)
{
	char tmp[HEX_LEN + 32];
	int dir;

	(void)snprintf(tmp, sizeof(tmp), ".%s.%d", hex, (int)getpid());
	if (io_remove_tree(trees, tmp) == -1 ||
	    mkdirat(trees, tmp, 0700) == -1 ||
	    (dir = open_dir(trees, tmp)) == -1)
		return (fault(err, tmp));
	use->lock = fill(dir, sc, root, err);
	io_close(&dir);
	if (use->lock == -1 || publish(trees, tmp, hex, use, err) == -1) {
		io_close(&use->lock);
		(void)io_remove_tree(trees, tmp);
		return (-1);
	}
	return (0);
}

struct old {
	char name[HEX_LEN + 1];
	time_t used;
};

static int
old_cmp(const void *a, const void *b)
{
	const struct old *x = a, *y = b;

	return (x->used < y->used ? -1 : x->used > y->used);
}

/* Remove a tree that nobody uses: take its name away first. */
static void
evict(int trees, const char *name)
{
	char gone[HEX_LEN + 32];
	int dir, mark;

	if ((dir = open_dir(trees, name)) == -1)
		return;
	mark = openat(dir, "mark", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	io_close(&dir);
	if (mark != -1 && flock(mark, LOCK_EX | LOCK_NB) == -1) {
		io_close(&mark);
		return;
	}
	(void)snprintf(gone, sizeof(gone), ".gone.%s.%d", name, (int)getpid());
	if (renameat(trees, name, trees, gone) == -1 ||
	    io_remove_tree(trees, gone) == -1)
		log_warn("an old tree, %s", name);
	io_close(&mark);
}

/* Unfinished and half-removed ones whose keeper is gone. */
static void
sweep_one(int trees, const char *name)
{
	struct stat st;

	if (fstatat(trees, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_ctim.tv_sec + STALE_S < time(NULL))
		(void)io_remove_tree(trees, name);
}

static int
old_add(int trees, const char *name, struct old **v, size_t *n, size_t *cap)
{
	char path[HEX_LEN + 8];
	struct old *p;
	struct stat st;

	if (strlen(name) != HEX_LEN)
		return (0);
	if ((p = size_grow(*v, cap, *n + 1, sizeof(*p))) == NULL)
		return (-1);
	*v = p;
	(void)snprintf(path, sizeof(path), "%s/mark", name);
	p[*n].used = fstatat(trees, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ?
	    st.st_mtime : 0;
	memcpy(p[(*n)++].name, name, HEX_LEN + 1);
	return (0);
}

/* Keep the most recently used ones. */
static void
trim(int trees)
{
	struct old *v = NULL;
	size_t n = 0, cap = 0, i;
	struct dirent *e;
	DIR *d;
	int fd;

	if ((fd = open_dir(trees, ".")) == -1)
		return;
	if ((d = fdopendir(fd)) == NULL) {
		io_close(&fd);
		return;
	}
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.' && strlen(e->d_name) > HEX_LEN)
			sweep_one(trees, e->d_name);
		else if (old_add(trees, e->d_name, &v, &n, &cap) == -1)
			break;
	}
	closedir(d);
	if (n > TREECACHE_MAX) {
		qsort(v, n, sizeof(*v), old_cmp);
		for (i = 0; i < n - TREECACHE_MAX; i++)
			evict(trees, v[i].name);
	}
	free(v);
}

int
treecache_get(int tenant, struct storeclient *sc, const struct obj_ref *root,
    struct treecache_use *use, struct err *err)
{
	char hex[HEX_LEN + 1];
	int trees, rc;

	use->lock = -1;
	obj_id_hex(root->id, hex);
	(void)snprintf(use->path, sizeof(use->path), "trees/%s/tree", hex);
	if (mkdirat(tenant, "trees", 0700) == -1 && errno != EEXIST)
		return (fault(err, "trees"));
	if ((trees = open_dir(tenant, "trees")) == -1)
		return (fault(err, "trees"));
	rc = find(trees, hex, use);
	if (rc == -1 && (rc = make(trees, sc, root, hex, use, err)) == 0)
		trim(trees);
	io_close(&trees);
	return (rc);
}
