#ifndef ERRAND_TESTS_LOAD_H
#define ERRAND_TESTS_LOAD_H

/*
 * A load with many requests under way at once, until the store is cut off.
 * Every answer is taken down in the world before anything else happens.
 */
#include <poll.h>

#include "world.h"

#define REQS_MAX        64
#define UNSETTLED_MAX   60      /* of a tenant */

enum phase { INGEST, PUBLISH, SETTLE, COLLECT, REWRITE, PHASES };

static const char *const phase_names[PHASES] = {
	"ingest", "publish", "settle", "collect", "rewrite"
};

/* A request without an answer. */
struct req {
	uint64_t id;            /* 0: the slot is free */
	uint8_t op;
	uint8_t after;          /* PUT: results, to be settled with */
	uint8_t version;        /* PUBLISH: of the record */
	int t;
	uint32_t n;
	uint64_t sequence;
	uint64_t since;
};

struct load {
	struct drv d;
	struct world *w;
	int chan[TENANTS];
	struct req reqs[REQS_MAX];
	size_t open[STORE_OP__MAX];     /* unanswered, by kind */
	uint64_t usual[STORE_OP__MAX];  /* microseconds to an answer */
	uint64_t answered[STORE_OP__MAX];
	uint64_t refused;
	int lame;               /* failures are to be expected from now on */
	int over;               /* the store ended or was cut off */
};

/* A channel for each tenant.  0, or -1 when the store has ended. */
static inline int
load_bind(struct load *l)
{
	struct store_msg m = { .op = STORE_BIND };
	struct drv_reply r;
	int t, pair[2];

	for (t = 0; t < TENANTS; t++) {
		assert_int_equal(chan_pair(pair), 0);
		m.u.bind.tenant_id = TENANT_ID(t);
		m.u.bind.rights = DRV_ALL;
		l->chan[t] = pair[0];
		if (drv_call(&l->d, l->d.fd, &m, pair[1], &r) != ERR_NONE)
			return (-1);
	}
	return (0);
}

static inline void
load_unbind(struct load *l)
{
	int t;

	for (t = 0; t < TENANTS; t++)
		io_close(&l->chan[t]);
}

/* Take down that a request is under way. */
static inline struct req *
req_add(struct load *l, uint64_t id, enum store_op op, int t, uint32_t n)
{
	size_t i;

	for (i = 0; i < REQS_MAX && l->reqs[i].id != 0; i++)
		;
	assert_true(i < REQS_MAX);
	memset(&l->reqs[i], 0, sizeof(l->reqs[i]));
	l->reqs[i].id = id;
	l->reqs[i].op = (uint8_t)op;
	l->reqs[i].t = t;
	l->reqs[i].n = n;
	l->reqs[i].since = io_mono_us();
	l->open[op]++;
	return (&l->reqs[i]);
}

static inline void
ask_put(struct load *l, int t, uint32_t n, int after)
{
	struct store_msg m = { .op = STORE_PUT };
	static struct drv_objs o;
	struct obj_ref root, second;
	int memfd;

	world_objects(l->w, t, n, after, &o, &root, &second);
	memfd = memfd_make("put", o.buf, o.len);
	assert_true(memfd != -1);
	m.u.put.objects = o.n;
	req_add(l, drv_send(&l->d, l->chan[t], &m, memfd), STORE_PUT, t,
	    n)->after = (uint8_t)after;
}

static inline void
ask_publish(struct load *l, int t, uint32_t n, uint8_t version)
{
	struct job *j = &l->w->tenants[t].jobs[n];
	static struct drv_objs o;
	struct obj_ref root, spec;
	struct store_msg m;
	uint8_t record[RECORD_MAX];
	char job[JOB_ID_LEN + 1];

	world_objects(l->w, t, n, 0, &o, &root, &spec);
	world_job_id(t, n, job);
	m = drv_publish_msg(TENANT_ID(t), job, &root, &spec);
	m.u.publish.record.p = record;
	m.u.publish.record.len = world_record(t, n, version, 0, record);
	if (j->state == NOT_THERE)
		j->asked_publish = 1;
	j->asked_record = version;
	req_add(l, drv_send(&l->d, l->d.fd, &m, -1), STORE_PUBLISH, t,
	    n)->version = version;
}

static inline void
ask_settle(struct load *l, int t, uint32_t n)
{
	struct tenant *tn = &l->w->tenants[t];
	struct job *j = &tn->jobs[n];
	static struct drv_objs o;
	struct obj_ref root, list;
	struct store_msg m;
	uint8_t record[RECORD_MAX], receipt[RECORD_MAX];
	char job[JOB_ID_LEN + 1];

	world_objects(l->w, t, n, 1, &o, &root, &list);
	world_job_id(t, n, job);
	j->sequence = ++tn->asked_head;
	j->asked_settle = 1;
	tn->settled[j->sequence] = n;
	tn->unsettled--;
	m = drv_settle_msg(TENANT_ID(t), job, j->sequence, &root, &list);
	m.u.settle.record.p = record;
	m.u.settle.record.len = world_record(t, n, 0, j->sequence, record);
	m.u.settle.receipt.p = receipt;
	m.u.settle.receipt.len = world_receipt(t, n, j->sequence, receipt);
	req_add(l, drv_send(&l->d, l->d.fd, &m, -1), STORE_SETTLE, t,
	    n)->sequence = j->sequence;
}

/* Objects that nothing will ever refer to. */
static inline void
ask_garbage(struct load *l, int t)
{
	struct tenant *tn = &l->w->tenants[t];

	assert_true(tn->n < JOBS_MAX);
	tn->jobs[tn->n].dropped = 1;
	ask_put(l, t, tn->n++, 0);
}

static inline void
ask_collect(struct load *l)
{
	struct store_msg m = { .op = STORE_COLLECT };

	req_add(l, drv_send(&l->d, l->d.fd, &m, -1), STORE_COLLECT, 0, 0);
}

/* All but ${keep} jobs of a tenant may be forgotten, if they are settled. */
static inline void
ask_expire(struct load *l, int t, uint64_t keep)
{
	struct tenant *tn = &l->w->tenants[t];
	struct store_msg m = { .op = STORE_EXPIRE };
	uint32_t n;

	for (n = 0; n < tn->n; n++) {
		if (tn->jobs[n].state == SETTLED || tn->jobs[n].asked_settle)
			tn->jobs[n].asked_expire = 1;
	}
	m.u.expire.tenant_id = TENANT_ID(t);
	m.u.expire.keep_jobs = keep;
	req_add(l, drv_send(&l->d, l->d.fd, &m, -1), STORE_EXPIRE, t, 0);
}

/* Those that were named are forgotten, and no others. */
static inline void
expire_ok(struct load *l, const struct req *q, const struct drv_reply *r)
{
	struct tenant *tn = &l->w->tenants[q->t];
	char job[JOB_ID_LEN + 1];
	uint32_t i, n, found = 0;

	for (n = 0; n < tn->n; n++) {
		if (!tn->jobs[n].asked_expire)
			continue;
		tn->jobs[n].asked_expire = 0;
		world_job_id(q->t, n, job);
		for (i = 0; i < r->m.u.ok.objects; i++) {
			if (memcmp(r->map + i * (4 + JOB_ID_LEN) + 4, job,
			    JOB_ID_LEN) != 0)
				continue;
			tn->jobs[n].state = EXPIRED;
			rig_note("expired %d %u", q->t, n);
			found++;
		}
	}
	if (found != r->m.u.ok.objects)
		rig_broken("tenant %d: a job was forgotten that has not ended",
		    q->t);
}

static inline void
put_ok(struct load *l, const struct req *q)
{
	struct job *j = &l->w->tenants[q->t].jobs[q->n];

	if (j->dropped)
		return;
	if (q->after) {
		ask_settle(l, q->t, q->n);
		return;
	}
	j->put = 1;
	ask_publish(l, q->t, q->n, 1);
}

static inline void
publish_ok(struct load *l, const struct req *q, const struct drv_reply *r)
{
	struct tenant *tn = &l->w->tenants[q->t];
	struct job *j = &tn->jobs[q->n];

	if (r->m.u.ok.existed != (j->state != NOT_THERE))
		rig_broken("tenant %d: job %u existed %d", q->t, q->n,
		    r->m.u.ok.existed);
	if (j->state == NOT_THERE) {
		j->state = PUBLISHED;
		tn->unsettled++;
	}
	j->asked_publish = 0;
	j->record = q->version;
	j->asked_record = 0;
	rig_note("published %d %u record %u", q->t, q->n, q->version);
}

static inline void
settle_ok(struct load *l, const struct req *q)
{
	struct tenant *tn = &l->w->tenants[q->t];
	struct job *j = &tn->jobs[q->n];

	if (q->sequence != tn->head + 1)
		rig_broken("tenant %d: receipt %llu acknowledged after %llu",
		    q->t, (unsigned long long)q->sequence,
		    (unsigned long long)tn->head);
	tn->head = q->sequence;
	j->state = SETTLED;
	j->asked_settle = 0;
	rig_note("settled %d %u receipt %llu", q->t, q->n,
	    (unsigned long long)q->sequence);
}

/*
 * A refusal.  Pending objects are gone when a flush failed, so that something
 * can be missing; every other refusal needs a reason, which is that the store
 * was cut off from its disk.
 */
static inline void
refused(struct load *l, const struct req *q, const struct drv_reply *r)
{
	l->refused++;
	if (l->lame)
		return;
	rig_broken("tenant %d, job %u: request %d was refused with %d: %s",
	    q->t, q->n, q->op, r->m.u.error.code, r->m.u.error.text);
}

static inline void
answer_take(struct load *l, const struct drv_reply *r)
{
	struct req q;
	uint64_t took;
	size_t i;

	for (i = 0; i < REQS_MAX && l->reqs[i].id != r->m.id; i++)
		;
	if (i == REQS_MAX)
		rig_broken("an answer to no question");
	q = l->reqs[i];
	l->reqs[i].id = 0;
	l->open[q.op]--;
	if (r->m.op != STORE_OK) {
		refused(l, &q, r);
		return;
	}
	took = io_mono_us() - q.since;
	l->usual[q.op] = (7 * l->usual[q.op] + took) / 8;
	l->answered[q.op]++;
	if (q.op == STORE_PUT && !l->over)
		put_ok(l, &q);
	else if (q.op == STORE_PUBLISH)
		publish_ok(l, &q, r);
	else if (q.op == STORE_SETTLE)
		settle_ok(l, &q);
	else if (q.op == STORE_EXPIRE)
		expire_ok(l, &q, r);
}

/*
 * Take the answers that come until ${until}; without waiting if that is past.
 */
static inline void
load_pump(struct load *l, uint64_t until)
{
	struct pollfd p[TENANTS + 1];
	static struct drv_reply r;
	struct timespec ts;
	uint64_t now;
	int t, n, dead = 0;

	for (;;) {
		for (t = 0; t < TENANTS; t++)
			p[t] = (struct pollfd){ l->chan[t], POLLIN, 0 };
		p[TENANTS] = (struct pollfd){ l->d.fd, POLLIN, 0 };
		now = io_mono_us();
		ts.tv_sec = 0;
		ts.tv_nsec = now < until ? (long)(until - now) * 1000 : 0;
		if (ts.tv_nsec > 999999999)
			ts.tv_nsec = 999999999;
		n = ppoll(p, TENANTS + 1, &ts, NULL);
		for (t = 0; t <= TENANTS && n > 0; t++) {
			if (p[t].revents == 0)
				continue;
			if (drv_recv(p[t].fd, &r) == -1) {
				dead = 1;
				continue;
			}
			answer_take(l, &r);
			drv_reply_done(&r);
		}
		if (dead && !l->over) {
			if (!l->lame)
				rig_broken("the store ended by itself");
			l->over = 1;
		}
		if (dead || (n <= 0 && io_mono_us() >= until))
			return;
	}
}

static inline size_t
load_open(const struct load *l)
{
	size_t i, n = 0;

	for (i = 0; i < STORE_OP__MAX; i++)
		n += l->open[i];
	return (n);
}

/* The next job of a tenant that may be settled, -1 for none. */
static inline int64_t
to_settle(struct tenant *tn)
{
	uint32_t n;

	for (n = tn->settle_next; n < tn->n; n++) {
		if (tn->jobs[n].state == PUBLISHED &&
		    !tn->jobs[n].asked_settle && !tn->jobs[n].asked_record) {
			tn->settle_next = n + 1;
			return (n);
		}
		/* Those that are not decided yet are left for later. */
		if (!tn->jobs[n].dropped && tn->jobs[n].state < SETTLED &&
		    !tn->jobs[n].asked_settle)
			break;
		tn->settle_next = n + 1;
	}
	return (-1);
}

/* One more request of a kind, if one can be made now. */
static inline void
load_ask(struct load *l, enum phase kind)
{
	const int t = (int)rig_random(TENANTS);
	struct tenant *tn = &l->w->tenants[t];
	int64_t n;

	if (load_open(l) >= REQS_MAX - 2)
		return;
	switch (kind) {
	case INGEST:
		assert_true(tn->n < JOBS_MAX);
		if (tn->unsettled < UNSETTLED_MAX)
			ask_put(l, t, tn->n++, 0);
		break;
	case PUBLISH:
		/* A new record for a job: the mark that it starts. */
		n = tn->n == 0 ? 0 : (int64_t)rig_random(tn->n);
		if (tn->n > 0 && tn->jobs[n].state == PUBLISHED &&
		    !tn->jobs[n].asked_settle && !tn->jobs[n].asked_record &&
		    (uint32_t)n >= tn->settle_next &&
		    tn->jobs[n].record < UINT8_MAX)
			ask_publish(l, t, (uint32_t)n,
			    tn->jobs[n].record + 1);
		break;
	case SETTLE:
		if ((n = to_settle(tn)) != -1)
			ask_put(l, t, (uint32_t)n, 1);
		break;
	case COLLECT:
	case REWRITE:
		if (l->open[STORE_PUT] < 4)
			ask_garbage(l, t);
		if (l->open[STORE_EXPIRE] == 0 && tn->head > 40)
			ask_expire(l, t, 20);
		if (l->open[STORE_COLLECT] == 0)
			ask_collect(l);
		break;
	default:
		break;
	}
}

/* What is usual: some of everything. */
static inline void
load_mixed(struct load *l)
{
	static const enum phase mixed[] = {
		INGEST, INGEST, INGEST, PUBLISH, SETTLE, SETTLE, SETTLE,
		COLLECT
	};

	load_ask(l, mixed[rig_random(sizeof(mixed) / sizeof(mixed[0]))]);
}

/* Nothing that is under way will be answered any more. */
static inline void
load_forget(struct load *l)
{
	memset(l->reqs, 0, sizeof(l->reqs));
	memset(l->open, 0, sizeof(l->open));
	l->lame = l->over = 0;
}

#endif /* !ERRAND_TESTS_LOAD_H */
