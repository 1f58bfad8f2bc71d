/*
 * Requests without their answers yet: a table in memory, for sup.c and
 * store_client.c.
 */
#include <string.h>

#include "pend.h"

struct pend *
pend_add(struct pend_table *t, uint8_t op, pend_fn *fn, void *cookie)
{
	struct pend *p;
	size_t i;

	for (i = 0; i < PEND_MAX; i++) {
		p = &t->slots[i];
		if (p->id != 0)
			continue;
		p->id = ++t->last;
		p->op = op;
		p->failed = 0;
		p->fn = fn;
		p->cookie = cookie;
		t->used++;
		return (p);
	}
	return (NULL);
}

struct pend *
pend_find(struct pend_table *t, uint64_t id)
{
	size_t i;

	for (i = 0; id != 0 && i < PEND_MAX; i++) {
		if (t->slots[i].id == id)
			return (&t->slots[i]);
	}
	return (NULL);
}

struct pend
pend_take(struct pend_table *t, struct pend *p)
{
	struct pend copy = *p;

	memset(p, 0, sizeof(*p));
	t->used--;
	return (copy);
}

void
pend_cancel(struct pend_table *t, const void *cookie)
{
	size_t i;

	for (i = 0; t->used > 0 && i < PEND_MAX; i++) {
		if (t->slots[i].id != 0 && t->slots[i].cookie == cookie)
			t->slots[i].fn = NULL;
	}
}

unsigned int
pend_count(const struct pend_table *t, uint8_t op)
{
	unsigned int n = 0;
	size_t i;

	for (i = 0; t->used > 0 && i < PEND_MAX; i++) {
		if (t->slots[i].id != 0 && t->slots[i].op == op)
			n++;
	}
	return (n);
}
