/*
 * Writing runs: groups of entries as blocks, and what memory holds of them.
 * Reaches the file through index.c only.
 */
#include <errno.h>
#include <string.h>

#include "index.h"
#include "lib/crash.h"
#include "recent.h"
#include "seg_internal.h"

static int
put_block(struct ix *ix, const struct run *r, uint32_t number,
    const uint8_t *buf, size_t len)
{
	uint8_t key[SEG_BLOCK_KEY_LEN];

	seg_block_key(r->number, number, key);
	return (ix_put(ix, IX_BLOCK, key, sizeof(key), buf, len));
}

int
seg_out_group(struct ix *ix, struct run *r, const uint8_t *entries, size_t n)
{
	uint32_t head = r->is.groups * SEG_GROUP_STEP, number = head;
	uint8_t buf[SEG_BLOCK_MAX];
	struct group *g;
	size_t at, some, len;

	if ((g = segs_group(r)) == NULL)
		return (-1);
	for (at = 0; at < n; at += some) {
		some = n - at < SEG_DATA_ENTRIES ? n - at : SEG_DATA_ENTRIES;
		len = seg_data_encode(r->number, ++number,
		    entries + at * SEG_ENTRY_LEN, some, buf);
		if (put_block(ix, r, number, buf, len) == -1)
			return (-1);
	}
	CRASH_POINT("index-group-written");
	len = seg_head_encode(r->number, head, entries, n, buf);
	if (put_block(ix, r, head, buf, len) == -1)
		return (-1);
	segs_group_first(g, entries);
	g->born = ix_generation(ix);
	r->is.groups++;
	r->is.entries += n;
	return (0);
}

/* Encode some objects; they must be in order. */
static int
encode(struct ix_object *const *objs, size_t n, uint8_t *out)
{
	size_t i;

	for (i = 0; i < n; i++, out += SEG_ENTRY_LEN) {
		if (seg_entry_encode(objs[i], out) == -1)
			return (-1);
		if (i > 0 && memcmp(out - SEG_ENTRY_LEN, out,
		    SEG_KEY_LEN) >= 0) {
			errno = EINVAL;
			return (-1);
		}
	}
	return (0);
}

int
seg_out_batch(struct ix *ix, struct ix_object *const *objs, size_t n)
{
	struct segs *s = ix_segs(ix);
	struct run *r;
	size_t at, some;

	if ((r = segs_add(s, segs_next(s), 0, RUN_WHOLE)) == NULL)
		return (-1);
	for (at = 0; at < n; at += some) {
		some = n - at < s->limits.group_entries ? n - at :
		    s->limits.group_entries;
		if (encode(objs + at, some, s->entries) == -1 ||
		    seg_out_group(ix, r, s->entries, some) == -1)
			return (-1);
	}
	s->added += n;
	return (segs_record(ix, r));
}
