/*
 * Whether a cached tree is still as it was laid out: by the times of changes.
 * Looks at names and inodes in trees/ of the tenant's work directory, opens no
 * file but marks, writes nothing.
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
#include "treecache_internal.h"

/*
 * Whatever is done to a file or a directory by its name or a descriptor, the
 * kernel notes when; and nobody but it sets that time.  Laid out once and never
 * written to, nothing in a tree has changed since the time that is in its mark.
 * Which entries are looked at is drawn anew each time, so that in a tree that
 * has more of them each has its turn; but not what a directory has behind its
 * first NAMES, as the kernel lists them: to list 10,000 takes milliseconds.
 */
#define LOOKS           512     /* entries at each use: half a millisecond */
#define NAMES           1024    /* of one directory, from which is drawn */
#define DEEP            32      /* directories above one another */

struct check {
	uint64_t made_us;
	uint64_t random;
	unsigned int left;      /* looks */
	unsigned int depth;
};

struct names {
	char *name[NAMES];
	size_t n;
};

static uint64_t
draw(struct check *c, uint64_t below)
{

	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return (c->random % below);
}

static void
names_free(struct names *l)
{

	while (l->n > 0)
		free(l->name[--l->n]);
}

/*
 * The first names of a directory (taken), in any order.  Fewer, or none, when
 * there is no memory: that is no change.
 */
static void
names_read(struct check *c, int fd, struct names *l)
{
	struct dirent *e;
	char *name;
	size_t at;
	DIR *d;

	l->n = 0;
	if ((d = fdopendir(fd)) == NULL) {
		io_close(&fd);
		return;
	}
	while (l->n < NAMES && (e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if ((name = strdup(e->d_name)) == NULL)
			break;
		at = (size_t)draw(c, l->n + 1);
		l->name[l->n++] = l->name[at];
		l->name[at] = name;
	}
	closedir(d);
}

static int look_in(struct check *, int);

/* One entry, and what is in it.  0, or -1 when it has changed. */
static int
look(struct check *c, int dir, const char *name)
{
	struct stat st;
	int fd, rc;

	c->left--;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
	    (uint64_t)st.st_ctim.tv_sec * 1000000 +
	    (uint64_t)st.st_ctim.tv_nsec / 1000 > c->made_us)
		return (-1);
	if (!S_ISDIR(st.st_mode) || c->depth == DEEP)
		return (0);
	if ((fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1)
		return (errno == EACCES ? 0 : -1);
	c->depth++;
	rc = look_in(c, fd);
	c->depth--;
	return (rc);
}

/* The same for a directory's; ${fd} is taken. */
static int
look_in(struct check *c, int fd)
{
	struct names *l;
	int rc = 0, dir;
	size_t i;

	if (c->left == 0 || (l = malloc(sizeof(*l))) == NULL) {
		io_close(&fd);
		return (0);
	}
	if ((dir = fcntl(fd, F_DUPFD_CLOEXEC, 0)) == -1) {
		io_close(&fd);
		goto done;
	}
	names_read(c, fd, l);
	for (i = 0; rc == 0 && i < l->n && c->left > 0; i++)
		rc = look(c, dir, l->name[i]);
	names_free(l);
	io_close(&dir);
done:
	free(l);
	return (rc);
}

/* One directory of those that make a tree up. */
static int
one(struct check *c, int trees, const char *hex)
{
	int fd, rc;

	if (treecache_made(trees, hex, &c->made_us) == -1 ||
	    (fd = openat(trees, hex, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1)
		return (-1);
	rc = look(c, fd, "tree");
	io_close(&fd);
	return (rc);
}

int
treecache_check(int trees, const struct treecache_use *use)
{
	struct check c = { .random = io_mono_us() | 1 };
	size_t i;

	for (i = 0; i < use->n; i++) {
		c.left = LOOKS / (unsigned int)use->n;
		if (one(&c, trees, use->root[i]) == -1)
			return ((int)i);
	}
	return (-1);
}
