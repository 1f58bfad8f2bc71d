/*
 * Which paths of a tree its ignore rules exclude.  Memory only.
 *
 * As in Git: rules of deeper directories come before those above, those of a
 * directory before info/exclude, and that before the user's own file.  What
 * lies below an excluded directory is excluded, whatever else is said.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rules_internal.h"
#include "size.h"

struct frame {                  /* a directory on the way */
	size_t len;             /* of its path in w->path */
	size_t n;               /* its files, in the order they are asked */
	const struct rules_file *files[RULES_REPO];
	uint8_t repo;           /* nothing above it counts */
	uint8_t excluded;
	struct rules_hit hit;   /* why it is */
};

struct rules_walk {
	const struct rules *r;
	char *path;             /* relative to the repository */
	size_t len, cap;
	size_t tree;            /* length of what is the tree's prefix */
	struct frame *v;
	size_t n, vcap;
	uint64_t steps;
};

/*
 * Invariants of struct rules_walk:
 *  1. v[0] is the repository's top (length 0); each frame is a directory of
 *     the one before.
 *  2. path[0..v[n - 1].len) is the directory that was entered.
 */

static void
frame_load(struct rules_walk *w, struct frame *f)
{
	const struct rules *r = w->r;
	const struct rules_file *rf;
	size_t i;

	f->n = 0;
	f->repo = 0;
	for (i = rules_find(r, w->path, f->len, 0); i < r->n; i++) {
		rf = r->v[i];
		if (rf->base_len != f->len || (f->len > 0 &&
		    memcmp(rf->base, w->path, f->len) != 0))
			break;
		if (rf->kind == RULES_REPO)
			f->repo = 1;
		else
			f->files[f->n++] = rf;
	}
	if (f->repo)
		f->excluded = 0;
}

/* What do the frames up to ${top} say of the first ${len} bytes of w->path? */
static int
judge(struct rules_walk *w, size_t top, size_t len, int isdir,
    struct rules_hit *hit)
{
	const struct frame *f;
	const struct rules_file *rf;
	size_t i, j, off;

	memset(hit, 0, sizeof(*hit));
	if (w->v[top].excluded) {
		*hit = w->v[top].hit;
		return (1);
	}
	/* Directories' own files first, then those of the repository: they
	 * are only in the frame where it begins. */
	for (i = top + 1; i-- > 0;) {
		f = &w->v[i];
		for (j = 0; j < f->n; j++) {
			rf = f->files[j];
			off = rf->base_len + (rf->base_len > 0);
			if (ignore_match(rf->ig, w->path + off, len - off,
			    isdir, &hit->rule, &w->steps)) {
				hit->name = rf->name;
				return (!hit->rule.negated);
			}
		}
		if (f->repo)
			break;
	}
	return (0);
}

static int
path_set(struct rules_walk *w, size_t at, const char *name, size_t len)
{
	size_t need;
	char *p;

	if (size_add(at, len, &need) == -1 ||
	    (p = size_grow(w->path, &w->cap, need + 2, 1)) == NULL)
		return (-1);
	w->path = p;
	if (at > 0)
		p[at++] = '/';
	memcpy(p + at, name, len);
	w->len = at + len;
	p[w->len] = '\0';
	return (0);
}

static int
push(struct rules_walk *w, const char *name, size_t len)
{
	struct frame f = { 0 }, *v;

	if (w->n > 0 && path_set(w, w->v[w->n - 1].len, name, len) == -1)
		return (-1);
	v = size_grow(w->v, &w->vcap, w->n + 1, sizeof(*v));
	if (v == NULL)
		return (-1);
	w->v = v;
	f.len = w->len;
	if (w->n > 0) {
		f.excluded = (uint8_t)judge(w, w->n - 1, w->len, 1, &f.hit);
		if (f.excluded && f.hit.at == 0 && !f.hit.above) {
			f.hit.above = w->len < w->tree;
			f.hit.at = f.hit.above ? 0 : w->len - w->tree;
		}
	}
	frame_load(w, &f);
	v[w->n++] = f;
	return (0);
}

struct rules_walk *
rules_walk_new(const struct rules *r)
{
	struct rules_walk *w;

	if ((w = calloc(1, sizeof(*w))) == NULL)
		goto err0;
	w->r = r;
	w->tree = strlen(r->prefix);
	w->tree += w->tree > 0;
	if (path_set(w, 0, "", 0) == -1 || push(w, "", 0) == -1 ||
	    rules_walk_enter(w, "") == -1)
		goto err1;
	return (w);

err1:
	rules_walk_free(w);
err0:
	return (NULL);
}

void
rules_walk_free(struct rules_walk *w)
{
	if (w == NULL)
		return;
	free(w->path);
	free(w->v);
	free(w);
}

/* Push each directory of ${p} from the byte ${at} on. */
static int
descend(struct rules_walk *w, const char *p, size_t at)
{
	const char *e;

	for (p += at; *p != '\0'; p = *e == '/' ? e + 1 : e) {
		e = p + strcspn(p, "/");
		if (push(w, p, (size_t)(e - p)) == -1)
			return (-1);
	}
	return (0);
}

/* Is the frame's directory, below the tree's top, ${dir} or above it? */
static int
leads(const struct rules_walk *w, const struct frame *f, const char *dir)
{
	size_t n = f->len - w->tree;

	return (strncmp(dir, w->path + w->tree, n) == 0 &&
	    (dir[n] == '\0' || dir[n] == '/'));
}

int
rules_walk_enter(struct rules_walk *w, const char *dir)
{
	size_t n;

	/* The first frames are the way to the tree itself, and stay. */
	if (w->n == 1 && w->tree > 0 && descend(w, w->r->prefix, 0) == -1)
		return (-1);
	while (w->n > 1 && w->v[w->n - 1].len >= w->tree &&
	    !leads(w, &w->v[w->n - 1], dir))
		w->n--;
	w->len = w->v[w->n - 1].len;
	w->path[w->len] = '\0';
	n = w->len > w->tree ? w->len - w->tree : 0;
	n += n > 0 && dir[n] == '/';
	return (descend(w, dir, n));
}

void
rules_walk_reload(struct rules_walk *w)
{
	w->len = w->v[w->n - 1].len;
	frame_load(w, &w->v[w->n - 1]);
}

int
rules_walk_excluded(const struct rules_walk *w, struct rules_hit *hit)
{
	const struct frame *f = &w->v[w->n - 1];

	if (hit != NULL)
		*hit = f->hit;
	return (f->excluded);
}

int
rules_walk_match(struct rules_walk *w, const char *name, size_t len, int isdir,
    struct rules_hit *hit)
{
	const struct frame *f = &w->v[w->n - 1];
	struct rules_hit h;
	int rc;

	if (hit == NULL)
		hit = &h;
	if (path_set(w, f->len, name, len) == -1)
		return (-1);
	rc = judge(w, w->n - 1, w->len, isdir, hit);
	w->len = f->len;
	return (rc);
}

uint64_t
rules_walk_steps(const struct rules_walk *w)
{
	return (w->steps);
}
