/*
 * The final record and the tenant's chain of receipts, as HEAD and SETTLE to
 * the store.  Memory and the store's channel only.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "conn.h"
#include "jobs.h"
#include "lib/io.h"
#include "keep.h"
#include "lib/log.h"
#include "logs.h"
#include "proto/client_msg.h"
#include "receipts.h"
#include "store_client.h"
#include "sup.h"
#include "tenants.h"

#define RETRY_US        UINT64_C(1000000)
#define RETRIES         60      /* then the job is given up, and said to be */

/* Our failure is never the job's, and a kill that was asked for is no
 * failure. */
static enum job_state
state_of(const struct job *j)
{
	int killed = j->user_kill || j->limit == JOB_LIMIT_MEMORY;

	if (j->lost)
		return (JOB_LOST);
	if (killed && (j->rec.signal != 0 || !j->rec.ran) &&
	    (j->fault.code == ERR_NONE || j->fault.code == ERR_CANCELLED))
		return (JOB_KILLED);
	if (j->fault.code != ERR_NONE)
		return (JOB_FAILED);
	return (j->rec.signal != 0 && killed ? JOB_KILLED : JOB_EXITED);
}

void
job_settle(struct job *j)
{
	j->settling = 1;
	j->t_settle = io_mono_us();
	if (j->rec.state == JOB_QUEUED)
		job_slot(j, 1);         /* it leaves the queue */
	if (!j->rec.ran) {
		j->rec.signal = 0;
		/* Not found and not executable are told apart by these two. */
		if (j->rec.exit_code != 126 && j->rec.exit_code != 127)
			j->rec.exit_code = 0;
	}
	if (j->rec.times.ended == 0)
		j->rec.times.ended = io_real_us();
	j->rec.reason = j->fault.code != ERR_NONE ? j->fault : j->remark;
	j->rec.limit = j->limit;
	j->rec.state = (uint8_t)state_of(j);
	if (j->rec.state == JOB_KILLED && j->rec.reason.code == ERR_NONE &&
	    !j->rec.ran) {
		j->rec.reason.code = ERR_CANCELLED;
		snprintf(j->rec.reason.text, sizeof(j->rec.reason.text),
		    "cancelled before it started");
	}
	TAILQ_INSERT_TAIL(&j->tenant->chain.waiting, j, settle);
	chain_kick(j->sup, j->tenant);
}

/* It is durable, or never will be: tell, forget, and let the next one in. */
static void
settled(struct job *j)
{
	struct sup *sup = j->sup;
	struct tenant *t = j->tenant;

	log_info("job %s: %s, tenant %s", j->rec.id,
	    job_state_name(j->rec.state), j->rec.tenant);
	TAILQ_REMOVE(&t->chain.waiting, j, settle);
	j->settling = 0;
	conn_job_state(j);
	keep_settled(sup->keep, t);
	job_free(j);
	jobs_kick(sup->jobs);
	chain_kick(sup, t);
}

static void
retry_later(struct job *j, const struct err *err)
{
	if (++j->settle_tries == 1)
		log_warnx("job %s: not settled yet: %s", j->rec.id, err->text);
	if (j->settle_tries < RETRIES) {
		job_timer(j, WAIT_SETTLE, RETRY_US);
		return;
	}
	log_warnx("job %s: given up, its end is not recorded: %s", j->rec.id,
	    err->text);
	j->rec.state = JOB_FAILED;
	j->rec.reason = *err;
	j->rec.receipt_sequence = 0;
	settled(j);
}

/* What the result names is not in the store: the rest of it still is. */
static void
degrade(struct job *j, const struct err *err)
{
	char hex[2 * OBJ_ID_LEN + 1];

	memset(&j->rec.changes, 0, sizeof(j->rec.changes));
	/* That it could not run for a damaged object says more. */
	if (j->rec.state == JOB_FAILED && j->rec.reason.code == ERR_DAMAGED)
		return;
	j->rec.state = JOB_FAILED;
	j->rec.reason = *err;
	j->rec.reason.retry = 0;
	if (err->code != ERR_MISSING)
		return;
	obj_id_hex(err->ref.id, hex);
	(void)err_set(&j->rec.reason, ERR_WORKER_LOST, "object %s of the "
	    "job's tree is not in the store: it was damaged there, or the "
	    "store ended before the job's changes were durable; the changes "
	    "are lost", hex);
	j->rec.reason.ref = err->ref;
}

static void
on_settled(void *cookie, const struct store_msg *m, int fd)
{
	struct job *j = cookie;
	struct chain *c = &j->tenant->chain;

	(void)fd;
	j->request = 0;
	c->busy = 0;
	if (m->op == STORE_OK) {
		c->sequence = j->rec.receipt_sequence;
		memcpy(c->digest, j->rec.receipt_digest, sizeof(c->digest));
		settled(j);
		return;
	}
	c->loaded = 0;          /* ask where the chain ends */
	if (m->u.error.code == ERR_MISSING || m->u.error.code == ERR_DAMAGED ||
	    m->u.error.code == ERR_INVALID)
		degrade(j, &m->u.error);
	retry_later(j, &m->u.error);
}

/*
 * The keeper has flushed what is in the log; that there is one is in a
 * directory that is ours alone.  The store is flushing meanwhile, so nobody
 * waits longer, and one flush serves all logs that were made before it.
 */
static void
log_keep(const struct job *j)
{
	struct tenant *t = j->tenant;
	uint64_t made = t->logs;

	if (j->rec.log.bytes == 0 || j->log_made <= t->logs_synced)
		return;
	if (logs_sync(j->sup->logs_fd, j->rec.tenant_id) == -1)
		log_warn("job %s: its log may not outlast a power cut",
		    j->rec.id);
	else
		t->logs_synced = made;
}

static int
settle_send(struct job *j)
{
	uint8_t record[LIMIT_RECORD], receipt[LIMIT_RECEIPT];
	struct store_msg m;
	ssize_t rlen, n;

	j->rec.times.settled = 0;
	if ((rlen = receipt_make(j->sup, j, receipt, sizeof(receipt))) == -1)
		return (-1);
	j->rec.times.settled = io_real_us();
	j->rec.phases.settle = io_mono_us() - j->t_settle;
	if ((n = job_record_pack(&j->rec, record, sizeof(record))) == -1) {
		log_warnx("job %s: its record does not fit", j->rec.id);
		return (-1);
	}
	memset(&m, 0, sizeof(m));
	m.op = STORE_SETTLE;
	m.u.settle.tenant_id = j->rec.tenant_id;
	memcpy(m.u.settle.job, j->rec.id, sizeof(m.u.settle.job));
	m.u.settle.sequence = j->rec.receipt_sequence;
	memcpy(m.u.settle.digest, j->rec.receipt_digest, 32);
	m.u.settle.root = j->rec.changes.root;
	m.u.settle.list = j->rec.changes.list;
	m.u.settle.record.p = record;
	m.u.settle.record.len = (size_t)n;
	m.u.settle.receipt.p = receipt;
	m.u.settle.receipt.len = (size_t)rlen;
	m.u.settle.log_bytes = j->rec.log.bytes;
	j->request = store_request(j->sup->store, &m, -1, on_settled, j);
	if (j->request == 0)
		return (-1);
	log_keep(j);
	return (0);
}

/*
 * What the store acknowledged it must still have: two receipts of one number
 * are never signed.
 */
static int
went_back(const struct chain *c, const struct store_msg *m)
{
	if (m->u.ok.sequence != c->sequence)
		return (m->u.ok.sequence < c->sequence);
	return (memcmp(m->u.ok.digest, c->digest, sizeof(c->digest)) != 0);
}

/* The SETTLE whose answer was lost had been carried out. */
static int
was_settled(const struct job *j, const struct store_msg *m)
{
	return (j->rec.receipt_sequence != 0 &&
	    j->rec.receipt_sequence == m->u.ok.sequence &&
	    memcmp(j->rec.receipt_digest, m->u.ok.digest,
	    sizeof(m->u.ok.digest)) == 0);
}

static void
on_head(void *cookie, const struct store_msg *m, int fd)
{
	static const struct err back = {
		.code = ERR_DAMAGED, .text = "the store has lost receipts of "
		    "this tenant that it had kept; the operator must look"
	};
	struct job *j = cookie;
	struct chain *c = &j->tenant->chain;

	(void)fd;
	j->request = 0;
	c->busy = 0;
	if (m->op == STORE_ERROR) {
		retry_later(j, &m->u.error);
		return;
	}
	if (c->sequence != 0 && went_back(c, m)) {
		log_warnx("tenant %s: the chain of receipts went back from "
		    "%" PRIu64 " to %" PRIu64, j->rec.tenant, c->sequence,
		    m->u.ok.sequence);
		j->settle_tries = RETRIES;
		retry_later(j, &back);
		return;
	}
	c->loaded = 1;
	c->sequence = m->u.ok.sequence;
	memcpy(c->digest, m->u.ok.digest, sizeof(c->digest));
	if (was_settled(j, m))
		settled(j);
	else
		chain_kick(j->sup, j->tenant);
}

static int
head_send(struct job *j)
{
	struct store_msg m;

	memset(&m, 0, sizeof(m));
	m.op = STORE_HEAD;
	m.u.head.tenant_id = j->rec.tenant_id;
	j->request = store_request(j->sup->store, &m, -1, on_head, j);
	return (j->request == 0 ? -1 : 0);
}

/*
 * One request of a tenant's chain at a time: each receipt names the one before
 * it.  The job at the head of the line carries it.
 */
void
chain_kick(struct sup *sup, struct tenant *t)
{
	static const struct err busy = {
		.code = ERR_BUSY, .text = "the store is not ready"
	};
	struct chain *c = &t->chain;
	struct job *j = TAILQ_FIRST(&c->waiting);
	int rc;

	if (j == NULL || c->busy || !store_client_up(sup->store))
		return;
	c->busy = 1;
	rc = c->loaded ? settle_send(j) : head_send(j);
	if (rc == -1) {
		c->busy = 0;
		retry_later(j, &busy);
	}
}
