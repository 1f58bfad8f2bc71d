#ifndef ERRAND_IGNORE_H
#define ERRAND_IGNORE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Rules in gitignore syntax, from one file, relative to the directory it is
 * in.  The last rule that matches decides; what lies below an excluded
 * directory is excluded (the walker never enters it).
 */
struct ignore;

/**
 * ignore_parse(buf, len):
 * Compile the rules of a file.  Return NULL with errno = ENOMEM.
 */
struct ignore *ignore_parse(const char *, size_t);
void ignore_free(struct ignore *);

/**
 * ignore_match(ig, path, len, isdir, line):
 * Is the relative path excluded?  1 by a rule, 0 by none or by a negated one.
 * ${line} (may be NULL) becomes the number of the deciding line, 0 for none.
 */
int ignore_match(const struct ignore *, const char *, size_t, int, unsigned *);

/**
 * ignore_glob(pat, plen, str, slen, path):
 * Match one pattern: '*' and '?' and [...] do not match '/' when ${path} is
 * set, and there "**" between slashes matches any directories.
 */
int ignore_glob(const char *, size_t, const char *, size_t, int);

#endif /* !ERRAND_IGNORE_H */
