/*
 * What the journal tells, done again: jobs, references, receipts.  Then what
 * each tenant uses.  Reads packs; writes the new index.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "index.h"
#include "index_job.h"
#include "journal.h"
#include "journal_fmt.h"
#include "lib/le.h"
#include "lib/log.h"
#include "lib/size.h"
#include "pack.h"
#include "quarantine.h"
#include "rebuild_internal.h"
#include "store.h"

#define TXN     256             /* entries done again in one transaction */
#define ROOM    (64ULL * 1024 * 1024)

static int
by_order(const void *a, const void *b)
{
	const struct rebuild_entry *x = a, *y = b;

	if (x->type != y->type)
		return (x->type < y->type ? -1 : 1);
	if (x->order != y->order)
		return (x->order < y->order ? -1 : 1);
	if (x->what != y->what)
		return (x->what < y->what ? -1 : 1);
	if (x->pack != y->pack)
		return (x->pack < y->pack ? -1 : 1);
	return (x->off < y->off ? -1 : x->off > y->off);
}

/* The publication of this job is not to be found: it gets an empty one. */
static int
stand_in(struct ix *ix, const struct journal_entry *e)
{
	uint8_t idem[IX_IDEM_LEN];
	struct ix_publish p = {
		.job = e->job,
		.idem = idem,
		.record = e->u.settle.record,
		.record_len = e->u.settle.record_len
	};

	randombytes_buf(idem, sizeof(idem));
	return (ix_job_publish(ix, e->tenant, &p));
}

static int
known(struct rebuild *r, const struct journal_entry *e, struct ix_job *job)
{
	if (ix_job_get(r->st->ix, e->tenant, e->job, job) == 0)
		return (1);
	return (errno == ENOENT ? 0 : -1);
}

static int
again_publish(struct rebuild *r, const struct journal_entry *e)
{
	struct ix_job job;
	int rc;

	if ((rc = known(r, e, &job)) != 0)
		return (rc == 1 ? 0 : -1);
	r->jobs++;
	return (ix_job_publish(r->st->ix, e->tenant, &e->u.publish));
}

static int
again_restate(struct rebuild *r, const struct journal_entry *e)
{
	struct ix_job job;
	int rc;

	if ((rc = known(r, e, &job)) != 1 || job.settled)
		return (rc == -1 ? -1 : 0);
	return (ix_job_restate(r->st->ix, e->tenant, e->job,
	    e->u.publish.record, e->u.publish.record_len));
}

static int
again_settle(struct rebuild *r, const struct journal_entry *e)
{
	struct ix_settle s = e->u.settle;
	struct ix_job job;
	int rc;

	s.settled_us = e->settled_us;
	s.log_bytes = e->log_bytes;
	if ((rc = known(r, e, &job)) == -1 || (rc == 1 && job.settled))
		return (rc == -1 ? -1 : 0);
	if (rc == 0) {
		r->jobs++;
		if (++r->lost_refs <= REBUILD_LINES)
			log_warnx("job %s of tenant %" PRIu32 ": how it was "
			    "submitted is lost, its end is known", e->job,
			    e->tenant);
		if (stand_in(r->st->ix, e) == -1)
			return (-1);
	}
	return (ix_job_settle(r->st->ix, e->tenant, &s));
}

static int
by_job(const void *a, const void *b)
{
	const struct rebuild_gone *x = a, *y = b;

	if (x->tenant != y->tenant)
		return (x->tenant < y->tenant ? -1 : 1);
	return (strcmp(x->job, y->job));
}

/* Ids of jobs are used once: one that was forgotten never comes back. */
static int
is_gone(const struct rebuild *r, const struct journal_entry *e)
{
	struct rebuild_gone g = { .tenant = e->tenant };

	memcpy(g.job, e->job, sizeof(g.job));
	return (r->ngone > 0 && bsearch(&g, r->gone, r->ngone,
	    sizeof(*r->gone), by_job) != NULL);
}

/* Of a job that is gone only this is left: the chain of receipts goes on. */
static int
head_only(struct rebuild *r, const struct journal_entry *e)
{
	struct ix_usage u;

	if (e->type != JOURNAL_SETTLE)
		return (0);
	if (ix_usage_get(r->st->ix, e->tenant, &u) == -1)
		return (-1);
	u.sequence = e->u.settle.sequence;
	memcpy(u.digest, e->digest, sizeof(u.digest));
	return (ix_usage_put(r->st->ix, e->tenant, &u));
}

static int (*const again[])(struct rebuild *, const struct journal_entry *) = {
	[JOURNAL_PUBLISH] = again_publish,
	[JOURNAL_RESTATE] = again_restate,
	[JOURNAL_SETTLE] = again_settle,
};

/* Read an entry's record once more, and do what it says. */
static int
one(struct rebuild *r, const struct rebuild_entry *at, uint8_t *rec)
{
	struct journal_entry e;
	uint8_t head[PACK_REC_HEAD];
	ssize_t n, len;

	n = pack_pread(r->st->packs, at->pack, head, sizeof(head), at->off);
	if (n != (ssize_t)sizeof(head))
		goto err0;
	len = (ssize_t)pack_rec_len(head);
	if (len > OBJ_MAX || (size_t)len <= at->at)
		goto err0;
	n = pack_pread(r->st->packs, at->pack, rec, (size_t)len,
	    at->off + PACK_REC_HEAD);
	if (n != len || journal_entry_decode(rec + at->at,
	    (size_t)len - at->at, &e) == 0)
		goto err0;
	if (e.type == JOURNAL_FORGET || is_gone(r, &e))
		return (head_only(r, &e));
	return (again[e.type](r, &e));

err0:
	/* It was right a moment ago: the disk does not give it again. */
	r->lost_entries++;
	log_warnx("pack %" PRIu32 ", offset %" PRIu32 ": changes of jobs are "
	    "lost, their record cannot be read again", at->pack, at->off);
	return (0);
}

/* Which entries count: of those that are the same, the last. */
static size_t
order(struct rebuild *r)
{
	struct rebuild_entry *e = r->entries;
	size_t i, n = 0;

	if (r->nentries == 0)
		return (0);
	qsort(e, r->nentries, sizeof(*e), by_order);
	for (i = 0; i < r->nentries; i++)
		if (i + 1 == r->nentries || e[i].type != e[i + 1].type ||
		    e[i].order != e[i + 1].order ||
		    e[i].what != e[i + 1].what)
			e[n++] = e[i];
	return (n);
}

static int
txn(struct rebuild *r, size_t from, size_t to, uint8_t *rec)
{
	struct ix *ix = r->st->ix;
	size_t i;

	if (ix_write(ix, ROOM) == -1)
		return (-1);
	for (i = from; i < to; i++)
		if (one(r, &r->entries[i], rec) == -1)
			goto err0;
	if (journal_serial_put(ix, r->serial) == -1)
		goto err0;
	return (ix_commit(ix));

err0:
	ix_abort(ix);
	return (-1);
}

/* Damaged objects of which there is no other copy are in quarantine. */
static int
quarantine(struct rebuild *r)
{
	struct ix *ix = r->st->ix;
	struct ix_object was;
	char hex[2 * OBJ_ID_LEN + 1];
	size_t i, n = 0;

	if (ix_write(ix, ROOM) == -1)
		return (-1);
	for (i = 0; i < r->nbad; i++) {
		if (ix_object_get(ix, r->bad[i].tenant, &r->bad[i].ref,
		    &was) == 0)
			continue;
		if (errno != ENOENT || quarantine_put(ix, &r->bad[i]) == -1)
			goto err0;
		obj_id_hex(r->bad[i].ref.id, hex);
		if (++n <= REBUILD_LINES)
			log_warnx("object %s of tenant %" PRIu32 " is damaged "
			    "(pack %" PRIu32 ", offset %" PRIu32 ")", hex,
			    r->bad[i].tenant, r->bad[i].loc.pack,
			    r->bad[i].loc.off);
	}
	r->nbad = n;
	return (ix_commit(ix));

err0:
	ix_abort(ix);
	return (-1);
}

int
rebuild_jobs(struct rebuild *r)
{
	size_t n = order(r), at, to;
	uint8_t *rec;
	int rc = 0;

	if (NEW_ARRAY(rec, OBJ_MAX) == -1)
		goto err0;
	if (r->ngone > 0)
		qsort(r->gone, r->ngone, sizeof(*r->gone), by_job);
	for (at = 0; at < n && rc == 0; at = to) {
		to = n - at > TXN ? at + TXN : n;
		rc = txn(r, at, to, rec);
	}
	free(rec);
	if (rc == 0 && quarantine(r) == 0)
		return (0);
err0:
	log_warn("jobs cannot be restored");
	return (-1);
}

struct tally {
	struct rebuild *r;
	struct ix_object last;
	size_t left;            /* of this step */
	uint64_t objects, bytes, stored;
	uint32_t tenant;
};

static int
on_object(void *cookie, const struct ix_object *o)
{
	struct tally *t = cookie;

	if (t->objects > 0 && o->tenant != t->tenant)
		return (1);
	t->tenant = o->tenant;
	t->objects++;
	t->bytes += o->loc.raw_len;
	t->stored += PACK_REC_HEAD + o->loc.len;
	t->last = *o;
	return (0);
}

/* One tenant after the other; nobody else writes. */
int
rebuild_usage(struct rebuild *r)
{
	struct ix *ix = r->st->ix;
	struct tally t = { .r = r };
	int first = 1, rc = 1;

	while (rc == 1) {
		t.objects = t.bytes = t.stored = 0;
		if (ix_write(ix, ROOM) == -1)
			goto err0;
		rc = ix_object_scan_all(ix, first ? NULL : &t.last, on_object,
		    &t);
		first = 0;
		if (rc == -1 || (t.objects > 0 && ix_usage_add(ix, t.tenant,
		    t.objects, t.bytes, t.stored) == -1)) {
			ix_abort(ix);
			goto err0;
		}
		if (ix_commit(ix) == -1)
			goto err0;
		r->objects += t.objects;
	}
	return (0);

err0:
	log_warn("what tenants use cannot be counted");
	return (-1);
}
