#ifndef ERRAND_SNAP_SANDBOX_H
#define ERRAND_SNAP_SANDBOX_H

/**
 * snap_root(dir):
 * Make the empty directory ${dir}, or a new one that no longer has a name if
 * it is NULL, the root of the file system for this process.  Needs root, and
 * ends the process when it cannot be done.
 */
void snap_root(const char *);

/* Landlock and seccomp.  Returns the Landlock ABI; ends the process when the
 * fence cannot be put up. */
int snap_fence(void);

#endif /* !ERRAND_SNAP_SANDBOX_H */
