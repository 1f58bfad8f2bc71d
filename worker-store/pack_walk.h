#ifndef ERRAND_STORE_PACK_WALK_H
#define ERRAND_STORE_PACK_WALK_H

#include <stdint.h>

#include "pack_rec.h"

struct packs;

/*
 * A pack from its first record to its last, by their lengths and MACs and
 * nothing else: bytes that only look like a record are never taken for one.
 * A header that is damaged is passed over when its length leads to one that is
 * not; else the rest of the pack cannot be reached.
 */
enum pack_found {
	PACK_END = 0,           /* no more: see unreachable */
	PACK_RECORD,            /* w->rec, at w->at, its bytes at w->stored */
	PACK_BAD_BYTES,         /* the same, but the bytes do not match */
	PACK_BAD_HEAD           /* from w->at to w->next; nothing else to tell */
};

struct pack_walk {
	struct packs *packs;
	uint32_t number;
	uint64_t end;           /* walk no further */
	uint64_t next;
	int heads;              /* headers only: stored is not read */
	/* what was found */
	uint64_t at;
	struct pack_rec rec;
	const uint8_t *stored;
	uint64_t unreachable;   /* bytes between the last record and the end */
	/* a window on the file */
	uint8_t *win;
	uint64_t win_at;
	size_t win_len;
};

/**
 * pack_walk_open(w, packs, number, end, heads):
 * Begin; ${end} is at most the file's length, 0: that.  Return 0, or -1 with
 * errno: EBADMSG or EPROTONOSUPPORT when the file is no pack that we can read.
 */
int pack_walk_open(struct pack_walk *, struct packs *, uint32_t, uint64_t,
    int);
void pack_walk_done(struct pack_walk *);

/* The next one: an enum pack_found, or -1 with errno. */
int pack_walk_next(struct pack_walk *);

/**
 * pack_walk_object(w, raw):
 * Undo the codec of an object's record into ${raw} (OBJ_MAX bytes) and check
 * its id.  Return 0, or -1/EBADMSG.
 */
int pack_walk_object(const struct pack_walk *, uint8_t *);

#endif /* !ERRAND_STORE_PACK_WALK_H */
