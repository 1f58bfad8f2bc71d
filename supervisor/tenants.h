#ifndef ERRAND_TENANTS_H
#define ERRAND_TENANTS_H

#include <sys/queue.h>

#include <stdint.h>

#include "config.h"
#include "proto/snapshot_msg.h"

struct job;

/* The end of a tenant's chain of receipts, as the store holds it. */
struct chain {
	int loaded;             /* sequence and digest are the store's */
	int busy;               /* a HEAD or a SETTLE is on its way */
	uint64_t sequence;
	uint8_t digest[32];
	TAILQ_HEAD(, job) waiting;      /* to settle, in order */
};

/*
 * Whose jobs and objects are whose.
 *
 * Invariants:
 *  1. Never freed while the daemon runs: jobs and connections point at it.
 *     A tenant whose file has gone is marked gone, and nobody is it any more.
 *  2. id and host_uid never change, and are never given to another.
 *  3. A local uid is in at most one tenant that is not gone.
 *  4. running and queued count this tenant's jobs in the jobs table; a job
 *     that settles still counts as running.
 */
struct tenant {
	TAILQ_ENTRY(tenant) next;
	struct tenant_conf conf;
	int gone;
	uint32_t running;
	uint32_t queued;
	uint64_t values;        /* bytes of its waiting jobs' environments */
	uint32_t settled;       /* since old jobs were looked for */
	uint64_t logs;          /* made so far */
	uint64_t logs_synced;   /* of these, names that were flushed */
	struct chain chain;
};

struct tenants;

/**
 * tenants_open(cfg, state_fd):
 * Read every file of tenants_dir (made if absent).  A file that is wrong is
 * logged and refused: there is no such tenant then.  Return NULL after logging
 * when there can be no tenants at all.
 */
struct tenants *tenants_open(const struct config *, int);
void tenants_close(struct tenants *);

/**
 * tenants_reload(t):
 * Read the files again.  The tenant of a file that is refused stays as it was.
 * Return 0, or -1 when the directory cannot be read: nothing changes then.
 */
int tenants_reload(struct tenants *);

/**
 * tenants_refused(t, name):
 * Why the file of ${name} was refused when it was read last (NULL: the first
 * of those that were); borrowed.  NULL when none was.
 */
const char *tenants_refused(const struct tenants *, const char *);

/**
 * tenants_check(cfg):
 * Read the files and write nothing.  Return 0, or -1 after logging what is
 * wrong with them.
 */
int tenants_check(const struct config *);

struct tenant *tenants_by_name(struct tenants *, const char *);
struct tenant *tenants_by_id(struct tenants *, uint32_t);

/* The tenant that a local user is, or NULL: none is made. */
struct tenant *tenants_of_uid(const struct tenants *, uint32_t);

/**
 * tenants_by_uid(t, uid, err):
 * The tenant of a local user; with local_tenants = auto made if there is
 * none.  Return NULL with ${err} filled.
 */
struct tenant *tenants_by_uid(struct tenants *, uint32_t, struct err *);

/**
 * tenants_add(t, tc, err):
 * Make a tenant: id and host uid are assigned, its file is durable when this
 * returns.  NULL with ${err} filled.
 */
struct tenant *tenants_add(struct tenants *, const struct tenant_conf *,
    struct err *);

/**
 * tenants_set(t, who, ti, err):
 * Change what ti->given says of a tenant; its file is durable when this
 * returns.  NULL with ${err} filled: then nothing has changed.
 */
struct tenant *tenants_set(struct tenants *, struct tenant *,
    const struct tenant_info *, struct err *);

/* The one with the least id above ${id}, not gone, or NULL. */
struct tenant *tenants_after(struct tenants *, uint32_t);

/* Each one, for the scheduler; NULL begins and ends. */
struct tenant *tenants_next(struct tenants *, struct tenant *);

#endif /* !ERRAND_TENANTS_H */
