/*
 * The client's UPLOAD, from hostile records to PUTs.  The one place in the
 * daemon's programs where what a client compressed is decompressed, within
 * bounds; touches memory and memfds.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "dispatch.h"
#include "handlers.h"
#include "lib/frame.h"
#include "lib/memfd.h"
#include "lib/objrec.h"
#include "lib/size.h"
#include "session.h"
#include "store_client.h"
#include "stream.h"

/*
 * UPLOAD.  Records are taken apart, undone from their compression and put to
 * the store in batches; the store computes every id itself.  A client gets its
 * credit back when the store has answered, so what it can make us hold is
 *
 *	FRAME_CREDIT bytes that were received and not yet taken apart,
 *	one batch that is being filled, LIMIT_PUT_BYTES,
 *
 * on each of a few streams, and PUTS_MAX batches under way in all.
 */
#define PUTS_MAX        8       /* unanswered on the connection */
#define PUT_INPUT       (FRAME_CREDIT / 4)      /* received bytes of a batch */

/*
 * Input is taken apart in pieces so short that whatever is in them fits into
 * the batch: a piece ends at most one record that began before it, and holds
 * no more than its length allows, each as large as an object can be.
 */
#define PIECE           1024
#define PIECE_RECORDS   (1 + PIECE / (OBJREC_HEAD + 1))
#define PIECE_BYTES     (PIECE_RECORDS * (OBJREC_HEAD + OBJ_MAX))

struct put {
	struct stream *st;
	size_t input;           /* to be credited; 0: free */
};

/*
 * Invariants of struct upload:
 *  1. held[held_at .. held_len - 1] was received and not looked at; together
 *     with input and what is in puts it is what the client has no credit for.
 *  2. batch holds ${count} records in ${len} bytes.
 *  3. nputs entries of puts are in use.
 */
struct upload {
	struct objrec_reader *reader;
	uint8_t *batch;
	size_t len;
	uint32_t count;
	size_t input;           /* received bytes that the batch came from */
	struct put puts[PUTS_MAX];
	unsigned int nputs;
	uint8_t *held;
	size_t held_at;
	size_t held_len;
	size_t held_cap;
	uint64_t objects;       /* new ones, as the store counts */
	uint64_t bytes;
};

/* A whole record.  There is room for it: see PIECE. */
static int
on_record(void *cookie, const struct objrec *rec, const uint8_t *raw)
{
	struct upload *u = cookie;
	struct objrec out = *rec;

	out.codec = OBJREC_RAW;
	out.len = out.raw_len;
	objrec_encode(&out, u->batch + u->len);
	memcpy(u->batch + u->len + OBJREC_HEAD, raw, rec->raw_len);
	u->len += OBJREC_HEAD + rec->raw_len;
	u->count++;
	return (0);
}

static void
upload_free(struct upload *u)
{
	objrec_reader_free(u->reader);
	free(u->batch);
	free(u->held);
	free(u);
}

void
upload_open(struct stream *st, const struct client_open *o)
{
	struct upload *u;

	(void)o;
	if (NEW_ARRAY(u, 1) == -1)
		goto err0;
	if ((u->reader = objrec_reader_new(on_record, u)) == NULL)
		goto err1;
	if ((u->batch = malloc(LIMIT_PUT_BYTES)) == NULL)
		goto err1;
	st->priv = u;
	return;

err1:
	upload_free(u);
err0:
	stream_failf(st, ERR_INTERNAL, "the host ran out of memory");
}

void
upload_done(struct stream *st)
{
	struct upload *u = st->priv;
	size_t i;

	if (u == NULL)
		return;
	for (i = 0; i < PUTS_MAX; i++)
		store_cancel(st->s->store, &u->puts[i]);
	upload_free(u);
}

static void
on_put(void *cookie, const struct store_msg *m, int *fd)
{
	struct put *p = cookie;
	struct stream *st = p->st;
	struct upload *u = st->priv;

	(void)fd;
	u->nputs--;
	(void)frame_consumed(conn_frames(st->s->conn), st->id, p->input);
	p->input = 0;
	if (m->op == STORE_ERROR) {
		stream_fail(st, &m->u.error);
		return;
	}
	u->objects += m->u.ok.objects;
	u->bytes += m->u.ok.bytes;
}

static struct put *
put_free(struct upload *u)
{
	size_t i;

	for (i = 0; i < PUTS_MAX; i++) {
		if (u->puts[i].input == 0)
			return (&u->puts[i]);
	}
	return (NULL);
}

/* Send the batch.  1, or 0 when too many are under way or it failed. */
static int
put_batch(struct stream *st)
{
	struct upload *u = st->priv;
	struct store_msg m;
	struct put *p;
	int fd;

	if (store_pending(st->s->store, STORE_PUT) >= PUTS_MAX ||
	    (p = put_free(u)) == NULL)
		return (0);
	if ((fd = memfd_make("put", u->batch, u->len)) == -1) {
		stream_failf(st, ERR_INTERNAL, "the host ran out of memory");
		return (0);
	}
	p->st = st;
	p->input = u->input;
	u->nputs++;
	memset(&m, 0, sizeof(m));
	m.op = STORE_PUT;
	m.u.put.objects = u->count;
	u->len = u->count = 0;
	u->input = 0;
	store_request(st->s->store, &m, fd, on_put, p);
	return (1);
}

static int
batch_is_full(const struct upload *u)
{
	return (LIMIT_PUT_BYTES - u->len < PIECE_BYTES ||
	    LIMIT_PUT_OBJECTS - u->count < PIECE_RECORDS);
}

/* Take one piece apart.  1, or 0 when it must wait or the stream failed. */
static int
piece(struct stream *st, const uint8_t *p, size_t len)
{
	struct upload *u = st->priv;

	/* A batch of nothing but parts of one record is not a batch. */
	if (u->count > 0 && u->input >= PUT_INPUT)
		(void)put_batch(st);
	if (st->over || (batch_is_full(u) && !put_batch(st)))
		return (0);
	u->input += len;
	if (objrec_reader_feed(u->reader, p, len) == -1) {
		stream_failf(st, ERR_INVALID,
		    "the upload is malformed: not a record of an object");
		return (0);
	}
	return (1);
}

/* Take apart what can be.  Returns the bytes that were used. */
static size_t
chew(struct stream *st, const uint8_t *p, size_t len)
{
	size_t n, done;

	for (done = 0; done < len; done += n) {
		n = len - done < PIECE ? len - done : PIECE;
		if (!piece(st, p + done, n))
			break;
	}
	return (done);
}

static void
hold(struct stream *st, const uint8_t *p, size_t len)
{
	struct upload *u = st->priv;
	uint8_t *q;

	if (u->held_at > 0) {
		memmove(u->held, u->held + u->held_at,
		    u->held_len - u->held_at);
		u->held_len -= u->held_at;
		u->held_at = 0;
	}
	q = size_grow(u->held, &u->held_cap, u->held_len + len, 1);
	if (q == NULL) {
		stream_failf(st, ERR_INTERNAL, "the host ran out of memory");
		return;
	}
	u->held = q;
	memcpy(q + u->held_len, p, len);
	u->held_len += len;
}

void
upload_take(struct stream *st, const uint8_t *p, size_t len)
{
	struct upload *u = st->priv;
	size_t n = 0;

	if (u->held_at == u->held_len)
		n = chew(st, p, len);
	if (n < len && !st->over)
		hold(st, p + n, len - n);
}

void
upload_end(struct stream *st)
{
	(void)st;               /* the look that follows every event does it */
}

/* All has come and was taken apart: put the rest, wait, and say so. */
static void
conclude(struct stream *st)
{
	struct upload *u = st->priv;

	if (!objrec_reader_clean(u->reader)) {
		stream_failf(st, ERR_INVALID,
		    "the upload ends in the middle of a record");
		return;
	}
	if (u->count > 0)
		(void)put_batch(st);
	if (!st->over && u->count == 0 && u->nputs == 0)
		stream_count(st, CLIENT_UPLOADED, u->objects, u->bytes);
}

void
upload_kick(struct stream *st)
{
	struct upload *u = st->priv;

	if (u->held_at < u->held_len)
		u->held_at += chew(st, u->held + u->held_at,
		    u->held_len - u->held_at);
	/* The client may have no credit left to make us do it. */
	if (!st->over && u->count > 0 && u->input >= PUT_INPUT)
		(void)put_batch(st);
	if (!st->over && st->ended && u->held_at == u->held_len)
		conclude(st);
}
