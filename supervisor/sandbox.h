#ifndef ERRAND_SANDBOX_SUP_H
#define ERRAND_SANDBOX_SUP_H

#include <sys/queue.h>

#include <stddef.h>
#include <stdint.h>

#include "disk_image.h"
#include "priv.h"
#include "proto/exec_msg.h"
#include "proto/job_msg.h"
#include "proto/job_types.h"

struct cgroup;
struct image_conf;
struct chan;
struct job;
struct sup;
struct tenant;

/* How far a keeper has come; ascending. */
enum keeper_phase {
	KEEPER_NONE = 0x001,    /* a job without a sandbox */
	KEEPER_NEW = 0x002,     /* PREPARE sent, no HELLO yet */
	KEEPER_HELLO = 0x004,
	KEEPER_MAPPED = 0x008,
	KEEPER_PLACED = 0x010,
	KEEPER_READY = 0x020,
	KEEPER_STARTED = 0x040,
	KEEPER_ENDED = 0x080,
	KEEPER_DONE = 0x100     /* RESULT came, or it is lost */
};

/* What is fixed when a sandbox is made.  Jobs take one of their own kind. */
struct sandbox_key {
	struct tenant *tenant;
	uint8_t net;
	uint8_t as_root;
	uint64_t disk;          /* bytes its file system holds; 0: none */
	const struct image_conf *image; /* or NULL: the host's own files */
};

/*
 * One sandbox, from PREPARE to the end of its one job.
 *
 * Invariants:
 *  1. Its tenant never changes.  job is set once, to a job of that tenant, and
 *     never to another: a sandbox is used once.
 *  2. Its cgroup holds what limits says.
 *  3. chan, keeper_fd and pid1_fd are of its one keeper; chan is NULL once
 *     nothing more is heard of that.
 *  4. In the pool's list from sandbox_new to sandbox_free.
 *  5. While it has a job, the job's phase is the same.
 */
struct sandbox {
	TAILQ_ENTRY(sandbox) next;
	struct sup *sup;
	struct sandbox_key key;
	char id[JOB_ID_LEN + 1];
	enum keeper_phase phase;
	struct chan *chan;
	int keeper_fd, pid1_fd;
	struct userns userns;
	struct cgroup *cgroup;
	struct disk disk;
	struct job_limits limits;
	uint64_t cpu_made;      /* microseconds that making it took */
	uint64_t asked_us;      /* monotonic: when PREPARE was sent */
	uint8_t gone;           /* GONE came */
	uint8_t killed;         /* and said that its keeper did not clean up */
	uint8_t bounded;        /* it has no user namespace of its own */
	struct job *job;        /* whose it is, or NULL: it waits for one */
};

/**
 * sandbox_new(sup, key, limits, what):
 * Ask errand-exec for a sandbox and make its cgroup.  Return NULL with errno
 * and ${*what} naming what could not be made; NULL in there: errand-exec is
 * not there.
 */
struct sandbox *sandbox_new(struct sup *, const struct sandbox_key *,
    const struct job_limits *, const char **);

/* Close and forget it; its cgroup goes a little later. */
void sandbox_free(struct sandbox *);

/**
 * sandbox_give(box, job):
 * It is this job's from now on, and held to its limits.  0, or -1 with errno.
 */
int sandbox_give(struct sandbox *, struct job *);

/* End the channel: its keeper undoes what it made, or is gone. */
void sandbox_close(struct sandbox *);

/* SIGKILL to all in it. */
void sandbox_kill(struct sandbox *);

/* Is nobody left, the keeper included if ${keeper}? */
int sandbox_dead(const struct sandbox *, int);

/* The ids that its processes have on the host. */
struct map_rule sandbox_ids(const struct sandbox *);

/* What its keeper would have removed. */
void sandbox_orphan(const struct sandbox *);

/* Its keeper is gone (GONE), with this status. */
void sandbox_gone(struct sandbox *, int);

/* No more from its keeper, though it had no result: whoever has it is told. */
void sandbox_lost(struct sandbox *, const char *);

/* sandbox_dispatch.c: the job channel's callbacks; the cookie is the box. */
int sandbox_msg_in(void *, const uint8_t *, size_t, int *, size_t);
void sandbox_chan_end(void *, const char *);

/* To its keeper, if it still listens.  The descriptors are taken.  0 or -1. */
int sandbox_send(struct sandbox *, const struct job_msg *, const int *,
    size_t);

#endif /* !ERRAND_SANDBOX_SUP_H */
