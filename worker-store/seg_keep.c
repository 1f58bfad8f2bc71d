/*
 * The upkeep of runs: making one of the recent entries, and merging.  Reads
 * and writes the index, within a transaction that somebody else ends.
 */
#include <errno.h>
#include <string.h>

#include "index.h"
#include "lib/log.h"
#include "recent.h"
#include "seg_internal.h"
#include "seg_iter.h"

#define INPUTS_MAX      16      /* runs merged at once */
#define FLUSH_GROUPS    2       /* groups made of recent entries at once */
#define FORCED_BASE     2       /* groups that a commit merges if it must */
#define FORCED_EACH     8       /* and for each group's worth it adds */
#define FORCED_MAX      64      /* some 20 ms */

/* One level's merge, while a step of it runs. */
struct merge {
	struct ix *ix;
	struct segs *segs;
	uint8_t level;
	struct run *in[INPUTS_MAX];     /* newest first */
	size_t n;
	struct run *out;
	int bottom;             /* nothing is older: what is gone may go */
	uint8_t last[SEG_KEY_LEN];      /* the last key that was taken */
};

/* Leave out what is gone; return how many entries are left. */
static size_t
drop_gone(uint8_t *entries, size_t n)
{
	size_t i, kept = 0;

	for (i = 0; i < n; i++) {
		if (seg_entry_gone(entries + i * SEG_ENTRY_LEN))
			continue;
		memmove(entries + kept++ * SEG_ENTRY_LEN,
		    entries + i * SEG_ENTRY_LEN, SEG_ENTRY_LEN);
	}
	return (kept);
}

/* Take the entries that were copied out of the tree. */
static int
drain(struct ix *ix, const uint8_t *entries, size_t n)
{
	uint64_t all;
	size_t i;

	if (ix_count(ix, IX_OBJECT, &all) == -1)
		return (-1);
	if (all == n) {
		ix_segs(ix)->drained = 1;
		return (ix_empty(ix, IX_OBJECT));
	}
	for (i = 0; i < n; i++) {
		if (recent_del(ix, entries + i * SEG_ENTRY_LEN) == -1)
			return (-1);
	}
	return (0);
}

/* Make a run of the first entries of the tree. */
static int
flush(struct ix *ix)
{
	struct segs *s = ix_segs(ix);
	int bottom = s->n == 0;
	struct run *r;
	size_t i, n;

	if ((r = segs_add(s, segs_next(s), 0, RUN_WHOLE)) == NULL)
		return (-1);
	for (i = 0; i < FLUSH_GROUPS; i++) {
		if (recent_fill(ix, NULL, s->entries, s->limits.group_entries,
		    &n) == -1 || (n > 0 && drain(ix, s->entries, n) == -1))
			return (-1);
		s->added += n;
		if (bottom)
			n = drop_gone(s->entries, n);
		if (n > 0 && seg_out_group(ix, r, s->entries, n) == -1)
			return (-1);
	}
	if (r->is.groups > 0)
		return (segs_record(ix, r));
	segs_remove(s, r);
	return (0);
}

static int
recent_over(struct ix *ix, size_t max)
{
	uint64_t n;

	return (ix_count(ix, IX_OBJECT, &n) == 0 && n > max);
}

/* The lowest level with a merge under way or to be begun, -1 for none. */
static int
level_due(const struct segs *s)
{
	size_t whole[SEG_LEVELS] = { 0 }, trigger, i;
	const struct run *r;
	int under_way[SEG_LEVELS] = { 0 }, l;

	for (i = 0; i < s->n; i++) {
		r = s->runs[i];
		whole[r->is.level] += r->is.state == RUN_WHOLE;
		under_way[r->is.level] |= r->is.state == RUN_INPUT;
	}
	for (l = 0; l < SEG_LEVELS - 1; l++) {
		trigger = l == 0 ? s->limits.trigger_0 : s->limits.trigger;
		if ((under_way[l] || whole[l] >= trigger) &&
		    (s->stuck & 1U << l) == 0)
			return (l);
	}
	return (-1);
}

/* The runs of the level in that state, at most so many, the oldest ones. */
static size_t
pick(const struct segs *s, uint8_t level, uint8_t state, struct run **out,
    size_t max)
{
	size_t i, n = 0, total = 0;
	struct run *r;

	for (i = 0; i < s->n; i++)
		total += s->runs[i]->is.level == level &&
		    s->runs[i]->is.state == state;
	for (i = 0; i < s->n; i++) {
		r = s->runs[i];
		if (r->is.level != level || r->is.state != state)
			continue;
		if (total-- <= max)
			out[n++] = r;
	}
	return (n);
}

/* Mark the inputs of a new merge, and begin what they become. */
static int
begin(struct merge *m)
{
	size_t i;

	m->n = pick(m->segs, m->level, RUN_WHOLE, m->in, INPUTS_MAX);
	for (i = 0; i < m->n; i++) {
		m->in[i]->is.state = RUN_INPUT;
		if (segs_record(m->ix, m->in[i]) == -1)
			return (-1);
	}
	m->out = segs_add(m->segs, segs_next(m->segs), m->level + 1,
	    RUN_MAKING);
	return (m->out == NULL ? -1 : 0);
}

/* Go on with a level's merge, or begin one. */
static int
open_merge(struct ix *ix, uint8_t level, struct merge *m)
{
	const struct run *r;
	size_t i;

	m->ix = ix;
	m->segs = ix_segs(ix);
	m->level = level;
	m->n = pick(m->segs, level, RUN_INPUT, m->in, INPUTS_MAX);
	if (m->n == 0 && begin(m) == -1)
		return (-1);
	if (m->out == NULL && pick(m->segs, level + 1, RUN_MAKING, &m->out,
	    1) == 0) {
		log_warnx("index: the run that a merge makes is gone");
		errno = EUCLEAN;
		return (-1);
	}
	m->bottom = 1;
	for (i = 0; i < m->segs->n; i++) {
		r = m->segs->runs[i];
		if (r->is.level > level && r != m->out)
			m->bottom = 0;
	}
	return (0);
}

/*
 * Copy the entries of the next group.  1 when there are more, 0 at the end, -1
 * with errno.  Of those that are gone it takes a bounded number, too.
 */
static int
take(struct merge *m, struct seg_iter *it, size_t *n)
{
	size_t max = m->segs->limits.group_entries, seen = 0;
	uint8_t *to = m->segs->entries;
	const uint8_t *entry;
	int rc = 1;

	*n = 0;
	while (*n < max && seen++ < 2 * max &&
	    (rc = seg_iter_next(it, &entry)) == 1) {
		memcpy(m->last, entry, SEG_KEY_LEN);
		if (m->bottom && seg_entry_gone(entry))
			continue;
		memcpy(to + (*n)++ * SEG_ENTRY_LEN, entry, SEG_ENTRY_LEN);
	}
	return (rc);
}

/* Remove the blocks of a group. */
static int
remove_group(struct ix *ix, struct run *r)
{
	uint32_t number = r->is.first * SEG_GROUP_STEP, i, blocks;
	uint8_t key[SEG_BLOCK_KEY_LEN];
	struct seg_head head;

	if (segs_head(ix, r, r->is.first, &head) == -1)
		return (-1);
	blocks = head.blocks;
	for (i = 0; i <= blocks; i++) {
		seg_block_key(r->number, number + i, key);
		if (ix_del(ix, IX_BLOCK, key, sizeof(key)) == -1)
			return (-1);
	}
	r->is.first++;
	return (0);
}

/* What went into the new run is not in the old ones any more. */
static int
cut_inputs(struct merge *m, const struct seg_iter *it)
{
	struct run *r;
	size_t i;

	for (i = 0; i < m->n; i++) {
		r = m->in[i];
		while (r->is.first < seg_iter_group(it, i)) {
			if (remove_group(m->ix, r) == -1)
				return (-1);
		}
		r->is.cut = 1;
		memcpy(r->is.low, m->last, SEG_KEY_LEN);
		if (segs_record(m->ix, r) == -1)
			return (-1);
	}
	return (segs_record(m->ix, m->out));
}

static int
finish(struct merge *m)
{
	size_t i;

	for (i = 0; i < m->n; i++) {
		while (m->in[i]->is.first < m->in[i]->is.groups) {
			if (remove_group(m->ix, m->in[i]) == -1)
				return (-1);
		}
		if (segs_forget(m->ix, m->in[i]) == -1)
			return (-1);
	}
	m->out->is.state = RUN_WHOLE;
	if (segs_record(m->ix, m->out) == -1)
		return (-1);
	return (m->out->is.groups > 0 ? 0 : segs_forget(m->ix, m->out));
}

/*
 * Merge up to ${groups} groups; say how many are left to be done elsewhere.
 * Damage is found before anything is written for its sake: the level rests,
 * and what else the transaction has is good.
 */
static int
merge(struct ix *ix, uint8_t level, size_t *groups)
{
	struct merge m = { .n = 0 };
	struct seg_iter *it = NULL;
	size_t n = 0;
	int rc = -1, more = 1;

	if (open_merge(ix, level, &m) == -1)
		goto err0;
	if ((it = seg_iter_new(ix, m.in, m.n, 0, NULL)) == NULL)
		goto err1;
	for (; *groups > 0 && more; (*groups)--) {
		if ((more = take(&m, it, &n)) == -1)
			goto err1;
		if (n > 0 && seg_out_group(ix, m.out, m.segs->entries,
		    n) == -1)
			goto err0;
		if ((more ? cut_inputs(&m, it) : finish(&m)) == -1)
			goto err0;
	}
	rc = 0;
err0:
	seg_iter_free(it);
	return (rc);

err1:
	seg_iter_free(it);
	if (errno != EUCLEAN)
		return (-1);
	log_warnx("index: runs of level %u are not merged any more", level);
	m.segs->stuck |= 1U << level;
	return (segs_record(ix, m.out));
}

static int
merge_some(struct ix *ix, size_t groups)
{
	int level;

	while (groups > 0 && (level = level_due(ix_segs(ix))) != -1) {
		if (merge(ix, (uint8_t)level, &groups) == -1)
			return (-1);
	}
	return (0);
}

int
seg_keep_due(struct ix *ix)
{
	const struct segs *s = ix_segs(ix);

	return (level_due(s) != -1 || recent_over(ix, s->limits.recent_max));
}

int
seg_keep_step(struct ix *ix, size_t groups)
{
	if (recent_over(ix, ix_segs(ix)->limits.recent_max) &&
	    flush(ix) == -1)
		return (-1);
	return (merge_some(ix, groups));
}

int
seg_keep_forced(struct ix *ix)
{
	struct segs *s = ix_segs(ix);
	size_t groups;

	if (recent_over(ix, 2 * s->limits.recent_max) && flush(ix) == -1)
		return (-1);
	if (s->n <= s->limits.runs_max)
		return (0);
	groups = FORCED_BASE + (size_t)(s->added * FORCED_EACH /
	    s->limits.group_entries);
	return (merge_some(ix, groups < FORCED_MAX ? groups : FORCED_MAX));
}
