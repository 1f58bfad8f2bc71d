/*
 * Leases: what uploads in progress keep from being collected.  Memory, and the
 * stamps of objects in the index.
 */
#include <sys/queue.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "index.h"
#include "index_obj.h"
#include "lease.h"
#include "lib/crash.h"
#include "lib/io.h"
#include "peer.h"
#include "store.h"

#define TOUCH_MAX       4096

LIST_HEAD(lease_list, lease);

/*
 * Invariants:
 *  1. A lease belongs to a channel (peer->lease), or has ended.
 *  2. since is not above the stamp of anything that it covers by stamp.
 */
struct lease {
	LIST_ENTRY(lease) next;
	uint32_t tenant;
	uint32_t since;         /* 0: nothing is covered by stamp */
	uint32_t ended;         /* 0: its channel is there */
	int results;            /* of a job, which is settled later */
	struct obj_ref roots[LEASE_ROOTS];
	size_t nroots;
};

/* An object whose stamp is to be renewed. */
struct touch {
	uint32_t tenant;
	struct obj_ref ref;
};

struct leases {
	uint32_t wary;          /* until then, see leases_new */
	struct lease_list list;
	size_t nended;
	struct touch touches[TOUCH_MAX];
	size_t ntouches;
};

uint32_t
stamp_now(void)
{
	return ((uint32_t)(io_real_us() / TEST_NUMBER("stamp-us", 60000000) +
	    TEST_NUMBER("stamp-ahead", 0)));
}

static uint32_t
grace(void)
{
	return ((uint32_t)TEST_NUMBER("lease-grace", LEASE_GRACE));
}

/*
 * What the jobs that are not settled have brought may be here, and nobody knows
 * of their channels: for so long there is no pressing.
 */
struct leases *
leases_new(struct store *st)
{
	struct leases *ls;
	uint64_t open;

	if ((ls = calloc(1, sizeof(*ls))) == NULL || ix_read(st->ix) == -1)
		goto err0;
	LIST_INIT(&ls->list);
	if (ix_count(st->ix, IX_UNSETTLED, &open) == -1)
		goto err1;
	ix_read_end(st->ix);
	if (open > 0)
		ls->wary = stamp_now() + grace();
	return (ls);

err1:
	ix_read_end(st->ix);
err0:
	free(ls);
	return (NULL);
}

static void
drop(struct leases *ls, struct lease *l)
{
	if (l->ended != 0)
		ls->nended--;
	LIST_REMOVE(l, next);
	free(l);
}

void
leases_free(struct leases *ls)
{
	struct lease *l;

	if (ls == NULL)
		return;
	while ((l = LIST_FIRST(&ls->list)) != NULL)
		drop(ls, l);
	free(ls);
}

static struct lease *
lease_of(struct peer *p)
{
	struct lease *l;

	if (p->lease != NULL)
		return (p->lease);
	if ((l = calloc(1, sizeof(*l))) == NULL)
		return (NULL);
	l->tenant = p->tenant;
	l->results = (p->rights & STORE_RIGHT_RESULTS) != 0;
	LIST_INSERT_HEAD(&p->st->leases->list, l, next);
	p->lease = l;
	return (l);
}

int
lease_begin(struct peer *p)
{
	struct lease *l;

	if ((l = lease_of(p)) == NULL)
		return (-1);
	/* What a PUT finds may be so much older without being touched. */
	if (l->since == 0)
		l->since = stamp_now() - LEASE_TOUCH;
	return (0);
}

int
lease_touch(struct store *st, const struct ix_object *o)
{
	struct leases *ls = st->leases;
	struct touch *t;

	if (o->stamp + LEASE_TOUCH > stamp_now())
		return (0);
	if (ls->ntouches == TOUCH_MAX) {
		errno = ENOBUFS;
		return (-1);
	}
	t = &ls->touches[ls->ntouches++];
	t->tenant = o->tenant;
	t->ref = o->ref;
	return (0);
}

int
lease_root(struct peer *p, const struct obj_ref *root)
{
	struct lease *l;
	size_t i;

	if ((l = lease_of(p)) == NULL)
		return (-1);
	for (i = 0; i < l->nroots; i++) {
		if (obj_ref_equal(&l->roots[i], root))
			return (0);
	}
	if (l->nroots == LEASE_ROOTS) {
		memmove(l->roots, l->roots + 1,
		    (LEASE_ROOTS - 1) * sizeof(l->roots[0]));
		l->nroots--;
	}
	l->roots[l->nroots++] = *root;
	return (0);
}

void
lease_published(struct store *st, uint32_t tenant, const struct obj_ref *root)
{
	struct lease *l;
	size_t i;

	LIST_FOREACH(l, &st->leases->list, next) {
		if (l->tenant != tenant)
			continue;
		for (i = 0; i < l->nroots; i++) {
			if (obj_ref_equal(&l->roots[i], root))
				break;
		}
		if (i == l->nroots)
			continue;
		l->roots[i] = l->roots[--l->nroots];
		if (l->nroots == 0)
			l->since = 0;
	}
}

/* Leases end in time, and no more are kept than there is room for. */
static void
prune(struct leases *ls)
{
	struct lease *l, *next, *oldest = NULL;
	uint32_t now = stamp_now();

	for (l = LIST_FIRST(&ls->list); l != NULL; l = next) {
		next = LIST_NEXT(l, next);
		if (l->ended == 0)
			continue;
		if (now >= l->ended + grace())
			drop(ls, l);
		else if (oldest == NULL || l->ended <= oldest->ended)
			oldest = l;
	}
	if (ls->nended > LEASES_ENDED)
		drop(ls, oldest);
}

void
lease_end(struct peer *p)
{
	struct leases *ls = p->st->leases;
	struct lease *l = p->lease;

	if (l == NULL)
		return;
	p->lease = NULL;
	if (l->since == 0 && l->nroots == 0) {
		drop(ls, l);
		return;
	}
	l->ended = stamp_now();
	ls->nended++;
	prune(ls);
}

/* An upload that has ended is of use only to one that may come. */
static int
holds(const struct lease *l, int pressed)
{
	return (l->ended == 0 || l->results || !pressed);
}

static int
is_wary(const struct store *st)
{
	return (stamp_now() < st->leases->wary);
}

uint32_t
lease_floor(struct store *st, uint32_t tenant, int pressed)
{
	uint32_t floor = stamp_now() + 1;
	const struct lease *l;

	pressed = pressed && !is_wary(st);
	floor -= pressed ? 0 : grace();
	prune(st->leases);
	LIST_FOREACH(l, &st->leases->list, next) {
		if (l->tenant == tenant && holds(l, pressed) && l->since != 0 &&
		    l->since < floor && !MUTANT("no-lease-stamps"))
			floor = l->since;
	}
	return (floor);
}

int
lease_each(struct store *st, uint32_t tenant, int pressed, lease_fn *fn,
    void *cookie)
{
	const struct lease *l;
	size_t i;
	int rc;

	pressed = pressed && !is_wary(st);
	LIST_FOREACH(l, &st->leases->list, next) {
		if (l->tenant != tenant || !holds(l, pressed))
			continue;
		for (i = 0; i < l->nroots; i++) {
			if ((rc = fn(cookie, &l->roots[i])) != 0)
				return (rc);
		}
	}
	return (0);
}

int
lease_due(const struct store *st)
{
	return (st->leases->ntouches > 0);
}

int
lease_write(struct store *st)
{
	const struct leases *ls = st->leases;
	struct ix_object o;
	size_t i;

	for (i = 0; i < ls->ntouches; i++) {
		if (ix_object_get(st->ix, ls->touches[i].tenant,
		    &ls->touches[i].ref, &o) == -1) {
			if (errno == ENOENT)
				continue;
			return (-1);
		}
		o.stamp = stamp_now();
		if (ix_object_put(st->ix, &o) == -1)
			return (-1);
	}
	return (0);
}

void
lease_written(struct store *st)
{
	st->leases->ntouches = 0;
}
