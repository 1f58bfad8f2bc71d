/*
 * CARE.  Passes an operator's task on to the store, and what the store says
 * and streams back to the client, no faster than the client takes it.
 */
#include <stdlib.h>
#include <string.h>

#include "dispatch.h"
#include "handlers.h"
#include "lib/frame.h"
#include "lib/log.h"
#include "lib/memfd.h"
#include "lib/size.h"
#include "session.h"
#include "store_client.h"
#include "stream.h"

/*
 * Invariants:
 *  1. At most one request is under way, which asking says.
 *  2. The next step is asked for when the answer before has gone, or waits in
 *     no more than STREAM_WAITING bytes of output.
 */
struct care_stream {
	uint8_t task;           /* of the next request */
	uint8_t asking;
	struct care out;        /* the reply is sent from here */
};

void
care_open(struct stream *st, const struct client_open *o)
{
	struct care_stream *c;

	if (st->s->store == NULL) {
		stream_failf(st, ERR_IO, "the store is not up; \"errandctl "
		    "status\" says why");
		return;
	}
	if (NEW_ARRAY(c, 1) == -1) {
		stream_failf(st, ERR_INTERNAL, "the host ran out of memory");
		return;
	}
	c->task = o->task;
	st->priv = c;
}

void
care_done(struct stream *st)
{
	free(st->priv);
}

/* Bytes of a backup, as they are.  0, or -1 when they are not as was said. */
static int
bytes_send(struct stream *st, uint32_t bytes, int fd)
{
	const uint8_t *map;
	size_t len;

	if (bytes == 0)
		return (0);
	if (fd == -1 || memfd_map(fd, LIMIT_CARE_BYTES, &map, &len) == -1)
		return (-1);
	if (len == bytes)
		stream_data(st, FRAME_BYTES, map, len);
	memfd_unmap(map, len);
	return (len == bytes ? 0 : -1);
}

static void
on_step(void *cookie, const struct store_msg *m, int *fd)
{
	struct stream *st = cookie;
	struct care_stream *c = st->priv;
	struct client_reply r;

	c->asking = 0;
	c->task = CARE_NEXT;
	if (m->op == STORE_ERROR) {
		stream_fail(st, &m->u.error);
		return;
	}
	if (bytes_send(st, m->u.ok.care.bytes, *fd) == -1) {
		log_warnx("store: a bad answer to CARE");
		stream_failf(st, ERR_INTERNAL,
		    "the host's store gave a malformed answer");
		return;
	}
	c->out = m->u.ok.care;
	memset(&r, 0, sizeof(r));
	r.kind = CLIENT_CARE_REPLY;
	r.care = &c->out;
	stream_reply(st, &r, !c->out.done);
}

void
care_kick(struct stream *st)
{
	struct care_stream *c = st->priv;
	struct store_msg m;

	if (c == NULL || c->asking || !stream_has_room(st))
		return;
	c->asking = 1;
	memset(&m, 0, sizeof(m));
	m.op = STORE_CARE;
	m.u.care.task = c->task;
	store_request(st->s->store, &m, -1, on_step, st);
}
