/*
 * The requests about jobs that exist: STATUS, LIST, ATTACH, WAIT, KILL,
 * RECEIPT.  Asks the supervisor and the store; keeps no job.  The table of jobs
 * is in supervisor/jobs.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch.h"
#include "follow.h"
#include "handlers.h"
#include "joblist.h"
#include "lib/frame.h"
#include "lib/log.h"
#include "lib/size.h"
#include "resolve.h"
#include "session.h"
#include "store_client.h"
#include "stream.h"
#include "sup.h"

/* What was asked, and what the supervisor knows of active jobs. */
struct jobs {
	struct client_open open;
	size_t nlive;
	struct snap_live *live;
};

static struct jobs *
jobs_new(struct stream *st, const struct client_open *o)
{
	struct jobs *j;

	if (NEW_ARRAY(j, 1) == -1) {
		stream_failf(st, ERR_INTERNAL, "the host ran out of memory");
		return (NULL);
	}
	j->open = *o;
	st->priv = j;
	return (j);
}

void
jobs_done(struct stream *st)
{
	struct jobs *j = st->priv;

	if (j == NULL)
		return;
	free(j->live);
	free(j);
}

static void
find(struct stream *st, resolve_fn *fn)
{
	const struct jobs *j = st->priv;

	resolve_free(st->resolve);
	st->resolve = resolve_new(st->s->store, j->open.job, fn, st);
	if (st->resolve == NULL)
		stream_failf(st, ERR_INTERNAL, "the host ran out of memory");
}

/* Keep the states of active jobs.  0, or -1 when the stream was failed. */
static int
live_take(struct stream *st, const struct snap_msg *m)
{
	struct jobs *j = st->priv;

	if (m->op == SNAP_ERROR) {
		stream_fail(st, &m->u.error);
		return (-1);
	}
	if (NEW_ARRAY(j->live, m->u.live.n + 1) == -1) {
		stream_failf(st, ERR_INTERNAL, "the host ran out of memory");
		return (-1);
	}
	j->nlive = m->u.live.n;
	memcpy(j->live, m->u.live.jobs, j->nlive * sizeof(*j->live));
	return (0);
}

/*
 * The supervisor is asked first, then the store: a job that ends in between is
 * seen as ended, never as unknown to both.
 */
static void
ask_live(struct stream *st, sup_fn *fn)
{
	(void)sup_msg(st->s->sup, SNAP_LIVE);
	sup_request(st->s->sup, -1, fn, st);
}

static void
reply_record(struct stream *st, enum client_reply_kind kind,
    const struct job_record *rec, int more)
{
	struct client_reply r;

	memset(&r, 0, sizeof(r));
	r.kind = (uint8_t)kind;
	r.record = *rec;
	stream_reply(st, &r, more);
}

/* STATUS */

static void
status_found(void *cookie, const struct job_record *rec, const struct err *e)
{
	struct stream *st = cookie;
	const struct jobs *j = st->priv;
	struct job_record now;

	if (rec == NULL) {
		stream_fail(st, e);
		return;
	}
	now = *rec;
	joblist_overlay(&now, j->live, j->nlive);
	reply_record(st, CLIENT_JOB, &now, 0);
}

static void
status_live(void *cookie, const struct snap_msg *m, int *fd)
{
	struct stream *st = cookie;

	(void)fd;
	if (live_take(st, m) == 0)
		find(st, status_found);
}

/* What has ended needs no supervisor; of the rest the store knows little. */
static void
status_first(void *cookie, const struct job_record *rec, const struct err *e)
{
	struct stream *st = cookie;

	if (rec == NULL)
		stream_fail(st, e);
	else if (JOB_IS_FINAL(rec->state))
		reply_record(st, CLIENT_JOB, rec, 0);
	else
		ask_live(st, status_live);
}

void
status_open(struct stream *st, const struct client_open *o)
{
	if (jobs_new(st, o) != NULL)
		find(st, status_first);
}

/* LIST */

static uint64_t
list_send(struct stream *st, const struct joblist *l)
{
	const struct jobs *j = st->priv;
	struct job_record rec;
	uint64_t sent = 0;
	size_t i;

	for (i = 0; i < l->n && sent < j->open.limit && !st->over; i++) {
		if (joblist_record(&l->items[i], &rec) == -1)
			continue;
		joblist_overlay(&rec, j->live, j->nlive);
		if (!j->open.all && JOB_IS_FINAL(rec.state))
			continue;
		reply_record(st, CLIENT_JOB, &rec, 1);
		sent++;
	}
	return (sent);
}

static void
list_got(void *cookie, const struct store_msg *m, int *fd)
{
	struct stream *st = cookie;
	struct joblist l;
	uint64_t sent;

	if (m->op == STORE_ERROR) {
		stream_fail(st, &m->u.error);
		return;
	}
	if (joblist_take(&l, m, *fd) == -1) {
		log_warnx("store: a malformed list of jobs");
		stream_failf(st, ERR_INTERNAL,
		    "the host's store gave a malformed list of jobs");
		return;
	}
	sent = list_send(st, &l);
	joblist_done(&l);
	stream_count(st, CLIENT_DONE, sent, 0);
}

static void
list_live(void *cookie, const struct snap_msg *m, int *fd)
{
	struct stream *st = cookie;
	struct jobs *j = st->priv;
	struct store_msg q;

	(void)fd;
	if (live_take(st, m) == -1)
		return;
	if (j->open.limit == 0 || j->open.limit > LIMIT_LIST_JOBS)
		j->open.limit = LIMIT_LIST_JOBS;
	memset(&q, 0, sizeof(q));
	q.op = STORE_JOB_LIST;
	/* Active ones may be behind any number that have ended. */
	q.u.list.limit = j->open.all ? j->open.limit : LIMIT_LIST_JOBS;
	store_request(st->s->store, &q, -1, list_got, st);
}

void
list_open(struct stream *st, const struct client_open *o)
{
	if (jobs_new(st, o) != NULL)
		ask_live(st, list_live);
}

/* ATTACH */

static void
attach_found(void *cookie, const struct job_record *rec, const struct err *e)
{
	struct stream *st = cookie;
	const struct jobs *j = st->priv;
	unsigned int how = FOLLOW_LOG | FOLLOW_TELL;

	if (rec == NULL) {
		stream_fail(st, e);
		return;
	}
	if (j->open.follow)
		how |= FOLLOW_STATES | FOLLOW_STAY;
	follow_start(st, rec->id, how, j->open.offset, rec);
}

void
attach_open(struct stream *st, const struct client_open *o)
{
	if (jobs_new(st, o) != NULL)
		find(st, attach_found);
}

/* WAIT */

static void
wait_found(void *cookie, const struct job_record *rec, const struct err *e)
{
	struct stream *st = cookie;

	if (rec == NULL)
		stream_fail(st, e);
	else if (JOB_IS_FINAL(rec->state))
		reply_record(st, CLIENT_RESULT, rec, 0);
	else
		follow_start(st, rec->id, FOLLOW_STAY, 0, rec);
}

void
wait_open(struct stream *st, const struct client_open *o)
{
	if (jobs_new(st, o) != NULL)
		find(st, wait_found);
}

/* KILL */

/* One that has ended meanwhile cannot be signalled, which is a success. */
static void
kill_sent(void *cookie, const struct snap_msg *m, int *fd)
{
	struct stream *st = cookie;
	const struct jobs *j = st->priv;
	int gone;

	(void)fd;
	if (st->over)
		return;
	gone = m->op == SNAP_ERROR && m->u.error.code == ERR_NOT_FOUND;
	if (m->op == SNAP_ERROR && !gone)
		stream_fail(st, &m->u.error);
	else if (j->open.no_wait)
		stream_count(st, CLIENT_DONE, gone ? 0 : 1, 0);
	else if (gone)
		follow_look(st->follow);
}

static void
kill_send(struct stream *st, const char *job)
{
	const struct jobs *j = st->priv;
	struct snap_msg *m = sup_msg(st->s->sup, SNAP_SIGNAL);

	memcpy(m->u.signal.job, job, sizeof(m->u.signal.job));
	m->u.signal.signal = j->open.signal;
	sup_request(st->s->sup, -1, kill_sent, st);
}

static void
kill_found(void *cookie, const struct job_record *rec, const struct err *e)
{
	struct stream *st = cookie;
	const struct jobs *j = st->priv;

	if (rec == NULL) {
		stream_fail(st, e);
		return;
	}
	if (JOB_IS_FINAL(rec->state)) {
		if (j->open.no_wait)
			stream_count(st, CLIENT_DONE, 0, 0);
		else
			reply_record(st, CLIENT_RESULT, rec, 0);
		return;
	}
	/* Watched before it is signalled, so that its end is not missed. */
	if (!j->open.no_wait)
		follow_start(st, rec->id, FOLLOW_STAY, 0, rec);
	if (!st->over)
		kill_send(st, rec->id);
}

void
kill_open(struct stream *st, const struct client_open *o)
{
	if (jobs_new(st, o) != NULL)
		find(st, kill_found);
}

/* RECEIPT */

static void
receipt_got(void *cookie, const struct store_msg *m, int *fd)
{
	struct stream *st = cookie;

	(void)fd;
	if (m->op == STORE_ERROR) {
		stream_fail(st, &m->u.error);
		return;
	}
	stream_data(st, FRAME_BYTES, m->u.ok.data.p, m->u.ok.data.len);
	stream_count(st, CLIENT_DONE, 1, m->u.ok.data.len);
}

static void
receipt_found(void *cookie, const struct job_record *rec, const struct err *e)
{
	struct stream *st = cookie;
	struct store_msg m;

	if (rec == NULL) {
		stream_fail(st, e);
		return;
	}
	if (!JOB_IS_FINAL(rec->state)) {
		stream_failf(st, ERR_NOT_FOUND, "job %s has not ended yet; its "
		    "receipt is made when it does", rec->id);
		return;
	}
	memset(&m, 0, sizeof(m));
	m.op = STORE_RECEIPT_GET;
	memcpy(m.u.job.job, rec->id, sizeof(m.u.job.job));
	store_request(st->s->store, &m, -1, receipt_got, st);
}

void
receipt_open_stream(struct stream *st, const struct client_open *o)
{
	if (jobs_new(st, o) != NULL)
		find(st, receipt_found);
}
