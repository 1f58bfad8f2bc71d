/*
 * The comparison of the upper directory with the submitted tree, which makes
 * the change list and the new tree.  Knows the marks of overlayfs; reads only,
 * by descriptors and without following links.
 */
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect_internal.h"
#include "keep.h"
#include "lib/io.h"
#include "lib/size.h"
#include "storeclient.h"

#define NS      INT64_C(1000000000)

/*
 * Two sorted listings are merged, directory by directory: what the submitted
 * tree has, and what the upper directory has.  The stack is on the heap, so
 * that depth costs memory only.
 *
 * Invariants of struct frame:
 *  1. upper: it stands for a directory of the upper, and has a builder; else
 *     for one that is gone, whose entries are recorded as deleted.
 *  2. olds.v[oi] and names.v[ni] are the next on either side.
 *  3. self is the entry that its parent will hold; .name points into the
 *     parent's listing.  old is what it was (kind 0: it was not there).
 */
struct frame {
	uint8_t upper;
	uint8_t opaque;         /* what it does not show is gone */
	uint8_t changed;
	struct olds olds;
	struct names names;
	size_t oi, ni;
	struct tree_builder *tb;
	size_t path_len;        /* of its own path */
	struct tree_entry self;
	struct tree_entry old;
};

struct stack {
	struct frame *v;
	size_t n, cap;
};

static int
path_push(struct collect *c, const uint8_t *name, size_t len)
{
	size_t need = c->path_len + len + 2;
	char *p;

	if ((p = size_grow(c->path, &c->path_cap, need, 1)) == NULL)
		return (-1);
	c->path = p;
	if (c->path_len > 0)
		p[c->path_len++] = '/';
	memcpy(p + c->path_len, name, len);
	c->path_len += len;
	p[c->path_len] = '\0';
	return (0);
}

static int64_t
mtime_of(const struct stat *st)
{

	return ((int64_t)st->st_mtim.tv_sec * NS + st->st_mtim.tv_nsec);
}

static struct frame *
frame_new(struct collect *c, struct stack *s)
{
	struct frame *p;

	p = size_grow(s->v, &s->cap, s->n + 1, sizeof(*p));
	if (p == NULL) {
		(void)collect_fail(c);
		return (NULL);
	}
	s->v = p;
	p += s->n++;
	memset(p, 0, sizeof(*p));
	p->path_len = c->path_len;
	return (p);
}

static void
frame_done(struct frame *f)
{

	olds_done(&f->olds);
	names_done(&f->names);
	tree_builder_free(f->tb);
}

/* Everything below a directory that is no more. */
static int
push_gone(struct collect *c, struct stack *s, const struct tree_entry *old)
{
	struct frame *f;

	if ((f = frame_new(c, s)) == NULL)
		return (-1);
	if (olds_read(&f->olds, c->sc, &old->ref) == -1)
		return (collect_fail(c));
	return (0);
}

/* Record a deletion, with all that was below. */
static int
removed(struct collect *c, struct stack *s, const struct tree_entry *old)
{

	s->v[s->n - 1].changed = 1;
	if (collect_record(c, CHANGE_DELETE, NULL) == -1)
		return (-1);
	return (old->kind == TREE_DIR ? push_gone(c, s, old) : 0);
}

static int
is_opaque(int dir)
{
	char v;

	return (fgetxattr(dir, "user.overlay.opaque", &v, 1) == 1 && v == 'y');
}

static int
entry_add(struct collect *c, struct frame *f, const struct tree_entry *e)
{

	return (tree_builder_add(f->tb, e) == -1 ? collect_fail(c) : 0);
}

/*
 * Enter the directory ${name} of the upper.  One that has nothing to say is
 * not entered: then the tree below stays what it was, and 0 is returned with
 * e->ref set; 1 when a frame was pushed.
 */
static int
push_upper(struct collect *c, struct stack *s, const char *name,
    const struct tree_entry *old, const struct tree_entry *e)
{
	struct frame *f;
	int fd;

	fd = strcmp(name, ".") == 0 ? openat(c->dir, name, O_RDONLY |
	    O_DIRECTORY | O_CLOEXEC) : collect_open(c->dir, name, e->mode,
	    O_DIRECTORY);
	if (fd == -1) {
		collect_lack(c, "a directory could not be read: %s",
		    strerror(errno));
		return (0);
	}
	if ((f = frame_new(c, s)) == NULL) {
		io_close(&fd);
		return (-1);
	}
	f->upper = 1;
	f->self = *e;
	if (old != NULL)
		f->old = *old;
	io_close(&c->dir);
	c->dir = fd;
	f->opaque = (uint8_t)is_opaque(fd);
	if (names_read(&f->names, fd) == -1)
		collect_lack(c, "a directory could not be read: %s",
		    strerror(errno));
	if ((f->tb = tree_builder_new()) == NULL)
		return (collect_fail(c));
	if (old == NULL || old->kind != TREE_DIR)
		f->changed = 1;
	else if (f->names.n > 0 || f->opaque) {
		if (olds_read(&f->olds, c->sc, &old->ref) == -1)
			return (collect_fail(c));
	}
	return (1);
}

/* What kind of change is it?  0: none. */
static int
op_of(const struct tree_entry *old, const struct tree_entry *e)
{

	if (old == NULL)
		return (CHANGE_CREATE);
	if (old->kind != e->kind)
		return (CHANGE_TYPE);
	if (e->kind == TREE_FILE && !obj_ref_equal(&old->ref, &e->ref))
		return (CHANGE_MODIFY);
	if (e->kind == TREE_LINK && (old->target_len != e->target_len ||
	    memcmp(old->target, e->target, e->target_len) != 0))
		return (CHANGE_MODIFY);
	return (e->kind != TREE_LINK && old->mode != e->mode ? CHANGE_MODE :
	    0);
}

/* A file or link is as it is: record and add what is different. */
static int
settle_leaf(struct collect *c, struct stack *s, const struct tree_entry *old,
    const struct tree_entry *e)
{
	struct frame *f = &s->v[s->n - 1];
	int op = op_of(old, e);

	if (op == 0)
		return (entry_add(c, f, old));
	f->changed = 1;
	if (entry_add(c, f, e) == -1 || collect_record(c, op, e) == -1)
		return (-1);
	if (op == CHANGE_TYPE && old->kind == TREE_DIR)
		return (push_gone(c, s, old));
	return (0);
}

static int
see_link(struct collect *c, struct stack *s, const char *name,
    const struct tree_entry *old, struct tree_entry *e)
{
	char target[TREE_TARGET_MAX + 1];
	ssize_t n;

	n = readlinkat(c->dir, name, target, sizeof(target));
	if (n <= 0 || n > TREE_TARGET_MAX) {
		collect_lack(c, "a link could not be read");
		return (0);
	}
	e->kind = TREE_LINK;
	e->mode = 0777;
	e->size = (uint64_t)n;
	e->target = (const uint8_t *)target;
	e->target_len = (uint16_t)n;
	return (settle_leaf(c, s, old, e));
}

static int
see_dir(struct collect *c, struct stack *s, const char *name,
    const struct tree_entry *old, struct tree_entry *e)
{
	int op;

	e->kind = TREE_DIR;
	op = op_of(old, e);
	if (op != 0) {
		s->v[s->n - 1].changed = 1;
		if (collect_record(c, op, e) == -1)
			return (-1);
	}
	return (push_upper(c, s, name, old, e) == -1 ? -1 : 0);
}

/* A FIFO, a socket, a device; or the mark of a deletion. */
static int
see_other(struct collect *c, struct stack *s, const struct stat *st,
    const struct tree_entry *old)
{

	if (!(S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0)))
		c->skipped++;
	return (old == NULL ? 0 : removed(c, s, old));
}

/* Is what is new at c->path kept?  1 or 0, -1 when the walk is to end. */
static int
wanted(struct collect *c, const struct stack *s, mode_t mode)
{
	int rc;

	if (c->keep == NULL || (!S_ISREG(mode) && !S_ISDIR(mode) &&
	    !S_ISLNK(mode)))
		return (1);
	rc = keep_wanted(c->keep, c->dir, c->path, s->v[s->n - 1].path_len,
	    S_ISDIR(mode));
	if (rc == -1 && errno == ETIME) {
		collect_lack(c, "the ignore rules take too long to compare");
		return (1);
	}
	if (rc == 0)
		c->ignored++;
	return (rc == -1 ? collect_fail(c) : rc);
}

/* What the upper has under ${name}; ${old} is what was there, or NULL. */
static int
see(struct collect *c, struct stack *s, const char *name,
    const struct tree_entry *old)
{
	struct tree_entry e = { 0 };
	struct stat st;
	int rc;

	if (fstatat(c->dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1) {
		collect_lack(c, "an entry could not be read: %s",
		    strerror(errno));
		return (0);
	}
	if (old == NULL && (rc = wanted(c, s, st.st_mode)) != 1)
		return (rc);
	e.mode = st.st_mode & 0777;
	e.mtime_ns = mtime_of(&st);
	e.name = (const uint8_t *)name;
	e.name_len = (uint16_t)strlen(name);
	if (!S_ISREG(st.st_mode))
		c->disk += (uint64_t)st.st_blocks * 512;
	if (S_ISDIR(st.st_mode))
		return (see_dir(c, s, name, old, &e));
	if (S_ISLNK(st.st_mode))
		return (see_link(c, s, name, old, &e));
	if (!S_ISREG(st.st_mode))
		return (see_other(c, s, &st, old));
	e.kind = TREE_FILE;
	rc = collect_file(c, name, &st, old, &e);
	return (rc == 1 ? settle_leaf(c, s, old, &e) : rc);
}

/* Not in the upper: as it was, unless its directory hides it. */
static int
unseen(struct collect *c, struct stack *s, const struct tree_entry *old)
{
	struct frame *f = &s->v[s->n - 1];

	if (!f->upper || f->opaque)
		return (removed(c, s, old));
	return (entry_add(c, f, old));
}

/* The next name of the top frame.  The frames may move in here. */
static int
step(struct collect *c, struct stack *s)
{
	struct frame *f = &s->v[s->n - 1];
	const struct tree_entry *old = NULL;
	const char *name = NULL;
	int cmp = 0;

	if (f->oi < f->olds.n)
		old = &f->olds.v[f->oi];
	if (f->ni < f->names.n)
		name = f->names.v[f->ni];
	if (old != NULL && name != NULL)
		cmp = tree_name_cmp(old->name, old->name_len,
		    (const uint8_t *)name, strlen(name));
	if (cmp > 0)
		old = NULL;
	else if (cmp < 0)
		name = NULL;
	f->oi += old != NULL;
	f->ni += name != NULL;
	/* Only ".git" cannot be in a tree, and never was. */
	if (name != NULL && tree_name_fault((const uint8_t *)name,
	    strlen(name)) != NULL)
		return (0);
	c->path_len = f->path_len;
	if (path_push(c, name != NULL ? (const uint8_t *)name : old->name,
	    name != NULL ? strlen(name) : old->name_len) == -1)
		return (collect_fail(c));
	if (c->path_len > COLLECT_PATH_MAX || s->n > TREE_DEPTH_MAX) {
		collect_lack(c, "a path is longer than %d bytes or %d names",
		    COLLECT_PATH_MAX, TREE_DEPTH_MAX);
		return (0);
	}
	return (name != NULL ? see(c, s, name, old) : unseen(c, s, old));
}

/* The tree of a frame whose entries were all seen. */
static int
frame_tree(struct collect *c, struct frame *f, struct obj_ref *ref)
{

	if (!f->changed) {
		*ref = f->old.ref;
		return (0);
	}
	if (tree_builder_finish(f->tb, storeclient_put, c->sc, ref) == -1)
		return (collect_fail(c));
	return (0);
}

/* Leave the top frame: its entry goes into the one below it. */
static int
pop(struct collect *c, struct stack *s)
{
	struct frame *f = &s->v[s->n - 1], *up = f - 1;
	struct tree_entry e = f->self;
	int fd;

	if (!f->upper) {
		frame_done(f);
		s->n--;
		return (0);
	}
	if (frame_tree(c, f, &e.ref) == -1)
		return (-1);
	/* A directory that is as it was keeps its time, too. */
	if (!f->changed && f->old.mode == e.mode)
		e = f->old;
	else
		up->changed = 1;
	fd = openat(c->dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return (collect_fail(c));
	io_close(&c->dir);
	c->dir = fd;
	frame_done(f);
	s->n--;
	return (entry_add(c, up, &e));
}

static int
run(struct collect *c, struct stack *s, struct obj_ref *root)
{
	struct frame *f;

	for (;;) {
		f = &s->v[s->n - 1];
		if (f->oi < f->olds.n || f->ni < f->names.n) {
			if (step(c, s) == -1 || c->stop)
				return (-1);
		} else if (s->n == 1)
			return (frame_tree(c, f, root));
		else if (pop(c, s) == -1)
			return (-1);
	}
}

int
collect_walk(struct collect *c, const struct obj_ref *old,
    struct obj_ref *root)
{
	struct tree_entry top = { .kind = TREE_DIR, .ref = *old };
	struct stack s = { 0 };
	int rc = -1;

	*root = *old;
	if (push_upper(c, &s, ".", &top, &top) == 1) {
		s.v[0].opaque = 0;
		rc = run(c, &s, root);
	}
	while (s.n > 0)
		frame_done(&s.v[--s.n]);
	free(s.v);
	return (rc);
}
