/*
 * A set of references.  Memory only.
 */
#include <errno.h>
#include <stdlib.h>

#include "id_hash.h"
#include "lib/size.h"
#include "refset.h"

#define FIRST   64              /* slots at first, a power of two */

/*
 * Invariants:
 *  1. slots holds one more than an index into refs, 0 for an empty slot.
 *  2. At most half of the nslots slots are taken.
 */
struct refset {
	struct obj_ref *refs;
	size_t cap;
	size_t count;
	size_t max;
	uint32_t *slots;
	size_t nslots;
	uint8_t key[crypto_shorthash_KEYBYTES];
};

struct refset *
refset_new(size_t max)
{
	struct refset *s;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		goto err0;
	if (NEW_ARRAY(s->slots, FIRST) == -1)
		goto err1;
	s->nslots = FIRST;
	s->max = max;
	crypto_shorthash_keygen(s->key);
	return (s);

err1:
	free(s);
err0:
	return (NULL);
}

void
refset_free(struct refset *s)
{
	if (s == NULL)
		return;
	free(s->refs);
	free(s->slots);
	free(s);
}

static size_t
slot_of(const struct refset *s, const struct obj_ref *ref)
{
	size_t at;

	at = id_hash(s->key, ref->kind, ref->id) & (s->nslots - 1);
	while (s->slots[at] != 0 &&
	    !obj_ref_equal(&s->refs[s->slots[at] - 1], ref))
		at = (at + 1) & (s->nslots - 1);
	return (at);
}

static int
rehash(struct refset *s)
{
	uint32_t *slots, *old = s->slots;
	size_t i;

	if (NEW_ARRAY(slots, 2 * s->nslots) == -1)
		return (-1);
	s->slots = slots;
	s->nslots *= 2;
	for (i = 0; i < s->count; i++)
		slots[slot_of(s, &s->refs[i])] = (uint32_t)i + 1;
	free(old);
	return (0);
}

int
refset_add(struct refset *s, const struct obj_ref *ref)
{
	void *p;
	size_t at;

	at = slot_of(s, ref);
	if (s->slots[at] != 0)
		return (0);
	if (s->count == s->max) {
		errno = EFBIG;
		return (-1);
	}
	if ((p = size_grow(s->refs, &s->cap, s->count + 1,
	    sizeof(*s->refs))) == NULL)
		return (-1);
	s->refs = p;
	s->refs[s->count++] = *ref;
	s->slots[at] = (uint32_t)s->count;
	if (2 * s->count >= s->nslots && rehash(s) == -1)
		return (-1);
	return (1);
}

size_t
refset_count(const struct refset *s)
{
	return (s->count);
}

const struct obj_ref *
refset_get(const struct refset *s, size_t i)
{
	return (&s->refs[i]);
}
