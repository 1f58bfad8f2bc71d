/*
 * Several runs as one sorted sequence.  Reads the index.
 */
#include <stdlib.h>
#include <string.h>

#include "index.h"
#include "lib/size.h"
#include "recent.h"
#include "seg_internal.h"
#include "seg_iter.h"

/*
 * One run, or the tree.
 *
 * Invariant: pos < n unless it is through; the entry at pos has not been seen.
 */
struct source {
	struct run *run;        /* NULL: the tree */
	uint32_t group;         /* that the entries are from */
	uint32_t blocks;        /* that it has */
	uint32_t block;         /* the next one, from 0 */
	size_t n;
	size_t pos;
	uint8_t entries[SEG_DATA_ENTRIES * SEG_ENTRY_LEN];
};

struct seg_iter {
	struct ix *ix;
	size_t n;
	uint8_t entry[SEG_ENTRY_LEN];
	struct source src[];
};

static const uint8_t *
at(const struct source *s)
{
	return (s->entries + s->pos * SEG_ENTRY_LEN);
}

/* The next entries of the tree, behind those that are here. */
static int
load_recent(struct ix *ix, struct source *s, const uint8_t *after)
{
	uint8_t key[SEG_KEY_LEN];

	if (after != NULL)
		memcpy(key, after, sizeof(key));
	s->pos = 0;
	return (recent_fill(ix, after != NULL ? key : NULL, s->entries,
	    SEG_DATA_ENTRIES, &s->n));
}

/* The next block of a run; none is left when n becomes 0. */
static int
load_block(struct ix *ix, struct source *s)
{
	const uint8_t *entries;
	struct seg_head head;

	s->n = s->pos = 0;
	if (s->block == s->blocks) {
		if (s->blocks > 0)
			s->group++;
		s->block = s->blocks = 0;
		if (s->group == s->run->is.groups)
			return (0);
		if (segs_head(ix, s->run, s->group, &head) == -1)
			return (-1);
		s->blocks = head.blocks;
	}
	if (segs_data(ix, s->run, s->group * SEG_GROUP_STEP + 1 + s->block,
	    &entries, &s->n) == -1)
		return (-1);
	memcpy(s->entries, entries, s->n * SEG_ENTRY_LEN);
	s->block++;
	return (0);
}

/* Past what is seen. */
static int
skip(struct source *s, const uint8_t *key)
{
	s->pos = seg_entries_find(s->entries, s->n, key);
	if (s->pos < s->n && memcmp(at(s), key, SEG_KEY_LEN) == 0)
		s->pos++;
	return (s->pos < s->n);
}

/* Stand on the first entry of a run behind a key. */
static int
seek(struct ix *ix, struct source *s, const uint8_t *key)
{
	struct seg_head head;
	int64_t g;
	int b;

	s->group = s->run->is.first;
	if (key != NULL && (g = segs_group_of(s->run, key)) != -1) {
		s->group = (uint32_t)g;
		if (segs_head(ix, s->run, s->group, &head) == -1)
			return (-1);
		b = seg_head_find(&head, key);
		s->blocks = head.blocks;
		s->block = b < 0 ? 0 : (uint32_t)b;
	}
	if (load_block(ix, s) == -1)
		return (-1);
	if (key == NULL || s->n == 0 || skip(s, key))
		return (0);
	return (load_block(ix, s));
}

/* The later of two keys, either of which may be none. */
static const uint8_t *
later(const uint8_t *a, const uint8_t *b)
{
	if (a == NULL || b == NULL)
		return (a == NULL ? b : a);
	return (memcmp(a, b, SEG_KEY_LEN) > 0 ? a : b);
}

static int
start(struct seg_iter *it, struct source *s, const uint8_t *after)
{
	if (s->run == NULL)
		return (load_recent(it->ix, s, after));
	return (seek(it->ix, s, later(after, s->run->is.cut ?
	    s->run->is.low : NULL)));
}

struct seg_iter *
seg_iter_new(struct ix *ix, struct run *const *runs, size_t n, int recent,
    const uint8_t *after)
{
	struct seg_iter *it;
	size_t i, len;

	if (size_mul(n + 1, sizeof(it->src[0]), &len) == -1 ||
	    (it = calloc(1, sizeof(*it) + len)) == NULL)
		return (NULL);
	it->ix = ix;
	if (recent)
		it->n = 1;
	for (i = 0; i < n; i++)
		it->src[it->n++].run = runs[i];
	for (i = 0; i < it->n; i++) {
		if (start(it, &it->src[i], after) == -1) {
			seg_iter_free(it);
			return (NULL);
		}
	}
	return (it);
}

struct seg_iter *
seg_iter_all(struct ix *ix, struct segs *s, const uint8_t *after)
{
	return (seg_iter_new(ix, s->runs, s->n, 1, after));
}

void
seg_iter_free(struct seg_iter *it)
{
	free(it);
}

/* One entry further. */
static int
advance(struct seg_iter *it, struct source *s)
{
	if (++s->pos < s->n)
		return (0);
	if (s->run != NULL)
		return (load_block(it->ix, s));
	return (load_recent(it->ix, s, s->entries +
	    (s->n - 1) * SEG_ENTRY_LEN));
}

int
seg_iter_next(struct seg_iter *it, const uint8_t **entry)
{
	struct source *s, *low = NULL;
	int c;

	for (s = it->src; s < it->src + it->n; s++) {
		if (s->n == 0)
			continue;
		c = low == NULL ? -1 : memcmp(at(s), at(low), SEG_KEY_LEN);
		if (c < 0)
			low = s;
		else if (c == 0 && advance(it, s) == -1)
			return (-1);
	}
	if (low == NULL)
		return (0);
	memcpy(it->entry, at(low), SEG_ENTRY_LEN);
	*entry = it->entry;
	return (advance(it, low) == -1 ? -1 : 1);
}

uint32_t
seg_iter_group(const struct seg_iter *it, size_t i)
{
	return (it->src[i].group);
}
