/*
 * The cached trees of a tenant as a list, and what has to leave it.  Touches
 * trees/ in that tenant's work directory, with its rights.
 */
#include <sys/file.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/log.h"
#include "lib/size.h"
#include "treecache_internal.h"

#define STALE_S         3600    /* an unfinished tree of a dead keeper */
#define ASIDE           ".bad."

struct list {
	struct treecache_old *v;
	size_t n, cap;
};

static int
old_cmp(const void *a, const void *b)
{
	const struct treecache_old *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return (x->used.tv_sec < y->used.tv_sec ? -1 : 1);
	return (x->used.tv_nsec < y->used.tv_nsec ? -1 :
	    x->used.tv_nsec > y->used.tv_nsec);
}

static int
old_add(int trees, const char *name, struct list *l)
{
	char path[HEX_LEN + 8];
	struct treecache_old *p;
	struct stat st;

	if (strlen(name) != HEX_LEN)
		return (0);
	p = size_grow(l->v, &l->cap, l->n + 1, sizeof(*p));
	if (p == NULL)
		return (-1);
	l->v = p;
	p += l->n++;
	memset(p, 0, sizeof(*p));
	(void)snprintf(path, sizeof(path), "%s/mark", name);
	if (fstatat(trees, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		p->used = st.st_mtim;
	memcpy(p->name, name, HEX_LEN + 1);
	return (0);
}

/* Does a job have it, or a tree that lies on it? */
static int
in_use(int trees, const char *name)
{
	char path[NAME_MAX + 8];
	struct stat st;
	int mark, rc;

	(void)snprintf(path, sizeof(path), "%s/mark", name);
	mark = openat(trees, path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (mark == -1)
		return (0);
	rc = flock(mark, LOCK_EX | LOCK_NB) == -1 ||
	    fstat(mark, &st) == -1 || st.st_nlink > 1;
	io_close(&mark);
	return (rc);
}

/*
 * Unfinished and half-removed ones whose keeper is gone; and what was set
 * aside, as soon as nobody needs it.
 */
static void
sweep_one(int trees, const char *name)
{
	struct stat st;

	if (fstatat(trees, name, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
	    in_use(trees, name))
		return;
	if (strncmp(name, ASIDE, sizeof(ASIDE) - 1) == 0 ||
	    st.st_ctim.tv_sec + STALE_S < time(NULL))
		(void)io_remove_tree(trees, name);
}

void
treecache_aside(int trees, const char *hex)
{
	char name[HEX_LEN + 48];

	(void)snprintf(name, sizeof(name), ASIDE "%s.%d.%" PRIu64, hex,
	    (int)getpid(), io_mono_us());
	if (renameat(trees, hex, trees, name) == -1 && errno != ENOENT)
		log_warn("tree %s", hex);
}

static int
list_read(int trees, int sweep, struct list *l)
{
	struct dirent *e;
	int fd, rc = 0;
	DIR *d;

	fd = openat(trees, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	if ((d = fdopendir(fd)) == NULL) {
		io_close(&fd);
		return (-1);
	}
	while (rc == 0 && (e = readdir(d)) != NULL) {
		if (e->d_name[0] != '.')
			rc = old_add(trees, e->d_name, l);
		else if (sweep && strlen(e->d_name) > HEX_LEN)
			sweep_one(trees, e->d_name);
	}
	closedir(d);
	if (l->n > 1)
		qsort(l->v, l->n, sizeof(*l->v), old_cmp);
	return (rc);
}

int
treecache_list(int trees, struct treecache_old **v, size_t *n)
{
	struct list l = { 0 };
	int rc = list_read(trees, 0, &l);

	*v = l.v;
	*n = l.n;
	return (rc);
}

/*
 * With the lock, nobody can begin to use it or to lay a tree over it, and
 * whoever did so before has its name in a directory of its own.  That the mark
 * is still there under the name means that nobody removed it before us.
 */
static int
mark_own(int trees, const char *path, int mark, int stale)
{
	struct stat is, named;

	if (flock(mark, LOCK_EX | LOCK_NB) == -1 || fstat(mark, &is) == -1 ||
	    fstatat(trees, path, &named, AT_SYMLINK_NOFOLLOW) == -1)
		return (-1);
	if (is.st_ino != named.st_ino || is.st_dev != named.st_dev)
		return (-1);
	return (is.st_nlink > 1 && !stale ? -1 : 0);
}

int
treecache_evict(int trees, const char *name, int stale)
{
	char path[HEX_LEN + 8], gone[HEX_LEN + 32];
	int mark, rc = -1;

	(void)snprintf(path, sizeof(path), "%s/mark", name);
	mark = openat(trees, path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (mark != -1 && mark_own(trees, path, mark, stale) == -1) {
		io_close(&mark);
		return (-1);
	}
	/* Take its name away first. */
	(void)snprintf(gone, sizeof(gone), ".gone.%s.%d", name, (int)getpid());
	if (renameat(trees, name, trees, gone) == 0 &&
	    io_remove_tree(trees, gone) == 0)
		rc = 0;
	else if (errno != ENOENT)
		log_warn("an old tree, %s", name);
	io_close(&mark);
	return (rc);
}

void
treecache_trim(int trees)
{
	struct list l = { 0 };
	size_t i, n;

	(void)list_read(trees, 1, &l);
	n = l.n;
	/* What one lay on may follow it. */
	for (i = 0; n > TREECACHE_MAX && i < l.n; i++) {
		if (l.v[i].name[0] == '\0' ||
		    treecache_evict(trees, l.v[i].name, 0) == -1)
			continue;
		l.v[i].name[0] = '\0';
		n--;
		i = (size_t)-1;
	}
	free(l.v);
}
