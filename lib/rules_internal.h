#ifndef ERRAND_RULES_INTERNAL_H
#define ERRAND_RULES_INTERNAL_H

#include "rules.h"

/* Shared by rules.c, rules_code.c and rules_walk.c. */
struct rules_file {
	uint8_t kind;           /* enum rules_kind */
	uint8_t flags;
	char *base;
	size_t base_len;
	char *name;             /* or NULL */
	struct ignore *ig;
};

struct rules {
	char *prefix;
	struct rules_file **v;  /* each of its own, so that pointers stay */
	size_t n, cap;
	size_t count;           /* rules */
};

/*
 * Invariants of struct rules:
 *  1. v is sorted by base (memcmp, shorter first), then kind, without
 *     duplicates.
 *  2. Every base is a prefix of paths that are matched with it: "" or a path
 *     without a slash at either end.
 */

/* The place of (base, kind), or where it would be. */
size_t rules_find(const struct rules *, const char *, size_t, int kind);

#endif /* !ERRAND_RULES_INTERNAL_H */
