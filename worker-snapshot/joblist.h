#ifndef ERRAND_SNAP_JOBLIST_H
#define ERRAND_SNAP_JOBLIST_H

#include <stddef.h>
#include <stdint.h>

#include "proto/job_types.h"
#include "proto/snapshot_msg.h"
#include "proto/store_msg.h"

/* Least length of a prefix that names a job. */
#define JOBLIST_PREFIX_MIN      4

struct joblist_item {
	const uint8_t *rec;     /* the encoded record, in the map */
	size_t len;
	char id[JOB_ID_LEN + 1];
	struct obj_ref spec;
	uint64_t spec_len;
};

/* The answer to JOB_LIST: the tenant's jobs, newest first. */
struct joblist {
	const uint8_t *map;
	size_t maplen;
	size_t n;
	struct joblist_item *items;
};

/**
 * joblist_take(l, reply, fd):
 * Map and check what came with an OK of JOB_LIST; ${fd} stays the caller's.
 * Return 0, or -1 with errno.
 */
int joblist_take(struct joblist *, const struct store_msg *, int);
void joblist_done(struct joblist *);

/* The whole record of an item.  0, or -1. */
int joblist_record(const struct joblist_item *, struct job_record *);

/**
 * joblist_prefix(l, name, at):
 * How many jobs' ids begin with ${name}: 0, 1 (then it is items[*at]), or 2
 * for more.  0 for what cannot be a prefix.
 */
int joblist_prefix(const struct joblist *, const char *, size_t *);

/**
 * joblist_overlay(rec, live, n):
 * Bring a record that has not ended up to the state the supervisor told.
 */
void joblist_overlay(struct job_record *, const struct snap_live *, size_t);

#endif /* !ERRAND_SNAP_JOBLIST_H */
