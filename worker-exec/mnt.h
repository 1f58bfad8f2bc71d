#ifndef ERRAND_EXEC_MNT_H
#define ERRAND_EXEC_MNT_H

#include <stddef.h>

/*
 * The new mount calls under names of their own.  Paths are relative to ${dir}
 * unless they are absolute.  All return -1 with errno on failure.
 */

enum mnt_flag {
	MNT_RO = 0x1,
	MNT_REC = 0x2,          /* with what is mounted below */
	MNT_DEV = 0x4,          /* device nodes work (else not) */
	MNT_NOEXEC = 0x8,
	MNT_NOFOLLOW = 0x10     /* a link as the last part of a path is none */
};

/**
 * mnt_clone(dir, path, flags):
 * A copy of the mount at ${path}, not attached anywhere, nosuid, and what
 * ${flags} say.  Returns its descriptor.
 */
int mnt_clone(int, const char *, int);

/* Attach the mount ${fd} at ${path}.  ${fd} stays open. */
int mnt_attach(int, int, const char *);

/* Both: ${from} appears at ${to}. */
int mnt_bind(int, const char *, int, const char *, int);

/**
 * mnt_new(type, options, flags):
 * A new file system of ${type}; ${options} are pairs of key and value that end
 * with NULL; a value that is NULL makes the key a flag.  A key that begins
 * with '?' may be unknown to the kernel.  Returns the descriptor of a mount
 * that is not attached anywhere.
 */
int mnt_new(const char *, const char *const *, int);

/* Make ${dir} (a mount) the root, and let go of the one there was. */
int mnt_pivot(const char *);

#endif /* !ERRAND_EXEC_MNT_H */
