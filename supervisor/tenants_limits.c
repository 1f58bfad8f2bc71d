/*
 * What a tenant may ask and keep, its own values before the defaults.  Memory
 * only.
 */
#include <string.h>

#include "config.h"
#include "tenants_internal.h"
#include "tenants_limits.h"

#define PICK(l, d, member) \
	do { if ((l)->member == 0) (l)->member = (d)->member; } while (0)

void
tenant_limits(const struct tenants *ts, const struct tenant *t,
    struct job_limits *l)
{
	const struct job_limits *d = &ts->cfg->defaults;

	*l = t->conf.limits;
	PICK(l, d, cpus_milli);
	PICK(l, d, pids);
	PICK(l, d, memory);
	PICK(l, d, disk);
	PICK(l, d, runtime_us);
	PICK(l, d, cpu_us);
	PICK(l, d, log_bytes);
	PICK(l, d, changes);
}

void
tenant_keep(const struct tenants *ts, const struct tenant *t,
    struct keep_conf *k)
{
	const struct keep_conf *d = &ts->cfg->keep;

	*k = t->conf.keep;
	PICK(k, d, store);
	PICK(k, d, objects);
	PICK(k, d, jobs);
	PICK(k, d, logs);
	PICK(k, d, keep_us);
	PICK(k, d, cache_size);
	PICK(k, d, cache_total);
}

void
tenant_quota(const struct tenants *ts, const struct tenant *t,
    struct store_quota *q)
{
	struct keep_conf k;

	tenant_keep(ts, t, &k);
	q->bytes = k.store;
	q->objects = k.objects;
	q->jobs = k.jobs;
	q->log_bytes = k.logs;
}

uint32_t
tenant_slots(const struct tenants *ts, const struct tenant *t)
{
	return (t->conf.slots != 0 ? t->conf.slots : ts->cfg->tenant_slots);
}

void
tenant_show(const struct tenants *ts, const struct tenant *t,
    struct tenant_info *ti)
{
	struct keep_conf k;

	memset(ti, 0, sizeof(*ti));
	memcpy(ti->name, t->conf.name, sizeof(ti->name));
	ti->id = t->conf.id;
	ti->nuids = t->conf.nuids;
	memcpy(ti->uids, t->conf.uids, sizeof(ti->uids));
	ti->host_uid = t->conf.host_uid;
	ti->slots = tenant_slots(ts, t);
	ti->net_host = t->conf.net_host;
	ti->automatic = t->conf.automatic;
	tenant_keep(ts, t, &k);
	ti->store_bytes = k.store;
	ti->store_objects = k.objects;
	ti->jobs = k.jobs;
	ti->log_bytes = k.logs;
	ti->keep_us = k.keep_us;
	ti->cache_size = k.cache_size;
	ti->cache_total = k.cache_total;
	tenant_limits(ts, t, &ti->limits);
	ti->running = t->running;
	ti->queued = t->queued;
}
