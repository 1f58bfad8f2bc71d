/*
 * Messages between errandd and an errand-snapshot, as maps.  Memory only.
 */
#include <string.h>

#include "lib/chan.h"
#include "proto/convert.h"
#include "proto/edge.h"
#include "proto/snapshot_msg.h"
#include "snapshot.pb-c.h"

#define NITEMS(a) (sizeof(a) / sizeof((a)[0]))
#define TENANTS_MAX NITEMS(((struct snap_msg *)0)->u.admin_ok.tenants)
#define UIDS_MAX NITEMS(((struct tenant_info *)0)->uids)

#define T struct tenant_used
static const struct field used_fields[] = {
	UINT(store_bytes, 0, BIG),
	UINT(store_objects, 0, BIG),
	UINT(jobs, 0, BIG),
	UINT(log_bytes, 0, BIG),
};
MAP(used_map, T, errand__record__used__descriptor, used_fields, NULL);
#undef T

#define T struct tenant_info
static const struct field tenant_info_fields[] = {
	TENANT(name, 0),
	UINT(id, 0, UINT32_MAX),
	U32S(uids, nuids, UIDS_MAX),
	UINT(host_uid, 0, UINT32_MAX),
	UINT(slots, 0, UINT32_MAX),
	BOOL(net_host),
	BOOL(automatic),
	UINT(store_bytes, 0, UINT64_MAX),
	SUB(limits, 0, &limits_map),
	UINT(running, 0, UINT32_MAX),
	UINT(queued, 0, UINT32_MAX),
	UINT(store_objects, 0, BIG),
	UINT(jobs, 0, BIG),
	UINT(log_bytes, 0, BIG),
	UINT(keep_us, 0, BIG),
	UINT(given, 0, TENANT_ALL),
	SUB_HAS(used, has_used, &used_map),
	UINT(cache_size, 0, BIG),
	UINT(cache_total, 0, BIG),
};
MAP(tenant_info_map, T, errand__snapshot__tenant_info__descriptor,
    tenant_info_fields, NULL);
#undef T

int
admin_tenant_check(unsigned int verb, const struct tenant_info *t)
{
	if (verb < SNAP_ADMIN_TENANT_SHOW || verb == SNAP_ADMIN_STORE_REBUILD)
		return (0);
	return (t->name[0] != '\0' ? 0 : -1);
}

#define T struct cache_info
static const struct field cache_info_fields[] = {
	NAME(project, 0),
	NAME(name, 0),
	UINT(bytes, 0, BIG),
	UINT(entries, 0, BIG),
	UINT(saved_us, 0, BIG),
	UINT(used_us, 0, BIG),
};
MAP(cache_info_map, T, errand__snapshot__cache_info__descriptor,
    cache_info_fields, NULL);
#undef T

#define T struct proc_info
static const struct field proc_info_fields[] = {
	NAME(role, 0),
	UINT(pid, 0, INT32_MAX),
	UINT(uid, 0, UINT32_MAX),
	UINT(up, 0, 3),
	UINT(restarts, 0, UINT32_MAX),
	UINT(seccomp, 0, 255),
	UINT(caps, 0, UINT64_MAX),
	BOOL(no_new_privs),
	UINT(landlock, 0, INT32_MAX),
	TEXT(last_death),
};
static MAP(proc_info_map, T, errand__snapshot__proc_info__descriptor,
    proc_info_fields, NULL);
#undef T

#define T struct admin_status
static const struct field admin_status_fields[] = {
	NAME(version, 0),
	UINT(uptime_us, 0, BIG),
	UINT(slots, 0, UINT32_MAX),
	UINT(running, 0, UINT32_MAX),
	UINT(queued, 0, UINT32_MAX),
	BOOL(rootless),
	NAME(cgroup, 0),
	TEXT(note),
	UINT(store_objects, 0, BIG),
	UINT(store_bytes, 0, BIG),
	UINT(store_pack_bytes, 0, BIG),
	UINT(store_jobs, 0, BIG),
	UINT(store_free, 0, BIG),
	UINT(store_commits, 0, BIG),
	UINT(store_flushes, 0, BIG),
	ARRAY(procs, nprocs, LIMIT_PROCS, &proc_info_map),
	TEXT(store_note),
	UINT(store_up, 0, 2),
	UINT(sandboxes, 0, UINT32_MAX),
	UINT(sandboxes_making, 0, UINT32_MAX),
	UINT(sandboxes_warm, 0, BIG),
	UINT(sandboxes_cold, 0, BIG),
	UINT(sandboxes_made, 0, BIG),
	UINT(sandboxes_failed, 0, BIG),
	TEXT(sandbox_note),
	TEXT(isolation),
};
MAP(admin_status_map, T, errand__snapshot__admin_status__descriptor,
    admin_status_fields, NULL);
#undef T

#define T struct snap_live
static const struct field live_job_fields[] = {
	JOB(job, 1),
	UINT(state, JOB_STAGED, JOB_LOST),
	UINT(reason, 0, ERR__MAX - 1),
	SUB(times, 0, &times_map),
};
static MAP(live_job_map, T, errand__snapshot__live_job__descriptor,
    live_job_fields, NULL);
#undef T

/* From here on, parts of the message itself. */
#define T struct snap_msg

static MAP_EMPTY(empty_map, T, errand__snapshot__empty__descriptor);

static const struct field hello_fields[] = {
	UINT(u.hello.version, 1, UINT32_MAX),
	NAME(u.hello.software, 0),
	UINT(u.hello.landlock, 0, INT32_MAX),
};
static MAP(hello_map, T, errand__snapshot__hello__descriptor, hello_fields,
    NULL);

static const struct field serve_fields[] = {
	BOOL(u.serve.admin),
	UINT(u.serve.peer_uid, 0, UINT32_MAX),
};
static MAP(serve_map, T, errand__snapshot__serve__descriptor, serve_fields,
    NULL);

static const struct field bind_fields[] = {
	TENANT(u.bind.tenant, 0),
};
static MAP(bind_map, T, errand__snapshot__bind__descriptor, bind_fields, NULL);

static const struct field bound_fields[] = {
	TENANT(u.bound.tenant, 1),
	BLOB(u.bound.host_key, 0),
	TEXT(u.bound.host),
	SUB(u.bound.limits, 0, &limits_map),
	BOOL(u.bound.net_host),
	UINT(u.bound.cpus, 0, UINT32_MAX),
	UINT(u.bound.memory, 0, BIG),
	BOOL(u.bound.disk_soft),
	ARRAY(u.bound.images, u.bound.nimages, IMAGES_MAX, &image_map),
	BOOL(u.bound.disk_may),
	BOOL(u.bound.cpu_time_may),
};
static MAP(bound_map, T, errand__snapshot__bound__descriptor, bound_fields,
    NULL);

static const struct field submit_fields[] = {
	SUB(u.submit, 1, &submit_map),
};

static int
snap_submit_check(const void *p)
{
	return (submit_check(&((const struct snap_msg *)p)->u.submit));
}
static MAP(snap_submit_map, T, errand__snapshot__submit__descriptor,
    submit_fields, snap_submit_check);

static const struct field submitted_fields[] = {
	JOB(u.submitted.job, 1),
	UINT(u.submitted.state, JOB_STAGED, JOB_LOST),
	BOOL(u.submitted.existed),
};
static MAP(submitted_map, T, errand__snapshot__submitted__descriptor,
    submitted_fields, NULL);

static const struct field watch_fields[] = {
	JOB(u.watch.job, 1),
	BOOL(u.watch.log),
};
static MAP(watch_map, T, errand__snapshot__watch__descriptor, watch_fields,
    NULL);

static const struct field watched_fields[] = {
	BOOL(u.watched.active),
	UINT(u.watched.state, 0, JOB_LOST),
	UINT(u.watched.log_bytes, 0, BIG),
};
static MAP(watched_map, T, errand__snapshot__watched__descriptor,
    watched_fields, NULL);

static const struct field signal_fields[] = {
	JOB(u.signal.job, 1),
	UINT(u.signal.signal, 0, 64),
};
static MAP(signal_map, T, errand__snapshot__signal__descriptor, signal_fields,
    NULL);

static const struct field live_fields[] = {
	ARRAY(u.live.jobs, u.live.n, SNAP_LIVE_MAX, &live_job_map),
};
static MAP(live_map, T, errand__snapshot__live__descriptor, live_fields, NULL);

static const struct field admin_fields[] = {
	UINT(u.admin.verb, SNAP_ADMIN_STATUS, SNAP_ADMIN__MAX - 1),
	SUB(u.admin.tenant, 0, &tenant_info_map),
	UINT(u.admin.after, 0, UINT32_MAX),
	SUB(u.admin.cache, 0, &cache_info_map),
};

static int
admin_check(const void *p)
{
	const struct snap_msg *m = p;

	return (admin_tenant_check(m->u.admin.verb, &m->u.admin.tenant));
}
static MAP(admin_map, T, errand__snapshot__admin__descriptor, admin_fields,
    admin_check);

static const struct field admin_ok_fields[] = {
	UINT(u.admin_ok.verb, SNAP_ADMIN_STATUS, SNAP_ADMIN__MAX - 1),
	SUB(u.admin_ok.status, 0, &admin_status_map),
	ARRAY(u.admin_ok.tenants, u.admin_ok.ntenants, TENANTS_MAX,
	    &tenant_info_map),
	ARRAY(u.admin_ok.caches, u.admin_ok.ncaches, LIMIT_CACHE_LIST,
	    &cache_info_map),
};
static MAP(admin_ok_map, T, errand__snapshot__admin_ok__descriptor,
    admin_ok_fields, NULL);

static const struct field error_fields[] = {
	SUB(u.error, 1, &err_map),
};

static int
error_check(const void *p)
{
	const struct snap_msg *m = p;

	return (m->u.error.code == ERR_NONE ? -1 : 0);
}
static MAP(error_map, T, errand__snapshot__error__descriptor, error_fields,
    error_check);

static const struct field job_fields[] = {
	JOB(u.job.job, 1),
	UINT(u.job.state, JOB_STAGED, JOB_LOST),
	SUB_HAS(u.job.record, u.job.has_record, &record_map),
};

/* A record is of the job that the event is about. */
static int
job_check(const void *p)
{
	const struct snap_msg *m = p;

	if (m->u.job.has_record &&
	    strcmp(m->u.job.record.id, m->u.job.job) != 0)
		return (-1);
	return (0);
}
static MAP(job_map, T, errand__snapshot__job__descriptor, job_fields,
    job_check);

static const struct field log_fields[] = {
	JOB(u.log.job, 1),
	UINT(u.log.bytes, 0, BIG),
};
static MAP(grew_map, T, errand__snapshot__log__descriptor, log_fields, NULL);

static const struct field input_fields[] = {
	JOB(u.input.job, 1),
	BOOL(u.input.take),
};
static MAP(input_map, T, errand__snapshot__input__descriptor, input_fields,
    NULL);

static const struct field input_end_fields[] = {
	JOB(u.input_end.job, 1),
	UINT(u.input_end.how, SNAP_INPUT_EOF, SNAP_INPUT_LOST),
};
static MAP(input_end_map, T, errand__snapshot__input_end__descriptor,
    input_end_fields, NULL);

static const struct field window_fields[] = {
	JOB(u.window.job, 1),
	UINT(u.window.rows, 0, UINT16_MAX),
	UINT(u.window.cols, 0, UINT16_MAX),
};
static MAP(window_map, T, errand__snapshot__window__descriptor, window_fields,
    NULL);

static const struct field taken_fields[] = {
	UINT(u.taken.offset, 0, BIG),
};
static MAP(taken_map, T, errand__snapshot__taken__descriptor, taken_fields,
    NULL);

static const struct field input_stop_fields[] = {
	JOB(u.input_stop.job, 1),
};
static MAP(input_stop_map, T, errand__snapshot__input_stop__descriptor,
    input_stop_fields, NULL);

#define N(name) ERRAND__SNAPSHOT__MSG__OP_##name
#define EVENT(op, map) { SNAP_##op, 0, 0, N(op), &map }
#define REQ(op, map) { SNAP_##op, 0, ROW_ID, N(op), &map }
#define OK(op, map) { SNAP_OK, SNAP_##op, ROW_ID, N(op##_OK), &map }

static const struct row rows[] = {
	EVENT(HELLO, hello_map),
	EVENT(SERVE, serve_map),
	REQ(BIND, bind_map),
	REQ(SUBMIT, snap_submit_map),
	REQ(WATCH, watch_map),
	REQ(SIGNAL, signal_map),
	REQ(LIVE, empty_map),
	REQ(ADMIN, admin_map),
	REQ(INPUT, input_map),
	REQ(INPUT_END, input_end_map),
	REQ(WINDOW, window_map),
	REQ(BOUND, bound_map),
	REQ(SUBMITTED, submitted_map),
	REQ(WATCHED, watched_map),
	REQ(TAKEN, taken_map),
	OK(INPUT_END, empty_map),
	OK(WINDOW, empty_map),
	OK(SIGNAL, empty_map),
	OK(LIVE, live_map),
	OK(ADMIN, admin_ok_map),
	REQ(ERROR, error_map),
	EVENT(JOB, job_map),
	EVENT(LOG, grew_map),
	EVENT(INPUT_STOP, input_stop_map),
};

const struct edge snap_edge = {
	.desc = &errand__snapshot__msg__descriptor,
	.rows = rows,
	.n = NITEMS(rows),
	.size = sizeof(T),
	.op_at = offsetof(T, op),
	.id_at = offsetof(T, id),
	.reply_at = offsetof(T, reply_to),
	.max = CHAN_MSG_MAX,
	.memory = EDGE_MEMORY,
};

ssize_t
snap_msg_pack(const struct snap_msg *m, uint8_t *buf, size_t cap)
{
	return (edge_pack(&snap_edge, m, buf, cap));
}

int
snap_msg_parse(const uint8_t *buf, size_t len, struct snap_msg *m)
{
	return (edge_parse(&snap_edge, buf, len, m));
}
