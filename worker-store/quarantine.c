/*
 * Damaged objects: known at once in memory, with the next commit in the index.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "index.h"
#include "index_job.h"
#include "index_key.h"
#include "index_obj.h"
#include "lib/io.h"
#include "lib/le.h"
#include "lib/log.h"
#include "lib/size.h"
#include "pack_rec.h"
#include "pending.h"
#include "quarantine.h"
#include "store.h"
#include "usage.h"

#define KEY_LEN         (4 + OBJ_ID_LEN)
#define VALUE_LEN       28
#define FOUND_MAX       4096    /* between two commits; more are found again */

struct count {
	uint32_t tenant;
	uint64_t n;
};

struct quarantine {
	struct count *counts;   /* of what is committed, ascending */
	size_t ncounts, capcounts;
	struct ix_object *found;
	size_t nfound, capfound;
	int healed;             /* this transaction took some out */
};

static void
key_of(uint32_t tenant, const struct obj_ref *ref, uint8_t *key)
{
	be_put32(key, tenant);
	memcpy(key + 4, ref->id, OBJ_ID_LEN);
}

int
quarantine_put(struct ix *ix, const struct ix_object *o)
{
	uint8_t key[KEY_LEN], v[VALUE_LEN];

	key_of(o->tenant, &o->ref, key);
	memset(v, 0, sizeof(v));
	v[0] = o->ref.kind;
	v[1] = o->loc.codec;
	le_put32(v + 4, o->loc.pack);
	le_put32(v + 8, o->loc.off);
	le_put32(v + 12, o->loc.len);
	le_put32(v + 16, o->loc.raw_len);
	le_put64(v + 20, io_real_us());
	return (ix_put(ix, IX_QUARANTINE, key, sizeof(key), v, sizeof(v)));
}

int
quarantine_del(struct ix *ix, const struct ix_object *o)
{
	uint8_t key[KEY_LEN];

	key_of(o->tenant, &o->ref, key);
	return (ix_del(ix, IX_QUARANTINE, key, sizeof(key)));
}

struct scan {
	quarantine_fn *fn;
	void *cookie;
};

static int
on_entry(void *arg, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	struct scan *s = arg;
	struct ix_object o = { 0 };

	if (klen != KEY_LEN || len != VALUE_LEN) {
		log_warnx("index: a malformed entry in quarantine");
		errno = EUCLEAN;
		return (-1);
	}
	o.tenant = be_get32(key);
	memcpy(o.ref.id, key + 4, OBJ_ID_LEN);
	o.ref.kind = v[0];
	o.loc.codec = v[1];
	o.loc.pack = le_get32(v + 4);
	o.loc.off = le_get32(v + 8);
	o.loc.len = le_get32(v + 12);
	o.loc.raw_len = le_get32(v + 16);
	return (s->fn(s->cookie, &o));
}

int
quarantine_scan(struct ix *ix, quarantine_fn *fn, void *cookie)
{
	struct scan s = { fn, cookie };

	return (ix_scan(ix, IX_QUARANTINE, "", 0, 0, on_entry, &s));
}

static int
on_count(void *cookie, const struct ix_object *o)
{
	struct quarantine *q = cookie;
	void *p;

	if (q->ncounts == 0 ||
	    q->counts[q->ncounts - 1].tenant != o->tenant) {
		if ((p = size_grow(q->counts, &q->capcounts, q->ncounts + 1,
		    sizeof(*q->counts))) == NULL)
			return (-1);
		q->counts = p;
		q->counts[q->ncounts++] = (struct count){ o->tenant, 0 };
	}
	q->counts[q->ncounts - 1].n++;
	return (0);
}

int
quarantine_load(struct store *st)
{
	int rc;

	st->quarantine->ncounts = 0;
	if (ix_read(st->ix) == -1)
		return (-1);
	rc = quarantine_scan(st->ix, on_count, st->quarantine);
	ix_read_end(st->ix);
	return (rc);
}

struct quarantine *
quarantine_open(struct store *st)
{
	struct quarantine *q;

	if ((q = calloc(1, sizeof(*q))) == NULL)
		goto err0;
	st->quarantine = q;
	if (quarantine_load(st) == -1)
		goto err1;
	return (q);

err1:
	st->quarantine = NULL;
	quarantine_free(q);
err0:
	log_warnx("the list of damaged objects cannot be read");
	return (NULL);
}

void
quarantine_free(struct quarantine *q)
{
	if (q == NULL)
		return;
	free(q->counts);
	free(q->found);
	free(q);
}

int
quarantine_hides(const struct store *st, uint32_t tenant,
    const struct obj_ref *ref)
{
	const struct quarantine *q = st->quarantine;
	size_t i;

	for (i = 0; i < q->nfound; i++)
		if (q->found[i].tenant == tenant &&
		    obj_ref_equal(&q->found[i].ref, ref))
			return (1);
	return (0);
}

void
quarantine_add(struct store *st, const struct ix_object *o)
{
	struct quarantine *q = st->quarantine;
	void *p;

	if (q->nfound == FOUND_MAX || quarantine_hides(st, o->tenant, &o->ref))
		return;
	if ((p = size_grow(q->found, &q->capfound, q->nfound + 1,
	    sizeof(*q->found))) == NULL)
		return;         /* it will be found again */
	q->found = p;
	q->found[q->nfound++] = *o;
	batch_touch(st->batch);
}

int
quarantine_has(const struct store *st, uint32_t tenant)
{
	const struct quarantine *q = st->quarantine;
	size_t i;

	for (i = 0; i < q->ncounts; i++)
		if (q->counts[i].tenant == tenant)
			return (1);
	for (i = 0; i < q->nfound; i++)
		if (q->found[i].tenant == tenant)
			return (1);
	return (0);
}

uint64_t
quarantine_count(const struct store *st)
{
	const struct quarantine *q = st->quarantine;
	uint64_t sum = q->nfound;
	size_t i;

	for (i = 0; i < q->ncounts; i++)
		sum += q->counts[i].n;
	return (sum);
}

int
quarantine_is(struct store *st, uint32_t tenant, const struct obj_ref *ref)
{
	uint8_t key[KEY_LEN];
	const void *v;
	size_t len;

	if (!quarantine_has(st, tenant))
		return (0);
	key_of(tenant, ref, key);
	return (quarantine_hides(st, tenant, ref) ||
	    ix_get(st->ix, IX_QUARANTINE, key, sizeof(key), &v, &len) == 0);
}

int
quarantine_due(const struct store *st)
{
	return (st->quarantine->nfound > 0);
}

/* What was put anew is sound again. */
static int
heal(struct store *st)
{
	struct ix_object *const *objs;
	size_t i, n = pending_count(st->pending);

	if (quarantine_count(st) == 0 || n == 0)
		return (0);
	objs = pending_sorted(st->pending);
	for (i = 0; i < n; i++) {
		if (!quarantine_has(st, objs[i]->tenant))
			continue;
		if (quarantine_del(st->ix, objs[i]) == 0)
			st->quarantine->healed = 1;
		else if (errno != ENOENT)
			return (-1);
	}
	return (0);
}

/* One that was put again meanwhile, elsewhere, is not the damaged one. */
static int
take_out(struct store *st, const struct ix_object *o)
{
	struct ix_object now;

	if (ix_object_get(st->ix, o->tenant, &o->ref, &now) == -1) {
		if (errno != ENOENT)
			return (-1);
		/* Without a place it is one that is missing: noted as such. */
		return (o->loc.raw_len == 0 ? quarantine_put(st->ix, o) : 0);
	}
	if (now.loc.pack != o->loc.pack || now.loc.off != o->loc.off)
		return (0);
	if (usage_forget(st, o) == -1)
		return (-1);
	return (quarantine_put(st->ix, o));
}

int
quarantine_write(struct store *st)
{
	struct quarantine *q = st->quarantine;
	size_t i;

	q->healed = 0;
	for (i = 0; i < q->nfound; i++)
		if (take_out(st, &q->found[i]) == -1)
			return (-1);
	return (heal(st));
}

int
quarantine_rest(struct store *st)
{
	struct quarantine *q = st->quarantine;
	size_t i;

	for (i = 0; i < q->nfound; i++)
		if (take_out(st, &q->found[i]) == -1)
			return (-1);
	return (0);
}

void
quarantine_end(struct store *st, int committed)
{
	struct quarantine *q = st->quarantine;

	if (!committed || (q->nfound == 0 && !q->healed))
		return;
	q->nfound = 0;
	q->healed = 0;
	if (quarantine_load(st) == -1)
		log_warnx("damaged objects cannot be counted");
}
