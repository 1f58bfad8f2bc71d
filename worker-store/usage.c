/*
 * Use and limits of tenants.  Memory, and figures in the index.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "index.h"
#include "index_job.h"
#include "index_obj.h"
#include "index_pack.h"
#include "lib/size.h"
#include "lib/text.h"
#include "pending.h"
#include "store.h"
#include "usage.h"

/*
 * Invariants:
 *  1. objects and bytes are pending while round is that of pending.h; in any
 *     other round they are in the index, or dropped.
 */
struct use {
	uint32_t tenant;
	struct store_quota quota;
	uint64_t round;
	uint64_t objects;
	uint64_t bytes;
};

struct uses {
	struct use *v;          /* by tenant */
	size_t n;
	size_t cap;
};

struct uses *
uses_new(void)
{
	return (calloc(1, sizeof(struct uses)));
}

void
uses_free(struct uses *us)
{
	if (us == NULL)
		return;
	free(us->v);
	free(us);
}

static size_t
use_at(const struct uses *us, uint32_t tenant)
{
	size_t lo = 0, hi = us->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (us->v[mid].tenant < tenant)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (lo);
}

static struct use *
use_find(const struct uses *us, uint32_t tenant)
{
	size_t at = use_at(us, tenant);

	return (at < us->n && us->v[at].tenant == tenant ? &us->v[at] : NULL);
}

int
usage_limit(struct store *st, uint32_t tenant, const struct store_quota *q)
{
	struct uses *us = st->uses;
	struct use *u;
	size_t at;
	void *p;

	if ((u = use_find(us, tenant)) == NULL) {
		if ((p = size_grow(us->v, &us->cap, us->n + 1,
		    sizeof(*us->v))) == NULL)
			return (-1);
		us->v = p;
		at = use_at(us, tenant);
		u = &us->v[at];
		memmove(u + 1, u, (us->n - at) * sizeof(*u));
		memset(u, 0, sizeof(*u));
		u->tenant = tenant;
		us->n++;
	}
	u->quota = *q;
	return (0);
}

const struct store_quota *
usage_quota(const struct store *st, uint32_t tenant)
{
	static const struct store_quota none;
	const struct use *u = use_find(st->uses, tenant);

	return (u == NULL ? &none : &u->quota);
}

int
usage_get(struct store *st, uint32_t tenant, struct ix_usage *out)
{
	const struct use *u = use_find(st->uses, tenant);

	if (ix_usage_get(st->ix, tenant, out) == -1)
		return (-1);
	if (u != NULL && u->round == pending_round(st->pending)) {
		out->objects += u->objects;
		out->bytes += u->bytes;
	}
	return (0);
}

void
usage_pending(struct store *st, uint32_t tenant, uint64_t objects,
    uint64_t bytes)
{
	struct use *u = use_find(st->uses, tenant);

	if (u == NULL)
		return;
	if (u->round != pending_round(st->pending)) {
		u->round = pending_round(st->pending);
		u->objects = u->bytes = 0;
	}
	u->objects += objects;
	u->bytes += bytes;
}

static int
exceeds(uint64_t limit, uint64_t use, uint64_t more)
{
	return (limit != 0 && (use > limit || more > limit - use));
}

int
usage_admit(const struct store_quota *q, const struct ix_usage *u,
    uint64_t objects, uint64_t bytes, struct err *e)
{
	if (exceeds(q->bytes, u->bytes, bytes)) {
		fault_set(e, ERR_LIMIT, NULL, "this tenant's store quota is "
		    "used up: %s of %s are in use and %s more would be "
		    "needed; `errand run -n` shows the largest files; "
		    "what a refused tree had sent makes room two minutes "
		    "later, and results of old jobs with time; or ask the "
		    "operator for more (errandctl tenant set NAME --store "
		    "SIZE)", text_bytes(u->bytes), text_bytes(q->bytes),
		    text_bytes(bytes));
		return (-1);
	}
	if (exceeds(q->objects, u->objects, objects)) {
		fault_set(e, ERR_LIMIT, NULL, "this tenant's quota of stored "
		    "objects is used up: %llu of %llu are in use; send fewer "
		    "and larger files, or ask the operator for more "
		    "(errandctl tenant set NAME --objects N)",
		    (unsigned long long)u->objects,
		    (unsigned long long)q->objects);
		return (-1);
	}
	return (0);
}

int
usage_admit_job(const struct store_quota *q, const struct ix_usage *u,
    struct err *e)
{
	if (exceeds(q->jobs, u->kept, 1)) {
		fault_set(e, ERR_LIMIT, NULL, "this tenant's quota of kept "
		    "jobs is used up: %llu of %llu; old jobs go with time, or "
		    "ask the operator for more (errandctl tenant set NAME "
		    "--jobs N)", (unsigned long long)u->kept,
		    (unsigned long long)q->jobs);
		return (-1);
	}
	if (exceeds(q->log_bytes, u->log_bytes, 1)) {
		fault_set(e, ERR_LIMIT, NULL, "this tenant's quota of logs is "
		    "used up: %s of %s; logs go with their jobs, or ask the "
		    "operator for more (errandctl tenant set NAME --logs "
		    "SIZE)", text_bytes(u->log_bytes),
		    text_bytes(q->log_bytes));
		return (-1);
	}
	return (0);
}

int
usage_count(struct store *st, const struct ix_object *o)
{
	uint64_t stored = PACK_REC_HEAD + o->loc.len;

	if (ix_object_put(st->ix, o) == -1 ||
	    ix_usage_add(st->ix, o->tenant, 1, o->loc.raw_len, stored) == -1)
		return (-1);
	return (ix_pack_live(st->ix, o->loc.pack, (int64_t)stored));
}

/* What is not live any more, by pack; they come in runs, mostly. */
static int
live_less(struct store *st, const struct ix_object *objs, size_t n)
{
	int64_t bytes = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		bytes -= PACK_REC_HEAD + objs[i].loc.len;
		if (i + 1 < n && objs[i + 1].loc.pack == objs[i].loc.pack)
			continue;
		if (ix_pack_live(st->ix, objs[i].loc.pack, bytes) == -1)
			return (-1);
		bytes = 0;
	}
	return (0);
}

int
usage_forget_all(struct store *st, const struct ix_object *objs, size_t n)
{
	uint64_t bytes = 0, stored = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (ix_object_del(st->ix, objs[i].tenant, &objs[i].ref) == -1)
			return (-1);
		bytes += objs[i].loc.raw_len;
		stored += PACK_REC_HEAD + objs[i].loc.len;
	}
	if (n == 0)
		return (0);
	if (ix_usage_sub(st->ix, objs[0].tenant, n, bytes, stored) == -1)
		return (-1);
	return (live_less(st, objs, n));
}

int
usage_forget(struct store *st, const struct ix_object *o)
{
	return (usage_forget_all(st, o, 1));
}
