#ifndef ERRAND_STORE_MSG_H
#define ERRAND_STORE_MSG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/care.h"
#include "proto/job_types.h"

/*
 * The store's channels.  The supervisor's own (fd 3) may use every request
 * marked S; a channel bound to a tenant those marked T, as far as its rights
 * go; an operator's (STORE_RIGHT_CARE) those marked C.  Every request has a
 * non-zero id that its one reply repeats.  See proto/INTERFACES for order and
 * durability.
 */
#define STORE_RIGHT_PUT         0x1
#define STORE_RIGHT_GET         0x2
#define STORE_RIGHT_JOBS        0x4     /* read job records and receipts */
#define STORE_RIGHT_CARE        0x8     /* an operator's: no tenant, alone */
#define STORE_RIGHT_RESULTS     0x10    /* of a running job: they are put
					 * while the disk is nearly full */

#define STORE_FIRST_ID          1       /* of the GET that BIND asks for */

enum store_op {
	STORE_HELLO = 1,        /* first message of either end; no reply */
	/* S */
	STORE_BIND,             /* + 1 fd: a channel for a tenant */
	STORE_PUBLISH,          /* durable: objects, reference, job record */
	STORE_SETTLE,           /* durable: result, receipt; next in chain */
	STORE_UNSETTLED,        /* records of jobs that have not ended */
	STORE_HEAD,             /* a tenant's receipt chain head */
	STORE_STAT,
	/* T */
	STORE_PUT,              /* + 1 fd: sealed memfd of objrecs */
	STORE_CHECK,            /* what is missing below a root */
	STORE_GET,              /* + 1 fd: sealed memfd of refs */
	STORE_JOB_GET,
	STORE_JOB_LIST,         /* newest first */
	STORE_RECEIPT_GET,
	/* S again */
	STORE_COLLECT,          /* begin to delete what nothing reaches */
	STORE_EXPIRE,           /* durable: forget jobs whose time is over */
	STORE_USAGE,            /* S and T: use and limits of a tenant */
	/* C */
	STORE_CARE,             /* one step of a task; + 1 fd: its bytes */
	/* replies */
	STORE_OK,
	STORE_ERROR,
	STORE_WAIT,             /* the store, before HELLO: it takes longer */
	STORE_OP__MAX
};

struct store_bytes {            /* borrowed from the packet when parsed */
	const uint8_t *p;
	size_t len;
};

struct store_quota {            /* 0: no limit */
	uint64_t bytes;         /* of objects, uncompressed */
	uint64_t objects;
	uint64_t jobs;          /* that are kept */
	uint64_t log_bytes;     /* of their logs */
};

struct store_usage {
	uint64_t bytes, stored_bytes, objects, jobs, log_bytes;
	struct store_quota quota;
};

struct store_msg {
	uint64_t id;
	uint8_t op;             /* enum store_op */
	uint8_t reply_to;       /* in a reply: the request's op */
	union {
		struct {
			uint32_t version;       /* CHANNEL_VERSION */
			char software[32];
			int32_t landlock;       /* ABI in use; store's */
			char trouble[LIMIT_TEXT]; /* store's: why it
						 * cannot open; it ends */
		} hello;
		struct {
			uint32_t tenant_id;
			uint32_t rights;
			struct store_quota quota;
			struct obj_ref first;   /* may be NONE */
		} bind;
		struct {
			uint32_t tenant_id;
			uint8_t idem[16];
			char job[JOB_ID_LEN + 1];
			struct obj_ref root;    /* may be NONE */
			struct obj_ref spec;
			struct store_bytes record;
		} publish;
		struct {
			uint32_t tenant_id;
			char job[JOB_ID_LEN + 1];
			uint64_t sequence;      /* must be head + 1 */
			uint8_t digest[32];     /* of the receipt: new head */
			struct obj_ref root;    /* kept by reference; may be
						 * NONE */
			struct obj_ref list;
			struct store_bytes record;
			struct store_bytes receipt;
			uint64_t log_bytes;
		} settle;
		struct {
			uint32_t tenant_id;
		} head;                 /* HEAD; USAGE (T: 0); COLLECT
					 * (0: all) */
		struct {
			uint32_t tenant_id;
			uint64_t keep_us;       /* since they were settled */
			uint64_t keep_jobs;     /* 0: any number */
			uint64_t log_bytes;     /* 0: any amount */
			uint32_t room;          /* for one more job, or 0 */
		} expire;
		struct {
			uint32_t objects;       /* records in the memfd */
		} put;
		struct {
			struct obj_ref root;
		} check;
		struct {
			uint32_t refs;
		} get;
		struct {
			char job[JOB_ID_LEN + 1];
		} job;                  /* JOB_GET, RECEIPT_GET */
		struct {
			uint32_t limit;         /* at most LIMIT_LIST_JOBS */
		} list;
		struct {
			uint8_t task;           /* enum care_task */
		} care;
		struct {
			char text[LIMIT_TEXT];
		} wait;
		/* STORE_OK */
		struct {
			/* PUBLISH: 1 when the idempotency id named this job
			 * before; then job is that one's id. */
			uint8_t existed;
			char job[JOB_ID_LEN + 1];
			uint64_t sequence;      /* HEAD: 0 for none yet */
			uint8_t digest[32];     /* HEAD */
			uint32_t objects;       /* PUT: new ones; CHECK:
						 * missing, 0 is complete; GET:
						 * served, a prefix of what was
						 * asked; lists: records */
			uint64_t bytes;         /* PUT: raw bytes of new ones */
			struct store_bytes data; /* JOB_GET, RECEIPT_GET */
			struct {
				uint64_t objects, object_bytes, pack_bytes,
				    packs, jobs, map_bytes, map_used,
				    disk_free, commits, flushes,
				    packs_damaged, quarantined;
				uint8_t index_damaged;
			} stat;
			struct care care;       /* CARE */
			struct store_usage usage;
		} ok;
		struct err error;
	} u;
};

/* Pack into ${cap} bytes; returns the length, or -1. */
ssize_t store_msg_pack(const struct store_msg *, uint8_t *, size_t);

/* Parse and check a whole packet.  0, or -1 with errno = EPROTO. */
int store_msg_parse(const uint8_t *, size_t, struct store_msg *);

/*
 * Layout of the memfds that replies carry (1 fd on OK, exactly when there is
 * something):
 *   CHECK            an array of encoded refs (OBJ_REF_LEN each)
 *   GET              objrecs, codec RAW, in the order asked
 *   CARE             as many bytes as it says: backup.h
 *   EXPIRE           per job: u32 length, little-endian, the job's id
 *   UNSETTLED, LIST  per record: u32 length, little-endian, bytes
 */

#endif /* !ERRAND_STORE_MSG_H */
