#ifndef ERRAND_SNAPSHOT_MSG_H
#define ERRAND_SNAPSHOT_MSG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/job_types.h"

/*
 * Supervisor and errand-snapshot.  Requests of the worker have a non-zero id
 * that the reply repeats; events have id 0.
 */
enum snap_op {
	SNAP_HELLO = 1,         /* worker's first: version */
	SNAP_SERVE,             /* sup: + 1 fd: the client's connection */
	/* requests of the worker */
	SNAP_BIND,              /* who is it?  once, first */
	SNAP_SUBMIT,            /* + 0 or 1 fd: sealed memfd of values */
	SNAP_WATCH,             /* follow a job */
	SNAP_SIGNAL,
	SNAP_LIVE,              /* states of this tenant's active jobs */
	SNAP_ADMIN,             /* control connections only */
	SNAP_INPUT,             /* let me write a job's input */
	SNAP_INPUT_END,         /* I write no more of it */
	SNAP_WINDOW,            /* the size of a job's terminal */
	/* replies of the supervisor */
	SNAP_BOUND,             /* + 1 fd: store channel */
	SNAP_SUBMITTED,
	SNAP_WATCHED,           /* + 0 or 1 fd: the log, read-only */
	SNAP_TAKEN,             /* + 1 fd: a pipe to write the input to */
	SNAP_OK,                /* SIGNAL, LIVE, ADMIN, INPUT_END, WINDOW */
	SNAP_ERROR,
	/* events of the supervisor */
	SNAP_JOB,               /* a watched job changed its state */
	SNAP_LOG,               /* a watched job's log grew */
	SNAP_INPUT_STOP,        /* another client takes a job's input: answer
				 * with INPUT_END */
	SNAP_OP__MAX
};

enum snap_input_end {
	SNAP_INPUT_EOF = 1,     /* it is at its end */
	SNAP_INPUT_LEFT,        /* the client left; another may go on */
	SNAP_INPUT_LOST         /* the client was lost; it may come back */
};

enum snap_admin {
	SNAP_ADMIN_STATUS = 1, SNAP_ADMIN_TENANT_LIST, SNAP_ADMIN_TENANT_SHOW,
	SNAP_ADMIN_TENANT_ADD, SNAP_ADMIN_STORE_REBUILD,
	SNAP_ADMIN_TENANT_SET, SNAP_ADMIN_CACHE_LIST, SNAP_ADMIN_CACHE_RM,
	SNAP_ADMIN__MAX
};

/* Live states in one reply.  More active jobs than this are not shown. */
#define SNAP_LIVE_MAX   256

struct snap_live {
	char job[JOB_ID_LEN + 1];
	uint8_t state;
	uint16_t reason;        /* enum err_code */
	struct job_times times;
};

/* Fields of a tenant that a SET means. */
#define TENANT_UIDS     0x1
#define TENANT_SLOTS    0x2
#define TENANT_NET      0x4
#define TENANT_STORE    0x8
#define TENANT_OBJECTS  0x10
#define TENANT_JOBS     0x20
#define TENANT_LOGS     0x40
#define TENANT_KEEP     0x80
#define TENANT_CPUS     0x100
#define TENANT_MEMORY   0x200
#define TENANT_PIDS     0x400
#define TENANT_DISK     0x800
#define TENANT_TIMEOUT  0x1000
#define TENANT_CACHE_SIZE 0x2000
#define TENANT_CACHE_TOTAL 0x4000
#define TENANT_CPU_TIME 0x8000
#define TENANT_LOG      0x10000
#define TENANT_CHANGES  0x20000
#define TENANT_ALL      0x3ffff

struct tenant_used {            /* of the store */
	uint64_t store_bytes, store_objects, jobs, log_bytes;
};

struct tenant_info {            /* ADMIN: asked for and shown */
	char name[TENANT_NAME_MAX + 1];
	uint32_t id;
	uint32_t nuids;
	uint32_t uids[16];      /* local users */
	uint32_t host_uid;      /* what its jobs run as */
	uint32_t slots;         /* 0: the default */
	uint8_t net_host;
	uint8_t automatic;
	uint64_t store_bytes;   /* quota, 0: the default */
	struct job_limits limits;
	uint32_t running, queued;
	uint64_t store_objects, jobs, log_bytes; /* quotas, 0: the default */
	uint64_t keep_us;       /* how long an ended job is kept */
	uint32_t given;         /* SET: TENANT_... */
	uint8_t has_used;       /* SHOW */
	struct tenant_used used;
	uint64_t cache_size;    /* of one of its caches, 0: the default */
	uint64_t cache_total;   /* of all of them, likewise */
};

/* A tenant's cache, see lib/cachedir.h. */
struct cache_info {
	char project[LIMIT_NAME + 1];
	char name[LIMIT_NAME + 1];
	uint64_t bytes, entries;
	uint64_t saved_us, used_us;     /* real time */
};

struct proc_info {
	char role[16];
	uint32_t pid;
	uint32_t uid;
	uint8_t up;             /* 0 down, 1 starting, 2 up, 3 stopping */
	uint32_t restarts;
	uint8_t seccomp;        /* /proc/PID/status: Seccomp */
	uint64_t caps;          /* CapEff */
	uint8_t no_new_privs;
	int32_t landlock;       /* ABI in use, 0: none, as it said in HELLO */
	char last_death[64];
};

struct admin_status {
	char version[32];
	uint64_t uptime_us;
	uint32_t slots, running, queued;
	uint8_t rootless;
	char cgroup[16];        /* "v2", "v1", "none" */
	char note[LIMIT_TEXT];  /* what does not hold on this host */
	uint64_t store_objects, store_bytes, store_pack_bytes, store_jobs,
	    store_free, store_commits, store_flushes;
	uint32_t sandboxes;     /* ready, without a job */
	uint32_t sandboxes_making;
	/* so far: jobs that found one ready, or did not; made; that failed */
	uint64_t sandboxes_warm, sandboxes_cold, sandboxes_made,
	    sandboxes_failed;
	char sandbox_note[LIMIT_TEXT];  /* why none are made, or "" */
	char isolation[LIMIT_TEXT];     /* what they are made of, and why */
	uint32_t nprocs;
	struct proc_info procs[LIMIT_PROCS];
	char store_note[LIMIT_TEXT];    /* why the store is not up */
	uint8_t store_up;       /* 0 no, 1 on its way, 2 yes */
};

struct snap_msg {
	uint64_t id;
	uint8_t op;
	uint8_t reply_to;       /* OK: the request's op (SIGNAL, LIVE, ADMIN,
				 * INPUT_END or WINDOW), which says what is in
				 * u */
	union {
		struct {
			uint32_t version;
			char software[32];
			int32_t landlock;
		} hello;
		struct {
			uint8_t admin;          /* came in on the control
						 * socket */
			uint32_t peer_uid;      /* for the log only */
		} serve;
		struct {
			char tenant[TENANT_NAME_MAX + 1]; /* "" : my own */
		} bind;
		struct {
			char tenant[TENANT_NAME_MAX + 1];
			uint8_t host_key[32];   /* Ed25519 public */
			char host[LIMIT_NAME];  /* name for people */
			struct job_limits limits; /* most a job may ask */
			uint8_t net_host;
			uint8_t disk_soft;      /* counted only */
			uint8_t disk_may;       /* can be asked for */
			uint8_t cpu_time_may;
			uint32_t cpus;
			uint64_t memory;
			uint32_t nimages;
			struct job_image images[IMAGES_MAX];
		} bound;
		struct job_submit submit;
		struct {
			char job[JOB_ID_LEN + 1];
			uint8_t state;
			uint8_t existed;
		} submitted;
		struct {
			char job[JOB_ID_LEN + 1];
			uint8_t log;            /* wants LOG events and the
						 * log itself */
		} watch;
		struct {
			uint8_t active;         /* 0: it has ended; the store
						 * knows it; no events follow */
			uint8_t state;
			uint64_t log_bytes;
		} watched;
		struct {
			char job[JOB_ID_LEN + 1];
			uint8_t signal;         /* 0: TERM, grace, KILL */
		} signal;
		struct {
			uint32_t n;
			struct snap_live jobs[SNAP_LIVE_MAX];
		} live;                 /* OK of LIVE */
		struct {
			uint8_t verb;           /* enum snap_admin */
			struct tenant_info tenant; /* ADD, SHOW: name;
						 * CACHE_LIST: .id are to be
						 * left out */
			uint32_t after;         /* LIST: ids above this */
			struct cache_info cache; /* CACHE_RM: project and name;
						 * "" both: any */
		} admin;
		struct {                /* OK of ADMIN */
			uint8_t verb;
			struct admin_status status;
			uint32_t ntenants;      /* LIST: at most 32 a reply */
			struct tenant_info tenants[32];
			uint32_t ncaches;       /* CACHE_LIST, CACHE_RM: those
						 * that are, or were */
			struct cache_info caches[LIMIT_CACHE_LIST];
		} admin_ok;
		struct {                /* JOB */
			char job[JOB_ID_LEN + 1];
			uint8_t state;
			struct job_record record; /* when final */
			uint8_t has_record;
		} job;
		struct {
			char job[JOB_ID_LEN + 1];
			uint64_t bytes;         /* payload so far */
		} log;
		struct {
			char job[JOB_ID_LEN + 1];
			uint8_t take;           /* from whoever has it */
		} input;
		struct {
			char job[JOB_ID_LEN + 1];
			uint8_t how;            /* enum snap_input_end */
		} input_end;
		struct {
			char job[JOB_ID_LEN + 1];
			uint16_t rows, cols;
		} window;
		struct {
			uint64_t offset;        /* bytes of the input that are
						 * there */
		} taken;
		struct {
			char job[JOB_ID_LEN + 1];
		} input_stop;
		struct err error;
	} u;
};

/* As store_msg_pack and store_msg_parse.  struct snap_msg is large: keep it
 * off deep stacks. */
ssize_t snap_msg_pack(const struct snap_msg *, uint8_t *, size_t);
int snap_msg_parse(const uint8_t *, size_t, struct snap_msg *);

#endif /* !ERRAND_SNAPSHOT_MSG_H */
