/*
 * The group commit: flushes the pack, commits the index, answers everybody.
 * What may be written was decided in publish.c; how, is in pack.c and index*.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "batch.h"
#include "fault.h"
#include "index.h"
#include "index_pack.h"
#include "journal.h"
#include "lib/crash.h"
#include "lease.h"
#include "lib/io.h"
#include "lib/log.h"
#include "pack.h"
#include "pending.h"
#include "quarantine.h"
#include "rewrite.h"
#include "store.h"
#include "upkeep.h"
#include "walk.h"

/* What a commit may take of the map for each thing in it, with room. */
#define ROOM_BASE       (1024 * 1024)
#define ROOM_OBJECT     (2 * 4096)
#define ROOM_REQUEST    (24 * 4096)

STAILQ_HEAD(req_list, job_req);

/*
 * Invariants, true whenever the event loop runs:
 *  1. The event is active when there are requests, or pending objects are due.
 *  2. The timer is pending when there are pending objects.
 *  3. Nothing of a request is in the index before its barrier, and either all
 *     of the batch is or nothing: a request that cannot be written was refused
 *     before it came here.
 */
struct batch {
	struct store *st;
	struct req_list reqs;
	size_t count;
	uint64_t since;         /* when the first one came */
	struct event *ev;
	struct event *timer;
	uint64_t held;          /* since when objects are pending */
};

void
job_req_free(struct job_req *r)
{
	if (r == NULL)
		return;
	walk_free(r->walk);
	free(r->record);
	if (r->ask.peer != NULL)
		peer_release(r->ask.peer);
	free(r);
}

static void
on_event(evutil_socket_t fd, short what, void *cookie)
{
	(void)fd;
	(void)what;
	(void)batch_run(cookie);
}

struct batch *
batch_new(struct store *st)
{
	struct batch *b;

	if ((b = calloc(1, sizeof(*b))) == NULL)
		goto err0;
	b->st = st;
	STAILQ_INIT(&b->reqs);
	if ((b->ev = evtimer_new(st->base, on_event, b)) == NULL)
		goto err1;
	if ((b->timer = evtimer_new(st->base, on_event, b)) == NULL)
		goto err2;
	(void)event_priority_set(b->ev, STORE_PRIO_LATER);
	(void)event_priority_set(b->timer, STORE_PRIO_LATER);
	return (b);

err2:
	event_free(b->ev);
err1:
	free(b);
err0:
	return (NULL);
}

void
batch_free(struct batch *b)
{
	struct job_req *r;

	if (b == NULL)
		return;
	while ((r = STAILQ_FIRST(&b->reqs)) != NULL) {
		STAILQ_REMOVE_HEAD(&b->reqs, next);
		job_req_free(r);
	}
	event_free(b->ev);
	event_free(b->timer);
	free(b);
}

void
batch_take(struct batch *b, struct job_req *r)
{
	uint64_t now = io_mono_us();

	if (b->count == 0)
		b->since = now;
	b->count++;
	STAILQ_INSERT_TAIL(&b->reqs, r, next);
	if (b->count >= BATCH_REQUESTS || now - b->since >= BATCH_AGE_US)
		(void)batch_run(b);
	else
		event_active(b->ev, EV_TIMEOUT, 0);
}

void
batch_touch(struct batch *b)
{
	static const struct timeval idle = { 0, BATCH_IDLE_US };
	uint64_t now = io_mono_us();

	/* A slow upload that never pauses is not to be lost with the store. */
	if (!evtimer_pending(b->timer, NULL))
		b->held = now;
	if (pending_due(b->st->pending) || now - b->held >= BATCH_HOLD_US)
		event_active(b->ev, EV_TIMEOUT, 0);
	else if (event_add(b->timer, &idle) == -1)
		(void)batch_run(b);
}

int
batch_room(struct batch *b)
{
	struct store *st = b->st;

	/* What was found damaged has to go before it can be put anew. */
	if (!pending_due(st->pending) && !packs_full(st->packs) &&
	    !quarantine_due(st))
		return (0);
	if (batch_run(b) == -1)
		return (-1);
	if (packs_full(st->packs)) {
		errno = ENOSPC;
		return (-1);
	}
	return (0);
}

const struct job_req *
batch_publish_of(const struct batch *b, uint32_t tenant, const uint8_t *idem)
{
	const struct job_req *r;

	STAILQ_FOREACH(r, &b->reqs, next) {
		if (r->ask.op == STORE_PUBLISH &&
		    r->state == REQ_WRITE && r->tenant == tenant &&
		    memcmp(r->idem, idem, IX_IDEM_LEN) == 0)
			return (r);
	}
	return (NULL);
}

const struct job_req *
batch_job_of(const struct batch *b, uint32_t tenant, uint8_t op,
    const char *job)
{
	const struct job_req *r;

	STAILQ_FOREACH(r, &b->reqs, next) {
		if (r->ask.op == op && r->state == REQ_WRITE &&
		    r->tenant == tenant &&
		    strcmp(r->job, job) == 0)
			return (r);
	}
	return (NULL);
}

uint64_t
batch_head(const struct batch *b, uint32_t tenant)
{
	const struct job_req *r;
	uint64_t head = 0;

	STAILQ_FOREACH(r, &b->reqs, next) {
		if (r->ask.op == STORE_SETTLE &&
		    r->state == REQ_WRITE && r->tenant == tenant)
			head = r->sequence;
	}
	return (head);
}

/* Entries of all pending objects, and what they add to each tenant's use. */
static int
write_objects(struct store *st)
{
	struct ix_object *const *objs = pending_sorted(st->pending);
	size_t n = pending_count(st->pending), i;
	uint64_t count = 0, bytes = 0, stored = 0;

	if (ix_objects_put(st->ix, objs, n) == -1)
		return (-1);
	for (i = 0; i < n; i++) {
		count++;
		bytes += objs[i]->loc.raw_len;
		stored += PACK_REC_HEAD + objs[i]->loc.len;
		if (i + 1 < n && objs[i + 1]->tenant == objs[i]->tenant)
			continue;
		if (ix_usage_add(st->ix, objs[i]->tenant, count, bytes,
		    stored) == -1)
			return (-1);
		count = bytes = stored = 0;
	}
	return (0);
}

/* How far the index counts on the open pack from now on. */
static int
write_pack(struct store *st)
{
	struct ix_pack pack = store_open_pack(st);
	int64_t live = (int64_t)pending_bytes(st->pending);

	if (packs_unsynced(st->packs) > 0)
		return (0);
	if (ix_pack_put(st->ix, &pack) == -1)
		return (-1);
	return (ix_pack_live(st->ix, pack.number, live));
}

/* What a walk looked into is complete; the pending ones bear the mark. */
static int
write_marks(struct store *st, const struct job_req *r)
{
	const struct obj_ref *ref;
	size_t i;

	for (i = 0; i < walk_nodes(r->walk); i++) {
		ref = walk_node_get(r->walk, i);
		if (pending_find(st->pending, r->tenant, ref) == NULL &&
		    ix_object_mark(st->ix, r->tenant, ref,
		    walk_epoch(r->walk), stamp_now()) == -1)
			return (-1);
	}
	return (0);
}

static int
write_req(struct store *st, const struct job_req *r)
{
	const struct ix_publish p = {
		.job = r->job,
		.idem = r->idem,
		.root = r->root,
		.spec = r->second,
		.record = r->record,
		.record_len = r->record_len
	};
	const struct ix_settle s = {
		.job = r->job,
		.sequence = r->sequence,
		.digest = r->digest,
		.root = r->root,
		.list = r->second,
		.record = r->record,
		.record_len = r->record_len,
		.receipt = r->record + r->record_len,
		.receipt_len = r->receipt_len,
		.settled_us = io_real_us(),
		.log_bytes = r->log_bytes
	};

	if (r->state != REQ_WRITE)
		return (0);
	if (r->restate)
		return (ix_job_restate(st->ix, r->tenant, r->job, r->record,
		    r->record_len));
	if (write_marks(st, r) == -1)
		return (-1);
	return (r->ask.op == STORE_PUBLISH ?
	    ix_job_publish(st->ix, r->tenant, &p) :
	    ix_job_settle(st->ix, r->tenant, &s));
}

static uint64_t
room(const struct batch *b)
{
	const struct job_req *r;
	uint64_t objects = pending_count(b->st->pending);

	STAILQ_FOREACH(r, &b->reqs, next) {
		if (r->state == REQ_WRITE)
			objects += walk_nodes(r->walk);
	}
	return (ROOM_BASE + objects * ROOM_OBJECT + b->count * ROOM_REQUEST);
}

static void answer_all(struct batch *, int);

/* The publication barrier. */
static int
commit(struct batch *b)
{
	struct store *st = b->st;
	const struct job_req *r;
	int err;

	if (ix_write(st->ix, room(b)) == -1)
		return (-1);
	if (quarantine_write(st) == -1 || write_objects(st) == -1 ||
	    write_pack(st) == -1 || lease_write(st) == -1)
		goto err0;
	STAILQ_FOREACH(r, &b->reqs, next) {
		if (write_req(st, r) == -1)
			goto err0;
	}
	if (quarantine_rest(st) == -1 || journal_list(st->journal) == -1)
		goto err0;
	CRASH_POINT("batch-entered");
	if (MUTANT("answer-early"))
		answer_all(b, 0);
	return (ix_commit(st->ix));

err0:
	err = errno;
	ix_abort(st->ix);
	errno = err;
	return (-1);
}

/* What uploads had leased for these jobs is referenced now. */
static void
published(struct batch *b)
{
	const struct job_req *r;

	STAILQ_FOREACH(r, &b->reqs, next) {
		if (r->state == REQ_WRITE && r->ask.op == STORE_PUBLISH)
			lease_published(b->st, r->tenant, &r->root);
	}
}

/*
 * Both barriers, in this order.  A flush of the pack that failed takes the
 * pending objects with it; a commit that failed leaves them pending, in the
 * pack and flushed, for the next one.
 */
static int
barrier(struct batch *b)
{
	struct store *st = b->st;
	const struct job_req *r;
	int err;

	journal_begin(st->journal);
	STAILQ_FOREACH(r, &b->reqs, next) {
		if (r->state != REQ_WRITE)
			continue;
		walk_mark_pending(r->walk);
		if (journal_add(st->journal, r) == -1) {
			journal_end(st->journal, 0);
			return (-1);
		}
	}
	if (journal_write(st->journal, pending_count(st->pending) > 0) == -1) {
		err = errno;
		journal_end(st->journal, 0);
		pending_cut(st->pending, 0);
		st->drops++;
		errno = err;
		return (-1);
	}
	if (commit(b) == 0)
		goto done;
	if (errno == ENOBUFS && ix_grow(st->ix) == 0 && commit(b) == 0)
		goto done;
	if (errno == ENOTRECOVERABLE)
		st->broken = 1;
	err = errno;
	journal_end(st->journal, 0);
	errno = err;
	return (-1);

done:
	journal_end(st->journal, 1);
	CRASH_POINT("batch-committed");
	pending_cut(st->pending, 0);
	pack_committed(st->packs);
	quarantine_end(st, 1);
	lease_written(st);
	published(b);
	return (0);
}

static void
answer(struct job_req *r, int err)
{
	struct store_msg m = { 0 };
	struct err e;

	r->ask.peer->waiting--;
	if (r->refusal.code != ERR_NONE) {
		ask_err(&r->ask, &r->refusal);
		return;
	}
	if (err != 0 && r->state != REQ_DONE) {
		fault_errno(&e, err, NULL);
		ask_err(&r->ask, &e);
		return;
	}
	if (r->ask.op == STORE_PUBLISH) {
		m.u.ok.existed = r->existed[0] != '\0';
		memcpy(m.u.ok.job, r->existed[0] != '\0' ? r->existed : r->job,
		    sizeof(m.u.ok.job));
	}
	ask_ok(&r->ask, &m, -1);
}

static void
answer_all(struct batch *b, int err)
{
	struct job_req *r;

	while ((r = STAILQ_FIRST(&b->reqs)) != NULL) {
		STAILQ_REMOVE_HEAD(&b->reqs, next);
		answer(r, err);
		job_req_free(r);
		CRASH_POINT("batch-answered");
	}
	b->count = 0;
}

/* Is there anything for a barrier to make durable? */
static int
wanted(const struct batch *b)
{
	const struct job_req *r;

	if (pending_count(b->st->pending) > 0 || journal_due(b->st->journal) ||
	    quarantine_due(b->st) || lease_due(b->st))
		return (1);
	STAILQ_FOREACH(r, &b->reqs, next) {
		if (r->state == REQ_WRITE)
			return (1);
	}
	return (0);
}

/* What comes after a barrier, for the sake of the next one. */
static void
aftermath(struct batch *b, int err)
{
	static const struct timeval again = { 1, 0 };
	struct store *st = b->st;

	(void)event_del(b->timer);
	if (st->broken) {
		store_broken(st);
		return;
	}
	if (pending_count(st->pending) > 0)
		(void)event_add(b->timer, &again);
	upkeep_touch(st->upkeep);
	/* It shows at the next put when this fails, and is tried again. */
	if (err == 0 && packs_full(st->packs) && store_new_pack(st) == 0)
		rewrite_kick(st);
}

int
batch_run(struct batch *b)
{
	int err = 0;

	if (wanted(b) && barrier(b) == -1)
		err = errno;
	answer_all(b, err);
	aftermath(b, err);
	errno = err;
	return (err == 0 ? 0 : -1);
}
