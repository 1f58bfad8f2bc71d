/*
 * Reads regular files into objects; see scan.c.
 */
#include <sys/stat.h>
#include <sys/xattr.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/content.h"
#include "lib/io.h"
#include "lib/text.h"
#include "objtab.h"
#include "proto/limits.h"
#include "scan_internal.h"

#define READ_TRIES      3

static void
file_fault(struct scan *s, const char *what)
{
	char esc[512];

	text_escape(s->path, s->path_len, esc, sizeof(esc));
	snprintf(s->why, LIMIT_TEXT, "%.240s: %s: %s", esc, what,
	    strerror(errno));
}

static int
same_file(const struct stat *a, const struct stat *b)
{
	return (a->st_size == b->st_size &&
	    a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	    a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	    a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	    a->st_ctim.tv_nsec == b->st_ctim.tv_nsec);
}

static int
sink(void *cookie, const struct obj_ref *ref, const void *buf, size_t len)
{
	struct scan *s = cookie;

	/* The place of a chunk is set by objtab_locate; a lone one is at 0. */
	return (objtab_add(s->tab, ref, buf, len, s->file, UINT64_MAX));
}

/* Objects of an open file; a lone chunk starts at 0. */
static int
describe(struct scan *s, int fd, int keep, struct stat *st,
    struct obj_ref *ref)
{
	uint64_t size;

	if ((s->file = objtab_file(s->tab, s->path, keep)) == -1)
		return (-1);
	if (content_from_fd(fd, sink, s, ref, &size) == -1)
		return (-1);
	st->st_size = (off_t)size;
	if (ref->kind == OBJ_LIST)
		return (objtab_locate(s->tab, ref));
	return (objtab_lone(s->tab, ref));
}

/* A private copy of a file that never holds still. */
static int
copy_of(int fd)
{
	static char buf[65536];
	const char *dir = getenv("TMPDIR");
	ssize_t n;
	off_t off = 0;
	int out;

	out = open(dir != NULL && *dir == '/' ? dir : "/tmp",
	    O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (out == -1)
		return (-1);
	while ((n = pread(fd, buf, sizeof(buf), off)) > 0) {
		if (io_write(out, buf, (size_t)n) == -1)
			break;
		off += n;
	}
	if (n != 0) {
		close(out);
		return (-1);
	}
	return (out);
}

static int
read_unstable(struct scan *s, int fd, struct stat *st, struct obj_ref *ref)
{
	int copy;

	if ((copy = copy_of(fd)) == -1)
		return (-1);
	if (describe(s, copy, copy, st, ref) == -1)
		return (-1);            /* the table has taken the copy */
	s->sum.unstable++;
	scan_note(s, "changed while it was read; one state of it is sent");
	return (0);
}

/* More names of one file: they arrive as files of their own. */
static void
note_link(struct scan *s, const struct stat *st)
{
	struct link_seen *v;
	char text[LIMIT_TEXT], esc[300];
	size_t i;

	for (i = 0; i < s->nlinks; i++)
		if (s->links[i].ino == st->st_ino &&
		    s->links[i].dev == st->st_dev) {
			text_escape(s->links[i].path,
			    strlen(s->links[i].path), esc, sizeof(esc));
			snprintf(text, sizeof(text), "a hard link to %s; "
			    "sent as a file of its own", esc);
			scan_note(s, text);
			return;
		}
	if (s->nlinks >= 10000 || (v = realloc(s->links, (s->nlinks + 1) *
	    sizeof(*v))) == NULL)
		return;
	s->links = v;
	v[s->nlinks].dev = st->st_dev;
	v[s->nlinks].ino = st->st_ino;
	if ((v[s->nlinks].path = strdup(s->path)) != NULL)
		s->nlinks++;
}

void
scan_links_free(struct scan *s)
{
	size_t i;

	for (i = 0; i < s->nlinks; i++)
		free(s->links[i].path);
	free(s->links);
}

/* What is not kept of a file is said. */
static void
note_lost(struct scan *s, int fd, const struct stat *st)
{
	char list[4096];
	ssize_t n, i;

	if (st->st_mode & (S_ISUID | S_ISGID))
		scan_note(s, "its set-user-id or set-group-id bit is not sent");
	if (st->st_nlink > 1)
		note_link(s, st);
	n = flistxattr(fd, list, sizeof(list));
	for (i = 0; i < n; i += (ssize_t)strlen(list + i) + 1)
		if (strncmp(list + i, "user.", 5) == 0) {
			scan_note(s, "its extended attributes are not sent");
			break;
		}
}

int
scan_file(struct scan *s, int dirfd, const char *name, struct stat *st,
    struct obj_ref *ref)
{
	struct stat after;
	int fd, i, rc = -1;

	/* O_NONBLOCK: it may have become a FIFO since it was looked at. */
	fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_NOCTTY | O_CLOEXEC);
	if (fd == -1 && errno == ENOENT)
		return (1);
	if (fd == -1) {
		file_fault(s, "cannot read it (leave it out by an ignore "
		    "rule, or make it readable)");
		return (-1);
	}
	for (i = 0; i < READ_TRIES; i++) {
		if (fstat(fd, st) == -1)
			break;
		if (!S_ISREG(st->st_mode)) {
			errno = ESTALE;
			break;
		}
		if (describe(s, fd, -1, st, ref) == -1)
			break;
		if (fstat(fd, &after) == 0 && same_file(st, &after)) {
			rc = 0;
			break;
		}
	}
	if (i == READ_TRIES)
		rc = read_unstable(s, fd, st, ref);
	s->sum.read_files++;
	if (rc == 0)
		note_lost(s, fd, st);
	else
		file_fault(s, "cannot read it");
	close(fd);
	return (rc);
}
