/*
 * How much of each pack is live, counted from the objects of a new index.
 */
#include <errno.h>
#include <stdlib.h>

#include "index.h"
#include "index_obj.h"
#include "index_pack.h"
#include "lib/log.h"
#include "lib/size.h"
#include "pack.h"
#include "rebuild_internal.h"
#include "store.h"

#define ROOM            (8ULL * 1024 * 1024)

struct live {
	struct ix_pack *v;      /* by number; live is the sum */
	size_t n;
	size_t cap;
};

static int
on_pack(void *cookie, const struct ix_pack *pack)
{
	struct live *l = cookie;
	void *p;

	if ((p = size_grow(l->v, &l->cap, l->n + 1, sizeof(*l->v))) == NULL)
		return (-1);
	l->v = p;
	l->v[l->n] = *pack;
	l->v[l->n++].live = 0;
	return (0);
}

static int
by_number(const void *a, const void *b)
{
	const struct ix_pack *x = a, *y = b;

	return (x->number < y->number ? -1 : x->number > y->number);
}

static int
on_object(void *cookie, const struct ix_object *o)
{
	const struct ix_pack key = { .number = o->loc.pack };
	struct live *l = cookie;
	struct ix_pack *p;

	p = bsearch(&key, l->v, l->n, sizeof(*l->v), by_number);
	if (p != NULL)
		p->live += PACK_REC_HEAD + o->loc.len;
	return (0);
}

static int
write_all(struct ix *ix, const struct live *l)
{
	size_t i;

	if (ix_write(ix, ROOM) == -1)
		return (-1);
	for (i = 0; i < l->n; i++) {
		if (ix_pack_live(ix, l->v[i].number,
		    (int64_t)l->v[i].live) == -1) {
			ix_abort(ix);
			return (-1);
		}
	}
	return (ix_commit(ix));
}

int
rebuild_live(struct rebuild *r)
{
	struct ix *ix = r->st->ix;
	struct live l = { 0 };
	int rc;

	if ((rc = ix_read(ix)) == 0 &&
	    (rc = ix_packs(ix, on_pack, &l)) == 0)
		rc = ix_object_scan_all(ix, NULL, on_object, &l);
	ix_read_end(ix);
	if (rc == 0)
		rc = write_all(ix, &l);
	if (rc == -1)
		log_warn("what is live in the packs cannot be counted");
	free(l.v);
	return (rc);
}
