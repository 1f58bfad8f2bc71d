#ifndef ERRAND_JOB_TYPES_H
#define ERRAND_JOB_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/image.h"
#include "lib/object.h"
#include "lib/text.h"
#include "proto/limits.h"

/*
 * What is known about a job, as plain structures.  They are used by every
 * process; none of them holds a pointer unless it says so.
 */

enum job_state {
	JOB_STAGED = 1, JOB_QUEUED, JOB_STARTING, JOB_RUNNING, JOB_SETTLING,
	JOB_EXITED, JOB_KILLED, JOB_FAILED, JOB_LOST
};
#define JOB_IS_FINAL(s) ((s) >= JOB_EXITED)
const char *job_state_name(enum job_state);     /* "exited" ... */

enum job_net { JOB_NET_NONE = 0, JOB_NET_HOST = 1 };

enum job_limit {                /* which limit ended it */
	JOB_LIMIT_NONE = 0, JOB_LIMIT_MEMORY, JOB_LIMIT_PIDS, JOB_LIMIT_DISK,
	JOB_LIMIT_INODES, JOB_LIMIT_LOG, JOB_LIMIT_RUNTIME,
	JOB_LIMIT_CPU_TIME, JOB_LIMIT_CHANGES
};
const char *job_limit_name(enum job_limit);     /* "memory", NULL for none */

/* Stable codes of what went wrong; the sentence beside it is for people. */
enum err_code {
	ERR_NONE = 0,
	ERR_INVALID,            /* the request is malformed or out of turn */
	ERR_NOT_FOUND,
	ERR_AMBIGUOUS,          /* a job prefix that fits several */
	ERR_DENIED,
	ERR_UNKNOWN_TENANT,
	ERR_LIMIT,              /* a limit or quota; the text names it */
	ERR_FULL,               /* the disk or the map is full */
	ERR_DAMAGED,            /* an object does not match its id */
	ERR_MISSING,            /* an object below a root is not there */
	ERR_CONFLICT,           /* idempotency id of another job */
	ERR_IO,
	ERR_BUSY,               /* try again */
	ERR_VERSION,
	ERR_WORKER_LOST,
	ERR_SANDBOX,            /* the sandbox could not be made */
	ERR_CANCELLED,
	ERR_INTERNAL,
	ERR__MAX
};
const char *err_code_name(enum err_code);       /* "not_found" ... */

struct err {
	uint16_t code;          /* enum err_code */
	uint8_t retry;          /* the same request may be tried again */
	struct obj_ref ref;     /* the object concerned, kind NONE if none */
	char text[LIMIT_TEXT];
};

struct job_limits {             /* 0: the tenant's default */
	uint32_t cpus_milli;
	uint32_t pids;
	uint64_t memory;
	uint64_t disk;
	uint64_t runtime_us;
	uint64_t cpu_us;
	uint64_t log_bytes;
	uint64_t changes;       /* entries */
};

struct job_usage {
	uint64_t cpu_us;
	uint64_t memory_peak;
	uint64_t oom_kills;
	uint64_t pids_peak;
	uint64_t disk_bytes;
};

struct job_times {              /* microseconds since 1970, 0: not yet */
	uint64_t submitted, queued, started, ended, settled;
};

struct job_phases {             /* microseconds */
	uint64_t negotiate, ingest, publish, queue, start, run, collect, settle;
};

struct job_log {
	uint64_t bytes, stdout_bytes, stderr_bytes;
	uint8_t truncated, complete;
	uint8_t digest[32];
};

struct job_changes {
	uint64_t count;
	uint64_t bytes;         /* content of what was created or modified */
	uint8_t complete;
	struct obj_ref root;    /* tree after; NONE when incomplete */
	struct obj_ref list;    /* content of the change list; see change.h */
	uint64_t list_bytes;
	uint8_t digest[32];     /* change_digest of the list */
	uint64_t ignored;       /* new paths the ignore rules left out; with a
	                           directory, all below is left out uncounted */
};

/* What is left on a job's own file system when its disk limit counts as
 * reached: a write of some size has failed by then. */
#define JOB_DISK_SLACK          (UINT64_C(256) << 10)
#define JOB_DISK_SLACK_INODES   32

/* What came of one of a job's caches. */
struct cache_use {
	char name[LIMIT_NAME + 1];
	uint8_t restored;       /* it began with what a job had saved */
	uint8_t saved;
	uint8_t unchanged;      /* there was nothing to save */
	uint64_t bytes;         /* of what was saved, or else found */
	char note[160];         /* why it was not saved, or not restored */
};

/* What the submitter says; checked by type and range only. */
struct job_submit {
	uint8_t idem[16];       /* idempotency id */
	struct obj_ref root;    /* NONE: no snapshot */
	struct obj_ref spec;    /* content of an encoded struct job_spec */
	uint64_t spec_len;
	struct job_limits limits;
	uint8_t net;            /* enum job_net */
	uint8_t as_root;
	uint8_t detach;
	uint64_t tree_files, tree_bytes, shipped_objects, shipped_bytes;
	uint64_t negotiate_us;
	uint8_t input;          /* it reads what a client sends */
	uint8_t tty;            /* it has a terminal, of this size at first */
	uint16_t rows, cols;
	char image[IMAGE_NAME_MAX + 1]; /* "": the host's own files */
};

/* An image that there is. */
struct job_image {
	char name[IMAGE_NAME_MAX + 1];
};

/* What only one run's keeper knows; reported by errand-exec. */
struct job_result {
	uint8_t ran;            /* the command was executed */
	uint8_t exit_code;
	uint8_t signal;         /* 0: it exited */
	uint8_t limit;          /* enum job_limit, as far as it can tell */
	struct err err;         /* code NONE: all of ours went well */
	uint64_t started_us, ended_us;
	uint64_t start_us, run_us, collect_us;  /* phases */
	struct job_usage usage; /* from wait4, where no cgroup knows better */
	struct job_log log;
	struct job_changes changes;
	uint32_t ncaches;
	struct cache_use caches[LIMIT_CACHES];
};

struct job_record {
	char id[JOB_ID_LEN + 1];
	char tenant[TENANT_NAME_MAX + 1];
	uint32_t tenant_id;
	uint8_t state;
	struct err reason;      /* why it waits, or why it failed */
	/* How it ended is not known; without ran, whether it began neither. */
	uint8_t unknown;
	uint8_t ran, exit_code, signal, limit;
	struct job_submit submit;
	struct job_limits limits;       /* enforced */
	struct job_times times;
	struct job_phases phases;
	struct job_usage usage;
	struct job_log log;
	struct job_changes changes;
	uint64_t receipt_sequence;      /* 0: none */
	uint8_t receipt_digest[32];
	uint8_t cleanup;                /* nothing of the job is left */
	uint32_t ncaches;
	struct cache_use caches[LIMIT_CACHES];
};

/* One cache that a job asks for. */
struct cache_spec {
	char name[LIMIT_NAME + 1];      /* as cachedir.h wants it */
	char path[LIMIT_CACHE_PATH];    /* as cachepath.h wants it */
};

/* The part of a job that only its submitter and its sandbox read. */
struct job_spec {
	size_t argc;            /* 1 to LIMIT_ARGS */
	char **argv;            /* owned; NUL free strings, any bytes */
	char *workdir;          /* relative to the workspace, "" for its top */
	size_t nenv;
	char **env;             /* names only */
	/* UTF-8 of at most LIMIT_NAME bytes, no control characters, or NULL */
	char *label;
	char *commit;           /* Git commit */
	char *project;          /* a name for people; LIMIT_TEXT - 1 bytes */
	/* What of the job's new paths is kept: those that these rules do not
	 * exclude, and whatever is an artifact or below one. */
	uint8_t *rules;         /* encoded struct rules, parsed by its users */
	size_t rules_len;       /* RULES_BYTES_MAX at most; 0: no rules */
	size_t nartifacts;      /* LIMIT_ARTIFACTS at most */
	char **artifacts;       /* relative to the workspace, not "" */
	uint8_t content[32];    /* content digest of the tree; zero: not told */
	char *image;            /* as in struct job_submit, or NULL */
	/* Names and paths are apart from each other.  The project they are of
	 * is then at most LIMIT_NAME bytes. */
	size_t ncaches;         /* LIMIT_CACHES at most */
	struct cache_spec caches[LIMIT_CACHES];
};

/*
 * Pack into fresh memory, or parse (strings checked: no NUL inside, names
 * without '=', workdir relative without "..").  Only the one encoding that
 * packing gives is accepted.  The parser's strings are each from malloc.
 * 0, or -1 with errno: EINVAL, EMSGSIZE (over LIMIT_SPEC), ENOMEM; EPROTO.
 */
int job_spec_pack(const struct job_spec *, uint8_t **, size_t *);
int job_spec_parse(const uint8_t *, size_t, struct job_spec *);
void job_spec_done(struct job_spec *);

/* Pack returns the length (at most LIMIT_RECORD), or -1. */
ssize_t job_record_pack(const struct job_record *, uint8_t *, size_t);
int job_record_parse(const uint8_t *, size_t, struct job_record *);

#endif /* !ERRAND_JOB_TYPES_H */
