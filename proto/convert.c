/*
 * Maps of the structures that several channels share: limits, usage, records,
 * receipts.  Memory only; the channels' own messages are in *_msg.c.
 */
#include <string.h>

#include "proto/convert.h"
#include "proto/edge.h"
#include "proto/job_types.h"
#include "proto/receipt.h"
#include "record.pb-c.h"

#define U32     UINT32_MAX
#define U64     UINT64_MAX
#define SIGNALS 64              /* the highest there is */

#define T struct err
static const struct field err_fields[] = {
	UINT(code, 0, ERR__MAX - 1),
	BOOL(retry),
	REF(ref, REF_ANY),
	TEXT(text),
};
#undef T
MAP(err_map, struct err, errand__record__err__descriptor, err_fields, NULL);

/* Any value: "no limit" is said with the highest. */
#define T struct job_limits
static const struct field limits_fields[] = {
	UINT(cpus_milli, 0, U32),
	UINT(pids, 0, U32),
	UINT(memory, 0, U64),
	UINT(disk, 0, U64),
	UINT(runtime_us, 0, U64),
	UINT(cpu_us, 0, U64),
	UINT(log_bytes, 0, U64),
	UINT(changes, 0, U64),
};
#undef T
MAP(limits_map, struct job_limits, errand__record__limits__descriptor,
    limits_fields, NULL);

#define T struct job_usage
static const struct field usage_fields[] = {
	UINT(cpu_us, 0, BIG),
	UINT(memory_peak, 0, BIG),
	UINT(oom_kills, 0, BIG),
	UINT(pids_peak, 0, BIG),
	UINT(disk_bytes, 0, BIG),
};
#undef T
MAP(usage_map, struct job_usage, errand__record__usage__descriptor,
    usage_fields, NULL);

#define T struct job_times
static const struct field times_fields[] = {
	UINT(submitted, 0, BIG),
	UINT(queued, 0, BIG),
	UINT(started, 0, BIG),
	UINT(ended, 0, BIG),
	UINT(settled, 0, BIG),
};
#undef T
MAP(times_map, struct job_times, errand__record__times__descriptor,
    times_fields, NULL);

#define T struct job_phases
static const struct field phases_fields[] = {
	UINT(negotiate, 0, BIG),
	UINT(ingest, 0, BIG),
	UINT(publish, 0, BIG),
	UINT(queue, 0, BIG),
	UINT(start, 0, BIG),
	UINT(run, 0, BIG),
	UINT(collect, 0, BIG),
	UINT(settle, 0, BIG),
};
#undef T
MAP(phases_map, struct job_phases, errand__record__phases__descriptor,
    phases_fields, NULL);

#define T struct job_log
static const struct field log_fields[] = {
	UINT(bytes, 0, BIG),
	UINT(stdout_bytes, 0, BIG),
	UINT(stderr_bytes, 0, BIG),
	BOOL(truncated),
	BOOL(complete),
	BLOB(digest, 0),
};
#undef T
MAP(log_map, struct job_log, errand__record__log__descriptor, log_fields,
    NULL);

#define T struct job_changes
static const struct field changes_fields[] = {
	UINT(count, 0, BIG),
	UINT(bytes, 0, BIG),
	BOOL(complete),
	REF(root, REF_NONE | REF_TREE),
	REF(list, REF_NONE | REF_CONTENT),
	UINT(list_bytes, 0, LIMIT_CHANGES_BYTES),
	BLOB(digest, 0),
	UINT(ignored, 0, BIG),
};
#undef T
MAP(changes_map, struct job_changes, errand__record__changes__descriptor,
    changes_fields, NULL);

#define T struct job_submit
static const struct field submit_fields[] = {
	BLOB(idem, 0),
	REF(root, REF_NONE | REF_TREE),
	REF(spec, REF_NONE | REF_CONTENT),
	UINT(spec_len, 0, LIMIT_SPEC),
	SUB(limits, 0, &limits_map),
	UINT(net, 0, JOB_NET_HOST),
	BOOL(as_root),
	BOOL(detach),
	UINT(tree_files, 0, BIG),
	UINT(tree_bytes, 0, BIG),
	UINT(shipped_objects, 0, BIG),
	UINT(shipped_bytes, 0, BIG),
	UINT(negotiate_us, 0, BIG),
	BOOL(input),
	BOOL(tty),
	UINT(rows, 0, UINT16_MAX),
	UINT(cols, 0, UINT16_MAX),
	NAME(image, 0),
};
#undef T
MAP(submit_map, struct job_submit, errand__record__submit__descriptor,
    submit_fields, NULL);

int
submit_check(const struct job_submit *s)
{
	static const uint8_t zero[sizeof(s->idem)];

	if (memcmp(s->idem, zero, sizeof(zero)) == 0 ||
	    s->spec.kind == OBJ_NONE || s->spec_len == 0)
		return (-1);
	return (0);
}

#define T struct job_image
static const struct field image_fields[] = {
	NAME(name, 1),
};
#undef T
MAP(image_map, struct job_image, errand__record__image__descriptor,
    image_fields, NULL);

#define T struct cache_use
static const struct field cache_use_fields[] = {
	NAME(name, 1),
	BOOL(restored),
	BOOL(saved),
	BOOL(unchanged),
	UINT(bytes, 0, BIG),
	TEXT(note),
};
#undef T
static MAP(cache_use_map, struct cache_use,
    errand__record__cache_use__descriptor, cache_use_fields, NULL);

#define T struct job_result
static const struct field result_fields[] = {
	BOOL(ran),
	UINT(exit_code, 0, 255),
	UINT(signal, 0, SIGNALS),
	UINT(limit, 0, JOB_LIMIT_CHANGES),
	SUB(err, 0, &err_map),
	UINT(started_us, 0, BIG),
	UINT(ended_us, 0, BIG),
	UINT(start_us, 0, BIG),
	UINT(run_us, 0, BIG),
	UINT(collect_us, 0, BIG),
	SUB(usage, 0, &usage_map),
	SUB(log, 0, &log_map),
	SUB(changes, 0, &changes_map),
	ARRAY(caches, ncaches, LIMIT_CACHES, &cache_use_map),
};
#undef T
MAP(result_map, struct job_result, errand__record__result__descriptor,
    result_fields, NULL);

#define T struct job_record
static const struct field record_fields[] = {
	JOB(id, 1),
	TENANT(tenant, 0),
	UINT(tenant_id, 0, U32),
	UINT(state, JOB_STAGED, JOB_LOST),
	SUB(reason, 0, &err_map),
	BOOL(ran),
	UINT(exit_code, 0, 255),
	UINT(signal, 0, SIGNALS),
	UINT(limit, 0, JOB_LIMIT_CHANGES),
	SUB(submit, 0, &submit_map),
	SUB(limits, 0, &limits_map),
	SUB(times, 0, &times_map),
	SUB(phases, 0, &phases_map),
	SUB(usage, 0, &usage_map),
	SUB(log, 0, &log_map),
	SUB(changes, 0, &changes_map),
	UINT(receipt_sequence, 0, BIG),
	BLOB(receipt_digest, 0),
	BOOL(cleanup),
	ARRAY(caches, ncaches, LIMIT_CACHES, &cache_use_map),
	BOOL(unknown),
};
#undef T
MAP(record_map, struct job_record, errand__record__job_record__descriptor,
    record_fields, NULL);

static int
receipt_check(const void *p)
{
	const struct receipt *r = p;

	return (submit_check(&r->submit));
}

#define T struct receipt
static const struct field receipt_fields[] = {
	JOB(job, 1),
	TENANT(tenant, 1),
	UINT(tenant_id, 0, U32),
	UINT(sequence, 1, BIG),
	BLOB(previous, 0),
	BLOB(host_key_id, 1),
	NAME(software, 0),
	UINT(state, JOB_EXITED, JOB_LOST),
	SUB(reason, 0, &err_map),
	SUB(submit, 1, &submit_map),
	SUB(limits, 0, &limits_map),
	SUB(times, 0, &times_map),
	SUB(phases, 0, &phases_map),
	BOOL(ran),
	UINT(exit_code, 0, 255),
	UINT(signal, 0, SIGNALS),
	UINT(limit, 0, JOB_LIMIT_CHANGES),
	SUB(usage, 0, &usage_map),
	SUB(log, 0, &log_map),
	SUB(changes, 0, &changes_map),
	BOOL(cleanup),
	ARRAY(caches, ncaches, LIMIT_CACHES, &cache_use_map),
	BOOL(unknown),
};
#undef T
MAP(receipt_map, struct receipt, errand__record__receipt__descriptor,
    receipt_fields, receipt_check);
