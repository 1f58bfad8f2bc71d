/*
 * Which runs the index has: their records, what memory holds of them, and how
 * that follows a transaction that is aborted.  Reaches the file through
 * index.c only.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "index.h"
#include "index_key.h"
#include "lib/crash.h"
#include "lib/le.h"
#include "lib/log.h"
#include "lib/size.h"
#include "seg_internal.h"

#define RECORD_LEN      (20 + SEG_KEY_LEN)
#define NUMBER_LEN      8

struct segs *
segs_new(void)
{
	struct segs *s;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		goto err0;
	s->entries = malloc((size_t)SEG_GROUP_ENTRIES * SEG_ENTRY_LEN);
	if (s->entries == NULL)
		goto err1;
	s->recent.stale = 1;
	s->limits.recent_max = TEST_NUMBER("recent-max", SEG_RECENT_MAX);
	s->limits.batch_min = TEST_NUMBER("batch-min", SEG_BATCH_MIN);
	s->limits.group_entries = TEST_NUMBER("group-entries",
	    SEG_GROUP_ENTRIES);
	s->limits.trigger_0 = TEST_NUMBER("trigger-0", SEG_TRIGGER_0);
	s->limits.trigger = TEST_NUMBER("trigger", SEG_TRIGGER);
	s->limits.runs_max = TEST_NUMBER("runs-max", SEG_RUNS_MAX);
	return (s);

err1:
	free(s);
err0:
	return (NULL);
}

static void
run_free(struct run *r)
{
	free(r->groups);
	free(r);
}

void
segs_free(struct segs *s)
{
	size_t i;

	if (s == NULL)
		return;
	segs_aborted(s);
	for (i = 0; i < s->n; i++)
		run_free(s->runs[i]);
	free(s->runs);
	free(s->kept);
	free(s->entries);
	free(s);
}

/* Is a newer than b? */
static int
newer(const struct run *a, const struct run *b)
{
	if (a->is.level != b->is.level)
		return (a->is.level < b->is.level);
	return (a->number > b->number);
}

struct run *
segs_add(struct segs *s, uint64_t number, uint8_t level, uint8_t state)
{
	struct run *r, **p;
	size_t i;

	if ((p = size_grow(s->runs, &s->cap, s->n + 1, sizeof(*p))) == NULL)
		return (NULL);
	s->runs = p;
	if ((r = calloc(1, sizeof(*r))) == NULL)
		return (NULL);
	r->number = number;
	r->is.level = level;
	r->is.state = state;
	for (i = s->n++; i > 0 && newer(r, p[i - 1]); i--)
		p[i] = p[i - 1];
	p[i] = r;
	return (r);
}

void
segs_remove(struct segs *s, struct run *r)
{
	size_t i;

	for (i = 0; s->runs[i] != r; i++)
		;
	s->n--;
	memmove(s->runs + i, s->runs + i + 1, (s->n - i) * sizeof(*s->runs));
	r->dead = 1;
	if (!r->old)
		run_free(r);
}

uint64_t
segs_next(const struct segs *s)
{
	uint64_t last = 0;
	size_t i;

	for (i = 0; i < s->n; i++) {
		if (s->runs[i]->number > last)
			last = s->runs[i]->number;
	}
	return (last + 1);
}

struct group *
segs_group(struct run *r)
{
	struct group *p;

	p = size_grow(r->groups, &r->cap, (size_t)r->is.groups + 1,
	    sizeof(*p));
	if (p == NULL)
		return (NULL);
	r->groups = p;
	p += r->is.groups;
	memset(p, 0, sizeof(*p));
	return (p);
}

void
segs_group_first(struct group *g, const uint8_t *key)
{
	memcpy(g->first, key, SEG_KEY_LEN);
	g->prefix = be_get64(key);
}

int
segs_begin(struct segs *s)
{
	struct run **p;
	size_t i;

	p = size_grow(s->kept, &s->kept_cap, s->n, sizeof(*p));
	if (p == NULL)
		return (-1);
	s->kept = p;
	s->nkept = s->n;
	s->added = 0;
	s->drained = 0;
	for (i = 0; i < s->n; i++) {
		p[i] = s->runs[i];
		p[i]->was = p[i]->is;
		p[i]->old = 1;
	}
	s->open = 1;
	return (0);
}

void
segs_committed(struct segs *s)
{
	size_t i;

	for (i = 0; i < s->nkept; i++) {
		if (s->kept[i]->dead)
			run_free(s->kept[i]);
	}
	s->recent.stale |= s->drained;
	s->open = 0;
}

/* The list as it was: runs that began in the transaction go. */
void
segs_aborted(struct segs *s)
{
	size_t i;

	if (!s->open)
		return;
	for (i = 0; i < s->n; i++) {
		if (!s->runs[i]->old)
			run_free(s->runs[i]);
	}
	for (i = 0; i < s->nkept; i++) {
		s->runs[i] = s->kept[i];
		s->runs[i]->is = s->runs[i]->was;
		s->runs[i]->dead = 0;
	}
	s->n = s->nkept;
	/* It may have been made anew of what the transaction had left. */
	s->recent.stale = 1;
	s->open = 0;
}

int
segs_record(struct ix *ix, const struct run *r)
{
	uint8_t key[NUMBER_LEN], v[RECORD_LEN];

	be_put64(key, r->number);
	v[0] = r->is.level;
	v[1] = r->is.state;
	v[2] = r->is.cut;
	v[3] = 0;
	le_put32(v + 4, r->is.first);
	le_put32(v + 8, r->is.groups);
	le_put64(v + 12, r->is.entries);
	memcpy(v + 20, r->is.low, SEG_KEY_LEN);
	return (ix_put(ix, IX_RUN, key, sizeof(key), v, sizeof(v)));
}

int
segs_forget(struct ix *ix, struct run *r)
{
	uint8_t key[NUMBER_LEN];

	be_put64(key, r->number);
	if (ix_del(ix, IX_RUN, key, sizeof(key)) == -1)
		return (-1);
	segs_remove(ix_segs(ix), r);
	return (0);
}

/* The first keys of a run's groups, out of their heads. */
static int
load_groups(struct ix *ix, struct run *r, uint32_t n)
{
	struct seg_head head;
	struct group *g;

	while (r->is.groups < n) {
		if ((g = segs_group(r)) == NULL)
			return (-1);
		if (r->is.groups++ < r->is.first)
			continue;
		if (segs_head(ix, r, r->is.groups - 1, &head) == -1)
			return (-1);
		segs_group_first(g, head.keys);
	}
	return (0);
}

struct load {
	struct ix *ix;
	struct segs *segs;
};

static int
on_run(void *cookie, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	struct load *l = cookie;
	struct run *r;
	uint32_t n;

	if (klen != NUMBER_LEN || len != RECORD_LEN || v[0] >= SEG_LEVELS ||
	    v[1] > RUN_INPUT || le_get32(v + 4) > le_get32(v + 8)) {
		log_warnx("index: a malformed entry in run");
		errno = EUCLEAN;
		return (-1);
	}
	if ((r = segs_add(l->segs, be_get64(key), v[0], v[1])) == NULL)
		return (-1);
	r->is.cut = v[2];
	r->is.first = le_get32(v + 4);
	n = le_get32(v + 8);
	r->is.entries = le_get64(v + 12);
	memcpy(r->is.low, v + 20, SEG_KEY_LEN);
	return (load_groups(l->ix, r, n));
}

int
segs_load(struct ix *ix, struct segs *s)
{
	struct load l = { ix, s };

	return (ix_scan(ix, IX_RUN, "", 0, 0, on_run, &l) == 0 ? 0 : -1);
}

size_t
segs_batch_min(const struct segs *s)
{
	return (s->limits.batch_min);
}

size_t
segs_count(const struct segs *s)
{
	return (s->n);
}

size_t
segs_memory(const struct segs *s)
{
	size_t n = sizeof(*s) + (s->cap + s->kept_cap) * sizeof(*s->runs) +
	    (size_t)SEG_GROUP_ENTRIES * SEG_ENTRY_LEN, i;

	for (i = 0; i < s->n; i++)
		n += sizeof(*s->runs[i]) +
		    s->runs[i]->cap * sizeof(struct group);
	return (n);
}
