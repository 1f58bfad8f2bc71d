/*
 * Does the operations of a journal, or takes them back.  Renames, makes and
 * removes names below the root, and changes modes there; writes no content.
 *
 * Whether an operation was done is seen from what lies where, so that this is
 * the same for an apply that runs and for one that was interrupted.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apply_exec.h"
#include "lib/tree.h"

void
exec_init(struct exec *x, struct stage *st, const struct journal *j)
{
	memset(x, 0, sizeof(*x));
	x->st = st;
	x->j = j;
	walk_init(&x->w, st->root);
}

void
exec_done(struct exec *x)
{
	walk_done(&x->w);
}

/* Old and new change places: what comes out is only now looked at. */
static int
replace(struct exec *x, const struct jop *op, int dirfd, const char *base)
{
	char n[SLOT_LEN], o[SLOT_LEN];

	stage_slot(n, 'n', op->slot);
	stage_slot(o, 'o', op->slot);
	if (!x->no_exchange) {
		if (move_exchange(x->st->dir, n, dirfd, base) == 0) {
			if (jfile_is(&op->old, x->st->dir, n) == 1)
				return (EXEC_DONE);
			return (restore_exchange(x, op, dirfd, base));
		}
		if (errno == ENOENT)
			return (EXEC_CHANGED);
		if (errno != EINVAL && errno != ENOSYS)
			return (-1);
		if (x->st->lone) {      /* two names are needed, then */
			x->st->no_lone = 1;
			return (EXEC_CHANGED);
		}
		x->no_exchange = 1;
	}
	if (move_new(dirfd, base, x->st->dir, o) == -1)
		return (errno == ENOENT ? EXEC_CHANGED : -1);
	if (jfile_is(&op->old, x->st->dir, o) != 1)
		return (restore(x, op, o, dirfd, base));
	if (move_new(x->st->dir, n, dirfd, base) == 0)
		return (EXEC_DONE);
	return (errno == EEXIST ? restore(x, op, o, dirfd, base) : -1);
}

static int
remove_old(struct exec *x, const struct jop *op, int dirfd, const char *base)
{
	char o[SLOT_LEN];

	stage_slot(o, 'o', op->slot);
	if (move_new(dirfd, base, x->st->dir, o) == -1)
		return (errno == ENOENT ? EXEC_CHANGED : -1);
	if (jfile_is(&op->old, x->st->dir, o) == 1)
		return (EXEC_DONE);
	return (restore(x, op, o, dirfd, base));
}

static int
create(struct exec *x, const struct jop *op, int dirfd, const char *base)
{
	char n[SLOT_LEN];

	stage_slot(n, 'n', op->slot);
	if (move_new(x->st->dir, n, dirfd, base) == 0)
		return (EXEC_DONE);
	return (errno == EEXIST ? EXEC_CHANGED : -1);
}

static int
set_mode(const struct jop *op, int dirfd, const char *base, uint32_t from,
    uint32_t to)
{
	struct stat st;

	if (fstatat(dirfd, base, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (errno == ENOENT ? EXEC_CHANGED : -1);
	if (S_ISDIR(st.st_mode) != (op->new.kind == TREE_DIR) ||
	    S_ISLNK(st.st_mode) || (st.st_mode & 07777) != from)
		return (EXEC_CHANGED);
	return (fchmodat(dirfd, base, to, AT_SYMLINK_NOFOLLOW));
}

static int
make_dir(int dirfd, const char *base, uint32_t mode)
{
	if (mkdirat(dirfd, base, 0700) == -1)
		return (errno == EEXIST ? EXEC_CHANGED : -1);
	return (fchmodat(dirfd, base, mode, AT_SYMLINK_NOFOLLOW));
}

static int
forward_one(struct exec *x, const struct jop *op)
{
	const char *base;
	int dirfd;

	dirfd = walk_parent(&x->w, op->path, op->path_len, &base);
	if (dirfd == -1)
		return (errno == ENOENT || errno == ENOTDIR ||
		    errno == ELOOP ? EXEC_CHANGED : -1);
	switch (op->type) {
	case JOP_CREATE:
		return (create(x, op, dirfd, base));
	case JOP_REPLACE:
		return (replace(x, op, dirfd, base));
	case JOP_REMOVE:
		return (remove_old(x, op, dirfd, base));
	case JOP_MKDIR:
		return (make_dir(dirfd, base, op->new.mode));
	case JOP_RMDIR:
		if (unlinkat(dirfd, base, AT_REMOVEDIR) == 0)
			return (EXEC_DONE);
		return (errno == ENOTEMPTY || errno == EEXIST ||
		    errno == ENOTDIR || errno == ENOENT ? EXEC_CHANGED : -1);
	default:
		return (set_mode(op, dirfd, base, op->old.mode,
		    op->new.mode));
	}
}

/* Go on with an operation of which it is not known how far it came. */
static int
resume_one(struct exec *x, const struct jop *op)
{
	const char *base;
	struct jfile now;
	int dirfd, rc;

	switch (exec_state(x, op)) {
	case OP_NOT:
		rc = forward_one(x, op);
		/* A directory that was opened may have been removed since;
		 * and a mode is no reason to take everything back. */
		return (rc == EXEC_CHANGED && op->type == JOP_CHMOD ?
		    EXEC_DONE : rc);
	case OP_HALF:
		dirfd = walk_parent(&x->w, op->path, op->path_len, &base);
		return (dirfd == -1 ? -1 : create(x, op, dirfd, base));
	case OP_DONE:
		break;
	}
	if (op->type != JOP_MKDIR)
		return (EXEC_DONE);
	/* It may have died before the directory got its mode. */
	dirfd = walk_parent(&x->w, op->path, op->path_len, &base);
	if (dirfd != -1 && jfile_stat(dirfd, base, &now) == 1 &&
	    now.mode == 0700)
		return (fchmodat(dirfd, base, op->new.mode,
		    AT_SYMLINK_NOFOLLOW));
	return (EXEC_DONE);
}

int
exec_forward(struct exec *x, int fresh, int skip)
{
	size_t i;
	int rc;

	for (i = 0; i < x->j->n; i++) {
		x->at = &x->j->ops[i];
		rc = fresh ? forward_one(x, x->at) : resume_one(x, x->at);
		if (rc == -1)
			return (-1);
		if (rc == EXEC_CHANGED && !skip)
			return (rc);
		if (rc == EXEC_CHANGED)
			exec_skip(x, x->at);
	}
	x->at = NULL;
	return (EXEC_DONE);
}

/* --- taking back --- */

/* The new one goes back to where it was staged, unless it was edited. */
static int
uncreate(struct exec *x, const struct jop *op, int dirfd, const char *base)
{
	char n[SLOT_LEN];

	stage_slot(n, 'n', op->slot);
	if (jfile_is(&op->new, dirfd, base) != 1)
		return (0);             /* gone, or somebody else's by now */
	if (move_new(dirfd, base, x->st->dir, n) == -1)
		return (errno == ENOENT ? 0 : -1);
	if (jfile_is(&op->new, x->st->dir, n) == 1)
		return (0);
	return (restore(x, op, n, dirfd, base) == -1 ? -1 : 0);
}

/* The old one, which is aside as ${name}, gets its place again. */
static int
unreplace(struct exec *x, const struct jop *op, int dirfd, const char *base)
{
	char n[SLOT_LEN], o[SLOT_LEN];
	struct stat st;

	stage_slot(n, 'n', op->slot);
	stage_slot(o, 'o', op->slot);
	if (fstatat(x->st->dir, o, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (uncreate(x, op, dirfd, base) == -1)
			return (-1);
		return (give_back(x, op, o, dirfd, base));
	}
	if (jfile_is(&op->new, dirfd, base) == 0)
		return (give_back(x, op, n, dirfd, base));
	if (move_exchange(x->st->dir, n, dirfd, base) == -1)
		return (-1);
	if (jfile_is(&op->new, x->st->dir, n) == 1)
		return (0);
	return (keep_beside(x, op, n, dirfd, base));
}

static int
back_one(struct exec *x, const struct jop *op)
{
	const char *base;
	char o[SLOT_LEN];
	int dirfd, rc;

	dirfd = walk_parent(&x->w, op->path, op->path_len, &base);
	if (dirfd == -1)
		return (-1);
	switch (op->type) {
	case JOP_CREATE:
		return (uncreate(x, op, dirfd, base));
	case JOP_REPLACE:
		return (unreplace(x, op, dirfd, base));
	case JOP_REMOVE:
		stage_slot(o, 'o', op->slot);
		return (give_back(x, op, o, dirfd, base));
	case JOP_MKDIR:
		/* What somebody put into it stays, and it with that. */
		return (unlinkat(dirfd, base, AT_REMOVEDIR) == 0 ||
		    errno == ENOTEMPTY || errno == EEXIST ||
		    errno == ENOTDIR || errno == ENOENT ? 0 : -1);
	case JOP_RMDIR:
		rc = make_dir(dirfd, base, op->old.mode);
		return (rc == -1 ? -1 : 0);
	default:
		rc = set_mode(op, dirfd, base, op->new.mode, op->old.mode);
		return (rc == -1 ? -1 : 0);
	}
}

int
exec_back(struct exec *x)
{
	int rc = 0, e = 0;
	size_t i;

	for (i = x->j->n; i-- > 0;) {
		if (exec_state(x, &x->j->ops[i]) == OP_NOT)
			continue;
		if (back_one(x, &x->j->ops[i]) == -1) {
			e = errno;
			x->at = &x->j->ops[i];
			rc = -1;
		}
	}
	errno = e;
	return (rc);
}
