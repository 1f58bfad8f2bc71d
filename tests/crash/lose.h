#ifndef ERRAND_TESTS_LOSE_H
#define ERRAND_TESTS_LOSE_H

/*
 * Names are lost with their directory: from what strace -y saw, which files
 * were made or renamed in a directory that was not flushed afterwards?  ext4
 * and XFS keep such a name with the next flush of anything; they need not.
 */
#include <string.h>

#include "rig.h"

#define LOSE_CALLS      "openat,mkdirat,renameat,fsync,"
#define LOSE_MAX        64
#define LOSE_PATH       600

struct lose {
	size_t n;
	char paths[LOSE_MAX][2 * LOSE_PATH];    /* not flushed */
};

/* Copy what is between ${open} and ${end}, the first behind ${at}. */
static inline const char *
lose_between(const char *at, const char *open, char end, char *out)
{
	const char *from = at == NULL ? NULL : strstr(at, open), *to;

	if (from == NULL)
		return (NULL);
	from += strlen(open);
	if ((to = strchr(from, end)) == NULL ||
	    (size_t)(to - from) >= LOSE_PATH)
		return (NULL);
	memcpy(out, from, (size_t)(to - from));
	out[to - from] = '\0';
	return (to + 1);
}

static inline void
lose_add(struct lose *x, const char *path)
{
	size_t i;

	for (i = 0; i < x->n; i++) {
		if (strcmp(x->paths[i], path) == 0)
			return;
	}
	assert_true(x->n < LOSE_MAX);
	(void)snprintf(x->paths[x->n++], sizeof(x->paths[0]), "%s", path);
}

/* The directory ${dir} was flushed, or, with a name, that was renamed. */
static inline void
lose_not(struct lose *x, const char *dir, const char *name)
{
	size_t i, len = strlen(dir);
	const char *p;

	for (i = 0; i < x->n; ) {
		p = x->paths[i];
		if (strncmp(p, dir, len) == 0 && p[len] == '/' &&
		    strchr(p + len + 1, '/') == NULL &&
		    (name == NULL || strcmp(p + len + 1, name) == 0))
			memmove(x->paths[i], x->paths[--x->n],
			    sizeof(x->paths[0]));
		else
			i++;
	}
}

/* One line of the trace: a call that was made and did not fail. */
static inline void
lose_line(struct lose *x, const char *line)
{
	char dir[LOSE_PATH], name[LOSE_PATH], path[2 * LOSE_PATH];
	const char *at;

	if (strstr(line, " = -1 ") != NULL || strstr(line, " = ?") != NULL)
		return;
	if (strncmp(line, "openat(", 7) == 0) {
		at = strstr(line, ") = ");
		if (strstr(line, "O_CREAT") != NULL &&
		    lose_between(at, "<", '>', path) != NULL)
			lose_add(x, path);
		return;
	}
	if ((at = lose_between(line, "<", '>', dir)) == NULL)
		return;
	if (strncmp(line, "fsync(", 6) == 0)
		lose_not(x, dir, NULL);
	if (strncmp(line, "mkdirat(", 8) != 0 &&
	    strncmp(line, "renameat(", 9) != 0)
		return;
	if ((at = lose_between(at, "\"", '"', name)) == NULL)
		return;
	if (line[0] == 'r') {
		lose_not(x, dir, name);
		if (lose_between(at, "\"", '"', name) == NULL)
			return;
	}
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	lose_add(x, path);
}

/*
 * Undo what would be lost of the store in ${dir}; what was there before is in
 * ${top}/base.  Return how many names that were.
 */
static inline unsigned int
lose_names(const char *trace, const char *dir, const char *top)
{
	static struct lose x;
	char line[8192], cmd[8 * LOSE_PATH];
	size_t i, len = strlen(dir);
	unsigned int lost = 0;
	FILE *f = fopen(trace, "r");

	x.n = 0;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		lose_line(&x, line);
	(void)fclose(f);
	for (i = 0; i < x.n; i++) {
		if (strncmp(x.paths[i], dir, len) != 0)
			continue;
		/* A file that was there and was opened again stays. */
		(void)snprintf(cmd, sizeof(cmd), "[ -e '%s/base%s' ] || "
		    "rm -rf '%s'", top, x.paths[i] + len, x.paths[i]);
		lost += access(x.paths[i], F_OK) == 0;
		if (system(cmd) != 0)
			rig_trouble("%s", cmd);
		lost -= access(x.paths[i], F_OK) == 0;
	}
	return (lost);
}

#endif /* !ERRAND_TESTS_LOSE_H */
