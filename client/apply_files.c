/*
 * Makes the new files of an apply, in the staging directory.  Writes there
 * only; contents come from the host or from a merge.
 */
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "apply_internal.h"
#include "lib/content.h"
#include "lib/io.h"
#include "lib/size.h"

/* Up to so many files are flushed each by itself; of more, the file system is
 * flushed once, which is quicker from about here on. */
#define FLUSH_EACH      16

/* How far back a file of the same content is looked for. */
#define COPY_NEAR       1024

#define XATTR_LIST      4096
#define XATTR_VALUE     65536

static const struct jop *
op_of(const struct apply *a, const struct source *s)
{
	return (&a->j.ops[s->op]);
}

static int
is_link(const struct source *s)
{
	return (s->what == SOURCE_THEIRS && s->it->theirs.kind == TREE_LINK);
}

/* What the user attached to the old file stays with it. */
static void
copy_attributes(int from, int to)
{
	static char list[XATTR_LIST], value[XATTR_VALUE];
	ssize_t n, len, i;

	if ((n = flistxattr(from, list, sizeof(list))) <= 0)
		return;
	for (i = 0; i < n; i += (ssize_t)strlen(list + i) + 1) {
		if (strncmp(list + i, "user.", 5) != 0 &&
		    strcmp(list + i, "system.posix_acl_access") != 0)
			continue;
		len = fgetxattr(from, list + i, value, sizeof(value));
		if (len >= 0)
			(void)fsetxattr(to, list + i, value, (size_t)len, 0);
	}
}

/* Owner and attributes of the file that is replaced, where that is allowed. */
static void
resemble(struct apply *a, const struct source *s, int fd)
{
	const struct jop *op = op_of(a, s);
	const struct stat *old = &s->it->st;
	const char *base;
	struct stat st;
	int dirfd, from;

	if (op->type != JOP_REPLACE || s->it->copy)
		return;
	if (fstat(fd, &st) == 0 && (st.st_uid != old->st_uid ||
	    st.st_gid != old->st_gid) &&
	    fchown(fd, old->st_uid, old->st_gid) == -1 &&
	    fchown(fd, (uid_t)-1, old->st_gid) == -1)
		errno = 0;              /* it is ours, then */
	dirfd = walk_parent(&a->w, op->path, op->path_len, &base);
	if (dirfd == -1 || (from = openat(dirfd, base, O_RDONLY | O_NOFOLLOW |
	    O_NONBLOCK | O_CLOEXEC)) == -1)
		return;
	copy_attributes(from, fd);
	close(from);
}

static int
is_long(const struct source *s)
{
	return (s->it != NULL && s->what == SOURCE_THEIRS &&
	    s->it->c.ref.kind == OBJ_LIST);
}

/* Copy what is in a file to an empty one; holes stay.  0 or -1. */
static int
copy_data(int from, int to, off_t size)
{
	off_t in = 0, out, end;
	ssize_t n;

	while (in < size && (in = lseek(from, in, SEEK_DATA)) != -1) {
		if ((end = lseek(from, in, SEEK_HOLE)) == -1)
			return (-1);
		for (out = in; in < end;) {
			n = copy_file_range(from, &in, to, &out,
			    (size_t)(end - in), 0);
			if (n <= 0)
				return (-1);
		}
	}
	if (in == -1 && errno != ENXIO)
		return (-1);
	return (ftruncate(to, size));
}

/*
 * Another name of a hard link, or another copy, may just have been made: then
 * it need not come over the connection again.  1, 0: fetch it, or -1.
 */
static int
from_staged(struct apply *a, const struct source *s, int fd)
{
	const struct source *o = s;
	char name[SLOT_LEN];
	int from, rc;

	while (o > a->src && s - o < COPY_NEAR) {
		o--;
		if (!is_long(o) || !obj_ref_equal(&o->it->c.ref,
		    &s->it->c.ref))
			continue;
		stage_slot(name, 'n', op_of(a, o)->slot);
		if ((from = openat(a->st.dir, name, O_RDONLY | O_NOFOLLOW |
		    O_CLOEXEC)) == -1)
			return (0);
		rc = copy_data(from, fd, (off_t)s->it->c.size);
		close(from);
		return (rc == 0 ? 1 : ftruncate(fd, 0));
	}
	return (0);
}

static int
fill(struct apply *a, const struct source *s, int fd)
{
	int rc;

	if (s->what == SOURCE_TEXT)
		return (io_write(fd, s->it->text, s->it->text_len));
	if (is_long(s) && (rc = from_staged(a, s, fd)) != 0)
		return (rc == 1 ? 0 : -1);
	return (content_to_fd(&s->it->c.ref, s->it->c.size, apply_fetch, a,
	    fd));
}

static int
flush_each(const struct apply *a)
{
	return (a->nstaged <= FLUSH_EACH);
}

static int
complete(struct apply *a, const struct source *s, int fd)
{
	if (fill(a, s, fd) == -1)
		return (-1);
	resemble(a, s, fd);
	if (fchmod(fd, s->mode & 0777) == -1)
		return (-1);
	return (flush_each(a) ? fdatasync(fd) : 0);
}

/*
 * A file that is flushed gets its name afterwards: where there is no journal
 * that takes them all at once, a new name makes the directory, and those above
 * it that are new, part of the flush.  Return 1 where that cannot be done, 0,
 * or -1.
 */
static int
make_unnamed(struct apply *a, const struct source *s, const char *name)
{
	char proc[32];
	int fd, rc;

	if (!flush_each(a) || (fd = openat(a->st.dir, ".", O_TMPFILE | O_RDWR |
	    O_CLOEXEC, 0600)) == -1)
		return (1);
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	if ((rc = complete(a, s, fd)) == 0 && linkat(AT_FDCWD, proc,
	    a->st.dir, name, AT_SYMLINK_FOLLOW) == -1)
		rc = 1;
	io_close(&fd);
	return (rc);
}

static int
make_named(struct apply *a, const struct source *s, const char *name)
{
	int fd, rc;

	fd = openat(a->st.dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (fd == -1)
		return (-1);
	rc = complete(a, s, fd);
	io_close(&fd);
	return (rc);
}

static int
make_file(struct apply *a, const struct source *s, const char *name)
{
	int rc;

	if ((rc = make_unnamed(a, s, name)) == 1)
		rc = make_named(a, s, name);
	if (rc == 0)
		a->sum->bytes += s->what == SOURCE_TEXT ? s->it->text_len :
		    s->it->c.size;
	return (rc);
}

static int
make_link(struct apply *a, const struct source *s, const char *name)
{
	char target[TREE_TARGET_MAX + 1];

	memcpy(target, s->it->theirs.target, s->it->theirs.target_len);
	target[s->it->theirs.target_len] = '\0';
	return (symlinkat(target, a->st.dir, name));
}

static int
make_one(struct apply *a, const struct source *s)
{
	char name[SLOT_LEN];
	int rc;

	stage_slot(name, 'n', op_of(a, s)->slot);
	rc = is_link(s) ? make_link(a, s, name) : make_file(a, s, name);
	if (rc == -1)
		return (apply_fail(a, op_of(a, s)->path, op_of(a, s)->path_len,
		    NULL));
	return (apply_pulse(a));
}

/* Small files first: they are asked for in windows, which a list ends. */
static int
make_all(struct apply *a, int lists)
{
	size_t i;

	for (i = 0; !lists && i < a->nsrc; i++)
		if (a->src[i].it != NULL && !is_link(&a->src[i]) &&
		    a->src[i].what == SOURCE_THEIRS && !is_long(&a->src[i]))
			(void)objget_want(a->o->g, &a->src[i].it->c.ref);
	for (i = 0; i < a->nsrc; i++)
		if (a->src[i].it != NULL && is_long(&a->src[i]) == lists &&
		    make_one(a, &a->src[i]) == -1)
			return (-1);
	return (0);
}

/*
 * Times.  A file gets the time of the apply, not that at which the job wrote
 * it: tools like make, which compare it with what was built here meanwhile,
 * must see that it is new.  In what order the job wrote its files is kept, in
 * nanoseconds.
 */
struct stamp {
	int64_t t;
	size_t src;
};

static int
by_time(const void *x, const void *y)
{
	const struct stamp *a = x, *b = y;

	return (a->t < b->t ? -1 : a->t > b->t);
}

static int
set_time(struct apply *a, const struct source *s, int64_t ns)
{
	struct timespec ts[2] = { { .tv_nsec = UTIME_OMIT }, {
	    .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 } };
	struct jop *op = &a->j.ops[s->op];
	char name[SLOT_LEN];

	stage_slot(name, 'n', op->slot);
	if (utimensat(a->st.dir, name, ts, AT_SYMLINK_NOFOLLOW) == -1 ||
	    jfile_stat(a->st.dir, name, &op->new) != 1)
		return (-1);
	op->new.ref = s->what == SOURCE_THEIRS && !is_link(s) ?
	    s->it->c.ref : (struct obj_ref){ 0 };
	return (0);
}

static int
set_times(struct apply *a)
{
	struct timespec now;
	struct stamp *v;
	int64_t ns, rank;
	size_t i, n = 0;
	int rc = 0;

	if (NEW_ARRAY(v, a->nsrc + 1) == -1)
		return (-1);
	for (i = 0; i < a->nsrc; i++) {
		if (a->src[i].it == NULL)
			continue;
		v[n].t = a->src[i].what == SOURCE_TEXT ? INT64_MAX :
		    a->src[i].it->c.mtime_ns;
		v[n++].src = i;
	}
	if (n > 1)
		qsort(v, n, sizeof(*v), by_time);
	/* The clock that file systems stamp with. */
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	rank = -(int64_t)n;
	for (i = 0; rc == 0 && i < n; i++) {
		if (i == 0 || v[i].t != v[i - 1].t)
			rank++;
		rc = set_time(a, &a->src[v[i].src], ns + rank);
	}
	free(v);
	return (rc);
}

/*
 * Is there room?  A long file may have holes, so of those only a full disk
 * tells.
 */
static int
check_space(struct apply *a)
{
	struct statvfs vfs;
	uint64_t sure = 0;
	size_t i;

	for (i = 0; i < a->nsrc; i++) {
		if (a->src[i].it == NULL || is_link(&a->src[i]))
			continue;
		a->need += a->src[i].what == SOURCE_TEXT ?
		    a->src[i].it->text_len : a->src[i].it->c.size;
		if (!is_long(&a->src[i]))
			sure += a->src[i].it->c.size;
	}
	if (fstatvfs(a->st.root, &vfs) == -1 || vfs.f_frsize == 0 ||
	    sure / vfs.f_frsize < vfs.f_bavail)
		return (0);
	errno = ENOSPC;
	return (-1);
}

int
files_stage(struct apply *a)
{
	size_t i;

	for (i = 0; i < a->nsrc; i++)
		a->nstaged += a->src[i].it != NULL;
	if (check_space(a) == -1)
		return (-1);
	walk_forget(&a->w);
	if (make_all(a, 0) == -1 || make_all(a, 1) == -1)
		return (-1);
	if (!flush_each(a) && syncfs(a->st.dir) == -1)
		return (-1);
	return (set_times(a));
}

/* Fill the unnamed file, and say in the journal what it is. */
static int
lone_make(struct apply *a, const struct source *s, int fd)
{
	struct jop *op = &a->j.ops[s->op];
	struct timespec ts[2] = { { .tv_nsec = UTIME_OMIT } };
	struct stat st;

	/* The clock that file systems stamp with; see set_times. */
	clock_gettime(CLOCK_REALTIME_COARSE, &ts[1]);
	if (complete(a, s, fd) == -1 || futimens(fd, ts) == -1 ||
	    fstat(fd, &st) == -1)
		return (apply_fail(a, op->path, op->path_len, NULL));
	jfile_of(&st, &op->new);
	op->new.ref = s->what == SOURCE_THEIRS ? s->it->c.ref :
	    (struct obj_ref){ 0 };
	op->slot = SLOT_LONE;
	a->sum->bytes = s->what == SOURCE_TEXT ? s->it->text_len :
	    s->it->c.size;
	return (apply_pulse(a));
}

int
files_lone(struct apply *a)
{
	const struct source *s = a->src;
	struct jop *op = a->j.ops;
	int fd, rc;

	if (a->st.no_lone || a->j.n != 1 || a->nsrc != 1 || s->it == NULL ||
	    is_link(s) || (op->type != JOP_CREATE && op->type != JOP_REPLACE))
		return (1);
	if ((fd = openat(a->st.root, ".", O_TMPFILE | O_RDWR | O_CLOEXEC,
	    0600)) == -1)
		return (1);
	a->nstaged = 1;
	walk_forget(&a->w);
	if ((rc = check_space(a)) == 0 && (rc = lone_make(a, s, fd)) == 0)
		rc = lone_stage(&a->st, &a->j, fd);
	io_close(&fd);
	if (rc == 1) {                  /* from the start, in a directory */
		op->slot = 0;
		a->sum->bytes = a->need = a->nstaged = 0;
	}
	return (rc);
}
