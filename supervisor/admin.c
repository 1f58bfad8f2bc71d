/*
 * What operators ask on the control socket: the daemon's state and its tenants.
 * Reads /proc/PID/status of our own workers; changes nothing but the table of
 * tenants.  The requests arrive through worker-snapshot/admin.c.
 */
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin.h"
#include "cache_admin.h"
#include "cgroup.h"
#include "child.h"
#include "config.h"
#include "conn.h"
#include "exec_dispatch.h"
#include "jobs.h"
#include "keep.h"
#include "lib/io.h"
#include "lib/log.h"
#include "pool.h"
#include "sandbox_pool.h"
#include "proto/client_msg.h"
#include "store_client.h"
#include "sup.h"
#include "tenants.h"
#include "tenants_limits.h"

#define LIST_TENANTS    32      /* in one reply */
#define STAT_SEC        2       /* for the store's figures */

/* Waits for the store's figures; the connection may be gone by then. */
struct status_wait {
	struct sup *sup;
	uint64_t serial;
	uint64_t id;
	uint64_t request;
	struct event late;
};

/* The same for what a tenant uses. */
struct show_wait {
	struct sup *sup;
	uint64_t serial;
	uint64_t id;
	uint32_t tenant;
};

static struct snap_msg *
reply_new(struct conn *c, const struct snap_msg *m)
{
	struct snap_msg *r = conn_msg(c, SNAP_OK, m->id);

	r->reply_to = SNAP_ADMIN;
	r->u.admin_ok.verb = m->u.admin.verb;
	return (r);
}

/* "Name:\tvalue" of /proc/PID/status in the given base. */
static uint64_t
status_value(const char *text, const char *name, int base)
{
	const char *p = strstr(text, name);

	return (p == NULL ? 0 : strtoull(p + strlen(name), NULL, base));
}

/* What the kernel says about a process, not what it says itself. */
static void
proc_look(struct proc_info *pi, pid_t pid)
{
	char path[64];
	uint8_t *buf;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (io_file_read(AT_FDCWD, path, 65536, &buf, &len) == -1)
		return;
	pi->uid = (uint32_t)status_value((char *)buf, "\nUid:\t", 10);
	pi->caps = status_value((char *)buf, "\nCapEff:\t", 16);
	pi->seccomp = (uint8_t)status_value((char *)buf, "\nSeccomp:\t", 10);
	pi->no_new_privs = status_value((char *)buf, "\nNoNewPrivs:\t",
	    10) != 0;
	free(buf);
}

static void
death_text(const struct child *ch, char *out, size_t size)
{
	const struct child_death *d = child_last_death(ch);

	if (d == NULL)
		return;
	if (d->signal != 0)
		snprintf(out, size, "signal %d%s%.40s", d->signal,
		    d->why[0] != '\0' ? ": " : "", d->why);
	else if (d->code != 0 || d->why[0] != '\0')
		snprintf(out, size, "status %d%s%.40s", d->code,
		    d->why[0] != '\0' ? ": " : "", d->why);
}

static const uint8_t shown[CHILD__NSTATE] = {
	[CHILD_DOWN] = 0, [CHILD_STARTING] = 1, [CHILD_UP] = 2,
	[CHILD_STOPPING] = 3, [CHILD_BACKOFF] = 0
};

static void
proc_add(struct admin_status *s, const struct child *ch, int32_t landlock)
{
	struct proc_info *pi;

	if (s->nprocs >= LIMIT_PROCS)
		return;
	pi = &s->procs[s->nprocs++];
	snprintf(pi->role, sizeof(pi->role), "%s", child_role(ch));
	pi->pid = (uint32_t)child_pid(ch);
	pi->uid = child_uid(ch);
	pi->up = shown[child_state(ch)];
	/* An errand-snapshot ends with its client; that is no restart. */
	pi->restarts = strcmp(pi->role, "snapshot") == 0 ? 0 :
	    child_restarts(ch);
	pi->landlock = landlock;
	death_text(ch, pi->last_death, sizeof(pi->last_death));
	if (pi->pid != 0)
		proc_look(pi, (pid_t)pi->pid);
}

static void
self_add(const struct sup *sup, struct admin_status *s)
{
	struct proc_info *pi = &s->procs[s->nprocs++];

	(void)sup;
	strcpy(pi->role, "supervisor");
	pi->pid = (uint32_t)getpid();
	pi->up = 2;
	proc_look(pi, getpid());
}

static void
procs_fill(struct sup *sup, struct admin_status *s)
{
	struct worker *w;
	size_t i;

	self_add(sup, s);
	proc_add(s, store_client_child(sup->store),
	    store_client_landlock(sup->store));
	proc_add(s, exec_link_child(sup->exec), 0);
	for (i = 0; (w = pool_at(sup->pool, i)) != NULL; i++)
		if (child_state(w->child) != CHILD_DOWN)
			proc_add(s, w->child, w->landlock);
}

/* What does not hold on this host, in a sentence. */
static void
note_fill(struct sup *sup, struct admin_status *s)
{
	const char *why;

	if (!exec_link_ready(sup->exec, &why))
		snprintf(s->note, sizeof(s->note), "no jobs are run: %s",
		    why != NULL ? why : "errand-exec is not up");
	else if ((why = tenants_refused(sup->tenants, NULL)) != NULL)
		snprintf(s->note, sizeof(s->note), "the file of a tenant is "
		    "refused: %.400s", why);
	else
		snprintf(s->note, sizeof(s->note), "%s",
		    cgroups_note(sup->cgroups));
}

/* What sandboxes are made of, and why not of more. */
static void
isolation_fill(struct sup *sup, struct admin_status *s)
{
	const char *why;

	if (exec_link_bounded(sup->exec, &why))
		snprintf(s->isolation, sizeof(s->isolation), "bounded: %s; "
		    "errand-exec keeps rights over the host, and --as-root is "
		    "refused", why);
	else if (exec_link_ready(sup->exec, &why))
		snprintf(s->isolation, sizeof(s->isolation),
		    "user namespaces");
	else
		snprintf(s->isolation, sizeof(s->isolation), "none");
}

/* Where the store is, and what it said about it. */
static void
store_fill(const struct sup *sup, struct admin_status *s)
{
	if (store_client_up(sup->store))
		s->store_up = 2;
	else
		s->store_up = !store_client_trouble(sup->store);
	snprintf(s->store_note, sizeof(s->store_note), "%s",
	    store_client_note(sup->store));
}

static void
status_fill(struct sup *sup, struct admin_status *s)
{
	snprintf(s->version, sizeof(s->version), "%s", ERRAND_VERSION);
	s->uptime_us = io_mono_us() - sup->started_us;
	s->slots = sup->cfg->slots;
	s->running = jobs_running(sup->jobs);
	s->queued = jobs_queued(sup->jobs);
	s->rootless = (uint8_t)sup->cfg->rootless;
	snprintf(s->cgroup, sizeof(s->cgroup), "%s",
	    cgroups_kind(sup->cgroups));
	note_fill(sup, s);
	isolation_fill(sup, s);
	store_fill(sup, s);
	sandbox_pool_show(sup->sandboxes, s);
	procs_fill(sup, s);
}

/* Before all else that there is to say. */
static void
note_before(struct admin_status *s, const char *text)
{
	char rest[sizeof(s->note)];

	memcpy(rest, s->note, sizeof(rest));
	snprintf(s->note, sizeof(s->note), "%s%s%.300s", text,
	    rest[0] != '\0' ? "; " : "", rest);
}

/* What an operator would not hear of otherwise. */
static void
damage_fill(const struct store_msg *stat, struct admin_status *s)
{
	char text[sizeof(s->note)];

	if (stat->u.ok.stat.packs_damaged > 0 ||
	    stat->u.ok.stat.quarantined > 0) {
		snprintf(text, sizeof(text), "in the store %llu packs are "
		    "damaged or gone, and %llu objects known to be damaged: "
		    "\"errandctl store verify\" says what is lost",
		    (unsigned long long)stat->u.ok.stat.packs_damaged,
		    (unsigned long long)stat->u.ok.stat.quarantined);
		note_before(s, text);
	}
	if (stat->u.ok.stat.index_damaged)
		note_before(s, "the store's index is damaged, so that nothing "
		    "is collected: make it anew with \"errandctl store "
		    "rebuild-index\"");
}

static void
status_send(struct sup *sup, struct conn *c, uint64_t id,
    const struct store_msg *stat)
{
	struct snap_msg *r = conn_msg(c, SNAP_OK, id);
	struct admin_status *s = &r->u.admin_ok.status;

	r->reply_to = SNAP_ADMIN;
	r->u.admin_ok.verb = SNAP_ADMIN_STATUS;
	status_fill(sup, s);
	if (stat != NULL && stat->op == STORE_OK) {
		s->store_objects = stat->u.ok.stat.objects;
		s->store_bytes = stat->u.ok.stat.object_bytes;
		s->store_pack_bytes = stat->u.ok.stat.pack_bytes;
		s->store_jobs = stat->u.ok.stat.jobs;
		s->store_free = stat->u.ok.stat.disk_free;
		s->store_commits = stat->u.ok.stat.commits;
		s->store_flushes = stat->u.ok.stat.flushes;
		damage_fill(stat, s);
	}
	conn_send(c, r, -1);
}

static void
on_stat(void *cookie, const struct store_msg *m, int fd)
{
	struct status_wait *sw = cookie;
	struct conn *c;

	(void)fd;
	event_del(&sw->late);
	if ((c = conns_by_serial(sw->sup->conns, sw->serial)) != NULL)
		status_send(sw->sup, c, sw->id, m);
	free(sw);
}

/* The operator asks because something is stuck: say the rest. */
static void
on_stat_late(evutil_socket_t fd, short what, void *cookie)
{
	struct status_wait *sw = cookie;

	(void)what;
	store_forget(sw->sup->store, sw->request);
	on_stat(sw, NULL, (int)fd);
}

static void
on_status(struct conn *c, struct sup *sup, const struct snap_msg *m)
{
	struct timeval tv = { STAT_SEC, 0 };
	struct status_wait *sw;
	struct store_msg q;

	if ((sw = calloc(1, sizeof(*sw))) == NULL) {
		status_send(sup, c, m->id, NULL);
		return;
	}
	sw->sup = sup;
	sw->serial = conn_serial(c);
	sw->id = m->id;
	memset(&q, 0, sizeof(q));
	q.op = STORE_STAT;
	evtimer_assign(&sw->late, sup->base, on_stat_late, sw);
	sw->request = store_request(sup->store, &q, -1, on_stat, sw);
	if (sw->request == 0) {
		free(sw);
		status_send(sup, c, m->id, NULL);
	} else
		(void)evtimer_add(&sw->late, &tv);
}

static void
on_list(struct conn *c, struct sup *sup, const struct snap_msg *m)
{
	struct snap_msg *r = reply_new(c, m);
	uint32_t n = 0, after = m->u.admin.tenant.id;
	struct tenant *t;

	/* A client may page by the last id it saw, its worker by after. */
	if (after < m->u.admin.after)
		after = m->u.admin.after;
	while (n < LIST_TENANTS &&
	    (t = tenants_after(sup->tenants, after)) != NULL) {
		tenant_show(sup->tenants, t, &r->u.admin_ok.tenants[n++]);
		after = t->conf.id;
	}
	r->u.admin_ok.ntenants = n;
	conn_send(c, r, -1);
}

static void
one_send(struct conn *c, struct sup *sup, const struct snap_msg *m,
    const struct tenant *t)
{
	struct snap_msg *r = reply_new(c, m);

	r->u.admin_ok.ntenants = 1;
	tenant_show(sup->tenants, t, &r->u.admin_ok.tenants[0]);
	conn_send(c, r, -1);
}

/* What the tenant uses was asked of the store; it may be away. */
static void
on_used(void *cookie, const struct store_msg *m, int fd)
{
	struct show_wait *sw = cookie;
	struct tenant *t = tenants_by_id(sw->sup->tenants, sw->tenant);
	struct conn *c = conns_by_serial(sw->sup->conns, sw->serial);
	struct tenant_info *ti;
	struct snap_msg *r;

	(void)fd;
	if (c == NULL || t == NULL)
		goto done;
	r = conn_msg(c, SNAP_OK, sw->id);
	r->reply_to = SNAP_ADMIN;
	r->u.admin_ok.verb = SNAP_ADMIN_TENANT_SHOW;
	r->u.admin_ok.ntenants = 1;
	ti = &r->u.admin_ok.tenants[0];
	tenant_show(sw->sup->tenants, t, ti);
	if (m != NULL && m->op == STORE_OK) {
		ti->has_used = 1;
		ti->used.store_bytes = m->u.ok.usage.bytes;
		ti->used.store_objects = m->u.ok.usage.objects;
		ti->used.jobs = m->u.ok.usage.jobs;
		ti->used.log_bytes = m->u.ok.usage.log_bytes;
	}
	conn_send(c, r, -1);
done:
	free(sw);
}

static void
show_ask(struct conn *c, struct sup *sup, const struct snap_msg *m,
    const struct tenant *t)
{
	struct show_wait *sw;
	struct store_msg q;

	if ((sw = calloc(1, sizeof(*sw))) == NULL) {
		one_send(c, sup, m, t);
		return;
	}
	sw->sup = sup;
	sw->serial = conn_serial(c);
	sw->id = m->id;
	sw->tenant = t->conf.id;
	memset(&q, 0, sizeof(q));
	q.op = STORE_USAGE;
	q.u.head.tenant_id = t->conf.id;
	if (store_request(sup->store, &q, -1, on_used, sw) == 0)
		on_used(sw, NULL, -1);
}

static void
no_tenant(const struct sup *sup, const char *name, struct err *err)
{
	const char *why = tenants_refused(sup->tenants, name);

	if (why != NULL)
		(void)err_set(err, ERR_NOT_FOUND, "tenant %s has a file that "
		    "is wrong; mend it and send errandd a HUP: %s", name, why);
	else
		(void)err_set(err, ERR_NOT_FOUND, "there is no tenant %s",
		    name);
}

static void
on_show(struct conn *c, struct sup *sup, const struct snap_msg *m)
{
	struct tenant *t;
	struct err err;

	memset(&err, 0, sizeof(err));
	t = tenants_by_name(sup->tenants, m->u.admin.tenant.name);
	if (t == NULL) {
		no_tenant(sup, m->u.admin.tenant.name, &err);
		conn_error(c, m->id, &err);
		return;
	}
	show_ask(c, sup, m, t);
}

static void
on_set(struct conn *c, struct sup *sup, const struct snap_msg *m)
{
	struct tenant *t;
	struct err err;

	memset(&err, 0, sizeof(err));
	t = tenants_by_name(sup->tenants, m->u.admin.tenant.name);
	if (t == NULL)
		no_tenant(sup, m->u.admin.tenant.name, &err);
	else if (tenants_set(sup->tenants, t, &m->u.admin.tenant,
	    &err) != NULL) {
		log_info("tenant %s: changed by uid %" PRIu32, t->conf.name,
		    conn_uid(c));
		keep_quota(sup->keep, t);
		one_send(c, sup, m, t);
		return;
	}
	conn_error(c, m->id, &err);
}

static void
on_add(struct conn *c, struct sup *sup, const struct snap_msg *m)
{
	const struct tenant_info *ti = &m->u.admin.tenant;
	struct tenant_conf tc;
	struct tenant *t;
	struct err err;

	memset(&err, 0, sizeof(err));
	memset(&tc, 0, sizeof(tc));
	memcpy(tc.name, ti->name, sizeof(tc.name));
	tc.nuids = ti->nuids;
	memcpy(tc.uids, ti->uids, sizeof(tc.uids));
	tc.slots = ti->slots;
	tc.net_host = ti->net_host;
	tc.keep = (struct keep_conf){ .store = ti->store_bytes,
	    .objects = ti->store_objects, .jobs = ti->jobs,
	    .logs = ti->log_bytes, .keep_us = ti->keep_us,
	    .cache_size = ti->cache_size, .cache_total = ti->cache_total };
	tc.limits = ti->limits;
	if (sup->cfg->rootless)
		(void)err_set(&err, ERR_DENIED, "a rootless daemon has one "
		    "tenant, its own user");
	else if ((t = tenants_add(sup->tenants, &tc, &err)) != NULL) {
		log_info("tenant %s: added by uid %" PRIu32, tc.name,
		    conn_uid(c));
		one_send(c, sup, m, t);
		return;
	}
	conn_error(c, m->id, &err);
}

/* The answer is that it was begun; STATUS tells the rest. */
static void
on_rebuild(struct conn *c, struct sup *sup, const struct snap_msg *m)
{
	log_info("store: its index is made anew, for uid %" PRIu32,
	    conn_uid(c));
	store_client_rebuild(sup->store);
	conn_send(c, reply_new(c, m), -1);
}

static void (*const verbs[])(struct conn *, struct sup *,
    const struct snap_msg *) = {
	[SNAP_ADMIN_STATUS] = on_status,
	[SNAP_ADMIN_TENANT_LIST] = on_list,
	[SNAP_ADMIN_TENANT_SHOW] = on_show,
	[SNAP_ADMIN_TENANT_ADD] = on_add,
	[SNAP_ADMIN_STORE_REBUILD] = on_rebuild,
	[SNAP_ADMIN_TENANT_SET] = on_set,
	[SNAP_ADMIN_CACHE_LIST] = cache_admin,
	[SNAP_ADMIN_CACHE_RM] = cache_admin,
};

void
admin_request(struct conn *c, struct sup *sup, const struct snap_msg *m)
{
	struct err err;

	if (m->u.admin.verb < sizeof(verbs) / sizeof(verbs[0]) &&
	    verbs[m->u.admin.verb] != NULL) {
		verbs[m->u.admin.verb](c, sup, m);
		return;
	}
	memset(&err, 0, sizeof(err));
	(void)err_set(&err, ERR_INVALID, "this host knows no such verb");
	conn_error(c, m->id, &err);
}
