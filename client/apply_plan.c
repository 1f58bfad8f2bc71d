/*
 * From a list of changes to what becomes of each path.  Looks at the submitted
 * tree and at the local one; changes nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply_internal.h"
#include "changes.h"
#include "lib/size.h"
#include "reserved.h"

const char *
item_path(const struct item *it)
{
	return ((const char *)it->c.path);
}

struct item *
plan_find(const struct apply *a, const void *path, size_t len)
{
	size_t lo = 0, hi = a->n, mid;
	int c;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		c = tree_name_cmp(a->v[mid].c.path, a->v[mid].c.path_len,
		    path, len);
		if (c == 0)
			return (&a->v[mid]);
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (NULL);
}

/* The item of the directory in which ${it} is, if it has one. */
static struct item *
parent_of(const struct apply *a, const struct item *it)
{
	const char *slash = memrchr(item_path(it), '/', it->c.path_len);

	if (slash == NULL)
		return (NULL);
	return (plan_find(a, it->c.path, (size_t)(slash - item_path(it))));
}

/* Room for the items, and for their paths with ends. */
static int
load_items(struct apply *a)
{
	struct change_iter ci;
	struct change c;
	size_t i = 0, bytes = 0;
	char *p;

	if (change_iter_init(&ci, a->o->list, a->o->len) == -1)
		return (-1);
	for (a->n = 0; change_iter_next(&ci, &c) == 1; a->n++)
		bytes += (size_t)c.path_len + 1;
	if (NEW_ARRAY(a->v, a->n + 1) == -1 || (p = malloc(bytes + 1)) == NULL)
		return (-1);
	a->paths = p;
	(void)change_iter_init(&ci, a->o->list, a->o->len);
	for (; i < a->n && change_iter_next(&ci, &c) == 1; i++) {
		memcpy(p, c.path, c.path_len);
		p[c.path_len] = '\0';
		a->v[i].c = c;
		a->v[i].c.path = (uint8_t *)p;
		p += (size_t)c.path_len + 1;
	}
	return (0);
}

/*
 * A host that lies could list what no tree can hold: a name that is ours, or
 * something below a file or a link.
 */
static int
check_item(struct apply *a, struct item *it)
{
	const struct item *up;

	if (reserved_path(item_path(it), it->c.path_len))
		return (apply_fail(a, item_path(it), it->c.path_len,
		    "is a name that no result may have"));
	up = parent_of(a, it);
	if (up != NULL && it->c.op != CHANGE_DELETE && up->c.kind != TREE_DIR)
		return (apply_fail(a, item_path(it), it->c.path_len,
		    "lies below something that is no directory; the list of "
		    "changes is not to be trusted"));
	it->selected = changes_selected(a->o->want, a->o->nwant, &it->c);
	return (0);
}

static int
set_base(struct apply *a, struct item *it)
{
	int rc;

	if (it->c.op == CHANGE_CREATE)
		return (0);
	rc = base_find(a->base, item_path(it), it->c.path_len, &it->base);
	if (rc == -1)
		return (apply_fail(a, NULL, 0, "the submitted tree cannot be "
		    "read"));
	if (rc == 0)
		return (apply_fail(a, item_path(it), it->c.path_len, "was not "
		    "in the submitted tree, but the job is said to have "
		    "changed it; the list of changes is not to be trusted"));
	if (it->base.kind == TREE_LINK) {
		/* The tree's directory is soon forgotten. */
		it->base_target = malloc((size_t)it->base.target_len + 1);
		if (it->base_target == NULL)
			return (-1);
		memcpy(it->base_target, it->base.target, it->base.target_len);
		it->base.target = (uint8_t *)it->base_target;
	}
	return (0);
}

static void
set_theirs(const struct apply *a, struct item *it)
{
	struct merge_side *t = &it->theirs;

	if (it->c.op == CHANGE_DELETE)
		return;
	t->kind = it->c.kind;
	t->mode = it->c.mode;
	t->target = it->c.target;
	t->target_len = it->c.target_len;
	if (t->kind == TREE_FILE)
		t->ref = it->c.ref;
	if (it->c.op == CHANGE_CREATE || it->c.op == CHANGE_TYPE)
		t->mode = merge_new_mode(t->mode, a->mask);
}

static int
plan_conflict(struct apply *a, const char *path, size_t len,
    enum merge_verdict why, const char *what)
{
	struct apply_sum *s = a->sum;
	struct apply_conflict *v;
	size_t i;

	/* Something in the way is in the way of many. */
	for (i = s->n; i > 0 && s->n - i < 64; i--)
		if (s->v[i - 1].len == len &&
		    memcmp(s->v[i - 1].path, path, len) == 0)
			return (0);
	v = size_grow(s->v, &s->cap, s->n + 1, sizeof(*v));
	if (v == NULL)
		return (-1);
	s->v = v;
	memset(&v[s->n], 0, sizeof(*v));
	if ((v[s->n].path = strndup(path, len)) == NULL)
		return (-1);
	v[s->n].len = len;
	v[s->n].why = why;
	v[s->n].what = what;
	s->n++;
	return (0);
}

/* Something that stands where a directory should be stops all below it. */
static int
block(struct apply *a, struct item *it)
{
	size_t n;

	/* What the job deleted there is gone here too. */
	if (it->theirs.kind == MERGE_ABSENT)
		return (0);
	it->blocked = 1;
	n = walk_blocked(&a->w, item_path(it), it->c.path_len);
	return (plan_conflict(a, item_path(it), n > 0 ? n : it->c.path_len,
	    MERGE_TYPES, NULL));
}

/* See what is here, now that this is known of all that is above. */
static int
look(struct apply *a, struct item *it)
{
	const struct item *up = parent_of(a, it);
	int rc;

	if (up != NULL && up->selected && up->theirs.kind == TREE_DIR) {
		if ((it->blocked = up->blocked) != 0)
			return (0);
		/* Made by the job and not here yet: nothing is below it. */
		if (up->base.kind != TREE_DIR && up->ours.kind != TREE_DIR)
			return (0);
	}
	if ((rc = local_look(a, it)) == -1)
		return (-1);
	if (rc == 1)
		return (block(a, it));
	if (it->c.op == CHANGE_CREATE && it->ours.kind != MERGE_ABSENT &&
	    local_case_clash(a, it)) {
		it->clash = 1;
		memset(&it->ours, 0, sizeof(it->ours));
	}
	return (0);
}

static int
decide(struct apply *a, struct item *it)
{
	const struct item *up = parent_of(a, it);

	it->verdict = MERGE_NOTHING;
	if (up != NULL && up->selected && up->theirs.kind == TREE_DIR &&
	    (up->blocked || MERGE_IS_CONFLICT(up->verdict)))
		it->blocked = 1;
	if (!it->selected || it->blocked)
		return (0);
	it->verdict = merge_decide(&it->base, &it->ours, &it->theirs,
	    &it->mode);
	if (it->verdict == MERGE_TEXT)
		return (text_merge(a, it));
	return (0);
}

/*
 * A directory goes when nothing stays in it.  What the job did not have (it
 * was ignored, or is new) keeps it here.  Called in reverse order, so that what
 * is below is settled.
 */
static int
settle(struct apply *a, struct item *it)
{
	struct item *up;
	int64_t n;

	if (it->verdict != MERGE_TAKE || it->ours.kind == MERGE_ABSENT)
		return (0);
	if (it->ours.kind == TREE_DIR) {
		n = local_count(a, item_path(it), it->c.path_len);
		if (n == -1)
			return (apply_fail(a, item_path(it), it->c.path_len,
			    NULL));
		if (n != it->gone) {
			it->kept = it->theirs.kind == MERGE_ABSENT;
			it->verdict = it->kept ? MERGE_NOTHING : MERGE_TYPES;
			return (0);
		}
	}
	if (it->theirs.kind == MERGE_ABSENT && (up = parent_of(a, it)) != NULL)
		up->gone++;
	return (0);
}

/* The other name, if it is one that goes, makes room for this one. */
static void
clash(const struct apply *a, struct item *it)
{
	size_t i;

	if (!it->clash || it->verdict != MERGE_TAKE)
		return;
	for (i = 0; i < a->n; i++)
		if (a->v[i].st.st_ino == it->st.st_ino && &a->v[i] != it &&
		    a->v[i].theirs.kind == MERGE_ABSENT &&
		    a->v[i].verdict == MERGE_TAKE)
			return;
	it->verdict = MERGE_CASE;
}

/* Note a conflict, and what --conflicts does about it. */
static int
record(struct apply *a, struct item *it)
{
	const char *what;

	if (!MERGE_IS_CONFLICT(it->verdict))
		return (0);
	if (it->marked)
		what = "both are in it, between markers";
	else if (it->unsettled)
		what = "left as it is: the markers of an earlier merge are in "
		    "it; settle these first";
	else if (it->verdict != MERGE_CASE && (it->theirs.kind == TREE_FILE ||
	    it->theirs.kind == TREE_LINK)) {
		it->copy = 1;
		what = "left as it is; the job's is beside it, named *"
		    RESERVED_COPY;
	} else
		what = "left as it is";
	return (plan_conflict(a, item_path(it), it->c.path_len, it->verdict,
	    a->o->conflicts ? what : NULL));
}

static int
by_path(const void *x, const void *y)
{
	const struct apply_conflict *a = x, *b = y;

	return (tree_name_cmp((const uint8_t *)a->path, a->len,
	    (const uint8_t *)b->path, b->len));
}

static int
judge(struct apply *a)
{
	size_t i;

	for (i = 0; i < a->n; i++)
		if (decide(a, &a->v[i]) == -1)
			return (-1);
	for (i = a->n; i-- > 0;)
		if (settle(a, &a->v[i]) == -1)
			return (-1);
	for (i = 0; i < a->n; i++) {
		clash(a, &a->v[i]);
		if (record(a, &a->v[i]) == -1)
			return (-1);
	}
	if (a->sum->n > 1)
		qsort(a->sum->v, a->sum->n, sizeof(*a->sum->v), by_path);
	return (0);
}

int
plan_make(struct apply *a)
{
	struct item *it;
	size_t i;

	if (load_items(a) == -1)
		return (-1);
	for (i = 0; i < a->n; i++)
		if (check_item(a, &a->v[i]) == -1)
			return (-1);
	for (i = 0; i < a->n; i++) {
		it = &a->v[i];
		if (!it->selected)
			continue;
		set_theirs(a, it);
		if (set_base(a, it) == -1 || look(a, it) == -1 ||
		    apply_pulse(a) == -1)
			return (-1);
	}
	if (local_know(a) == -1)
		return (-1);
	return (judge(a));
}

void
plan_done(struct apply *a)
{
	size_t i;

	for (i = 0; i < a->n; i++) {
		free(a->v[i].target);
		free(a->v[i].base_target);
		free(a->v[i].text);
	}
	free(a->v);
	free(a->paths);
	a->v = NULL;
	a->paths = NULL;
	a->n = 0;
}
