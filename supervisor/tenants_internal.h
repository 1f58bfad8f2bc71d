#ifndef ERRAND_TENANTS_INTERNAL_H
#define ERRAND_TENANTS_INTERNAL_H

#include <sys/queue.h>

#include <stdint.h>

#include "proto/limits.h"
#include "tenants.h"

TAILQ_HEAD(tenant_list, tenant);

/* A file that was no tenant's when it was read. */
struct refused {
	TAILQ_ENTRY(refused) next;
	char name[256];
	char why[LIMIT_TEXT];
};
TAILQ_HEAD(refused_list, refused);

/*
 * Invariants:
 *  1. next_id is above every id that was ever given; tenants.next in the
 *     state directory says so durably before an id is used.
 *  2. list is in order of id.
 *  3. While a file is refused, nobody becomes a tenant by himself: he may be
 *     the one whose file it is.
 */
struct tenants {
	const struct config *cfg;
	int state_fd;
	int dir_fd;
	struct tenant_list list;
	struct refused_list refused;
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

/* Has ${a} a local user that ${b} has not? */
int tenants_claims(const struct tenant_conf *, const struct tenant_conf *);

#endif /* !ERRAND_TENANTS_INTERNAL_H */
