#ifndef ERRAND_STORE_VERIFY_INTERNAL_H
#define ERRAND_STORE_VERIFY_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "index_job.h"
#include "index_obj.h"
#include "pack_walk.h"

struct care;
struct store;
struct walk;

#define VERIFY_QUEUE    64      /* findings that one step may have at most */
#define VERIFY_LINE     256

/* What of a tenant's use is counted. */
struct verify_tally {
	uint64_t objects, bytes, stored;
};

struct verify_pack {
	uint32_t number;
	uint64_t len;
	uint64_t live;          /* bytes of records that the index names */
};

/*
 * A verification, between two steps.
 *
 * Invariants:
 *  1. Everything up to at has been looked at, and was sound or has been said.
 *  2. A walk is under way exactly when walk is not NULL; why says for whom.
 */
struct verify {
	struct store *st;
	int repair;
	int phase;              /* of phases[] in verify.c */
	uint64_t deadline;      /* of this step */
	uint64_t total, done;   /* bytes */
	uint64_t bad;
	/* objects */
	struct ix_object at;
	int begun;
	uint32_t tenant;
	struct verify_tally tally;
	uint32_t *again;        /* tenants whose use changed meanwhile */
	size_t nagain, capagain;
	struct ix_usage use;    /* of the one that is counted again */
	uint64_t recounted;
	int tries;
	/* trees that are looked into with all that is below */
	struct walk *walk;
	char why[VERIFY_LINE];
	/* references: the key of the last one */
	uint8_t ref[96];
	size_t reflen;
	/* packs */
	struct verify_pack *packs;
	size_t npacks, cappacks, pack;
	struct pack_walk pw;
	int walking;
	/* figures */
	uint64_t objects, damaged, missing, refs, refs_bad, tenants, uses_bad,
	    journal, journal_bad, mended;
	/* what is to be said */
	char queue[VERIFY_QUEUE][VERIFY_LINE];
	size_t head, queued;
};

/*
 * Parts of a verification: go on until v->deadline, or until something is to
 * be said.  1 when there is more, 0 at the end, -1 with errno.
 */
int verify_quarantined(struct verify *);
int verify_objects(struct verify *);
int verify_uses(struct verify *);
int verify_refs(struct verify *);
int verify_packs(struct verify *);

/* A finding, counted as a damage; a note, which is not. */
void verify_bad(struct verify *, const char *, ...)
    __attribute__((format(printf, 2, 3)));
void verify_note(struct verify *, const char *, ...)
    __attribute__((format(printf, 2, 3)));

/* Is it time to stop? */
int verify_pause(const struct verify *);

/**
 * verify_walk(v):
 * Go on with the walk: 1 when there is more, 0 when it has ended and was
 * freed (what it found missing was said), -1 with errno.
 */
int verify_walk(struct verify *);

/* The pack's line of the table, or NULL. */
struct verify_pack *verify_pack_of(struct verify *, uint32_t);

/* What the entries of that tenant add up to, against what it is said to use:
 * says so, and mends it. */
int verify_use(struct verify *, uint32_t, const struct verify_tally *);

#endif /* !ERRAND_STORE_VERIFY_INTERNAL_H */
