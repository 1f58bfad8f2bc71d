/*
 * The set of live places of a collection.  Memory only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gc_marks.h"
#include "lib/size.h"
#include "pack.h"

#define LEAF_BITS       15              /* places of a leaf: 2 MiB of a pack */
#define LEAF_PLACES     (1U << LEAF_BITS)
#define LEAF_BYTES      (LEAF_PLACES / 8)
#define ROW_FIRST       16
#define ROW_MAX         (LEAF_BYTES / 2)        /* then a bitmap is smaller */
#define PACK_LEAVES     (PACK_FILE_MAX / MARK_GRAIN / LEAF_PLACES)

_Static_assert(PACK_REC_HEAD > MARK_GRAIN, "two records, two places");

/*
 * Invariants:
 *  1. With cap not zero, row holds n places in order; with cap zero and n not,
 *     bits is the bitmap.
 */
struct leaf {
	union {
		uint16_t *row;
		uint8_t *bits;
	} u;
	uint16_t cap;
	uint16_t n;
};

struct pack_marks {
	uint32_t number;
	struct leaf leaves[PACK_LEAVES];
};

struct marks {
	struct pack_marks **packs;      /* by number */
	size_t npacks;
	size_t cap;
	uint64_t count;
	uint64_t memory;
};

struct marks *
marks_new(void)
{
	return (calloc(1, sizeof(struct marks)));
}

void
marks_free(struct marks *m)
{
	size_t i, k;

	if (m == NULL)
		return;
	for (i = 0; i < m->npacks; i++) {
		for (k = 0; k < PACK_LEAVES; k++)
			free(m->packs[i]->leaves[k].u.row);
		free(m->packs[i]);
	}
	free(m->packs);
	free(m);
}

/* The first entry whose number is not below ${number}. */
static size_t
pack_at(const struct marks *m, uint32_t number)
{
	size_t lo = 0, hi = m->npacks, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (m->packs[mid]->number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (lo);
}

static struct pack_marks *
pack_new(struct marks *m, uint32_t number, size_t at)
{
	struct pack_marks *p;
	void *v;

	if ((v = size_grow(m->packs, &m->cap, m->npacks + 1,
	    sizeof(struct pack_marks *))) == NULL)
		return (NULL);
	m->packs = v;
	if ((p = calloc(1, sizeof(*p))) == NULL)
		return (NULL);
	p->number = number;
	memmove(m->packs + at + 1, m->packs + at,
	    (m->npacks - at) * sizeof(struct pack_marks *));
	m->packs[at] = p;
	m->npacks++;
	m->memory += sizeof(*p) + sizeof(p);
	return (p);
}

/* The first in the row that is not below ${place}. */
static uint16_t
row_at(const struct leaf *l, uint16_t place)
{
	uint16_t lo = 0, hi = l->n, mid;

	while (lo < hi) {
		mid = (uint16_t)((lo + hi) / 2);
		if (l->u.row[mid] < place)
			lo = (uint16_t)(mid + 1);
		else
			hi = mid;
	}
	return (lo);
}

static int
leaf_has(const struct leaf *l, uint16_t place)
{
	uint16_t at;

	if (l->n == 0)
		return (0);
	if (l->cap == 0)
		return ((l->u.bits[place / 8] >> (place % 8)) & 1);
	at = row_at(l, place);
	return (at < l->n && l->u.row[at] == place);
}

/* The row has become as long as a bitmap. */
static int
to_bitmap(struct marks *m, struct leaf *l)
{
	uint8_t *bits;
	uint16_t i;

	if ((bits = calloc(1, LEAF_BYTES)) == NULL)
		return (-1);
	for (i = 0; i < l->n; i++)
		bits[l->u.row[i] / 8] |= (uint8_t)(1U << (l->u.row[i] % 8));
	free(l->u.row);
	m->memory += LEAF_BYTES - l->cap * sizeof(uint16_t);
	l->u.bits = bits;
	l->cap = 0;
	return (0);
}

static int
row_grow(struct marks *m, struct leaf *l)
{
	uint16_t cap = l->cap == 0 ? ROW_FIRST : (uint16_t)(2 * l->cap);
	void *v;

	if (cap > ROW_MAX)
		return (to_bitmap(m, l));
	if ((v = realloc(l->u.row, cap * sizeof(uint16_t))) == NULL)
		return (-1);
	m->memory += (uint64_t)(cap - l->cap) * sizeof(uint16_t);
	l->u.row = v;
	l->cap = cap;
	return (0);
}

static int
leaf_add(struct marks *m, struct leaf *l, uint16_t place)
{
	uint16_t at;

	if ((l->n == 0 || (l->cap != 0 && l->n == l->cap)) &&
	    row_grow(m, l) == -1)
		return (-1);
	if (l->cap == 0) {
		l->u.bits[place / 8] |= (uint8_t)(1U << (place % 8));
		return (0);
	}
	at = row_at(l, place);
	memmove(l->u.row + at + 1, l->u.row + at,
	    (size_t)(l->n - at) * sizeof(uint16_t));
	l->u.row[at] = place;
	l->n++;
	return (0);
}

int
marks_add(struct marks *m, uint32_t pack, uint32_t off)
{
	uint32_t place = off / MARK_GRAIN;
	struct pack_marks *p;
	struct leaf *l;
	size_t at;

	if (off >= PACK_FILE_MAX) {
		errno = EBADMSG;
		return (-1);
	}
	at = pack_at(m, pack);
	if (at < m->npacks && m->packs[at]->number == pack)
		p = m->packs[at];
	else if ((p = pack_new(m, pack, at)) == NULL)
		return (-1);
	l = &p->leaves[place >> LEAF_BITS];
	if (leaf_has(l, place & (LEAF_PLACES - 1)))
		return (0);
	if (leaf_add(m, l, place & (LEAF_PLACES - 1)) == -1)
		return (-1);
	m->count++;
	return (1);
}

int
marks_has(const struct marks *m, uint32_t pack, uint32_t off)
{
	uint32_t place = off / MARK_GRAIN;
	size_t at = pack_at(m, pack);

	if (off >= PACK_FILE_MAX || at == m->npacks ||
	    m->packs[at]->number != pack)
		return (0);
	return (leaf_has(&m->packs[at]->leaves[place >> LEAF_BITS],
	    place & (LEAF_PLACES - 1)));
}

uint64_t
marks_count(const struct marks *m)
{
	return (m->count);
}

uint64_t
marks_memory(const struct marks *m)
{
	return (m->memory);
}
