/*
 * Sends objects; touches only the connection.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/objrec.h"
#include "upload.h"

#define WAITING_MAX     (4 * 1024 * 1024)

struct upload {
	struct conn *c;
	uint32_t stream;
	int done;
	struct err err;
	uint64_t bytes;         /* of records */
	size_t n;               /* bytes in buf */
	uint8_t buf[FRAME_SLICE + OBJREC_HEAD + OBJ_MAX];
};

static int
on_reply(void *cookie, const struct frame *f)
{
	struct upload *u = cookie;

	if (f == NULL) {
		u->done = -1;
		err_set(&u->err, ERR_IO, "the connection was lost");
		return (0);
	}
	if (f->type == FRAME_RESET) {
		u->done = -1;
		return (err_parse(f->body, f->len, &u->err));
	}
	if (f->type != FRAME_REPLY || !conn_ends(f))
		return (-1);
	u->done = 1;
	return (0);
}

struct upload *
upload_new(struct conn *c)
{
	struct client_open *o;
	struct upload *u;

	if ((u = calloc(1, sizeof(*u))) == NULL)
		return (NULL);
	if ((o = calloc(1, sizeof(*o))) == NULL)
		goto err0;
	u->c = c;
	o->verb = CLIENT_UPLOAD;
	u->stream = conn_request(c, o, on_reply, u);
	free(o);
	if (u->stream == 0)
		goto err0;
	return (u);

err0:
	free(u);
	return (NULL);
}

void
upload_free(struct upload *u)
{
	if (u != NULL && u->done == 0)
		conn_forget(u->c, u->stream);
	free(u);
}

/* Send whole slices; with ${all} the rest too. */
static int
flush(struct upload *u, int all)
{
	size_t off = 0, n;

	while (u->n - off >= FRAME_SLICE || (all && u->n > off)) {
		n = u->n - off < FRAME_SLICE ? u->n - off : FRAME_SLICE;
		if (conn_data(u->c, u->stream, FRAME_OBJECT, u->buf + off,
		    n) == -1)
			return (-1);
		off += n;
	}
	memmove(u->buf, u->buf + off, u->n - off);
	u->n -= off;
	while (conn_waiting(u->c, u->stream) > WAITING_MAX && u->done == 0)
		if (conn_pump(u->c, -1) == -1)
			return (-1);
	return (u->done == 0 ? 0 : -1);
}

int
upload_object(void *cookie, const struct obj_ref *ref, const void *buf,
    size_t len)
{
	struct upload *u = cookie;
	size_t n;

	if (objrec_pack(ref, buf, len, u->buf + u->n, &n) == -1)
		return (-1);
	u->n += n;
	u->bytes += n;
	return (u->n >= FRAME_SLICE ? flush(u, 0) : 0);
}

int
upload_end(struct upload *u)
{
	if (flush(u, 1) == -1)
		return (-1);
	return (conn_end(u->c, u->stream));
}

int
upload_done(const struct upload *u)
{
	return (u->done);
}

const struct err *
upload_err(const struct upload *u)
{
	return (&u->err);
}

uint64_t
upload_bytes(const struct upload *u)
{
	return (u->bytes);
}
