/*
 * INFO and ADMIN.  Passes an operator's request on and the answer back; what is
 * allowed is decided and done in supervisor/admin.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch.h"
#include "handlers.h"
#include "lib/size.h"
#include "session.h"
#include "store_client.h"
#include "stream.h"
#include "sup.h"

#define PAGE    512     /* tenants in one reply; fits FRAME_BODY_MAX */

/* A listing of tenants that comes in pages smaller than ours. */
struct admin {
	uint8_t verb;
	uint32_t last;          /* id */
	uint32_t total;
	uint32_t n;
	struct tenant_info *tenants;    /* PAGE of them */
};

/* What the tenant uses, in the client's words. */
static void
used_fill(struct client_reply *r, const struct store_usage *u)
{
	r->has_used = 1;
	r->used.store_bytes = u->bytes;
	r->used.store_objects = u->objects;
	r->used.jobs = u->jobs;
	r->used.log_bytes = u->log_bytes;
	r->quota.store_bytes = u->quota.bytes;
	r->quota.store_objects = u->quota.objects;
	r->quota.jobs = u->quota.jobs;
	r->quota.log_bytes = u->quota.log_bytes;
}

/* Without the store, the rest is worth telling. */
static void
on_usage(void *cookie, const struct store_msg *m, int *fd)
{
	struct stream *st = cookie;
	const struct session_host *h = &st->s->host;
	struct client_reply r;

	(void)fd;
	memset(&r, 0, sizeof(r));
	if (m->op == STORE_OK)
		used_fill(&r, &m->u.ok.usage);
	r.kind = CLIENT_INFO_REPLY;
	r.limits = h->limits;
	r.cpus = h->cpus;
	r.memory = h->memory;
	r.net_host = h->net_host;
	r.nimages = h->nimages;
	memcpy(r.images, h->images, sizeof(r.images));
	r.disk_soft = h->disk_soft;
	r.disk_may = h->disk_may;
	r.cpu_time_may = h->cpu_time_may;
	stream_reply(st, &r, 0);
}

void
info_open(struct stream *st, const struct client_open *o)
{
	struct store_msg m;

	(void)o;
	if (!st->s->bound) {
		stream_failf(st, ERR_UNKNOWN_TENANT, "you are no tenant of "
		    "this host; \"errandctl status\" tells about it");
		return;
	}
	memset(&m, 0, sizeof(m));
	m.op = STORE_USAGE;
	store_request(st->s->store, &m, -1, on_usage, st);
}

void
info_done(struct stream *st)
{
	if (st->s->store != NULL)
		store_cancel(st->s->store, st);
}

static void on_admin(void *, const struct snap_msg *, int *);

static void
ask(struct stream *st, const struct client_open *o, uint32_t after)
{
	const struct admin *a = st->priv;
	struct snap_msg *m = sup_msg(st->s->sup, SNAP_ADMIN);

	m->u.admin.verb = a->verb;
	m->u.admin.after = after;
	if (o != NULL) {
		m->u.admin.tenant = o->tenant;
		m->u.admin.cache = o->cache;
	}
	sup_request(st->s->sup, -1, on_admin, st);
}

void
admin_open(struct stream *st, const struct client_open *o)
{
	struct admin *a;

	if (NEW_ARRAY(a, 1) == -1)
		goto err0;
	st->priv = a;
	if (NEW_ARRAY(a->tenants, PAGE) == -1)
		goto err0;
	a->verb = o->admin;
	ask(st, o, 0);
	return;

err0:
	stream_failf(st, ERR_INTERNAL, "the host ran out of memory");
}

void
admin_done(struct stream *st)
{
	struct admin *a = st->priv;

	if (a == NULL)
		return;
	free(a->tenants);
	free(a);
}

static void
send_tenants(struct stream *st, int more)
{
	struct admin *a = st->priv;
	struct client_reply r;

	memset(&r, 0, sizeof(r));
	r.kind = CLIENT_ADMIN_REPLY;
	r.admin = a->verb;
	r.ntenants = a->n;
	r.tenants = a->tenants;
	a->n = 0;
	stream_reply(st, &r, more);
}

static void
send_caches(struct stream *st, const struct snap_msg *m)
{
	struct cache_info copy[LIMIT_CACHE_LIST];
	const struct admin *a = st->priv;
	struct client_reply r;

	memset(&r, 0, sizeof(r));
	memcpy(copy, m->u.admin_ok.caches, sizeof(copy));
	r.kind = CLIENT_ADMIN_REPLY;
	r.admin = a->verb;
	r.ncaches = m->u.admin_ok.ncaches;
	r.caches = copy;
	stream_reply(st, &r, 0);
}

static void
send_status(struct stream *st, const struct admin_status *status)
{
	const struct admin *a = st->priv;
	struct admin_status copy = *status;
	struct client_reply r;

	memset(&r, 0, sizeof(r));
	r.kind = CLIENT_ADMIN_REPLY;
	r.admin = a->verb;
	r.status = &copy;
	stream_reply(st, &r, 0);
}

/* Room for one more page of the supervisor's? */
static int
has_page(const struct admin *a)
{
	return (PAGE - a->n >= 32);
}

/* A page of the listing; an empty one is its end. */
static void
list_page(struct stream *st, const struct snap_msg *m)
{
	struct admin *a = st->priv;
	uint32_t i, n = m->u.admin_ok.ntenants;

	for (i = 0; i < n; i++) {
		if (m->u.admin_ok.tenants[i].id <= a->last ||
		    a->total == LIMIT_TENANTS) {
			n = 0;          /* it goes round in circles */
			break;
		}
		a->last = m->u.admin_ok.tenants[i].id;
		a->tenants[a->n++] = m->u.admin_ok.tenants[i];
		a->total++;
	}
	if (n == 0) {
		send_tenants(st, 0);
		return;
	}
	if (!has_page(a))
		send_tenants(st, 1);
	ask(st, NULL, a->last);
}

static void
on_admin(void *cookie, const struct snap_msg *m, int *fd)
{
	struct stream *st = cookie;
	struct admin *a = st->priv;

	(void)fd;
	if (m->op == SNAP_ERROR) {
		stream_fail(st, &m->u.error);
		return;
	}
	switch (a->verb) {
	case SNAP_ADMIN_STATUS:
		send_status(st, &m->u.admin_ok.status);
		break;
	case SNAP_ADMIN_TENANT_LIST:
		list_page(st, m);
		break;
	case SNAP_ADMIN_CACHE_LIST:
	case SNAP_ADMIN_CACHE_RM:
		send_caches(st, m);
		break;
	default:
		a->n = m->u.admin_ok.ntenants;
		memcpy(a->tenants, m->u.admin_ok.tenants,
		    a->n * sizeof(*a->tenants));
		send_tenants(st, 0);
		break;
	}
}
