/*
 * Looks paths up in a stat cache; see statcache.h.  Touches nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/tree.h"
#include "statcache.h"

/*
 * Invariants of struct statcache_at:
 *  1. dir stands behind e, if at is set, else where it was opened.
 */
struct statcache_at {
	struct statcache *sc;
	struct stat_dir dir;
	struct stat_entry e;
	char *path;             /* of dir; NULL: none yet */
	size_t len;
	int has;                /* the cache has that directory */
	int at;                 /* e is the entry that was looked at last */
	int end;                /* there is none behind it */
};

struct statcache_at *
statcache_at_new(struct statcache *sc)
{
	struct statcache_at *a;

	if ((a = calloc(1, sizeof(*a))) != NULL)
		a->sc = sc;
	return (a);
}

void
statcache_at_free(struct statcache_at *a)
{
	if (a == NULL)
		return;
	free(a->path);
	free(a);
}

static int
enter(struct statcache_at *a, const char *path, size_t len)
{
	if (a->path != NULL && a->len == len && memcmp(a->path, path,
	    len) == 0)
		return (a->has);
	free(a->path);
	a->at = a->end = a->has = 0;
	if ((a->path = strndup(path, len)) == NULL)
		return (0);
	a->len = len;
	a->has = statcache_dir(a->sc, a->path, &a->dir) == 0;
	return (a->has);
}

static int
compare(const struct statcache_at *a, const char *name, size_t len)
{
	return (tree_name_cmp((const uint8_t *)a->e.name, a->e.name_len,
	    (const uint8_t *)name, len));
}

const struct stat_entry *
statcache_at_find(struct statcache_at *a, const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);
	const char *name = slash == NULL ? path : slash + 1;
	size_t n = len - (size_t)(name - path);
	int cmp;

	if (!enter(a, path, slash == NULL ? 0 : (size_t)(slash - path)))
		return (NULL);
	/* Behind it already, or at the end: from the start again. */
	if (a->end || (a->at && compare(a, name, n) > 0)) {
		if (statcache_dir(a->sc, a->path, &a->dir) == -1)
			return (NULL);
		a->at = a->end = 0;
	}
	for (;;) {
		if (!a->at && !(a->at = stat_dir_next(&a->dir, &a->e))) {
			a->end = 1;
			return (NULL);
		}
		if ((cmp = compare(a, name, n)) >= 0)
			return (cmp == 0 ? &a->e : NULL);
		a->at = 0;
	}
}
