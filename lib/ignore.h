#ifndef ERRAND_IGNORE_H
#define ERRAND_IGNORE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Rules in gitignore syntax, from one file, relative to the directory it is
 * in.  The last rule that matches decides.  Both rules and paths may come from
 * strangers.
 */
struct ignore;

#define IGNORE_FOLD     1       /* core.ignoreCase */

/* The rule that decided. */
struct ignore_hit {
	const char *pat;        /* as it is written; borrowed, not terminated */
	size_t len;
	unsigned line;          /* from 1; 0: none did */
	int negated;
};

/**
 * ignore_parse(buf, len, flags):
 * Compile the rules of a file.  Return NULL with errno = ENOMEM.
 */
struct ignore *ignore_parse(const char *, size_t, int);
void ignore_free(struct ignore *);

/* How many rules it has, and the rule ${i}. */
size_t ignore_count(const struct ignore *);
void ignore_rule(const struct ignore *, size_t i, struct ignore_hit *);

/**
 * ignore_match(ig, path, len, isdir, hit, steps):
 * Find the last rule that matches the relative path: 1 with ${hit}, or 0.
 * What it cost is added to ${steps}.
 */
int ignore_match(const struct ignore *, const char *, size_t, int,
    struct ignore_hit *, uint64_t *);

#endif /* !ERRAND_IGNORE_H */
