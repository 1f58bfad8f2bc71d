#ifndef ERRAND_GLOB_H
#define ERRAND_GLOB_H

#include <stddef.h>
#include <stdint.h>

/* Patterns as gitignore has them. */
enum glob_flag {
	GLOB_PATH = 1,          /* '*', '?' and [...] do not match '/'; "**"
	                           between slashes matches any directories */
	GLOB_FOLD = 2           /* ASCII letters match in either case */
};

/**
 * glob_match(pat, plen, str, slen, flags, steps):
 * Does the pattern match all of the string?  At most quadratic in their
 * lengths; what it took is added to ${steps}.
 */
int glob_match(const char *, size_t, const char *, size_t, int, uint64_t *);

/* Length of the head of a pattern that has nothing special in it. */
size_t glob_literal(const char *, size_t);

/* Are ${n} bytes the same, with GLOB_FOLD in either case? */
int glob_equal(const char *, const char *, size_t n, int flags);

#endif /* !ERRAND_GLOB_H */
