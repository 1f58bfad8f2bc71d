/*
 * Modes of directories in an apply: those that may not be written to are
 * opened first and closed last.  Looks at directories, plans operations.
 */
#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apply_internal.h"
#include "lib/size.h"

static struct dmode *
add(struct apply *a, const char *path, size_t len)
{
	struct dmode *v;

	v = size_grow(a->dirs, &a->dirs_cap, a->ndirs + 1, sizeof(*v));
	if (v == NULL)
		return (NULL);
	a->dirs = v;
	v += a->ndirs++;
	memset(v, 0, sizeof(*v));
	v->path = path;
	v->len = len;
	return (v);
}

/* Something is to be put into, or taken from, the directory of ${path}. */
int
dirs_open(struct apply *a, const char *path, size_t len)
{
	struct dmode *d;
	const char *base;
	struct stat st;
	int fd;

	if (geteuid() == 0 || memchr(path, '/', len) == NULL)
		return (0);
	/* Not there yet, or something else that gives way to it (whether it
	 * may was looked at before): it will be made writable. */
	if ((fd = walk_parent(&a->w, path, len, &base)) == -1)
		return (errno == ENOENT || errno == ENOTDIR ||
		    errno == ELOOP ? 0 : -1);
	if (!a->w.moved)
		return (0);
	if (fstat(fd, &st) == -1)
		return (-1);
	if ((st.st_mode & 0300) == 0300)
		return (0);
	if ((d = add(a, path, (size_t)(base - path) - 1)) == NULL)
		return (-1);
	d->old = d->last = st.st_mode & 07777;
	d->open = 1;
	return (0);
}

/* A directory is to have another mode in the end. */
int
dirs_mode(struct apply *a, const char *path, size_t len, uint32_t old,
    uint32_t last)
{
	struct dmode *d;

	if ((d = add(a, path, len)) == NULL)
		return (-1);
	d->old = old;
	d->last = last;
	d->set = 1;
	return (0);
}

static int
by_path(const void *x, const void *y)
{
	const struct dmode *a = x, *b = y;

	return (tree_name_cmp((const uint8_t *)a->path, a->len,
	    (const uint8_t *)b->path, b->len));
}

/* One entry for each directory. */
static void
unite(struct apply *a)
{
	struct dmode *d = a->dirs, *last;
	size_t i, n = 0;

	if (a->ndirs > 1)
		qsort(d, a->ndirs, sizeof(*d), by_path);
	for (i = 0; i < a->ndirs; i++) {
		if (n == 0 || by_path(&d[n - 1], &d[i]) != 0) {
			d[n++] = d[i];
			continue;
		}
		last = &d[n - 1];
		if (d[i].set) {
			last->last = d[i].last;
			last->set = 1;
		}
		last->open |= d[i].open;
	}
	a->ndirs = n;
}

static int
add_chmod(struct apply *a, const struct dmode *d, uint32_t from, uint32_t to)
{
	struct jop op = { .type = JOP_CHMOD, .path_len = (uint32_t)d->len };

	if (from == to)
		return (0);
	if ((op.path = ops_own(a, d->path, d->len)) == NULL)
		return (-1);
	op.old.kind = op.new.kind = TREE_DIR;
	op.old.mode = from;
	op.new.mode = to;
	return (journal_add(&a->j, &op));
}

int
dirs_before(struct apply *a)
{
	const struct item *it;
	size_t i;

	unite(a);
	for (i = 0; i < a->ndirs; i++) {
		it = plan_find(a, a->dirs[i].path, a->dirs[i].len);
		a->dirs[i].goes = it != NULL && it->verdict == MERGE_TAKE &&
		    it->ours.kind == TREE_DIR;
		if (a->dirs[i].open && add_chmod(a, &a->dirs[i],
		    a->dirs[i].old, a->dirs[i].old | 0700) == -1)
			return (-1);
	}
	return (0);
}

/* Deepest first: one that is closed cannot be entered any more. */
int
dirs_after(struct apply *a)
{
	const struct dmode *d;
	size_t i;

	for (i = a->ndirs; i-- > 0;) {
		d = &a->dirs[i];
		if (!d->goes && add_chmod(a, d, d->open ? d->old | 0700 :
		    d->old, d->last) == -1)
			return (-1);
	}
	return (0);
}
