/*
 * The questions about jobs, receipts and the store as a whole.  Reads the
 * index; writes nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "doubt.h"
#include "fault.h"
#include "handlers.h"
#include "index.h"
#include "index_job.h"
#include "index_pack.h"
#include "lib/le.h"
#include "lib/memfd.h"
#include "lib/size.h"
#include "pack.h"
#include "quarantine.h"
#include "store.h"

/* Job records on their way into a memfd. */
struct records {
	uint8_t *buf;
	size_t len;
	size_t cap;
	uint32_t count;
	uint32_t limit;
};

static void
refuse(const struct ask *a, int err)
{
	struct err e;

	fault_errno(&e, err, NULL);
	ask_err(a, &e);
}

static int
collect(void *cookie, const struct ix_job *job)
{
	struct records *r = cookie;
	size_t need;
	void *p;

	if (r->count == r->limit)
		return (1);
	if (size_add(r->len, 4, &need) == -1 ||
	    size_add(need, job->record_len, &need) == -1 ||
	    (p = size_grow(r->buf, &r->cap, need, 1)) == NULL)
		return (-1);
	r->buf = p;
	le_put32(r->buf + r->len, (uint32_t)job->record_len);
	memcpy(r->buf + r->len + 4, job->record, job->record_len);
	r->len = need;
	r->count++;
	return (0);
}

static void
answer_records(const struct ask *a, const struct records *r)
{
	struct store_msg ok = { 0 };
	int fd = -1;

	if (r->count > 0 && (fd = memfd_make("records", r->buf,
	    r->len)) == -1) {
		refuse(a, errno);
		return;
	}
	ok.u.ok.objects = r->count;
	ask_ok(a, &ok, fd);
}

void
on_job_list(const struct ask *a, const struct store_msg *m, int *fds)
{
	struct records r = { .limit = m->u.list.limit };
	struct ix *ix = a->peer->st->ix;
	int rc = -1;

	(void)fds;
	if (ix_read(ix) == 0)
		rc = ix_jobs_newest(ix, a->peer->tenant, collect, &r);
	if (rc == -1)
		refuse(a, errno);
	else
		answer_records(a, &r);
	ix_read_end(ix);
	free(r.buf);
}

void
on_unsettled(const struct ask *a, const struct store_msg *m, int *fds)
{
	struct records r = { .limit = UINT32_MAX };
	struct ix *ix = a->peer->st->ix;
	int rc = -1;

	(void)m;
	(void)fds;
	if (ix_read(ix) == 0)
		rc = ix_jobs_unsettled(ix, collect, &r);
	if (rc == -1)
		refuse(a, errno);
	else
		answer_records(a, &r);
	ix_read_end(ix);
	free(r.buf);
}

/* Answer with the record or the receipt of one of the tenant's jobs. */
static void
answer_job(const struct ask *a, const char *name, int receipt)
{
	struct ix *ix = a->peer->st->ix;
	struct store_msg ok = { 0 };
	struct ix_job job;
	struct err e;

	if (ix_read(ix) == -1 ||
	    ix_job_get(ix, a->peer->tenant, name, &job) == -1) {
		if (errno != ENOENT)
			refuse(a, errno);
		else {
			fault_set(&e, ERR_NOT_FOUND, NULL, "there is no job "
			    "%s", name);
			ask_err(a, &e);
		}
	} else if (receipt && job.receipt_len == 0) {
		fault_set(&e, ERR_NOT_FOUND, NULL, "job %s has no receipt "
		    "yet: wait for its end", name);
		ask_err(a, &e);
	} else {
		ok.u.ok.data.p = receipt ? job.receipt : job.record;
		ok.u.ok.data.len = receipt ? job.receipt_len : job.record_len;
		ask_ok(a, &ok, -1);
	}
	ix_read_end(ix);
}

void
on_job_get(const struct ask *a, const struct store_msg *m, int *fds)
{
	(void)fds;
	answer_job(a, m->u.job.job, 0);
}

void
on_receipt_get(const struct ask *a, const struct store_msg *m, int *fds)
{
	(void)fds;
	answer_job(a, m->u.job.job, 1);
}

void
on_head(const struct ask *a, const struct store_msg *m, int *fds)
{
	struct ix *ix = a->peer->st->ix;
	struct store_msg ok = { 0 };
	struct ix_usage u;
	int rc = -1;

	(void)fds;
	if (ix_read(ix) == 0)
		rc = ix_usage_get(ix, m->u.head.tenant_id, &u);
	if (rc == -1)
		refuse(a, errno);
	else {
		ok.u.ok.sequence = u.sequence;
		memcpy(ok.u.ok.digest, u.digest, sizeof(ok.u.ok.digest));
		ask_ok(a, &ok, -1);
	}
	ix_read_end(ix);
}

static int
count_pack(void *cookie, const struct ix_pack *pack)
{
	struct store_msg *ok = cookie;

	ok->u.ok.stat.packs++;
	ok->u.ok.stat.pack_bytes += pack->len;
	return (0);
}

void
on_stat(const struct ask *a, const struct store_msg *m, int *fds)
{
	struct store *st = a->peer->st;
	struct store_msg ok = { 0 };
	struct ix_usage u;
	struct ix_stat s;
	int rc = -1;

	(void)m;
	(void)fds;
	if (ix_read(st->ix) == 0 && (rc = ix_usage_sum(st->ix, &u)) == 0)
		rc = ix_packs(st->ix, count_pack, &ok);
	ix_read_end(st->ix);
	if (rc == -1) {
		refuse(a, errno);
		return;
	}
	ix_stat(st->ix, &s);
	ok.u.ok.stat.objects = u.objects;
	ok.u.ok.stat.object_bytes = u.bytes;
	ok.u.ok.stat.jobs = u.jobs;
	ok.u.ok.stat.map_bytes = s.map_bytes;
	ok.u.ok.stat.map_used = s.map_used;
	ok.u.ok.stat.disk_free = store_disk_free(st);
	ok.u.ok.stat.commits = s.commits;
	ok.u.ok.stat.flushes = s.flushes + packs_flushes(st->packs);
	ok.u.ok.stat.packs_damaged = st->packs_damaged;
	ok.u.ok.stat.quarantined = quarantine_count(st);
	ok.u.ok.stat.index_damaged = (uint8_t)doubt_damaged(st);
	ask_ok(a, &ok, -1);
}
