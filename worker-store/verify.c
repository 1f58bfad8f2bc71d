/*
 * `store verify` and `store verify --repair`: the order of the parts, what is
 * said, walks below a root.  Reads everything; what is written is said in
 * verify_*.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "care.h"
#include "index.h"
#include "index_pack.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/size.h"
#include "pack.h"
#include "quarantine.h"
#include "store.h"
#include "verify_internal.h"
#include "walk.h"

#define BUDGET  1024            /* look-ups of a walk at a time */

static int (*const phases[])(struct verify *) = {
	verify_quarantined, verify_objects, verify_uses, verify_refs,
	verify_packs
};

#define NPHASES ((int)(sizeof(phases) / sizeof(phases[0])))

static void __attribute__((format(printf, 2, 0)))
add(struct verify *v, const char *fmt, va_list ap)
{
	char *line;

	if (v->queued == VERIFY_QUEUE)
		return;
	line = v->queue[(v->head + v->queued++) % VERIFY_QUEUE];
	(void)vsnprintf(line, VERIFY_LINE, fmt, ap);
}

void
verify_bad(struct verify *v, const char *fmt, ...)
{
	va_list ap;

	v->bad++;
	va_start(ap, fmt);
	add(v, fmt, ap);
	va_end(ap);
}

void
verify_note(struct verify *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(v, fmt, ap);
	va_end(ap);
}

int
verify_pause(const struct verify *v)
{
	return (v->queued > 0 || io_mono_us() >= v->deadline);
}

struct verify_pack *
verify_pack_of(struct verify *v, uint32_t number)
{
	size_t lo = 0, hi = v->npacks, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (v->packs[mid].number == number)
			return (&v->packs[mid]);
		if (v->packs[mid].number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (NULL);
}

/* Say what the walk has found; ${damaged}: it could not go on there. */
static void
walk_say(struct verify *v, int damaged)
{
	const struct obj_ref *ref = damaged ? walk_at(v->walk) :
	    walk_missing_get(v->walk, 0);
	char hex[2 * OBJ_ID_LEN + 1];

	if (!damaged && ix_read(v->st->ix) == 0) {
		damaged = quarantine_is(v->st, walk_tenant(v->walk), ref);
		ix_read_end(v->st->ix);
	}
	obj_id_hex(ref->id, hex);
	v->refs_bad++;
	verify_bad(v, "%s: below it object %s is %s", v->why, hex, damaged ?
	    "damaged" : "missing");
}

int
verify_walk(struct verify *v)
{
	int rc;

	while ((rc = walk_step(v->walk, BUDGET)) == 1)
		if (verify_pause(v))
			return (1);
	if (rc == -1 && errno != EBADMSG) {
		walk_free(v->walk);
		v->walk = NULL;
		return (-1);
	}
	if (rc == -1 || walk_missing(v->walk) > 0)
		walk_say(v, rc == -1);
	walk_free(v->walk);
	v->walk = NULL;
	return (0);
}

static int
on_pack(void *cookie, const struct ix_pack *pack)
{
	struct verify *v = cookie;
	void *p;

	if ((p = size_grow(v->packs, &v->cappacks, v->npacks + 1,
	    sizeof(*v->packs))) == NULL)
		return (-1);
	v->packs = p;
	v->packs[v->npacks++] = (struct verify_pack){ pack->number, pack->len,
	    0 };
	return (0);
}

static void
verify_free(void *task)
{
	struct verify *v = task;

	if (v->walking)
		pack_walk_done(&v->pw);
	walk_free(v->walk);
	free(v->again);
	free(v->packs);
	free(v);
}

/* What is known in memory only, into the index. */
static void
settle_quarantine(struct store *st)
{
	if (quarantine_due(st) && batch_run(st->batch) == -1)
		log_warnx("damaged objects could not be noted");
}

static void *
begin(struct store *st, int repair)
{
	struct ix_usage u;
	struct verify *v;
	int rc = -1;

	settle_quarantine(st);
	if ((v = calloc(1, sizeof(*v))) == NULL)
		goto err0;
	v->st = st;
	v->repair = repair;
	if (ix_read(st->ix) == 0 && (rc = ix_usage_sum(st->ix, &u)) == 0)
		rc = ix_packs(st->ix, on_pack, v);
	ix_read_end(st->ix);
	if (rc == -1)
		goto err1;
	v->total = u.stored;
	return (v);

err1:
	verify_free(v);
err0:
	return (NULL);
}

static void *
verify_open(struct store *st)
{
	return (begin(st, 0));
}

static void *
repair_open(struct store *st)
{
	return (begin(st, 1));
}

static void
figures(const struct verify *v, struct care *c)
{
	care_figure(c, "objects", v->objects);
	care_figure(c, "objects_damaged", v->damaged);
	care_figure(c, "objects_missing", v->missing);
	care_figure(c, "quarantined", quarantine_count(v->st));
	care_figure(c, "references", v->refs);
	care_figure(c, "references_broken", v->refs_bad);
	care_figure(c, "tenants", v->tenants);
	care_figure(c, "usage_wrong", v->uses_bad);
	care_figure(c, "packs", v->npacks);
	care_figure(c, "journal_records", v->journal);
	care_figure(c, "journal_damaged", v->journal_bad);
	if (v->repair)
		care_figure(c, "mended", v->mended);
}

/* Say the oldest thing that waits to be said. */
static void
pop(struct verify *v, struct care *c)
{
	(void)snprintf(c->text, sizeof(c->text), "%s", v->queue[v->head]);
	log_info("verify: %s", c->text);
	v->head = (v->head + 1) % VERIFY_QUEUE;
	v->queued--;
}

static enum care_rc
verify_step(void *task, struct care *c, int *fd)
{
	struct verify *v = task;
	int rc;

	(void)fd;
	v->deadline = care_slice();
	while (v->queued == 0 && v->phase < NPHASES) {
		if ((rc = phases[v->phase](v)) == -1)
			return (CARE_FAILED);
		if (rc == 0)
			v->phase++;
		if (verify_pause(v))
			break;
	}
	c->at = v->done;
	c->total = v->total;
	c->bad = v->bad;
	if (v->queued > 0) {
		pop(v, c);
		return (CARE_SAY);
	}
	if (v->phase < NPHASES)
		return (CARE_ON);
	settle_quarantine(v->st);
	figures(v, c);
	return (CARE_DONE);
}

const struct care_ops verify_ops = { verify_open, verify_step, verify_free };
const struct care_ops repair_ops = { repair_open, verify_step, verify_free };
