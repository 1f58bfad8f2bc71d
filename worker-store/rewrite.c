/*
 * Rewriting packs that are mostly dead.  Reads packs, appends to the open one,
 * writes the index in transactions of its own, removes packs through pack.c.
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
#include "index_obj.h"
#include "index_pack.h"
#include "journal.h"
#include "lib/crash.h"
#include "lib/io.h"
#include "lib/log.h"
#include "pack.h"
#include "pack_walk.h"
#include "pending.h"
#include "quarantine.h"
#include "rewrite.h"
#include "store.h"

#define STEP_BYTES      (512 * 1024)
#define STEP_OBJECTS    512             /* moved by one commit */
#define STEP_RECORDS    4096            /* looked at */
#define STEP_US         1500
#define PAUSE_US        1000
#define AGAIN_US        1000000
#define KEPT_US         2000000         /* kept waiting: its turn comes */
#define TURN_MIN_US     50000
#define TURN_MAX_US     1000000
#define STUCK_MAX       64
#define SEAL_BYTES      (4 * 1024 * 1024) /* a smaller open pack is left */
#define FORGOT_MIN      1024            /* jobs, to look into a journal for */
#define ROOM_BASE       (256 * 1024)
#define ROOM_OBJECT     (3 * 4096)

/*
 * Invariants:
 *  1. pack is 0, or a sealed pack that walk is open on; its live objects
 *     before walk.next have been moved, until over is set.
 *  2. Between steps nothing is half moved.
 */
struct rewrite {
	struct store *st;
	struct event *ev;
	uint32_t pack;
	struct pack_walk walk;
	uint64_t len;
	int oldest;             /* no pack is older */
	int over;
	int damaged;
	unsigned int holds;
	uint64_t kept;          /* since when collections are in the way; 0 */
	uint64_t turn;          /* until when none may begin */
	uint64_t forgot;        /* jobs, since the journal was all needed */
	uint64_t journal;       /* of the pack's: seen, and carried */
	uint64_t carried;
	uint32_t stuck[STUCK_MAX];
	struct rewrite_figures fig;
	size_t n;               /* that the step moves: as they will be */
	struct ix_object moved[STEP_OBJECTS];
	struct ix_object *sorted[STEP_OBJECTS];
};

static void on_step(evutil_socket_t, short, void *);

struct rewrite *
rewrite_new(struct store *st)
{
	struct rewrite *rw;

	if ((rw = calloc(1, sizeof(*rw))) == NULL)
		goto err0;
	rw->st = st;
	if ((rw->ev = evtimer_new(st->base, on_step, rw)) == NULL)
		goto err1;
	(void)event_priority_set(rw->ev, STORE_PRIO_LATER);
	return (rw);

err1:
	free(rw);
err0:
	return (NULL);
}

void
rewrite_free(struct rewrite *rw)
{
	if (rw == NULL)
		return;
	event_free(rw->ev);
	pack_walk_done(&rw->walk);
	free(rw);
}

static void
arm(struct rewrite *rw, long us)
{
	const struct timeval tv = { us / 1000000, us % 1000000 };

	if (event_add(rw->ev, &tv) == -1)
		log_warnx("no memory for a timer");
}

void
rewrite_kick(struct store *st)
{
	arm(st->rewrite, PAUSE_US);
}

void
rewrite_collected(struct store *st, uint64_t us)
{
	struct rewrite *rw = st->rewrite;
	uint64_t now = io_mono_us();

	rewrite_kick(st);
	if (rw->kept == 0 || now - rw->kept < KEPT_US)
		return;
	us = us < TURN_MIN_US ? TURN_MIN_US : us;
	rw->turn = now + (us > TURN_MAX_US ? TURN_MAX_US : us);
}

int
rewrite_turn(const struct store *st)
{
	return (io_mono_us() < st->rewrite->turn);
}

void
rewrite_hold(struct store *st)
{
	st->rewrite->holds++;
}

void
rewrite_release(struct store *st)
{
	if (--st->rewrite->holds == 0)
		rewrite_kick(st);
}

void
rewrite_forgot(struct store *st, size_t jobs)
{
	st->rewrite->forgot += jobs;
	if (st->rewrite->forgot >= TEST_NUMBER("rewrite-forgot", FORGOT_MIN))
		rewrite_kick(st);
}

static int
is_stuck(const struct rewrite *rw, uint32_t pack)
{
	size_t i;

	for (i = 0; i < rw->fig.stuck; i++) {
		if (rw->stuck[i] == pack)
			return (1);
	}
	return (0);
}

/* Until the next start: repairing it takes more than we know. */
static void
give_up(struct rewrite *rw)
{
	log_warnx("pack %" PRIu32 " is not removed, something in it is "
	    "damaged (errandctl store verify)", rw->pack);
	if (rw->fig.stuck < STUCK_MAX)
		rw->stuck[rw->fig.stuck++] = rw->pack;
	pack_walk_done(&rw->walk);
	rw->pack = 0;
}

/* Packs by their number, 0: none. */
struct choice {
	const struct rewrite *rw;
	struct ix_pack best;
	struct ix_pack aged;    /* the oldest that is little but journal */
	struct ix_pack open;
	uint32_t oldest;
};

static int
mostly_dead(const struct ix_pack *p, uint64_t needed)
{
	return (needed == 0 || needed < (p->len - PACK_HEAD) / 2);
}

static int
on_pack(void *cookie, const struct ix_pack *p)
{
	struct choice *c = cookie;
	uint64_t needed = p->live + p->journal;

	if (c->oldest == 0)
		c->oldest = p->number;
	if (!p->sealed)
		c->open = *p;
	else if (is_stuck(c->rw, p->number))
		return (0);
	else if (mostly_dead(p, needed) && (c->best.number == 0 ||
	    needed < c->best.live + c->best.journal))
		c->best = *p;
	else if (c->aged.number == 0 && mostly_dead(p, p->live))
		c->aged = *p;
	return (0);
}

/*
 * What the journal tells of jobs that are gone is of no use, but only a look at
 * all of it says how much that is.  Taken for dead it would be rewritten for
 * ever, where it is most of a pack.  So it counts as needed, until many jobs
 * have been forgotten; then the oldest pack is rewritten, where they most
 * likely were, and so on until one turns out to be needed.
 */
static void
look_into_journal(struct choice *c)
{
	if (c->best.number == 0 &&
	    c->rw->forgot >= TEST_NUMBER("rewrite-forgot", FORGOT_MIN))
		c->best = c->aged;
}

/* The pack of which least is live, if any.  1, 0 for none, or -1. */
static int
choose(struct rewrite *rw)
{
	struct choice c = { .rw = rw };
	struct store *st = rw->st;
	uint64_t needed;
	int rc;

	if (ix_read(st->ix) == -1)
		return (-1);
	rc = ix_packs(st->ix, on_pack, &c);
	ix_read_end(st->ix);
	if (rc == -1)
		return (-1);
	if (c.open.number != 0 &&
	    mostly_dead(&c.open, c.open.live + c.open.journal) &&
	    c.open.len >= TEST_NUMBER("rewrite-seal", SEAL_BYTES)) {
		if (batch_run(st->batch) == -1 || store_new_pack(st) == -1)
			return (-1);
		return (1);
	}
	look_into_journal(&c);
	if (c.best.number == 0)
		return (0);
	/* Copies need room before the pack gives any. */
	needed = c.best.live + c.best.journal;
	if (needed > 0 && store_disk_free(st) < needed +
	    store_disk_reserve(st) / 4)
		return (0);
	rw->pack = c.best.number;
	rw->len = c.best.len;
	rw->oldest = c.best.number == c.oldest;
	rw->over = rw->damaged = 0;
	rw->journal = rw->carried = 0;
	if (pack_walk_open(&rw->walk, st->packs, rw->pack, rw->len, 1) == 0)
		return (1);
	/* What is not there has nothing live either, or is damaged. */
	if (errno != ENOENT && errno != EBADMSG)
		goto err0;
	rw->over = 1;
	return (1);

err0:
	rw->pack = 0;
	return (-1);
}

/* Copy an object, if this is where the index has it.  0, or -1 with errno. */
static int
object(struct rewrite *rw)
{
	const struct pack_rec *rec = &rw->walk.rec;
	struct store *st = rw->st;
	struct ix_object *o = &rw->moved[rw->n];

	if (ix_object_get(st->ix, rec->tenant, &rec->ref, o) == -1) {
		if (errno != ENOENT)
			return (-1);
		/* What was damaged stays to be looked at until it is mended. */
		if (quarantine_is(st, rec->tenant, &rec->ref))
			rw->damaged = 1;
		return (0);
	}
	if (o->loc.pack != rw->pack || o->loc.off != rw->walk.at)
		return (0);
	if (pack_copy(st->packs, rec->tenant, &rec->ref, &o->loc,
	    &o->loc) == 0)
		rw->n++;
	else if (errno == EBADMSG || errno == EIO)
		rw->damaged = 1;
	else
		return (-1);
	return (0);
}

/* Copy what is needed of a part of the journal.  0, or -1 with errno. */
static int
journal(struct rewrite *rw)
{
	const struct pack_walk *w = &rw->walk;
	uint64_t had = packs_journal(rw->st->packs);

	rw->journal += PACK_REC_HEAD + w->rec.len;
	if (journal_carry(rw->st->journal, w->stored, w->rec.len,
	    rw->oldest) == -1) {
		if (errno != EBADMSG)
			return (-1);
		rw->damaged = 1;
	}
	rw->carried += packs_journal(rw->st->packs) - had;
	return (0);
}

/* Look at the next record.  0, or -1 with errno. */
static int
record(struct rewrite *rw)
{
	struct pack_walk *w = &rw->walk;
	int rc;

	if ((rc = pack_walk_next(w)) == -1)
		return (-1);
	if (rc == PACK_RECORD)
		return (w->rec.ref.kind == PACK_JOURNAL ? journal(rw) :
		    object(rw));
	if (rc == PACK_END)
		rw->over = 1;
	/* What cannot be read may be something live. */
	if (rc == PACK_BAD_HEAD || rc == PACK_BAD_BYTES || w->unreachable > 0)
		rw->damaged = 1;
	return (0);
}

/* Copy the next live objects.  0, or -1 with errno. */
static int
gather(struct rewrite *rw)
{
	uint64_t since = io_mono_us(), end = packs_end(rw->st->packs);
	unsigned int seen = 0;
	int rc = 0, err;

	rw->n = 0;
	if (ix_read(rw->st->ix) == -1)
		return (-1);
	while (rc == 0 && !rw->over && rw->n < STEP_OBJECTS &&
	    seen++ < STEP_RECORDS &&
	    packs_end(rw->st->packs) - end < STEP_BYTES &&
	    io_mono_us() - since < STEP_US)
		rc = record(rw);
	err = errno;
	ix_read_end(rw->st->ix);
	errno = err;
	return (rc);
}

static int
by_key(const void *a, const void *b)
{
	return (ix_object_cmp(*(struct ix_object *const *)a,
	    *(struct ix_object *const *)b));
}

/* One transaction says where the copies are.  Ends it only when it fails. */
static int
write_moves(struct rewrite *rw)
{
	struct store *st = rw->st;
	const struct ix_pack open = store_open_pack(st);
	int64_t bytes = 0;
	size_t i;

	for (i = 0; i < rw->n; i++) {
		rw->sorted[i] = &rw->moved[i];
		bytes += PACK_REC_HEAD + rw->moved[i].loc.len;
	}
	qsort(rw->sorted, rw->n, sizeof(rw->sorted[0]), by_key);
	if (ix_objects_put(st->ix, rw->sorted, rw->n) == -1 ||
	    ix_pack_put(st->ix, &open) == -1 ||
	    ix_pack_live(st->ix, open.number, bytes) == -1 ||
	    ix_pack_live(st->ix, rw->pack, -bytes) == -1)
		return (-1);
	rw->fig.moved += rw->n;
	rw->fig.moved_bytes += (uint64_t)bytes;
	return (0);
}

/* As batch.c does it: flush, then commit. */
static int
settle(struct rewrite *rw)
{
	struct store *st = rw->st;
	int err;

	journal_begin(st->journal);
	if (journal_write(st->journal, 1) == -1) {
		err = errno;
		st->drops++;            /* what was appended is gone */
		goto err0;
	}
	CRASH_POINT("rewrite-flushed");
	if (ix_write(st->ix, ROOM_BASE + rw->n * ROOM_OBJECT) == -1) {
		err = errno;
		goto err0;
	}
	if (write_moves(rw) == -1 || journal_list(st->journal) == -1) {
		err = errno;
		ix_abort(st->ix);
		goto err0;
	}
	if (store_commit(st) == -1) {
		err = errno;
		goto err0;
	}
	CRASH_POINT("rewrite-moved");
	journal_end(st->journal, 1);
	pack_committed(st->packs);
	return (0);

err0:
	journal_end(st->journal, 0);
	errno = err;
	return (-1);
}

static int
move(struct rewrite *rw)
{
	struct packs *ps = rw->st->packs;
	uint64_t end = packs_end(ps), next = rw->walk.next;
	uint64_t drops = rw->st->drops;
	int err;

	if (gather(rw) == -1)
		goto err0;
	if (packs_end(ps) == end)
		return (0);
	CRASH_POINT("rewrite-copied");
	if (settle(rw) == -1)
		goto err0;
	return (0);

err0:
	err = errno;
	/* A flush that failed has dropped everything already. */
	if (drops == rw->st->drops && packs_end(ps) > end)
		pack_rewind(ps, end);
	rw->walk.next = next;
	rw->over = 0;
	errno = err;
	return (-1);
}

/* Nothing in it is live: the commit that stops naming it, then the file. */
static int
finish(struct rewrite *rw)
{
	struct store *st = rw->st;
	struct ix_pack pack;
	int rc, err;

	if (ix_read(st->ix) == -1)
		return (-1);
	rc = ix_pack_get(st->ix, rw->pack, &pack);
	ix_read_end(st->ix);
	if (rc == -1)
		return (-1);
	if (rw->damaged || pack.live > 0) {
		give_up(rw);
		return (0);
	}
	if (MUTANT("unlink-before-commit") &&
	    packs_remove(st->packs, rw->pack) == -1)
		return (-1);
	CRASH_POINT("rewrite-done");
	if (ix_write(st->ix, ROOM_BASE) == -1)
		return (-1);
	if (ix_pack_del(st->ix, rw->pack) == -1) {
		err = errno;
		ix_abort(st->ix);
		errno = err;
		return (-1);
	}
	if (store_commit(st) == -1)
		return (-1);
	CRASH_POINT("rewrite-unnamed");
	/* If it stays, the next start removes it. */
	if (packs_remove(st->packs, rw->pack) == 0) {
		rw->fig.removed++;
		rw->fig.removed_bytes += rw->len;
	}
	CRASH_POINT("rewrite-removed");
	if (rw->carried > rw->journal / 2)
		rw->forgot = 0;
	pack_walk_done(&rw->walk);
	rw->pack = 0;
	return (0);
}

/* How long to pause before the next step, 0: there is none. */
static long
step(struct rewrite *rw)
{
	struct store *st = rw->st;
	int rc;

	if (packs_shrink(st->packs))
		return (PAUSE_US);
	if (gc_busy(st)) {
		if (rw->kept == 0)
			rw->kept = io_mono_us();
		return (0);     /* whoever is in the way kicks */
	}
	rw->kept = 0;
	if (st->broken || doubt_damaged(st) || rw->holds > 0) {
		rw->turn = 0;
		return (0);
	}
	if (rw->pack == 0) {
		if (doubt_none(st) != 1)
			return (0);     /* it kicks when it is over */
		if ((rc = choose(rw)) == -1)
			return (AGAIN_US);
		if (rc == 0)
			rw->turn = 0;
		return (rc == 0 ? 0 : PAUSE_US);
	}
	if (rw->over)
		return (finish(rw) == -1 ? AGAIN_US : PAUSE_US);
	/* Then the end of the open pack is ours alone. */
	if (pending_count(st->pending) > 0 && batch_run(st->batch) == -1)
		return (AGAIN_US);
	if (packs_full(st->packs) && store_new_pack(st) == -1)
		return (AGAIN_US);
	return (move(rw) == -1 ? AGAIN_US : PAUSE_US);
}

static void
on_step(evutil_socket_t fd, short what, void *cookie)
{
	struct rewrite *rw = cookie;
	struct stint s;
	long pause;

	(void)fd;
	(void)what;
	stint_begin(&s);
	errno = 0;
	if ((pause = step(rw)) == AGAIN_US)
		doubt_errno(rw->st);
	stint_end(&s, &rw->fig.longest);
	if (pause != 0 && !rw->st->broken)
		arm(rw, pause);
}

void
rewrite_figures(const struct store *st, struct rewrite_figures *f)
{
	*f = st->rewrite->fig;
	f->pack = st->rewrite->pack;
}
