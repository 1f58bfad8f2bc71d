#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/rules.h"

/*
 * Ignore rules as a tenant sends them: refused, or they say the same after they
 * were written down again; and no path makes them read what is not theirs.
 */

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const char *const dirs[] = { "", "a", "a/b", "a/b/c", "x/a", "d" };
static const char *const names[] = { "a", "b", "x.o", "A", "[", "\xff", "-" };

static void
must(int truth)
{
	if (!truth)
		abort();
}

static void
compare(const struct rules *a, const struct rules *b)
{
	struct rules_walk *u = rules_walk_new(a), *v = rules_walk_new(b);
	size_t i, j, n;
	int isdir;

	must(u != NULL && v != NULL);
	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		must(rules_walk_enter(u, dirs[i]) == 0);
		must(rules_walk_enter(v, dirs[i]) == 0);
		for (j = 0; j < 2 * sizeof(names) / sizeof(names[0]); j++) {
			n = strlen(names[j / 2]);
			isdir = j % 2;
			must(rules_walk_match(u, names[j / 2], n, isdir,
			    NULL) == rules_walk_match(v, names[j / 2], n,
			    isdir, NULL));
		}
	}
	rules_walk_free(u);
	rules_walk_free(v);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rules *a, *b;
	uint8_t *p, *q;
	size_t n, m;

	if ((a = rules_parse(data, len)) == NULL)
		return (0);
	/* A text may grow by the end of its last line. */
	if (rules_encode(a, &p, &n) == 0) {
		must((b = rules_parse(p, n)) != NULL);
		compare(a, b);
		must(rules_encode(b, &q, &m) == 0 && m == n &&
		    memcmp(p, q, n) == 0);
		free(q);
		free(p);
		rules_free(b);
	}
	rules_free(a);
	return (0);
}
