#ifndef ERRAND_SANDBOX_POOL_H
#define ERRAND_SANDBOX_POOL_H

#include <stdint.h>

#include "proto/snapshot_msg.h"
#include "sandbox.h"

/*
 * Sandboxes that are ready before their jobs: for each kind (sandbox_key) of
 * which there was a job not long ago, as many as came in one burst, within
 * bounds for each tenant and for all.
 */
struct sandbox_pool;

struct sandbox_pool *sandbox_pool_new(struct sup *);
void sandbox_pool_free(struct sandbox_pool *);

/**
 * sandbox_pool_claim(p, key, limits):
 * A sandbox for a job of this kind: one that is ready, else one that is being
 * made; NULL when there is neither.  Refilling follows by itself.
 */
struct sandbox *sandbox_pool_claim(struct sandbox_pool *,
    const struct sandbox_key *, const struct job_limits *);

/*
 * A job that has one was just started, or has just ended: others of its burst
 * may be about to, and what is made for the next would be in their way.
 */
void sandbox_pool_stir(struct sandbox_pool *);

/* Its table of all sandboxes, those of jobs too. */
void sandbox_pool_add(struct sandbox_pool *, struct sandbox *);
void sandbox_pool_remove(struct sandbox_pool *, struct sandbox *);
struct sandbox *sandbox_pool_find(struct sandbox_pool *, const char *);

/* One is READY. */
void sandbox_pool_ready(struct sandbox *);

/* One without a job could not be made, or ended: it is freed in here. */
void sandbox_pool_failed(struct sandbox *, const char *);

/* errand-exec is there; it has ended, and all without a job with it. */
void sandbox_pool_exec_up(struct sandbox_pool *);
void sandbox_pool_exec_lost(struct sandbox_pool *);

/* The daemon stops: let all go that have no job, and make no more. */
void sandbox_pool_stop(struct sandbox_pool *);

/* What an operator sees of it. */
void sandbox_pool_show(const struct sandbox_pool *, struct admin_status *);

#endif /* !ERRAND_SANDBOX_POOL_H */
