/*
 * How much of the disk a tenant's trees have, and what else there is.  Looks at
 * marks in trees/ and removes trees that nobody uses.
 */
#include <sys/statvfs.h>

#include <errno.h>
#include <stdlib.h>

#include "treecache_internal.h"
#include "treeroom.h"

#define LOOK_BYTES      (UINT64_C(16) * 1024 * 1024)

static int
enough(const struct treeroom *r, uint64_t own)
{
	struct statvfs sv;

	if (fstatvfs(r->trees, &sv) == -1)
		return (0);
	return (own + r->laid <= (uint64_t)sv.f_bavail * sv.f_frsize);
}

/* 0, or -1: there is not enough, whatever gives way. */
static int
look(const struct treeroom *r)
{
	struct treecache_old *v;
	uint64_t own = 0;
	size_t i, n;
	int rc;

	if (treecache_list(r->trees, &v, &n) == -1) {
		free(v);
		return (-1);
	}
	for (i = 0; i < n; i++)
		own += v[i].bytes = treecache_bytes(r->trees, v[i].name);
	for (i = 0; (rc = enough(r, own)) == 0 && i < n; i++)
		if (treecache_evict(r->trees, v[i].name, 0) == 0)
			own -= v[i].bytes;
	free(v);
	return (rc ? 0 : -1);
}

int
treeroom_add(struct treeroom *r, uint64_t bytes)
{
	r->laid += bytes;
	if (r->laid - r->looked < LOOK_BYTES)
		return (0);
	if (look(r) == -1) {
		errno = EDQUOT;
		return (-1);
	}
	r->looked = r->laid;
	return (0);
}
