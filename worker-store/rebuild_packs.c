/*
 * What the packs tell of themselves: objects, and where the journal is.  Reads
 * packs by pack_walk.c; writes the new index.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "index.h"
#include "index_pack.h"
#include "journal_fmt.h"
#include "lib/io.h"
#include "lib/le.h"
#include "lib/log.h"
#include "lib/size.h"
#include "pack.h"
#include "pack_walk.h"
#include "rebuild_internal.h"
#include "store.h"
#include "word.h"

#define BATCH           4096
#define ROOM            (64ULL * 1024 * 1024)
#define TELL_US         500000

static void
tell(struct rebuild *r, const struct pack_walk *w)
{
	uint64_t now = io_mono_us(), at = r->done + w->next;

	if (now - r->told_us < TELL_US)
		return;
	r->told_us = now;
	word_wait("the index is made anew: %" PRIu64 " of %" PRIu64 " MiB of "
	    "packs read", at >> 20, r->total >> 20);
}

static int
by_key(const void *a, const void *b)
{
	const struct ix_object *x = a, *y = b;
	int rc;

	if ((rc = ix_object_cmp(x, y)) != 0)
		return (rc);
	/* The later one of two last: it is the one that stays. */
	if (x->loc.pack != y->loc.pack)
		return (x->loc.pack < y->loc.pack ? -1 : 1);
	return (x->loc.off < y->loc.off ? -1 : x->loc.off > y->loc.off);
}

static int
batch_write(struct rebuild *r)
{
	struct ix *ix = r->st->ix;
	struct ix_object *sorted[BATCH];
	size_t i, n = 0;

	if (r->nbatch == 0)
		return (0);
	qsort(r->batch, r->nbatch, sizeof(*r->batch), by_key);
	for (i = 0; i < r->nbatch; i++)
		if (i + 1 == r->nbatch ||
		    ix_object_cmp(&r->batch[i], &r->batch[i + 1]) != 0)
			sorted[n++] = &r->batch[i];
	r->nbatch = 0;
	if (ix_write(ix, ROOM) == -1)
		return (-1);
	if (ix_objects_put(ix, sorted, n) == -1) {
		ix_abort(ix);
		return (-1);
	}
	return (ix_commit(ix));
}

static void
object_fill(struct ix_object *o, const struct pack_walk *w)
{
	memset(o, 0, sizeof(*o));
	o->tenant = w->rec.tenant;
	o->ref = w->rec.ref;
	o->loc.pack = w->number;
	o->loc.off = (uint32_t)w->at;
	o->loc.len = w->rec.len;
	o->loc.raw_len = w->rec.raw_len;
	o->loc.codec = w->rec.codec;
	o->stamp = (uint32_t)(io_real_us() / 60000000);
}

static int
bad_add(struct rebuild *r, const struct pack_walk *w)
{
	void *p;

	if ((p = size_grow(r->bad, &r->capbad, r->nbad + 1,
	    sizeof(*r->bad))) == NULL)
		return (-1);
	r->bad = p;
	object_fill(&r->bad[r->nbad++], w);
	return (0);
}

static int
object_add(struct rebuild *r, const struct pack_walk *w)
{
	uint8_t raw[OBJ_MAX];

	if (pack_walk_object(w, raw) == -1)
		return (errno == EBADMSG ? bad_add(r, w) : -1);
	object_fill(&r->batch[r->nbatch++], w);
	return (r->nbatch == BATCH ? batch_write(r) : 0);
}

static int
gone_add(struct rebuild *r, const struct journal_entry *e)
{
	void *p;

	if ((p = size_grow(r->gone, &r->capgone, r->ngone + 1,
	    sizeof(*r->gone))) == NULL)
		return (-1);
	r->gone = p;
	r->gone[r->ngone].tenant = e->tenant;
	memcpy(r->gone[r->ngone++].job, e->job, sizeof(e->job));
	return (0);
}

/* For telling entries of one type and order apart. */
static uint64_t
what(const struct journal_entry *e)
{
	uint8_t of[5 + JOB_ID_LEN], hash[16];

	of[0] = e->type;
	le_put32(of + 1, e->tenant);
	memcpy(of + 5, e->job, JOB_ID_LEN);
	(void)crypto_generichash(hash, sizeof(hash), of, sizeof(of), NULL, 0);
	return (le_get64(hash));
}

/* Note where each entry of a journal record is. */
static int
journal_note(struct rebuild *r, const struct pack_walk *w)
{
	struct journal_entry e;
	size_t at, n;
	uint64_t us;
	void *p;

	if (journal_head_decode(w->stored, w->rec.len, &us) == -1) {
		if (errno == EPROTONOSUPPORT) {
			log_warnx("pack %" PRIu32 ": its journal was written "
			    "by a newer version; install that version again",
			    w->number);
			r->said = 1;
			return (-1);
		}
		r->lost_entries++;
		return (0);
	}
	if (us > r->last_us)
		r->last_us = us;
	for (at = JOURNAL_HEAD; at < w->rec.len; at += n) {
		if ((n = journal_entry_decode(w->stored + at, w->rec.len - at,
		    &e)) == 0) {
			r->lost_entries++;
			return (0);
		}
		if (e.type == JOURNAL_FORGET && gone_add(r, &e) == -1)
			return (-1);
		if ((p = size_grow(r->entries, &r->capentries,
		    r->nentries + 1, sizeof(*r->entries))) == NULL)
			return (-1);
		r->entries = p;
		if (e.serial > r->serial)
			r->serial = e.serial;
		r->entries[r->nentries++] = (struct rebuild_entry){
			.order = e.type == JOURNAL_SETTLE ?
			    e.u.settle.sequence : e.serial,
			.what = what(&e), .type = e.type, .pack = w->number,
			.off = (uint32_t)w->at, .at = (uint32_t)at
		};
	}
	return (0);
}

/* A record whose bytes do not match: an object, or a part of the journal. */
static int
damaged(struct rebuild *r, const struct pack_walk *w)
{
	if (w->rec.ref.kind != PACK_JOURNAL)
		return (bad_add(r, w));
	r->lost_entries++;
	log_warnx("pack %" PRIu32 ", offset %" PRIu64 ": changes of jobs are "
	    "lost, their record is damaged", w->number, w->at);
	return (0);
}

static int
record(struct rebuild *r, const struct pack_walk *w, int found)
{
	if (found == PACK_BAD_HEAD) {
		r->lost_bytes += w->next - w->at;
		log_warnx("pack %" PRIu32 ", offset %" PRIu64 ": a record is "
		    "lost, its header is damaged", w->number, w->at);
		return (0);
	}
	if (found == PACK_BAD_BYTES)
		return (damaged(r, w));
	if (w->rec.ref.kind != PACK_JOURNAL)
		return (object_add(r, w));
	r->pack_journal += PACK_REC_HEAD + w->rec.len;
	return (journal_note(r, w));
}

/* The pack's line in the index: as far as it was understood. */
static int
pack_note(struct rebuild *r, const struct ix_pack *pack)
{
	struct ix *ix = r->st->ix;

	if (ix_write(ix, ROOM) == -1)
		return (-1);
	if (ix_pack_put(ix, pack) == -1) {
		ix_abort(ix);
		return (-1);
	}
	return (ix_commit(ix));
}

/* Go through a pack; set ${*records} if it has one of ours. */
static int
walk(struct rebuild *r, struct pack_walk *w, int *records)
{
	int found;

	while ((found = pack_walk_next(w)) != PACK_END) {
		if (found == -1 || (found != PACK_ON &&
		    record(r, w, found) == -1))
			return (-1);
		if (found == PACK_RECORD || found == PACK_BAD_BYTES)
			*records = 1;
		tell(r, w);
	}
	if (w->bad_file_head)
		log_warnx("pack %" PRIu32 ": its header is damaged, or was "
		    "made with another key", w->number);
	if (w->unread > 0)
		log_warnx("pack %" PRIu32 ": the disk does not give %" PRIu64
		    " bytes of it: copy what it still gives to another disk",
		    w->number, w->unread);
	if (w->unreachable > 0) {
		r->lost_bytes += w->unreachable;
		log_warnx("pack %" PRIu32 ": nothing can be read from offset %"
		    PRIu64 " to its end, %" PRIu64 " bytes", w->number, w->next,
		    w->unreachable);
	}
	return (0);
}

/*
 * One that does not even have a header is named by nothing; one that is newer
 * than we are must not be left out.
 */
static int
unreadable(struct rebuild *r, uint32_t number)
{
	if (errno == EPROTONOSUPPORT) {
		log_warnx("pack %" PRIu32 " was written by a newer version; "
		    "install that version again", number);
		goto err0;
	}
	if (errno != EBADMSG) {
		log_warn("the index cannot be made, since pack %" PRIu32
		    " cannot be read", number);
		goto err0;
	}
	log_warnx("pack %" PRIu32 " ends within its header", number);
	return (0);

err0:
	r->said = 1;
	return (-1);
}

/*
 * How far the index counts on it.  One of which nothing was understood counts
 * whole: it is never appended to, nor taken for one that is empty and removed.
 */
static void
extent(struct rebuild *r, const struct pack_walk *w, int records,
    struct ix_pack *pack)
{
	if (records || !w->bad_file_head) {
		r->readable++;
		pack->len = w->next;
		pack->journal = r->pack_journal;
		/* One that was understood to its end may be gone on with. */
		pack->sealed = w->unreachable > 0 || w->bad_file_head;
	} else if (w->unreachable > 0)
		r->foreign++;
}

static int
one_pack(struct rebuild *r, struct ix_pack *pack)
{
	struct pack_walk w;
	uint64_t size = 0;
	int rc, records = 0;

	(void)pack_size(r->st->packs, pack->number, &size);
	pack->sealed = 1;
	pack->len = size;
	r->pack_journal = 0;
	if (pack_walk_open(&w, r->st->packs, pack->number, 0, 0) == -1)
		rc = unreadable(r, pack->number);
	else {
		if ((rc = walk(r, &w, &records)) == 0)
			rc = batch_write(r);
		extent(r, &w, records, pack);
		pack_walk_done(&w);
	}
	r->done += size;
	r->packs++;
	return (rc);
}

/* The last pack is appended to, unless it is damaged: then another one is. */
static int
table(struct rebuild *r, struct ix_pack *all, size_t n)
{
	struct ix_pack begun = { .len = PACK_HEAD };
	size_t i;

	for (i = 0; i < n; i++) {
		if (i + 1 < n)
			all[i].sealed = 1;
		/* Begun in a crash, or no pack: named by nothing. */
		if (all[i].len < PACK_HEAD)
			continue;
		if (pack_note(r, &all[i]) == -1)
			return (-1);
	}
	if (n == 0 || !all[n - 1].sealed)
		return (0);
	begun.number = all[n - 1].number + 1;
	if (packs_begin(r->st->packs, begun.number) == -1)
		return (-1);
	return (pack_note(r, &begun));
}

/* With a key that is not this store's no pack is understood at all. */
static int
key_fits(struct rebuild *r)
{
	if (r->foreign == 0 || r->readable > 0)
		return (0);
	log_warnx("no pack was made with the file key: put the right one back "
	    "from a backup, or move packs and index away to begin anew");
	r->said = 1;
	return (-1);
}

static int
walk_all(struct rebuild *r, const uint32_t *numbers, size_t n)
{
	struct ix_pack *all;
	size_t i;
	uint64_t size;
	int rc = 0;

	for (i = 0; i < n; i++)
		if (pack_size(r->st->packs, numbers[i], &size) == 0)
			r->total += size;
	if (NEW_ARRAY(all, n + 1) == -1)
		return (-1);
	for (i = 0; i < n && rc == 0; i++) {
		all[i].number = numbers[i];
		rc = one_pack(r, &all[i]);
	}
	if (rc == 0)
		rc = key_fits(r);
	if (rc == 0)
		rc = table(r, all, n);
	free(all);
	return (rc);
}

int
rebuild_packs(struct rebuild *r)
{
	uint32_t *numbers;
	size_t n;
	int rc;

	if (NEW_ARRAY(r->batch, BATCH) == -1) {
		log_warn("no memory to make the index");
		return (-1);
	}
	if (packs_list(r->st->packs, &numbers, &n) == -1)
		return (-1);
	if ((rc = walk_all(r, numbers, n)) == -1 && !r->said)
		log_warnx("the index cannot be made: %s", strerror(errno));
	free(numbers);
	return (rc);
}
