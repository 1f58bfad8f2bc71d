/*
 * Saved caches: which there are, which are too many, and a new one in the place
 * of the former.  Touches caches/ of one tenant's work directory.
 */
#include <sys/file.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachedir.h"
#include "cachedir_internal.h"
#include "crash.h"
#include "io.h"
#include "size.h"

#define OLD             "old"           /* .KEY.oldN */
#define LIST_MAX        4096            /* a keeper makes no more */

static int
used_cmp(const void *a, const void *b)
{
	const struct cachedir *x = a, *y = b;

	if (x->retired != y->retired)
		return (x->retired ? -1 : 1);
	if (x->used_us != y->used_us)
		return (x->used_us < y->used_us ? -1 : 1);
	return (strcmp(x->key, y->key));
}

struct list {
	struct cachedir *v;
	size_t n, cap;
};

static int
list_add(int caches, const char *name, struct list *l)
{
	struct cachedir *c;
	int dir;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strlen(name) < CACHEDIR_KEY || strlen(name) >= CACHEDIR_TMP ||
	    l->n == LIST_MAX)
		return (0);
	if ((c = size_grow(l->v, &l->cap, l->n + 1, sizeof(*c))) == NULL)
		return (-1);
	l->v = c;
	c += l->n;
	memset(c, 0, sizeof(*c));
	if ((dir = cachedir_opendir(caches, name)) == -1)
		return (0);
	(void)cachedir_mark_read(dir, &c->mark, &c->used_us);
	io_close(&dir);
	memcpy(c->key, name, strlen(name) + 1);
	c->retired = name[0] == '.';
	/* Without a mark it is still being made, or removed. */
	if (!c->retired || c->mark.name[0] != '\0')
		l->n++;
	return (0);
}

int
cachedir_list(int caches, struct cachedir **v, size_t *n)
{
	struct list l = { NULL, 0, 0 };
	struct dirent *e;
	int fd, rc = 0;
	DIR *d;

	if ((fd = cachedir_opendir(caches, ".")) == -1)
		return (-1);
	if ((d = fdopendir(fd)) == NULL) {
		io_close(&fd);
		return (-1);
	}
	while (rc == 0 && (e = readdir(d)) != NULL)
		rc = list_add(caches, e->d_name, &l);
	closedir(d);
	if (rc == -1) {
		free(l.v);
		return (-1);
	}
	if (l.n > 0)
		qsort(l.v, l.n, sizeof(*l.v), used_cmp);
	*v = l.v;
	*n = l.n;
	return (0);
}

/* Give it a name that nobody looks for.  Users have it open. */
int
cachedir_retire(int caches, const char *key)
{
	char name[CACHEDIR_TMP];
	int i;

	for (i = 0; i < LIST_MAX; i++) {
		(void)snprintf(name, sizeof(name), ".%.*s." OLD "%d",
		    CACHEDIR_KEY, key, i);
		if (renameat2(caches, key, caches, name,
		    RENAME_NOREPLACE) == 0)
			return (0);
		if (errno != EEXIST)
			return (-1);
	}
	return (-1);
}

/* Is somebody using it? */
static int
in_use(int caches, const char *name)
{
	int dir, rc;

	if ((dir = cachedir_opendir(caches, name)) == -1)
		return (0);
	rc = flock(dir, LOCK_EX | LOCK_NB) == -1;
	io_close(&dir);
	return (rc);
}

/* Who has it open and no lock yet will see that it is not that cache. */
static void
remove_unused(int caches, const char *name)
{
	int dir;

	if ((dir = cachedir_opendir(caches, name)) == -1)
		return;
	if (flock(dir, LOCK_EX | LOCK_NB) == 0) {
		CRASH_POINT("cache-sweep");
		(void)io_remove_tree(caches, name);
	}
	io_close(&dir);
}

void
cachedir_sweep(int caches)
{
	struct dirent *e;
	DIR *d;
	int fd;

	if ((fd = cachedir_opendir(caches, ".")) == -1)
		return;
	if ((d = fdopendir(fd)) == NULL) {
		io_close(&fd);
		return;
	}
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] == '.' && strcmp(e->d_name, ".") != 0 &&
		    strcmp(e->d_name, "..") != 0)
			remove_unused(caches, e->d_name);
	closedir(d);
}

/* What there would be with the new one in the place of the former. */
struct room {
	uint64_t bytes, total, sum;
	size_t left;
};

static int
fits(const struct room *r)
{
	return (r->bytes <= r->total && r->sum <= r->total - r->bytes &&
	    r->left < CACHEDIR_KEPT);
}

/* Choose what goes, the oldest use first, until there is room.  0 or -1. */
static int
choose(const struct cachedir_new *n, struct cachedir *v, size_t nv,
    struct room *r)
{
	size_t i;

	for (i = 0; i < nv; i++) {
		/* The former counts only if somebody has it. */
		v[i].goes = strcmp(v[i].key, n->tmp) == 0 ||
		    (strcmp(v[i].key, n->key) == 0 &&
		    !in_use(n->caches, v[i].key));
		if (v[i].goes)
			continue;
		r->sum += v[i].mark.bytes;
		r->left++;
	}
	for (i = 0; i < nv && !fits(r); i++) {
		if (v[i].goes || strcmp(v[i].key, n->key) == 0 ||
		    in_use(n->caches, v[i].key))
			continue;
		v[i].goes = 1;
		r->sum -= v[i].mark.bytes;
		r->left--;
	}
	return (fits(r) ? 0 : -1);
}

/*
 * What stays is to be at most ${total} bytes, with the new one.  Removing is
 * for later: nobody shall wait for it.
 */
static int
make_room(const struct cachedir_new *n, uint64_t total)
{
	struct room r = { .bytes = n->bytes, .total = total };
	struct cachedir *v;
	size_t i, nv;

	if (cachedir_list(n->caches, &v, &nv) == -1)
		return (-1);
	if (choose(n, v, nv, &r) == -1) {
		free(v);
		errno = EDQUOT;
		return (-1);
	}
	for (i = 0; i < nv; i++)
		if (v[i].goes && v[i].key[0] != '.' &&
		    strcmp(v[i].key, n->key) != 0)
			(void)cachedir_retire(n->caches, v[i].key);
	free(v);
	CRASH_POINT("cache-room");
	return (0);
}

/* In one step; what it replaces is then under the other name. */
static int
put_in_place(struct cachedir_new *n)
{
	if (renameat2(n->caches, n->tmp, n->caches, n->key,
	    RENAME_EXCHANGE) == 0)
		return (0);
	if (errno != ENOENT)
		return (-1);
	if (renameat2(n->caches, n->tmp, n->caches, n->key,
	    RENAME_NOREPLACE) == -1)
		return (-1);
	n->tmp[0] = '\0';
	return (0);
}

int
cachedir_publish(struct cachedir_new *n, uint64_t total)
{
	int lock, rc = -1;

	if ((lock = cachedir_opendir(n->caches, ".")) == -1)
		return (-1);
	if (flock(lock, LOCK_EX) == 0 &&
	    make_room(n, total) == 0)
		rc = put_in_place(n);
	io_close(&lock);
	if (rc == -1)
		return (-1);
	CRASH_POINT("cache-placed");
	/* Ours is a cache now; the lock goes with the descriptor. */
	io_close(&n->dir);
	cachedir_sweep(n->caches);
	CRASH_POINT("cache-swept");
	return (0);
}

void
cachedir_abort(struct cachedir_new *n)
{
	if (n->tmp[0] == '\0' && n->dir == -1)
		return;
	io_close(&n->dir);
	if (n->tmp[0] != '\0')
		remove_unused(n->caches, n->tmp);
	n->tmp[0] = '\0';
}
