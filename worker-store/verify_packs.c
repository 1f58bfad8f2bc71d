/*
 * Every pack from its first record to its last: whether a rebuild of the index
 * could read it, and the journal in it.  Reads only.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "journal_fmt.h"
#include "lib/log.h"
#include "pack.h"
#include "store.h"
#include "verify_internal.h"

static int
journal_look(struct verify *v)
{
	const struct pack_walk *w = &v->pw;
	struct journal_entry e;
	size_t at, n;
	uint64_t us;

	v->journal++;
	if (journal_head_decode(w->stored, w->rec.len, &us) == -1)
		return (-1);
	for (at = JOURNAL_HEAD; at < w->rec.len; at += n)
		if ((n = journal_entry_decode(w->stored + at, w->rec.len - at,
		    &e)) == 0)
			return (-1);
	return (0);
}

static void
record(struct verify *v, int found)
{
	const struct pack_walk *w = &v->pw;

	if (found == PACK_BAD_HEAD)
		verify_bad(v, "pack %" PRIu32 ", offset %" PRIu64 ": the "
		    "header of a record is damaged", w->number, w->at);
	else if (found != PACK_ON && w->rec.ref.kind == PACK_JOURNAL &&
	    (found == PACK_BAD_BYTES || journal_look(v) == -1)) {
		v->journal_bad++;
		verify_bad(v, "pack %" PRIu32 ", offset %" PRIu64 ": a record "
		    "of the journal is damaged", w->number, w->at);
	}
}

/* It says nothing that we do not know, if the records are ours. */
static void
bad_file_head(struct verify *v)
{
	const struct pack_walk *w = &v->pw;

	if (v->repair && w->unreachable == 0 &&
	    packs_head_mend(v->st->packs, w->number) == 0) {
		v->mended++;
		verify_note(v, "pack %" PRIu32 ": its header was damaged, and "
		    "is mended", w->number);
		return;
	}
	verify_bad(v, "pack %" PRIu32 ": its header is damaged, or was made "
	    "with another key", w->number);
}

static void
pack_end(struct verify *v, const struct verify_pack *p)
{
	const struct pack_walk *w = &v->pw;

	if (w->unreachable > 0)
		verify_bad(v, "pack %" PRIu32 ": nothing could be read from "
		    "offset %" PRIu64 " to its end, %" PRIu64 " bytes",
		    p->number, w->next, w->unreachable);
	if (w->bad_file_head)
		bad_file_head(v);
	verify_note(v, "pack %" PRIu32 ": %" PRIu64 " bytes, %" PRIu64
	    " of them live", p->number, p->len, p->live);
	pack_walk_done(&v->pw);
	v->walking = 0;
	v->pack++;
}

/* One that collection has taken away meanwhile is none any more. */
static int
is_named(struct verify *v, uint32_t number)
{
	uint64_t len;

	return (pack_size(v->st->packs, number, &len) == 0 ||
	    errno != ENOENT);
}

static int
pack_begin(struct verify *v, const struct verify_pack *p)
{
	if (pack_walk_open(&v->pw, v->st->packs, p->number, p->len, 1) == 0) {
		v->walking = 1;
		return (0);
	}
	if (errno == ENOMEM)
		return (-1);
	if (p->live > 0 || is_named(v, p->number))
		verify_bad(v, "pack %" PRIu32 " cannot be read: %s", p->number,
		    errno == EBADMSG ? "it ends within its header" :
		    strerror(errno));
	v->pack++;
	return (0);
}

int
verify_packs(struct verify *v)
{
	int found;

	while (v->pack < v->npacks && !verify_pause(v)) {
		if (!v->walking) {
			if (pack_begin(v, &v->packs[v->pack]) == -1)
				return (-1);
			continue;
		}
		if ((found = pack_walk_next(&v->pw)) == -1)
			return (-1);
		if (found == PACK_END)
			pack_end(v, &v->packs[v->pack]);
		else
			record(v, found);
	}
	return (v->pack < v->npacks);
}
