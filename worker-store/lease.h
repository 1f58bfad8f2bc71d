#ifndef ERRAND_LEASE_H
#define ERRAND_LEASE_H

#include <stdint.h>

#include "lib/object.h"

/*
 * What uploads in progress keep from being collected.  A channel's lease
 * covers every object that was put on it, was found there by a PUT, or was
 * found by a CHECK below its root, from the first of these until the work is
 * published, or until LEASE_GRACE minutes after the channel has gone: so an
 * upload that was cut off can go on where it was.  But not where a quota is in
 * the way of another of the tenant's: a collection that an upload waits for
 * (pressed) takes no heed of uploads whose channels have gone.  Else a tenant
 * whose tree was refused for its size could send no smaller one for all that
 * time.  What a job's channel has put (STORE_RIGHT_RESULTS) is not given up: it
 * is settled only later, with nobody there to send it again.
 *
 * An object that is put, or found by a PUT, is covered by its stamp, which is
 * in the index and outlives us; no channel's lease is younger than its oldest
 * stamp.  What CHECKs found is covered by their roots, of which a lease keeps
 * the LEASE_ROOTS newest.
 *
 * Times are in minutes since 1970, as stamps are.
 */
#define LEASE_GRACE     15
#define LEASE_TOUCH     1       /* a stamp so old is made anew */
#define LEASE_ROOTS     16
#define LEASES_ENDED    256     /* most that outlive their channel */

struct ix_object;
struct lease;
struct leases;
struct peer;
struct store;

/* NULL with errno. */
struct leases *leases_new(struct store *);
void leases_free(struct leases *);

uint32_t stamp_now(void);

/* Objects are put on the channel; 0, or -1 with errno = ENOMEM. */
int lease_begin(struct peer *);

/* A PUT found this one.  Its stamp is renewed with the next commit. */
int lease_touch(struct store *, const struct ix_object *);

/* A CHECK of the channel looks below this root. */
int lease_root(struct peer *, const struct obj_ref *);

/* A job with this root is durable: what was leased for it is referenced. */
void lease_published(struct store *, uint32_t, const struct obj_ref *);

/* The channel has gone. */
void lease_end(struct peer *);

/* Objects of the tenant with this stamp or a later one are covered; when it is
 * pressed, by jobs and by channels that are there. */
uint32_t lease_floor(struct store *, uint32_t, int pressed);

/* Each root that is covered, likewise.  Non-zero stops and is returned. */
typedef int lease_fn(void *, const struct obj_ref *);
int lease_each(struct store *, uint32_t, int pressed, lease_fn *, void *);

/* Are there stamps to be renewed?  Do it in a write transaction; it is done,
 * durably. */
int lease_due(const struct store *);
int lease_write(struct store *);
void lease_written(struct store *);

#endif /* !ERRAND_LEASE_H */
