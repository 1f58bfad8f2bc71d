/*
 * PUT: a memfd of records, each verified against its id, into the open pack.
 * Bytes that somebody else compressed are refused, not decompressed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "fault.h"
#include "gc.h"
#include "handlers.h"
#include "index.h"
#include "index_job.h"
#include "lease.h"
#include "lib/hash_many.h"
#include "lib/io.h"
#include "lib/memfd.h"
#include "lib/objrec.h"
#include "pack.h"
#include "pending.h"
#include "proto/limits.h"
#include "store.h"
#include "usage.h"

/* Room is made for so much more than a request needs, for those behind it. */
#define SLACK_PERCENT   30

/* Records are hashed so many at a time, while their bytes fit into a cache. */
#define WINDOW          HASH_MANY_MAX
#define WINDOW_BYTES    (512U * 1024)

/* One request, all of whose objects are kept or none. */
struct put {
	struct store *st;
	uint32_t tenant;
	uint32_t wanted;        /* records announced */
	uint32_t seen;
	uint32_t added;
	uint64_t bytes;
	const struct store_quota *quota;
	struct ix_usage use;    /* before this request */
	int over;               /* it was refused for a quota */
	struct err fault;
};

/* A request that waits until room has been made for it. */
struct parked {
	struct ask ask;         /* its peer is held */
	uint32_t wanted;
	int fd;
};

/* Some records that follow one another, and what their bytes are. */
struct window {
	struct objrec recs[WINDOW];
	struct obj_bytes bytes[WINDOW];
	size_t n;
	size_t len;             /* of all in the request, headers included */
};

/* The id is the store's own, and what the bytes are is checked before. */
static int
verify(struct put *p, const struct objrec *rec, const struct obj_ref *is,
    const uint8_t *raw)
{
	const char *why;

	if (rec->codec != OBJREC_RAW) {
		fault_set(&p->fault, ERR_INVALID, &rec->ref,
		    "an object came compressed: send its plain bytes");
		return (-1);
	}
	if (!obj_ref_equal(is, &rec->ref)) {
		fault_set(&p->fault, ERR_DAMAGED, &rec->ref,
		    "the bytes of an object do not match its id: send it "
		    "again");
		return (-1);
	}
	if (obj_check(rec->ref.kind, raw, rec->raw_len, &why) == -1) {
		fault_set(&p->fault, ERR_INVALID, &rec->ref,
		    "an object is not in its one valid form: %s", why);
		return (-1);
	}
	return (0);
}

static int
add(struct put *p, const struct objrec *rec, const uint8_t *raw)
{
	struct ix_object o = { .tenant = p->tenant, .ref = rec->ref };

	if (store_find(p->st, p->tenant, &rec->ref, &o) == 0) {
		gc_live(p->st, &o);
		if (lease_touch(p->st, &o) == -1)
			goto err0;
		return (0);
	}
	if (errno != ENOENT)
		goto err0;
	if (usage_admit(p->quota, &p->use, p->added + 1,
	    p->bytes + rec->raw_len, &p->fault) == -1) {
		p->over = 1;
		return (-1);
	}
	o.flags = 0;
	o.epoch = 0;
	o.stamp = stamp_now();
	if (pack_append(p->st->packs, p->tenant, &rec->ref, raw, rec->raw_len,
	    &o.loc) == -1 || pending_add(p->st->pending, &o) == -1)
		goto err0;
	p->added++;
	p->bytes += rec->raw_len;
	return (0);

err0:
	fault_errno(&p->fault, errno, &rec->ref);
	return (-1);
}

static int
malformed(struct put *p)
{
	fault_set(&p->fault, ERR_INVALID, NULL,
	    "record %u of the objects is malformed, or there are not as many "
	    "as was said", p->seen + 1);
	return (-1);
}

/*
 * Find the next records and compute what they are.  There are none in the
 * window when the first one is malformed.  0, or -1 when they cannot be hashed.
 */
static int
window_fill(struct window *w, const uint8_t *buf, size_t len, size_t most)
{
	struct objrec *rec;
	size_t left = len;

	for (w->n = 0; left >= OBJREC_HEAD && w->n < WINDOW && w->n < most &&
	    (len - left) < WINDOW_BYTES; w->n++) {
		rec = &w->recs[w->n];
		if (objrec_decode(buf, rec) == -1 ||
		    rec->len > left - OBJREC_HEAD)
			break;
		buf += OBJREC_HEAD;
		w->bytes[w->n] = (struct obj_bytes){
			.kind = rec->ref.kind,
			.buf = buf,
			.len = rec->len
		};
		buf += rec->len;
		left -= OBJREC_HEAD + rec->len;
	}
	w->len = len - left;
	return (obj_refs_of(w->bytes, w->n));
}

static int
window_add(struct put *p, const struct window *w)
{
	size_t i;

	for (i = 0; i < w->n; i++) {
		if (verify(p, &w->recs[i], &w->bytes[i].ref,
		    w->bytes[i].buf) == -1 ||
		    add(p, &w->recs[i], w->bytes[i].buf) == -1)
			return (-1);
		p->seen++;
	}
	return (0);
}

/* Go through the records; with p->fault set on -1. */
static int
records(struct put *p, const uint8_t *buf, size_t len)
{
	struct window w;

	while (len > 0) {
		if (window_fill(&w, buf, len, p->wanted - p->seen) == -1 ||
		    w.n == 0)
			return (malformed(p));
		if (window_add(p, &w) == -1)
			return (-1);
		buf += w.len;
		len -= w.len;
	}
	return (p->seen == p->wanted ? 0 : malformed(p));
}

/* Take what the memfd holds, whole, or put everything back as it was. */
static int
take(struct put *p, const uint8_t *buf, size_t len)
{
	struct store *st = p->st;
	uint64_t end = packs_end(st->packs);
	size_t count = pending_count(st->pending), i;

	p->quota = usage_quota(st, p->tenant);
	if (ix_read(st->ix) == -1 ||
	    usage_get(st, p->tenant, &p->use) == -1) {
		fault_errno(&p->fault, errno, NULL);
		ix_read_end(st->ix);
		return (-1);
	}
	if (records(p, buf, len) == -1)
		goto err0;
	/* Now, so that a full disk is told to the one who fills it. */
	if (pack_write(st->packs) == -1) {
		fault_errno(&p->fault, errno, NULL);
		goto err0;
	}
	ix_read_end(st->ix);
	for (i = count; i < pending_count(st->pending); i++)
		gc_live(st, pending_at(st->pending, i));
	usage_pending(st, p->tenant, p->added, p->bytes);
	return (0);

err0:
	ix_read_end(st->ix);
	pending_cut(st->pending, count);
	pack_rewind(st->packs, end);
	return (-1);
}

/* May anything be put at all? */
static int
admit(struct put *p, const struct peer *peer)
{
	uint64_t reserve = store_disk_reserve(p->st);
	uint64_t left = store_disk_free(p->st);

	if (left < 4 * reserve)
		gc_disk(p->st, 4 * reserve - left);
	if ((peer->rights & STORE_RIGHT_RESULTS) != 0)
		reserve /= 4;
	else if (ix_full(p->st->ix)) {
		fault_errno(&p->fault, ENOBUFS, NULL);
		return (-1);
	}
	if (left < reserve) {
		fault_errno(&p->fault, ENOSPC, NULL);
		return (-1);
	}
	if (batch_room(p->st->batch) == -1) {
		fault_errno(&p->fault, errno, NULL);
		return (-1);
	}
	return (0);
}

static void put_again(void *);

/*
 * A quota is in the way, and perhaps much of what uses it is of no use: then
 * the request waits for a collection.  0, or -1 when it is to be refused.
 */
static int
park(const struct ask *a, const struct put *p, size_t len, int *fds)
{
	uint64_t need = len + p->quota->bytes / 100 * SLACK_PERCENT;
	struct parked *w;

	if ((w = calloc(1, sizeof(*w))) == NULL)
		return (-1);
	w->ask = *a;
	w->wanted = p->wanted;
	w->fd = fds[0];
	if (gc_wait(p->st, p->tenant, need, put_again, w) == -1) {
		free(w);
		return (-1);
	}
	peer_hold(a->peer);
	a->peer->waiting++;
	fds[0] = -1;
	return (0);
}

static void
put(const struct ask *a, uint32_t wanted, int *fds)
{
	struct put p = {
		.st = a->peer->st,
		.tenant = a->peer->tenant,
		.wanted = wanted
	};
	struct store_msg ok = { 0 };
	const uint8_t *buf;
	size_t len;

	if (memfd_map(fds[0], LIMIT_PUT_BYTES, &buf, &len) == -1) {
		if (errno == EPROTO) {
			peer_close(a->peer, "objects not in a sealed memfd");
			return;
		}
		fault_errno(&p.fault, errno, NULL);
		ask_err(a, &p.fault);
		return;
	}
	if (lease_begin(a->peer) == -1)
		fault_errno(&p.fault, ENOMEM, NULL);
	else if (admit(&p, a->peer) == 0 && take(&p, buf, len) == 0) {
		ok.u.ok.objects = p.added;
		ok.u.ok.bytes = p.bytes;
		ask_ok(a, &ok, -1);
		batch_touch(p.st->batch);
		gc_consider(p.st, p.tenant);
	}
	if (p.fault.code != ERR_NONE &&
	    (!p.over || park(a, &p, len, fds) == -1))
		ask_err(a, &p.fault);
	memfd_unmap(buf, len);
}

static void
put_again(void *cookie)
{
	struct parked *w = cookie;
	struct peer *p = w->ask.peer;

	p->waiting--;
	/* Nobody is left to hear it, and nothing was promised. */
	if (p->chan != NULL)
		put(&w->ask, w->wanted, &w->fd);
	io_close(&w->fd);
	peer_release(p);
	free(w);
}

void
on_put(const struct ask *a, const struct store_msg *m, int *fds)
{
	put(a, m->u.put.objects, fds);
}
