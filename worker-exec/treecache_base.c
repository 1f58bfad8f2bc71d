/*
 * Which cached tree a new one is most like.  Reads the marks of trees and, from
 * the store, what differs; makes no file.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/io.h"
#include "treecache_internal.h"

/*
 * A difference costs one file or directory for each entry, once; a layer costs
 * a look into it for each name that any job looks up.  Hence a difference is
 * only worth while when it is a small part of the tree, and a tree that lies
 * deep is only preferred when it saves that many entries for each layer.  The
 * last is also what keeps a tree that is edited again and again from growing:
 * the new one is laid over the lowest as soon as that is as cheap.
 */
#define ENTRIES_MAX     1000
#define PART            4       /* one of so many may differ */
#define PER_LAYER       2
#define TRIES           3       /* trees, not counting those they lie on */
#define CHEAP           64      /* good enough to look no further */

struct search {
	int trees;
	struct storeclient *sc;
	const struct obj_ref *root;
	struct treecache_base *best;
	size_t cost;            /* of the best, SIZE_MAX: none */
};

static size_t
bound(const struct search *s, const struct treecache_use *use)
{
	size_t max = ENTRIES_MAX, layers = PER_LAYER * use->n;

	if (use->entries / PART < max)
		max = (size_t)(use->entries / PART);
	if (s->cost <= layers)
		return (0);
	return (s->cost - layers - 1 < max ? s->cost - layers - 1 : max);
}

/* Keep it if it is better than what we have; its lock is taken. */
static void
consider_take(struct search *s, struct treecache_use *use)
{
	struct treecache_base b = { .use = *use };
	struct obj_ref ref = { .kind = OBJ_TREE };
	size_t max = bound(s, use);
	int64_t more = 0;

	use->lock = -1;
	if (use->n == TREECACHE_LAYERS || max == 0 ||
	    obj_id_parse(b.use.root[0], ref.id) == -1 ||
	    plan_diff(&b.plan, s->sc, &ref, s->root, max, &more) == -1) {
		treecache_base_done(&b);
		return;
	}
	b.entries = more < 0 && (uint64_t)-more > b.use.entries ? 0 :
	    b.use.entries + (uint64_t)more;
	s->cost = b.plan.n - 1 + PER_LAYER * b.use.n;
	treecache_base_done(s->best);
	*s->best = b;
}

/* A tree, and the one that it lies on at last. */
static void
try(struct search *s, const char *hex, struct treecache_use *seen)
{
	struct treecache_use use;

	seen->n = 0;
	if (treecache_find(s->trees, hex, 0, &use) == -1)
		return;
	*seen = use;
	consider_take(s, &use);
	if (seen->n > 1 && treecache_find(s->trees, seen->root[seen->n - 1],
	    0, &use) == 0)
		consider_take(s, &use);
}

static int
is_below(const struct treecache_use *seen, size_t n, const char *hex)
{
	size_t i, j;

	for (i = 0; i < n; i++) {
		for (j = 0; j < seen[i].n; j++) {
			if (strcmp(seen[i].root[j], hex) == 0)
				return (1);
		}
	}
	return (0);
}

int
treecache_base(int trees, struct storeclient *sc, const struct obj_ref *root,
    struct treecache_base *base)
{
	struct search s = { trees, sc, root, base, SIZE_MAX };
	struct treecache_use seen[TRIES];
	struct treecache_old *v;
	size_t n, tried = 0;

	memset(base, 0, sizeof(*base));
	base->use.lock = -1;
	(void)treecache_list(trees, &v, &n);
	while (n > 0 && tried < TRIES && s.cost > CHEAP) {
		if (!is_below(seen, tried, v[--n].name))
			try(&s, v[n].name, &seen[tried++]);
	}
	free(v);
	if (s.cost == SIZE_MAX || treecache_check(trees, &base->use) != -1)
		return (-1);
	return (0);
}

void
treecache_base_done(struct treecache_base *base)
{

	io_close(&base->use.lock);
	plan_done(&base->plan);
}
