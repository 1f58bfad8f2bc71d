/*
 * The table of requests a client may make, and the way of each frame to its
 * stream.  Memory only.
 */
#include "dispatch.h"
#include "follow.h"
#include "handlers.h"
#include "lib/frame.h"
#include "lib/size.h"
#include "pend.h"
#include "session.h"
#include "store_client.h"
#include "stream.h"
#include "sup.h"

/*
 * The maxima bound what a client can make us hold: buffers of uploads and
 * downloads, and lists of jobs, which name look-ups make too.
 */
static const struct route routes[] = {
	{ CLIENT_UPLOAD, ROUTE_TENANT, FRAME_OBJECT, 4,
	    upload_open, upload_take, upload_end, upload_kick, upload_done },
	{ CLIENT_SUBMIT, ROUTE_TENANT, FRAME_ENV, 8,
	    submit_open, submit_take, submit_end, submit_kick, submit_done },
	{ CLIENT_ATTACH, ROUTE_TENANT, ROUTE_NO_DATA, 16,
	    attach_open, NULL, NULL, NULL, NULL },
	{ CLIENT_WAIT, ROUTE_TENANT, ROUTE_NO_DATA, 32,
	    wait_open, NULL, NULL, NULL, NULL },
	{ CLIENT_STATUS, ROUTE_TENANT, ROUTE_NO_DATA, 16,
	    status_open, NULL, NULL, NULL, jobs_done },
	{ CLIENT_CHANGES, ROUTE_TENANT, ROUTE_NO_DATA, 4,
	    changes_open, NULL, NULL, NULL, changes_done },
	{ CLIENT_LIST, ROUTE_TENANT, ROUTE_NO_DATA, 4,
	    list_open, NULL, NULL, NULL, jobs_done },
	{ CLIENT_KILL, ROUTE_TENANT, ROUTE_NO_DATA, 32,
	    kill_open, NULL, NULL, NULL, NULL },
	{ CLIENT_GET, ROUTE_TENANT, FRAME_REFS, 4,
	    get_open, get_take, get_end, get_kick, get_done },
	{ CLIENT_RECEIPT, ROUTE_TENANT, ROUTE_NO_DATA, 16,
	    receipt_open_stream, NULL, NULL, NULL, NULL },
	{ CLIENT_INFO, ROUTE_TENANT | ROUTE_CONTROL, ROUTE_NO_DATA, 4,
	    info_open, NULL, NULL, NULL, info_done },
	{ CLIENT_INPUT, ROUTE_TENANT, FRAME_STDIN, 8,
	    input_open, input_take, input_end, NULL, input_done },
	{ CLIENT_WINDOW, ROUTE_TENANT, ROUTE_NO_DATA, 8,
	    window_open, NULL, NULL, NULL, NULL },
	{ CLIENT_ADMIN, ROUTE_CONTROL, ROUTE_NO_DATA, 4,
	    admin_open, NULL, NULL, NULL, admin_done },
	{ CLIENT_CARE, ROUTE_CONTROL, ROUTE_NO_DATA, 4,
	    care_open, NULL, NULL, care_kick, care_done },
};

#define NROUTES (sizeof(routes) / sizeof(routes[0]))

static const struct route *
route_find(uint8_t verb)
{
	size_t i;

	for (i = 0; i < NROUTES; i++) {
		if (routes[i].verb == verb)
			return (&routes[i]);
	}
	return (NULL);
}

static unsigned int
route_count(const struct session *s, const struct route *r)
{
	unsigned int n = 0;
	size_t i;

	for (i = 0; i < s->nstreams; i++)
		n += s->streams[i]->route == r && !s->streams[i]->over;
	return (n);
}

/* Requests of ours that are under way, of streams long gone too. */
static int
is_swamped(const struct session *s)
{
	return (sup_used(s->sup) >= PEND_GATE ||
	    (s->store != NULL && store_used(s->store) >= PEND_GATE));
}

static void
busy(struct stream *st, const char *what)
{
	struct err e;

	(void)err_set(&e, ERR_BUSY, "%s", what);
	e.retry = 1;
	stream_fail(st, &e);
}

static void
begin(struct stream *st, const struct client_open *o)
{
	const struct route *r = st->route;
	struct session *s = st->s;

	if ((r->where & (s->admin ? ROUTE_CONTROL : ROUTE_TENANT)) == 0)
		stream_failf(st, ERR_DENIED, s->admin ?
		    "not on the control socket; use the host's other socket" :
		    "only on the control socket; use errandctl");
	else if (route_count(s, r) > r->max)
		busy(st, "too many requests of one kind at once; "
		    "wait for an answer first");
	else if (is_swamped(s))
		busy(st, "too many requests at once; wait for answers first");
	else
		r->open(st, o);
}

static int
on_open(struct session *s, const struct frame *f, const char **why)
{
	struct client_open o;
	const struct route *r;
	struct stream *st;

	if (client_open_parse(f->body, f->len, &o) == -1 ||
	    (r = route_find(o.verb)) == NULL) {
		*why = "a malformed request";
		return (-1);
	}
	if ((st = stream_new(s, f->stream, r)) == NULL) {
		*why = "no room for another stream";
		return (-1);
	}
	begin(st, &o);
	return (0);
}

static int
on_data(struct stream *st, const struct frame *f, const char **why)
{
	if (f->flags != st->route->data) {
		*why = "DATA that this request does not take";
		return (-1);
	}
	st->route->take(st, f->body, f->len);
	return (0);
}

static void
on_end(struct stream *st)
{
	st->ended = 1;
	if (st->route->end != NULL)
		st->route->end(st);
}

int
dispatch_frame(struct session *s, const struct frame *f, const char **why)
{
	struct stream *st;

	if (f->type == FRAME_OPEN)
		return (on_open(s, f, why));
	/* What crossed our last word on the wire concerns nobody. */
	if ((st = stream_find(s, f->stream)) == NULL)
		return (0);
	switch (f->type) {
	case FRAME_DATA:
		return (on_data(st, f, why));
	case FRAME_END:
		on_end(st);
		return (0);
	case FRAME_RESET:
		st->over = 1;
		return (0);
	default:
		*why = "a frame that a client does not send";
		return (-1);
	}
}

void
dispatch_event(struct session *s, const struct snap_msg *m)
{
	size_t i;

	for (i = 0; i < s->nstreams; i++) {
		if (!s->streams[i]->over && s->streams[i]->follow != NULL)
			follow_event(s->streams[i]->follow, m);
		if (!s->streams[i]->over &&
		    s->streams[i]->route->verb == CLIENT_INPUT)
			input_event(s->streams[i], m);
	}
}

void
dispatch_kick(struct session *s)
{
	struct stream *st;
	size_t i;

	for (i = 0; i < s->nstreams; i++) {
		st = s->streams[i];
		if (!st->over && st->follow != NULL)
			follow_pump(st->follow);
		if (!st->over && st->route->kick != NULL)
			st->route->kick(st);
	}
}
