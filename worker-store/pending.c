/*
 * Objects that are in a pack and not yet in the index, by tenant and id.
 * Memory only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "id_hash.h"
#include "lib/size.h"
#include "pending.h"

#define SLOTS   (2 * PENDING_MAX)       /* a power of two */

/*
 * Invariants:
 *  1. slots holds one more than an index into objs, 0 for an empty slot;
 *     collisions go to the next slot.
 *  2. Objects leave in the reverse order in which they came, or all at once,
 *     so a slot that becomes empty never breaks the way to another one.
 */
struct pending {
	struct ix_object *objs;
	struct ix_object **sorted;
	size_t count;
	uint64_t bytes;
	uint64_t round;
	uint8_t key[crypto_shorthash_KEYBYTES];
	uint32_t slots[SLOTS];
};

struct pending *
pending_new(void)
{
	struct pending *p;

	if ((p = calloc(1, sizeof(*p))) == NULL)
		goto err0;
	if (NEW_ARRAY(p->objs, PENDING_MAX) == -1 ||
	    NEW_ARRAY(p->sorted, PENDING_MAX) == -1)
		goto err1;
	crypto_shorthash_keygen(p->key);
	return (p);

err1:
	pending_free(p);
err0:
	return (NULL);
}

void
pending_free(struct pending *p)
{
	if (p == NULL)
		return;
	free(p->objs);
	free(p->sorted);
	free(p);
}

/* The slot of an object, or the empty one where it would go. */
static size_t
slot_of(const struct pending *p, uint32_t tenant, const uint8_t *id)
{
	const struct ix_object *o;
	size_t at;

	at = id_hash(p->key, tenant, id) & (SLOTS - 1);
	for (; p->slots[at] != 0; at = (at + 1) & (SLOTS - 1)) {
		o = &p->objs[p->slots[at] - 1];
		if (o->tenant == tenant &&
		    memcmp(o->ref.id, id, OBJ_ID_LEN) == 0)
			break;
	}
	return (at);
}

struct ix_object *
pending_find(struct pending *p, uint32_t tenant, const struct obj_ref *ref)
{
	struct ix_object *o;
	uint32_t i;

	if ((i = p->slots[slot_of(p, tenant, ref->id)]) == 0)
		return (NULL);
	o = &p->objs[i - 1];
	return (o->ref.kind == ref->kind ? o : NULL);
}

int
pending_add(struct pending *p, const struct ix_object *o)
{
	if (p->count == PENDING_MAX) {
		errno = ENOBUFS;
		return (-1);
	}
	p->objs[p->count] = *o;
	p->slots[slot_of(p, o->tenant, o->ref.id)] = (uint32_t)++p->count;
	p->bytes += PACK_REC_HEAD + o->loc.len;
	return (0);
}

size_t
pending_count(const struct pending *p)
{
	return (p->count);
}

uint64_t
pending_bytes(const struct pending *p)
{
	return (p->bytes);
}

uint64_t
pending_round(const struct pending *p)
{
	return (p->round);
}

const struct ix_object *
pending_at(const struct pending *p, size_t i)
{
	return (&p->objs[i]);
}

int
pending_due(const struct pending *p)
{
	return (p->count >= PENDING_COUNT || p->bytes >= PENDING_BYTES);
}

void
pending_cut(struct pending *p, size_t count)
{
	const struct ix_object *o;

	if (count == 0) {
		memset(p->slots, 0, sizeof(p->slots));
		p->count = 0;
		p->bytes = 0;
		p->round++;
	}
	while (p->count > count) {
		o = &p->objs[p->count - 1];
		p->slots[slot_of(p, o->tenant, o->ref.id)] = 0;
		p->bytes -= PACK_REC_HEAD + o->loc.len;
		p->count--;
	}
}

static int
by_key(const void *a, const void *b)
{
	return (ix_object_cmp(*(struct ix_object *const *)a,
	    *(struct ix_object *const *)b));
}

struct ix_object *const *
pending_sorted(struct pending *p)
{
	size_t i;

	for (i = 0; i < p->count; i++)
		p->sorted[i] = &p->objs[i];
	qsort(p->sorted, p->count, sizeof(*p->sorted), by_key);
	return (p->sorted);
}
