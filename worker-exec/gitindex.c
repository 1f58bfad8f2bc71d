/*
 * The index of the stand-in for .git.  Reads directories of the tree, writes
 * that one file.
 *
 * Without an index every file is untracked: `git ls-files` lists nothing and
 * `git clean -x` removes the tree.  Real entries need the name of each blob,
 * and so all contents read, and then blobs that Git may ask for.  "Intent to
 * add" names nothing: files are tracked, unknown to a commit (there is none),
 * and what is in them is read where it is.  Git knows version 3, which has
 * these entries, since 1.7; modes and sizes are asked of the files when they
 * matter.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "gitindex.h"
#include "lib/io.h"
#include "lib/sha1.h"
#include "lib/size.h"

#define INDEX           ".git/index"
#define HEAD            12
#define ENTRY           64              /* before the name, with its flags */
#define AT_MODE         24
#define AT_BLOB         40
#define AT_FLAGS        60
#define EXTENDED        0x4000
#define INTENT          0x2000
#define NAME_MASK       0x0fff
#define PATH_LEN        4096            /* Git takes no longer ones */
#define DEPTH_MAX       200             /* directories that are open at once */

/* What Git calls the blob without bytes: intent to add names it. */
static const uint8_t empty_blob[SHA1_LEN] = { 0xe6, 0x9d, 0xe2, 0x9b, 0xb2,
    0xd1, 0xd6, 0x43, 0x4b, 0x8b, 0x29, 0xae, 0x77, 0x5a, 0xd8, 0xc2, 0xe4,
    0x8c, 0x53, 0x91 };

struct item {
	char *key;              /* the name; of a directory, with a slash */
	uint8_t type;           /* DT_DIR, DT_REG, DT_LNK */
};

struct out {
	uint8_t *p;
	size_t len, cap;
	uint32_t n;
	char path[PATH_LEN];
	size_t path_len;
	unsigned depth;
};

struct listing {
	struct item *v;
	size_t n, cap;
};

static void
listing_done(struct listing *l)
{
	while (l->n > 0)
		free(l->v[--l->n].key);
	free(l->v);
}

static uint8_t
type_of(int dir, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return (e->d_type);
	if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (DT_UNKNOWN);
	return (IFTODT(st.st_mode));
}

static int
add(struct listing *l, const char *name, uint8_t type)
{
	const size_t len = strlen(name);
	struct item *v;
	char *key;

	if ((v = size_grow(l->v, &l->cap, l->n + 1, sizeof(*v))) == NULL)
		return (-1);
	l->v = v;
	if ((key = malloc(len + 2)) == NULL)
		return (-1);
	memcpy(key, name, len + 1);
	if (type == DT_DIR)
		memcpy(key + len, "/", 2);
	v[l->n].key = key;
	v[l->n++].type = type;
	return (0);
}

/*
 * Git sorts whole paths by their bytes: that is this order, in each directory.
 */
static int
by_key(const void *x, const void *y)
{
	const struct item *a = x, *b = y;

	return (strcmp(a->key, b->key));
}

/* What Git could track; takes ${fd}. */
static int
list(int fd, struct listing *l)
{
	const struct dirent *e;
	int rc = 0;
	uint8_t type;
	DIR *d;

	if ((d = fdopendir(fd)) == NULL) {
		io_close(&fd);
		return (-1);
	}
	while (rc == 0 && (e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 ||
		    strcmp(e->d_name, "..") == 0 ||
		    strcasecmp(e->d_name, ".git") == 0)
			continue;
		type = type_of(dirfd(d), e);
		if (type == DT_DIR || type == DT_REG || type == DT_LNK)
			rc = add(l, e->d_name, type);
	}
	closedir(d);
	if (l->n > 1)
		qsort(l->v, l->n, sizeof(*l->v), by_key);
	return (rc);
}

static void
put16(uint8_t *p, size_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void
put32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, 4);
}

/* The entry of the path, padded with 1 to 8 NULs to a multiple of 8. */
static int
put_entry(struct out *o, uint8_t type)
{
	const size_t len = (ENTRY + o->path_len + 8) & ~(size_t)7;
	uint8_t *p;

	if (o->n == GITINDEX_MAX) {
		errno = EFBIG;
		return (-1);
	}
	if ((p = size_grow(o->p, &o->cap, o->len + len, 1)) == NULL)
		return (-1);
	o->p = p;
	p += o->len;
	memset(p, 0, len);
	put32(p + AT_MODE, type == DT_LNK ? 0120000 : 0100644);
	memcpy(p + AT_BLOB, empty_blob, SHA1_LEN);
	put16(p + AT_FLAGS, EXTENDED | (o->path_len < NAME_MASK ?
	    o->path_len : NAME_MASK));
	put16(p + AT_FLAGS + 2, INTENT);
	memcpy(p + ENTRY, o->path, o->path_len);
	o->len += len;
	o->n++;
	return (0);
}

static int walk(struct out *, int);

static int
take(struct out *o, int dir, const struct item *it)
{
	const size_t at = o->path_len, len = strlen(it->key);
	int fd, rc = 0;

	if (len >= PATH_LEN - at)
		return (0);
	memcpy(o->path + at, it->key, len + 1);
	o->path_len += len;
	if (it->type != DT_DIR)
		rc = put_entry(o, it->type);
	else if (o->depth < DEPTH_MAX) {
		o->path[o->path_len - 1] = '\0';
		fd = openat(dir, o->path + at, O_RDONLY | O_DIRECTORY |
		    O_NOFOLLOW | O_CLOEXEC);
		o->path[o->path_len - 1] = '/';
		if (fd != -1)           /* else one that nobody may read */
			rc = walk(o, fd);
	}
	o->path_len = at;
	return (rc);
}

/* Takes ${fd}. */
static int
walk(struct out *o, int fd)
{
	struct listing l = { 0 };
	size_t i;
	int rc = -1, dir;

	if ((dir = dup(fd)) == -1) {
		io_close(&fd);
		return (-1);
	}
	o->depth++;
	if (list(fd, &l) == 0)
		rc = 0;
	for (i = 0; rc == 0 && i < l.n; i++)
		rc = take(o, dir, &l.v[i]);
	o->depth--;
	listing_done(&l);
	io_close(&dir);
	return (rc);
}

static int
write_index(struct out *o, int dir)
{
	uint8_t *p;
	int fd, rc;

	if ((p = size_grow(o->p, &o->cap, o->len + SHA1_LEN, 1)) == NULL)
		return (-1);
	o->p = p;
	memcpy(p, "DIRC", 4);
	put32(p + 4, 3);
	put32(p + 8, o->n);
	sha1(p, o->len, p + o->len);
	if ((fd = openat(dir, INDEX, O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0644)) == -1)
		return (-1);
	if ((rc = io_write(fd, p, o->len + SHA1_LEN)) == -1)
		(void)unlinkat(dir, INDEX, 0);
	io_close(&fd);
	return (rc);
}

int
gitindex_make(int dir)
{
	struct out *o;
	int fd, rc = -1;

	if (NEW_ARRAY(o, 1) == -1)
		return (-1);
	o->len = HEAD;
	if ((o->p = malloc(o->cap = 65536)) != NULL &&
	    (fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) != -1 &&
	    walk(o, fd) == 0)
		rc = write_index(o, dir);
	free(o->p);
	free(o);
	return (rc);
}
