#ifndef ERRAND_STORE_QUARANTINE_H
#define ERRAND_STORE_QUARANTINE_H

#include <stddef.h>
#include <stdint.h>

struct ix;
struct ix_object;
struct obj_ref;
struct store;

/*
 * Objects whose bytes turned out to be damaged.  They are not served any more
 * and not found by whoever asks what is missing, so the next upload of the
 * same object mends them; whoever asks for one is told that it is damaged.
 *
 *   quarantine  tenant, id -> u8 kind, u8 codec, 2 zero, u32 pack, offset,
 *               stored length, raw length, u64 when, us since 1970
 *
 * Invariants:
 *  1. An object is in the index's table of objects or here, never in both;
 *     one that was found since the last commit is in the table still, but
 *     nobody finds it there.
 *  2. While a tenant has any, none of its marks of completeness counts: what
 *     is missing may be below a tree that was complete once.
 */
struct quarantine;

struct quarantine *quarantine_open(struct store *);     /* NULL: logged */
void quarantine_free(struct quarantine *);

/* This object is damaged: from now on nobody finds it. */
void quarantine_add(struct store *, const struct ix_object *);

/* Does the tenant have any?  How many are there in all? */
int quarantine_has(const struct store *, uint32_t);
uint64_t quarantine_count(const struct store *);

/* Found damaged since the last commit. */
int quarantine_hides(const struct store *, uint32_t, const struct obj_ref *);

/* Is it known to be damaged?  Between ix_read and ix_read_end. */
int quarantine_is(struct store *, uint32_t, const struct obj_ref *);

/* Is there something for a commit?  Then, in its transaction, before what is
 * pending is written; and afterwards. */
int quarantine_due(const struct store *);
int quarantine_write(struct store *);

/* The same behind what was pending: some of that may be the damaged ones. */
int quarantine_rest(struct store *);
void quarantine_end(struct store *, int committed);

/* The entry itself, in a write transaction; in any. */
int quarantine_put(struct ix *, const struct ix_object *);
int quarantine_del(struct ix *, const struct ix_object *);

/* Called per entry, ascending, behind ${after} (NULL: all). */
typedef int quarantine_fn(void *, const struct ix_object *);
int quarantine_scan(struct ix *, quarantine_fn *, void *);

/* Forget the counts and take them anew from the index. */
int quarantine_load(struct store *);

#endif /* !ERRAND_STORE_QUARANTINE_H */
