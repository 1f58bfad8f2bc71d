/*
 * What errandd asks for the care of tenants: collections, the end of old jobs,
 * figures of use.  EXPIRE writes the index, in a transaction of its own.
 */
#include <errno.h>
#include <string.h>

#include "batch.h"
#include "fault.h"
#include "gc.h"
#include "handlers.h"
#include "index.h"
#include "index_job.h"
#include "journal.h"
#include "lib/crash.h"
#include "lib/io.h"
#include "lib/le.h"
#include "lib/memfd.h"
#include "pending.h"
#include "rewrite.h"
#include "store.h"
#include "usage.h"

#define EXPIRE_MAX      64              /* forgotten in one transaction */
#define EXPIRE_LOOK     1024            /* looked at */
#define ROOM_BASE       (256 * 1024)
#define ROOM_JOB        (24 * 4096)
#define ENTRY           (4 + JOB_ID_LEN)

static void
refuse(const struct ask *a, int err)
{
	struct err e;

	fault_errno(&e, err, NULL);
	ask_err(a, &e);
}

void
on_collect(const struct ask *a, const struct store_msg *m, int *fds)
{
	struct store_msg ok = { 0 };

	(void)fds;
	if (gc_all(a->peer->st, m->u.head.tenant_id) == -1)
		refuse(a, errno);
	else
		ask_ok(a, &ok, -1);
}

void
on_usage(const struct ask *a, const struct store_msg *m, int *fds)
{
	struct store *st = a->peer->st;
	uint32_t tenant = a->peer->kind == PEER_TENANT ? a->peer->tenant :
	    m->u.head.tenant_id;
	struct store_msg ok = { 0 };
	struct ix_usage u;
	int rc = -1;

	(void)fds;
	if (ix_read(st->ix) == 0)
		rc = usage_get(st, tenant, &u);
	ix_read_end(st->ix);
	if (rc == -1) {
		refuse(a, errno);
		return;
	}
	ok.u.ok.usage.bytes = u.bytes;
	ok.u.ok.usage.stored_bytes = u.stored;
	ok.u.ok.usage.objects = u.objects;
	ok.u.ok.usage.jobs = u.kept;
	ok.u.ok.usage.log_bytes = u.log_bytes;
	ok.u.ok.usage.quota = *usage_quota(st, tenant);
	ask_ok(a, &ok, -1);
}

/* Jobs whose time is over. */
struct expiry {
	uint64_t now;
	uint64_t keep_us;
	uint64_t keep_jobs;
	uint64_t keep_logs;
	uint64_t room;
	uint64_t jobs;          /* that are left */
	uint64_t logs;
	int looked;
	size_t n;
	struct {
		uint64_t number;
		char job[JOB_ID_LEN + 1];
	} v[EXPIRE_MAX];
};

static int
is_over(const struct expiry *x, const struct ix_job *j)
{
	if (x->keep_jobs != 0 && x->jobs + x->room > x->keep_jobs)
		return (1);
	if (x->keep_logs != 0 && x->logs > x->keep_logs)
		return (1);
	return (x->keep_us != 0 && j->settled_us != 0 &&
	    x->now > j->settled_us && x->now - j->settled_us > x->keep_us);
}

/* Oldest first: what comes behind one that stays is younger. */
static int
on_job(void *cookie, uint64_t number, const char *job, const struct ix_job *j)
{
	struct expiry *x = cookie;

	if (++x->looked == EXPIRE_LOOK)
		return (1);
	if (!j->settled)
		return (0);
	if (!is_over(x, j))
		return (j->settled_us != 0);
	x->v[x->n].number = number;
	memcpy(x->v[x->n].job, job, sizeof(x->v[x->n].job));
	x->jobs--;
	x->logs -= j->log_bytes < x->logs ? j->log_bytes : x->logs;
	return (++x->n == EXPIRE_MAX);
}

static int
find(struct store *st, uint32_t tenant, struct expiry *x)
{
	struct ix_usage u;
	int rc;

	if (ix_read(st->ix) == -1)
		return (-1);
	if ((rc = ix_usage_get(st->ix, tenant, &u)) == 0) {
		x->jobs = u.kept;
		x->logs = u.log_bytes;
		rc = ix_jobs_oldest(st->ix, tenant, 0, on_job, x);
	}
	ix_read_end(st->ix);
	return (rc == -1 ? -1 : 0);
}

static int
forget(struct store *st, uint32_t tenant, const struct expiry *x)
{
	size_t i;
	int err;

	journal_begin(st->journal);
	for (i = 0; i < x->n; i++) {
		if (journal_forget(st->journal, tenant, x->v[i].job) == -1)
			goto err0;
	}
	if (journal_write(st->journal, 0) == -1) {
		err = errno;
		pending_cut(st->pending, 0);
		st->drops++;
		errno = err;
		goto err0;
	}
	if (ix_write(st->ix, ROOM_BASE + x->n * ROOM_JOB) == -1)
		goto err0;
	for (i = 0; i < x->n; i++) {
		if (ix_job_forget(st->ix, tenant, x->v[i].number,
		    x->v[i].job) == -1)
			goto err1;
	}
	if (journal_list(st->journal) == -1)
		goto err1;
	CRASH_POINT("expire");
	if (store_commit(st) == -1)
		goto err0;
	CRASH_POINT("expired");
	journal_end(st->journal, 1);
	rewrite_forgot(st, x->n);
	return (0);

err1:
	err = errno;
	ix_abort(st->ix);
	errno = err;
err0:
	err = errno;
	journal_end(st->journal, 0);
	errno = err;
	return (-1);
}

void
on_expire(const struct ask *a, const struct store_msg *m, int *fds)
{
	struct expiry x = {
		.now = io_real_us(),
		.keep_us = m->u.expire.keep_us,
		.keep_jobs = m->u.expire.keep_jobs,
		.room = m->u.expire.room,
		.keep_logs = m->u.expire.log_bytes
	};
	uint8_t buf[EXPIRE_MAX * ENTRY];
	struct store_msg ok = { 0 };
	size_t i;
	int fd = -1;

	(void)fds;
	if (find(a->peer->st, m->u.expire.tenant_id, &x) == -1)
		goto err0;
	for (i = 0; i < x.n; i++) {
		le_put32(buf + i * ENTRY, JOB_ID_LEN);
		memcpy(buf + i * ENTRY + 4, x.v[i].job, JOB_ID_LEN);
	}
	/* Made first: what is forgotten must be told. */
	if (x.n > 0 && (fd = memfd_make("expired", buf,
	    x.n * ENTRY)) == -1)
		goto err0;
	/* Nothing is pending then: the journal writes behind it. */
	if (x.n > 0 && batch_run(a->peer->st->batch) == -1)
		goto err1;
	if (x.n > 0 && forget(a->peer->st, m->u.expire.tenant_id, &x) == -1)
		goto err1;
	ok.u.ok.objects = (uint32_t)x.n;
	ask_ok(a, &ok, fd);
	return;

err1:
	i = (size_t)errno;
	io_close(&fd);
	errno = (int)i;
err0:
	refuse(a, errno);
}
