#ifndef ERRAND_CLIENT_MSG_H
#define ERRAND_CLIENT_MSG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/care.h"
#include "proto/job_types.h"
#include "proto/snapshot_msg.h"

/*
 * Control bodies of the client connection (frames: lib/frame.h).
 *
 *   HELLO   struct client_hello, both ways
 *   OPEN    struct client_open
 *   REPLY   struct client_reply
 *   RESET   struct err, packed by err_pack
 *   GOAWAY  struct err
 *
 * What each request's stream carries:
 *   UPLOAD   c: DATA OBJECT..., END.  h: REPLY UPLOADED.  Not durable: what a
 *            later SUBMIT publishes is.
 *   SUBMIT   c: DATA ENV (all values, before END), END.  h: either DATA REFS
 *            and REPLY NEED (final: upload those and submit again), or REPLY
 *            ACCEPTED (durable; final with .detach), DATA STDOUT/STDERR ...,
 *            REPLY JOB (more) at each change of state, REPLY RESULT (final).
 *   ATTACH   h: REPLY JOB, DATA STDOUT/STDERR from the offset on, with .follow
 *            until it has settled, REPLY RESULT (or JOB, when not followed)
 *   WAIT     h: REPLY RESULT once it has settled
 *   STATUS   h: REPLY JOB
 *   LIST     h: REPLY JOB (more) each, REPLY DONE
 *   KILL     h: REPLY RESULT once the end is durable; with .no_wait REPLY DONE
 *   GET      c: DATA REFS..., END.  h: DATA OBJECT in that order, REPLY DONE
 *   CHANGES  h: REPLY JOB (more), DATA OBJECT, REPLY DONE: the record as it is
 *            stored and, if the job has ended, the list of changes, if it is
 *            one chunk, and what is in the files it names, if that is little
 *            (LIMIT_AHEAD_*).  What is not sent is got by GET
 *   RECEIPT  h: DATA BYTES, REPLY DONE
 *   INFO     h: REPLY INFO
 *   ADMIN    h: REPLY ADMIN
 *   CARE     h: REPLY CARE (more) at each step, and for a backup DATA BYTES,
 *            REPLY CARE when it is done
 *   INPUT    h: REPLY INPUT (more) once the command runs and nobody else has
 *            its input (or, with .take, has it any longer): so many bytes of it
 *            are there.  Then c: DATA STDIN from that offset on, END when it is
 *            at its end, or RESET to leave it as it is.  h: REPLY DONE when the
 *            command takes no more; RESET when another client took it
 *   WINDOW   h: REPLY DONE: the size of its terminal was passed on
 */
struct client_hello {
	uint32_t proto_min, proto_max;
	char software[32];
	char tenant[TENANT_NAME_MAX + 1];       /* asked for; from the host:
						 * the one it is */
	/* from the host */
	uint8_t host_key[32];
	char host[LIMIT_NAME];
	uint64_t clock_us;      /* real time there */
};

enum client_verb {
	CLIENT_UPLOAD = 1, CLIENT_SUBMIT, CLIENT_ATTACH, CLIENT_WAIT,
	CLIENT_STATUS, CLIENT_LIST, CLIENT_KILL, CLIENT_GET, CLIENT_RECEIPT,
	CLIENT_INFO, CLIENT_ADMIN, CLIENT_CARE, CLIENT_INPUT, CLIENT_WINDOW,
	CLIENT_CHANGES,
	CLIENT_VERB__MAX
};

struct client_open {
	uint8_t verb;
	char job[LIMIT_NAME + 1];       /* id, label, prefix, or "last" */
	struct job_submit submit;
	uint64_t offset;                /* ATTACH */
	uint8_t follow;                 /* ATTACH */
	uint8_t all;                    /* LIST: ended ones too */
	uint32_t limit;                 /* LIST */
	uint8_t signal;                 /* KILL: 0 TERM, grace, KILL */
	uint8_t no_wait;                /* KILL: deliver only */
	uint8_t admin;                  /* ADMIN: enum snap_admin */
	struct tenant_info tenant;      /* ADMIN */
	struct cache_info cache;        /* ADMIN */
	uint8_t task;                   /* CARE: enum care_task */
	uint8_t take;                   /* INPUT: from whoever has it */
	uint16_t rows, cols;            /* WINDOW */
};

enum client_reply_kind {
	CLIENT_UPLOADED = 1, CLIENT_NEED, CLIENT_ACCEPTED, CLIENT_JOB,
	CLIENT_RESULT, CLIENT_DONE, CLIENT_INFO_REPLY, CLIENT_ADMIN_REPLY,
	CLIENT_CARE_REPLY, CLIENT_INPUT_REPLY, CLIENT_REPLY__MAX
};

struct client_reply {
	uint8_t kind;
	uint64_t objects, bytes;        /* UPLOADED, NEED, DONE (kept bytes) */
	uint8_t existed;                /* ACCEPTED */
	uint64_t offset;                /* ACCEPTED, JOB, INPUT: DATA starts
					 * here */
	struct job_record record;       /* ACCEPTED (id, state, times only),
					 * JOB, RESULT */
	struct job_limits limits;       /* INFO */
	uint32_t cpus;                  /* INFO */
	uint64_t memory;                /* INFO */
	uint8_t net_host;               /* INFO */
	uint8_t disk_soft;              /* INFO: that limit is counted only */
	uint8_t disk_may;               /* INFO: it can be asked for */
	uint8_t cpu_time_may;           /* INFO */
	uint8_t has_used;               /* INFO: the store could be asked */
	struct tenant_used used;
	struct tenant_used quota;       /* 0: no limit */
	uint32_t nimages;               /* INFO */
	struct job_image images[IMAGES_MAX];
	uint8_t admin;                  /* ADMIN */
	struct admin_status *status;    /* ADMIN STATUS; owned by the parser's
					 * caller: client_reply_done */
	uint32_t ntenants;
	struct tenant_info *tenants;    /* ADMIN; owned likewise */
	uint32_t ncaches;
	struct cache_info *caches;      /* ADMIN; owned likewise */
	struct care *care;              /* CARE; owned likewise */
};

ssize_t client_hello_pack(const struct client_hello *, uint8_t *, size_t);
int client_hello_parse(const uint8_t *, size_t, struct client_hello *);
ssize_t client_open_pack(const struct client_open *, uint8_t *, size_t);
int client_open_parse(const uint8_t *, size_t, struct client_open *);
ssize_t client_reply_pack(const struct client_reply *, uint8_t *, size_t);
int client_reply_parse(const uint8_t *, size_t, struct client_reply *);
void client_reply_done(struct client_reply *);
ssize_t err_pack(const struct err *, uint8_t *, size_t);
int err_parse(const uint8_t *, size_t, struct err *);

/* Fill an error; always returns -1, so that it can be returned. */
int err_set(struct err *, enum err_code, const char *, ...)
    __attribute__((format(printf, 3, 4)));

#endif /* !ERRAND_CLIENT_MSG_H */
