/*
 * Ignore files and repositories of a tree that is being selected.  Reads
 * ignore files, a link among them too: leaving rules out would send too much.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/size.h"
#include "lib/text.h"
#include "select_internal.h"

#define REPOS_MAX       10000

/* a/b, or b; at most PATH_MAX.  0, or -1 with errno. */
static int
join(char *out, const char *a, const char *b)
{
	if (snprintf(out, PATH_MAX, "%s%s%s", a, *a != '\0' && *b != '\0' ?
	    "/" : "", b) < PATH_MAX)
		return (0);
	errno = ENAMETOOLONG;
	return (-1);
}

/* The repository that a directory below the root belongs to. */
static struct repo *
repo_of(const struct select *sel, const char *dir)
{
	struct repo *best = sel->repos[0];
	size_t i, n;

	for (i = 1; i < sel->nrepos; i++) {
		n = strlen(sel->repos[i]->base);
		if (strncmp(dir, sel->repos[i]->base, n) == 0 &&
		    (dir[n] == '\0' || dir[n] == '/') &&
		    n > strlen(best->base))
			best = sel->repos[i];
	}
	return (best);
}

static int
flags_of(const struct select *sel, const char *dir)
{
	return (sel->nrepos > 0 && repo_of(sel, dir)->g.fold ? IGNORE_FOLD : 0);
}

/* A directory below the root as the rules name it.  0 or -1. */
static int
base_of(const struct select *sel, const char *dir, char *out)
{
	return (join(out, sel->nrepos > 0 ? sel->repos[0]->g.prefix : "", dir));
}

static void
say(struct select *sel, const char *path, const char *what)
{
	char esc[300];
	int e = errno;

	text_escape(path, strlen(path), esc, sizeof(esc));
	snprintf(sel->why, sizeof(sel->why), "cannot read %s: %s; nothing is "
	    "sent without its rules", esc, what);
	errno = e;
}

int
select_load(struct select *sel, int dirfd, const char *dir, const char *file)
{
	char path[PATH_MAX], base[PATH_MAX];
	struct stat st;
	uint8_t *buf;
	size_t len;
	int rc;

	if (join(path, dir, file) == -1 || base_of(sel, dir, base) == -1)
		return (-1);
	if (io_file_read(dirfd, file, GITREPO_RULES_MAX, &buf, &len) == -1) {
		if (errno == EISDIR)
			return (0);
		say(sel, path, strerror(errno));
		return (-1);
	}
	if (sel->mode == SELECT_GIT && fstatat(dirfd, file, &st,
	    AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
		select_note(sel, path, "a link; git does not follow it, but "
		    "its rules count here");
	rc = rules_add(sel->rules, RULES_DIR, flags_of(sel, dir), base, path,
	    (const char *)buf, len);
	free(buf);
	if (rc == -1) {
		say(sel, path, strerror(errno));
		return (-1);
	}
	rules_walk_reload(sel->walk);
	return (0);
}

/* Ignore files that are in the index only: a sparse checkout left them out. */
static int
load_absent(struct select *sel, const struct repo *r, const char *repo_dir)
{
	char path[PATH_MAX], base[PATH_MAX], *p = r->g.absent.buf, *text;
	char *id, *rel;
	struct stat st;
	size_t i, len;
	int rc = 0;

	for (i = 0; rc == 0 && i < r->g.absent.n; i++, p += strlen(p) + 1) {
		if ((id = strdup(p)) == NULL)
			return (-1);
		rel = id + strcspn(id, " ");
		*rel = '\0';
		rel += 3;               /* "object 0 path" */
		if (join(base, repo_dir, rel) == 0 && lstat(base, &st) == 0) {
			/* It is on disk after all, which counts. */
		} else if (join(path, r->base, rel) == -1) {
			rc = -1;
		} else if (gitrepo_blob(repo_dir, id, &text, &len) == -1) {
			select_note(sel, path, "not checked out, and its rules "
			    "cannot be read");
		} else {
			if (strrchr(path, '/') != NULL)
				*strrchr(path, '/') = '\0';
			else
				path[0] = '\0';
			rc = base_of(sel, path, base);
			(void)join(path, r->base, rel);
			if (rc == 0)
				rc = rules_add(sel->rules, RULES_DIR,
				    r->g.fold ? IGNORE_FOLD : 0, base, path,
				    text, len);
			free(text);
		}
		free(id);
	}
	return (rc);
}

int
select_repo_add(struct select *sel, struct repo *r)
{
	char base[PATH_MAX], dir[PATH_MAX], name[PATH_MAX];
	int fold = r->g.fold ? IGNORE_FOLD : 0;
	struct repo **v;

	if (sel->nrepos == REPOS_MAX) {
		errno = E2BIG;
		return (-1);
	}
	if ((v = realloc(sel->repos, (sel->nrepos + 1) * sizeof(*v))) == NULL)
		return (-1);
	sel->repos = v;
	/* Rules of the root's own are those of its repository's top. */
	if (sel->nrepos == 0)
		base[0] = '\0';
	else if (base_of(sel, r->base, base) == -1)
		return (-1);
	if (join(dir, sel->root, r->base) == -1 ||
	    join(name, r->base, ".git/info/exclude") == -1 ||
	    rules_add(sel->rules, RULES_REPO, 0, base, NULL, "", 0) == -1 ||
	    (r->g.info != NULL && rules_add(sel->rules, RULES_INFO, fold, base,
	    name, r->g.info, r->g.info_len) == -1) ||
	    (r->g.global != NULL && rules_add(sel->rules, RULES_GLOBAL, fold,
	    base, r->g.global_name, r->g.global, r->g.global_len) == -1))
		return (-1);
	v[sel->nrepos++] = r;
	return (load_absent(sel, r, dir));
}

/* One directory above the root, ${len} bytes of its prefix. */
static int
load_one_above(struct select *sel, const char *prefix, size_t len, char *why)
{
	char path[PATH_MAX], base[PATH_MAX];
	size_t n = strlen(sel->root) - strlen(prefix) + len, blen;
	uint8_t *buf;
	int rc;

	n -= n > 0 && sel->root[n - 1] == '/';
	snprintf(base, sizeof(base), "%.*s", (int)len, prefix);
	if (snprintf(path, sizeof(path), "%.*s/.gitignore", (int)n,
	    sel->root) >= (int)sizeof(path))
		return (-1);
	if (io_file_read(AT_FDCWD, path, GITREPO_RULES_MAX, &buf, &blen) ==
	    -1) {
		if (errno == ENOENT || errno == EISDIR)
			return (0);
		snprintf(why, LIMIT_TEXT, "cannot read %.300s: %s; nothing is "
		    "sent without its rules", path, strerror(errno));
		return (-1);
	}
	rc = rules_add(sel->rules, RULES_DIR, flags_of(sel, ""), base, path,
	    (const char *)buf, blen);
	free(buf);
	return (rc);
}

int
select_load_above(struct select *sel, char *why)
{
	const char *prefix = sel->repos[0]->g.prefix;
	size_t i, n = strlen(prefix), r = strlen(sel->root);

	if (n == 0)
		return (0);
	if (r < n || strcmp(sel->root + r - n, prefix) != 0) {
		snprintf(why, LIMIT_TEXT, "git says that %.200s is %.200s of "
		    "its work tree, which it is not", sel->root, prefix);
		return (-1);
	}
	for (i = 0; i < n; i++)
		if ((i == 0 || prefix[i] == '/') &&
		    load_one_above(sel, prefix, i, why) == -1)
			return (-1);
	return (0);
}

int
select_repo_enter(struct select *sel, const char *dir)
{
	char path[PATH_MAX];
	struct repo *r;
	int rc = -1;

	if (strcmp(repo_of(sel, dir)->base, dir) == 0 && *dir != '\0')
		return (0);
	if (join(path, sel->root, dir) == -1)
		return (-1);
	if ((r = calloc(1, sizeof(*r))) == NULL ||
	    (r->base = strdup(dir)) == NULL)
		goto done;
	rc = gitrepo_open(path, 1, &r->g, sel->why);
	if (rc == 1) {
		select_note(sel, dir, "git does not take it for a repository; "
		    "it is sent as a plain directory");
		rc = 0;
		goto done;
	}
	if (rc == 0 && (rc = select_repo_add(sel, r)) == 0) {
		rules_walk_reload(sel->walk);
		return (0);
	}
done:
	if (r != NULL) {
		gitrepo_done(&r->g);
		free(r->base);
		free(r);
	}
	return (rc);
}


/* First tracked path that is not before ${pre} in byte order. */
static size_t
lower_bound(const struct pathset *ps, size_t lo, const char *pre, size_t len,
    int fold)
{
	size_t hi = ps->n, mid;
	int c;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		c = fold ? strncasecmp(ps->v[mid], pre, len) :
		    strncmp(ps->v[mid], pre, len);
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (lo);
}

/* Behind everything that is in the directory ${p}[0..len), which has a slash
 * at its end: the next one begins with what comes after the slash. */
static size_t
skip_dir(const struct pathset *ps, size_t i, const char *p, size_t len,
    int fold)
{
	char next[PATH_MAX];

	if (len >= sizeof(next))
		return (i + 1);
	memcpy(next, p, len);
	next[len - 1] = '/' + 1;
	return (lower_bound(ps, i + 1, next, len, fold));
}

int
select_tracked(struct select *sel, const char *dir)
{
	const struct repo *r = repo_of(sel, dir);
	const struct pathset *ps = &r->g.tracked;
	size_t i, n, skip = strlen(r->base), plen;
	char pre[PATH_MAX];
	const char *p, *slash;

	names_reset(&sel->tracked);
	sel->fold = r->g.fold;
	dir += skip + (skip > 0 && dir[skip] == '/');
	if (snprintf(pre, sizeof(pre), "%s%s", dir, *dir ? "/" : "") >=
	    (int)sizeof(pre)) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	plen = strlen(pre);
	i = lower_bound(ps, 0, pre, plen, sel->fold);
	while (i < ps->n && (sel->fold ? strncasecmp(ps->v[i], pre, plen) :
	    strncmp(ps->v[i], pre, plen)) == 0) {
		p = ps->v[i] + plen;
		slash = strchr(p, '/');
		n = slash != NULL ? (size_t)(slash - p) : strlen(p);
		if (n > 0 && n < 256 && names_add(&sel->tracked, p, n,
		    slash != NULL) == -1)
			return (-1);
		i = slash != NULL ? skip_dir(ps, i, ps->v[i], plen + n + 1,
		    sel->fold) : i + 1;
	}
	if (!sel->fold)
		names_sort(&sel->tracked);
	return (0);
}

int
select_is_tracked(const struct select *sel, const struct name *nm)
{
	const struct names *t = &sel->tracked;
	size_t lo = 0, hi = t->n, mid;
	int c;

	if (sel->mode != SELECT_GIT)
		return (0);
	if (sel->fold) {
		for (lo = 0; lo < t->n; lo++)
			if (strcasecmp(t->v[lo].s, nm->s) == 0)
				return (1);
		return (0);
	}
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if ((c = strcmp(t->v[mid].s, nm->s)) == 0)
			return (1);
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (0);
}
