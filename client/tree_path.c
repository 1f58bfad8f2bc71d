/*
 * Names of things in a tree, as people give them.  Touches nothing.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tree_path.h"

#define WORKSPACE       "/workspace"

/* What of the absolute ${arg} is below ${top}, or NULL. */
static const char *
below(const char *top, const char *arg)
{
	size_t n = strlen(top);

	if (n == 0 || strncmp(arg, top, n) != 0 ||
	    (arg[n] != '/' && arg[n] != '\0'))
		return (NULL);
	return (arg + n);
}

/* Append the parts of ${p}.  0, or -1. */
static int
walk(char *out, size_t *len, const char *p)
{
	size_t n;

	for (; *p != '\0'; p += n + (p[n] == '/')) {
		n = strcspn(p, "/");
		if (n == 0 || (n == 1 && *p == '.'))
			continue;
		if (n == 2 && p[0] == '.' && p[1] == '.') {
			if (*len == 0)
				return (-1);
			while (*len > 0 && out[--*len] != '/')
				;
			continue;
		}
		if (*len + n + 2 > PATH_MAX)
			return (-1);
		if (*len > 0)
			out[(*len)++] = '/';
		memcpy(out + *len, p, n);
		*len += n;
	}
	return (0);
}

int
tree_path(const char *root, const char *dir, const char *arg, char *out)
{
	size_t len = 0;
	const char *p = arg;

	if (*arg == '/') {
		if ((p = below(root, arg)) == NULL &&
		    (p = below(WORKSPACE, arg)) == NULL)
			return (-1);
	} else if (walk(out, &len, dir) == -1)
		return (-1);
	if (walk(out, &len, p) == -1)
		return (-1);
	out[len] = '\0';
	return (0);
}
