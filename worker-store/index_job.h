#ifndef ERRAND_INDEX_JOB_H
#define ERRAND_INDEX_JOB_H

#include <stddef.h>
#include <stdint.h>

#include "lib/object.h"
#include "lib/text.h"

/*
 * What the index knows of jobs and tenants.  Little-endian values; keys begin
 * with the tenant, big-endian.
 *
 *   job        tenant, job -> u8 settled, 3 zero, u32 length of the record,
 *              u32 of the receipt, u64 sequence, 32-byte digest of the
 *              receipt, the record, the receipt
 *   jobseq     tenant, u64 counter, big-endian -> job
 *   idem       tenant, 16-byte idempotency id -> job, root, spec
 *   unsettled  tenant, job -> u8 zero
 *   ref        tenant, u8 kind = 1, job, u8 slot -> reference, u64 expiry
 *   usage      tenant -> u64 objects, bytes, stored bytes, jobs, sequence of
 *              the last receipt, its 32-byte digest
 *
 * What a reference reaches is never collected.  Its slots: r and s, the root
 * and the spec that were published; a and l, the root after and the list of
 * changes.
 */
#define IX_IDEM_LEN     16
#define IX_DIGEST_LEN   32

struct ix;

struct ix_job {                 /* borrowed as by ix_get */
	uint8_t settled;
	uint64_t sequence;
	const uint8_t *digest;
	const uint8_t *record;
	size_t record_len;
	const uint8_t *receipt;
	size_t receipt_len;
};

struct ix_idem {
	char job[JOB_ID_LEN + 1];
	struct obj_ref root;
	struct obj_ref spec;
};

struct ix_usage {
	uint64_t objects;
	uint64_t bytes;         /* raw */
	uint64_t stored;        /* in packs, headers included */
	uint64_t jobs;
	uint64_t sequence;
	uint8_t digest[IX_DIGEST_LEN];
};

struct ix_publish {
	const char *job;
	const uint8_t *idem;
	struct obj_ref root;
	struct obj_ref spec;
	const uint8_t *record;
	size_t record_len;
};

struct ix_settle {
	const char *job;
	uint64_t sequence;
	const uint8_t *digest;
	struct obj_ref root;
	struct obj_ref list;
	const uint8_t *record;
	size_t record_len;
	const uint8_t *receipt;
	size_t receipt_len;
};

int ix_job_get(struct ix *, uint32_t, const char *, struct ix_job *);
int ix_idem_get(struct ix *, uint32_t, const uint8_t *, struct ix_idem *);

/* All zero for a tenant that has nothing yet. */
int ix_usage_get(struct ix *, uint32_t, struct ix_usage *);

/* Sums over all tenants; sequence and digest stay zero. */
int ix_usage_sum(struct ix *, struct ix_usage *);

/* In a write transaction: count new objects. */
int ix_usage_add(struct ix *, uint32_t, uint64_t objects, uint64_t bytes,
    uint64_t stored);

/*
 * In a write transaction: everything that makes a job known; everything that
 * ends it.  The caller has checked that this may be.
 */
int ix_job_publish(struct ix *, uint32_t, const struct ix_publish *);
int ix_job_settle(struct ix *, uint32_t, const struct ix_settle *);

/* In a write transaction: a new record for a job that is not settled. */
int ix_job_restate(struct ix *, uint32_t, const char *, const uint8_t *,
    size_t);

/* Called per job.  Non-zero stops and is returned. */
typedef int ix_job_fn(void *, const struct ix_job *);
int ix_jobs_newest(struct ix *, uint32_t, ix_job_fn *, void *);
int ix_jobs_unsettled(struct ix *, ix_job_fn *, void *);

#endif /* !ERRAND_INDEX_JOB_H */
