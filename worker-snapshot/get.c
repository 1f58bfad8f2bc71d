/*
 * The client's GET: a request for objects, answered from the store.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "dispatch.h"
#include "fetch.h"
#include "handlers.h"
#include "lib/frame.h"
#include "lib/log.h"
#include "lib/size.h"
#include "session.h"
#include "stream.h"

/*
 * GET.  References come in, batches are asked of the store, objects go out
 * compressed where that helps.  The next batch is asked for when the one
 * before has gone, or waits in no more than STREAM_WAITING bytes of output.
 *
 * Invariants of struct get:
 *  1. refs[0 .. nrefs * OBJ_REF_LEN - 1] were received and not served, part of
 *     a reference after them; the client has no credit for these bytes, so
 *     they are FRAME_CREDIT at most.
 *  2. asking says that the store was asked for the first ones.
 *  3. got.left objects are still to be sent.
 */
struct get {
	uint8_t *refs;
	size_t len;
	size_t cap;
	uint8_t asking;
	struct fetched got;
	uint64_t objects;
	uint64_t bytes;
	uint8_t out[OBJREC_HEAD + OBJ_MAX];
};

void
get_open(struct stream *st, const struct client_open *o)
{
	struct get *g;

	(void)o;
	if (NEW_ARRAY(g, 1) == -1)
		stream_failf(st, ERR_INTERNAL, "the host ran out of memory");
	st->priv = g;
}

void
get_done(struct stream *st)
{
	struct get *g = st->priv;

	if (g == NULL)
		return;
	fetched_done(&g->got);
	free(g->refs);
	free(g);
}

void
get_take(struct stream *st, const uint8_t *p, size_t len)
{
	struct get *g = st->priv;
	uint8_t *q;

	if ((q = size_grow(g->refs, &g->cap, g->len + len, 1)) == NULL) {
		stream_failf(st, ERR_INTERNAL, "the host ran out of memory");
		return;
	}
	g->refs = q;
	memcpy(q + g->len, p, len);
	g->len += len;
}

void
get_end(struct stream *st)
{
	struct get *g = st->priv;

	if (g->len % OBJ_REF_LEN != 0)
		stream_failf(st, ERR_INVALID,
		    "the list of objects ends in the middle of an id");
}

/* The first references were served: forget them, credit them. */
static void
refs_drop(struct stream *st, size_t n)
{
	struct get *g = st->priv;
	size_t bytes = n * OBJ_REF_LEN;

	memmove(g->refs, g->refs + bytes, g->len - bytes);
	g->len -= bytes;
	(void)frame_consumed(conn_frames(st->s->conn), st->id, bytes);
}

static void
on_got(void *cookie, const struct store_msg *m, int *fd)
{
	struct stream *st = cookie;
	struct get *g = st->priv;

	g->asking = 0;
	if (m->op == STORE_ERROR) {
		stream_fail(st, &m->u.error);
		return;
	}
	if (m->u.ok.objects == 0) {
		stream_failf(st, ERR_MISSING,
		    "an object that was asked for is not in the store");
		return;
	}
	if (fetched_take(&g->got, m, *fd) == -1 || g->got.count == 0 ||
	    g->got.count > g->len / OBJ_REF_LEN) {
		log_warnx("store: a bad answer to GET");
		stream_failf(st, ERR_INTERNAL,
		    "the host's store gave a malformed answer");
		return;
	}
	refs_drop(st, g->got.count);
}

/* Ask for the next batch: when there is a full one, or no more will come. */
static void
ask(struct stream *st)
{
	struct get *g = st->priv;
	size_t n = g->len / OBJ_REF_LEN;

	if (n > LIMIT_GET_OBJECTS)
		n = LIMIT_GET_OBJECTS;
	if (n < LIMIT_GET_OBJECTS && !st->ended)
		return;
	if (n == 0) {
		stream_count(st, CLIENT_DONE, g->objects, g->bytes);
		return;
	}
	g->asking = 1;
	if (fetch_refs(st->s->store, g->refs, n, on_got, st) == -1)
		stream_failf(st, ERR_INTERNAL, "the host ran out of memory");
}

static void
send_object(struct stream *st, const struct objrec *rec, const uint8_t *raw)
{
	struct get *g = st->priv;
	size_t len;

	if (objrec_pack(&rec->ref, raw, rec->raw_len, g->out, &len) == -1) {
		stream_failf(st, ERR_INTERNAL, "an object could not be sent");
		return;
	}
	stream_data(st, FRAME_OBJECT, g->out, len);
	g->objects++;
	g->bytes += rec->raw_len;
}

/* Send what there is room for.  1 when the batch has gone. */
static int
pump(struct stream *st)
{
	struct get *g = st->priv;
	struct objrec rec;
	const uint8_t *raw;
	int rc = 0;

	while (!st->over && stream_has_room(st)) {
		if ((rc = fetched_next(&g->got, &rec, &raw)) != 1)
			break;
		send_object(st, &rec, raw);
	}
	if (rc == -1)
		stream_failf(st, ERR_INTERNAL,
		    "the host's store gave a malformed answer");
	if (st->over || st->want_room)
		return (0);
	fetched_done(&g->got);
	return (1);
}

void
get_kick(struct stream *st)
{
	struct get *g = st->priv;

	if (!g->asking && pump(st))
		ask(st);
}
