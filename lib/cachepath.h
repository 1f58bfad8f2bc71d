#ifndef ERRAND_CACHEPATH_H
#define ERRAND_CACHEPATH_H

#include <stddef.h>

/*
 * Where a cache may be in a sandbox: below /workspace, /home/runner, /tmp or
 * /var/tmp, at most 255 bytes, without empty parts, "." and "..", and in the
 * workspace without one that is ".git" in any case.  One form for each place.
 * What is private to the job and writable anyway, that is.
 */

/* Is it such a path? */
int cachepath_valid(const char *, size_t);

/* Are two of them the same, or one below the other? */
int cachepath_overlap(const char *, size_t, const char *, size_t);

/**
 * cachepath_from(path, root, home, out, size):
 * A path as a user writes it: relative to the tree; absolute in the sandbox; or
 * below "~", ${home} (what a shell may have made of that) or ${root}, the
 * tree's own place ("" or NULL: none).  Return 0 with the one form in ${out},
 * or -1.
 */
int cachepath_from(const char *, const char *, const char *, char *, size_t);

#endif /* !ERRAND_CACHEPATH_H */
