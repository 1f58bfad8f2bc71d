#ifndef ERRAND_STORE_PACK_WALK_H
#define ERRAND_STORE_PACK_WALK_H

#include <stdint.h>

#include "pack_rec.h"

struct packs;

/*
 * A pack from its first record to its last, by their lengths and MACs and
 * nothing else: bytes that only look like a record are never taken for one.
 * Behind a header that is damaged the next is looked for that has a MAC for its
 * very place.  So too where the disk gives an error for a part of the file
 * (EIO).  The file's own header says nothing that its records do not say
 * themselves.
 */
enum pack_found {
	PACK_END = 0,           /* no more: see unreachable */
	PACK_RECORD,            /* w->rec, at w->at, its bytes at w->stored */
	PACK_BAD_BYTES,         /* the same, but the bytes do not match */
	PACK_BAD_HEAD,          /* from w->at to w->next; no more to tell */
	PACK_ON                 /* nothing yet: go on */
};

struct pack_walk {
	struct packs *packs;
	uint32_t number;
	uint64_t end;           /* walk no further */
	uint64_t next;
	int heads;              /* headers only: stored is not read */
	int bad_file_head;      /* damaged, or made with another key */
	uint64_t unread;        /* bytes that the disk did not give */
	uint64_t hunt;          /* where to look for a record, or 0 */
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
 * errno: EBADMSG when the file is shorter than a pack's header, EPROTONOSUPPORT
 * when a newer version wrote it.
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
