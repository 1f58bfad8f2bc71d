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
 *   job        tenant, job -> u8 settled, u8 form = 1, 2 zero, u32 length of
 *              the record, u32 of the receipt, u64 sequence, 32-byte digest
 *              of the receipt, 16-byte idempotency id, u64 time of settlement
 *              in us since 1970, u64 bytes of the log, the record, the
 *              receipt (form 0: without the three before the record)
 *   jobseq     tenant, u64 counter, big-endian -> job
 *   idem       tenant, 16-byte idempotency id -> job, root, spec
 *   unsettled  tenant, job -> u8 zero
 *   ref        tenant, u8 kind = 1, job, u8 slot -> reference, u64 expiry
 *   usage      tenant -> u64 objects, bytes, stored bytes, jobs that there
 *              ever were, sequence of the last receipt, its 32-byte digest,
 *              u32 epoch, u32 zero, u64 jobs that are kept, u64 bytes of
 *              their logs (the first form ends with the digest: all jobs are
 *              kept, the epoch is the first)
 *
 * The epoch says which marks of the tenant's objects count: those that were set
 * in it.  A collection begins with the next one.
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
	const uint8_t *idem;    /* NULL in the old form */
	uint64_t settled_us;    /* 0: not yet, or not known */
	uint64_t log_bytes;
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
	uint64_t jobs;          /* ever; numbers the next one */
	uint64_t sequence;
	uint8_t digest[IX_DIGEST_LEN];
	uint32_t epoch;
	uint64_t kept;          /* jobs that there are */
	uint64_t log_bytes;     /* of their logs */
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
	uint64_t settled_us;
	uint64_t log_bytes;
};

int ix_job_get(struct ix *, uint32_t, const char *, struct ix_job *);
int ix_idem_get(struct ix *, uint32_t, const uint8_t *, struct ix_idem *);

/* All zero, and the first epoch, for a tenant that has nothing yet. */
int ix_usage_get(struct ix *, uint32_t, struct ix_usage *);

/* In a write transaction. */
int ix_usage_put(struct ix *, uint32_t, const struct ix_usage *);

/* Sums over all tenants; sequence and digest stay zero. */
int ix_usage_sum(struct ix *, struct ix_usage *);

/* In a write transaction: count new objects. */
int ix_usage_add(struct ix *, uint32_t, uint64_t objects, uint64_t bytes,
    uint64_t stored);

/* In a write transaction: objects have gone. */
int ix_usage_sub(struct ix *, uint32_t, uint64_t objects, uint64_t bytes,
    uint64_t stored);

/* In a write transaction: begin the tenant's next epoch, and say which. */
int ix_epoch_next(struct ix *, uint32_t, uint32_t *);

/* Called per tenant that has a usage record, by id.  Non-zero stops. */
typedef int ix_usage_fn(void *, uint32_t, const struct ix_usage *);
int ix_usages(struct ix *, ix_usage_fn *, void *);

/*
 * In a write transaction: everything that makes a job known; everything that
 * ends it.  The caller has checked that this may be.
 */
int ix_job_publish(struct ix *, uint32_t, const struct ix_publish *);
int ix_job_settle(struct ix *, uint32_t, const struct ix_settle *);

/* In a write transaction: a new record for a job that is not settled. */
int ix_job_restate(struct ix *, uint32_t, const char *, const uint8_t *,
    size_t);

/* A reference of a job: what it keeps, and from what time on not, 0: never. */
struct ix_ref {
	char job[JOB_ID_LEN + 1];
	char slot;
	struct obj_ref ref;
};

/**
 * ix_refs(ix, tenant, after, fn, cookie):
 * Called per reference of the tenant behind ${after} (job and slot; NULL: from
 * the first).  Non-zero stops.
 */
typedef int ix_ref_fn(void *, const struct ix_ref *);
int ix_refs(struct ix *, uint32_t, const struct ix_ref *, ix_ref_fn *,
    void *);

/* One of them.  -1: ENOENT. */
int ix_ref_get(struct ix *, uint32_t, const char *, char, struct obj_ref *);

/* Is the job among those that are not settled?  -1 with errno. */
int ix_job_is_unsettled(struct ix *, uint32_t, const char *);

/**
 * ix_job_forget(ix, tenant, number, job):
 * In a write transaction: a settled job, its references, its idempotency id
 * and its place in the order (${number}) are gone.  What they kept is a matter
 * for the next collection.
 */
int ix_job_forget(struct ix *, uint32_t, uint64_t, const char *);

/* Called per job, oldest first, with its number.  Non-zero stops. */
typedef int ix_job_num_fn(void *, uint64_t, const char *,
    const struct ix_job *);
int ix_jobs_oldest(struct ix *, uint32_t, uint64_t after, ix_job_num_fn *,
    void *);

/* Called per job.  Non-zero stops and is returned. */
typedef int ix_job_fn(void *, const struct ix_job *);
int ix_jobs_newest(struct ix *, uint32_t, ix_job_fn *, void *);
int ix_jobs_unsettled(struct ix *, ix_job_fn *, void *);

#endif /* !ERRAND_INDEX_JOB_H */
