/*
 * Looking through the index, see doubt.h.  A timer; reads the index through
 * what index*.h offer, and writes nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "batch.h"
#include "doubt.h"
#include "gc.h"
#include "index.h"
#include "index_job.h"
#include "lib/crash.h"
#include "lib/io.h"
#include "lib/log.h"
#include "rewrite.h"
#include "store.h"

#define STEP_US         1500
#define PAUSE_US        500
#define OPEN_US         500000          /* before anybody is served */
#define AGAIN_US        1000000         /* after a failure of reading */
#define CLOCK_EVERY     16              /* entries between looks at it */

enum verdict { LOOKING, NONE, DAMAGED };

/*
 * Invariants, while verdict is LOOKING:
 *  1. phase is where it goes on, behind what at, job and ref say.
 *  2. tenant is the one whose jobs and references are looked at, of which
 *     jobs and refs were seen; the sums are those of the tenants before.
 */
struct doubt {
	struct store *st;
	struct event *ev;
	enum verdict verdict;
	size_t phase;
	uint64_t until;
	unsigned int seen;      /* in this step */
	size_t table;           /* of those that are only counted */
	uint8_t at[IX_KEY_MAX];
	size_t at_len;
	uint64_t entries;
	uint32_t tenant;
	uint64_t kept;          /* jobs it should have */
	uint64_t number;        /* of the last job */
	struct ix_ref ref;      /* the last */
	int has_ref;
	uint64_t jobs;
	uint64_t sum_jobs, sum_refs, sum_unsettled;
	struct stint_longest longest;
};

static int
damaged(const char *what)
{
	log_warnx("index: %s", what);
	errno = EUCLEAN;
	return (-1);
}

/* Non-zero when the step is over. */
static int
late(struct doubt *d)
{
	return (++d->seen % CLOCK_EVERY == 0 && io_mono_us() >= d->until);
}

/* Tables of which nothing is known but how many entries there are. */
static const enum ix_db counted[] = {
	IX_META, IX_PACK, IX_USAGE, IX_RUN, IX_JOURNAL, IX_QUARANTINE, IX_IDEM,
	IX_OBJECT, IX_BLOCK
};

#define NCOUNTED        (sizeof(counted) / sizeof(counted[0]))

/* What is not in order might be gone through for ever. */
static const char disorder[] = "entries are out of order";

static int
ascends(const uint8_t *a, size_t alen, const uint8_t *b, size_t blen)
{
	int rc = memcmp(a, b, alen < blen ? alen : blen);

	return (rc < 0 || (rc == 0 && alen < blen));
}

static int
on_entry(void *cookie, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	struct doubt *d = cookie;

	(void)v;
	(void)len;
	if (klen > sizeof(d->at))
		return (damaged("a key is too long"));
	if (d->entries > 0 && ascends(d->at, d->at_len, key, klen) == 0)
		return (damaged(disorder));
	memcpy(d->at, key, klen);
	d->at_len = klen;
	d->entries++;
	return (late(d));
}

/* 1: there is more, 0: all were counted, -1 with errno. */
static int
tables(struct doubt *d)
{
	struct ix *ix = d->st->ix;
	uint64_t n;
	int rc;

	for (; d->table < NCOUNTED; d->table++) {
		rc = ix_scan_after(ix, counted[d->table], "", 0, d->at,
		    d->at_len, on_entry, d);
		if (rc != 0)
			return (rc);
		if (ix_count(ix, counted[d->table], &n) == -1)
			return (-1);
		if (n != d->entries)
			return (damaged("entries are missing"));
		d->entries = 0;
		d->at_len = 0;
	}
	return (0);
}

static int
on_usage(void *cookie, uint32_t tenant, const struct ix_usage *u)
{
	struct doubt *d = cookie;

	if (tenant <= d->tenant)
		return (0);
	d->tenant = tenant;
	d->kept = u->kept;
	d->number = 0;
	d->jobs = 0;
	d->has_ref = 0;
	return (1);
}

/* The next tenant, with its jobs; or the sums, after the last. */
static int
next_tenant(struct doubt *d)
{
	return (ix_usages(d->st->ix, on_usage, d));
}

/* Is the object that the job was published with still held for it? */
static int
is_held(struct doubt *d, const char *job, char slot, const struct obj_ref *ref)
{
	struct obj_ref held;

	if (ref->kind == OBJ_NONE)
		return (0);
	if (ix_ref_get(d->st->ix, d->tenant, job, slot, &held) == -1)
		return (errno == ENOENT ? damaged("a reference is missing") :
		    -1);
	if (held.kind != ref->kind ||
	    memcmp(held.id, ref->id, OBJ_ID_LEN) != 0)
		return (damaged("a reference leads to something else"));
	return (0);
}

static int
idem_look(struct doubt *d, const char *job, const struct ix_job *j)
{
	struct ix_idem idem;

	if (j->idem == NULL)
		return (0);
	if (ix_idem_get(d->st->ix, d->tenant, j->idem, &idem) == -1)
		return (errno == ENOENT ? damaged("an idempotency id is "
		    "missing") : -1);
	if (strcmp(idem.job, job) != 0)
		return (0);
	if (is_held(d, job, 'r', &idem.root) == -1)
		return (-1);
	return (is_held(d, job, 's', &idem.spec));
}

static int
on_job(void *cookie, uint64_t number, const char *job, const struct ix_job *j)
{
	struct doubt *d = cookie;
	int open;

	if (number <= d->number)
		return (damaged(disorder));
	if (idem_look(d, job, j) == -1)
		return (-1);
	if ((open = ix_job_is_unsettled(d->st->ix, d->tenant, job)) == -1)
		return (-1);
	if (open != !j->settled)
		return (damaged("whether a job is settled cannot be told"));
	d->number = number;
	d->jobs++;
	d->sum_unsettled += (uint64_t)open;
	return (late(d));
}

static int
jobs(struct doubt *d)
{
	int rc;

	rc = ix_jobs_oldest(d->st->ix, d->tenant, d->number, on_job, d);
	if (rc != 0)
		return (rc);
	if (d->jobs != d->kept)
		return (damaged("a tenant's jobs are not as many as were "
		    "counted"));
	d->sum_jobs += d->jobs;
	return (0);
}

static int
ref_cmp(const struct ix_ref *a, const struct ix_ref *b)
{
	int rc = strcmp(a->job, b->job);

	return (rc != 0 ? rc : (uint8_t)a->slot - (uint8_t)b->slot);
}

static int
on_ref(void *cookie, const struct ix_ref *ref)
{
	struct doubt *d = cookie;
	struct ix_job j;

	if (d->has_ref && ref_cmp(&d->ref, ref) >= 0)
		return (damaged(disorder));
	if (ix_job_get(d->st->ix, d->tenant, ref->job, &j) == -1)
		return (errno == ENOENT ? damaged("a reference is no job's") :
		    -1);
	d->ref = *ref;
	d->has_ref = 1;
	d->sum_refs++;
	return (late(d));
}

static int
refs(struct doubt *d)
{
	return (ix_refs(d->st->ix, d->tenant, d->has_ref ? &d->ref : NULL,
	    on_ref, d));
}

/* What no tenant's was would not have been seen. */
static int
sums(struct doubt *d)
{
	const struct {
		enum ix_db db;
		uint64_t n;
	} v[] = {
		{ IX_JOB, d->sum_jobs }, { IX_JOBSEQ, d->sum_jobs },
		{ IX_UNSETTLED, d->sum_unsettled }, { IX_REF, d->sum_refs }
	};
	uint64_t n;
	size_t i;

	for (i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		if (ix_count(d->st->ix, v[i].db, &n) == -1)
			return (-1);
		if (n != v[i].n)
			return (damaged("jobs or what belongs to them are "
			    "missing"));
	}
	return (0);
}

/*
 * In this order.  Each returns 1 when there is more, 0 when it is done, -1 with
 * errno; but next_tenant 1 when there is one, whose jobs and references come
 * next, and then it again.
 */
enum { TABLES, NEXT_TENANT, JOBS, REFS, SUMS };

static int
phase(struct doubt *d)
{
	static int (*const phases[])(struct doubt *) = {
		[TABLES] = tables, [NEXT_TENANT] = next_tenant,
		[JOBS] = jobs, [REFS] = refs, [SUMS] = sums
	};
	static const size_t then[][2] = {       /* 0: done, 1: more */
		[TABLES] = { NEXT_TENANT, TABLES },
		[NEXT_TENANT] = { SUMS, JOBS },
		[JOBS] = { REFS, JOBS },
		[REFS] = { NEXT_TENANT, REFS },
		[SUMS] = { SUMS, SUMS }
	};
	size_t was = d->phase;
	int rc;

	if ((rc = phases[was](d)) == -1)
		return (-1);
	d->phase = then[was][rc];
	return (was != SUMS);
}

static void
start(struct doubt *d)
{
	d->phase = TABLES;
	d->table = 0;
	d->at_len = 0;
	d->entries = 0;
	d->tenant = 0;
	d->sum_jobs = d->sum_refs = d->sum_unsettled = 0;
}

/* Go on with what ix_still shows.  1: there is more, 0, or -1 with errno. */
static int
look(struct doubt *d)
{
	struct ix *ix = d->st->ix;
	int rc, err;

	if ((rc = ix_still(ix)) == -1)
		return (-1);
	if (rc == 1)
		start(d);
	d->seen = 0;
	d->until = io_mono_us() + TEST_NUMBER("doubt-step-us", STEP_US);
	do
		rc = phase(d);
	while (rc == 1 && io_mono_us() < d->until);
	err = errno;
	ix_still_leave(ix);
	errno = err;
	return (rc);
}

static void
arm(struct doubt *d, long us)
{
	const struct timeval tv = { us / 1000000, us % 1000000 };

	if (event_add(d->ev, &tv) == -1)
		log_warnx("no memory for a timer");
}

static void
decide(struct doubt *d, enum verdict verdict)
{
	ix_still_end(d->st->ix);
	d->verdict = verdict;
	if (verdict == DAMAGED)
		log_warnx("the index is damaged: nothing is collected and no "
		    "pack rewritten before it was made anew from the packs "
		    "with \"errandctl store rebuild-index\"");
	gc_kick(d->st);
	rewrite_kick(d->st);
}

static void
on_step(evutil_socket_t fd, short what, void *cookie)
{
	struct doubt *d = cookie;
	struct stint s;
	int rc;

	(void)fd;
	(void)what;
	if (d->st->broken)
		return;
	stint_begin(&s);
	rc = look(d);
	stint_end(&s, &d->longest);
	if (rc == 1)
		arm(d, PAUSE_US);
	else if (rc == 0)
		decide(d, NONE);
	else if (errno == EUCLEAN)
		decide(d, DAMAGED);
	else {
		ix_still_end(d->st->ix);
		arm(d, AGAIN_US);
	}
}

struct doubt *
doubt_new(struct store *st)
{
	struct doubt *d;

	if ((d = calloc(1, sizeof(*d))) == NULL)
		goto err0;
	d->st = st;
	if ((d->ev = evtimer_new(st->base, on_step, d)) == NULL)
		goto err1;
	(void)event_priority_set(d->ev, STORE_PRIO_LATER);
	return (d);

err1:
	free(d);
err0:
	return (NULL);
}

void
doubt_free(struct doubt *d)
{
	if (d == NULL)
		return;
	event_free(d->ev);
	free(d);
}

int
doubt_open(struct store *st)
{
	struct doubt *d = st->doubt;
	uint64_t since = io_mono_us();
	int rc;

	do
		rc = look(d);
	while (rc == 1 && io_mono_us() - since <
	    TEST_NUMBER("doubt-open-us", OPEN_US));
	if (rc == 0)
		d->verdict = NONE;
	if (rc != 1)
		ix_still_end(st->ix);
	return (rc == -1 ? -1 : 0);
}

int
doubt_none(struct store *st)
{
	struct doubt *d = st->doubt;

	if (d->verdict == NONE)
		return (1);
	if (d->verdict == DAMAGED) {
		errno = EUCLEAN;
		return (-1);
	}
	if (!event_pending(d->ev, EV_TIMEOUT, NULL))
		arm(d, 0);
	return (0);
}

void
doubt_errno(struct store *st)
{
	struct doubt *d = st->doubt;

	if (errno != EUCLEAN || d->verdict == DAMAGED)
		return;
	(void)event_del(d->ev);
	decide(d, DAMAGED);
	errno = EUCLEAN;
}

int
doubt_damaged(const struct store *st)
{
	return (st->doubt->verdict == DAMAGED);
}

struct stint_longest
doubt_longest(const struct store *st)
{
	return (st->doubt->longest);
}
