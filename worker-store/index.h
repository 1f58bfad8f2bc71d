#ifndef ERRAND_INDEX_H
#define ERRAND_INDEX_H

#include <stddef.h>
#include <stdint.h>

/*
 * The index: an ordered map of keys to values, with transactions.  This file
 * alone knows that it is LMDB; what the keys and values are is in index_obj.h
 * and index_job.h.
 *
 * Errors are -1 with errno: ENOENT (no such key), ENOSPC (the disk is full),
 * ENOBUFS (the map is full: abort, ix_grow, try again), ENOTRECOVERABLE (the
 * index must be opened again: end the process), EUCLEAN (it is damaged), EIO,
 * ENOMEM.  All but ENOENT have been logged.
 *
 * Invariants:
 *  1. A read transaction is open only between ix_read and ix_read_end, within
 *     one handler: it would keep pages from being used again.  But for
 *     ix_still.
 *  2. Inside a write transaction, reading sees what was written.
 *  3. The map is changed only while no transaction is open.
 */
#define IX_FORMAT       3               /* version of keys and values */
#define IX_MAP_MIN      (1ULL << 30)    /* where the map begins */
#define IX_KEY_MAX      96

enum ix_db {
	IX_META, IX_OBJECT, IX_PACK, IX_REF, IX_JOB, IX_JOBSEQ, IX_IDEM,
	IX_UNSETTLED, IX_USAGE, IX_JOURNAL, IX_QUARANTINE, IX_RUN, IX_BLOCK,
	IX_TOP,                 /* above the others: each commit changes it */
	IX__MAX
};

struct ix;
struct segs;

struct ix_stat {
	uint64_t map_bytes;
	uint64_t map_used;
	uint64_t commits;
	uint64_t flushes;
	uint64_t runs;          /* segs.h */
	uint64_t memory;        /* that they take, bytes, without the map */
};

/**
 * ix_open(dirfd, path, map):
 * Open or create the index in the directory ${path}, which is below ${dirfd},
 * with a map of at least ${map} bytes.  Return NULL after logging: a
 * newer format (errno EPROTONOSUPPORT), a damaged file (EUCLEAN).
 */
struct ix *ix_open(int, const char *, uint64_t);
void ix_close(struct ix *);

/**
 * ix_on_panic(ix, fn, cookie):
 * Call ${fn} whenever something fails with ENOTRECOVERABLE, whoever asked.
 */
void ix_on_panic(struct ix *, void (*)(void *), void *);

/* Has it never had a transaction of ours before this start? */
int ix_fresh(const struct ix *);

int ix_read(struct ix *);
void ix_read_end(struct ix *);

/**
 * ix_still(ix), ix_still_leave(ix), ix_still_end(ix):
 * Read the index as it is at one moment, over several handlers: between
 * ix_still and ix_still_leave ix_get, ix_scan, ix_scan_after and ix_count do,
 * while no other transaction is open (those that know of objects must not be
 * used).  ix_still returns 0, or 1 when that moment has begun just now, which
 * is also so when the map has been made larger since; or -1 with errno.
 * ix_still_end gives it up.
 *
 * All these look at the pages that they come by as nobody else does: whether
 * they are in their place, and none is for using again (EUCLEAN if not; see
 * index_page.h).
 */
int ix_still(struct ix *);
void ix_still_leave(struct ix *);
void ix_still_end(struct ix *);

/**
 * ix_write(ix, room):
 * Begin the one write transaction, growing the map first if ${room} bytes may
 * not fit.  End it by ix_commit (durable when that returns 0; the transaction
 * is over whatever it returns) or ix_abort.
 */
int ix_write(struct ix *, uint64_t);
int ix_commit(struct ix *);
void ix_abort(struct ix *);

/**
 * ix_upkeep_due(ix), ix_upkeep(ix):
 * Is there anything to do for idle moments?  Do a bounded part of it, some
 * milliseconds, in a transaction of its own.  Return 1 when there is more, 0
 * when there is not, or -1 with errno.  Without idle moments ix_commit does
 * what cannot wait any more.
 */
int ix_upkeep_due(struct ix *);
int ix_upkeep(struct ix *);

/* The runs, for seg*.c; a number that every transaction has for itself. */
struct segs *ix_segs(struct ix *);
uint64_t ix_generation(const struct ix *);

/*
 * Could the map not be made larger when it had to be, and still cannot?  Then
 * what is left of it is kept for settling and deleting: nothing new may be
 * taken in.  Call it outside of transactions.
 */
int ix_full(struct ix *);

/* Double the map.  0, or -1 with errno = ENOBUFS. */
int ix_grow(struct ix *);

/* Borrowed until the transaction ends or something is written. */
int ix_get(struct ix *, enum ix_db, const void *, size_t, const void **,
    size_t *);
int ix_put(struct ix *, enum ix_db, const void *, size_t, const void *,
    size_t);
int ix_del(struct ix *, enum ix_db, const void *, size_t);

/*
 * How long a borrowed value that was there before the transaction stays in its
 * place: while ix_place is the same for its length.  A long one has pages of
 * its own, which are never copied: it stays until it is deleted, or the map is
 * made larger.
 */
uint64_t ix_place(const struct ix *, size_t);

/* How many keys there are; remove them all. */
int ix_count(struct ix *, enum ix_db, uint64_t *);
int ix_empty(struct ix *, enum ix_db);

/* Key and value, borrowed.  Non-zero stops. */
typedef int ix_scan_fn(void *, const uint8_t *, size_t, const uint8_t *,
    size_t);

/**
 * ix_scan(ix, db, prefix, len, down, fn, cookie):
 * Go through the keys that begin with ${prefix} (shorter than IX_KEY_MAX), in
 * ascending order or ${down}.  Return 0, -1, or what ${fn} stopped with.
 */
int ix_scan(struct ix *, enum ix_db, const void *, size_t, int, ix_scan_fn *,
    void *);

/**
 * ix_scan_after(ix, db, prefix, len, after, alen, fn, cookie):
 * The same, ascending, from the first key that comes behind ${after}; an
 * ${alen} of 0 means from the first key.
 */
int ix_scan_after(struct ix *, enum ix_db, const void *, size_t, const void *,
    size_t, ix_scan_fn *, void *);

void ix_stat(const struct ix *, struct ix_stat *);

#endif /* !ERRAND_INDEX_H */
