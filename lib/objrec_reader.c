/*
 * Records out of a hostile stream that comes in pieces.  Memory only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "objrec.h"
#include "size.h"

/*
 * Invariants of struct objrec_reader:
 *  1. in holds the first have bytes of a record; have < OBJREC_HEAD, or rec is
 *     the checked head and have < OBJREC_HEAD + rec.len.
 *  2. After a failure broken is true and every feed fails: where the next
 *     record begins is not known.
 */
struct objrec_reader {
	objrec_fn *fn;
	void *cookie;
	struct objrec rec;
	size_t have;
	int broken;
	uint8_t in[OBJREC_HEAD + OBJ_MAX];
	uint8_t raw[OBJ_MAX];
};

struct objrec_reader *
objrec_reader_new(objrec_fn *fn, void *cookie)
{
	struct objrec_reader *r;

	if (NEW_ARRAY(r, 1) == -1)
		return (NULL);
	r->fn = fn;
	r->cookie = cookie;
	return (r);
}

void
objrec_reader_free(struct objrec_reader *r)
{
	free(r);
}

/* Hand out the record whose stored bytes are at ${stored}. */
static int
deliver(struct objrec_reader *r, const uint8_t *stored)
{
	const uint8_t *raw = stored;

	if (r->rec.codec != OBJREC_RAW) {
		if (objrec_unpack(&r->rec, stored, r->raw) == -1)
			return (-1);
		raw = r->raw;
	}
	return (r->fn(r->cookie, &r->rec, raw) != 0 ? -1 : 0);
}

/* Move bytes from ${*p} until there are ${want}.  Return 1 if there are. */
static int
gather(struct objrec_reader *r, size_t want, const uint8_t **p, size_t *len)
{
	size_t n;

	n = want - r->have < *len ? want - r->have : *len;
	memcpy(r->in + r->have, *p, n);
	r->have += n;
	*p += n;
	*len -= n;
	return (r->have == want);
}

/* Take the head of a record.  Return 1, 0 if more bytes are needed, or -1. */
static int
take_head(struct objrec_reader *r, const uint8_t **p, size_t *len)
{
	if (r->have >= OBJREC_HEAD)
		return (1);
	if (!gather(r, OBJREC_HEAD, p, len))
		return (0);
	return (objrec_decode(r->in, &r->rec) == -1 ? -1 : 1);
}

int
objrec_reader_feed(struct objrec_reader *r, const uint8_t *p, size_t len)
{
	const uint8_t *stored;
	int rc;

	if (r->broken) {
		errno = EPROTO;
		return (-1);
	}
	while (len > 0) {
		if ((rc = take_head(r, &p, &len)) == -1)
			goto err0;
		if (rc == 0)
			break;
		/* What is there in one piece is used where it is. */
		if (r->have == OBJREC_HEAD && len >= r->rec.len) {
			stored = p;
			p += r->rec.len;
			len -= r->rec.len;
		} else if (gather(r, OBJREC_HEAD + r->rec.len, &p, &len))
			stored = r->in + OBJREC_HEAD;
		else
			break;
		r->have = 0;
		if (deliver(r, stored) == -1)
			goto err0;
	}
	return (0);

err0:
	r->broken = 1;
	return (-1);
}

int
objrec_reader_clean(const struct objrec_reader *r)
{
	return (r->have == 0 && !r->broken);
}
