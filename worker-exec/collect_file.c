/*
 * One regular file that the job left, as content.  Opens it for reading, never
 * through a link; its bytes go to the store.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "collect_internal.h"
#include "lib/content.h"
#include "lib/io.h"
#include "storeclient.h"

/*
 * In a namespace of its own the keeper is root over what the job left;
 * elsewhere it is the owner, who has to give himself the right first.  Nobody
 * else is left to see it, the mode was taken before, and io_remove does the
 * same.
 */
int
collect_open(int dir, const char *name, mode_t mode, int flags)
{
	mode_t need = (flags & O_DIRECTORY) ? 0700 : 0400;

	if (geteuid() != 0 && (mode & need) != need &&
	    fchmodat(dir, name, (mode & 0777) | need, 0) == -1)
		return (-1);
	return (openat(dir, name, flags | O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
}

/*
 * Never a FIFO's other end, never through a link: what is opened is the
 * regular file that was seen, or nothing.
 */
static int
file_open(const struct collect *c, const char *name, const struct stat *st)
{
	struct stat is;
	int fd;

	fd = collect_open(c->dir, name, st->st_mode, O_NONBLOCK);
	if (fd == -1)
		return (-1);
	if (fstat(fd, &is) == -1 || !S_ISREG(is.st_mode) ||
	    is.st_ino != st->st_ino || is.st_dev != st->st_dev) {
		io_close(&fd);
		errno = ESTALE;
	}
	return (fd);
}

/*
 * Name the content.  Of the same size as before it may be the same, as after
 * chmod or touch: then it is read once for its name before it is put.
 */
static int
describe(struct collect *c, int fd, const struct tree_entry *old, off_t size,
    struct obj_ref *ref, uint64_t *len)
{

	if (old != NULL && old->kind == TREE_FILE &&
	    old->size == (uint64_t)size) {
		if (content_from_fd(fd, NULL, NULL, ref, len) == -1)
			return (-1);
		if (obj_ref_equal(ref, &old->ref))
			return (0);
	}
	return (content_from_fd(fd, storeclient_put, c->sc, ref, len));
}

int
collect_file(struct collect *c, const char *name, const struct stat *st,
    const struct tree_entry *old, struct tree_entry *e)
{
	struct link_seen *seen = NULL;
	int fd, rc;

	if (st->st_nlink > 1) {
		if ((seen = links_get(&c->links, st->st_ino)) == NULL)
			return (collect_fail(c));
		if (seen->known) {
			e->ref = seen->ref;
			e->size = seen->size;
			return (1);
		}
	}
	c->disk += (uint64_t)st->st_blocks * 512;
	if ((fd = file_open(c, name, st)) == -1) {
		collect_lack(c, "a file could not be read: %s",
		    strerror(errno));
		return (0);
	}
	rc = describe(c, fd, old, st->st_size, &e->ref, &e->size);
	io_close(&fd);
	if (rc == -1) {
		if (storeclient_failed(c->sc))
			return (collect_fail(c));
		collect_lack(c, "a file could not be read: %s",
		    strerror(errno));
		return (0);
	}
	if (seen != NULL) {
		seen->ref = e->ref;
		seen->size = e->size;
		seen->known = 1;
	}
	return (1);
}
