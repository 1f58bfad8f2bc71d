/*
 * What the values of errandd.conf and of tenants' files can be, wherever they
 * come from: a file, errandctl or a job that asks.  Memory only.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "config_range.h"
#include "disk_image.h"

#define SECOND  UINT64_C(1000000)
#define YEAR    (366 * 86400 * SECOND)
#define MIB     (UINT64_C(1) << 20)

enum unit { ONES, MILLI, BYTES, US };

static const struct range {
	const char *name;
	enum unit unit;
	uint64_t min, max;
} ranges[] = {
	{ "slots", ONES, 1, 1024 },
	{ "idle_workers", ONES, 1, 64 },
	{ "idle_sandboxes", ONES, 0, 4096 },
	{ "tenant_sandboxes", ONES, 1, 4096 },
	{ "pids", ONES, 4, 4194304 },
	{ "changes", ONES, 1, 100000000 },
	{ "id", ONES, 1, 65536 },
	{ "host_uid", ONES, 1, UINT32_MAX - 1 },
	{ "uids", ONES, 0, UINT32_MAX - 1 },
	{ "objects", ONES, 0, UINT64_C(1000000000000) },
	{ "jobs", ONES, 0, 1000000000 },
	{ "cpus", MILLI, 10, 1024000 },
	/* The processes that hold a sandbox need most of the least. */
	{ "memory", BYTES, MIB, UINT64_C(1) << 60 },
	{ "disk", BYTES, DISK_MIN, DISK_MAX },
	{ "log", BYTES, 1, UINT64_C(1) << 60 },
	{ "store", BYTES, 1, UINT64_C(1) << 60 },
	{ "logs", BYTES, 1, UINT64_C(1) << 60 },
	{ "cache_size", BYTES, 1, UINT64_C(1) << 60 },
	{ "cache_total", BYTES, 1, UINT64_C(1) << 60 },
	/* Files give them in whole seconds. */
	{ "runtime", US, SECOND, YEAR },
	{ "cpu_time", US, SECOND, YEAR },
	{ "keep", US, SECOND, YEAR },
	{ "stop_timeout", US, SECOND, YEAR },
	{ "client_lease", US, SECOND, YEAR },
};

/* As it may be written: "512G", "366d", "1.500", "4". */
static const char *
written(enum unit unit, uint64_t v, char *out, size_t size)
{
	static const uint64_t step[] = { 60, 60, 24 };
	const char *scale = unit == BYTES ? " KMGTP" : "smhd";
	unsigned int i;

	if (unit == ONES || v == 0)
		snprintf(out, size, "%" PRIu64, v);
	else if (unit == MILLI)
		snprintf(out, size, "%" PRIu64 ".%03u", v / 1000,
		    (unsigned int)(v % 1000));
	else if (unit == BYTES) {
		for (i = 0; i < 5 && v % 1024 == 0; i++)
			v /= 1024;
		snprintf(out, size, "%" PRIu64 "%.*s", v, i > 0, scale + i);
	} else {
		v /= SECOND;
		for (i = 0; i < 3 && v != 0 && v % step[i] == 0; i++)
			v /= step[i];
		snprintf(out, size, "%" PRIu64 "%c", v, scale[i]);
	}
	return (out);
}

int
config_range(const char *name, const char *label, uint64_t v, char *why,
    size_t size)
{
	char is[32], min[32], max[32];
	const struct range *r;
	size_t i;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		r = &ranges[i];
		if (strcmp(r->name, name) != 0)
			continue;
		if (v >= r->min && v <= r->max)
			return (0);
		snprintf(why, size, "%s %s is out of range; write %s to %s",
		    label, written(r->unit, v, is, sizeof(is)),
		    written(r->unit, r->min, min, sizeof(min)),
		    written(r->unit, r->max, max, sizeof(max)));
		return (-1);
	}
	return (0);
}

int
config_range_tenant(const struct tenant_conf *tc, char *why, size_t size)
{
	const struct {
		const char *name, *option;
		uint64_t v;
	} all[] = {
		{ "slots", "--slots", tc->slots },
		{ "store", "--store", tc->keep.store },
		{ "objects", "--objects", tc->keep.objects },
		{ "jobs", "--jobs", tc->keep.jobs },
		{ "logs", "--logs", tc->keep.logs },
		{ "keep", "--keep", tc->keep.keep_us },
		{ "cache_size", "--cache-size", tc->keep.cache_size },
		{ "cache_total", "--cache-total", tc->keep.cache_total },
		{ "cpus", "--cpus", tc->limits.cpus_milli },
		{ "memory", "--memory", tc->limits.memory },
		{ "pids", "--pids", tc->limits.pids },
		{ "disk", "--disk", tc->limits.disk },
		{ "runtime", "--timeout", tc->limits.runtime_us },
		{ "cpu_time", "--cpu-time", tc->limits.cpu_us },
		{ "log", "--log", tc->limits.log_bytes },
		{ "changes", "--changes", tc->limits.changes },
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].v != 0 && config_range(all[i].name, all[i].option,
		    all[i].v, why, size) == -1)
			return (-1);
	for (i = 0; i < tc->nuids; i++)
		if (config_range("uids", "--uid", tc->uids[i], why,
		    size) == -1)
			return (-1);
	return (0);
}
