/*
 * What of a job's new paths is kept.  Looks at the job's upper directory, below
 * a descriptor and without following links, for declared artifacts only.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "keep.h"
#include "lib/io.h"
#include "lib/rules.h"
#include "proto/job_types.h"

/* The tenant wrote the rules and the job the names: some minutes at worst. */
#define STEPS_MAX       UINT64_C(10000000000)

struct keep {
	struct rules *rules;    /* NULL: all is kept */
	struct rules_walk *walk;
	char **artifacts;
	size_t n;
	char *dir;              /* the walk's directory, for its path */
	size_t dir_cap;
};

void
keep_free(struct keep *k)
{
	size_t i;

	if (k == NULL)
		return;
	for (i = 0; i < k->n; i++)
		free(k->artifacts[i]);
	free(k->artifacts);
	rules_walk_free(k->walk);
	rules_free(k->rules);
	free(k->dir);
	free(k);
}

struct keep *
keep_new(const struct job_spec *s)
{
	struct keep *k;

	if ((k = calloc(1, sizeof(*k))) == NULL)
		return (NULL);
	if (s->rules_len == 0)
		return (k);
	if ((k->rules = rules_parse(s->rules, s->rules_len)) == NULL ||
	    (k->walk = rules_walk_new(k->rules)) == NULL ||
	    (k->artifacts = calloc(s->nartifacts + 1, sizeof(char *))) == NULL)
		goto err0;
	for (; k->n < s->nartifacts; k->n++)
		if ((k->artifacts[k->n] = strdup(s->artifacts[k->n])) == NULL)
			goto err0;
	return (k);

err0:
	keep_free(k);
	return (NULL);
}

/* Is there anything at ${path} below ${dir}?  No link is followed. */
static int
exists(int dir, const char *path)
{
	char name[256];
	const char *slash;
	struct stat st;
	int fd = -1, next, rc;

	while ((slash = strchr(path, '/')) != NULL) {
		if ((size_t)(slash - path) >= sizeof(name))
			break;
		memcpy(name, path, (size_t)(slash - path));
		name[slash - path] = '\0';
		next = openat(fd == -1 ? dir : fd, name, O_RDONLY |
		    O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		io_close(&fd);
		if ((fd = next) == -1)
			return (0);
		path = slash + 1;
	}
	rc = fstatat(fd == -1 ? dir : fd, path, &st, AT_SYMLINK_NOFOLLOW);
	io_close(&fd);
	return (rc == 0);
}

/* Is the path a declared artifact, below one, or on the way to one? */
static int
is_artifact(const struct keep *k, int dir, const char *path, size_t dirlen,
    int isdir)
{
	const char *a;
	size_t i, n = strlen(path), m;

	for (i = 0; i < k->n; i++) {
		a = k->artifacts[i];
		m = strlen(a);
		if (n >= m && memcmp(path, a, m) == 0 &&
		    (path[m] == '\0' || path[m] == '/'))
			return (1);
		if (isdir && n < m && memcmp(path, a, n) == 0 && a[n] == '/' &&
		    exists(dir, a + dirlen + (dirlen > 0)))
			return (1);
	}
	return (0);
}

static int
enter(struct keep *k, const char *path, size_t len)
{
	char *p;

	if (k->dir_cap <= len) {
		if ((p = realloc(k->dir, 2 * len + 256)) == NULL)
			return (-1);
		k->dir = p;
		k->dir_cap = 2 * len + 256;
	}
	memcpy(k->dir, path, len);
	k->dir[len] = '\0';
	return (rules_walk_enter(k->walk, k->dir));
}

int
keep_wanted(struct keep *k, int dir, const char *path, size_t dirlen,
    int isdir)
{
	const char *name = path + dirlen + (dirlen > 0);
	int rc;

	if (k->walk == NULL || is_artifact(k, dir, path, dirlen, isdir))
		return (1);
	if (enter(k, path, dirlen) == -1 || (rc = rules_walk_match(k->walk,
	    name, strlen(name), isdir, NULL)) == -1)
		return (-1);
	if (rules_walk_steps(k->walk) > STEPS_MAX) {
		rules_walk_free(k->walk);
		k->walk = NULL;
		errno = ETIME;
		return (-1);
	}
	return (rc == 0);
}
