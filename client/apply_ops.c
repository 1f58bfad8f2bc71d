/*
 * From what becomes of each path to the operations of the journal, in this
 * order: directories are opened; what goes, from the deepest; what comes, from
 * the top; directories get their modes, from the deepest.  Changes nothing.
 */
#include <sys/stat.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apply_internal.h"
#include "lib/size.h"
#include "reserved.h"

/* A copy of a path that lives as long as the apply. */
const char *
ops_own(struct apply *a, const char *path, size_t len)
{
	char **v, *p;

	v = size_grow(a->own, &a->own_cap, a->nown + 1, sizeof(*v));
	if (v == NULL)
		return (NULL);
	a->own = v;
	if ((p = malloc(len + 1)) == NULL)
		return (NULL);
	memcpy(p, path, len);
	p[len] = '\0';
	return (v[a->nown++] = p);
}

void
ops_done(struct apply *a)
{
	while (a->nown > 0)
		free(a->own[--a->nown]);
	free(a->own);
	free(a->src);
	free(a->dirs);
	journal_done(&a->j);
	a->own = NULL;
	a->src = NULL;
	a->dirs = NULL;
	a->own_cap = a->src_cap = a->dirs_cap = a->nsrc = a->ndirs = 0;
}

static void
set_old(struct jop *op, const struct item *it)
{
	jfile_of(&it->st, &op->old);
	op->old.racy = it->racy;
	if (it->ours.kind == TREE_FILE)
		op->old.ref = it->ours.ref;
}

/* A new slot, filled from ${it} or, without one, with what goes. */
static int
add_slot(struct apply *a, struct jop *op, struct item *it, int what,
    uint16_t mode)
{
	struct source *v;

	if (a->nsrc == UINT32_MAX || (v = size_grow(a->src, &a->src_cap,
	    a->nsrc + 1, sizeof(*v))) == NULL)
		return (-1);
	a->src = v;
	op->slot = (uint32_t)a->nsrc;
	v[a->nsrc].it = it;
	v[a->nsrc].op = a->j.n;
	v[a->nsrc].what = what;
	v[a->nsrc].mode = mode;
	a->nsrc++;
	return (journal_add(&a->j, op));
}

static struct jop
new_op(enum jop_type type, const char *path, size_t len)
{
	struct jop op = { .type = (uint8_t)type, .path = path,
	    .path_len = (uint32_t)len };

	return (op);
}

static int
is_dir(const struct merge_side *s)
{
	return (s->kind == TREE_DIR);
}

/* Must ours go away, rather than change places with theirs? */
static int
goes(const struct item *it)
{
	return (it->verdict == MERGE_TAKE && it->ours.kind != MERGE_ABSENT &&
	    (it->theirs.kind == MERGE_ABSENT || is_dir(&it->ours) ||
	    is_dir(&it->theirs)));
}

static int
add_going(struct apply *a, struct item *it)
{
	struct jop op = new_op(is_dir(&it->ours) ? JOP_RMDIR : JOP_REMOVE,
	    item_path(it), it->c.path_len);

	set_old(&op, it);
	if (op.type == JOP_REMOVE)
		return (add_slot(a, &op, NULL, 0, 0));
	/* Opened for what went from it: so it is when it is made again. */
	if (it->gone > 0 && geteuid() != 0 && (op.old.mode & 0300) != 0300)
		op.old.mode |= 0700;
	return (journal_add(&a->j, &op));
}

/* --- what comes --- */

struct coming {
	const char *path;
	size_t len;
	struct item *it;        /* NULL: a directory above something */
	uint16_t mode;
	uint8_t copy;
};

struct comings {
	struct coming *v;
	size_t n, cap;
};

static int
coming_add(struct comings *cs, const char *path, size_t len, struct item *it,
    uint16_t mode)
{
	struct coming *v;

	v = size_grow(cs->v, &cs->cap, cs->n + 1, sizeof(*v));
	if (v == NULL)
		return (-1);
	cs->v = v;
	v += cs->n++;
	memset(v, 0, sizeof(*v));
	v->path = path;
	v->len = len;
	v->it = it;
	v->mode = mode;
	return (0);
}

/* The mode of a directory that has to be there for what is below it. */
static int
parent_mode(struct apply *a, const char *path, size_t len, uint16_t *mode)
{
	const struct item *it = plan_find(a, path, len);
	struct merge_side side;

	*mode = 0777 & ~a->mask;
	if (it != NULL && it->c.kind == TREE_DIR) {
		*mode = merge_new_mode(it->c.mode, a->mask);
		return (0);
	}
	switch (base_find(a->base, path, len, &side)) {
	case -1:
		return (-1);
	case 1:
		if (side.kind == TREE_DIR)
			*mode = side.mode;
		return (0);
	default:
		return (0);
	}
}

static int
is_coming(const struct comings *cs, const char *path, size_t len)
{
	size_t i;

	for (i = 0; i < cs->n; i++)
		if (cs->v[i].it == NULL && cs->v[i].len == len &&
		    memcmp(cs->v[i].path, path, len) == 0)
			return (1);
	return (0);
}

/* Will the directory be made, or replace something, by an item? */
static int
is_made(const struct apply *a, const char *path, size_t len)
{
	const struct item *it = plan_find(a, path, len);

	return (it != NULL && it->selected && is_dir(&it->theirs) &&
	    it->verdict == MERGE_TAKE);
}

/* Add the directories above ${path} that nothing else makes. */
static int
add_parents(struct apply *a, struct comings *cs, const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len), *base, *own;
	uint16_t mode;
	size_t i;

	if (slash == NULL || is_made(a, path, (size_t)(slash - path)))
		return (0);
	if (walk_parent(&a->w, path, len, &base) != -1)
		return (0);
	if (errno != ENOENT)
		return (-1);
	for (i = 1; i < len; i++) {
		if (path[i] != '/' || is_made(a, path, i) ||
		    is_coming(cs, path, i))
			continue;
		if ((own = ops_own(a, path, i + 2)) == NULL)
			return (-1);
		if (walk_parent(&a->w, own, i + 2, &base) != -1)
			continue;
		if ((own = ops_own(a, path, i)) == NULL ||
		    parent_mode(a, path, i, &mode) == -1 ||
		    coming_add(cs, own, i, NULL, mode) == -1)
			return (-1);
	}
	return (0);
}

/* NAME.errand-theirs, beside; of a long name the end is left out. */
static const char *
copy_path(struct apply *a, const struct item *it, size_t *len)
{
	const size_t suffix = strlen(RESERVED_COPY);
	const char *slash = memrchr(item_path(it), '/', it->c.path_len);
	size_t name = slash == NULL ? it->c.path_len :
	    it->c.path_len - (size_t)(slash - item_path(it)) - 1;
	char *p;

	*len = it->c.path_len;
	if (name > TREE_NAME_MAX - suffix)
		*len -= name - (TREE_NAME_MAX - suffix);
	p = (char *)(uintptr_t)ops_own(a, item_path(it),
	    it->c.path_len + suffix);
	if (p == NULL)
		return (NULL);
	memcpy(p + *len, RESERVED_COPY, suffix + 1);
	*len += suffix;
	return (p);
}

static int
gather_copy(struct apply *a, struct comings *cs, struct item *it)
{
	const char *path;
	size_t len;

	if ((path = copy_path(a, it, &len)) == NULL ||
	    coming_add(cs, path, len, it, it->theirs.mode) == -1)
		return (-1);
	cs->v[cs->n - 1].copy = 1;
	return (add_parents(a, cs, path, len));
}

static int
gather(struct apply *a, struct comings *cs)
{
	struct item *it;
	size_t i;

	for (i = 0; i < a->n; i++) {
		it = &a->v[i];
		if ((it->verdict == MERGE_TAKE &&
		    it->theirs.kind != MERGE_ABSENT) ||
		    it->verdict == MERGE_TEXT || it->verdict == MERGE_MODE ||
		    (it->marked && a->o->conflicts)) {
			if (coming_add(cs, item_path(it), it->c.path_len, it,
			    it->mode) == -1 || (it->ours.kind ==
			    MERGE_ABSENT && add_parents(a, cs, item_path(it),
			    it->c.path_len) == -1))
				return (-1);
		} else if (it->copy && a->o->conflicts &&
		    gather_copy(a, cs, it) == -1)
			return (-1);
	}
	return (0);
}

static int
by_path(const void *x, const void *y)
{
	const struct coming *a = x, *b = y;

	return (tree_name_cmp((const uint8_t *)a->path, a->len,
	    (const uint8_t *)b->path, b->len));
}

static int
add_mkdir(struct apply *a, const struct coming *c)
{
	struct jop op = new_op(JOP_MKDIR, c->path, c->len);

	op.new.kind = TREE_DIR;
	op.new.mode = c->mode | 0700;
	return (journal_add(&a->j, &op));
}

static int
add_chmod(struct apply *a, const struct coming *c)
{
	struct jop op = new_op(JOP_CHMOD, c->path, c->len);
	uint32_t old = c->it->st.st_mode & 07777;

	op.old.kind = op.new.kind = TREE_FILE;
	op.old.mode = old;
	op.new.mode = (old & 07000) | c->mode;
	return (journal_add(&a->j, &op));
}

/* A copy that an earlier apply left makes room. */
static int
add_copy(struct apply *a, const struct coming *c)
{
	struct jop op = new_op(JOP_CREATE, c->path, c->len);
	const char *base;
	int fd;

	if ((fd = walk_parent(&a->w, c->path, c->len, &base)) != -1 &&
	    jfile_stat(fd, base, &op.old) == 1) {
		if (op.old.kind != TREE_FILE && op.old.kind != TREE_LINK)
			return (0);
		op.type = JOP_REPLACE;
		op.old.racy = 0;
	}
	return (add_slot(a, &op, c->it, SOURCE_THEIRS, c->mode));
}

static int
add_coming(struct apply *a, const struct coming *c)
{
	struct item *it = c->it;
	struct jop op;

	if (c->copy)
		return (add_copy(a, c));
	if (it == NULL || (it->verdict == MERGE_TAKE && is_dir(&it->theirs)))
		return (add_mkdir(a, c));
	if (it->verdict == MERGE_MODE)
		return (is_dir(&it->ours) ? 0 : add_chmod(a, c));
	op = new_op(it->ours.kind == MERGE_ABSENT || goes(it) ? JOP_CREATE :
	    JOP_REPLACE, c->path, c->len);
	if (op.type == JOP_REPLACE)
		set_old(&op, it);
	return (add_slot(a, &op, it, it->text != NULL ? SOURCE_TEXT :
	    SOURCE_THEIRS, c->mode));
}

/* What ${c} means for the modes of directories. */
static int
note_dirs(struct apply *a, const struct coming *c)
{
	const struct item *it = c->it;
	uint32_t old;

	if (it != NULL && it->verdict == MERGE_MODE) {
		old = it->st.st_mode & 07777;
		return (is_dir(&it->ours) ? dirs_mode(a, c->path, c->len, old,
		    (old & 07000) | c->mode) : 0);
	}
	if (dirs_open(a, c->path, c->len) == -1)
		return (-1);
	if ((it == NULL || is_dir(&it->theirs)) && (c->mode & 0700) != 0700)
		return (dirs_mode(a, c->path, c->len, c->mode | 0700,
		    c->mode));
	return (0);
}

static int
open_parents(struct apply *a, const struct comings *cs)
{
	size_t i;

	for (i = 0; i < a->n; i++)
		if (goes(&a->v[i]) && dirs_open(a, item_path(&a->v[i]),
		    a->v[i].c.path_len) == -1)
			return (-1);
	for (i = 0; i < cs->n; i++)
		if (note_dirs(a, &cs->v[i]) == -1)
			return (-1);
	return (0);
}

static int
add_all(struct apply *a, struct comings *cs)
{
	size_t i;

	if (gather(a, cs) == -1)
		return (-1);
	if (cs->n > 1)
		qsort(cs->v, cs->n, sizeof(*cs->v), by_path);
	walk_forget(&a->w);
	if (open_parents(a, cs) == -1 || dirs_before(a) == -1)
		return (-1);
	for (i = a->n; i-- > 0;)
		if (goes(&a->v[i]) && add_going(a, &a->v[i]) == -1)
			return (-1);
	for (i = 0; i < cs->n; i++)
		if (add_coming(a, &cs->v[i]) == -1)
			return (-1);
	return (0);
}

int
ops_make(struct apply *a)
{
	struct comings cs = { 0 };
	int rc;

	rc = add_all(a, &cs);
	free(cs.v);
	return (rc == 0 ? dirs_after(a) : -1);
}
