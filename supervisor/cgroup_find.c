/*
 * Which cgroup hierarchies there are, and where we are in them.  Memory only:
 * the caller brings the texts of two files in /proc.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup_find.h"

static const struct {
	const char *name;
	unsigned int what;
} controllers[] = {
	{ "memory",  CG_MEMORY },
	{ "pids",    CG_PIDS },
	{ "cpu",     CG_CPU },
	{ "cpuacct", CG_CPUACCT },
	{ "freezer", CG_FREEZER },
};

/* Which of our controllers a comma-separated list names. */
static unsigned int
what_of(const char *list)
{
	unsigned int what = 0;
	size_t i, n;
	const char *p;

	for (p = list; *p != '\0'; p += n + (p[n] == ',')) {
		n = strcspn(p, ",: \n");
		for (i = 0; i < sizeof(controllers) / sizeof(controllers[0]);
		    i++)
			if (strlen(controllers[i].name) == n &&
			    strncmp(controllers[i].name, p, n) == 0)
				what |= controllers[i].what;
		if (p[n] != ',')
			break;
	}
	return (what);
}

/* Undo the \ooo of mountinfo, in place. */
static void
unescape(char *s)
{
	char *out = s;

	for (; *s != '\0'; out++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' &&
		    s[2] != '\0' && s[3] != '\0') {
			*out = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 +
			    (s[3] - '0'));
			s += 4;
		} else
			*out = *s++;
	}
	*out = '\0';
}

/* One line of mountinfo.  1 when it is a hierarchy of use. */
static int
mount_parse(char *line, struct cg_mount *m)
{
	char *root, *point, *rest, *type, *opts, *save;
	int i;

	if ((rest = strstr(line, " - ")) == NULL)
		return (0);
	*rest = '\0';
	rest += 3;
	root = strtok_r(line, " ", &save);
	for (i = 0; i < 3 && root != NULL; i++)
		root = strtok_r(NULL, " ", &save);
	point = strtok_r(NULL, " ", &save);
	type = strtok_r(rest, " ", &save);
	(void)strtok_r(NULL, " ", &save);
	opts = strtok_r(NULL, " ", &save);
	if (root == NULL || point == NULL || type == NULL || opts == NULL ||
	    strlen(root) >= sizeof(m->root) ||
	    strlen(point) >= sizeof(m->point))
		return (0);
	if (strcmp(type, "cgroup2") == 0)
		m->what = CG_UNIFIED;
	else if (strcmp(type, "cgroup") == 0)
		m->what = what_of(opts);
	else
		return (0);
	unescape(root);
	unescape(point);
	strcpy(m->root, root);
	strcpy(m->point, point);
	return (m->what != 0);
}

/* The line of /proc/self/cgroup for this hierarchy: "N:controllers:path". */
static void
own_find(const char *self, struct cg_mount *m)
{
	const char *p, *list, *path;
	size_t n;

	strcpy(m->own, "/");
	for (p = self; p != NULL && *p != '\0'; p = strchr(p, '\n'),
	    p = p == NULL ? NULL : p + 1) {
		n = strcspn(p, "\n");
		if ((list = memchr(p, ':', n)) == NULL)
			break;
		list++;
		if ((path = memchr(list, ':',
		    n - (size_t)(list - p))) == NULL)
			break;
		path++;
		if (m->what == CG_UNIFIED ? strncmp(p, "0::", 3) != 0 :
		    (what_of(list) & m->what) == 0)
			continue;
		n -= (size_t)(path - p);
		if (n < sizeof(m->own)) {
			memcpy(m->own, path, n);
			m->own[n] = '\0';
		}
		return;
	}
}

size_t
cg_find(const char *mountinfo, const char *self, struct cg_mount *mounts)
{
	unsigned int seen = 0;
	char *copy, *line, *save;
	size_t n = 0;

	if ((copy = strdup(mountinfo)) == NULL)
		return (0);
	for (line = strtok_r(copy, "\n", &save); line != NULL && n < CG_MAX;
	    line = strtok_r(NULL, "\n", &save)) {
		if (!mount_parse(line, &mounts[n]))
			continue;
		mounts[n].what &= ~seen;        /* mounted twice */
		if (mounts[n].what == 0)
			continue;
		seen |= mounts[n].what;
		own_find(self, &mounts[n]);
		n++;
	}
	free(copy);
	return (n);
}

int
cg_path(const struct cg_mount *m, const char *root, char *out, size_t size)
{
	const char *group = root != NULL ? root : m->own;
	size_t top = strcmp(m->root, "/") == 0 ? 0 : strlen(m->root);
	int n;

	if (top > 0 && (strncmp(group, m->root, top) != 0 ||
	    (group[top] != '/' && group[top] != '\0')))
		group = "";
	else
		group += top;
	if (strcmp(group, "/") == 0 || strncmp(group, "/..", 3) == 0)
		group = "";
	n = snprintf(out, size, "%s%s", m->point, group);
	return (n < 0 || (size_t)n >= size ? -1 : 0);
}
