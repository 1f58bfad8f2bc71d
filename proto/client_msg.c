/*
 * Messages between client and host, as maps for edge*.c.  Memory only;
 * generated types stay in here.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/frame.h"
#include "proto/client_msg.h"
#include "proto/convert.h"
#include "proto/edge.h"
#include "client.pb-c.h"

#define T struct client_hello
static const struct field hello_fields[] = {
	UINT(proto_min, 1, UINT32_MAX),
	UINT(proto_max, 1, UINT32_MAX),
	NAME(software, 0),
	TENANT(tenant, 0),
	BLOB(host_key, 0),
	TEXT(host),
	UINT(clock_us, 0, BIG),
};

static int
hello_check(const void *p)
{
	const struct client_hello *h = p;

	return (h->proto_min <= h->proto_max ? 0 : -1);
}
MAP(client_hello_map, T, errand__client__hello__descriptor, hello_fields,
    hello_check);
#undef T

#define T struct client_open

static MAP_EMPTY(open_empty_map, T, errand__client__empty__descriptor);

static const struct field submit_fields[] = {
	SUB(submit, 1, &submit_map),
};

static int
open_submit_check(const void *p)
{
	return (submit_check(&((const struct client_open *)p)->submit));
}
static MAP(open_submit_map, T, errand__client__submit__descriptor,
    submit_fields, open_submit_check);

static const struct field job_fields[] = {
	NAME(job, 1),
};
static MAP(open_job_map, T, errand__client__job__descriptor, job_fields, NULL);

static const struct field attach_fields[] = {
	NAME(job, 1),
	UINT(offset, 0, BIG),
	BOOL(follow),
};
static MAP(attach_map, T, errand__client__attach__descriptor, attach_fields,
    NULL);

static const struct field list_fields[] = {
	BOOL(all),
	UINT(limit, 0, LIMIT_LIST_JOBS),
};
static MAP(list_map, T, errand__client__list__descriptor, list_fields, NULL);

static const struct field kill_fields[] = {
	NAME(job, 1),
	UINT(signal, 0, 64),
	BOOL(no_wait),
};
static MAP(kill_map, T, errand__client__kill__descriptor, kill_fields, NULL);

static const struct field get_fields[] = {
	NAME(job, 0),
};
static MAP(get_map, T, errand__client__get__descriptor, get_fields, NULL);

static const struct field admin_fields[] = {
	UINT(admin, SNAP_ADMIN_STATUS, SNAP_ADMIN__MAX - 1),
	SUB(tenant, 0, &tenant_info_map),
	SUB(cache, 0, &cache_info_map),
};

static int
admin_check(const void *p)
{
	const struct client_open *o = p;

	return (admin_tenant_check(o->admin, &o->tenant));
}
static MAP(admin_map, T, errand__client__admin__descriptor, admin_fields,
    admin_check);

static const struct field care_fields[] = {
	UINT(task, CARE_STAT, CARE_BACKUP),
};
static MAP(care_ask_map, T, errand__client__care__descriptor, care_fields,
    NULL);

static const struct field input_fields[] = {
	NAME(job, 1),
	BOOL(take),
};
static MAP(input_map, T, errand__client__input__descriptor, input_fields,
    NULL);

static const struct field window_fields[] = {
	NAME(job, 1),
	UINT(rows, 0, UINT16_MAX),
	UINT(cols, 0, UINT16_MAX),
};
static MAP(window_map, T, errand__client__window__descriptor, window_fields,
    NULL);

#define N(name) ERRAND__CLIENT__OPEN__VERB_##name
#define ROW(verb, map) { CLIENT_##verb, 0, 0, N(verb), &map }

static const struct row open_rows[] = {
	ROW(UPLOAD, open_empty_map),
	ROW(SUBMIT, open_submit_map),
	ROW(ATTACH, attach_map),
	ROW(WAIT, open_job_map),
	ROW(STATUS, open_job_map),
	ROW(LIST, list_map),
	ROW(KILL, kill_map),
	ROW(GET, get_map),
	ROW(RECEIPT, open_job_map),
	ROW(INFO, open_empty_map),
	ROW(ADMIN, admin_map),
	ROW(CARE, care_ask_map),
	ROW(INPUT, input_map),
	ROW(WINDOW, window_map),
	ROW(CHANGES, open_job_map),
};

const struct edge open_edge = {
	.desc = &errand__client__open__descriptor,
	.rows = open_rows,
	.n = sizeof(open_rows) / sizeof(open_rows[0]),
	.size = sizeof(T),
	.op_at = offsetof(T, verb),
	.id_at = EDGE_NONE,
	.reply_at = EDGE_NONE,
	.max = FRAME_BODY_MAX,
	.memory = EDGE_MEMORY,
};
#undef N
#undef ROW
#undef T

#define T struct client_reply

static const struct field count_fields[] = {
	UINT(objects, 0, BIG),
	UINT(bytes, 0, BIG),
};
static MAP(count_map, T, errand__client__count__descriptor, count_fields,
    NULL);

static const struct field offset_fields[] = {
	UINT(offset, 0, BIG),
};
static MAP(offset_map, T, errand__client__offset__descriptor, offset_fields,
    NULL);

static const struct field accepted_fields[] = {
	BOOL(existed),
	UINT(offset, 0, BIG),
	SUB(record, 1, &record_map),
};
static MAP(accepted_map, T, errand__client__accepted__descriptor,
    accepted_fields, NULL);

static const struct field state_fields[] = {
	UINT(offset, 0, BIG),
	SUB(record, 1, &record_map),
};
static MAP(state_map, T, errand__client__job_state__descriptor, state_fields,
    NULL);

static const struct field info_fields[] = {
	SUB(limits, 0, &limits_map),
	UINT(cpus, 0, UINT32_MAX),
	UINT(memory, 0, BIG),
	BOOL(net_host),
	SUB_HAS(used, has_used, &used_map),
	SUB(quota, 0, &used_map),
	BOOL(disk_soft),
	ARRAY(images, nimages, IMAGES_MAX, &image_map),
	BOOL(disk_may),
	BOOL(cpu_time_may),
};
static MAP(info_map, T, errand__client__info__descriptor, info_fields, NULL);

static const struct field admin_reply_fields[] = {
	UINT(admin, SNAP_ADMIN_STATUS, SNAP_ADMIN__MAX - 1),
	OWN(status, &admin_status_map),
	OWN_ARRAY(tenants, ntenants, LIMIT_TENANTS, &tenant_info_map),
	OWN_ARRAY(caches, ncaches, LIMIT_CACHE_LIST, &cache_info_map),
};
static MAP(admin_reply_map, T, errand__client__admin_reply__descriptor,
    admin_reply_fields, NULL);

static const struct field care_reply_fields[] = {
	OWN(care, &care_map),
};
static MAP(care_reply_map, T, errand__client__care_reply__descriptor,
    care_reply_fields, NULL);

#define N(name) ERRAND__CLIENT__REPLY__KIND_##name

static const struct row reply_rows[] = {
	{ CLIENT_UPLOADED, 0, 0, N(UPLOADED), &count_map },
	{ CLIENT_NEED, 0, 0, N(NEED), &count_map },
	{ CLIENT_ACCEPTED, 0, 0, N(ACCEPTED), &accepted_map },
	{ CLIENT_JOB, 0, 0, N(JOB), &state_map },
	{ CLIENT_RESULT, 0, 0, N(RESULT), &state_map },
	{ CLIENT_DONE, 0, 0, N(DONE), &count_map },
	{ CLIENT_INFO_REPLY, 0, 0, N(INFO), &info_map },
	{ CLIENT_ADMIN_REPLY, 0, 0, N(ADMIN), &admin_reply_map },
	{ CLIENT_CARE_REPLY, 0, 0, N(CARE), &care_reply_map },
	{ CLIENT_INPUT_REPLY, 0, 0, N(INPUT), &offset_map },
};

/* Some thousand tenants, of some hundred bytes once unpacked. */
const struct edge reply_edge = {
	.desc = &errand__client__reply__descriptor,
	.rows = reply_rows,
	.n = sizeof(reply_rows) / sizeof(reply_rows[0]),
	.size = sizeof(T),
	.op_at = offsetof(T, kind),
	.id_at = EDGE_NONE,
	.reply_at = EDGE_NONE,
	.max = FRAME_BODY_MAX,
	.memory = 4 * EDGE_MEMORY,
};
#undef T

ssize_t
client_hello_pack(const struct client_hello *h, uint8_t *buf, size_t cap)
{
	return (map_pack(&client_hello_map, h, buf, cap, FRAME_BODY_MAX));
}

int
client_hello_parse(const uint8_t *buf, size_t len, struct client_hello *h)
{
	return (map_parse(&client_hello_map, buf, len, h, FRAME_BODY_MAX));
}

ssize_t
client_open_pack(const struct client_open *o, uint8_t *buf, size_t cap)
{
	return (edge_pack(&open_edge, o, buf, cap));
}

int
client_open_parse(const uint8_t *buf, size_t len, struct client_open *o)
{
	return (edge_parse(&open_edge, buf, len, o));
}

ssize_t
client_reply_pack(const struct client_reply *r, uint8_t *buf, size_t cap)
{
	return (edge_pack(&reply_edge, r, buf, cap));
}

int
client_reply_parse(const uint8_t *buf, size_t len, struct client_reply *r)
{
	if (edge_parse(&reply_edge, buf, len, r) == -1) {
		client_reply_done(r);
		return (-1);
	}
	return (0);
}

void
client_reply_done(struct client_reply *r)
{
	free(r->status);
	free(r->tenants);
	free(r->caches);
	free(r->care);
	r->caches = NULL;
	r->ncaches = 0;
	r->care = NULL;
	r->status = NULL;
	r->tenants = NULL;
	r->ntenants = 0;
}

ssize_t
err_pack(const struct err *e, uint8_t *buf, size_t cap)
{
	return (map_pack(&err_map, e, buf, cap, FRAME_BODY_MAX));
}

int
err_parse(const uint8_t *buf, size_t len, struct err *e)
{
	return (map_parse(&err_map, buf, len, e, FRAME_BODY_MAX));
}

int
err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	memset(e, 0, sizeof(*e));
	e->code = (uint16_t)code;
	e->retry = code == ERR_BUSY;
	va_start(ap, fmt);
	(void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	edge_mend(e->text);
	return (-1);
}
