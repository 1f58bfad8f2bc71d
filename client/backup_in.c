/*
 * A backup's stream into files.  Writes below the directory that it was given,
 * under the names that a backup has and no others.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "backup_in.h"
#include "lib/io.h"
#include "lib/le.h"

int
backup_in_open(struct backup_in *b, int dirfd)
{
	memset(b, 0, sizeof(*b));
	b->dirfd = dirfd;
	b->packsfd = b->fd = -1;
	if (mkdirat(dirfd, "packs", 0700) == -1)
		return (-1);
	b->packsfd = openat(dirfd, "packs", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC | O_NOFOLLOW);
	return (b->packsfd == -1 ? -1 : 0);
}

void
backup_in_close(struct backup_in *b)
{
	io_close(&b->fd);
	io_close(&b->packsfd);
}

/* Is it a name that a backup has?  The directory it goes into, or -1. */
static int
place(const struct backup_in *b, const char *name, const char **base)
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
file_end(struct backup_in *b)
{
	int rc, fd = b->fd;

	b->fd = -1;
	rc = fsync(fd);
	if (close(fd) == -1 || rc == -1)
		return (-1);
	b->files++;
	return (0);
}

static int
file_begin(struct backup_in *b)
{
	char name[BACKUP_NAME + 1];
	const char *base;
	int at;

	memcpy(name, b->head, BACKUP_NAME);
	name[BACKUP_NAME] = '\0';
	b->left = le_get64(b->head + BACKUP_NAME);
	b->have = 0;
	errno = EPROTO;
	if (name[0] == '\0') {
		b->over = b->left == b->files;
		return (b->over ? 0 : -1);
	}
	if ((at = place(b, name, &base)) == -1)
		return (-1);
	if ((b->fd = openat(at, base, O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0600)) == -1)
		return (-1);
	return (b->left == 0 ? file_end(b) : 0);
}

static size_t
take_head(struct backup_in *b, const uint8_t *p, size_t len)
{
	size_t n = BACKUP_HEAD - b->have;

	if (n > len)
		n = len;
	memcpy(b->head + b->have, p, n);
	b->have += n;
	return (n);
}

int
backup_in_feed(struct backup_in *b, const uint8_t *p, size_t len)
{
	size_t n;

	for (; len > 0; p += n, len -= n) {
		if (b->over) {
			errno = EPROTO;
			return (-1);
		}
		if (b->fd == -1) {
			n = take_head(b, p, len);
			if (b->have == BACKUP_HEAD && file_begin(b) == -1)
				return (-1);
			continue;
		}
		n = len < b->left ? len : (size_t)b->left;
		if (io_write(b->fd, p, n) == -1)
			return (-1);
		b->left -= n;
		b->bytes += n;
		if (b->left == 0 && file_end(b) == -1)
			return (-1);
	}
	return (0);
}

int
backup_in_end(struct backup_in *b)
{
	if (!b->over || b->fd != -1) {
		errno = EPROTO;
		return (-1);
	}
	return (fsync(b->packsfd) == -1 || fsync(b->dirfd) == -1 ? -1 : 0);
}
