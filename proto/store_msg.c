/*
 * Messages between errand-store and whoever asks it, as maps.  Memory only.
 */
#include "lib/chan.h"
#include "proto/convert.h"
#include "proto/edge.h"
#include "proto/store_msg.h"
#include "store.pb-c.h"

#define T struct store_msg
#define RIGHTS_ALL (STORE_RIGHT_PUT | STORE_RIGHT_GET | STORE_RIGHT_JOBS | \
	STORE_RIGHT_CARE | STORE_RIGHT_RESULTS)

static MAP_EMPTY(empty_map, T, errand__store__empty__descriptor);

static const struct field hello_fields[] = {
	UINT(u.hello.version, 1, UINT32_MAX),
	NAME(u.hello.software, 0),
	UINT(u.hello.landlock, 0, INT32_MAX),
	TEXT(u.hello.trouble),
};
static MAP(hello_map, T, errand__store__hello__descriptor, hello_fields, NULL);

#undef T
#define T struct store_quota
static const struct field quota_fields[] = {
	UINT(bytes, 0, BIG),
	UINT(objects, 0, BIG),
	UINT(jobs, 0, BIG),
	UINT(log_bytes, 0, BIG),
};
static MAP(quota_map, T, errand__store__quota__descriptor, quota_fields, NULL);
#undef T
#define T struct store_msg

static const struct field bind_fields[] = {
	UINT(u.bind.tenant_id, 0, UINT32_MAX),
	UINT(u.bind.rights, 1, RIGHTS_ALL),
	SUB(u.bind.quota, 0, &quota_map),
	REF(u.bind.first, REF_NONE | REF_CONTENT),
};
static MAP(bind_map, T, errand__store__bind__descriptor, bind_fields, NULL);

static const struct field publish_fields[] = {
	UINT(u.publish.tenant_id, 0, UINT32_MAX),
	BLOB(u.publish.idem, 1),
	JOB(u.publish.job, 1),
	REF(u.publish.root, REF_NONE | REF_TREE),
	REF(u.publish.spec, REF_CONTENT),
	SPAN(u.publish.record, 1, LIMIT_RECORD),
};
static MAP(publish_map, T, errand__store__publish__descriptor, publish_fields,
    NULL);

static const struct field publish_ok_fields[] = {
	BOOL(u.ok.existed),
	JOB(u.ok.job, 0),
};

static int
publish_ok_check(const void *p)
{
	const struct store_msg *m = p;

	return (m->u.ok.existed && m->u.ok.job[0] == '\0' ? -1 : 0);
}
static MAP(publish_ok_map, T, errand__store__publish_ok__descriptor,
    publish_ok_fields, publish_ok_check);

static const struct field settle_fields[] = {
	UINT(u.settle.tenant_id, 0, UINT32_MAX),
	JOB(u.settle.job, 1),
	UINT(u.settle.sequence, 1, BIG),
	BLOB(u.settle.digest, 1),
	REF(u.settle.root, REF_NONE | REF_TREE),
	REF(u.settle.list, REF_NONE | REF_CONTENT),
	SPAN(u.settle.record, 1, LIMIT_RECORD),
	SPAN(u.settle.receipt, 1, LIMIT_RECEIPT),
	UINT(u.settle.log_bytes, 0, BIG),
};
static MAP(settle_map, T, errand__store__settle__descriptor, settle_fields,
    NULL);

static const struct field head_fields[] = {
	UINT(u.head.tenant_id, 0, UINT32_MAX),
};
static MAP(head_map, T, errand__store__head__descriptor, head_fields, NULL);

static MAP(collect_map, T, errand__store__collect__descriptor, head_fields,
    NULL);

static const struct field expire_fields[] = {
	UINT(u.expire.tenant_id, 0, UINT32_MAX),
	UINT(u.expire.keep_us, 0, BIG),
	UINT(u.expire.keep_jobs, 0, BIG),
	UINT(u.expire.log_bytes, 0, BIG),
	UINT(u.expire.room, 0, 1),
};
static MAP(expire_map, T, errand__store__expire__descriptor, expire_fields,
    NULL);

static const struct field usage_fields[] = {
	UINT(u.ok.usage.bytes, 0, BIG),
	UINT(u.ok.usage.stored_bytes, 0, BIG),
	UINT(u.ok.usage.objects, 0, BIG),
	UINT(u.ok.usage.jobs, 0, BIG),
	UINT(u.ok.usage.log_bytes, 0, BIG),
	SUB(u.ok.usage.quota, 0, &quota_map),
};
static MAP(use_map, T, errand__store__usage__descriptor, usage_fields,
    NULL);

static const struct field head_ok_fields[] = {
	UINT(u.ok.sequence, 0, BIG),
	BLOB(u.ok.digest, 0),
};
static MAP(head_ok_map, T, errand__store__head_ok__descriptor, head_ok_fields,
    NULL);

static const struct field stat_fields[] = {
	UINT(u.ok.stat.objects, 0, BIG),
	UINT(u.ok.stat.object_bytes, 0, BIG),
	UINT(u.ok.stat.pack_bytes, 0, BIG),
	UINT(u.ok.stat.packs, 0, BIG),
	UINT(u.ok.stat.jobs, 0, BIG),
	UINT(u.ok.stat.map_bytes, 0, BIG),
	UINT(u.ok.stat.map_used, 0, BIG),
	UINT(u.ok.stat.disk_free, 0, BIG),
	UINT(u.ok.stat.commits, 0, BIG),
	UINT(u.ok.stat.flushes, 0, BIG),
	UINT(u.ok.stat.packs_damaged, 0, BIG),
	UINT(u.ok.stat.quarantined, 0, BIG),
	UINT(u.ok.stat.index_damaged, 0, 1),
};
static MAP(stat_map, T, errand__store__stat__descriptor, stat_fields, NULL);

static const struct field put_fields[] = {
	UINT(u.put.objects, 1, LIMIT_PUT_OBJECTS),
};
static MAP(put_map, T, errand__store__put__descriptor, put_fields, NULL);

static const struct field put_ok_fields[] = {
	UINT(u.ok.objects, 0, LIMIT_PUT_OBJECTS),
	UINT(u.ok.bytes, 0, LIMIT_PUT_BYTES),
};
static MAP(put_ok_map, T, errand__store__put_ok__descriptor, put_ok_fields,
    NULL);

static const struct field check_fields[] = {
	REF(u.check.root, REF_CONTENT | REF_TREE),
};
static MAP(check_map, T, errand__store__check__descriptor, check_fields, NULL);

static const struct field check_ok_fields[] = {
	UINT(u.ok.objects, 0, LIMIT_NEED_REFS),
};
static MAP(check_ok_map, T, errand__store__refs__descriptor, check_ok_fields,
    NULL);

static const struct field get_fields[] = {
	UINT(u.get.refs, 1, LIMIT_GET_OBJECTS),
};
static MAP(get_map, T, errand__store__get__descriptor, get_fields, NULL);

static const struct field get_ok_fields[] = {
	UINT(u.ok.objects, 0, LIMIT_GET_OBJECTS),
};
static MAP(get_ok_map, T, errand__store__refs__descriptor, get_ok_fields,
    NULL);

static const struct field job_fields[] = {
	JOB(u.job.job, 1),
};
static MAP(job_map, T, errand__store__job__descriptor, job_fields, NULL);

static const struct field list_fields[] = {
	UINT(u.list.limit, 0, LIMIT_LIST_JOBS),
};
static MAP(list_map, T, errand__store__list__descriptor, list_fields, NULL);

static const struct field records_fields[] = {
	UINT(u.ok.objects, 0, UINT32_MAX),
};
static MAP(records_map, T, errand__store__records__descriptor, records_fields,
    NULL);

static const struct field data_fields[] = {
	SPAN(u.ok.data, 1, LIMIT_RECEIPT),
};
static MAP(data_map, T, errand__store__data__descriptor, data_fields, NULL);

_Static_assert(LIMIT_RECORD <= LIMIT_RECEIPT, "either fits in Data");

static const struct field error_fields[] = {
	UINT(reply_to, STORE_BIND, STORE_CARE),
	SUB(u.error, 1, &err_map),
};

static int
error_check(const void *p)
{
	const struct store_msg *m = p;

	return (m->u.error.code == ERR_NONE ? -1 : 0);
}
static MAP(error_map, T, errand__store__error__descriptor, error_fields,
    error_check);

static const struct field care_fields[] = {
	UINT(u.care.task, CARE_STAT, CARE_NEXT),
};
static MAP(care_ask_map, T, errand__store__care__descriptor, care_fields,
    NULL);

static const struct field care_ok_fields[] = {
	SUB(u.ok.care, 0, &care_map),
};
static MAP(care_ok_map, T, errand__store__care_ok__descriptor, care_ok_fields,
    NULL);

static const struct field wait_fields[] = {
	TEXT(u.wait.text),
};
static MAP(wait_map, T, errand__store__wait__descriptor, wait_fields, NULL);

#define N(name) ERRAND__STORE__MSG__OP_##name
#define REQ(op, map) { STORE_##op, 0, ROW_ID, N(op), &map }
#define OK(op, map) { STORE_OK, STORE_##op, ROW_ID, N(op##_OK), &map }

static const struct row rows[] = {
	{ STORE_HELLO, 0, 0, N(HELLO), &hello_map },
	REQ(BIND, bind_map),
	REQ(PUBLISH, publish_map),
	REQ(SETTLE, settle_map),
	REQ(UNSETTLED, empty_map),
	REQ(HEAD, head_map),
	REQ(STAT, empty_map),
	REQ(PUT, put_map),
	REQ(CHECK, check_map),
	REQ(GET, get_map),
	REQ(JOB_GET, job_map),
	REQ(JOB_LIST, list_map),
	REQ(RECEIPT_GET, job_map),
	REQ(CARE, care_ask_map),
	REQ(COLLECT, collect_map),
	REQ(EXPIRE, expire_map),
	REQ(USAGE, head_map),
	OK(BIND, empty_map),
	OK(PUBLISH, publish_ok_map),
	OK(SETTLE, empty_map),
	OK(UNSETTLED, records_map),
	OK(HEAD, head_ok_map),
	OK(STAT, stat_map),
	OK(PUT, put_ok_map),
	OK(CHECK, check_ok_map),
	OK(GET, get_ok_map),
	OK(JOB_GET, data_map),
	OK(JOB_LIST, records_map),
	OK(RECEIPT_GET, data_map),
	OK(CARE, care_ok_map),
	OK(COLLECT, empty_map),
	OK(EXPIRE, records_map),
	OK(USAGE, use_map),
	{ STORE_ERROR, 0, ROW_ID, N(ERROR), &error_map },
	{ STORE_WAIT, 0, 0, N(WAIT), &wait_map },
};

const struct edge store_edge = {
	.desc = &errand__store__msg__descriptor,
	.rows = rows,
	.n = sizeof(rows) / sizeof(rows[0]),
	.size = sizeof(T),
	.op_at = offsetof(T, op),
	.id_at = offsetof(T, id),
	.reply_at = offsetof(T, reply_to),
	.max = CHAN_MSG_MAX,
	.memory = EDGE_MEMORY,
};

ssize_t
store_msg_pack(const struct store_msg *m, uint8_t *buf, size_t cap)
{
	return (edge_pack(&store_edge, m, buf, cap));
}

int
store_msg_parse(const uint8_t *buf, size_t len, struct store_msg *m)
{
	return (edge_parse(&store_edge, buf, len, m));
}
