/*
 * Walking a pack without the index.  Reads pack files through pack.c; writes
 * nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/le.h"
#include "lib/objrec.h"
#include "pack.h"
#include "pack_walk.h"

#define WINDOW  (1024 * 1024)
#define PIECE   4096            /* of what a disk gives only in part */
#define HUNT    (128 * 1024)    /* looked at by one call */

/*
 * The disk does not give all of it: what it has, piece by piece.  The rest is
 * zeros, in which no record is found, and no record's bytes either.
 */
static ssize_t
salvage(struct pack_walk *w, uint64_t off, size_t len)
{
	size_t have, want;
	ssize_t n;

	if (len > w->end - off)
		len = (size_t)(w->end - off);
	for (have = 0; have < len; have += (size_t)n) {
		want = PIECE - (off + have) % PIECE;
		want = want < len - have ? want : len - have;
		n = pack_pread(w->packs, w->number, w->win + have, want,
		    off + have);
		if (n == -1 && errno != EIO)
			return (-1);
		if (n == 0)
			break;
		if (n == -1) {
			memset(w->win + have, 0, want);
			w->unread += want;
			n = (ssize_t)want;
		}
	}
	return ((ssize_t)have);
}

/* ${len} bytes at ${off}: where they are, or NULL: EBADMSG behind the end. */
static const uint8_t *
look(struct pack_walk *w, uint64_t off, size_t len)
{
	ssize_t n;

	if (off > w->end || len > w->end - off) {
		errno = EBADMSG;
		return (NULL);
	}
	if (off < w->win_at || off + len > w->win_at + w->win_len) {
		n = pack_pread(w->packs, w->number, w->win,
		    w->heads ? len : WINDOW, off);
		if (n == -1 && errno == EIO)
			n = salvage(w, off, w->heads ? len : WINDOW);
		if (n == -1)
			return (NULL);
		w->win_at = off;
		w->win_len = (size_t)n;
		if ((size_t)n < len) {
			errno = EBADMSG;
			return (NULL);
		}
	}
	return (w->win + (off - w->win_at));
}

int
pack_walk_open(struct pack_walk *w, struct packs *ps, uint32_t number,
    uint64_t end, int heads)
{
	const uint8_t *p;
	uint64_t size;

	memset(w, 0, sizeof(*w));
	w->packs = ps;
	w->number = number;
	w->heads = heads;
	if ((w->win = malloc(WINDOW)) == NULL)
		goto err0;
	if (pack_size(ps, number, &size) == -1)
		goto err1;
	w->end = end == 0 || end > size ? size : end;
	w->next = PACK_HEAD;
	if ((p = look(w, 0, PACK_HEAD)) == NULL)
		goto err1;
	if (pack_head_check(p, number, packs_key(ps)) == -1) {
		if (errno != EBADMSG)
			goto err1;
		w->bad_file_head = 1;
	}
	return (0);

err1:
	free(w->win);
	w->win = NULL;
err0:
	return (-1);
}

void
pack_walk_done(struct pack_walk *w)
{
	free(w->win);
	w->win = NULL;
}

/* Is there a record of ours at ${off}?  1, 0, or -1 with errno. */
static int
is_record(struct pack_walk *w, uint64_t off, struct pack_rec *rec)
{
	const uint8_t *p;

	if ((p = look(w, off, PACK_REC_HEAD)) == NULL)
		return (errno == EBADMSG ? 0 : -1);
	return (pack_rec_decode(p, packs_key(w->packs), w->number, off,
	    rec) == 0);
}

/* The first place from ${off} on, in ${len} bytes, with a record, or 0. */
static int
hunt_in(struct pack_walk *w, uint64_t off, size_t len, uint64_t *found)
{
	const uint8_t *p, *q;
	uint8_t magic[4];
	struct pack_rec rec;

	*found = 0;
	le_put32(magic, PACK_REC_MAGIC);
	if ((p = look(w, off, len)) == NULL)
		return (errno == EBADMSG ? 0 : -1);
	for (q = p; len - (size_t)(q - p) >= PACK_REC_HEAD; q++) {
		q = memmem(q, len - (size_t)(q - p), magic, sizeof(magic));
		if (q == NULL || len - (size_t)(q - p) < PACK_REC_HEAD)
			break;
		if (pack_rec_decode(q, packs_key(w->packs), w->number,
		    off + (uint64_t)(q - p), &rec) == 0) {
			*found = off + (uint64_t)(q - p);
			break;
		}
	}
	return (0);
}

/*
 * A header is damaged, its length with it perhaps: look for the next record.
 * Bytes that a tenant chose have no MAC, so none of them is found here.
 */
static int
hunt(struct pack_walk *w)
{
	uint64_t left = w->end - w->hunt, found;
	size_t len = left > HUNT ? HUNT : (size_t)left;

	if (hunt_in(w, w->hunt, len, &found) == -1)
		return (-1);
	if (found != 0) {
		w->at = w->next;
		w->next = found;
		w->hunt = 0;
		return (PACK_BAD_HEAD);
	}
	if (len == left) {
		w->unreachable = w->end - w->next;
		return (PACK_END);
	}
	/* A header may begin before where this looked to. */
	w->hunt += len - (PACK_REC_HEAD - 1);
	return (PACK_ON);
}

/* Do the bytes match their header?  A body behind the end does not. */
static int
body(struct pack_walk *w)
{
	const size_t all = PACK_REC_HEAD + w->rec.len;
	const uint8_t *p;
	uint8_t id[OBJ_ID_LEN];

	if ((p = look(w, w->at, all)) == NULL)
		return (errno == EBADMSG ? PACK_BAD_BYTES : -1);
	w->stored = p + PACK_REC_HEAD;
	if (pack_rec_verify(p, &w->rec, w->stored) == -1)
		return (PACK_BAD_BYTES);
	if (w->rec.ref.kind == PACK_JOURNAL) {
		pack_journal_id(w->stored, w->rec.len, id);
		if (memcmp(id, w->rec.ref.id, sizeof(id)) != 0)
			return (PACK_BAD_BYTES);
	}
	return (PACK_RECORD);
}

int
pack_walk_next(struct pack_walk *w)
{
	int rc;

	if (w->next >= w->end)
		return (PACK_END);
	if (w->hunt != 0)
		return (hunt(w));
	if ((rc = is_record(w, w->next, &w->rec)) == -1)
		return (-1);
	if (rc == 0) {
		w->hunt = w->next + 1;
		return (hunt(w));
	}
	/* A record that was cut off by the end of the file is none. */
	if (PACK_REC_HEAD + (uint64_t)w->rec.len > w->end - w->next) {
		w->unreachable = w->end - w->next;
		return (PACK_END);
	}
	w->at = w->next;
	w->next += PACK_REC_HEAD + w->rec.len;
	w->stored = NULL;
	return (w->heads && w->rec.ref.kind != PACK_JOURNAL ? PACK_RECORD :
	    body(w));
}

int
pack_walk_object(const struct pack_walk *w, uint8_t *raw)
{
	const struct objrec packed = {
		.ref = w->rec.ref,
		.codec = w->rec.codec,
		.raw_len = w->rec.raw_len,
		.len = w->rec.len
	};
	struct obj_ref is;

	if (objrec_unpack(&packed, w->stored, raw) == -1) {
		if (errno != ENOMEM)
			errno = EBADMSG;
		return (-1);
	}
	if (obj_ref_of(w->rec.ref.kind, raw, w->rec.raw_len, &is) == -1 ||
	    !obj_ref_equal(&is, &w->rec.ref)) {
		errno = EBADMSG;
		return (-1);
	}
	return (0);
}
