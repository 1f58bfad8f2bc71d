#ifndef ERRAND_APPLY_WALK_H
#define ERRAND_APPLY_WALK_H

#include <stddef.h>

/*
 * Directories below a root, by descriptor.  A path may be longer than the
 * kernel takes at once.  No link is followed, no mount crossed, and nothing
 * outside of the root is ever reached.
 */
struct walk {
	int root;               /* borrowed */
	int at;                 /* O_PATH, or -1 */
	char *path;             /* of at, not terminated */
	size_t len, cap;
	int moved;              /* the last call came to another directory */
};

void walk_init(struct walk *, int rootfd);
void walk_done(struct walk *);

/* Forget where we are: what a path leads to may have changed. */
void walk_forget(struct walk *);

/**
 * walk_parent(w, path, len, base):
 * The directory in which the last part of ${path} is, an O_PATH descriptor
 * that stays ours; ${*base} points to that part, in ${path}, which must be
 * terminated.  Return -1 with errno: ENOENT, ENOTDIR or ELOOP when something
 * else is where a directory should be, EXDEV for a mount point.
 */
int walk_parent(struct walk *, const char *, size_t, const char **);

/**
 * walk_blocked(w, path, len):
 * Length of the part of ${path} that is there and is no directory, or 0.
 */
size_t walk_blocked(struct walk *, const char *, size_t);

#endif /* !ERRAND_APPLY_WALK_H */
