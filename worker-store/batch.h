#ifndef ERRAND_BATCH_H
#define ERRAND_BATCH_H

#include <sys/queue.h>

#include <stddef.h>
#include <stdint.h>

#include "index_job.h"
#include "peer.h"

struct store;
struct walk;

/*
 * The group commit.  Requests that must be durable gather here; when no
 * channel has anything more to say, one barrier serves them all: flush the
 * pack, one transaction of the index, the replies.
 *
 * Priorities of the event loop: channels first, then the batch and the walks.
 * So the batch's event runs when nothing more is waiting.
 */
#define STORE_PRIOS             3
#define STORE_PRIO_LATER        2       /* channels have 1, the default */

#define BATCH_REQUESTS  4096
#define BATCH_AGE_US    5000
#define BATCH_IDLE_US   50000           /* pending objects without a request */
#define BATCH_HOLD_US   500000          /* and with others that keep coming */

enum job_req_state {
	REQ_WRITE,              /* to be written */
	REQ_SAME,               /* repeats one in this batch: shares its fate */
	REQ_DONE                /* nothing to write: refused, or known before */
};

/*
 * A PUBLISH or a SETTLE.  All of them go through the batch, also those that
 * are refused, so that a tenant's are answered in the order they were sent.
 */
struct job_req {
	STAILQ_ENTRY(job_req) next;
	struct ask ask;                 /* its peer is held */
	uint32_t tenant;
	char job[JOB_ID_LEN + 1];
	uint8_t idem[IX_IDEM_LEN];      /* PUBLISH */
	uint64_t sequence;              /* SETTLE */
	uint8_t digest[IX_DIGEST_LEN];
	struct obj_ref root;
	struct obj_ref second;          /* PUBLISH: spec; SETTLE: list */
	uint8_t *record;                /* owned; the receipt is behind it */
	size_t record_len;
	size_t receipt_len;
	uint64_t log_bytes;             /* SETTLE */
	int walked;                     /* PUBLISH: its objects are known */
	struct walk *walk;              /* owned; ended, nothing missing */
	enum job_req_state state;
	char existed[JOB_ID_LEN + 1];   /* the job that it named before */
	int restate;                    /* only its record is written anew */
	struct err refusal;             /* code NONE: it is not refused */
};

void job_req_free(struct job_req *);

struct batch;

struct batch *batch_new(struct store *);
void batch_free(struct batch *);

/**
 * batch_take(b, r):
 * Add a request (taken) that has been checked against the index and against
 * what batch_publish_of, batch_job_of and batch_head say.
 */
void batch_take(struct batch *, struct job_req *);

/* Objects became pending: see to it that they are committed some time. */
void batch_touch(struct batch *);

/**
 * batch_room(b):
 * Make sure that another put's objects may become pending.  0, or -1 with
 * errno when those that are there cannot be committed.
 */
int batch_room(struct batch *);

/* Run a barrier now.  0, or -1 with errno; the requests have been answered. */
int batch_run(struct batch *);

/* What waits: the PUBLISH with this idempotency id; one for this job; the
 * SETTLE of this job.  NULL for none. */
const struct job_req *batch_publish_of(const struct batch *, uint32_t,
    const uint8_t *idem);
const struct job_req *batch_job_of(const struct batch *, uint32_t,
    uint8_t op, const char *job);

/* The sequence that the tenant's chain will have after this batch, 0 if the
 * batch does not change it. */
uint64_t batch_head(const struct batch *, uint32_t);

#endif /* !ERRAND_BATCH_H */
