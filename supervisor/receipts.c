/*
 * A job's record as a receipt, signed with the host's key.  Memory only; the
 * form of receipts is in proto/receipt.c.
 */
#include <stdio.h>
#include <string.h>

#include "jobs.h"
#include "lib/log.h"
#include "proto/receipt.h"
#include "receipts.h"
#include "sup.h"
#include "tenants.h"

void
receipt_compose(const struct sup *sup, const struct job *j,
    struct receipt *r)
{
	const struct job_record *rec = &j->rec;
	const struct chain *c = &j->tenant->chain;

	memset(r, 0, sizeof(*r));
	memcpy(r->job, rec->id, sizeof(r->job));
	memcpy(r->tenant, rec->tenant, sizeof(r->tenant));
	r->tenant_id = rec->tenant_id;
	r->sequence = c->sequence + 1;
	memcpy(r->previous, c->digest, sizeof(r->previous));
	receipt_key_id(sup->host_pk, r->host_key_id);
	snprintf(r->software, sizeof(r->software), "%s", ERRAND_VERSION);
	r->state = rec->state;
	r->reason = rec->reason;
	r->submit = rec->submit;
	r->limits = rec->limits;
	r->times = rec->times;
	r->times.settled = 0;           /* nobody can sign the time after */
	r->phases = rec->phases;
	r->phases.settle = 0;
	r->ran = rec->ran;
	r->exit_code = rec->exit_code;
	r->signal = rec->signal;
	r->limit = rec->limit;
	r->usage = rec->usage;
	r->log = rec->log;
	r->changes = rec->changes;
	r->cleanup = rec->cleanup;
	r->unknown = rec->unknown;
	r->ncaches = rec->ncaches;
	memcpy(r->caches, rec->caches, sizeof(r->caches));
}

ssize_t
receipt_make(const struct sup *sup, struct job *j, uint8_t *buf, size_t cap)
{
	struct receipt r;
	ssize_t n;

	receipt_compose(sup, j, &r);
	if ((n = receipt_sign(&r, sup->host_sk, buf, cap)) == -1) {
		log_warn("job %s: receipt", j->rec.id);
		return (-1);
	}
	j->rec.receipt_sequence = r.sequence;
	receipt_digest(buf, (size_t)n, j->rec.receipt_digest);
	return (n);
}
