#ifndef ERRAND_TENANTS_LIMITS_H
#define ERRAND_TENANTS_LIMITS_H

#include <stdint.h>

#include "proto/snapshot_msg.h"
#include "proto/store_msg.h"
#include "tenants.h"

/* The limits of its jobs: what it may ask at most, and gets by default. */
void tenant_limits(const struct tenants *, const struct tenant *,
    struct job_limits *);

/* What it may keep: its own limits, else the defaults. */
void tenant_keep(const struct tenants *, const struct tenant *,
    struct keep_conf *);

/* The same in the store's words. */
void tenant_quota(const struct tenants *, const struct tenant *,
    struct store_quota *);

/* How many of its jobs run at once. */
uint32_t tenant_slots(const struct tenants *, const struct tenant *);

/* All of it, for errandctl. */
void tenant_show(const struct tenants *, const struct tenant *,
    struct tenant_info *);

#endif /* !ERRAND_TENANTS_LIMITS_H */
