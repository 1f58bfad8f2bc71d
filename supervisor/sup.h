#ifndef ERRAND_SUP_H
#define ERRAND_SUP_H

#include <stdint.h>

struct cgroups;
struct child;
struct config;
struct conns;
struct disk_images;
struct event_base;
struct exec_link;
struct jobs;
struct leavers;
struct keep;
struct listeners;
struct pool;
struct sandbox_pool;
struct store_client;
struct tenants;

/*
 * What the parts of the supervisor share.
 *
 * Invariants:
 *  1. Set by main.c before the loop runs, and not replaced afterwards; parts
 *     that come and go (workers, connections, jobs) are behind the pointers.
 *  2. stopping never goes back to 0.
 *  3. Nobody but main.c frees what is here.
 */
struct sup {
	struct event_base *base;
	const struct config *cfg;
	struct tenants *tenants;
	struct cgroups *cgroups;
	struct disk_images *disks;
	struct leavers *leavers;
	struct store_client *store;
	struct exec_link *exec;
	struct pool *pool;
	struct sandbox_pool *sandboxes;
	struct conns *conns;
	struct listeners *listeners;
	struct jobs *jobs;
	struct keep *keep;
	int state_fd;           /* directories below state_dir */
	int keys_fd;
	int logs_fd;
	int work_fd;            /* "run": the work root */
	uint8_t host_pk[32];    /* Ed25519 */
	uint8_t host_sk[64];
	uint64_t started_us;    /* monotonic */
	uint32_t store_uid;     /* what the workers run as */
	uint32_t exec_uid;
	int log_level;
	int stopping;           /* which step of stop.c, 0: none */
	int recovered;          /* jobs of before were seen to */
};

#endif /* !ERRAND_SUP_H */
