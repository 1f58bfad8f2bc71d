/*
 * Finding a key in the runs: the newest run first, and in each one group, the
 * filter in its head, and only then one data block.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "index.h"
#include "lib/log.h"
#include "seg_internal.h"

int
segs_damaged(uint64_t run, uint32_t number)
{
	log_warnx("index: block %" PRIu32 " of run %" PRIu64 " is damaged: "
	    "what it named cannot be found; rebuild the index from the packs",
	    number, run);
	errno = EUCLEAN;
	return (-1);
}

static int
block(struct ix *ix, uint64_t run, uint32_t number, const uint8_t **buf,
    size_t *len)
{
	uint8_t key[SEG_BLOCK_KEY_LEN];
	const void *v;

	seg_block_key(run, number, key);
	if (ix_get(ix, IX_BLOCK, key, sizeof(key), &v, len) == -1)
		return (errno == ENOENT ? segs_damaged(run, number) : -1);
	*buf = v;
	return (0);
}

int
segs_data(struct ix *ix, const struct run *r, uint32_t number,
    const uint8_t **entries, size_t *n)
{
	const uint8_t *buf;
	size_t len;

	if (block(ix, r->number, number, &buf, &len) == -1)
		return (-1);
	if (seg_data_check(r->number, number, buf, len, n) == -1)
		return (segs_damaged(r->number, number));
	*entries = buf + SEG_BLOCK_HEAD;
	return (0);
}

int
segs_head(struct ix *ix, struct run *r, uint32_t group, struct seg_head *head)
{
	struct group *g = &r->groups[group];
	uint32_t number = group * SEG_GROUP_STEP;
	size_t len;

	if (g->place != 0 && g->place == ix_place(ix, g->len)) {
		*head = seg_head_at(g->head, g->blocks, g->lines);
		return (0);
	}
	if (block(ix, r->number, number, &g->head, &len) == -1)
		return (-1);
	if (g->len != 0 && g->len == len)
		*head = seg_head_at(g->head, g->blocks, g->lines);
	else if (seg_head_check(r->number, number, g->head, len, head) == -1)
		return (segs_damaged(r->number, number));
	g->len = (uint16_t)len;
	g->blocks = head->blocks;
	g->lines = head->lines;
	g->place = g->born == ix_generation(ix) ? 0 : ix_place(ix, len);
	return (0);
}

int64_t
segs_group_of(const struct run *r, const uint8_t *key)
{
	uint32_t lo = r->is.first, hi = r->is.groups, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (memcmp(r->groups[mid].first, key, SEG_KEY_LEN) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (lo == r->is.first ? -1 : (int64_t)lo - 1);
}

/* 1 when it is in this run, 0 when it is not, -1 with errno. */
static int
find_in(struct ix *ix, struct run *r, const uint8_t *key, uint8_t *entry)
{
	struct seg_head head;
	const uint8_t *entries;
	size_t n, at;
	int64_t g;
	int b;

	if (r->is.cut && memcmp(key, r->is.low, SEG_KEY_LEN) <= 0)
		return (0);
	if ((g = segs_group_of(r, key)) == -1)
		return (0);
	if (segs_head(ix, r, (uint32_t)g, &head) == -1)
		return (-1);
	if (!seg_filter_has(&head, key) || (b = seg_head_find(&head, key)) < 0)
		return (0);
	if (segs_data(ix, r, (uint32_t)g * SEG_GROUP_STEP + 1 + (uint32_t)b,
	    &entries, &n) == -1)
		return (-1);
	at = seg_entries_find(entries, n, key);
	entries += at * SEG_ENTRY_LEN;
	if (at == n || memcmp(entries, key, SEG_KEY_LEN) != 0)
		return (0);
	memcpy(entry, entries, SEG_ENTRY_LEN);
	return (1);
}

int
seg_find(struct ix *ix, const uint8_t *key, uint8_t *entry)
{
	struct segs *s = ix_segs(ix);
	size_t i;
	int rc;

	for (i = 0; i < s->n; i++) {
		if ((rc = find_in(ix, s->runs[i], key, entry)) != 0)
			return (rc == 1 ? 0 : -1);
	}
	errno = ENOENT;
	return (-1);
}
