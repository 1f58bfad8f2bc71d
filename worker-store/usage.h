#ifndef ERRAND_USAGE_H
#define ERRAND_USAGE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/store_msg.h"

/*
 * What a tenant uses, against what it may use.  The figures are in the index
 * and change in the transactions in which objects and jobs do; the limits are
 * errandd's, which tells them with every BIND, and are kept in memory only.
 */
struct err;
struct ix_object;
struct ix_usage;
struct store;
struct uses;

struct uses *uses_new(void);
void uses_free(struct uses *);

/* errandd says what the tenant may use from now on.  -1: ENOMEM. */
int usage_limit(struct store *, uint32_t, const struct store_quota *);

/* What it may use; all zero (no limits) for one that was never bound. */
const struct store_quota *usage_quota(const struct store *, uint32_t);

/**
 * usage_get(st, tenant, u):
 * What it uses, with what is pending.  Call between ix_read and ix_read_end.
 */
int usage_get(struct store *, uint32_t, struct ix_usage *);

/**
 * usage_admit(q, u, objects, bytes, e):
 * May so much be added?  0, or -1 with ${e} saying which limit, what it is, the
 * use, and what to do.
 */
int usage_admit(const struct store_quota *, const struct ix_usage *,
    uint64_t, uint64_t, struct err *);

/* The same for one more job. */
int usage_admit_job(const struct store_quota *, const struct ix_usage *,
    struct err *);

/* Objects of the tenant became pending. */
void usage_pending(struct store *, uint32_t, uint64_t objects,
    uint64_t bytes);

/**
 * usage_count(st, o), usage_forget(st, o):
 * In a write transaction: write an object's entry, or delete it, together with
 * all figures that have to do with it.
 */
int usage_count(struct store *, const struct ix_object *);
int usage_forget(struct store *, const struct ix_object *);

/* The same for ${n} of one tenant, with one change of each figure. */
int usage_forget_all(struct store *, const struct ix_object *, size_t);

#endif /* !ERRAND_USAGE_H */
