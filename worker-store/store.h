#ifndef ERRAND_STORE_H
#define ERRAND_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "index_obj.h"
#include "index_pack.h"
#include "lib/object.h"

struct batch;
struct care_state;
struct doubt;
struct gc;
struct leases;
struct rewrite;
struct uses;
struct event_base;
struct ix;
struct journal;
struct packs;
struct peers;
struct pending;
struct quarantine;
struct upkeep;
struct walks;

/*
 * Everything that the parts of this process share.
 *
 * Invariants, true whenever the event loop runs:
 *  1. Every object that can be found is in a pack up to its end, and is named
 *     by the index or is pending; never both.
 *  2. No transaction of the index is open.
 *  3. drops counts how often pending objects were lost to a failed flush: what
 *     was concluded from them before is void.
 *  4. broken is set when the index must be opened again; the process then
 *     ends as soon as its replies are out.
 */
struct store {
	struct event_base *base;
	int dirfd;
	int lockfd;
	struct ix *ix;
	struct packs *packs;
	struct pending *pending;
	struct batch *batch;
	struct journal *journal;
	struct walks *walks;
	struct peers *peers;
	struct care_state *care;
	struct quarantine *quarantine;
	struct upkeep *upkeep;
	struct leases *leases;
	struct uses *uses;
	struct doubt *doubt;
	struct gc *gc;
	struct rewrite *rewrite;
	uint64_t drops;
	uint64_t damaged;       /* objects found so since the start */
	uint32_t packs_damaged; /* or gone, when they were looked at */
	int broken;
	int status;             /* what the process will end with */
};

/**
 * store_open(base, dir, rebuild):
 * Open or create the store in the existing directory ${dir}: key, packs and
 * index, recovered from whatever a crash left; with ${rebuild}, the index is
 * made anew from the packs first.  Return NULL after logging a sentence that
 * says what an operator must do, which log_last then tells.
 */
struct store *store_open(struct event_base *, const char *, int rebuild);
void store_close(struct store *);

/**
 * store_find(st, tenant, ref, o):
 * Look for an object, pending ones included.  Call between ix_read and
 * ix_read_end.  Return 0, or -1 with errno (ENOENT).
 */
int store_find(struct store *, uint32_t, const struct obj_ref *,
    struct ix_object *);

/**
 * store_read(st, o, raw):
 * Read what was found into ${raw} (o->loc.raw_len bytes), checked against its
 * id.  Return 0, or -1 with errno: EBADMSG when it is damaged, which has been
 * counted and logged.
 */
int store_read(struct store *, const struct ix_object *, uint8_t *);

/* ix_commit; when the index must be opened again, the process will end. */
int store_commit(struct store *);

/* The open pack as the index has to know it: not sealed, nothing of live. */
struct ix_pack store_open_pack(const struct store *);

/* Begin another pack, while nothing is pending.  0, or -1 with errno. */
int store_new_pack(struct store *);

/* The index must be opened again: end the loop, with that status. */
void store_broken(struct store *);

/* Free bytes of the disk. */
uint64_t store_disk_free(const struct store *);

/*
 * What is kept free on the disk for what is under way, results and receipts of
 * running jobs and the entries of what has been put: a 64th of it, from 16 MiB
 * to 1 GiB.  Uploads are refused when less is left, and results of running jobs
 * only when a quarter of it is.
 */
uint64_t store_disk_reserve(const struct store *);

#endif /* !ERRAND_STORE_H */
