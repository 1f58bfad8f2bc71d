/*
 * From SUBMIT to a job that is durable, or was never one: checks, limits, id,
 * PUBLISH.  Touches the table of jobs, the store's channel and the new job's
 * log; reads no tree and no spec.
 */
#include <sys/stat.h>

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "config.h"
#include "config_range.h"
#include "cgroup.h"
#include "cgroup_find.h"
#include "conn.h"
#include "disk_image.h"
#include "exec_dispatch.h"
#include "images.h"
#include "job_room.h"
#include "jobs.h"
#include "keep.h"
#include "lib/io.h"
#include "lib/log.h"
#include "logs.h"
#include "proto/client_msg.h"
#include "store_client.h"
#include "sup.h"
#include "tenants.h"
#include "tenants_limits.h"

enum limit_by { BY_ALWAYS, BY_PIDS, BY_CPU, BY_MEMORY, BY_DISK, BY_CPUTIME };
enum limit_unit { IN_ONES, IN_MILLI, IN_BYTES, IN_US };

/*
 * The limits a job may ask for, by name: table for check and default.  One
 * that nothing here enforces is refused when it is asked for; as a tenant's
 * default it is only shown.
 */
static const struct limit_row {
	const char *name;
	size_t at;
	int wide;               /* uint64_t, else uint32_t */
	enum limit_by by;       /* what holds a job to it */
	enum limit_unit unit;   /* how people are shown it */
} limit_rows[] = {
	{ "cpus", offsetof(struct job_limits, cpus_milli), 0, BY_CPU,
	    IN_MILLI },
	{ "pids", offsetof(struct job_limits, pids), 0, BY_PIDS, IN_ONES },
	{ "memory", offsetof(struct job_limits, memory), 1, BY_MEMORY,
	    IN_BYTES },
	{ "disk", offsetof(struct job_limits, disk), 1, BY_DISK, IN_BYTES },
	{ "timeout", offsetof(struct job_limits, runtime_us), 1, BY_ALWAYS,
	    IN_US },
	{ "cpu-time", offsetof(struct job_limits, cpu_us), 1, BY_CPUTIME,
	    IN_US },
	{ "log", offsetof(struct job_limits, log_bytes), 1, BY_ALWAYS,
	    IN_BYTES },
	{ "changes", offsetof(struct job_limits, changes), 1, BY_ALWAYS,
	    IN_ONES },
};

static uint64_t
limit_get(const struct job_limits *l, const struct limit_row *r)
{
	const char *p = (const char *)l + r->at;

	if (r->wide)
		return (*(const uint64_t *)(const void *)p);
	return (*(const uint32_t *)(const void *)p);
}

static void
limit_set(struct job_limits *l, const struct limit_row *r, uint64_t v)
{
	char *p = (char *)l + r->at;

	if (r->wide)
		*(uint64_t *)(void *)p = v;
	else
		*(uint32_t *)(void *)p = (uint32_t)v;
}

/* "2.000", "1.5 GiB", "10.00 s"; good for four at a time. */
static const char *
limit_text(const struct limit_row *r, uint64_t v)
{
	static char ring[4][32];
	static unsigned int next;
	char *p = ring[next++ % 4];

	if (r->unit == IN_BYTES)
		return (text_bytes(v));
	if (r->unit == IN_US)
		return (text_us(v));
	if (r->unit == IN_MILLI)
		snprintf(p, sizeof(ring[0]), "%" PRIu64 ".%03u", v / 1000,
		    (unsigned int)(v % 1000));
	else
		snprintf(p, sizeof(ring[0]), "%" PRIu64, v);
	return (p);
}

/* May the limit be promised on this host? */
static int
holds(const struct sup *sup, const struct limit_row *r)
{
	switch (r->by) {
	case BY_ALWAYS: return (1);
	/* A resource limit does it too, but would count all of a tenant's. */
	case BY_PIDS: return (!exec_link_bounded(sup->exec, NULL) ||
	    cgroups_hold(sup->cgroups, CG_PIDS));
	case BY_CPU: return (cgroups_hold(sup->cgroups, CG_CPU));
	case BY_MEMORY: return (cgroups_hold(sup->cgroups, CG_MEMORY));
	case BY_DISK: return (sup->cfg->rootless ||
	    disk_images_note(sup->disks)[0] == '\0');
	case BY_CPUTIME: return (cgroups_hold(sup->cgroups, CG_CPUACCT));
	default: return (0);
	}
}

void
limits_hold(const struct sup *sup, struct job_limits *l)
{
	size_t i;

	for (i = 0; i < sizeof(limit_rows) / sizeof(limit_rows[0]); i++)
		if (!holds(sup, &limit_rows[i]))
			limit_set(l, &limit_rows[i], 0);
}

int
limits_may(const struct sup *sup, const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(limit_rows) / sizeof(limit_rows[0]); i++)
		if (strcmp(limit_rows[i].name, name) == 0)
			return (holds(sup, &limit_rows[i]));
	return (0);
}

static int
limit_refuse(const struct sup *sup, const struct limit_row *r,
    struct err *err)
{
	if (holds(sup, r))
		return (0);
	if (r->by == BY_DISK)
		return (err_set(err, ERR_LIMIT, "--disk cannot be enforced on "
		    "this host: %s; leave it out",
		    disk_images_note(sup->disks)));
	if (r->by == BY_CPU || r->by == BY_MEMORY || r->by == BY_PIDS ||
	    r->by == BY_CPUTIME)
		return (err_set(err, ERR_LIMIT, "--%s cannot be enforced on "
		    "this host, where no cgroup of ours controls it; leave it "
		    "out", r->name));
	return (err_set(err, ERR_LIMIT, "--%s cannot be enforced by this "
	    "version of errandd; leave it out", r->name));
}

/* What is out of this range no job can be run with. */
static int
limit_range(const struct limit_row *r, uint64_t asked, struct err *err)
{
	char label[32], why[LIMIT_TEXT];

	if (r->unit == IN_US)
		return (0);
	snprintf(label, sizeof(label), "--%s", r->name);
	if (config_range(r->name, label, asked, why, sizeof(why)) == 0)
		return (0);
	return (err_set(err, ERR_LIMIT, "%s", why));
}

/* What is enforced: what was asked for, within what the tenant may have. */
static int
limits_take(const struct sup *sup, const struct job_limits *asked,
    const struct job_limits *most, struct job_limits *out, struct err *err)
{
	const struct limit_row *r;
	uint64_t a, m;
	size_t i;

	for (i = 0; i < sizeof(limit_rows) / sizeof(limit_rows[0]); i++) {
		r = &limit_rows[i];
		a = limit_get(asked, r);
		m = limit_get(most, r);
		if (m != 0 && a > m)
			return (err_set(err, ERR_LIMIT, "--%s asks for %s and "
			    "this tenant may have %s (errand info shows the "
			    "limits)", r->name, limit_text(r, a),
			    limit_text(r, m)));
		if (a != 0 && (limit_refuse(sup, r, err) == -1 ||
		    limit_range(r, a, err) == -1))
			return (-1);
		limit_set(out, r, a != 0 ? a : m);
	}
	limits_hold(sup, out);
	return (0);
}

/* Is there such an image? */
static int
image_known(const struct sup *sup, const struct job_submit *s, struct err *err)
{
	char there[LIMIT_TEXT / 2];

	if (s->image[0] == '\0' || image_find(sup->cfg, s->image) != NULL)
		return (0);
	if (sup->cfg->nimages == 0)
		return (err_set(err, ERR_NOT_FOUND, "this host has no image "
		    "\"%s\", nor any other; its operator can name some in "
		    "errandd.conf", s->image));
	images_list(sup->cfg, there, sizeof(there));
	return (err_set(err, ERR_NOT_FOUND, "this host has no image \"%s\"; "
	    "there is: %s", s->image, there));
}

/* Environments are memory of ours, for as long as their jobs wait. */
static uint64_t
values_len(int fd)
{
	struct stat st;

	return (fd == -1 || fstat(fd, &st) == -1 ? 0 : (uint64_t)st.st_size);
}

/* Can this host, and this tenant, have such a job at all? */
static int
submit_check(struct sup *sup, struct tenant *t, const struct job_submit *s,
    struct err *err)
{
	const char *why;

	if (sup->stopping) {
		(void)err_set(err, ERR_BUSY, "the host's daemon is stopping; "
		    "try again in a moment");
		err->retry = 1;
		return (-1);
	}
	if (!exec_link_ready(sup->exec, &why) && why != NULL)
		return (err_set(err, ERR_SANDBOX, "this host cannot make "
		    "sandboxes: %s", why));
	if (s->as_root && exec_link_bounded(sup->exec, &why))
		return (err_set(err, ERR_SANDBOX, "--as-root needs user "
		    "namespaces, and on this host %s; leave it out", why));
	if (s->net == JOB_NET_HOST && !t->conf.net_host)
		return (err_set(err, ERR_DENIED, "tenant %s may not use --net "
		    "host; its operator can allow it with: errandctl tenant "
		    "set %s --net host", t->conf.name, t->conf.name));
	if (image_known(sup, s, err) == -1)
		return (-1);
	if (s->spec.kind == OBJ_NONE || s->spec_len > LIMIT_SPEC)
		return (err_set(err, ERR_INVALID, "a job needs a spec of at "
		    "most %d bytes", LIMIT_SPEC));
	return (0);
}

/* A job of this tenant with the same idempotency id, if it has not ended. */
static struct job *
same_idem(struct sup *sup, const struct tenant *t, const uint8_t *idem)
{
	struct job *j;

	for (j = jobs_next(sup->jobs, NULL); j != NULL;
	    j = jobs_next(sup->jobs, j))
		if (j->tenant == t && memcmp(j->rec.submit.idem, idem,
		    sizeof(j->rec.submit.idem)) == 0)
			return (j);
	return (NULL);
}

/*
 * Asked again: the same job is the answer once it is durable, another job
 * under that id is refused.
 */
static void
submit_again(struct conn *conn, uint64_t id, const struct job *j,
    const struct job_submit *s)
{
	struct err err;

	memset(&err, 0, sizeof(err));
	if (!obj_ref_equal(&j->rec.submit.root, &s->root) ||
	    !obj_ref_equal(&j->rec.submit.spec, &s->spec)) {
		(void)err_set(&err, ERR_CONFLICT, "this idempotency id is "
		    "another job's (%s)", j->rec.id);
		conn_error(conn, id, &err);
	} else if (!j->published) {
		(void)err_set(&err, ERR_BUSY, "the same job is being "
		    "submitted right now; try again");
		err.retry = 1;
		conn_error(conn, id, &err);
	} else
		conn_submitted(conn, id, j->rec.id, j->rec.state, 1);
}

static void
submitter_error(struct job *j, const struct err *err)
{
	if (j->submitter == NULL)
		return;
	conn_error(j->submitter, j->submit_id, err);
	j->submitter = NULL;
}

/* It was never a job: nothing was promised, nothing is kept. */
static void
job_undo(struct job *j)
{
	struct sup *sup = j->sup;

	job_kill(j);
	logs_remove(sup->logs_fd, j->rec.tenant_id, j->rec.id);
	job_free(j);
	jobs_kick(sup->jobs);
}

/* An idempotency id is its tenant's: it never names another's job. */
static void
published_again(struct job *j, const struct store_msg *m)
{
	struct job *old = jobs_find(j->sup->jobs, m->u.ok.job);
	static const struct err strange = {
		.code = ERR_INTERNAL, .text = "the store answered with "
		    "another tenant's job"
	};

	if (old != NULL && old->tenant != j->tenant) {
		submitter_error(j, &strange);
		child_fault(store_client_child(j->sup->store),
		    "answered with another tenant's job");
	} else if (j->submitter != NULL) {
		conn_submitted(j->submitter, j->submit_id, m->u.ok.job,
		    old != NULL ? old->rec.state : JOB_EXITED, 1);
		j->submitter = NULL;
	}
	job_undo(j);
}

static void
refused(struct job *j, const struct err *err)
{
	submitter_error(j, err);
	job_undo(j);
}

/* If anything went, there may be room by now. */
static void
on_room(void *cookie, const struct store_msg *m, int fd)
{
	struct job *j = cookie;

	j->request = 0;
	if (keep_room_made(j->sup->keep, j->tenant, m, fd) == 0 ||
	    job_publish(j) == -1)
		refused(j, &j->refusal);
}

/* What has ended makes room for what is new, once. */
static int
room_ask(struct job *j, const struct err *err)
{
	if (err->code != ERR_LIMIT || j->room_asked || j->doomed)
		return (-1);
	j->room_asked = 1;
	j->request = keep_room(j->sup->keep, j->tenant, on_room, j);
	if (j->request == 0)
		return (-1);
	j->refusal = *err;
	return (0);
}

/* The answer to PUBLISH: from here on there is a job, or there is none. */
static void
on_published(void *cookie, const struct store_msg *m, int fd)
{
	struct job *j = cookie;

	(void)fd;
	j->request = 0;
	if (m->op == STORE_ERROR && !j->published) {
		if (room_ask(j, &m->u.error) == -1)
			refused(j, &m->u.error);
		return;
	}
	if (m->op == STORE_ERROR) {
		job_fail(j, ERR_WORKER_LOST, "the start could not be recorded: "
		    "%s", m->u.error.text);
		return;
	}
	if (m->u.ok.existed && strcmp(m->u.ok.job, j->rec.id) != 0) {
		published_again(j, m);
		return;
	}
	if (!j->published) {
		j->published = 1;
		j->rec.phases.publish = io_mono_us() - j->t_admit;
		if (j->submitter != NULL) {
			conn_submitted(j->submitter, j->submit_id, j->rec.id,
			    j->rec.state, 0);
			j->submitter = NULL;
		}
	}
	if (j->doomed)
		job_finish(j);
	else if (j->rec.state == JOB_QUEUED)
		jobs_kick(j->sup->jobs);
	else
		job_go(j);
}

int
job_publish(struct job *j)
{
	uint8_t record[LIMIT_RECORD];
	struct store_msg m;
	ssize_t n;

	if ((n = job_record_pack(&j->rec, record, sizeof(record))) == -1) {
		log_warnx("job %s: its record does not fit", j->rec.id);
		return (-1);
	}
	memset(&m, 0, sizeof(m));
	m.op = STORE_PUBLISH;
	m.u.publish.tenant_id = j->rec.tenant_id;
	memcpy(m.u.publish.idem, j->rec.submit.idem, sizeof(m.u.publish.idem));
	memcpy(m.u.publish.job, j->rec.id, sizeof(m.u.publish.job));
	m.u.publish.root = j->rec.submit.root;
	m.u.publish.spec = j->rec.submit.spec;
	m.u.publish.record.p = record;
	m.u.publish.record.len = (size_t)n;
	j->request = store_request(j->sup->store, &m, -1, on_published, j);
	return (j->request == 0 ? -1 : 0);
}

/* Into the table, with a slot if one is free. */
static struct job *
admit(struct sup *sup, struct conn *conn, uint64_t id,
    const struct job_submit *s, int fd)
{
	struct tenant *t = conn_tenant(conn);
	const char *why;
	struct job *j;

	if ((j = job_new(sup, t)) == NULL) {
		io_close(&fd);
		return (NULL);
	}
	j->values_fd = fd;
	j->values = values_len(fd);
	t->values += j->values;
	j->submitter = conn;
	j->submit_id = id;
	j->rec.submit = *s;
	j->rec.times.submitted = j->rec.times.queued = io_real_us();
	j->rec.phases.negotiate = s->negotiate_us;
	j->t_submit = j->t_admit = io_mono_us();
	if (jobs_slot_free(sup->jobs, t) && exec_link_ready(sup->exec, &why))
		job_slot(j, 1);
	return (j);
}

/* Its log is there from the start, so that followers find it. */
static int
admitted_keep(struct job *j, struct err *err)
{
	if (logs_make(j->sup->logs_fd, j->rec.tenant_id, j->rec.id) == -1) {
		log_warn("job %s: log", j->rec.id);
		return (err_set(err, errno == ENOSPC ? ERR_FULL : ERR_IO,
		    "the host cannot make the job's log: %s",
		    strerror(errno)));
	}
	j->log_made = ++j->tenant->logs;
	if (job_publish(j) == -1) {
		(void)err_set(err, ERR_BUSY, "the store is not ready; try "
		    "again in a moment");
		err->retry = 1;
		return (-1);
	}
	return (0);
}

void
job_submit(struct sup *sup, struct conn *conn, uint64_t id,
    const struct job_submit *s, int fd)
{
	struct tenant *t = conn_tenant(conn);
	struct job_limits most, limits;
	struct job *j;
	struct err err;

	memset(&err, 0, sizeof(err));
	memset(&limits, 0, sizeof(limits));
	tenant_limits(sup->tenants, t, &most);
	if ((j = same_idem(sup, t, s->idem)) != NULL) {
		submit_again(conn, id, j, s);
		goto err0;
	}
	if (submit_check(sup, t, s, &err) == -1 ||
	    job_room(sup->tenants, jobs_count(sup->jobs), t, values_len(fd),
	    &err) == -1 ||
	    limits_take(sup, &s->limits, &most, &limits, &err) == -1) {
		conn_error(conn, id, &err);
		goto err0;
	}
	if ((j = admit(sup, conn, id, s, fd)) == NULL) {
		(void)err_set(&err, ERR_BUSY, "the host is out of memory; try "
		    "again");
		err.retry = 1;
		conn_error(conn, id, &err);
		return;
	}
	j->rec.limits = limits;
	if (admitted_keep(j, &err) == -1) {
		submitter_error(j, &err);
		job_undo(j);
		return;
	}
	/* A start that fails is settled once the job is durable. */
	if (j->slot)
		(void)job_start(j);
	return;

err0:
	io_close(&fd);
}
