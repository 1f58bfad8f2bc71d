/*
 * An apply of a single file.  It needs no directory to be staged in: the new
 * file waits as ROOT/.errand-apply, and there the old one goes.  Its journal is
 * written over the last one in the state directory.  So one inode is made, not
 * four; where each costs a search, or a write, that is most of an apply.
 *
 * The journal is there before the file has a name, and the file's end is the
 * commit; a journal without it says nothing, and is blanked, since the number
 * of an inode may come again.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apply_exec.h"
#include "apply_internal.h"
#include "lib/io.h"
#include "reserved.h"
#include "state.h"

#define JOURNAL_MAX     (1024 * 1024)

/* In place: a new file would be another inode, a shorter one blocks to free. */
static int
write_over(const char *path, const void *buf, size_t len)
{
	int fd, rc = -1;

	fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1)
		return (-1);
	if (io_pwrite(fd, buf, len, 0) == 0)
		rc = ftruncate(fd, (off_t)len);
	io_close(&fd);
	return (rc);
}

static int
write_journal(const struct journal *j)
{
	uint8_t key[JOURNAL_KEY], *buf;
	char path[PATH_MAX];
	size_t len;
	int rc;

	if (journal_key(key) == -1 ||
	    state_apply_path(j->dev, j->ino, path) == -1 ||
	    journal_pack(j, key, &buf, &len) == -1)
		return (-1);
	rc = write_over(path, buf, len);
	free(buf);
	return (rc);
}

static int
open_root(const struct stage *st)
{
	return (openat(st->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

int
lone_stage(struct stage *st, const struct journal *j, int fd)
{
	char proc[32];
	int dir;

	if (write_journal(j) == -1 || (dir = open_root(st)) == -1)
		return (1);
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, proc, st->root, RESERVED_APPLY,
	    AT_SYMLINK_FOLLOW) == -1) {
		io_close(&dir);
		return (errno == EEXIST ? -1 : 1);
	}
	st->dir = dir;
	st->lone = 1;
	return (0);
}

int
lone_open(struct stage *st)
{
	struct stat sb;

	if (fstatat(st->root, RESERVED_APPLY, &sb, AT_SYMLINK_NOFOLLOW) == -1)
		return (-1);
	if (!S_ISREG(sb.st_mode)) {
		errno = ENOTDIR;
		return (-1);
	}
	if ((st->dir = open_root(st)) == -1)
		return (-1);
	st->lone = 1;
	return (0);
}

/*
 * Is it of this tree, and about the very file that is there?  That is the new
 * one, as it was made, or the old one, whatever was written to it since.
 */
static int
is_about(const struct stage *st, const struct journal *j)
{
	const struct jop *op = j->ops;
	struct stat root, sb;

	if (j->n != 1 || op->slot != SLOT_LONE ||
	    (op->type != JOP_CREATE && op->type != JOP_REPLACE) ||
	    fstat(st->root, &root) == -1 || root.st_dev != j->dev ||
	    root.st_ino != j->ino || fstatat(st->root, RESERVED_APPLY, &sb,
	    AT_SYMLINK_NOFOLLOW) == -1)
		return (0);
	return (jfile_is(&op->new, st->root, RESERVED_APPLY) == 1 ||
	    (op->type == JOP_REPLACE && sb.st_ino == op->old.ino));
}

int
lone_read(struct stage *st, struct journal *j)
{
	uint8_t key[JOURNAL_KEY], *buf;
	char path[PATH_MAX];
	struct stat sb;
	size_t len;
	int rc = -1;

	if (fstat(st->root, &sb) == -1 ||
	    state_apply_path(sb.st_dev, sb.st_ino, path) == -1)
		return (-1);
	if (io_file_read(AT_FDCWD, path, JOURNAL_MAX, &buf, &len) == -1) {
		errno = EEXIST;
		return (-1);
	}
	if (journal_key(key) == 0 && journal_parse(buf, len, key, j) == 0) {
		rc = is_about(st, j) ? 0 : -1;
		if (rc == -1)
			journal_done(j);
	}
	free(buf);
	if (rc == -1)
		errno = EEXIST;
	return (rc);
}

static void
blank_journal(const struct stage *st)
{
	static const char none[16];
	char path[PATH_MAX];
	struct stat sb;
	int fd;

	if (fstat(st->root, &sb) == -1 ||
	    state_apply_path(sb.st_dev, sb.st_ino, path) == -1 ||
	    (fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)) == -1)
		return;
	(void)io_pwrite(fd, none, sizeof(none), 0);
	io_close(&fd);
}

int
lone_remove(struct stage *st)
{
	int rc;

	rc = unlinkat(st->root, RESERVED_APPLY, 0);
	if (rc == -1 && errno == ENOENT)
		rc = 0;
	if (rc == 0) {
		blank_journal(st);
		io_close(&st->dir);
		st->lone = 0;
	}
	return (rc);
}
