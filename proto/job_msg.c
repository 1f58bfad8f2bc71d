/*
 * Messages between errandd and a job's keeper, as maps.  Memory only.
 */
#include "lib/chan.h"
#include "proto/convert.h"
#include "proto/edge.h"
#include "proto/job_msg.h"
#include "job.pb-c.h"

#define T struct job_msg

static MAP_EMPTY(empty_map, T, errand__job__empty__descriptor);

static const struct field hello_fields[] = {
	UINT(u.version, 1, UINT32_MAX),
};
static MAP(hello_map, T, errand__job__hello__descriptor, hello_fields, NULL);

static const struct field started_fields[] = {
	UINT(u.started_us, 0, BIG),
};
static MAP(started_map, T, errand__job__started__descriptor, started_fields,
    NULL);

static const struct field log_fields[] = {
	UINT(u.log_bytes, 0, BIG),
};
static MAP(grew_map, T, errand__job__log__descriptor, log_fields, NULL);

static const struct field signal_fields[] = {
	UINT(u.signal, 1, 64),
};
static MAP(signal_map, T, errand__job__signal__descriptor, signal_fields,
    NULL);

static const struct field result_fields[] = {
	SUB(u.result, 0, &result_map),
};
static MAP(jobc_result_map, T, errand__job__result__descriptor, result_fields,
    NULL);

static const struct field run_fields[] = {
	JOB(u.run.job, 1),
	UINT(u.run.flags, 0, JOBC_RUN_FLAGS),
	REF(u.run.root, REF_NONE | REF_TREE),
	REF(u.run.spec, REF_CONTENT),
	UINT(u.run.spec_len, 1, LIMIT_SPEC),
	SUB(u.run.limits, 0, &limits_map),
	UINT(u.run.rows, 0, UINT16_MAX),
	UINT(u.run.cols, 0, UINT16_MAX),
	UINT(u.run.cache_bytes, 0, BIG),
	UINT(u.run.cache_total, 0, BIG),
};
static MAP(run_map, T, errand__job__run__descriptor, run_fields, NULL);

static const struct field input_end_fields[] = {
	BOOL(u.lost),
};
static MAP(input_end_map, T, errand__job__input_end__descriptor,
    input_end_fields, NULL);

static const struct field input_at_fields[] = {
	UINT(u.offset, 0, BIG),
};
static MAP(input_at_map, T, errand__job__input_at__descriptor, input_at_fields,
    NULL);

static const struct field window_fields[] = {
	UINT(u.window.rows, 0, UINT16_MAX),
	UINT(u.window.cols, 0, UINT16_MAX),
};
static MAP(window_map, T, errand__job__window__descriptor, window_fields,
    NULL);

#define N(name) ERRAND__JOB__MSG__OP_##name
#define ROW(op, map) { JOBC_##op, 0, 0, N(op), &map }

static const struct row rows[] = {
	ROW(HELLO, hello_map),
	ROW(MAP, empty_map),
	ROW(MAPPED, empty_map),
	ROW(PLACE, empty_map),
	ROW(PLACED, empty_map),
	ROW(GO, empty_map),
	ROW(STARTED, started_map),
	ROW(LOG, grew_map),
	ROW(LOGACK, empty_map),
	ROW(SIGNAL, signal_map),
	ROW(ENDED, empty_map),
	ROW(RESULT, jobc_result_map),
	ROW(STORE, empty_map),
	ROW(READY, empty_map),
	ROW(RUN, run_map),
	ROW(INPUT, empty_map),
	ROW(INPUT_END, input_end_map),
	ROW(INPUT_ASK, empty_map),
	ROW(INPUT_AT, input_at_map),
	ROW(WINDOW, window_map),
};

const struct edge job_edge = {
	.desc = &errand__job__msg__descriptor,
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
job_msg_pack(const struct job_msg *m, uint8_t *buf, size_t cap)
{
	return (edge_pack(&job_edge, m, buf, cap));
}

int
job_msg_parse(const uint8_t *buf, size_t len, struct job_msg *m)
{
	return (edge_parse(&job_edge, buf, len, m));
}
