/*
 * One GET to the store: references out, objects back, both in memfds.  The
 * client's GET is in get.c.
 */
#include <errno.h>
#include <string.h>

#include "fetch.h"
#include "lib/memfd.h"
#include "lib/size.h"

#define MAP_MAX (LIMIT_GET_BYTES + LIMIT_GET_OBJECTS * OBJREC_HEAD)

int
fetch_refs(struct store_client *sc, const uint8_t *refs, size_t n,
    store_fn *fn, void *cookie)
{
	struct store_msg m;
	int fd;

	if ((fd = memfd_make("refs", refs, n * OBJ_REF_LEN)) == -1)
		return (-1);
	memset(&m, 0, sizeof(m));
	m.op = STORE_GET;
	m.u.get.refs = (uint32_t)n;
	store_request(sc, &m, fd, fn, cookie);
	return (0);
}

int
fetched_take(struct fetched *f, const struct store_msg *m, int fd)
{
	memset(f, 0, sizeof(*f));
	f->count = f->left = m->u.ok.objects;
	if (f->count == 0)
		return (0);
	if (fd == -1) {
		errno = EPROTO;
		return (-1);
	}
	return (memfd_map(fd, MAP_MAX, &f->map, &f->len));
}

int
fetched_next(struct fetched *f, struct objrec *rec, const uint8_t **raw)
{
	if (f->left == 0) {
		if (f->at != f->len)
			goto err0;
		return (0);
	}
	if (f->len - f->at < OBJREC_HEAD ||
	    objrec_decode(f->map + f->at, rec) == -1 ||
	    rec->codec != OBJREC_RAW ||
	    f->len - f->at - OBJREC_HEAD < rec->len)
		goto err0;
	*raw = f->map + f->at + OBJREC_HEAD;
	f->at += OBJREC_HEAD + rec->len;
	f->left--;
	return (1);

err0:
	errno = EPROTO;
	return (-1);
}

void
fetched_done(struct fetched *f)
{
	memfd_unmap(f->map, f->len);
	memset(f, 0, sizeof(*f));
}
