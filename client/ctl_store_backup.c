/*
 * errandctl store backup: takes the files that the store streams (backup.h)
 * and writes them into a new directory, which has its name only when all of
 * them are on the disk.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "ctl_care.h"
#include "json.h"
#include "lib/io.h"
#include "lib/le.h"
#include "lib/text.h"
#include "out.h"
#include "proto/backup.h"

/*
 * Invariants:
 *  1. fd != -1 exactly while a file is being written, left bytes of which are
 *     still to come.
 *  2. Nothing is written outside of dirfd.
 */
struct backup {
	struct session *s;
	const char *dir;
	char partial[PATH_MAX];
	int dirfd;
	int packsfd;
	int fd;
	uint64_t left;
	uint8_t head[BACKUP_HEAD];
	size_t have;            /* bytes of head */
	uint64_t files, bytes;
	int over;               /* the end has come */
	int said;               /* why it was given up */
	struct care last;
};

static int
complain(struct backup *b, const char *what)
{
	care_progress_end(b->s);
	out_warn("%s: %s: %s", b->partial, what, strerror(errno));
	b->said = 1;
	return (-1);
}

/* Is it a name that a backup has?  The directory it goes into, or -1. */
static int
place(const struct backup *b, const char *name, const char **base)
{
	const char *p = name + 6;
	size_t i;

	*base = name;
	if (strcmp(name, "key") == 0 || strcmp(name, "rebuild") == 0)
		return (b->dirfd);
	if (strncmp(name, "packs/", 6) != 0 || strlen(p) != 13 ||
	    strcmp(p + 8, ".pack") != 0)
		return (-1);
	for (i = 0; i < 8; i++)
		if (p[i] < '0' || p[i] > '9')
			return (-1);
	*base = p;
	return (b->packsfd);
}

static int
file_end(struct backup *b)
{
	if (fsync(b->fd) == -1 || close(b->fd) == -1) {
		b->fd = -1;
		return (complain(b, "a file cannot be written"));
	}
	b->fd = -1;
	b->files++;
	return (0);
}

static int
file_begin(struct backup *b)
{
	char name[BACKUP_NAME + 1];
	const char *base;
	int at;

	memcpy(name, b->head, BACKUP_NAME);
	name[BACKUP_NAME] = '\0';
	b->left = le_get64(b->head + BACKUP_NAME);
	b->have = 0;
	if (name[0] == '\0') {
		b->over = b->left == b->files;
		return (b->over ? 0 : -1);
	}
	if ((at = place(b, name, &base)) == -1)
		return (-1);
	if ((b->fd = openat(at, base, O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0600)) == -1)
		return (complain(b, base));
	return (b->left == 0 ? file_end(b) : 0);
}

static size_t
take_head(struct backup *b, const uint8_t *p, size_t len)
{
	size_t n = BACKUP_HEAD - b->have;

	if (n > len)
		n = len;
	memcpy(b->head + b->have, p, n);
	b->have += n;
	return (n);
}

static int
on_bytes(void *cookie, const uint8_t *p, size_t len)
{
	struct backup *b = cookie;
	size_t n;

	for (; len > 0; p += n, len -= n) {
		if (b->over)
			return (-1);
		if (b->fd == -1) {
			n = take_head(b, p, len);
			if (b->have == BACKUP_HEAD && file_begin(b) == -1)
				return (-1);
			continue;
		}
		n = len < b->left ? len : (size_t)b->left;
		if (io_write(b->fd, p, n) == -1)
			return (complain(b, "a file cannot be written"));
		b->left -= n;
		b->bytes += n;
		if (b->left == 0 && file_end(b) == -1)
			return (-1);
	}
	return (0);
}

static void
on_say(void *cookie, const struct care *c)
{
	struct backup *b = cookie;

	care_progress(b->s, "backing up", c->at, c->total);
	b->last = *c;
}

/* Nothing but an empty directory may have the name. */
static int
name_check(const char *dir)
{
	struct dirent *de;
	DIR *d;
	int n = 0;

	if ((d = opendir(dir)) == NULL) {
		if (errno == ENOENT)
			return (0);
		out_warn("%s: %s", dir, strerror(errno));
		return (-1);
	}
	while ((de = readdir(d)) != NULL)
		n += strcmp(de->d_name, ".") != 0 &&
		    strcmp(de->d_name, "..") != 0;
	closedir(d);
	if (n == 0)
		return (0);
	out_warn("%s is not empty: a backup goes into a new directory", dir);
	return (-1);
}

static int
dirs_make(struct backup *b)
{
	size_t len = strlen(b->dir);

	while (len > 1 && b->dir[len - 1] == '/')
		len--;
	if (snprintf(b->partial, sizeof(b->partial), "%.*s.partial", (int)len,
	    b->dir) >= (int)sizeof(b->partial)) {
		out_warn("%s: the path is too long", b->dir);
		return (-1);
	}
	if (mkdir(b->partial, 0700) == -1) {
		if (errno == EEXIST)
			out_warn("%s is left from a backup that was not "
			    "finished: remove it first", b->partial);
		else
			out_warn("%s: %s", b->partial, strerror(errno));
		return (-1);
	}
	if ((b->dirfd = open(b->partial, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1 || mkdirat(b->dirfd, "packs", 0700) == -1 ||
	    (b->packsfd = openat(b->dirfd, "packs", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1)
		return (complain(b, "packs"));
	return (0);
}

/* The name of the whole, once everything below is on the disk. */
static int
name_give(struct backup *b)
{
	char up[PATH_MAX + 4];
	int fd, rc;

	if (fsync(b->packsfd) == -1 || fsync(b->dirfd) == -1)
		return (complain(b, "it cannot be flushed"));
	if (rename(b->partial, b->dir) == -1)
		return (complain(b, "it cannot be renamed"));
	(void)snprintf(up, sizeof(up), "%s/..", b->dir);
	if ((fd = open(up, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (complain(b, "its directory cannot be flushed"));
	rc = fsync(fd);
	io_close(&fd);
	return (rc == 0 ? 0 : complain(b, "its directory cannot be flushed"));
}

static int
summary(const struct backup *b)
{
	json_t *o;

	care_progress_end(b->s);
	if (!b->s->json) {
		printf("%s: %llu files, %s\n", b->dir,
		    (unsigned long long)b->files, text_bytes(b->bytes));
		return (0);
	}
	o = json_object();
	json_object_set_new(o, "dir", json_string(b->dir));
	json_object_set_new(o, "files", json_integer((json_int_t)b->files));
	json_object_set_new(o, "bytes", json_integer((json_int_t)b->bytes));
	return (json_print(o, STDOUT_FILENO) == 0 ? 0 : EXIT_OURS);
}

static int
run(struct backup *b)
{
	const struct care_hear hear = { on_say, on_bytes, b };
	int rc;

	if ((rc = care_run(b->s, CARE_BACKUP, &hear)) != 0) {
		if (rc == EXIT_OURS && session_err()->code == ERR_NONE &&
		    !b->said)
			out_warn("%s is not whole: remove it", b->partial);
		return (rc);
	}
	if (!b->over || b->fd != -1) {
		out_warn("the host's store ended the backup before its end: "
		    "remove %s", b->partial);
		return (EXIT_OURS);
	}
	return (name_give(b) == -1 ? EXIT_OURS : summary(b));
}

int
ctl_store_backup(struct session *s, const char *dir)
{
	struct backup *b;
	int rc = EXIT_OURS;

	if (name_check(dir) == -1)
		return (EXIT_NO);
	if (session_hello(s) == -1)
		return (EXIT_NO);
	if ((b = calloc(1, sizeof(*b))) == NULL)
		return (EXIT_OURS);
	b->s = s;
	b->dir = dir;
	b->dirfd = b->packsfd = b->fd = -1;
	if (dirs_make(b) == 0)
		rc = run(b);
	io_close(&b->fd);
	io_close(&b->packsfd);
	io_close(&b->dirfd);
	free(b);
	return (rc);
}
