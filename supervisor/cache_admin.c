/*
 * What operators ask about caches.  The looking is done by a process with the
 * tenant's rights (priv_caches.c), whose words are checked here.
 */
#include <event2/event.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache_admin.h"
#include "config.h"
#include "conn.h"
#include "lib/cachedir.h"
#include "lib/io.h"
#include "lib/log.h"
#include "priv.h"
#include "proto/client_msg.h"
#include "sup.h"
#include "tenants.h"

/* Waits for the process; the connection may be gone by then. */
struct cache_wait {
	struct sup *sup;
	uint64_t serial;
	uint64_t id;
	uint8_t verb;
	int fd;
	struct event *ev;
	size_t len;
	struct cache_info v[LIMIT_CACHE_LIST];
};

/* A tenant can have written anything. */
static int
fit_to_tell(struct cache_info *ci)
{
	ci->project[sizeof(ci->project) - 1] = '\0';
	ci->name[sizeof(ci->name) - 1] = '\0';
	/* One whose mark is damaged has neither. */
	return (cachedir_project_valid(ci->project) &&
	    (ci->name[0] == '\0' || cachedir_name_valid(ci->name)) &&
	    ci->bytes <= INT64_MAX && ci->entries <= INT64_MAX &&
	    ci->saved_us <= INT64_MAX && ci->used_us <= INT64_MAX);
}

static void
answer(struct cache_wait *w)
{
	struct conn *c = conns_by_serial(w->sup->conns, w->serial);
	struct snap_msg *r;
	size_t i;

	if (c != NULL) {
		r = conn_msg(c, SNAP_OK, w->id);
		r->reply_to = SNAP_ADMIN;
		r->u.admin_ok.verb = w->verb;
		for (i = 0; i < w->len / sizeof(w->v[0]); i++)
			if (fit_to_tell(&w->v[i]))
				r->u.admin_ok.caches[r->u.admin_ok.ncaches++] =
				    w->v[i];
		conn_send(c, r, -1);
	}
	event_free(w->ev);
	io_close(&w->fd);
	free(w);
}

static void
on_words(evutil_socket_t fd, short what, void *cookie)
{
	struct cache_wait *w = cookie;
	uint8_t more;
	ssize_t n;

	(void)what;
	if (w->len < sizeof(w->v))
		n = read(fd, (uint8_t *)w->v + w->len, sizeof(w->v) - w->len);
	else
		n = read(fd, &more, 1) == 0 ? 0 : -1;
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		w->len += (size_t)n;
	else
		answer(w);
}

static void
fail(struct conn *c, uint64_t id)
{
	struct err err;

	memset(&err, 0, sizeof(err));
	(void)err_set(&err, ERR_INTERNAL, "the host could not look at the "
	    "tenant's caches: %s", strerror(errno));
	conn_error(c, id, &err);
}

static void
ask_fill(struct caches_ask *a, const struct snap_msg *m)
{
	memset(a, 0, sizeof(*a));
	a->remove = m->u.admin.verb == SNAP_ADMIN_CACHE_RM;
	a->any = !a->remove || m->u.admin.cache.name[0] == '\0';
	a->skip = a->remove ? 0 : m->u.admin.tenant.id;
	memcpy(a->project, m->u.admin.cache.project, sizeof(a->project));
	memcpy(a->name, m->u.admin.cache.name, sizeof(a->name));
}

static void
begin(struct conn *c, struct sup *sup, const struct snap_msg *m,
    const struct tenant *t)
{
	struct caches_ask ask;
	struct cache_wait *w;

	if ((w = calloc(1, sizeof(*w))) == NULL)
		goto err0;
	w->sup = sup;
	w->serial = conn_serial(c);
	w->id = m->id;
	w->verb = m->u.admin.verb;
	ask_fill(&ask, m);
	if ((w->fd = caches_priv(sup->work_fd, t->conf.host_uid,
	    sup->cfg->rootless ? getgid() : t->conf.host_uid, &ask)) == -1)
		goto err1;
	if ((w->ev = event_new(sup->base, w->fd, EV_READ | EV_PERSIST,
	    on_words, w)) == NULL)
		goto err2;
	if (event_add(w->ev, NULL) == -1)
		goto err3;
	if (ask.remove)
		log_info("tenant %s: caches are removed for uid %" PRIu32,
		    t->conf.name, conn_uid(c));
	return;

err3:
	event_free(w->ev);
err2:
	io_close(&w->fd);
err1:
	free(w);
err0:
	fail(c, m->id);
}

void
cache_admin(struct conn *c, struct sup *sup, const struct snap_msg *m)
{
	const struct tenant *t;
	struct err err;

	t = tenants_by_name(sup->tenants, m->u.admin.tenant.name);
	if (t != NULL) {
		begin(c, sup, m, t);
		return;
	}
	memset(&err, 0, sizeof(err));
	(void)err_set(&err, ERR_NOT_FOUND, "there is no tenant %s",
	    m->u.admin.tenant.name);
	conn_error(c, m->id, &err);
}
