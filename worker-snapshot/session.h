#ifndef ERRAND_SNAP_SESSION_H
#define ERRAND_SNAP_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include "lib/frame.h"
#include "proto/client_msg.h"

struct conn;
struct event;
struct event_base;
struct store_client;
struct stream;
struct sup;

/* What the supervisor said in BOUND. */
struct session_host {
	char tenant[TENANT_NAME_MAX + 1];
	uint8_t host_key[32];
	char host[LIMIT_NAME];
	struct job_limits limits;
	uint8_t net_host;
	uint8_t disk_soft;
	uint8_t disk_may;
	uint8_t cpu_time_may;
	uint32_t cpus;
	uint64_t memory;
	uint32_t nimages;
	struct job_image images[IMAGES_MAX];
};

/*
 * The one connection of this process.
 *
 * Invariants:
 *  1. conn is not NULL exactly from SERVE on; it is never replaced.
 *  2. bound is set exactly when host is filled in; store is not NULL exactly
 *     when it is bound, but on a control connection it may be NULL.  Streams
 *     of a tenant's connection exist only then.
 *  3. streams[0 .. nstreams - 1] are in order of their ids.  A stream that is
 *     over stays until session_after, so that a handler never sees its stream
 *     vanish.
 *  4. The process ends when the connection or the supervisor's channel ends.
 */
struct session {
	struct event_base *base;
	struct sup *sup;
	struct conn *conn;
	struct store_client *store;
	struct session_host host;
	struct event *again;    /* output could go on at once */
	uint8_t admin;          /* came in on the control socket */
	uint8_t bound;
	uint8_t greeted;        /* our HELLO was sent */
	int status;             /* of the process */
	size_t nstreams;
	struct stream *streams[FRAME_STREAMS];
	uint8_t body[FRAME_BODY_MAX];   /* replies are packed here */
};

/**
 * session_new(base, fd):
 * Take over the supervisor's channel ${fd}.  NULL with errno on failure.
 */
struct session *session_new(struct event_base *, int);
void session_free(struct session *);

/* Tell the supervisor that this worker can serve. */
void session_ready(struct session *, int landlock);

/*
 * What every event ends with: streams that waited for something look again,
 * those that are over are freed, output is written, the end is noticed.
 */
void session_after(struct session *);

/* What main returns. */
int session_status(const struct session *);

#endif /* !ERRAND_SNAP_SESSION_H */
