/*
 * Moving between tree and staging directory without losing what somebody else
 * puts there meanwhile; see apply_exec.h.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/fs.h>

#include "apply_exec.h"
#include "lib/content.h"
#include "lib/io.h"
#include "lib/tree.h"
#include "out.h"
#include "reserved.h"

#define KEPT            ".errand-kept"
#define KEPT_MAX        100

/*
 * Some network file systems know no flags.  There the name is looked for first,
 * and what comes up between looking and renaming is lost: said in the manual.
 */
int
move_new(int fromfd, const char *from, int tofd, const char *to)
{
	struct stat st;

	if (renameat2(fromfd, from, tofd, to, RENAME_NOREPLACE) == 0)
		return (0);
	if (errno != EINVAL && errno != ENOSYS)
		return (-1);
	if (fstatat(tofd, to, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return (-1);
	}
	return (errno == ENOENT ? renameat(fromfd, from, tofd, to) : -1);
}

int
move_exchange(int afd, const char *a, int bfd, const char *b)
{
	return (renameat2(afd, a, bfd, b, RENAME_EXCHANGE));
}

void
jfile_of(const struct stat *st, struct jfile *f)
{
	memset(f, 0, sizeof(*f));
	f->kind = S_ISREG(st->st_mode) ? TREE_FILE : S_ISDIR(st->st_mode) ?
	    TREE_DIR : S_ISLNK(st->st_mode) ? TREE_LINK : 0;
	f->mode = st->st_mode & 07777;
	f->ino = st->st_ino;
	f->size = (uint64_t)st->st_size;
	f->mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 +
	    st->st_mtim.tv_nsec;
}

int
jfile_stat(int dirfd, const char *name, struct jfile *f)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (errno == ENOENT ? 0 : -1);
	jfile_of(&st, f);
	return (1);
}

static int
has_content(const struct obj_ref *ref, int dirfd, const char *name)
{
	struct obj_ref now;
	uint64_t size;
	int fd, rc = -1;

	if ((fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_CLOEXEC)) == -1)
		return (-1);
	if (content_from_fd(fd, NULL, NULL, &now, &size) == 0)
		rc = obj_ref_equal(&now, ref);
	io_close(&fd);
	return (rc);
}

int
jfile_is(const struct jfile *f, int dirfd, const char *name)
{
	struct jfile now;
	int rc;

	if ((rc = jfile_stat(dirfd, name, &now)) != 1)
		return (rc);
	if (now.kind != f->kind || now.ino != f->ino || now.size != f->size ||
	    now.mtime_ns != f->mtime_ns)
		return (0);
	/* Written so shortly before that the time need not have moved. */
	if (f->racy && f->kind == TREE_FILE)
		return (has_content(&f->ref, dirfd, name));
	return (1);
}

int
keep_beside(struct exec *x, const struct jop *op, const char *name,
    int dirfd, const char *base)
{
	char to[TREE_NAME_MAX + 1];
	const int room = TREE_NAME_MAX - (int)sizeof(KEPT) - 4;
	int i;

	for (i = 1; i < KEPT_MAX; i++) {
		if (i == 1)
			snprintf(to, sizeof(to), "%.*s" KEPT, room, base);
		else
			snprintf(to, sizeof(to), "%.*s" KEPT "%d", room, base,
			    i);
		if (move_new(x->st->dir, name, dirfd, to) == 0) {
			x->kept++;
			out_warn("%s: changed here at this very moment; one "
			    "version is kept beside it, as %s",
			    out_escape(op->path, op->path_len), to);
			return (0);
		}
		if (errno != EEXIST)
			return (-1);
	}
	return (-1);
}

int
give_back(struct exec *x, const struct jop *op, const char *name, int dirfd,
    const char *base)
{
	if (move_new(x->st->dir, name, dirfd, base) == 0)
		return (0);
	return (errno == EEXIST ? keep_beside(x, op, name, dirfd, base) : -1);
}

int
restore(struct exec *x, const struct jop *op, const char *name, int dirfd,
    const char *base)
{
	return (give_back(x, op, name, dirfd, base) == 0 ? EXEC_CHANGED : -1);
}

int
restore_exchange(struct exec *x, const struct jop *op, int dirfd,
    const char *base)
{
	char n[SLOT_LEN];

	stage_slot(n, 'n', op->slot);
	if (move_exchange(x->st->dir, n, dirfd, base) == -1)
		return (errno == ENOENT ? restore(x, op, n, dirfd, base) : -1);
	if (jfile_is(&op->new, x->st->dir, n) == 1)
		return (EXEC_CHANGED);
	/* The new one was edited while it was there for a moment. */
	return (keep_beside(x, op, n, dirfd, base) == 0 ? EXEC_CHANGED : -1);
}

static int
is_there(int dirfd, const char *name, int dir)
{
	struct stat st;

	return (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (!dir || S_ISDIR(st.st_mode)));
}

static enum op_state
replace_state(const struct exec *x, const struct jop *op)
{
	char n[SLOT_LEN], o[SLOT_LEN];
	struct jfile now;
	int staged;

	stage_slot(n, 'n', op->slot);
	stage_slot(o, 'o', op->slot);
	staged = jfile_stat(x->st->dir, n, &now) == 1 &&
	    now.ino == op->new.ino;
	if (is_there(x->st->dir, o, 0))
		return (staged ? OP_HALF : OP_DONE);
	return (staged ? OP_NOT : OP_DONE);
}

enum op_state
exec_state(struct exec *x, const struct jop *op)
{
	char slot[SLOT_LEN];
	const char *base;
	struct jfile now;
	int dirfd;

	switch (op->type) {
	case JOP_CREATE:
		stage_slot(slot, 'n', op->slot);
		return (is_there(x->st->dir, slot, 0) ? OP_NOT : OP_DONE);
	case JOP_REPLACE:
		return (replace_state(x, op));
	case JOP_REMOVE:
		stage_slot(slot, 'o', op->slot);
		return (is_there(x->st->dir, slot, 0) ? OP_DONE : OP_NOT);
	}
	dirfd = walk_parent(&x->w, op->path, op->path_len, &base);
	if (dirfd == -1)
		return (op->type == JOP_RMDIR ? OP_DONE : OP_NOT);
	if (op->type == JOP_MKDIR)
		return (is_there(dirfd, base, 1) ? OP_DONE : OP_NOT);
	if (op->type == JOP_RMDIR)      /* a file may have come since */
		return (is_there(dirfd, base, 1) ? OP_NOT : OP_DONE);
	return (jfile_stat(dirfd, base, &now) == 1 &&
	    now.mode == op->new.mode ? OP_DONE : OP_NOT);
}

void
exec_skip(struct exec *x, const struct jop *op)
{
	char n[SLOT_LEN], to[TREE_NAME_MAX + 1];
	const char *base;
	int dirfd;

	if (op->type == JOP_CHMOD)
		return;
	out_warn("conflict: %s: changed here and by the job",
	    out_escape(op->path, op->path_len));
	if (op->type != JOP_CREATE && op->type != JOP_REPLACE)
		return;
	dirfd = walk_parent(&x->w, op->path, op->path_len, &base);
	if (dirfd == -1)
		return;
	stage_slot(n, 'n', op->slot);
	snprintf(to, sizeof(to), "%.*s" RESERVED_COPY,
	    TREE_NAME_MAX - (int)sizeof(RESERVED_COPY), base);
	(void)move_new(x->st->dir, n, dirfd, to);
}

/* Where a thing of one kind is replaced by one of another, two operations are
 * about one path.  Is there one of these types, and is it in this state? */
static int
has_partner(struct exec *x, const struct jop *op, const uint8_t types[2],
    enum op_state state)
{
	const struct jop *p;
	size_t i;

	for (i = 0; i < x->j->n; i++) {
		p = &x->j->ops[i];
		if (p != op && p->path_len == op->path_len &&
		    (p->type == types[0] || p->type == types[1]) &&
		    memcmp(p->path, op->path, op->path_len) == 0)
			return (exec_state(x, p) == state);
	}
	return (0);
}

/* Can a file operation go on, or back, without meeting an edit? */
static void
look_one(struct exec *x, const struct jop *op, struct exec_view *v)
{
	static const uint8_t going[2] = { JOP_REMOVE, JOP_RMDIR },
	    coming[2] = { JOP_CREATE, JOP_MKDIR };
	enum op_state s = exec_state(x, op);
	const char *base;
	int dirfd, there;

	dirfd = walk_parent(&x->w, op->path, op->path_len, &base);
	there = dirfd != -1 && is_there(dirfd, base, 0);
	if (s == OP_DONE && op->type == JOP_REMOVE) {
		if (there && !has_partner(x, op, coming, OP_DONE))
			v->back = 0;
	} else if (s == OP_DONE) {
		if (dirfd == -1 || jfile_is(&op->new, dirfd, base) != 1)
			v->back = 0;
	} else if (s == OP_HALF || op->type == JOP_CREATE) {
		if (there && !has_partner(x, op, going, OP_NOT))
			v->forward = 0;
	} else if (dirfd == -1 || jfile_is(&op->old, dirfd, base) != 1)
		v->forward = 0;
}

void
exec_look(struct exec *x, struct exec_view *v)
{
	const struct jop *op;
	size_t i;

	v->forward = v->back = 1;
	for (i = 0; i < x->j->n; i++) {
		op = &x->j->ops[i];
		if (op->type == JOP_CREATE || op->type == JOP_REPLACE ||
		    op->type == JOP_REMOVE)
			look_one(x, op, v);
	}
}

void
exec_late(struct exec *x)
{
	char name[SLOT_LEN];
	const struct jop *op;
	const char *base;
	size_t i;
	int dirfd;

	for (i = 0; i < x->j->n; i++) {
		op = &x->j->ops[i];
		if (op->type != JOP_REPLACE && op->type != JOP_REMOVE)
			continue;
		stage_slot(name, 'o', op->slot);
		if (op->type == JOP_REPLACE && !is_there(x->st->dir, name, 0))
			stage_slot(name, 'n', op->slot);
		if (jfile_is(&op->old, x->st->dir, name) != 0 ||
		    !is_there(x->st->dir, name, 0))
			continue;
		dirfd = walk_parent(&x->w, op->path, op->path_len, &base);
		if (dirfd != -1)
			(void)keep_beside(x, op, name, dirfd, base);
	}
}
