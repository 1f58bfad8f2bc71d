/*
 * One request of the client: its replies, its output, its end.  Queues frames
 * in memory; conn.c writes them.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "dispatch.h"
#include "follow.h"
#include "lib/log.h"
#include "lib/size.h"
#include "resolve.h"
#include "session.h"
#include "store_client.h"
#include "stream.h"
#include "sup.h"

struct stream *
stream_find(struct session *s, uint32_t id)
{
	size_t i;

	for (i = 0; i < s->nstreams; i++) {
		if (s->streams[i]->id == id && !s->streams[i]->over)
			return (s->streams[i]);
	}
	return (NULL);
}

struct stream *
stream_new(struct session *s, uint32_t id, const struct route *route)
{
	struct stream *st;

	if (s->nstreams == FRAME_STREAMS) {
		errno = ENOBUFS;
		return (NULL);
	}
	if (NEW_ARRAY(st, 1) == -1)
		return (NULL);
	st->s = s;
	st->id = id;
	st->route = route;
	s->streams[s->nstreams++] = st;
	return (st);
}

void
stream_free(struct stream *st)
{
	if (st == NULL)
		return;
	if (st->route->done != NULL)
		st->route->done(st);
	else
		free(st->priv);
	resolve_free(st->resolve);
	follow_free(st->follow);
	store_cancel(st->s->store, st);
	sup_cancel(st->s->sup, st);
	free(st);
}

/* There is no memory for the answer: the stream is left without one. */
static void
unsaid(struct stream *st)
{
	struct err e;

	log_warn("stream %u: sending", st->id);
	st->over = 1;
	(void)err_set(&e, ERR_INTERNAL, "the host ran out of memory");
	e.retry = 1;
	conn_bye(st->s->conn, &e);
}

static void
say(struct stream *st, uint8_t type, uint8_t flags, const void *body,
    size_t len)
{
	if (st->over)
		return;
	if (frame_send(conn_frames(st->s->conn), st->id, type, flags, body,
	    len) == -1)
		unsaid(st);
}

void
stream_reply(struct stream *st, const struct client_reply *r, int more)
{
	ssize_t n;

	n = client_reply_pack(r, st->s->body, sizeof(st->s->body));
	if (n == -1) {
		stream_failf(st, ERR_INTERNAL,
		    "the host could not put its answer into words");
		return;
	}
	say(st, FRAME_REPLY, more ? FRAME_MORE : 0, st->s->body, (size_t)n);
	if (!more)
		st->over = 1;
}

void
stream_count(struct stream *st, enum client_reply_kind kind, uint64_t objects,
    uint64_t bytes)
{
	struct client_reply r;

	memset(&r, 0, sizeof(r));
	r.kind = (uint8_t)kind;
	r.objects = objects;
	r.bytes = bytes;
	stream_reply(st, &r, 0);
}

void
stream_data(struct stream *st, uint8_t channel, const void *p, size_t len)
{
	if (len > 0)
		say(st, FRAME_DATA, channel, p, len);
}

uint8_t *
stream_buf(struct stream *st)
{
	uint8_t *p;

	if ((p = frame_room(conn_frames(st->s->conn))) == NULL)
		unsaid(st);
	return (p);
}

int
stream_pipe(struct stream *st)
{
	return (st->over ? -1 : conn_pipe(st->s->conn, st->id));
}

void
stream_piped(struct stream *st, uint8_t channel, size_t len)
{
	if (conn_piped(st->s->conn, st->id, channel, len) == -1)
		unsaid(st);
}

int
stream_has_room(struct stream *st)
{
	if (frame_waiting(conn_frames(st->s->conn), st->id) + FRAME_SLICE <
	    STREAM_WAITING) {
		st->want_room = 0;
		return (1);
	}
	st->want_room = 1;
	return (0);
}

void
stream_fail(struct stream *st, const struct err *e)
{
	uint8_t buf[2 * LIMIT_TEXT];
	ssize_t n;

	if (st->over)
		return;
	log_debug("stream %u: %s: %s", st->id, err_code_name(e->code),
	    e->text);
	if ((n = err_pack(e, buf, sizeof(buf))) == -1)
		n = 0;
	say(st, FRAME_RESET, 0, buf, (size_t)n);
	st->over = 1;
}

void
stream_failf(struct stream *st, enum err_code code, const char *fmt, ...)
{
	struct err e;
	char text[LIMIT_TEXT];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)err_set(&e, code, "%s", text);
	stream_fail(st, &e);
}
