#ifndef ERRAND_EXPLAIN_H
#define ERRAND_EXPLAIN_H

#include "select.h"

enum explain_why {
	EXPLAIN_NO_RULE,        /* sent, since nothing excludes it */
	EXPLAIN_RULE,           /* a rule decides */
	EXPLAIN_TRACKED,        /* sent, whatever rules say */
	EXPLAIN_ALL,            /* sent: --include-all */
	EXPLAIN_ROOT,           /* the tree itself */
	EXPLAIN_NEVER,          /* .git and its like */
	EXPLAIN_ABSENT,         /* there is no such thing */
	EXPLAIN_KIND            /* a FIFO, a socket, a device */
};

struct explain {
	int sent;
	int is_dir;
	enum explain_why why;
	struct rules_hit hit;   /* .rule.line 0: no rule matches */
	int beside;             /* sent, though Git ignores it: git says why */
	struct rules_hit git;
};

/**
 * explain_path(rootfd, sel, path, isdir, ex):
 * Is a path (see tree_path.h) sent, and what decides?  ${isdir}: take it for a
 * directory if it is not there.  0, or -1 after saying why.
 */
int explain_path(int, struct select *, const char *, int, struct explain *);

/* "FILE:LINE: PATTERN", escaped, in a static buffer; "" without a rule. */
const char *explain_rule(const struct rules_hit *);

/* Why, in words, in a static buffer. */
const char *explain_words(const struct explain *, const char *path);

/**
 * explain_dead(rules, fn, cookie):
 * Tell of each negated rule that can bring nothing back, since a directory on
 * its way is excluded.  How many there were, or -1.
 */
int explain_dead(const struct rules *, void (*fn)(void *, const char *text),
    void *);

#endif /* !ERRAND_EXPLAIN_H */
