/*
 * GET: objects from packs into a sealed memfd.  Writes nothing to disk.
 */
#include <errno.h>
#include <stdlib.h>

#include "fault.h"
#include "handlers.h"
#include "index.h"
#include "lib/io.h"
#include "lib/memfd.h"
#include "lib/objrec.h"
#include "lib/size.h"
#include "proto/limits.h"
#include "quarantine.h"
#include "store.h"

#define RECORD_MAX      (OBJREC_HEAD + OBJ_MAX)
#define STAGE           (2 * RECORD_MAX)

/*
 * The objects that were asked for, up to the first that is missing, damaged
 * or does not fit.  Asked for again, that one is the first.
 */
struct get {
	struct store *st;
	uint32_t tenant;
	struct ix_object *objs;
	size_t n;
	size_t len;             /* of their records */
	struct err fault;       /* why there is not even one, if it is one */
};

/* Find what can be served.  0, or -1 with g->fault. */
static int
find(struct get *g, const uint8_t *refs, size_t n)
{
	struct obj_ref ref;
	size_t len;
	int err;

	for (; g->n < n; refs += OBJ_REF_LEN) {
		if (obj_ref_decode(refs, &ref) == -1 || ref.kind == OBJ_NONE) {
			fault_set(&g->fault, ERR_INVALID, NULL,
			    "reference %zu is malformed", g->n + 1);
			return (-1);
		}
		if (store_find(g->st, g->tenant, &ref,
		    &g->objs[g->n]) == -1) {
			err = errno;
			if (err == ENOENT && g->n == 0 &&
			    quarantine_is(g->st, g->tenant, &ref))
				err = EBADMSG;
			if (err == ENOENT)
				break;
			fault_errno(&g->fault, err, &ref);
			return (-1);
		}
		len = OBJREC_HEAD + g->objs[g->n].loc.raw_len;
		if (len > LIMIT_GET_BYTES - g->len)
			break;
		g->len += len;
		g->n++;
	}
	return (0);
}

/*
 * Write the records, a buffer at a time that is small enough to stay in the
 * processor's cache between reading, hashing and writing.  0, or -1 with
 * g->fault when there is not even one.
 */
static int
fill(struct get *g, int fd)
{
	struct objrec rec = { .codec = OBJREC_RAW };
	uint8_t stage[STAGE];
	size_t i, at = 0;

	for (i = 0; i < g->n; i++) {
		rec.ref = g->objs[i].ref;
		rec.raw_len = rec.len = g->objs[i].loc.raw_len;
		if (at > STAGE - RECORD_MAX) {
			if (io_write(fd, stage, at) == -1)
				goto err0;
			at = 0;
		}
		if (store_read(g->st, &g->objs[i],
		    stage + at + OBJREC_HEAD) == -1) {
			if (i == 0)
				goto err0;
			break;
		}
		objrec_encode(&rec, stage + at);
		at += OBJREC_HEAD + rec.len;
	}
	if (io_write(fd, stage, at) == -1)
		goto err0;
	g->n = i;
	return (0);

err0:
	fault_errno(&g->fault, errno, errno == EBADMSG ? &rec.ref : NULL);
	return (-1);
}

/* A sealed memfd of what was found, or -1 with g->fault. */
static int
serve(struct get *g)
{
	uint8_t *map;
	int fd;

	/* Written and not mapped: a page fault for each page costs more. */
	if ((fd = memfd_open("objects", 0, &map)) == -1)
		goto err0;
	if (fill(g, fd) == -1)
		goto err2;
	if (memfd_seal(fd, map, 0, 0) == -1)
		goto err1;
	return (fd);

err2:
	io_close(&fd);
	return (-1);
err1:
	io_close(&fd);
err0:
	fault_errno(&g->fault, errno, NULL);
	return (-1);
}

static void
answer(const struct ask *a, struct get *g, const uint8_t *refs, size_t n)
{
	struct store_msg ok = { 0 };
	int fd = -1, rc;

	if (ix_read(g->st->ix) == -1) {
		fault_errno(&g->fault, errno, NULL);
		goto err0;
	}
	rc = find(g, refs, n);
	ix_read_end(g->st->ix);
	if (rc == -1)
		goto err0;
	if (g->n > 0 && (fd = serve(g)) == -1)
		goto err0;
	ok.u.ok.objects = (uint32_t)g->n;
	ask_ok(a, &ok, fd);
	return;

err0:
	ask_err(a, &g->fault);
}

void
on_get(const struct ask *a, const struct store_msg *m, int *fds)
{
	struct get g = { .st = a->peer->st, .tenant = a->peer->tenant };
	const uint8_t *refs;
	size_t len, n = m->u.get.refs;

	if (memfd_map(fds[0], LIMIT_GET_OBJECTS * OBJ_REF_LEN, &refs,
	    &len) == -1) {
		if (errno == EPROTO) {
			peer_close(a->peer, "references not in a sealed "
			    "memfd");
			return;
		}
		fault_errno(&g.fault, errno, NULL);
		ask_err(a, &g.fault);
		return;
	}
	if (len != n * OBJ_REF_LEN) {
		fault_set(&g.fault, ERR_INVALID, NULL,
		    "there are not as many references as was said");
		ask_err(a, &g.fault);
	} else if (NEW_ARRAY(g.objs, n) == -1) {
		fault_errno(&g.fault, ENOMEM, NULL);
		ask_err(a, &g.fault);
	} else
		answer(a, &g, refs, n);
	free(g.objs);
	memfd_unmap(refs, len);
}

void
get_first(struct peer *p, const struct obj_ref *ref)
{
	const struct ask a = { .peer = p, .id = STORE_FIRST_ID,
	    .op = STORE_GET };
	struct ix_object obj;
	struct get g = { .st = p->st, .tenant = p->tenant, .objs = &obj };
	uint8_t list[OBJ_REF_LEN];

	obj_ref_encode(ref, list);
	answer(&a, &g, list, 1);
}
