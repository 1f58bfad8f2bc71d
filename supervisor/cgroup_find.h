#ifndef ERRAND_CGROUP_FIND_H
#define ERRAND_CGROUP_FIND_H

#include <linux/limits.h>
#include <stddef.h>

#define CG_MEMORY       0x01
#define CG_PIDS         0x02
#define CG_CPU          0x04
#define CG_CPUACCT      0x08
#define CG_FREEZER      0x10
#define CG_UNIFIED      0x20    /* the v2 tree */
#define CG_MAX          6

/* A hierarchy: where it is mounted, what it controls, where we are in it. */
struct cg_mount {
	unsigned int what;
	char point[PATH_MAX];
	char root[PATH_MAX];    /* what of the hierarchy is mounted there */
	char own[PATH_MAX];     /* our own group, from the hierarchy's top */
};

/**
 * cg_find(mountinfo, self, mounts):
 * Read the two /proc files of these texts and fill ${mounts} (CG_MAX of them).
 * Return how many were found that we can use.
 */
size_t cg_find(const char *, const char *, struct cg_mount *);

/**
 * cg_path(m, root, out, size):
 * The directory of our own group in ${m}, or of ${root} (from the top of the
 * hierarchy) when that is not NULL.  Where the group lies outside what is
 * mounted, the mount point itself.  Return 0, or -1 when it does not fit.
 */
int cg_path(const struct cg_mount *, const char *, char *, size_t);

#endif /* !ERRAND_CGROUP_FIND_H */
