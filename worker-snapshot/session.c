/*
 * The one connection of this process: SERVE, HELLO, BIND, and what every event
 * ends with.  Knows the other parts; reads and writes no descriptor itself.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "conn.h"
#include "dispatch.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/size.h"
#include "session.h"
#include "store_client.h"
#include "stream.h"
#include "sup.h"

#define EXIT_PROMISE    101     /* one of our processes broke the rules */

static void
end_loop(struct session *s)
{
	(void)event_base_loopbreak(s->base);
}

static void
after(void *cookie)
{
	session_after(cookie);
}

/* Our HELLO.  Before BOUND it only says which versions we speak. */
static void
say_hello(void *cookie)
{
	struct session *s = cookie;
	struct client_hello h;
	uint8_t buf[1024];
	ssize_t n;

	if (s->greeted)
		return;
	s->greeted = 1;
	memset(&h, 0, sizeof(h));
	h.proto_min = h.proto_max = PROTO_VERSION;
	snprintf(h.software, sizeof(h.software), "%s", ERRAND_VERSION);
	snprintf(h.tenant, sizeof(h.tenant), "%s", s->host.tenant);
	snprintf(h.host, sizeof(h.host), "%s", s->host.host);
	memcpy(h.host_key, s->host.host_key, sizeof(h.host_key));
	h.clock_us = io_real_us();
	if ((n = client_hello_pack(&h, buf, sizeof(buf))) == -1 ||
	    frame_send(conn_frames(s->conn), 0, FRAME_HELLO, 0, buf,
	    (size_t)n) == -1)
		log_warnx("cannot say HELLO");
}

static void
refuse(struct session *s, const struct err *e)
{
	log_info("client: refused: %s", e->text);
	conn_bye(s->conn, e);
}

static int
bound_take(struct session *s, const struct snap_msg *m, int *fd)
{
	/* An operator's is for the care of the store, when that is up. */
	if (!s->admin || *fd != -1) {
		s->store = store_client_new(s->base, *fd, after, s);
		if (s->store == NULL)
			return (-1);
		*fd = -1;
	}
	memcpy(s->host.tenant, m->u.bound.tenant, sizeof(s->host.tenant));
	memcpy(s->host.host_key, m->u.bound.host_key,
	    sizeof(s->host.host_key));
	memcpy(s->host.host, m->u.bound.host, sizeof(s->host.host));
	s->host.limits = m->u.bound.limits;
	s->host.net_host = m->u.bound.net_host;
	s->host.disk_soft = m->u.bound.disk_soft;
	s->host.disk_may = m->u.bound.disk_may;
	s->host.cpu_time_may = m->u.bound.cpu_time_may;
	s->host.cpus = m->u.bound.cpus;
	s->host.memory = m->u.bound.memory;
	s->host.nimages = m->u.bound.nimages;
	memcpy(s->host.images, m->u.bound.images, sizeof(s->host.images));
	s->bound = 1;
	return (0);
}

/* An operator need not be a tenant: refused as one, ADMIN still works. */
static void
on_bound(void *cookie, const struct snap_msg *m, int *fd)
{
	struct session *s = cookie;
	struct err e;

	if (conn_over(s->conn))
		return;
	if (m->op == SNAP_ERROR && !s->admin) {
		refuse(s, &m->u.error);
		return;
	}
	if (m->op != SNAP_ERROR && bound_take(s, m, fd) == -1) {
		log_warn("store channel");
		(void)err_set(&e, ERR_INTERNAL,
		    "the host could not reach its store; try again");
		e.retry = 1;
		refuse(s, &e);
		return;
	}
	say_hello(s);
	conn_hold(s->conn, 0);
}

/* Ranges that do not meet: say who has to be updated. */
static int
version_check(const struct client_hello *h, struct err *e)
{
	if (h->proto_min > PROTO_VERSION)
		return (err_set(e, ERR_VERSION, "this host (errand %s) speaks "
		    "protocol %d, the client needs %u or newer; update errand "
		    "on the host", ERRAND_VERSION, PROTO_VERSION,
		    h->proto_min));
	if (h->proto_max < PROTO_VERSION)
		return (err_set(e, ERR_VERSION, "this host (errand %s) needs "
		    "protocol %d, the client speaks %u at most; update the "
		    "client", ERRAND_VERSION, PROTO_VERSION, h->proto_max));
	return (0);
}

/* The client's HELLO: ask who it is, and read no further until we know. */
static int
on_hello(struct session *s, const struct frame *f, const char **why)
{
	struct client_hello h;
	struct snap_msg *m;
	struct err e;

	if (client_hello_parse(f->body, f->len, &h) == -1 ||
	    h.proto_min > h.proto_max) {
		*why = "a malformed HELLO";
		return (-1);
	}
	if (version_check(&h, &e) == -1) {
		refuse(s, &e);
		return (0);
	}
	conn_hold(s->conn, 1);
	m = sup_msg(s->sup, SNAP_BIND);
	memcpy(m->u.bind.tenant, h.tenant, sizeof(m->u.bind.tenant));
	sup_request(s->sup, -1, on_bound, s);
	return (0);
}

static int
on_frame(void *cookie, const struct frame *f)
{
	struct session *s = cookie;
	const char *why = NULL;
	int rc;

	if (f->type == FRAME_HELLO)
		rc = on_hello(s, f, &why);
	else
		rc = dispatch_frame(s, f, &why);
	if (rc == -1)
		conn_blame(s->conn, why);
	return (rc);
}

static void
on_serve(void *cookie, const struct snap_msg *m, int *fd)
{
	static const struct conn_ops ops = { on_frame, say_hello, after };
	struct session *s = cookie;

	if (s->conn != NULL || *fd == -1) {
		log_warnx("supervisor: SERVE %s", *fd == -1 ?
		    "without a connection" : "a second time");
		s->status = EXIT_PROMISE;
		end_loop(s);
		return;
	}
	s->admin = m->u.serve.admin;
	log_debug("serving user %u%s", m->u.serve.peer_uid,
	    s->admin ? " on the control socket" : "");
	s->conn = conn_new(s->base, *fd, &conn_times_default, &ops, s);
	if (s->conn == NULL) {
		log_warn("client connection");
		end_loop(s);
		return;
	}
	*fd = -1;
}

static void
on_event(void *cookie, const struct snap_msg *m)
{
	dispatch_event(cookie, m);
}

static void
on_sup_end(void *cookie, const char *why, int bad)
{
	struct session *s = cookie;

	log_debug("supervisor: %s", why);
	if (bad)
		s->status = EXIT_PROMISE;
	end_loop(s);
}

static void
on_again(evutil_socket_t fd, short what, void *cookie)
{
	(void)fd;
	(void)what;
	session_after(cookie);
}

struct session *
session_new(struct event_base *base, int fd)
{
	static const struct sup_ops ops = { on_serve, on_event, after,
	    on_sup_end };
	struct session *s;

	if (NEW_ARRAY(s, 1) == -1)
		goto err0;
	s->base = base;
	if ((s->again = evtimer_new(base, on_again, s)) == NULL) {
		errno = ENOMEM;
		goto err1;
	}
	if ((s->sup = sup_new(base, fd, &ops, s)) == NULL)
		goto err2;

	return (s);

err2:
	event_free(s->again);
err1:
	free(s);
err0:
	return (NULL);
}

void
session_free(struct session *s)
{
	if (s == NULL)
		return;
	while (s->nstreams > 0)
		stream_free(s->streams[--s->nstreams]);
	store_client_free(s->store);
	conn_free(s->conn);
	sup_free(s->sup);
	event_free(s->again);
	free(s);
}

void
session_ready(struct session *s, int landlock)
{
	sup_hello(s->sup, landlock);
}

/* Free the streams that are over; the others keep their order. */
static void
sweep(struct session *s)
{
	size_t i, kept = 0;

	for (i = 0; i < s->nstreams; i++) {
		if (s->streams[i]->over)
			stream_free(s->streams[i]);
		else
			s->streams[kept++] = s->streams[i];
	}
	s->nstreams = kept;
}

/* Does a stream that stopped for want of room have some now? */
static int
can_go_on(struct session *s)
{
	size_t i;

	for (i = 0; i < s->nstreams; i++) {
		if (s->streams[i]->want_room && stream_has_room(s->streams[i]))
			return (1);
	}
	return (0);
}

void
session_after(struct session *s)
{
	static const struct timeval now = { 0, 0 };

	if (s->conn == NULL)
		return;
	dispatch_kick(s);
	sweep(s);
	(void)conn_flush(s->conn);
	if (conn_over(s->conn))
		end_loop(s);
	else if (can_go_on(s))
		/* A timer, so that others have their turn in between. */
		(void)event_add(s->again, &now);
}

int
session_status(const struct session *s)
{
	return (s->status);
}
