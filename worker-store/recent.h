#ifndef ERRAND_RECENT_H
#define ERRAND_RECENT_H

#include <stddef.h>
#include <stdint.h>

/*
 * The newest versions of entries, one by one in a tree of LMDB's, until there
 * are enough of them for a run (segs.h).  What is said here holds, whatever a
 * run says.
 *
 *   object  key as in seg.h -> the rest of an entry as in seg.h, 22 bytes.  A
 *           store of format 1 has all of its objects here, as 24 bytes: u32
 *           pack, u32 offset, u32 stored length, u32 raw length, u8 kind, u8
 *           codec, u8 flags, u8 zero, u32 epoch
 *
 * Entries are encoded ones of seg.h, and so are keys.  -1 with errno.
 */
struct ix;

/* ENOENT when nothing is said here; an entry that is gone is found. */
int recent_get(struct ix *, const uint8_t *key, uint8_t *entry);
int recent_put(struct ix *, const uint8_t *entry);
int recent_del(struct ix *, const uint8_t *key);

/**
 * recent_fill(ix, after, entries, max, n):
 * Copy up to ${max} entries that come behind the key ${after} (NULL: from the
 * first on).
 */
int recent_fill(struct ix *, const uint8_t *, uint8_t *, size_t, size_t *);

#endif /* !ERRAND_RECENT_H */
