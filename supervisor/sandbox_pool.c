/*
 * How many sandboxes of which kind are kept ready, and when they are made.
 * Memory and timers only; a sandbox itself is sandbox.c's.
 */
#include <event2/event.h>
#include <event2/event_struct.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "disk_image.h"
#include "exec_dispatch.h"
#include "jobs.h"
#include "lib/io.h"
#include "lib/log.h"
#include "sandbox_pool.h"
#include "sup.h"
#include "tenants.h"

#define SECOND          UINT64_C(1000000)
#define QUIET_US        10000           /* after the last claim, start or end */
#define LATE_US         40000           /* after the first that was not made up
                                         * for: under a steady load there is no
                                         * quiet */
#define IDLE_US         (300 * SECOND)  /* then a kind is forgotten */
#define LOOK_US         (60 * SECOND)   /* how often that is looked at */
#define MAKE_US         (30 * SECOND)   /* for one to get ready */
#define BACKOFF_US      SECOND          /* after a failure, then doubled */
#define BACKOFF_MAX_US  (60 * SECOND)
#define KINDS_MAX       256             /* remembered at once */

/*
 * A kind that was asked for not long ago.
 *
 * Invariants:
 *  1. idle and making count the sandboxes of this kind that have no job, READY
 *     or not.
 *  2. want is at least 1: what one burst took, as far as bounds allow.
 */
struct kind {
	TAILQ_ENTRY(kind) next;
	struct sandbox_key key;
	struct job_limits limits;       /* of the last job */
	uint64_t used_us;
	unsigned int idle, making;
	unsigned int want;
	unsigned int burst;             /* claims since it was full */
	unsigned int least;             /* idle at least, since the last look */
};

/*
 * Invariants:
 *  1. all has every sandbox there is.
 *  2. kinds is in order of use, the last used first.
 *  3. idle and making are the sums over kinds; at most one is being made.
 *  4. parked means that nothing is made until retry_us; why is a sentence then.
 *  5. disk is there while one is waited for, without which the next could not
 *     be made; nothing is made meanwhile.
 */
struct sandbox_pool {
	struct sup *sup;
	TAILQ_HEAD(, sandbox) all;
	TAILQ_HEAD(kinds, kind) kinds;
	unsigned int nkinds, idle, making;
	uint64_t claim_us;              /* the last, or a later start or end of
					 * a job; 0: no claim since it was
					 * full */
	uint64_t first_us;              /* the first since it was full */
	int stopping, parked;
	unsigned int fails;             /* in a row */
	uint64_t retry_us;
	char why[LIMIT_TEXT];
	uint64_t warm, cold, made, failed;      /* so far */
	struct disk_wait *disk;
	struct event soon;
	struct event look;
};

static void refill(struct sandbox_pool *);

static int
key_same(const struct sandbox_key *a, const struct sandbox_key *b)
{
	return (a->tenant == b->tenant && a->net == b->net &&
	    a->as_root == b->as_root && a->disk == b->disk &&
	    a->image == b->image);
}

static struct kind *
kind_find(struct sandbox_pool *p, const struct sandbox_key *key)
{
	struct kind *k;

	TAILQ_FOREACH(k, &p->kinds, next)
		if (key_same(&k->key, key))
			return (k);
	return (NULL);
}

static void
timer(struct event *ev, uint64_t us)
{
	struct timeval tv = {
		.tv_sec = (time_t)(us / SECOND),
		.tv_usec = (suseconds_t)(us % SECOND)
	};

	if (evtimer_add(ev, &tv) == -1)
		log_warnx("sandboxes: timer");
}

/* One that has no job: it is neither idle nor being made any more. */
static void
uncount(struct sandbox_pool *p, const struct sandbox *b)
{
	struct kind *k = kind_find(p, &b->key);
	unsigned int *n, *sum;

	n = b->phase == KEEPER_READY ? &k->idle : &k->making;
	sum = b->phase == KEEPER_READY ? &p->idle : &p->making;
	--*n;
	--*sum;
	if (k->least > k->idle)
		k->least = k->idle;
}

/* One without a job, READY or not, of this kind, or NULL. */
static struct sandbox *
kind_box(struct sandbox_pool *p, const struct kind *k, int ready)
{
	struct sandbox *b;

	TAILQ_FOREACH(b, &p->all, next)
		if (b->job == NULL && key_same(&b->key, &k->key) &&
		    (b->phase == KEEPER_READY) == ready)
			return (b);
	return (NULL);
}

/* Its keeper hears that nobody is interested any more and cleans up. */
static void
drop(struct sandbox_pool *p, struct sandbox *b)
{
	uncount(p, b);
	sandbox_close(b);
	sandbox_free(b);
}

static void
kind_drop(struct sandbox_pool *p, struct kind *k, unsigned int n)
{
	struct sandbox *b;

	while (n-- > 0 && (b = kind_box(p, k, 1)) != NULL)
		drop(p, b);
}

static void
kind_free(struct sandbox_pool *p, struct kind *k)
{
	struct sandbox *b;

	kind_drop(p, k, UINT32_MAX);
	while ((b = kind_box(p, k, 0)) != NULL)
		drop(p, b);
	TAILQ_REMOVE(&p->kinds, k, next);
	p->nkinds--;
	free(k);
}

/* The kind, as the last used; NULL for lack of memory. */
static struct kind *
kind_use(struct sandbox_pool *p, const struct sandbox_key *key)
{
	struct kind *k;

	if ((k = kind_find(p, key)) != NULL)
		TAILQ_REMOVE(&p->kinds, k, next);
	else if ((k = calloc(1, sizeof(*k))) != NULL) {
		k->key = *key;
		k->want = 1;
		p->nkinds++;
	} else
		return (NULL);
	k->used_us = io_mono_us();
	TAILQ_INSERT_HEAD(&p->kinds, k, next);
	if (p->nkinds > KINDS_MAX)
		kind_free(p, TAILQ_LAST(&p->kinds, kinds));
	return (k);
}

/* How many a tenant has that wait, of all kinds. */
static unsigned int
tenant_has(const struct sandbox_pool *p, const struct tenant *t)
{
	unsigned int n = 0;
	struct kind *k;

	TAILQ_FOREACH(k, &p->kinds, next)
		if (k->key.tenant == t)
			n += k->idle + k->making;
	return (n);
}

/*
 * One of the kind that was not used for longest, but of ${k}'s successors; of
 * that tenant's only, unless NULL.
 */
static int
evict(struct sandbox_pool *p, const struct kind *k, const struct tenant *t)
{
	struct kind *o;

	TAILQ_FOREACH_REVERSE(o, &p->kinds, kinds, next) {
		if (o == k)
			return (-1);
		if (o->idle > 0 && (t == NULL || o->key.tenant == t)) {
			kind_drop(p, o, 1);
			if (o->want > 1)
				o->want--;
			return (0);
		}
	}
	return (-1);
}

/* The kind of which one more is to be made, or NULL. */
static struct kind *
kind_next(struct sandbox_pool *p)
{
	const struct config *cfg = p->sup->cfg;
	struct kind *k;

	TAILQ_FOREACH(k, &p->kinds, next) {
		if (k->idle + k->making >= k->want || k->key.tenant->gone)
			continue;
		if (tenant_has(p, k->key.tenant) >= cfg->tenant_sandboxes) {
			if (evict(p, k, k->key.tenant) == 0)
				return (k);
		} else if (p->idle + p->making < cfg->idle_sandboxes ||
		    evict(p, k, NULL) == 0)
			return (k);
	}
	return (NULL);
}

static void
park(struct sandbox_pool *p, const char *why)
{
	uint64_t us = BACKOFF_US;
	unsigned int i;

	for (i = 0; i < p->fails && us < BACKOFF_MAX_US; i++)
		us *= 2;
	if (us > BACKOFF_MAX_US)
		us = BACKOFF_MAX_US;
	p->fails++;
	p->failed++;
	p->retry_us = io_mono_us() + us;
	if (!p->parked || strcmp(p->why, why) != 0)
		log_warnx("no sandboxes are prepared for now: %s", why);
	p->parked = 1;
	(void)snprintf(p->why, sizeof(p->why), "%s", why);
	timer(&p->soon, us);
}

/* They can be made again, or so it seems. */
static void
unpark(struct sandbox_pool *p)
{
	if (p->parked)
		log_info("sandboxes are prepared again");
	p->parked = 0;
	p->fails = 0;
}

static void
park_disk(struct sandbox_pool *p, int error)
{
	char why[LIMIT_TEXT];

	(void)snprintf(why, sizeof(why), "the host could not make its disk: "
	    "%s", strerror(error));
	park(p, why);
}

static void
on_disk(void *cookie, int error)
{
	struct sandbox_pool *p = cookie;

	p->disk = NULL;
	if (error != 0)
		park_disk(p, error);
	else
		timer(&p->soon, 0);
}

static void
make(struct sandbox_pool *p, struct kind *k)
{
	struct sandbox_key key = k->key;
	const char *what;
	char why[LIMIT_TEXT];

	/* The process that makes disks is new: others do not wait for it. */
	if (key.disk != 0 && !disk_known(p->sup->disks, key.disk)) {
		p->disk = disk_await(p->sup->disks, key.disk, on_disk, p);
		if (p->disk == NULL)
			park_disk(p, errno);
		return;
	}
	if (sandbox_new(p->sup, &key, &k->limits, &what) != NULL) {
		k->making++;
		p->making++;
		timer(&p->soon, MAKE_US);
		return;
	}
	if (what == NULL)
		return;         /* errand-exec's end is on its way to us */
	(void)snprintf(why, sizeof(why), "the host could not make %s: %s",
	    what, strerror(errno));
	park(p, why);
}

/* Is a job held up while its sandbox is made? */
static int
job_waits(const struct sandbox_pool *p)
{
	const struct sandbox *b;

	TAILQ_FOREACH(b, &p->all, next)
		if (b->job != NULL && b->phase < KEEPER_READY &&
		    !b->job->doomed)
			return (1);
	return (0);
}

/* Microseconds until it is time to make one. */
static uint64_t
time_left(const struct sandbox_pool *p)
{
	uint64_t now = io_mono_us(), quiet = p->claim_us + QUIET_US;
	uint64_t late = p->first_us + LATE_US;

	if (p->parked && p->retry_us > now)
		return (p->retry_us - now);
	if (now >= late)
		return (0);
	if (now < quiet)
		return (quiet < late ? quiet - now : late - now);
	return (job_waits(p) ? late - now : 0);
}

static void
full(struct sandbox_pool *p)
{
	struct kind *k;

	p->claim_us = p->first_us = 0;
	TAILQ_FOREACH(k, &p->kinds, next)
		k->burst = 0;
}

/* One after the other, so that a start never waits for more than one. */
static void
refill(struct sandbox_pool *p)
{
	const char *why;
	struct kind *k;
	uint64_t left;

	if (p->stopping || p->making > 0 || p->disk != NULL ||
	    !exec_link_ready(p->sup->exec, &why))
		return;
	if ((left = time_left(p)) > 0) {
		timer(&p->soon, left);
		return;
	}
	if ((k = kind_next(p)) != NULL)
		make(p, k);
	else
		full(p);
}

/* One that hangs is as good as one that failed. */
static void
hung_drop(struct sandbox_pool *p)
{
	uint64_t now = io_mono_us();
	struct sandbox *b;

	TAILQ_FOREACH(b, &p->all, next)
		if (b->job == NULL && b->phase < KEEPER_READY &&
		    now - b->asked_us >= MAKE_US)
			break;
	if (b != NULL)
		sandbox_lost(b, "one was not ready in time");
}

static void
on_soon(evutil_socket_t fd, short what, void *cookie)
{
	struct sandbox_pool *p = cookie;

	(void)fd;
	(void)what;
	if (p->making > 0)
		hung_drop(p);
	else
		refill(p);
}

/*
 * What nobody asked for in a while goes: a kind as a whole, or as many of it as
 * were left over all the time.
 */
static void
on_look(evutil_socket_t fd, short what, void *cookie)
{
	struct sandbox_pool *p = cookie;
	uint64_t now = io_mono_us();
	struct kind *k, *next;

	(void)fd;
	(void)what;
	for (k = TAILQ_FIRST(&p->kinds); k != NULL; k = next) {
		next = TAILQ_NEXT(k, next);
		if (now - k->used_us >= IDLE_US || k->key.tenant->gone) {
			kind_free(p, k);
			continue;
		}
		if (k->least > 1) {
			k->want = k->want > k->least ? k->want - k->least + 1 :
			    1;
			kind_drop(p, k, k->least - 1);
		}
		k->least = k->idle;
	}
	if (p->nkinds > 0)
		timer(&p->look, LOOK_US);
}

struct sandbox_pool *
sandbox_pool_new(struct sup *sup)
{
	struct sandbox_pool *p;

	if ((p = calloc(1, sizeof(*p))) == NULL)
		return (NULL);
	p->sup = sup;
	TAILQ_INIT(&p->all);
	TAILQ_INIT(&p->kinds);
	evtimer_assign(&p->soon, sup->base, on_soon, p);
	evtimer_assign(&p->look, sup->base, on_look, p);
	return (p);
}

void
sandbox_pool_free(struct sandbox_pool *p)
{
	if (p == NULL)
		return;
	sandbox_pool_stop(p);
	free(p);
}

struct sandbox *
sandbox_pool_claim(struct sandbox_pool *p, const struct sandbox_key *key,
    const struct job_limits *l)
{
	struct sandbox *b = NULL;
	struct kind *k;

	if (p->stopping || p->sup->cfg->idle_sandboxes == 0 ||
	    (k = kind_use(p, key)) == NULL) {
		p->cold++;
		return (NULL);
	}
	k->limits = *l;
	if (++k->burst > k->want)
		k->want = k->burst;
	if (k->want > p->sup->cfg->tenant_sandboxes)
		k->want = p->sup->cfg->tenant_sandboxes;
	p->claim_us = io_mono_us();
	if (p->first_us == 0)
		p->first_us = p->claim_us;
	if (!evtimer_pending(&p->look, NULL))
		timer(&p->look, LOOK_US);
	if ((b = kind_box(p, k, 1)) != NULL)
		p->warm++;
	else {
		p->cold++;
		b = kind_box(p, k, 0);
	}
	if (b != NULL)
		uncount(p, b);
	if (p->making == 0)
		timer(&p->soon, time_left(p));
	return (b);
}

void
sandbox_pool_stir(struct sandbox_pool *p)
{
	if (p->claim_us != 0)
		p->claim_us = io_mono_us();
}

void
sandbox_pool_add(struct sandbox_pool *p, struct sandbox *b)
{
	TAILQ_INSERT_TAIL(&p->all, b, next);
}

void
sandbox_pool_remove(struct sandbox_pool *p, struct sandbox *b)
{
	TAILQ_REMOVE(&p->all, b, next);
}

struct sandbox *
sandbox_pool_find(struct sandbox_pool *p, const char *id)
{
	struct sandbox *b;

	TAILQ_FOREACH(b, &p->all, next)
		if (strcmp(b->id, id) == 0)
			return (b);
	return (NULL);
}

void
sandbox_pool_ready(struct sandbox *b)
{
	struct sandbox_pool *p = b->sup->sandboxes;
	struct kind *k;

	p->made++;
	if (b->job == NULL) {
		k = kind_find(p, &b->key);
		k->making--;
		k->idle++;
		p->making--;
		p->idle++;
	}
	unpark(p);
	if (p->claim_us != 0)
		refill(p);
}

/*
 * What an image's sandbox failed for is most likely the image, and no reason to
 * make none without it.  The kind is forgotten until the next job of it, which
 * is told what is wrong.
 */
static void
image_failed(struct sandbox_pool *p, const struct sandbox_key *key,
    const char *why)
{
	struct kind *k;

	log_warnx("image %s: no sandbox is prepared with it: %s",
	    key->image->name, why);
	p->failed++;
	if ((k = kind_find(p, key)) != NULL)
		kind_free(p, k);
	timer(&p->soon, QUIET_US);
}

/* The phase is what it was counted under. */
void
sandbox_pool_failed(struct sandbox *b, const char *why)
{
	struct sandbox_pool *p = b->sup->sandboxes;
	const struct sandbox_key key = b->key;

	uncount(p, b);
	sandbox_free(b);
	if (p->claim_us == 0)
		p->claim_us = p->first_us = io_mono_us();
	if (key.image != NULL)
		image_failed(p, &key, why);
	else
		park(p, why);
}

void
sandbox_pool_exec_up(struct sandbox_pool *p)
{
	unpark(p);
	if (!TAILQ_EMPTY(&p->kinds) && !p->stopping) {
		p->claim_us = p->first_us = io_mono_us();
		timer(&p->soon, QUIET_US);
	}
}

static void
drop_all(struct sandbox_pool *p, int orphans)
{
	struct sandbox *b, *next;

	for (b = TAILQ_FIRST(&p->all); b != NULL; b = next) {
		next = TAILQ_NEXT(b, next);
		if (b->job != NULL)
			continue;
		if (orphans) {
			sandbox_kill(b);
			sandbox_orphan(b);
		}
		drop(p, b);
	}
}

void
sandbox_pool_exec_lost(struct sandbox_pool *p)
{
	evtimer_del(&p->soon);
	drop_all(p, 1);
}

void
sandbox_pool_stop(struct sandbox_pool *p)
{
	struct kind *k;

	p->stopping = 1;
	disk_unwait(p->disk);
	p->disk = NULL;
	evtimer_del(&p->soon);
	evtimer_del(&p->look);
	drop_all(p, 0);
	while ((k = TAILQ_FIRST(&p->kinds)) != NULL)
		kind_free(p, k);
}

void
sandbox_pool_show(const struct sandbox_pool *p, struct admin_status *s)
{
	s->sandboxes = p->idle;
	s->sandboxes_making = p->making;
	s->sandboxes_warm = p->warm;
	s->sandboxes_cold = p->cold;
	s->sandboxes_made = p->made;
	s->sandboxes_failed = p->failed;
	(void)snprintf(s->sandbox_note, sizeof(s->sandbox_note), "%s",
	    p->parked ? p->why : "");
}
