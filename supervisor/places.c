/*
 * The places that clients have, and whose they are.  Counts; conn.c has the
 * connections.
 */
#include <sys/queue.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "places.h"
#include "proto/client_msg.h"
#include "share.h"
#include "tenants.h"

#define KEPT_MIN        8       /* for tenants that are made later */

/* A local user with connections; ${tenant} is none's that made himself one. */
struct holder {
	TAILQ_ENTRY(holder) next;
	uint32_t uid;
	const struct tenant *tenant;
	unsigned int held;
};

struct places {
	struct tenants *tenants;
	size_t all;
	size_t held;
	TAILQ_HEAD(, holder) holders;
};

struct places *
places_new(struct tenants *tenants, size_t all)
{
	struct places *ps;

	if ((ps = calloc(1, sizeof(*ps))) == NULL)
		return (NULL);
	ps->tenants = tenants;
	ps->all = all;
	TAILQ_INIT(&ps->holders);
	return (ps);
}

void
places_free(struct places *ps)
{
	struct holder *h;

	if (ps == NULL)
		return;
	while ((h = TAILQ_FIRST(&ps->holders)) != NULL) {
		TAILQ_REMOVE(&ps->holders, h, next);
		free(h);
	}
	free(ps);
}

static struct holder *
find(const struct places *ps, uint32_t uid)
{
	struct holder *h;

	TAILQ_FOREACH(h, &ps->holders, next)
		if (h->uid == uid)
			return (h);
	return (NULL);
}

/* The tenant that an operator made of this user, or NULL. */
static const struct tenant *
tenant_of(const struct places *ps, uint32_t uid)
{
	const struct tenant *t = tenants_of_uid(ps->tenants, uid);

	return (t == NULL || t->conf.automatic ? NULL : t);
}

static unsigned int
held_by(const struct places *ps, const struct tenant *t)
{
	const struct holder *h;
	unsigned int n = 0;

	TAILQ_FOREACH(h, &ps->holders, next)
		n += h->tenant == t ? h->held : 0;
	return (n);
}

/* Tenants that hold some, each once. */
static size_t
tenants_here(const struct places *ps)
{
	const struct holder *h, *first;
	size_t n = 0;

	TAILQ_FOREACH(h, &ps->holders, next) {
		if (h->tenant == NULL || h->tenant->gone)
			continue;
		TAILQ_FOREACH(first, &ps->holders, next)
			if (first->tenant == h->tenant)
				break;
		n += first == h;
	}
	return (n);
}

/* Places that are for tenants who hold none. */
static size_t
kept(const struct places *ps)
{
	size_t least, most = ps->all / 2, n = 0, here = tenants_here(ps);
	const struct tenant *t;

	for (t = tenants_next(ps->tenants, NULL); t != NULL;
	    t = tenants_next(ps->tenants, (struct tenant *)t))
		n += !t->gone && !t->conf.automatic && t->conf.nuids > 0;
	n = n > here ? n - here : 0;
	least = ps->all / 4 < KEPT_MIN ? ps->all / 4 : KEPT_MIN;
	if (n < least)
		n = least;
	return (n < most ? n : most);
}

/* May this user have one more?  0, or -1 with ${err}. */
static int
may(const struct places *ps, uint32_t uid, const struct tenant *t,
    unsigned int held, struct err *err)
{
	struct share s = { .all = ps->all, .taken = ps->held,
	    .kept = kept(ps), .mine = t != NULL ? held_by(ps, t) : held,
	    .entitled = t != NULL };

	if (held >= PLACES_UID_MAX)
		return (err_set(err, ERR_BUSY, "uid %u has %d connections, "
		    "which is the most", uid, PLACES_UID_MAX));
	if (share_may(&s, 1))
		return (0);
	return (err_set(err, ERR_BUSY, "uid %u has %u connections, and there "
	    "are too few places for another", uid, held));
}

static struct holder *
holder_new(struct places *ps, uint32_t uid, const struct tenant *t)
{
	struct holder *h;

	if ((h = calloc(1, sizeof(*h))) == NULL)
		return (NULL);
	h->uid = uid;
	h->tenant = t;
	TAILQ_INSERT_TAIL(&ps->holders, h, next);
	return (h);
}

struct holder *
places_take(struct places *ps, uint32_t uid, struct err *err)
{
	const struct tenant *t = tenant_of(ps, uid);
	struct holder *h = find(ps, uid);

	memset(err, 0, sizeof(*err));
	if (may(ps, uid, t, h == NULL ? 0 : h->held, err) == -1)
		return (NULL);
	if (h == NULL && (h = holder_new(ps, uid, t)) == NULL) {
		(void)err_set(err, ERR_BUSY, "the host is out of memory");
		return (NULL);
	}
	h->tenant = t;
	h->held++;
	ps->held++;
	return (h);
}

void
places_give(struct places *ps, struct holder *h)
{
	if (h == NULL)
		return;
	ps->held--;
	if (--h->held > 0)
		return;
	TAILQ_REMOVE(&ps->holders, h, next);
	free(h);
}

unsigned int
places_held(const struct holder *h)
{
	return (h->held);
}
