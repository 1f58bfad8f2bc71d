/*
 * The end of old jobs.  Asks the store which there are, one tenant after the
 * other, and removes their logs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "config.h"
#include "keep.h"
#include "lib/chan.h"
#include "lib/io.h"
#include "lib/le.h"
#include "lib/log.h"
#include "lib/memfd.h"
#include "lib/text.h"
#include "logs.h"
#include "store_client.h"
#include "sup.h"
#include "tenants.h"
#include "tenants_limits.h"

#define ROUND_US        (600 * UINT64_C(1000000))
#define SETTLED_MAX     64      /* then a tenant is looked at out of turn */
#define ENTRY           (4 + JOB_ID_LEN)
#define FULL            64      /* so many in one answer: there may be more */

/*
 * Invariants:
 *  1. At most one EXPIRE is under way; at is its tenant, or the last one's.
 */
struct keep {
	struct sup *sup;
	struct event *ev;
	uint64_t request;       /* 0: none */
	uint32_t at;
	int again;              /* the round was asked for while one ran */
};

static void ask(struct keep *);

static void
on_round(evutil_socket_t fd, short what, void *cookie)
{
	struct keep *k = cookie;

	(void)fd;
	(void)what;
	keep_kick(k);
}

struct keep *
keep_new(struct sup *sup)
{
	struct keep *k;

	if ((k = calloc(1, sizeof(*k))) == NULL)
		return (NULL);
	k->sup = sup;
	if ((k->ev = evtimer_new(sup->base, on_round, k)) == NULL) {
		free(k);
		return (NULL);
	}
	return (k);
}

void
keep_free(struct keep *k)
{
	if (k == NULL)
		return;
	event_free(k->ev);
	free(k);
}

/* A short time to keep is looked after more often. */
static void
arm(struct keep *k)
{
	struct timeval tv;
	struct keep_conf kc;
	struct tenant *t;
	uint64_t us = ROUND_US;

	for (t = tenants_next(k->sup->tenants, NULL); t != NULL;
	    t = tenants_next(k->sup->tenants, t)) {
		tenant_keep(k->sup->tenants, t, &kc);
		if (kc.keep_us != 0 && kc.keep_us / 4 < us)
			us = kc.keep_us / 4;
	}
	if (us < 1000000)
		us = 1000000;
	tv.tv_sec = (time_t)(us / 1000000);
	tv.tv_usec = 0;
	(void)event_add(k->ev, &tv);
}

/* The ids of jobs that there are no more. */
static void
logs_gone(const struct keep *k, uint32_t tenant, const uint8_t *p, size_t len)
{
	char job[JOB_ID_LEN + 1] = { 0 };

	for (; len >= ENTRY; p += ENTRY, len -= ENTRY) {
		if (le_get32(p) != JOB_ID_LEN)
			return;
		memcpy(job, p + 4, JOB_ID_LEN);
		if (text_job_id_valid(job))
			logs_remove(k->sup->logs_fd, tenant, job);
	}
}

static void
answer_take(const struct keep *k, uint32_t tenant, int fd)
{
	const uint8_t *map;
	size_t len;

	if (fd == -1 || memfd_map(fd, FULL * ENTRY, &map, &len) == -1)
		return;
	logs_gone(k, tenant, map, len);
	memfd_unmap(map, len);
}

static void
on_expired(void *cookie, const struct store_msg *m, int fd)
{
	struct keep *k = cookie;

	k->request = 0;
	if (m->op == STORE_ERROR) {
		if (m->u.error.code != ERR_WORKER_LOST)
			log_warnx("old jobs of tenant %" PRIu32 ": %s", k->at,
			    m->u.error.text);
		arm(k);
		return;
	}
	answer_take(k, k->at, fd);
	if (m->u.ok.objects >= FULL)
		k->at--;        /* the same once more */
	ask(k);
}

/* The next tenant, or the end of the round. */
static void
ask(struct keep *k)
{
	struct keep_conf kc;
	struct store_msg m;
	struct tenant *t;

	if ((t = tenants_after(k->sup->tenants, k->at)) == NULL) {
		k->at = 0;
		if (!k->again) {
			arm(k);
			return;
		}
		k->again = 0;
		if ((t = tenants_after(k->sup->tenants, 0)) == NULL)
			return;
	}
	k->at = t->conf.id;
	t->settled = 0;
	tenant_keep(k->sup->tenants, t, &kc);
	memset(&m, 0, sizeof(m));
	m.op = STORE_EXPIRE;
	m.u.expire.tenant_id = t->conf.id;
	m.u.expire.keep_us = kc.keep_us;
	/* A tenth is left for what comes until the next look, or one. */
	m.u.expire.keep_jobs = kc.jobs < 2 ? kc.jobs : kc.jobs -
	    (kc.jobs < 10 ? 1 : kc.jobs / 10);
	m.u.expire.log_bytes = kc.logs - kc.logs / 10;
	k->request = store_request(k->sup->store, &m, -1, on_expired, k);
	if (k->request == 0)
		arm(k);
}

uint64_t
keep_room(struct keep *k, struct tenant *t, store_reply_fn *fn, void *cookie)
{
	struct keep_conf kc;
	struct store_msg m;

	tenant_keep(k->sup->tenants, t, &kc);
	memset(&m, 0, sizeof(m));
	m.op = STORE_EXPIRE;
	m.u.expire.tenant_id = t->conf.id;
	m.u.expire.keep_us = kc.keep_us;
	m.u.expire.keep_jobs = kc.jobs;
	m.u.expire.log_bytes = kc.logs - kc.logs / 10;
	m.u.expire.room = 1;
	return (store_request(k->sup->store, &m, -1, fn, cookie));
}

uint32_t
keep_room_made(struct keep *k, const struct tenant *t,
    const struct store_msg *m, int fd)
{
	if (m->op == STORE_ERROR)
		return (0);
	answer_take(k, t->conf.id, fd);
	return (m->u.ok.objects);
}

void
keep_kick(struct keep *k)
{
	if (k->request != 0) {
		k->again = 1;
		return;
	}
	k->at = 0;
	ask(k);
}

void
keep_settled(struct keep *k, struct tenant *t)
{
	struct keep_conf kc;
	uint64_t most;

	if (k == NULL)
		return;
	tenant_keep(k->sup->tenants, t, &kc);
	most = kc.jobs != 0 && kc.jobs / 20 < SETTLED_MAX ? kc.jobs / 20 :
	    SETTLED_MAX;
	if (++t->settled > most)
		keep_kick(k);
}

static void
on_bound(void *cookie, const struct store_msg *m, int fd)
{
	(void)cookie;
	(void)m;
	(void)fd;
}

void
keep_quota(struct keep *k, struct tenant *t)
{
	struct store_msg m;
	int pair[2];

	/* BIND is what carries quotas; nobody uses this channel. */
	if (chan_pair(pair) == -1)
		return;
	memset(&m, 0, sizeof(m));
	m.op = STORE_BIND;
	m.u.bind.tenant_id = t->conf.id;
	m.u.bind.rights = STORE_RIGHT_GET;
	tenant_quota(k->sup->tenants, t, &m.u.bind.quota);
	(void)store_request(k->sup->store, &m, pair[0], on_bound, NULL);
	io_close(&pair[1]);
	keep_kick(k);
}
