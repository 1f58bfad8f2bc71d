/*
 * PUBLISH and SETTLE, up to the decision: refused, known already, or a matter
 * for batch.c.  Reads the index; writes nothing itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "fault.h"
#include "handlers.h"
#include "index.h"
#include "lib/size.h"
#include "store.h"
#include "usage.h"
#include "walk.h"
#include "walks.h"

static void
drop(void *cookie)
{
	job_req_free(cookie);
}

/* Copy what both requests have in common.  NULL for want of memory. */
static struct job_req *
req_new(const struct ask *a, uint32_t tenant, const char *job,
    const struct store_bytes *record, const struct store_bytes *receipt)
{
	struct job_req *r;
	size_t len;

	if (size_add(record->len, receipt->len, &len) == -1)
		goto err0;
	if ((r = calloc(1, sizeof(*r))) == NULL)
		goto err0;
	r->ask = *a;
	peer_hold(a->peer);
	r->tenant = tenant;
	memcpy(r->job, job, JOB_ID_LEN);
	if (NEW_ARRAY(r->record, len) == -1 ||
	    (r->walk = walk_new(a->peer->st, tenant, 1)) == NULL)
		goto err1;
	memcpy(r->record, record->p, record->len);
	if (receipt->len > 0)
		memcpy(r->record + record->len, receipt->p, receipt->len);
	r->record_len = record->len;
	r->receipt_len = receipt->len;
	return (r);

err1:
	job_req_free(r);
err0:
	return (NULL);
}

/* No memory: the one refusal that does not wait for its turn. */
static void
refuse_now(const struct ask *a)
{
	struct err e;

	fault_errno(&e, ENOMEM, NULL);
	ask_err(a, &e);
}

/* Look through what the request names, then decide. */
static void
begin(struct job_req *r, walks_fn *fn)
{
	struct peer *p = r->ask.peer;
	struct ask a = r->ask;

	p->waiting++;
	if (walks_run(p->st->walks, r->walk, fn, drop, r) == 0)
		return;
	p->waiting--;
	refuse_now(&a);
	job_req_free(r);
}

static void
refuse_errno(struct job_req *r, int err)
{
	fault_errno(&r->refusal, err, err == EBADMSG ? walk_at(r->walk) :
	    NULL);
}

static void
refuse_missing(struct job_req *r)
{
	fault_set(&r->refusal, ERR_MISSING, walk_missing_get(r->walk, 0),
	    "an object of the job is not in the store: send what is missing "
	    "and try again");
}

/* On to the batch, which answers.  Only what will be written keeps its walk. */
static void
decided(struct job_req *r)
{
	if (r->refusal.code != ERR_NONE)
		r->state = REQ_DONE;
	if (r->state != REQ_WRITE) {
		walk_free(r->walk);
		r->walk = NULL;
	}
	batch_take(r->ask.peer->st->batch, r);
}

/*
 * The idempotency id is known, as that of ${job}.  It is this job's again, or
 * somebody mixed two up.
 */
static void
repeat(struct job_req *r, const char *job, const struct obj_ref *root,
    const struct obj_ref *spec, enum job_req_state state)
{
	if (!obj_ref_equal(root, &r->root) ||
	    !obj_ref_equal(spec, &r->second)) {
		fault_set(&r->refusal, ERR_CONFLICT, NULL,
		    "this idempotency id was used for job %s, which is "
		    "another one: use a new id", job);
		return;
	}
	r->state = state;
	memcpy(r->existed, job, JOB_ID_LEN);
}

/*
 * The same job again, not settled yet, with another record: that replaces the
 * one there is.  So a job that waited gets its durable mark that it starts.
 */
static int
restate(struct store *st, struct job_req *r)
{
	struct ix_job job;

	if (r->refusal.code != ERR_NONE || strcmp(r->existed, r->job) != 0)
		return (0);
	if (ix_job_get(st->ix, r->tenant, r->job, &job) == -1)
		return (errno == ENOENT ? 0 : -1);
	if (job.settled || batch_job_of(st->batch, r->tenant, STORE_SETTLE,
	    r->job) != NULL)
		return (0);
	if (job.record_len == r->record_len &&
	    memcmp(job.record, r->record, r->record_len) == 0)
		return (0);
	r->state = REQ_WRITE;
	r->restate = 1;
	return (0);
}

/* As ix_idem_get, but of a job that there is: an old one's is free again. */
static int
idem_known(struct store *st, const struct job_req *r, struct ix_idem *was)
{
	struct ix_job job;

	if (ix_idem_get(st->ix, r->tenant, r->idem, was) == -1)
		return (-1);
	return (ix_job_get(st->ix, r->tenant, was->job, &job));
}

/*
 * Has this been published before, or is it about to be?  1 when that is
 * settled, 0 when it is new, -1 with errno.
 */
static int
known(struct store *st, struct job_req *r)
{
	const struct job_req *other;
	struct ix_idem was;
	struct ix_job job;

	if (idem_known(st, r, &was) == 0) {
		repeat(r, was.job, &was.root, &was.spec, REQ_DONE);
		return (restate(st, r) == -1 ? -1 : 1);
	}
	if (errno != ENOENT)
		return (-1);
	other = batch_publish_of(st->batch, r->tenant, r->idem);
	if (other != NULL) {
		repeat(r, other->job, &other->root, &other->second, REQ_SAME);
		return (1);
	}
	if (ix_job_get(st->ix, r->tenant, r->job, &job) == -1) {
		if (errno != ENOENT)
			return (-1);
		if (batch_job_of(st->batch, r->tenant, STORE_PUBLISH,
		    r->job) == NULL)
			return (0);
	}
	fault_set(&r->refusal, ERR_CONFLICT, NULL,
	    "there is a job %s already: make a new id", r->job);
	return (1);
}

static void
publish_done(void *cookie, int rc)
{
	struct job_req *r = cookie;
	struct store *st = r->ask.peer->st;
	struct ix_usage u;
	int err = errno, was = -1;

	if (ix_read(st->ix) == 0)
		was = known(st, r);
	if (was == -1)
		refuse_errno(r, errno);
	else if (was == 0 && rc == -1)
		refuse_errno(r, err);
	else if (was == 0 && !r->walked)
		refuse_errno(r, EAGAIN);
	else if (was == 0 && walk_missing(r->walk) > 0)
		refuse_missing(r);
	else if (was == 0 && usage_get(st, r->tenant, &u) == 0)
		(void)usage_admit_job(usage_quota(st, r->tenant), &u,
		    &r->refusal);
	ix_read_end(st->ix);
	decided(r);
}

/* Said again after a crash, the objects need no second look. */
static int
is_repeat(struct store *st, const struct job_req *r)
{
	struct ix_idem was;
	int rc;

	if (ix_read(st->ix) == -1)
		return (0);
	rc = idem_known(st, r, &was);
	ix_read_end(st->ix);
	return (rc == 0);
}

void
on_publish(const struct ask *a, const struct store_msg *m, int *fds)
{
	static const struct store_bytes none;
	struct job_req *r;

	(void)fds;
	if ((r = req_new(a, m->u.publish.tenant_id, m->u.publish.job,
	    &m->u.publish.record, &none)) == NULL) {
		refuse_now(a);
		return;
	}
	memcpy(r->idem, m->u.publish.idem, IX_IDEM_LEN);
	r->root = m->u.publish.root;
	r->second = m->u.publish.spec;
	if (!is_repeat(a->peer->st, r)) {
		r->walked = 1;
		walk_root(r->walk, &r->root);
		walk_root(r->walk, &r->second);
	}
	begin(r, publish_done);
}

/* Was the job settled before?  As known(). */
static int
settled(struct job_req *r, uint64_t sequence, const uint8_t *digest,
    enum job_req_state state)
{
	if (sequence == r->sequence &&
	    memcmp(digest, r->digest, IX_DIGEST_LEN) == 0)
		r->state = state;
	else
		fault_set(&r->refusal, ERR_CONFLICT, NULL,
		    "job %s has been settled by another receipt", r->job);
	return (1);
}

/* Is there such a job, and is it open?  As known(). */
static int
job_open(struct store *st, struct job_req *r)
{
	const struct job_req *other;
	struct ix_job job;

	if (ix_job_get(st->ix, r->tenant, r->job, &job) == 0) {
		if (job.settled)
			return (settled(r, job.sequence, job.digest,
			    REQ_DONE));
	} else if (errno != ENOENT)
		return (-1);
	else if (batch_job_of(st->batch, r->tenant, STORE_PUBLISH,
	    r->job) == NULL) {
		fault_set(&r->refusal, ERR_NOT_FOUND, NULL,
		    "there is no job %s to be settled", r->job);
		return (1);
	}
	other = batch_job_of(st->batch, r->tenant, STORE_SETTLE, r->job);
	if (other != NULL)
		return (settled(r, other->sequence, other->digest, REQ_SAME));
	return (0);
}

/* Is the receipt the next one of the tenant's chain?  As known(). */
static int
in_sequence(struct store *st, struct job_req *r)
{
	struct ix_usage u;
	uint64_t head;

	if ((head = batch_head(st->batch, r->tenant)) == 0) {
		if (ix_usage_get(st->ix, r->tenant, &u) == -1)
			return (-1);
		head = u.sequence;
	}
	if (r->sequence == head + 1)
		return (0);
	fault_set(&r->refusal, ERR_CONFLICT, NULL,
	    "receipt %llu is not the next one after %llu: ask for the head of "
	    "the chain and sign again", (unsigned long long)r->sequence,
	    (unsigned long long)head);
	return (1);
}

static void
settle_done(void *cookie, int rc)
{
	struct job_req *r = cookie;
	struct store *st = r->ask.peer->st;
	int err = errno, was = -1;

	if (ix_read(st->ix) == 0 && (was = job_open(st, r)) == 0)
		was = in_sequence(st, r);
	if (was == -1)
		refuse_errno(r, errno);
	else if (was == 0 && rc == -1)
		refuse_errno(r, err);
	else if (was == 0 && walk_missing(r->walk) > 0)
		refuse_missing(r);
	ix_read_end(st->ix);
	decided(r);
}

void
on_settle(const struct ask *a, const struct store_msg *m, int *fds)
{
	struct job_req *r;

	(void)fds;
	if ((r = req_new(a, m->u.settle.tenant_id, m->u.settle.job,
	    &m->u.settle.record, &m->u.settle.receipt)) == NULL) {
		refuse_now(a);
		return;
	}
	r->sequence = m->u.settle.sequence;
	r->log_bytes = m->u.settle.log_bytes;
	memcpy(r->digest, m->u.settle.digest, IX_DIGEST_LEN);
	r->root = m->u.settle.root;
	r->second = m->u.settle.list;
	walk_root(r->walk, &r->root);
	walk_root(r->walk, &r->second);
	begin(r, settle_done);
}
