#ifndef ERRAND_CONN_H
#define ERRAND_CONN_H

#include <stddef.h>
#include <stdint.h>

#include "proto/snapshot_msg.h"

struct conn;
struct conns;
struct job;
struct sup;
struct tenant;
struct watch;
struct worker;

#define CONN_WATCHES    256     /* jobs one connection follows */

/* What a connection may ask for; a set, for the routes. */
enum conn_state {
	CONN_WAITING = 0x1,     /* for a worker */
	CONN_SERVED = 0x2,      /* has one, not bound */
	CONN_BINDING = 0x4,
	CONN_BOUND = 0x8
};

/* All connections.  ${stopped} is called when the last worker is down. */
struct conns *conns_new(struct sup *, void (*stopped)(struct sup *));
void conns_free(struct conns *);

/**
 * conns_accept(cs, fd, uid, admin):
 * A new client (taken) whose peer is ${uid}.  If there is no place for it, it
 * is told so and closed at once.
 */
void conns_accept(struct conns *, int, uint32_t, int);

unsigned int conns_count(const struct conns *);

/* Events of the pool and of the store. */
void conns_worker_idle(struct conns *);
void conns_pool_down(struct conns *);
void conns_store_back(struct conns *);
void conns_store_stuck(struct conns *);
void conn_worker_gone(struct conn *);

/* Events of jobs, to all who watch. */
void conn_job_state(struct job *);
void conn_job_log(struct job *);

enum conn_state conn_state(const struct conn *);
int conn_admin(const struct conn *);
uint32_t conn_uid(const struct conn *);
struct tenant *conn_tenant(const struct conn *);

/* Begin to bind it, as the tenant ${t} (NULL: an operator, who
 * gets a channel for the care of the store if that is up). */
void conn_bind(struct conn *, uint64_t, struct tenant *);

/* Follow a job.  0, or -1 with ${err}. */
int conn_watch(struct conn *, struct job *, int, struct err *);
void watch_free(struct watch *);

/* Replies and events; ${fd} is taken. */
void conn_send(struct conn *, const struct snap_msg *, int);
void conn_error(struct conn *, uint64_t, const struct err *);
void conn_submitted(struct conn *, uint64_t, const char *, uint8_t, int);

/* An empty message to fill in, valid until the next call. */
struct snap_msg *conn_msg(struct conn *, enum snap_op, uint64_t);

/* For a reply that comes later: a number that is never another's. */
uint64_t conn_serial(const struct conn *);
struct conn *conns_by_serial(struct conns *, uint64_t);

#endif /* !ERRAND_CONN_H */
