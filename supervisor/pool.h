#ifndef ERRAND_POOL_H
#define ERRAND_POOL_H

#include <stddef.h>
#include <stdint.h>

struct child;
struct conn;
struct pool;
struct sup;

/*
 * A place for one errand-snapshot process, with a uid of its own.
 *
 * Invariants:
 *  1. conn != NULL only while its process serves that connection; a process
 *     that has served is never idle again.
 *  2. idle is set exactly when the process is READY and was not claimed.
 */
struct worker {
	struct sup *sup;
	struct child *child;
	struct conn *conn;
	int idle;
	int32_t landlock;       /* as it said */
};

/* Places for as many connections as uids and POOL_MAX allow. */
#define POOL_MAX        256
struct pool *pool_new(struct sup *);
void pool_free(struct pool *);

/* Start idle workers up to the wanted number. */
void pool_refill(struct pool *);

/* One was claimed: start another a moment later, after what its client wants;
 * at once when none is left. */
void pool_refill_soon(struct pool *);

/* An idle worker, which is the caller's from now on; NULL if none is. */
struct worker *pool_claim(struct pool *);

/* End all of them. */
void pool_stop(struct pool *);
int pool_down(const struct pool *);

/* How many there are. */
size_t pool_places(const struct pool *);

/* The ${i}-th place, NULL past the end. */
struct worker *pool_at(struct pool *, size_t);

#endif /* !ERRAND_POOL_H */
