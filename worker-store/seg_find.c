/*
 * Finding a key in the runs: the newest run first, and in each one group, the
 * filter in its head, and only then one data block.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "index.h"
#include "index_key.h"
#include "lib/log.h"
#include "seg_internal.h"

#define AT_ONCE         16

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

/* Does the group begin behind the key?  Eight bytes nearly always tell. */
static int
is_behind(const struct group *g, const uint8_t *key, uint64_t prefix)
{
	if (g->prefix != prefix)
		return (g->prefix > prefix);
	return (memcmp(g->first, key, SEG_KEY_LEN) > 0);
}

int64_t
segs_group_of(const struct run *r, const uint8_t *key)
{
	uint32_t lo = r->is.first, hi = r->is.groups, mid;
	uint64_t prefix = be_get64(key);

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (is_behind(&r->groups[mid], key, prefix))
			hi = mid;
		else
			lo = mid + 1;
	}
	return (lo == r->is.first ? -1 : (int64_t)lo - 1);
}

/* Where a key would be in one run. */
struct place {
	const struct run *run;
	uint32_t group;
	struct seg_head head;
};

/* 1 with the place, 0 when the run cannot have it, -1 with errno. */
static int
place_of(struct ix *ix, struct run *r, const uint8_t *key, struct place *p)
{
	int64_t g;

	if (r->is.cut && memcmp(key, r->is.low, SEG_KEY_LEN) <= 0)
		return (0);
	if ((g = segs_group_of(r, key)) == -1)
		return (0);
	p->run = r;
	p->group = (uint32_t)g;
	if (segs_head(ix, r, p->group, &p->head) == -1)
		return (-1);
	__builtin_prefetch(seg_filter_line(&p->head, key));
	return (1);
}

/* 1 when it is there, 0 when it is not, -1 with errno. */
static int
find_at(struct ix *ix, const struct place *p, const uint8_t *key,
    uint8_t *entry)
{
	const uint8_t *entries;
	size_t n, at;
	int b;

	if (!seg_filter_has(&p->head, key) ||
	    (b = seg_head_find(&p->head, key)) < 0)
		return (0);
	if (segs_data(ix, p->run, p->group * SEG_GROUP_STEP + 1 + (uint32_t)b,
	    &entries, &n) == -1)
		return (-1);
	at = seg_entries_find(entries, n, key);
	entries += at * SEG_ENTRY_LEN;
	if (at == n || memcmp(entries, key, SEG_KEY_LEN) != 0)
		return (0);
	memcpy(entry, entries, SEG_ENTRY_LEN);
	return (1);
}

/*
 * Some runs at a time: the memory that each of them needs is under way while
 * the next one is looked for.
 */
static int
find_some(struct ix *ix, struct run *const *runs, size_t n,
    const uint8_t *key, uint8_t *entry)
{
	struct place places[AT_ONCE];
	size_t i, some = 0;
	int rc = 0;

	for (i = 0; i < n; i++) {
		if ((rc = place_of(ix, runs[i], key, &places[some])) == -1)
			return (-1);
		some += rc == 1;
	}
	rc = 0;
	for (i = 0; i < some && rc == 0; i++)
		rc = find_at(ix, &places[i], key, entry);
	return (rc);
}

int
seg_find(struct ix *ix, const uint8_t *key, uint8_t *entry)
{
	struct segs *s = ix_segs(ix);
	size_t i, n;
	int rc;

	for (i = 0; i < s->n; i += n) {
		n = s->n - i < AT_ONCE ? s->n - i : AT_ONCE;
		if ((rc = find_some(ix, s->runs + i, n, key, entry)) != 0)
			return (rc == 1 ? 0 : -1);
	}
	errno = ENOENT;
	return (-1);
}
