/*
 * Decides which names of which directory are sent.  Reads directories and
 * .errandignore; what Git says comes from gitls.c.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gitls.h"
#include "ignore.h"
#include "lib/io.h"
#include "proto/limits.h"
#include "reserved.h"
#include "select.h"

#define IGNORE_FILE     ".errandignore"
#define IGNORE_MAX      (16 * 1024 * 1024)

struct select {
	enum select_mode mode;
	struct ignore *ig;      /* SELECT_IGNORE */
	struct pathset paths;   /* SELECT_GIT */
};

/*
 * Invariants of struct select:
 *  1. ig != NULL exactly in SELECT_IGNORE.
 *  2. paths is sorted by bytes, so what lies below a directory is one range.
 */

void
names_done(struct names *ns)
{
	free(ns->v);
	free(ns->buf);
	memset(ns, 0, sizeof(*ns));
}

static int
names_add(struct names *ns, const char *s, size_t len, int isdir)
{
	struct name *v;
	size_t cap, i;
	char *buf;

	if (ns->n == ns->cap) {
		cap = ns->cap == 0 ? 64 : ns->cap * 2;
		if ((v = realloc(ns->v, cap * sizeof(*v))) == NULL)
			return (-1);
		ns->v = v;
		ns->cap = cap;
	}
	if (ns->buf_cap - ns->buf_len < len + 1) {
		cap = (ns->buf_cap + len + 1) * 2;
		if ((buf = realloc(ns->buf, cap)) == NULL)
			return (-1);
		if (buf != ns->buf)
			for (i = 0; i < ns->n; i++)
				ns->v[i].s = buf + (ns->v[i].s - ns->buf);
		ns->buf = buf;
		ns->buf_cap = cap;
	}
	memcpy(ns->buf + ns->buf_len, s, len);
	ns->buf[ns->buf_len + len] = '\0';
	ns->v[ns->n].s = ns->buf + ns->buf_len;
	ns->v[ns->n].len = (uint16_t)len;
	ns->v[ns->n].dir_hint = isdir != 0;
	ns->n++;
	ns->buf_len += len + 1;
	return (0);
}

static int
name_cmp(const void *a, const void *b)
{
	return (strcmp(((const struct name *)a)->s,
	    ((const struct name *)b)->s));
}

static struct ignore *
ignore_load(int rootfd, char *why)
{
	struct ignore *ig = NULL;
	uint8_t *buf;
	size_t len;

	/* A link is followed: leaving rules out would send too much. */
	if (io_file_read(rootfd, IGNORE_FILE, IGNORE_MAX, &buf, &len) == -1) {
		snprintf(why, LIMIT_TEXT, "cannot read " IGNORE_FILE ": %s; "
		    "nothing is sent without its rules", strerror(errno));
		return (NULL);
	}
	if ((ig = ignore_parse((const char *)buf, len)) == NULL)
		snprintf(why, LIMIT_TEXT, IGNORE_FILE ": %s", strerror(errno));
	free(buf);
	return (ig);
}

struct select *
select_open(int rootfd, const char *root, enum select_mode mode, char *why)
{
	struct select *sel;

	if ((sel = calloc(1, sizeof(*sel))) == NULL) {
		snprintf(why, LIMIT_TEXT, "%s", strerror(errno));
		goto err0;
	}
	sel->mode = mode;
	if (mode == SELECT_IGNORE &&
	    (sel->ig = ignore_load(rootfd, why)) == NULL)
		goto err1;
	if (mode == SELECT_GIT && gitls(root, &sel->paths, why) == -1)
		goto err1;
	return (sel);

err1:
	free(sel);
err0:
	return (NULL);
}

void
select_free(struct select *sel)
{
	if (sel == NULL)
		return;
	ignore_free(sel->ig);
	pathset_done(&sel->paths);
	free(sel);
}

enum select_mode
select_mode_of(const struct select *sel)
{
	return (sel->mode);
}

static int
wanted(const struct select *sel, const char *dir, const struct dirent *de)
{
	char path[PATH_MAX];
	int n;

	if (reserved_unsent(de->d_name, strlen(de->d_name)) ||
	    strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
		return (0);
	if (sel->ig == NULL)
		return (1);
	n = snprintf(path, sizeof(path), "%s%s%s", dir, *dir ? "/" : "",
	    de->d_name);
	if (n < 0 || n >= (int)sizeof(path))
		return (1);
	return (!ignore_match(sel->ig, path, (size_t)n, de->d_type == DT_DIR,
	    NULL));
}

static int
names_from_dir(const struct select *sel, int dirfd, const char *dir,
    struct names *ns)
{
	struct dirent *de;
	struct stat st;
	DIR *d;
	int fd, rc = 0;

	if ((fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (-1);
	if ((d = fdopendir(fd)) == NULL) {
		close(fd);
		return (-1);
	}
	while (rc == 0 && (errno = 0, de = readdir(d)) != NULL) {
		if (de->d_type == DT_UNKNOWN && fstatat(dirfd, de->d_name, &st,
		    AT_SYMLINK_NOFOLLOW) == 0)
			de->d_type = IFTODT(st.st_mode);
		if (wanted(sel, dir, de))
			rc = names_add(ns, de->d_name, strlen(de->d_name),
			    de->d_type == DT_DIR);
	}
	if (de == NULL && errno != 0)
		rc = -1;
	closedir(d);
	if (rc == 0 && ns->n > 1)
		qsort(ns->v, ns->n, sizeof(*ns->v), name_cmp);
	return (rc);
}

/* First path that is not below ${pre} in byte order. */
static size_t
lower_bound(const struct pathset *ps, const char *pre, size_t len)
{
	size_t lo = 0, hi = ps->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (strncmp(ps->v[mid], pre, len) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (lo);
}

static int
names_from_git(const struct select *sel, const char *dir, struct names *ns)
{
	const struct pathset *ps = &sel->paths;
	char pre[PATH_MAX];
	const char *p, *slash;
	size_t i, n, plen;

	plen = (size_t)snprintf(pre, sizeof(pre), "%s%s", dir,
	    *dir ? "/" : "");
	if (plen >= sizeof(pre)) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	for (i = lower_bound(ps, pre, plen); i < ps->n; i++) {
		if (strncmp(ps->v[i], pre, plen) != 0)
			break;
		p = ps->v[i] + plen;
		slash = strchr(p, '/');
		n = slash != NULL ? (size_t)(slash - p) : strlen(p);
		if (n == 0 || n > 255 || reserved_unsent(p, n))
			continue;
		if (ns->n > 0 && ns->v[ns->n - 1].len == n &&
		    memcmp(ns->v[ns->n - 1].s, p, n) == 0)
			continue;
		if (names_add(ns, p, n, slash != NULL) == -1)
			return (-1);
	}
	if (ns->n > 1)
		qsort(ns->v, ns->n, sizeof(*ns->v), name_cmp);
	return (0);
}

/* "a" and "a/x" may both be listed after a file became a directory. */
static void
names_unique(struct names *ns)
{
	size_t i, n = 0;

	for (i = 0; i < ns->n; i++) {
		if (n > 0 && strcmp(ns->v[n - 1].s, ns->v[i].s) == 0) {
			ns->v[n - 1].dir_hint |= ns->v[i].dir_hint;
			continue;
		}
		ns->v[n++] = ns->v[i];
	}
	ns->n = n;
}

int
select_names(struct select *sel, int dirfd, const char *dir, struct names *ns)
{
	ns->n = 0;
	ns->buf_len = 0;
	if (sel->mode != SELECT_GIT)
		return (names_from_dir(sel, dirfd, dir, ns));
	if (names_from_git(sel, dir, ns) == -1)
		return (-1);
	names_unique(ns);
	return (0);
}

static int
has(const char *dir, const char *name)
{
	char p[PATH_MAX];
	struct stat st;

	return (snprintf(p, sizeof(p), "%s/%s", dir, name) < (int)sizeof(p) &&
	    lstat(p, &st) == 0);
}

static int
is_home(const char *dir)
{
	const char *home = getenv("HOME");
	struct stat a, b;

	return (home != NULL && *home != '\0' && stat(home, &a) == 0 &&
	    stat(dir, &b) == 0 && a.st_dev == b.st_dev &&
	    a.st_ino == b.st_ino);
}

/* The nearest directory at or above ${start} that has ${name}, or -1. */
static int
find_up(const char *start, const char *name, char *root)
{
	char *slash;

	snprintf(root, PATH_MAX, "%s", start);
	while (strcmp(root, "/") != 0) {
		if (has(root, name))
			return (0);
		slash = strrchr(root, '/');
		slash[slash == root] = '\0';
	}
	return (-1);
}

int
select_root_mode(const char *root, int all, enum select_mode *mode, char *why)
{
	char top[PATH_MAX];
	struct stat st;

	if (stat(root, &st) == -1 || !S_ISDIR(st.st_mode)) {
		snprintf(why, LIMIT_TEXT, "%.300s: not a directory", root);
		return (-1);
	}
	if (strcmp(root, "/") == 0) {
		snprintf(why, LIMIT_TEXT, "the root of the file system is "
		    "never sent; change to the project, or name it with -C");
		return (-1);
	}
	if (all)
		*mode = SELECT_ALL;
	else if (has(root, IGNORE_FILE))
		*mode = SELECT_IGNORE;
	else if (find_up(root, ".git", top) == 0)
		*mode = SELECT_GIT;
	else {
		snprintf(why, LIMIT_TEXT, "%s is not in a Git work tree and has "
		    "no " IGNORE_FILE "; make that file (it may be empty), or "
		    "send everything with --include-all, or nothing with "
		    "--no-snapshot", root);
		return (-1);
	}
	if (*mode != SELECT_ALL && is_home(root)) {
		snprintf(why, LIMIT_TEXT, "%s is your home directory; it is "
		    "only sent with --include-all", root);
		return (-1);
	}
	return (0);
}

int
select_find_root(const char *start, int all, char *root,
    enum select_mode *mode, char *why)
{
	char dir[PATH_MAX];

	if (realpath(start, dir) == NULL) {
		snprintf(why, LIMIT_TEXT, "%s: %s", start, strerror(errno));
		return (-1);
	}
	if (find_up(dir, ".git", root) == -1 &&
	    find_up(dir, IGNORE_FILE, root) == -1)
		memcpy(root, dir, sizeof(dir));
	return (select_root_mode(root, all, mode, why));
}
