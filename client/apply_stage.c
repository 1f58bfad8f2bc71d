/*
 * The staging directory ROOT/.errand-apply: where new files wait and old ones
 * go, with the journal.  It hides itself from Git by an ignore file of its own.
 * Writes there only; the one file of the apply that knows about flushing.
 */
#include <sys/file.h>
#include <sys/stat.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apply_internal.h"
#include "lib/io.h"
#include "out.h"
#include "reserved.h"

#define JOURNAL         "journal"
#define JOURNAL_NEW     "journal.new"
#define JOURNAL_MAX     (4UL * 1024 * 1024 * 1024)
#define IGNORE          ".gitignore"

void
stage_slot(char *out, char what, uint32_t slot)
{
	if (slot == SLOT_LONE)
		snprintf(out, SLOT_LEN, "%s%s", RESERVED_APPLY,
		    what == 'o' ? ".o" : "");
	else
		snprintf(out, SLOT_LEN, "%c%u", what, slot);
}

int
stage_lock(struct stage *st, const char *root, int quiet)
{
	struct stat sb;

	st->dir = -1;
	st->root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (st->root == -1)
		return (-1);
	if (fstat(st->root, &sb) == -1)
		goto err0;
	st->dev = sb.st_dev;
	if (flock(st->root, LOCK_EX | LOCK_NB) == 0)
		return (0);
	if (errno != EWOULDBLOCK)
		goto err0;
	if (!quiet)
		out_warn("waiting for another errand that applies changes in "
		    "%s", root);
	if (flock(st->root, LOCK_EX) == 0)
		return (0);
err0:
	io_close(&st->root);
	return (-1);
}

void
stage_unlock(struct stage *st)
{
	io_close(&st->dir);
	io_close(&st->root);
}

int
stage_open(struct stage *st)
{
	struct stat sb;

	st->dir = openat(st->root, RESERVED_APPLY, O_RDONLY | O_DIRECTORY |
	    O_NOFOLLOW | O_CLOEXEC);
	if (st->dir == -1)
		return (errno == ENOTDIR ? lone_open(st) : -1);
	if (fstat(st->dir, &sb) == -1)
		goto err0;
	if (sb.st_uid != geteuid() || sb.st_dev != st->dev) {
		errno = EPERM;
		goto err0;
	}
	return (0);

err0:
	io_close(&st->dir);
	return (-1);
}

/*
 * One rename is whole or not there, whatever becomes of the journal: it is not
 * flushed then, nor given its name when it is written.  So after a power cut,
 * or death between two calls, it may be empty, which no other ever is.
 */
static int
is_single(const struct journal *j)
{
	return (j->n <= 1);
}

static int
write_file(int dirfd, const char *name, const void *buf, size_t len,
    int durable)
{
	int fd;

	if ((fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0600)) == -1)
		return (-1);
	if (io_write(fd, buf, len) == -1 || (durable && fdatasync(fd) == -1)) {
		io_close(&fd);
		return (-1);
	}
	return (close(fd));
}

int
stage_make(struct stage *st)
{
	if (mkdirat(st->root, RESERVED_APPLY, 0700) == -1 ||
	    stage_open(st) == -1)
		return (-1);
	return (write_file(st->dir, IGNORE, "*\n", 2, 0));
}

int
stage_write(struct stage *st, const struct journal *j)
{
	uint8_t key[JOURNAL_KEY], *buf;
	size_t len;
	int rc;

	if (journal_key(key) == -1 || journal_pack(j, key, &buf, &len) == -1)
		return (-1);
	rc = write_file(st->dir, is_single(j) ? JOURNAL : JOURNAL_NEW, buf,
	    len, !is_single(j));
	free(buf);
	if (rc == -1 || is_single(j))
		return (rc);
	return (renameat(st->dir, JOURNAL_NEW, st->dir, JOURNAL));
}

/* Nothing, or zeros that were never written over. */
static int
is_empty(const uint8_t *p, size_t len)
{
	return (len == 0 || (p[0] == 0 && memcmp(p, p + 1, len - 1) == 0));
}

int
stage_read(struct stage *st, struct journal *j)
{
	uint8_t key[JOURNAL_KEY], *buf;
	struct stat sb;
	size_t len;
	int rc;

	if (st->lone)
		return (lone_read(st, j) == 0 ? 1 : -1);
	if (io_file_read(st->dir, JOURNAL, JOURNAL_MAX, &buf, &len) == -1)
		return (errno == ENOENT ? 0 : -1);
	if (is_empty(buf, len)) {
		free(buf);
		return (0);
	}
	rc = journal_key(key);
	if (rc == 0)
		rc = journal_parse(buf, len, key, j);
	free(buf);
	if (rc == -1)
		return (-1);
	if (fstat(st->root, &sb) == -1 || sb.st_dev != j->dev ||
	    sb.st_ino != j->ino) {
		journal_done(j);
		errno = EACCES;         /* of another tree: a copy */
		return (-1);
	}
	return (1);
}

/* What the smallest apply leaves goes without a listing. */
static void
remove_few(const struct stage *st)
{
	char name[SLOT_LEN];

	if (st->dir == -1)
		return;
	stage_slot(name, 'n', 0);
	(void)unlinkat(st->dir, name, 0);
	stage_slot(name, 'o', 0);
	(void)unlinkat(st->dir, name, 0);
	(void)unlinkat(st->dir, IGNORE, 0);
}

int
stage_remove(struct stage *st)
{
	if (st->lone)
		return (lone_remove(st));
	if (st->dir != -1 && unlinkat(st->dir, JOURNAL, 0) == -1 &&
	    errno != ENOENT)
		return (-1);
	remove_few(st);
	io_close(&st->dir);
	return (io_remove_tree(st->root, RESERVED_APPLY));
}

static int
is_our_name(const char *name)
{
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strcmp(name, IGNORE) == 0 || strcmp(name, JOURNAL) == 0 ||
	    strcmp(name, JOURNAL_NEW) == 0)
		return (1);
	if (*name != 'n' && *name != 'o')
		return (0);
	while (isdigit((unsigned char)*++name))
		;
	return (*name == '\0');
}

int
stage_is_ours(const struct stage *st)
{
	const struct dirent *de;
	int fd, ours = 1;
	DIR *d;

	if ((fd = openat(st->dir, ".", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1)
		return (0);
	if ((d = fdopendir(fd)) == NULL) {
		close(fd);
		return (0);
	}
	while (ours && (de = readdir(d)) != NULL)
		ours = is_our_name(de->d_name);
	closedir(d);
	return (ours);
}
