#ifndef ERRAND_STORE_JOURNAL_H
#define ERRAND_STORE_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

struct ix;
struct job_req;
struct journal;
struct store;

/*
 * The journal: each change of a job that a barrier makes durable in the index
 * is also written into the open pack, so that the index can be made anew from
 * the packs.  It adds no flush to a barrier.  One that flushes the pack anyway
 * takes the entries along.  One that does not, writes them unflushed and keeps
 * them in the index too (they are "listed"), until a later flush of the pack
 * covers them, a few seconds later at most.
 *
 * Invariants, true whenever the event loop runs:
 *  1. Every entry that is committed is in a pack, flushed, or it is listed.
 *  2. What is listed is in the pack behind what is flushed, unless replay is
 *     set: then it is appended again first.
 *  3. Serials ascend, and those of one barrier that failed are used again.
 */
struct journal *journal_open(struct store *);   /* NULL after logging */
void journal_free(struct journal *);

/* Does what is listed have to be flushed now? */
int journal_due(const struct journal *);

/* Flush what is listed with the next barrier. */
void journal_drain(struct journal *);

/* Entries that are listed. */
size_t journal_listed(const struct journal *);

/**
 * The steps of a barrier, in this order.  journal_begin; journal_add for each
 * request that is written, journal_forget for a job that is deleted (0, or
 * -1/ENOMEM: then nothing may be committed); journal_write, which flushes the
 * pack if ${flush} is set or the journal is due (0, or -1 with errno when that
 * flush failed); within the transaction journal_list; and journal_end, with
 * whether the commit succeeded.
 */
void journal_begin(struct journal *);
int journal_add(struct journal *, const struct job_req *);
int journal_forget(struct journal *, uint32_t tenant, const char *job);
int journal_write(struct journal *, int flush);
int journal_list(struct journal *);
void journal_end(struct journal *, int committed);

/* In a write transaction: serials up to this one have been used. */
int journal_serial_put(struct ix *, uint64_t);

/*
 * The last serial that was used: 1.  If the index knows none, because the store
 * is new, or older than the journal, or because the index is damaged: 0, and
 * the microseconds since 1970, since to begin at 1 again would give what is in
 * the packs already the numbers of something else.  -1 with errno.
 */
int journal_serial_get(struct ix *, uint64_t *);

/* A flush of the pack failed: what was behind is gone. */
void journal_lost(struct journal *);

/**
 * journal_carry(j, p, len):
 * A pack is given up.  Append the entries of one of its journal records that
 * are still of use to the open pack, to be flushed by the caller; ${oldest}:
 * no pack is older.  Call between ix_read and ix_read_end, or in a
 * transaction.  0, or -1 with errno.
 */
int journal_carry(struct journal *, const uint8_t *, size_t, int oldest);

#endif /* !ERRAND_STORE_JOURNAL_H */
