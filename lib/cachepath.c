/*
 * Paths of caches: the rule, and how users may write them.  Memory only.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cachepath.h"

#define PATH_LONGEST    255     /* LIMIT_CACHE_PATH, with the NUL */

#define HOME            "/home/runner"

static const char *const tops[] = { "/workspace", HOME, "/tmp", "/var/tmp" };

#define NITEMS(a)       (sizeof(a) / sizeof((a)[0]))

static int
part_valid(const char *p, size_t len, int workspace)
{
	if (len == 0 || (len == 1 && p[0] == '.') ||
	    (len == 2 && p[0] == '.' && p[1] == '.'))
		return (0);
	return (!(workspace && len == 4 && strncasecmp(p, ".git", 4) == 0));
}

static int
parts_valid(const char *p, size_t len, int workspace)
{
	const char *end = p + len, *slash;

	for (;; p = slash + 1) {
		if ((slash = memchr(p, '/', (size_t)(end - p))) == NULL)
			slash = end;
		if (!part_valid(p, (size_t)(slash - p), workspace))
			return (0);
		if (slash == end)
			return (1);
	}
}

int
cachepath_valid(const char *p, size_t len)
{
	size_t i, n;

	if (len == 0 || len > PATH_LONGEST || memchr(p, '\0', len) != NULL)
		return (0);
	for (i = 0; i < NITEMS(tops); i++) {
		n = strlen(tops[i]);
		if (len > n + 1 && memcmp(p, tops[i], n) == 0 && p[n] == '/')
			return (parts_valid(p + n + 1, len - n - 1, i == 0));
	}
	return (0);
}

int
cachepath_overlap(const char *a, size_t alen, const char *b, size_t blen)
{
	size_t n = alen < blen ? alen : blen;

	if (memcmp(a, b, n) != 0)
		return (0);
	return (alen == blen || (alen > n ? a[n] : b[n]) == '/');
}

/* What of ${path} is below ${top}, or NULL. */
static const char *
below(const char *path, const char *top)
{
	size_t n;

	if (top == NULL || top[0] == '\0')
		return (NULL);
	n = strlen(top);
	while (n > 0 && top[n - 1] == '/')
		n--;
	if (n == 0 || strncmp(path, top, n) != 0 || path[n] != '/')
		return (NULL);
	return (path + n + 1);
}

/* Append the parts of ${p}: slashes that say nothing and "." are left out. */
static int
append(char *out, size_t size, const char *p)
{
	size_t at = strlen(out), n;

	for (; *p != '\0'; p += n) {
		while (*p == '/')
			p++;
		if ((n = strcspn(p, "/")) == 0 || (n == 1 && *p == '.'))
			continue;
		if (n + 2 > size - at)
			return (-1);
		out[at++] = '/';
		memcpy(out + at, p, n);
		out[at += n] = '\0';
	}
	return (0);
}

int
cachepath_from(const char *path, const char *root, const char *home, char *out,
    size_t size)
{
	const char *top = "", *rest = path, *p = NULL;

	/* A file of that name would be "./~". */
	if (strcmp(path, "~") == 0)
		rest = "";
	else if ((p = below(path, root)) != NULL || path[0] != '/') {
		top = "/workspace";
		rest = p != NULL ? p : path;
	}
	if (p == NULL && ((p = below(path, "~")) != NULL ||
	    (p = below(path, home)) != NULL)) {
		top = HOME;
		rest = p;
	}
	if ((size_t)snprintf(out, size, "%s", top) >= size ||
	    append(out, size, rest) == -1 ||
	    !cachepath_valid(out, strlen(out))) {
		errno = EINVAL;
		return (-1);
	}
	return (0);
}
