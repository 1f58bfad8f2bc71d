#ifndef ERRAND_PACK_H
#define ERRAND_PACK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pack_rec.h"

/*
 * The pack files: where the bytes of all objects are.  One is open and grows,
 * the others are sealed.  The index says which objects are where; packs know
 * nothing of it but the length up to which it counts on them (committed).
 *
 * Invariants:
 *  1. head <= committed <= synced <= written <= end <= PACK_FILE_MAX, offsets
 *     in the open pack.  Behind synced nothing is promised to be on the disk;
 *     between written and end it is in our buffer only.
 *  2. Bytes before committed are never written again.
 *  3. A pack is named by the index only after its header and its directory
 *     entry were flushed.
 */
#define PACK_FILE_MAX   (256U * 1024 * 1024)

/* Room that a batch may need at most: then the next pack is begun. */
#define PACK_SPARE      (40U * 1024 * 1024)

struct packs;

struct pack_loc {               /* where an object is, as the index has it */
	uint32_t pack;
	uint32_t off;           /* of the record's header */
	uint32_t len;           /* stored */
	uint32_t raw_len;
	uint8_t codec;
};

/**
 * packs_open(dirfd, key):
 * Open the directory packs/ below ${dirfd}, making it first if need be.  No
 * pack is open yet.  Return NULL after logging.
 */
struct packs *packs_open(int, const uint8_t *);
void packs_close(struct packs *);

/**
 * packs_last(ps, last):
 * Find the highest number of any pack file, 0 for none.  0 or -1.
 */
int packs_last(struct packs *, uint32_t *);

/* All numbers of pack files, ascending, in fresh memory.  0 or -1. */
int packs_list(struct packs *, uint32_t **, size_t *);

/**
 * packs_attach(ps, number, committed, journal):
 * Open the pack to append to, of which ${journal} bytes are known to be the
 * journal's, and drop what lies behind ${committed}: a batch that a crash cut
 * off.  Return 0; 1 when the file is damaged or gone, so that another one must
 * be begun (it was logged); -1 after logging what can be put right.
 */
int packs_attach(struct packs *, uint32_t, uint64_t, uint64_t);

/* Write a pack's header anew, durably.  0, or -1 with errno after logging. */
int packs_head_mend(struct packs *, uint32_t);

/* Look at a sealed pack.  0; 1 after logging what is lost; -1 after logging
 * what can be put right, as that a newer version wrote it. */
int packs_check(struct packs *, uint32_t, uint64_t);

/**
 * packs_prune(ps, open):
 * Remove a pack that was begun after ${open} and that the index never came to
 * name.  -1 after logging when it holds more than its header: then the index
 * is older than the packs.
 */
int packs_prune(struct packs *, uint32_t);

/**
 * packs_begin(ps, number), packs_use(ps):
 * Make a new pack, durably; then, when the index names it, append to that one
 * from now on.  Return 0, or -1 with errno after logging.
 */
int packs_begin(struct packs *, uint32_t);
void packs_use(struct packs *);

/* The open pack, its end, and what of it was not flushed. */
uint32_t packs_number(const struct packs *);
uint64_t packs_end(const struct packs *);
uint64_t packs_unsynced(const struct packs *);
/* Bytes of it that are the journal's, those that were rewound among them. */
uint64_t packs_journal(const struct packs *);
int packs_full(const struct packs *);

/**
 * pack_append(ps, tenant, ref, raw, len, loc):
 * Add an object, compressed when that helps.  Return 0, or -1 with errno (the
 * end has not moved): ENOSPC.
 */
int pack_append(struct packs *, uint32_t, const struct obj_ref *,
    const uint8_t *, size_t, struct pack_loc *);

/* Add a record of kind PACK_JOURNAL, of up to OBJ_MAX bytes.  As above. */
int pack_append_journal(struct packs *, const uint8_t *, size_t);

/* The id that such a record's bytes have. */
void pack_journal_id(const uint8_t *, size_t, uint8_t *);

/**
 * pack_pread(ps, number, buf, len, off):
 * Read a part of a pack file as it is; fewer bytes only at its end.  Return
 * how many, or -1 with errno.
 */
ssize_t pack_pread(struct packs *, uint32_t, uint8_t *, size_t, uint64_t);

/* The length of the file.  0, or -1 with errno. */
int pack_size(struct packs *, uint32_t, uint64_t *);
const uint8_t *packs_key(const struct packs *);

/* Hand the buffer to the kernel.  0, or -1 with errno. */
int pack_write(struct packs *);

/* Forget everything behind ${end}, which is not below the committed length. */
void pack_rewind(struct packs *, uint64_t);

/**
 * pack_sync(ps):
 * The data barrier: everything up to the end is on the disk when it returns 0.
 * On -1 all that is not committed has been dropped, since the kernel does not
 * say which part of it is lost.
 */
int pack_sync(struct packs *);

/* The index now counts on everything that was synced. */
void pack_committed(struct packs *);

/**
 * pack_read(ps, tenant, ref, loc, raw):
 * Read an object into ${raw} (loc->raw_len bytes) and check it against its
 * header and its id.  Return 0, or -1 with errno: EBADMSG when it is damaged.
 */
int pack_read(struct packs *, uint32_t, const struct obj_ref *,
    const struct pack_loc *, uint8_t *);

/**
 * pack_copy(ps, tenant, ref, loc, to):
 * Append a copy of an object, checked as by pack_read, to the open pack.
 * Return 0, or -1 with errno (the end has not moved): EBADMSG, ENOSPC.
 */
int pack_copy(struct packs *, uint32_t, const struct obj_ref *,
    const struct pack_loc *, struct pack_loc *);

/**
 * packs_remove(ps, number), packs_shrink(ps):
 * Remove a sealed pack that the index does not name any more, durably.
 * Return 0, or -1 with errno after logging.  To free all that it has at once
 * would take too long: call packs_shrink until it returns 0.
 */
int packs_remove(struct packs *, uint32_t);
int packs_shrink(struct packs *);

/**
 * packs_sweep(ps, named, n, open):
 * Remove what packs_remove did not come to: files of packs below ${open} that
 * are not among the ${n} ascending numbers in ${named}.  The oldest first, and
 * no other when one cannot be removed: a younger one may have that a job is
 * gone, of which an older one tells.  Return 0, or -1 after logging.
 */
int packs_sweep(struct packs *, const uint32_t *, size_t, uint32_t);

/* Flushes that were asked of the kernel so far. */
uint64_t packs_flushes(const struct packs *);

#endif /* !ERRAND_PACK_H */
