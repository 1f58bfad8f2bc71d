/*
 * A tenant's file as text.  Memory only.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "config.h"

/* Limits that were given, one line each. */
static void
limits_text(FILE *f, const struct job_limits *l)
{
	fprintf(f, "limits {\n");
	if (l->cpus_milli != 0)
		fprintf(f, "\tcpus = \"%" PRIu32 ".%03" PRIu32 "\"\n",
		    l->cpus_milli / 1000, l->cpus_milli % 1000);
	if (l->memory != 0)
		fprintf(f, "\tmemory = \"%" PRIu64 "\"\n", l->memory);
	if (l->pids != 0)
		fprintf(f, "\tpids = %" PRIu32 "\n", l->pids);
	if (l->disk != 0)
		fprintf(f, "\tdisk = \"%" PRIu64 "\"\n", l->disk);
	if (l->runtime_us != 0)
		fprintf(f, "\truntime = \"%" PRIu64 "s\"\n",
		    l->runtime_us / 1000000);
	if (l->cpu_us != 0)
		fprintf(f, "\tcpu_time = \"%" PRIu64 "s\"\n",
		    l->cpu_us / 1000000);
	if (l->log_bytes != 0)
		fprintf(f, "\tlog = \"%" PRIu64 "\"\n", l->log_bytes);
	if (l->changes != 0)
		fprintf(f, "\tchanges = %" PRIu64 "\n", l->changes);
	fprintf(f, "}\n");
}

static void
keep_text(FILE *f, const struct keep_conf *k)
{
	if (k->store != 0)
		fprintf(f, "store = \"%" PRIu64 "\"\n", k->store);
	if (k->objects != 0)
		fprintf(f, "objects = %" PRIu64 "\n", k->objects);
	if (k->jobs != 0)
		fprintf(f, "jobs = %" PRIu64 "\n", k->jobs);
	if (k->logs != 0)
		fprintf(f, "logs = \"%" PRIu64 "\"\n", k->logs);
	if (k->keep_us != 0)
		fprintf(f, "keep = \"%" PRIu64 "s\"\n", k->keep_us / 1000000);
	if (k->cache_size != 0)
		fprintf(f, "cache_size = \"%" PRIu64 "\"\n", k->cache_size);
	if (k->cache_total != 0)
		fprintf(f, "cache_total = \"%" PRIu64 "\"\n",
		    k->cache_total);
}

char *
config_tenant_text(const struct tenant_conf *tc, size_t *len)
{
	char *text = NULL;
	uint32_t i;
	FILE *f;

	if ((f = open_memstream(&text, len)) == NULL)
		return (NULL);
	fprintf(f, "# tenant %s\n", tc->name);
	fprintf(f, "id = %" PRIu32 "\nhost_uid = %" PRIu32 "\nuids = {",
	    tc->id, tc->host_uid);
	for (i = 0; i < tc->nuids; i++)
		fprintf(f, "%s%" PRIu32, i == 0 ? "" : ", ", tc->uids[i]);
	fprintf(f, "}\n");
	if (tc->image_uids.first != 0)
		fprintf(f, "image_uids = \"%" PRIu32 "-%" PRIu32 "\"\n",
		    tc->image_uids.first, tc->image_uids.last);
	if (tc->slots != 0)
		fprintf(f, "slots = %" PRIu32 "\n", tc->slots);
	if (tc->net_host)
		fprintf(f, "net = host\n");
	keep_text(f, &tc->keep);
	if (tc->automatic)
		fprintf(f, "automatic = true\n");
	limits_text(f, &tc->limits);
	if (fclose(f) != 0) {
		free(text);
		return (NULL);
	}
	return (text);
}
