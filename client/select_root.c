/*
 * Which tree is meant, and how its paths are selected.  Looks for .git and
 * .errandignore; opens nothing.
 */
#include <sys/stat.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/limits.h"
#include "select.h"

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
select_root_in_git(const char *root)
{
	char top[PATH_MAX];

	return (find_up(root, ".git", top) == 0);
}

int
select_root_mode(const char *root, int all, enum select_mode *mode, char *why)
{
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
	else if (has(root, SELECT_FILE))
		*mode = SELECT_IGNORE;
	else if (select_root_in_git(root))
		*mode = SELECT_GIT;
	else {
		snprintf(why, LIMIT_TEXT, "%s is not in a Git work tree and "
		    "has no " SELECT_FILE "; make that file (it may be "
		    "empty), or send everything with --include-all, or "
		    "nothing with --no-snapshot", root);
		return (-1);
	}
	if (*mode != SELECT_ALL && is_home(root)) {
		snprintf(why, LIMIT_TEXT, "%s is your home directory; it is "
		    "only sent with --include-all", root);
		return (-1);
	}
	return (0);
}

/* Home is what was found above, and not what is meant. */
static int
home_above(const char *dir, const char *root, char *why)
{
	if (strcmp(dir, root) == 0 || !is_home(root))
		return (0);
	snprintf(why, LIMIT_TEXT, "the nearest %s above is that of your home "
	    "directory, %.200s, which is not sent; make " SELECT_FILE " here "
	    "(it may be empty), or send all that is here with -C . "
	    "--include-all", has(root, ".git") ? ".git" : SELECT_FILE, root);
	return (1);
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
	    find_up(dir, SELECT_FILE, root) == -1)
		memcpy(root, dir, sizeof(dir));
	if (!all && home_above(dir, root, why))
		return (-1);
	return (select_root_mode(root, all, mode, why));
}
