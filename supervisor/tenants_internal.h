#ifndef ERRAND_TENANTS_INTERNAL_H
#define ERRAND_TENANTS_INTERNAL_H

#include <sys/queue.h>

#include <stdint.h>

#include "tenants.h"

TAILQ_HEAD(tenant_list, tenant);

/*
 * Invariants:
 *  1. next_id is above every id that was ever given; tenants.next in the
 *     state directory says so durably before an id is used.
 *  2. list is in order of id.
 */
struct tenants {
	const struct config *cfg;
	int state_fd;
	int dir_fd;
	struct tenant_list list;
	uint32_t count;
	uint32_t next_id;
};

/* One with what ${tc} says, in no list.  NULL with errno. */
struct tenant *tenants_new(const struct tenant_conf *);

/* Put ${t}, which the list then owns, where its id belongs. */
void tenants_insert(struct tenant_list *, struct tenant *);
void tenants_clear(struct tenant_list *);

/* The tenant of that name, gone or not, or NULL. */
struct tenant *tenants_find(const struct tenants *, const char *);

/**
 * tenants_clash(a, b, rootless):
 * Why two tenants cannot both be, as text that the other's name can follow,
 * or NULL.
 */
const char *tenants_clash(const struct tenant_conf *,
    const struct tenant_conf *, int);

#endif /* !ERRAND_TENANTS_INTERNAL_H */
