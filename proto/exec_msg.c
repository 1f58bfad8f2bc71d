/*
 * Messages between errandd and errand-exec, as maps.  Memory only.
 */
#include "lib/chan.h"
#include "proto/convert.h"
#include "proto/edge.h"
#include "proto/exec_msg.h"
#include "exec.pb-c.h"

#define T struct exec_msg

static const struct field hello_fields[] = {
	UINT(u.hello.version, 1, UINT32_MAX),
	NAME(u.hello.software, 0),
	BOOL(u.hello.userns),
	TEXT(u.hello.note),
	BOOL(u.hello.bounded),
};
static MAP(hello_map, T, errand__exec__hello__descriptor, hello_fields, NULL);

static const struct field prepare_fields[] = {
	JOB(u.prepare.sandbox, 1),
	UINT(u.prepare.host_uid, 0, UINT32_MAX),
	UINT(u.prepare.net, 0, JOB_NET_HOST),
	BOOL(u.prepare.as_root),
	UINT(u.prepare.scratch, 0, BIG),
	NAME(u.prepare.image, 0),
	UINT(u.prepare.ids, 0, UINT16_MAX),
};
static MAP(prepare_map, T, errand__exec__prepare__descriptor, prepare_fields,
    NULL);

static const struct field gone_fields[] = {
	JOB(u.gone.sandbox, 1),
	UINT(u.gone.status, 0, UINT32_MAX),
};
static MAP(gone_map, T, errand__exec__gone__descriptor, gone_fields, NULL);

#define N(name) ERRAND__EXEC__MSG__OP_##name

static const struct row rows[] = {
	{ EXEC_HELLO, 0, 0, N(HELLO), &hello_map },
	{ EXEC_PREPARE, 0, 0, N(PREPARE), &prepare_map },
	{ EXEC_GONE, 0, 0, N(GONE), &gone_map },
};

const struct edge exec_edge = {
	.desc = &errand__exec__msg__descriptor,
	.rows = rows,
	.n = sizeof(rows) / sizeof(rows[0]),
	.size = sizeof(T),
	.op_at = offsetof(T, op),
	.id_at = EDGE_NONE,
	.reply_at = EDGE_NONE,
	.max = CHAN_MSG_MAX,
	.memory = EDGE_MEMORY,
};

ssize_t
exec_msg_pack(const struct exec_msg *m, uint8_t *buf, size_t cap)
{
	return (edge_pack(&exec_edge, m, buf, cap));
}

int
exec_msg_parse(const uint8_t *buf, size_t len, struct exec_msg *m)
{
	return (edge_parse(&exec_edge, buf, len, m));
}
