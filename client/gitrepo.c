/*
 * Asks git about a work tree, and reads the ignore rules that are not in the
 * tree itself: info/exclude and core.excludesFile.
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

#include "gitrepo.h"
#include "lib/io.h"
#include "proto/limits.h"

void
gitrepo_done(struct gitrepo *g)
{
	free(g->prefix);
	free(g->commit);
	pathset_done(&g->tracked);
	pathset_done(&g->absent);
	free(g->info);
	free(g->global);
	free(g->global_name);
	memset(g, 0, sizeof(*g));
}

/* Rules that are not there are none; those that cannot be read are a fault. */
static int
read_rules(const char *path, char **out, size_t *len, char *why)
{
	struct stat st;
	uint8_t *buf;

	/* /dev/null is how people say that there are none. */
	if (stat(path, &st) == 0 && S_ISCHR(st.st_mode))
		return (0);
	if (io_file_read(AT_FDCWD, path, GITREPO_RULES_MAX, &buf, len) == 0) {
		*out = (char *)buf;
		return (0);
	}
	if (errno == ENOENT || errno == ENOTDIR || errno == EISDIR)
		return (0);
	snprintf(why, LIMIT_TEXT, "cannot read the ignore rules in %.300s: "
	    "%s; nothing is sent without them", path, strerror(errno));
	return (-1);
}

/* The next line of ${p}, without its end; NULL when there is none. */
static char *
take_line(char **p, char *end)
{
	char *line = *p, *nl;

	if (line >= end || (nl = memchr(line, '\n', (size_t)(end - line))) ==
	    NULL)
		return (NULL);
	*nl = '\0';
	*p = nl + 1;
	return (line);
}

static int
is_commit(const char *s)
{
	size_t n = strspn(s, "0123456789abcdef");

	return (s[n] == '\0' && (n == 40 || n == 64));
}

/* Prefix, info/exclude and commit, which one process tells. */
static int
ask_place(const char *dir, int own, struct gitrepo *g, char *why)
{
	const char *const argv[] = { GIT_SAFE, "rev-parse", "--show-prefix",
	    "--git-path", "info/exclude", "HEAD", NULL };
	char *out, *p, *line, path[PATH_MAX];
	size_t len, n;
	int rc;

	if (gitls_output(argv, dir, NULL, 0, &out, &len) == -1) {
		snprintf(why, LIMIT_TEXT, "cannot run git: %s",
		    strerror(errno));
		return (-1);
	}
	p = out;
	line = out == NULL ? NULL : take_line(&p, out + len);
	rc = line == NULL || (own && *line != '\0');
	if (rc == 1 && !own) {
		snprintf(why, LIMIT_TEXT, "git does not take %.300s for a work "
		    "tree; run git status there to see why (an unsafe owner is "
		    "mended with git config safe.directory)", dir);
		rc = -1;
	}
	if (rc != 0)
		goto done;
	if ((n = strlen(line)) > 0)
		line[n - 1] = '\0';
	rc = (g->prefix = strdup(line)) == NULL ? -1 : 0;
	if ((line = take_line(&p, out + len)) != NULL && rc == 0) {
		g->linked = strcmp(line, ".git/info/exclude") != 0 &&
		    g->prefix[0] == '\0';
		if (snprintf(path, sizeof(path), "%s%s%s", *line == '/' ? "" :
		    dir, *line == '/' ? "" : "/", line) < (int)sizeof(path))
			rc = read_rules(path, &g->info, &g->info_len, why);
	}
	if (rc == 0 && (line = take_line(&p, out + len)) != NULL &&
	    is_commit(line))
		g->commit = strdup(line);
done:
	free(out);
	return (rc);
}

static int
is_true(const char *v)
{
	return (v == NULL || strcasecmp(v, "true") == 0 ||
	    strcasecmp(v, "yes") == 0 || strcasecmp(v, "on") == 0 ||
	    strtol(v, NULL, 10) != 0);
}

/* A path that begins with a tilde is Git's to understand: we look no users up
 * (this program is linked so that it cannot). */
static int
ask_path(const char *dir, char *path)
{
	const char *const argv[] = { GIT_SAFE, "config", "--type=path", "-z",
	    "--get", "core.excludesFile", NULL };
	size_t len;
	char *out;
	int rc = -1;

	if (gitls_output(argv, dir, NULL, 0, &out, &len) == 0 && len > 0 &&
	    out[len - 1] == '\0')
		rc = snprintf(path, PATH_MAX, "%s", out) < PATH_MAX ? 0 : -1;
	free(out);
	return (rc);
}

static int
expand(const char *dir, const char *top, const char *v, char *path)
{
	if (*v == '~')
		return (ask_path(dir, path));
	return (snprintf(path, PATH_MAX, "%s%s%s", *v == '/' ? "" : top,
	    *v == '/' ? "" : "/", v) < PATH_MAX ? 0 : -1);
}

/* Where Git looks when nothing is configured. */
static int
default_global(char *path)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int n;

	if (xdg != NULL && *xdg != '\0')
		n = snprintf(path, PATH_MAX, "%s/git/ignore", xdg);
	else if (home != NULL && *home != '\0')
		n = snprintf(path, PATH_MAX, "%s/.config/git/ignore", home);
	else
		return (-1);
	return (n < PATH_MAX ? 0 : -1);
}

/* Read the user's own rules from ${v}, or from where they usually are. */
static int
read_global(const char *dir, const char *v, struct gitrepo *g, char *why)
{
	char top[PATH_MAX], path[PATH_MAX];
	size_t n = strlen(dir), m = strlen(g->prefix);

	/* Relative to the top of the work tree. */
	snprintf(top, sizeof(top), "%s", dir);
	if (m > 0 && n > m + 1)
		top[n - m - 1] = '\0';
	if ((v != NULL ? expand(dir, top, v, path) :
	    default_global(path)) == -1 || (v != NULL && *v == '\0'))
		return (0);
	if ((g->global_name = strdup(path)) == NULL)
		return (-1);
	return (read_rules(path, &g->global, &g->global_len, why));
}

static int
ask_config(const char *dir, struct gitrepo *g, char *why)
{
	const char *const argv[] = { GIT_SAFE, "config", "-z", "--get-regexp",
	    "^core\\.(excludesfile|ignorecase)$", NULL };
	const char *global = NULL;
	char *out, *p, *v;
	size_t len, n;
	int rc;

	if (gitls_output(argv, dir, NULL, 0, &out, &len) == -1) {
		snprintf(why, LIMIT_TEXT, "cannot run git: %s",
		    strerror(errno));
		return (-1);
	}
	for (p = out; p != NULL && p < out + len; p += n + 1) {
		n = strnlen(p, (size_t)(out + len - p));
		if (p + n == out + len)
			break;
		if ((v = strchr(p, '\n')) != NULL)
			*v++ = '\0';
		if (strcmp(p, "core.ignorecase") == 0)
			g->fold = is_true(v);
		else
			global = v != NULL ? v : "";
	}
	rc = read_global(dir, global, g, why);
	free(out);
	return (rc);
}

/* A line of ls-files: "H 100644 object 0\tpath". */
static int
take_entry(struct gitrepo *g, char *line)
{
	char *path = strchr(line, '\t'), *id, *base;
	size_t len;

	if (path == NULL || strlen(line) < 10)
		return (0);
	*path++ = '\0';
	len = strlen(path);
	if (line[0] == 'S') {
		g->sparse++;
		base = strrchr(path, '/');
		if (strcmp(base != NULL ? base + 1 : path, ".gitignore") == 0 &&
		    (id = strchr(line + 2, ' ')) != NULL) {
			path[-1] = ' ';
			if (pathset_add(&g->absent, id + 1, strlen(id + 1)) ==
			    -1)
				return (-1);
		}
	}
	return (pathset_add(&g->tracked, path, len));
}

static int
ask_tracked(const char *dir, struct gitrepo *g, char *why)
{
	const char *const argv[] = { GIT_SAFE, "ls-files", "-z", "-c", "-t",
	    "-s", NULL };
	char *out, *p;
	size_t len, n;
	int rc;

	if ((rc = gitls_output(argv, dir, NULL, 0, &out, &len)) != 0) {
		snprintf(why, LIMIT_TEXT, rc == -1 ? "cannot run git: %s" :
		    "git ls-files failed in %s; run it there to see why",
		    rc == -1 ? strerror(errno) : dir);
		free(out);
		return (-1);
	}
	for (p = out; rc == 0 && p < out + len; p += n + 1) {
		n = strnlen(p, (size_t)(out + len - p));
		if (p + n == out + len)
			break;
		rc = take_entry(g, p);
	}
	free(out);
	return (rc == 0 ? pathset_sort(&g->tracked, g->fold) : rc);
}

int
gitrepo_open(const char *dir, int own, struct gitrepo *g, char *why)
{
	int rc;

	why[0] = '\0';
	memset(g, 0, sizeof(*g));
	if ((rc = ask_place(dir, own, g, why)) == 0 &&
	    (rc = ask_config(dir, g, why)) == 0)
		rc = ask_tracked(dir, g, why);
	if (rc == -1 && why[0] == '\0')
		snprintf(why, LIMIT_TEXT, "%.300s: %s", dir, strerror(errno));
	if (rc != 0)
		gitrepo_done(g);
	return (rc);
}

int
gitrepo_blob(const char *dir, const char *id, char **out, size_t *len)
{
	const char *const argv[] = { GIT_SAFE, "cat-file", "blob", id, NULL };

	if (gitls_output(argv, dir, NULL, 0, out, len) == 0)
		return (0);
	free(*out);
	*out = NULL;
	return (-1);
}
