#ifndef ERRAND_JOBS_H
#define ERRAND_JOBS_H

#include <sys/queue.h>

#include <event2/event_struct.h>
#include <sched.h>
#include <stdint.h>

#include "job_input.h"
#include "proto/job_types.h"
#include "sandbox.h"

struct conn;
struct jobs;
struct sup;
struct tenant;

#define JOBS_MAX        4096    /* that have not ended */
#define JOBS_TENANT_MAX 1024    /* of one tenant */
/* Bytes of environments that wait with them. */
#define JOBS_VALUES     (UINT64_C(512) * 1024 * 1024)
#define JOBS_TENANT_VALUES (UINT64_C(64) * 1024 * 1024) /* of one tenant's */

/* What a job's one timer is for. */
enum job_wait {
	WAIT_NONE,
	WAIT_START,             /* from RUN to STARTED */
	WAIT_RUNTIME,           /* the limit */
	WAIT_GRACE,             /* from TERM to KILL */
	WAIT_KILLED,            /* from KILL to ENDED */
	WAIT_COLLECT,           /* from ENDED to RESULT */
	WAIT_EMPTY,             /* from RESULT to an empty cgroup */
	WAIT_SETTLE,            /* until the store is asked again */
	WAIT__MAX
};

/* A connection that is told what becomes of a job. */
struct watch {
	TAILQ_ENTRY(watch) of_job;
	TAILQ_ENTRY(watch) of_conn;
	struct conn *conn;
	struct job *job;
	int log;                /* LOG events too */
};

/*
 * Invariants of struct job, true whenever the event loop runs:
 *  1. It is in the jobs table from its admission until its end is durable (or
 *     given up), and its id is valid, ours, and never used again.
 *  2. rec.state is QUEUED, STARTING, RUNNING, SETTLING or, once the final
 *     record is composed, final; it only moves forward.
 *  3. slot is set exactly when the job counts as running, from STARTING on;
 *     a job without a slot is QUEUED, or settles without having run.
 *  4. GO is sent at most once, only after a PUBLISH that says STARTING was OK,
 *     and never when doomed.
 *  5. box is its sandbox, which no other job had or will have; its channel is
 *     closed when phase is DONE.
 *  6. At most one of the store's requests is under way: request != 0.
 *  7. submitter is the connection that waits for SUBMITTED, or NULL.
 */
struct job {
	TAILQ_ENTRY(job) all;
	TAILQ_ENTRY(job) settle;        /* in the tenant's chain */
	struct sup *sup;
	struct tenant *tenant;
	struct job_record rec;
	struct job_result result;
	TAILQ_HEAD(, watch) watches;
	struct conn *submitter;
	uint64_t submit_id;
	int values_fd;
	uint64_t values;        /* bytes in it, as they count for the tenant */
	struct job_input input;
	/* the store */
	uint64_t request;
	int published;                  /* its record is durable */
	int go;                         /* GO was sent */
	int settling;                   /* in the tenant's chain */
	int settle_tries;
	/* the sandbox */
	enum keeper_phase phase;
	struct sandbox *box;
	struct disk_wait *disk;         /* it waits for one, and has no box */
	cpu_set_t cpus;                 /* it is shown; none: all */
	int slot;
	/* its end */
	int doomed;                     /* shall not run (any more) */
	int lost;                       /* of a former daemon, while it ran */
	int orphan;                     /* its keeper died before its end */
	int user_kill;                  /* a signal was asked for */
	uint8_t limit;                  /* enum job_limit that we saw reached */
	int room_asked;                 /* a quota was in the way, once */
	struct err refusal;             /* what it said */
	struct err fault;               /* of ours; code NONE: none */
	struct err remark;      /* the job is well, but: a reason to give */
	int pids_hit;
	uint8_t disk_hit;               /* DISK or INODES: full at its end */
	enum job_wait waits;
	struct event timer;
	struct event meter;
	struct event logack;
	uint64_t wait_until;            /* monotonic, for WAIT_EMPTY */
	uint64_t last_log_us;
	unsigned int log_early;         /* LOGs since a LOGACK is held back */
	uint64_t log_bytes;
	uint64_t log_made;      /* as which of the tenant's, 0: long ago */
	/* monotonic, for the phases */
	uint64_t t_submit, t_admit, t_start, t_settle;
};

/* jobs.c: the table, admission, the queue. */
struct jobs *jobs_new(struct sup *);
void jobs_free(struct jobs *);
struct job *jobs_find(struct jobs *, const char *);
struct job *jobs_next(struct jobs *, struct job *);
uint32_t jobs_running(const struct jobs *);
uint32_t jobs_queued(const struct jobs *);
uint32_t jobs_count(const struct jobs *);

/* A new job of a tenant in the table, QUEUED, or NULL. */
struct job *job_new(struct sup *, struct tenant *);

/* Its environment's values, which are the caller's now; -1: none, or gone. */
int job_values(struct job *);

/* Forget it: it is out of the table, and nothing of it is left open. */
void job_free(struct job *);

/* Take or give back the slot; keeps the counts. */
void job_slot(struct job *, int);

/* May one more of this tenant's jobs run now? */
int jobs_slot_free(const struct jobs *, const struct tenant *);

/* Start what may start, fewest running tenant first, then in order. */
void jobs_kick(struct jobs *);

/* exec is gone: what ran there has failed. */
void jobs_exec_lost(struct jobs *);

/* The store is back: settle what waits for it. */
void jobs_store_back(struct jobs *);

/* The daemon stops: end what runs, in words for their submitters. */
void jobs_stop(struct jobs *);

/* Tell ${fn} each time a job is forgotten (to know when none is left). */
void jobs_on_gone(struct jobs *, void (*)(struct sup *));

/* Set to 0 what nothing on this host holds a job to. */
void limits_hold(const struct sup *, struct job_limits *);

/* May a job ask for the limit of that name here? */
int limits_may(const struct sup *, const char *);

/* job_submit.c */
/**
 * job_submit(sup, conn, id, submit, fd):
 * Take a submission (values in ${fd}, taken, or -1).  The connection gets
 * SUBMITTED or ERROR for request ${id}, now or later.
 */
void job_submit(struct sup *, struct conn *, uint64_t,
    const struct job_submit *, int);

/* Publish the record as it is.  0, or -1 when the store cannot be asked. */
int job_publish(struct job *);

/* job_start.c */
/* With a slot taken: make its log and store channel, take a sandbox or have one
 * made, and send RUN.  If a disk for that has to be made first, all this comes
 * later.  0 or -1 with the job's fault set. */
int job_start(struct job *);
/* The store is another process now: its keeper gets a channel to that. */
void job_store_again(struct job *);
/* Let it execute, if all is ready for that. */
void job_go(struct job *);

/* job_meter.c: limits that have to be looked after while it runs. */
void job_meter_init(struct job *, struct event_base *);
void job_meter_start(struct job *);
void job_meter_stop(struct job *);

/* job_cpus.c: let it see as many processors as it may use. */
void job_cpus(struct job *);

/* job_end.c */
/* Deliver a signal, as SNAP_SIGNAL says; ${limit} if a limit is why. */
void job_signal(struct job *, uint8_t, enum job_limit);
/* Kill at once everything of it. */
void job_kill(struct job *);
/* Ours failed: say so in its record and end it. */
void job_fail(struct job *, enum err_code, const char *, ...)
    __attribute__((format(printf, 3, 4)));
/* The keeper says that nobody is left, and then what came of it. */
void job_ended(struct job *);
void job_result(struct job *);
/* No more from this keeper. */
void job_keeper_lost(struct job *, const char *);
void job_timer(struct job *, enum job_wait, uint64_t);
void job_on_timer(evutil_socket_t, short, void *);
/* Go on to the end: all of it is dead or will be. */
void job_finish(struct job *);

/* job_settle.c */
/* Compose the final record and have it made durable with a receipt. */
void job_settle(struct job *);
/* Send the next of a tenant's chain to the store, if it can be. */
void chain_kick(struct sup *, struct tenant *);

/* recover.c: settle what the store knows as not ended and we do not. */
void jobs_recover(struct sup *, void (*)(struct sup *));

#endif /* !ERRAND_JOBS_H */
