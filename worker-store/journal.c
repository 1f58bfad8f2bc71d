/*
 * Changes of jobs on their way into the packs.  Appends through pack.c, lists
 * in the index what was not flushed yet, and has a barrier run for it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "batch.h"
#include "index.h"
#include "index_key.h"
#include "journal.h"
#include "journal_fmt.h"
#include "lib/crash.h"
#include "lib/io.h"
#include "lib/le.h"
#include "lib/log.h"
#include "lib/size.h"
#include "pack.h"
#include "store.h"

#define LISTED_MAX      64      /* entries; then they are flushed */
#define LISTED_SEC      5       /* since the first of them */
#define SERIAL          "serial"        /* the last that was used */
#define KEY_LEN         9       /* 'e', serial */

struct journal {
	struct store *st;
	struct event *timer;
	uint64_t serial;        /* the last that was used */
	uint64_t before;        /* the same, when this barrier began */
	size_t listed;
	int drain;
	int replay;             /* what is listed is not in the pack */
	/* of this barrier */
	uint8_t *buf;           /* entries, encoded, one after the other */
	size_t len, cap;
	uint64_t mark;          /* the pack's end before them */
	int flushed;
};

static void
on_timer(evutil_socket_t fd, short what, void *cookie)
{
	struct journal *j = cookie;

	(void)fd;
	(void)what;
	j->drain = 1;
	(void)batch_run(j->st->batch);
}

/* In a barrier of its own: nobody's request pays for it. */
static void
arm(struct journal *j)
{
	static const struct timeval later = { LISTED_SEC, 0 }, now = { 0, 0 };

	if (j->listed >= LISTED_MAX)
		(void)event_add(j->timer, &now);
	else if (j->listed > 0 && !event_pending(j->timer, EV_TIMEOUT, NULL))
		(void)event_add(j->timer, &later);
}

/* Count what is listed. */
static int
on_listed(void *cookie, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	struct journal *j = cookie;

	(void)key;
	(void)v;
	(void)len;
	if (klen == KEY_LEN)
		j->listed++;
	return (0);
}

int
journal_serial_get(struct ix *ix, uint64_t *serial)
{
	const void *v;
	size_t len;
	int rc;

	rc = ix_get(ix, IX_JOURNAL, SERIAL, sizeof(SERIAL) - 1, &v, &len);
	if (rc == 0 && len == 8) {
		*serial = le_get64(v);
		return (1);
	}
	if (rc == -1 && errno != ENOENT)
		return (-1);
	*serial = io_real_us();
	return (0);
}

static int
load(struct journal *j)
{
	struct ix *ix = j->st->ix;
	int rc;

	if (ix_read(ix) == -1)
		return (-1);
	if ((rc = journal_serial_get(ix, &j->serial)) != -1)
		rc = ix_scan(ix, IX_JOURNAL, "e", 1, 0, on_listed, j);
	ix_read_end(ix);
	j->replay = j->listed > 0;
	return (rc);
}

struct journal *
journal_open(struct store *st)
{
	struct journal *j;

	if ((j = calloc(1, sizeof(*j))) == NULL)
		goto err0;
	j->st = st;
	if ((j->timer = evtimer_new(st->base, on_timer, j)) == NULL)
		goto err1;
	(void)event_priority_set(j->timer, STORE_PRIO_LATER);
	if (load(j) == -1)
		goto err2;
	arm(j);
	return (j);

err2:
	event_free(j->timer);
err1:
	free(j);
err0:
	log_warnx("the journal cannot be opened");
	return (NULL);
}

void
journal_free(struct journal *j)
{
	if (j == NULL)
		return;
	event_free(j->timer);
	free(j->buf);
	free(j);
}

int
journal_due(const struct journal *j)
{
	return (j->listed > 0 && j->drain);
}

void
journal_drain(struct journal *j)
{
	j->drain = 1;
}

size_t
journal_listed(const struct journal *j)
{
	return (j->listed);
}

void
journal_begin(struct journal *j)
{
	j->len = 0;
	j->flushed = 0;
	j->before = j->serial;
	j->mark = packs_end(j->st->packs);
}

static int
entry_add(struct journal *j, struct journal_entry *e)
{
	size_t need;
	void *p;

	e->serial = j->serial + 1;
	if (size_add(j->len, journal_entry_len(e), &need) == -1 ||
	    (p = size_grow(j->buf, &j->cap, need, 1)) == NULL)
		return (-1);
	j->buf = p;
	journal_entry_encode(e, j->buf + j->len);
	j->len = need;
	j->serial++;
	return (0);
}

static void
publish_fill(struct journal_entry *e, const struct job_req *r)
{
	struct ix_publish *p = &e->u.publish;

	e->type = r->restate ? JOURNAL_RESTATE : JOURNAL_PUBLISH;
	p->idem = r->idem;
	p->root = r->root;
	p->spec = r->second;
	p->record = r->record;
	p->record_len = r->record_len;
}

static void
settle_fill(struct journal_entry *e, const struct job_req *r)
{
	struct ix_settle *s = &e->u.settle;

	e->type = JOURNAL_SETTLE;
	e->settled_us = io_real_us();
	e->log_bytes = r->log_bytes;
	s->sequence = r->sequence;
	s->digest = r->digest;
	s->root = r->root;
	s->list = r->second;
	s->record = r->record;
	s->record_len = r->record_len;
	s->receipt = r->record + r->record_len;
	s->receipt_len = r->receipt_len;
}

int
journal_add(struct journal *j, const struct job_req *r)
{
	struct journal_entry e = { .tenant = r->tenant };

	if (MUTANT("no-journal"))
		return (0);
	memcpy(e.job, r->job, JOB_ID_LEN);
	if (r->ask.op == STORE_PUBLISH)
		publish_fill(&e, r);
	else
		settle_fill(&e, r);
	return (entry_add(j, &e));
}

int
journal_forget(struct journal *j, uint32_t tenant, const char *job)
{
	struct journal_entry e = { .type = JOURNAL_FORGET, .tenant = tenant };

	memcpy(e.job, job, JOB_ID_LEN);
	return (entry_add(j, &e));
}

/* How much of the entries at ${p} fits into one record. */
static size_t
part(const uint8_t *p, size_t len)
{
	size_t n = 0, one;

	while (n < len) {
		one = JOURNAL_ENTRY + le_get32(p + n + 16);
		if (n + one > OBJ_MAX - JOURNAL_HEAD)
			break;
		n += one;
	}
	return (n);
}

/* Append encoded entries, as records of a bounded size. */
static int
append(struct packs *ps, const uint8_t *p, size_t len)
{
	uint8_t rec[OBJ_MAX];
	size_t n;

	journal_head_encode(io_real_us(), rec);
	for (; len > 0; p += n, len -= n) {
		n = part(p, len);
		memcpy(rec + JOURNAL_HEAD, p, n);
		if (pack_append_journal(ps, rec, JOURNAL_HEAD + n) == -1)
			return (-1);
	}
	return (0);
}

static int
on_replay(void *cookie, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	struct journal *j = cookie;

	(void)key;
	if (klen != KEY_LEN || len < JOURNAL_ENTRY)
		return (0);
	return (append(j->st->packs, v, len));
}

/* Put into the pack what is listed and was cut off with its tail. */
static int
replay(struct journal *j)
{
	struct ix *ix = j->st->ix;
	int rc;

	if (!j->replay || j->listed == 0)
		return (0);
	if (ix_read(ix) == -1)
		return (-1);
	rc = ix_scan(ix, IX_JOURNAL, "e", 1, 0, on_replay, j);
	ix_read_end(ix);
	return (rc);
}

/*
 * Without a flush a failure costs nothing but that the pack does not have the
 * entries yet: they are listed.
 */
int
journal_write(struct journal *j, int flush)
{
	struct packs *ps = j->st->packs;
	int rc;

	if (journal_due(j))
		flush = 1;
	if ((rc = replay(j)) == 0)
		rc = append(ps, j->buf, j->len);
	if (rc == 0 && !flush)
		rc = pack_write(ps);
	if (rc == -1) {
		pack_rewind(ps, j->mark);
		j->replay = 1;
	} else
		j->replay = 0;
	if (!flush)
		return (0);
	if (pack_sync(ps) == -1) {
		j->replay = 1;
		return (-1);
	}
	j->flushed = rc == 0;
	return (0);
}

struct entry_keys {
	size_t n;
	uint8_t v[LISTED_MAX][KEY_LEN];
};

static int
on_key(void *cookie, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	struct entry_keys *l = cookie;

	(void)v;
	(void)len;
	if (klen == KEY_LEN)
		memcpy(l->v[l->n++], key, KEY_LEN);
	return (l->n == LISTED_MAX);
}

/*
 * What is listed is flushed: take it off the list, whatever its serials are.
 * They need not be next to one another, see journal_serial_get.
 */
static int
unlist(struct journal *j)
{
	struct entry_keys l = { .n = j->listed > 0 ? LISTED_MAX : 0 };
	size_t i;

	while (l.n == LISTED_MAX) {
		l.n = 0;
		if (ix_scan(j->st->ix, IX_JOURNAL, "e", 1, 0, on_key,
		    &l) == -1)
			return (-1);
		for (i = 0; i < l.n; i++)
			if (ix_del(j->st->ix, IX_JOURNAL, l.v[i],
			    KEY_LEN) == -1)
				return (-1);
	}
	return (0);
}

static int
list(struct journal *j)
{
	uint8_t key[KEY_LEN] = { 'e' };
	size_t at = 0, len;

	while (at < j->len) {
		len = JOURNAL_ENTRY + le_get32(j->buf + at + 16);
		be_put64(key + 1, le_get64(j->buf + at + 8));
		if (ix_put(j->st->ix, IX_JOURNAL, key, sizeof(key),
		    j->buf + at, len) == -1)
			return (-1);
		at += len;
	}
	return (0);
}

int
journal_serial_put(struct ix *ix, uint64_t serial)
{
	uint8_t v[8];

	le_put64(v, serial);
	return (ix_put(ix, IX_JOURNAL, SERIAL, sizeof(SERIAL) - 1, v,
	    sizeof(v)));
}

int
journal_list(struct journal *j)
{
	if (j->len == 0 && !j->flushed)
		return (0);
	if ((j->flushed ? unlist(j) : list(j)) == -1)
		return (-1);
	if (j->serial == j->before)
		return (0);
	return (journal_serial_put(j->st->ix, j->serial));
}

void
journal_end(struct journal *j, int committed)
{
	if (!committed) {
		/* Whoever reads the packs alone must not find them. */
		if (packs_end(j->st->packs) > j->mark)
			pack_rewind(j->st->packs, j->mark);
		j->replay = j->listed > 0;
		j->serial = j->before;
	} else if (j->flushed) {
		j->listed = 0;
		j->drain = 0;
		(void)event_del(j->timer);
	} else
		j->listed += j->serial - j->before;
	j->len = 0;
	arm(j);
}

void
journal_lost(struct journal *j)
{
	j->replay = 1;
}

/* Does the tenant's chain of receipts end here?  It must never go back. */
static int
is_head(struct journal *j, const struct journal_entry *e)
{
	struct ix_usage u;

	if (e->type != JOURNAL_SETTLE)
		return (0);
	if (ix_usage_get(j->st->ix, e->tenant, &u) == -1)
		return (-1);
	return (u.sequence == e->u.settle.sequence);
}

/* Is the entry of a job that there is, in a state that it still tells? */
static int
is_live(struct journal *j, const struct journal_entry *e, int oldest)
{
	struct ix_job job;

	if (e->type == JOURNAL_FORGET)
		return (!oldest);
	if (ix_job_get(j->st->ix, e->tenant, e->job, &job) == -1)
		return (errno == ENOENT ? is_head(j, e) : -1);
	return (e->type != JOURNAL_RESTATE || !job.settled);
}

int
journal_carry(struct journal *j, const uint8_t *p, size_t len, int oldest)
{
	uint8_t rec[OBJ_MAX];
	struct journal_entry e;
	uint64_t us;
	size_t at, n, kept = JOURNAL_HEAD;
	int live;

	if (journal_head_decode(p, len, &us) == -1)
		return (-1);
	memcpy(rec, p, JOURNAL_HEAD);
	for (at = JOURNAL_HEAD; at < len; at += n) {
		if ((n = journal_entry_decode(p + at, len - at, &e)) == 0) {
			errno = EBADMSG;
			return (-1);
		}
		if ((live = is_live(j, &e, oldest)) == -1)
			return (-1);
		if (live)
			memcpy(rec + kept, p + at, n);
		kept += live ? n : 0;
	}
	if (kept == JOURNAL_HEAD)
		return (0);
	return (pack_append_journal(j->st->packs, rec, kept));
}
