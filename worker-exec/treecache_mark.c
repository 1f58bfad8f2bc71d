/*
 * The mark of a cached tree: written when the tree is whole, locked while it
 * is used.  Touches marks only.
 */
#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/io.h"
#include "treecache_internal.h"

/*
 * A mark is text: for each tree below, the next first, "+ROOT\n"; then the
 * boot, a space, the number of entries, a space, when it was laid out, in
 * microseconds, a space, the bytes it takes, and "\n".
 */
#define BOOT_LEN        36
#define BELOW_LEN       (1 + HEX_LEN + 1)
#define MARK_MAX        (TREECACHE_LAYERS * BELOW_LEN + BOOT_LEN + 72)

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

/* Take "+ROOT\n" off the front.  Return its length, 0 if it is not one. */
static size_t
parse_below(const char *p, size_t len, char *root)
{
	uint8_t id[OBJ_ID_LEN];

	if (len < BELOW_LEN || p[0] != '+' || p[BELOW_LEN - 1] != '\n')
		return (0);
	memcpy(root, p + 1, HEX_LEN);
	root[HEX_LEN] = '\0';
	return (obj_id_parse(root, id) == 0 ? BELOW_LEN : 0);
}

/*
 * Read a mark, and when its tree was made.  Return 0, or -1 when it is broken
 * or of another boot.
 */
static int
mark_read(int fd, const char *hex, struct treecache_use *use, uint64_t *made)
{
	char buf[MARK_MAX + 1], boot[BOOT_LEN], *p = buf;
	size_t len, n;
	ssize_t got;

	if ((got = pread(fd, buf, MARK_MAX, 0)) == -1)
		return (-1);
	buf[len = (size_t)got] = '\0';
	memcpy(use->root[0], hex, HEX_LEN + 1);
	for (use->n = 1; use->n < TREECACHE_LAYERS; use->n++) {
		if ((n = parse_below(p, len, use->root[use->n])) == 0)
			break;
		p += n;
		len -= n;
	}
	if (len < BOOT_LEN || boot_id(boot) == -1 ||
	    memcmp(p, boot, BOOT_LEN) != 0)
		return (-1);
	use->entries = strtoull(p + BOOT_LEN, &p, 10);
	*made = strtoull(p, &p, 10);
	use->bytes = strtoull(p, NULL, 10);
	return (0);
}

/* A mark by its name, not locked. */
static int
mark_named(int trees, const char *hex, struct treecache_use *use,
    uint64_t *made)
{
	char path[HEX_LEN + 8];
	int fd, rc;

	(void)snprintf(path, sizeof(path), "%s/mark", hex);
	fd = openat(trees, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	rc = mark_read(fd, hex, use, made);
	io_close(&fd);
	return (rc);
}

int
treecache_made(int trees, const char *hex, uint64_t *made)
{
	struct treecache_use use;

	return (mark_named(trees, hex, &use, made));
}

uint64_t
treecache_bytes(int trees, const char *hex)
{
	struct treecache_use use;
	uint64_t made;

	return (mark_named(trees, hex, &use, &made) == -1 ? 0 : use.bytes);
}

/* Are those below still the ones that it was laid over? */
static int
below_check(int trees, const struct treecache_use *use)
{
	char link[HEX_LEN + 32], mark[HEX_LEN + 8];
	struct stat a, b;
	size_t i;

	for (i = 1; i < use->n; i++) {
		(void)snprintf(link, sizeof(link), "%s/below.%zu",
		    use->root[0], i);
		(void)snprintf(mark, sizeof(mark), "%s/mark", use->root[i]);
		if (fstatat(trees, link, &a, AT_SYMLINK_NOFOLLOW) == -1 ||
		    fstatat(trees, mark, &b, AT_SYMLINK_NOFOLLOW) == -1 ||
		    a.st_ino != b.st_ino || a.st_dev != b.st_dev)
			return (-1);
	}
	return (0);
}

/*
 * The oldest use goes first when there are too many.  Those below are used as
 * well, a little earlier, so that what lies on others is seen before them.
 */
static void
touch(int trees, const struct treecache_use *use)
{
	struct timespec ts[2] = { { .tv_nsec = UTIME_OMIT } };
	char mark[HEX_LEN + 8];
	size_t i;

	(void)clock_gettime(CLOCK_REALTIME, &ts[1]);
	for (i = 0; i < use->n; i++) {
		(void)snprintf(mark, sizeof(mark), "%s/mark", use->root[i]);
		(void)utimensat(trees, mark, ts, AT_SYMLINK_NOFOLLOW);
		if (ts[1].tv_nsec-- == 0) {
			ts[1].tv_nsec = 999999999;
			ts[1].tv_sec--;
		}
	}
}

int
treecache_find(int trees, const char *hex, int how, struct treecache_use *use)
{
	char path[HEX_LEN + 8];
	struct stat st;
	uint64_t made;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/mark", hex);
	fd = openat(trees, path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1) {
		if (fstatat(trees, hex, &st, AT_SYMLINK_NOFOLLOW) == 0)
			errno = ESTALE;
		goto err0;
	}
	if (flock(fd, LOCK_SH | (how & TREECACHE_WAIT ? 0 : LOCK_NB)) == -1)
		goto err1;
	/* It may have been removed while we came to it. */
	if (fstat(fd, &st) == -1 || st.st_nlink == 0) {
		errno = ENOENT;
		goto err1;
	}
	if (mark_read(fd, hex, use, &made) == -1 ||
	    below_check(trees, use) == -1) {
		errno = ESTALE;
		goto err1;
	}
	if (how & TREECACHE_TOUCH)
		touch(trees, use);
	use->lock = fd;
	return (0);

err1:
	io_close(&fd);
err0:
	use->lock = -1;
	return (-1);
}

/* Name those below, so that they stay; then the text of the mark. */
static int
below_link(int trees, int dir, const struct treecache_use *use, char *buf,
    size_t size, size_t *len)
{
	char mark[HEX_LEN + 8], name[32];
	size_t i;

	for (i = 1, *len = 0; i < use->n; i++) {
		(void)snprintf(mark, sizeof(mark), "%s/mark", use->root[i]);
		(void)snprintf(name, sizeof(name), "below.%zu", i);
		if (linkat(trees, mark, dir, name, 0) == -1)
			return (-1);
		*len += (size_t)snprintf(buf + *len, size - *len, "+%s\n",
		    use->root[i]);
	}
	return (0);
}

int
treecache_mark(int trees, int dir, struct treecache_use *use)
{
	char buf[MARK_MAX + 1], boot[BOOT_LEN];
	size_t len;

	if (boot_id(boot) == -1 ||
	    below_link(trees, dir, use, buf, sizeof(buf), &len) == -1)
		return (-1);
	len += (size_t)snprintf(buf + len, sizeof(buf) - len,
	    "%.*s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", BOOT_LEN, boot,
	    use->entries, io_real_us() + 1, use->bytes);
	use->lock = openat(dir, "mark", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
	    0600);
	if (use->lock == -1)
		return (-1);
	if (flock(use->lock, LOCK_SH) == -1 ||
	    io_write(use->lock, buf, len) == -1) {
		io_close(&use->lock);
		return (-1);
	}
	return (0);
}
