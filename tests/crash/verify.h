#ifndef ERRAND_TESTS_VERIFY_H
#define ERRAND_TESTS_VERIFY_H

/*
 * Is everything in the store that was acknowledged, and is nothing half there?
 * What was asked for without an answer is decided here: from now on it is
 * known to be there, or not.
 */
#include "lib/le.h"
#include "load.h"

#define SAMPLE          8       /* old jobs looked at besides the late ones */
#define LATE            20

/* The references of the records in ${o}. */
static inline struct obj_ref *
refs_of(const struct drv_objs *o)
{
	struct obj_ref *refs = calloc(o->n, sizeof(*refs));
	struct objrec rec;
	const uint8_t *p = o->buf;
	uint32_t i;

	assert_non_null(refs);
	for (i = 0; i < o->n; i++, p += OBJREC_HEAD + rec.len) {
		assert_int_equal(objrec_decode(p, &rec), 0);
		refs[i] = rec.ref;
	}
	return (refs);
}

/*
 * The objects of a job come as they were put; ${whole}: every one of them.
 * An answer is a prefix of what was asked for.
 */
static inline void
verify_objects(struct load *l, int t, uint32_t n, int after, int whole)
{
	static struct drv_objs o;
	static struct drv_reply r;
	struct obj_ref root, second, *refs;
	int rc;

	world_objects(l->w, t, n, after, &o, &root, &second);
	refs = refs_of(&o);
	rc = drv_get(&l->d, l->chan[t], refs, o.n, &r);
	free(refs);
	if (rc != ERR_NONE)
		rig_broken("tenant %d, job %u: its objects: error %d: %s", t,
		    n, rc, rc == -1 ? "" : r.m.u.error.text);
	if (whole && r.m.u.ok.objects != o.n)
		rig_broken("tenant %d, job %u: %u of %u objects%s are there",
		    t, n, r.m.u.ok.objects, o.n, after ? " after it" : "");
	if (r.len > o.len || (r.len > 0 && memcmp(r.map, o.buf, r.len) != 0))
		rig_broken("tenant %d, job %u: its objects are not what was "
		    "put", t, n);
	drv_reply_done(&r);
	if (!whole)
		return;
	rc = drv_check(&l->d, l->chan[t], &root, &r);
	drv_reply_done(&r);
	if (rc != ERR_NONE || r.m.u.ok.objects != 0)
		rig_broken("tenant %d, job %u: its tree%s is not complete", t,
		    n, after ? " after it" : "");
}

static inline int
bytes_equal(const struct store_bytes *b, const uint8_t *want, size_t len)
{
	return (b->len == len && memcmp(b->p, want, len) == 0);
}

/* What is the state of a job in the store, and is its record right? */
static inline enum known
state_of(struct load *l, int t, uint32_t n)
{
	struct job *j = &l->w->tenants[t].jobs[n];
	static struct drv_reply r;
	uint8_t want[RECORD_MAX];
	char job[JOB_ID_LEN + 1];
	int rc;

	world_job_id(t, n, job);
	rc = drv_job(&l->d, l->chan[t], STORE_JOB_GET, job, &r);
	if (rc == ERR_NOT_FOUND)
		return (NOT_THERE);
	if (rc != ERR_NONE)
		rig_broken("tenant %d, job %u: its record: error %d", t, n,
		    rc);
	if (j->sequence != 0 && bytes_equal(&r.m.u.ok.data, want,
	    world_record(t, n, 0, j->sequence, want)))
		return (SETTLED);
	if (j->record != 0 && bytes_equal(&r.m.u.ok.data, want,
	    world_record(t, n, j->record, 0, want)))
		return (PUBLISHED);
	if (j->asked_record == 0 || !bytes_equal(&r.m.u.ok.data, want,
	    world_record(t, n, j->asked_record, 0, want)))
		rig_broken("tenant %d, job %u: its record is not what was "
		    "published", t, n);
	j->record = j->asked_record;
	return (PUBLISHED);
}

static inline void
verify_receipt(struct load *l, int t, uint32_t n, int there)
{
	struct job *j = &l->w->tenants[t].jobs[n];
	static struct drv_reply r;
	uint8_t want[RECORD_MAX];
	char job[JOB_ID_LEN + 1];
	int rc;

	world_job_id(t, n, job);
	rc = drv_job(&l->d, l->chan[t], STORE_RECEIPT_GET, job, &r);
	if (rc != (there ? ERR_NONE : ERR_NOT_FOUND))
		rig_broken("tenant %d, job %u: its receipt: error %d", t, n,
		    rc);
	if (there && !bytes_equal(&r.m.u.ok.data, want,
	    world_receipt(t, n, j->sequence, want)))
		rig_broken("tenant %d, job %u: its receipt is another one", t,
		    n);
}

/* One job: all of it, as far as it is there. */
static inline void
verify_job(struct load *l, int t, uint32_t n)
{
	struct tenant *tn = &l->w->tenants[t];
	struct job *j = &tn->jobs[n];
	enum known is = state_of(l, t, n);

	if (is == NOT_THERE && (j->state == EXPIRED || (j->asked_expire &&
	    (j->state == SETTLED || j->asked_settle))))
		is = EXPIRED;
	if (is < j->state)
		rig_broken("tenant %d: job %u, which was acknowledged, is %s",
		    t, n, is == NOT_THERE ? "gone" : "not settled");
	if (is != EXPIRED && (int)is > j->state + (j->asked_publish ||
	    j->asked_settle))
		rig_broken("tenant %d: job %u was not asked for", t, n);
	if ((is >= SETTLED) != (j->sequence != 0 &&
	    j->sequence <= tn->head))
		rig_broken("tenant %d: job %u and the end of the chain differ",
		    t, n);
	verify_objects(l, t, n, 0, is == PUBLISHED || is == SETTLED);
	verify_objects(l, t, n, 1, is == SETTLED);
	verify_receipt(l, t, n, is == SETTLED);
	if (is == NOT_THERE)
		j->dropped = 1;
	if (is < SETTLED)
		j->sequence = 0;
	j->state = is;
	j->asked_publish = j->asked_record = j->asked_settle = 0;
	j->asked_expire = 0;
}

/* The chain ends where it was acknowledged to, or where it was asked to. */
static inline void
verify_head(struct load *l, int t)
{
	struct tenant *tn = &l->w->tenants[t];
	struct store_msg m = { .op = STORE_HEAD };
	static struct drv_reply r;
	char job[JOB_ID_LEN + 1];
	uint64_t head;
	int rc;

	m.u.head.tenant_id = TENANT_ID(t);
	rc = drv_call(&l->d, l->d.fd, &m, -1, &r);
	if (rc != ERR_NONE && l->lame) {
		l->over = 1;
		return;
	}
	if (rc != ERR_NONE)
		rig_broken("tenant %d: the end of its chain cannot be read", t);
	head = r.m.u.ok.sequence;
	if (head < tn->head || head > tn->asked_head)
		rig_broken("tenant %d: the chain ends at %llu; %llu was "
		    "acknowledged, %llu asked for", t,
		    (unsigned long long)head, (unsigned long long)tn->head,
		    (unsigned long long)tn->asked_head);
	if (head > 0) {
		world_job_id(t, tn->settled[head], job);
		if (memcmp(r.m.u.ok.digest, job, JOB_ID_LEN) != 0)
			rig_broken("tenant %d: the chain ends with another "
			    "receipt", t);
	}
	tn->head = tn->asked_head = head;
}

/* The jobs that have not ended are those that were published and not more. */
static inline void
verify_unsettled(struct load *l)
{
	struct store_msg m = { .op = STORE_UNSETTLED };
	static struct drv_reply r;
	size_t at, want = 0;
	uint32_t i, n;
	int t;

	for (t = 0; t < TENANTS; t++) {
		l->w->tenants[t].unsettled = 0;
		for (n = 0; n < l->w->tenants[t].n; n++)
			l->w->tenants[t].unsettled +=
			    l->w->tenants[t].jobs[n].state == PUBLISHED;
		want += l->w->tenants[t].unsettled;
	}
	if (drv_call(&l->d, l->d.fd, &m, -1, &r) != ERR_NONE)
		rig_broken("unsettled jobs cannot be read");
	if (r.m.u.ok.objects != want)
		rig_broken("%u jobs are not settled instead of %zu",
		    r.m.u.ok.objects, want);
	for (i = 0, at = 0; i < r.m.u.ok.objects; i++) {
		if (at + 4 > r.len || le_get32(r.map + at) < JOB_ID_LEN ||
		    memmem(r.map + at + 4, 32, "published", 9) == NULL)
			rig_broken("an unsettled job has another record");
		at += 4 + le_get32(r.map + at);
	}
	drv_reply_done(&r);
}

/*
 * What it says of itself when it is opened, from ${from} on in its log: no
 * crash is a reason to miss a pack, be it one in which nothing is live.
 */
static inline void
verify_log(const struct load *l, long from)
{
	uint8_t *buf;
	size_t len;

	assert_int_equal(io_file_read(AT_FDCWD, l->d.log, 1 << 26, &buf,
	    &len), 0);
	if ((size_t)from < len && (strstr((char *)buf + from,
	    "damaged packs") != NULL || strstr((char *)buf + from,
	    "are lost") != NULL))
		rig_broken("the store misses something of its packs");
	free(buf);
}

/* Is there anything about this job that is not decided? */
static inline int
undecided(const struct job *j)
{
	return (j->asked_publish || j->asked_record || j->asked_settle ||
	    j->asked_expire ||
	    (j->state == NOT_THERE && !j->dropped));
}

/* An operator's channel, -1 when the store is gone. */
static inline int
care_open(struct load *l)
{
	struct store_msg m = { .op = STORE_BIND };
	static struct drv_reply r;
	int pair[2];

	assert_int_equal(chan_pair(pair), 0);
	m.u.bind.rights = STORE_RIGHT_CARE;
	if (drv_call(&l->d, l->d.fd, &m, pair[1], &r) == ERR_NONE)
		return (pair[0]);
	close(pair[0]);
	return (-1);
}

/* A step of a task of an operator.  0, or -1: the store is gone. */
static inline int
care_step(struct load *l, int op, enum care_task task, struct drv_reply *r)
{
	struct store_msg m = { .op = STORE_CARE };

	m.u.care.task = (uint8_t)task;
	return (drv_call(&l->d, op, &m, -1, r) == ERR_NONE ? 0 : -1);
}

static inline uint64_t
care_value(const struct drv_reply *r, const char *name)
{
	const struct care *c = &r->m.u.ok.care;
	uint32_t i;

	for (i = 0; i < c->nfigures; i++) {
		if (strcmp(c->figures[i].name, name) == 0)
			return (c->figures[i].value);
	}
	rig_trouble("the store has no figure %s", name);
}

/* The store's own verification: references, marks, use, packs. */
static inline void
verify_by_itself(struct load *l)
{
	static struct drv_reply r;
	int op = care_open(l), rc;

	rc = care_step(l, op, CARE_VERIFY, &r);
	while (rc == 0 && !r.m.u.ok.care.done)
		rc = care_step(l, op, CARE_NEXT, &r);
	close(op);
	if (rc == -1)
		rig_broken("the store cannot verify itself");
	if (r.m.u.ok.care.bad != 0)
		rig_broken("the store finds %llu things wrong with itself: %s",
		    (unsigned long long)r.m.u.ok.care.bad,
		    r.m.u.ok.care.text);
}

/* All that is new, the latest, and some (or, with ${all}, all) of the rest. */
static inline void
verify(struct load *l, int all)
{
	struct tenant *tn;
	uint32_t n;
	int t, i;

	for (t = 0; t < TENANTS; t++)
		verify_head(l, t);
	for (t = 0; t < TENANTS; t++) {
		tn = &l->w->tenants[t];
		for (n = 0; n < tn->n; n++) {
			if (undecided(&tn->jobs[n]) || n + LATE >= tn->n ||
			    (all && !tn->jobs[n].dropped))
				verify_job(l, t, n);
		}
		for (i = 0; i < SAMPLE && tn->n > 0; i++)
			verify_job(l, t, rig_random(tn->n));
		tn->settle_next = 0;
	}
	verify_unsettled(l);
	if (all)
		verify_by_itself(l);
}

#endif /* !ERRAND_TESTS_VERIFY_H */
