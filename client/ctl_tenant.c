/*
 * errandctl tenant list|show|add|set.
 */
#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "json.h"
#include "lib/text.h"
#include "out.h"

enum {
	OPT_UID = 256, OPT_SLOTS, OPT_CPUS, OPT_MEMORY, OPT_PIDS, OPT_DISK,
	OPT_STORE, OPT_OBJECTS, OPT_JOBS, OPT_LOGS, OPT_KEEP,
	OPT_CACHE_SIZE, OPT_CACHE_TOTAL, OPT_TIMEOUT, OPT_CPU_TIME, OPT_LOG,
	OPT_CHANGES, OPT_NET
};

static const struct option longs[] = {
	{ "uid", required_argument, NULL, OPT_UID },
	{ "slots", required_argument, NULL, OPT_SLOTS },
	{ "cpus", required_argument, NULL, OPT_CPUS },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "pids", required_argument, NULL, OPT_PIDS },
	{ "disk", required_argument, NULL, OPT_DISK },
	{ "store", required_argument, NULL, OPT_STORE },
	{ "objects", required_argument, NULL, OPT_OBJECTS },
	{ "jobs", required_argument, NULL, OPT_JOBS },
	{ "logs", required_argument, NULL, OPT_LOGS },
	{ "keep", required_argument, NULL, OPT_KEEP },
	{ "cache-size", required_argument, NULL, OPT_CACHE_SIZE },
	{ "cache-total", required_argument, NULL, OPT_CACHE_TOTAL },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "cpu-time", required_argument, NULL, OPT_CPU_TIME },
	{ "log", required_argument, NULL, OPT_LOG },
	{ "changes", required_argument, NULL, OPT_CHANGES },
	{ "net", required_argument, NULL, OPT_NET },
	{ NULL, 0, NULL, 0 }
};

static json_t *
tenant_json(const struct tenant_info *t)
{
	json_t *o = json_object(), *uids = json_array();
	uint32_t i;

	for (i = 0; i < t->nuids; i++)
		json_array_append_new(uids, json_integer(t->uids[i]));
	json_object_set_new(o, "name", json_string(t->name));
	json_object_set_new(o, "id", json_integer(t->id));
	json_object_set_new(o, "uids", uids);
	json_object_set_new(o, "host_uid", json_integer(t->host_uid));
	json_object_set_new(o, "slots", json_integer(t->slots));
	json_object_set_new(o, "net", json_string(t->net_host ? "host" :
	    "none"));
	json_object_set_new(o, "automatic", json_boolean(t->automatic));
	json_object_set_new(o, "limits", json_limits(&t->limits));
	json_object_set_new(o, "store_bytes",
	    json_integer((json_int_t)t->store_bytes));
	json_object_set_new(o, "store_objects",
	    json_integer((json_int_t)t->store_objects));
	json_object_set_new(o, "jobs", json_integer((json_int_t)t->jobs));
	json_object_set_new(o, "log_bytes",
	    json_integer((json_int_t)t->log_bytes));
	json_object_set_new(o, "keep_us", json_integer((json_int_t)t->keep_us));
	json_object_set_new(o, "cache_size",
	    json_integer((json_int_t)t->cache_size));
	json_object_set_new(o, "cache_total",
	    json_integer((json_int_t)t->cache_total));
	json_object_set_new(o, "used", t->has_used ? json_used(&t->used) :
	    json_null());
	json_object_set_new(o, "running", json_integer(t->running));
	json_object_set_new(o, "queued", json_integer(t->queued));
	return (o);
}

static void
show_used(const struct tenant_info *t)
{
	const struct tenant_used quota = {
		t->store_bytes, t->store_objects, t->jobs, t->log_bytes
	};

	if (t->has_used) {
		printf("%16s uses", "");
		out_used(&t->used, &quota);
	} else {
		printf("%16s may keep", "");
		out_keep(&quota);
	}
	if (t->keep_us != 0)
		printf("%16s ended jobs are kept for %s\n", "",
		    text_us(t->keep_us));
	printf("%16s caches (--cache) hold %s each", "",
	    text_bytes(t->cache_size));
	printf(", %s together, at most\n", text_bytes(t->cache_total));
}

static void
show(const struct tenant_info *t, int one)
{
	uint32_t i;

	printf("%-16s uid", t->name);
	for (i = 0; i < t->nuids; i++)
		printf("%c%u", i == 0 ? ' ' : ',', t->uids[i]);
	printf("%s, runs as %u, network %s, %u running, %u queued%s\n",
	    t->nuids == 0 ? " none" : "", t->host_uid, t->net_host ?
	    "none or host" : "none", t->running, t->queued, t->automatic ?
	    ", made by itself" : "");
	if (one) {
		printf("%16s at most", "");
		if (t->slots != 0)
			printf(" %u slots,", t->slots);
		out_limits(&t->limits);
		show_used(t);
	}
}

static int
number(const char *text, uint32_t *out)
{
	unsigned long v;
	char *end;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 ||
	    v > UINT32_MAX)
		return (-1);
	*out = (uint32_t)v;
	return (0);
}

/* What was wrong with an option's argument, and what to write. */
static int
bad_argument(const char *verb, int opt, const char *arg)
{
	const char *how = opt == OPT_CPUS ? "write a number of processors, "
	    "for instance 2 or 1.5" : opt == OPT_KEEP || opt == OPT_TIMEOUT ||
	    opt == OPT_CPU_TIME ? "write a duration, for instance 90s, 10m or 2h" :
	    opt == OPT_NET ? "write none or host" : opt == OPT_UID ?
	    "there is no such user, or there are too many" :
	    opt == OPT_MEMORY || opt == OPT_DISK || opt == OPT_STORE ||
	    opt == OPT_LOGS || opt == OPT_LOG || opt == OPT_CACHE_SIZE ||
	    opt == OPT_CACHE_TOTAL ? "write a size, for instance 512M or 2G" :
	    "write a whole number";
	size_t i;

	for (i = 0; longs[i].name != NULL; i++)
		if (longs[i].val == opt)
			return (out_usage("tenant %s: --%s %s: %s", verb,
			    longs[i].name, arg, how));
	return (out_usage("tenant %s: that option is not valid here", verb));
}

/* A number, or the name of a local user. */
static int
add_uid(struct tenant_info *t, const char *arg)
{
	const struct passwd *pw;
	uint32_t uid;

	if (number(arg, &uid) == -1) {
		if ((pw = getpwnam(arg)) == NULL)
			return (-1);
		uid = pw->pw_uid;
	}
	if (t->nuids == sizeof(t->uids) / sizeof(t->uids[0]))
		return (-1);
	t->uids[t->nuids++] = uid;
	return (0);
}

/* A number that may be large. */
static int
count(const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return (*text < '0' || *text > '9' || *end != '\0' || errno != 0 ||
	    *out > INT64_MAX ? -1 : 0);
}

static int
take_option(struct tenant_info *t, int opt, const char *arg)
{
	switch (opt) {
	case OPT_UID:
		return (add_uid(t, arg));
	case OPT_SLOTS:
		return (number(arg, &t->slots));
	case OPT_CPUS:
		return (text_cpus(arg, &t->limits.cpus_milli));
	case OPT_MEMORY:
		return (text_size(arg, &t->limits.memory));
	case OPT_PIDS:
		return (number(arg, &t->limits.pids));
	case OPT_DISK:
		return (text_size(arg, &t->limits.disk));
	case OPT_STORE:
		return (text_size(arg, &t->store_bytes));
	case OPT_OBJECTS:
		return (count(arg, &t->store_objects));
	case OPT_JOBS:
		return (count(arg, &t->jobs));
	case OPT_LOGS:
		return (text_size(arg, &t->log_bytes));
	case OPT_KEEP:
		return (text_duration(arg, &t->keep_us));
	case OPT_CACHE_SIZE:
		return (text_size(arg, &t->cache_size));
	case OPT_CACHE_TOTAL:
		return (text_size(arg, &t->cache_total));
	case OPT_TIMEOUT:
		return (text_duration(arg, &t->limits.runtime_us));
	case OPT_CPU_TIME:
		return (text_duration(arg, &t->limits.cpu_us));
	case OPT_LOG:
		return (text_size(arg, &t->limits.log_bytes));
	case OPT_CHANGES:
		return (count(arg, &t->limits.changes));
	case OPT_NET:
		t->net_host = strcmp(arg, "host") == 0;
		return (t->net_host || strcmp(arg, "none") == 0 ? 0 : -1);
	default:
		return (-1);
	}
}

/* And which field it is, for a SET. */
static int
set_option(struct tenant_info *t, int opt, const char *arg)
{
	static const uint32_t fields[] = {
		[OPT_UID - OPT_UID] = TENANT_UIDS,
		[OPT_SLOTS - OPT_UID] = TENANT_SLOTS,
		[OPT_CPUS - OPT_UID] = TENANT_CPUS,
		[OPT_MEMORY - OPT_UID] = TENANT_MEMORY,
		[OPT_PIDS - OPT_UID] = TENANT_PIDS,
		[OPT_DISK - OPT_UID] = TENANT_DISK,
		[OPT_STORE - OPT_UID] = TENANT_STORE,
		[OPT_OBJECTS - OPT_UID] = TENANT_OBJECTS,
		[OPT_JOBS - OPT_UID] = TENANT_JOBS,
		[OPT_LOGS - OPT_UID] = TENANT_LOGS,
		[OPT_KEEP - OPT_UID] = TENANT_KEEP,
		[OPT_CACHE_SIZE - OPT_UID] = TENANT_CACHE_SIZE,
		[OPT_CACHE_TOTAL - OPT_UID] = TENANT_CACHE_TOTAL,
		[OPT_TIMEOUT - OPT_UID] = TENANT_TIMEOUT,
		[OPT_CPU_TIME - OPT_UID] = TENANT_CPU_TIME,
		[OPT_LOG - OPT_UID] = TENANT_LOG,
		[OPT_CHANGES - OPT_UID] = TENANT_CHANGES,
		[OPT_NET - OPT_UID] = TENANT_NET,
	};

	if (take_option(t, opt, arg) == -1)
		return (-1);
	t->given |= fields[opt - OPT_UID];
	return (0);
}

static int
call(struct session *s, struct client_open *o, struct client_reply *r)
{
	uint32_t i;
	int rc;

	o->verb = CLIENT_ADMIN;
	if ((rc = session_call(s, o, r)) != 0)
		return (rc);
	for (i = 0; i < r->ntenants; i++) {
		if (s->json)
			(void)json_print(tenant_json(&r->tenants[i]),
			    STDOUT_FILENO);
		else
			show(&r->tenants[i], o->admin !=
			    SNAP_ADMIN_TENANT_LIST);
	}
	return (0);
}

static int
list(struct session *s, struct client_open *o, struct client_reply *r)
{
	uint32_t n;
	int rc;

	o->admin = SNAP_ADMIN_TENANT_LIST;
	do {
		if ((rc = call(s, o, r)) != 0)
			return (rc);
		n = r->ntenants;
		if (n > 0)      /* go on after the last one seen */
			o->tenant.id = r->tenants[n - 1].id;
		client_reply_done(r);
	} while (n > 0);
	return (0);
}

static int
named(struct session *s, int argc, char **argv, struct client_open *o,
    struct client_reply *r)
{
	int c, rc;

	o->admin = strcmp(argv[0], "add") == 0 ? SNAP_ADMIN_TENANT_ADD :
	    strcmp(argv[0], "set") == 0 ? SNAP_ADMIN_TENANT_SET :
	    SNAP_ADMIN_TENANT_SHOW;
	optind = 0;     /* afresh: main took its own with "+" */
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		if (o->admin == SNAP_ADMIN_TENANT_SHOW || c == '?')
			return (out_usage("tenant %s: that option is not "
			    "valid here", argv[0]));
		else if (set_option(&o->tenant, c, optarg) == -1)
			return (bad_argument(argv[0], c, optarg));
	if (argc - optind != 1)
		return (out_usage("tenant %s needs one NAME", argv[0]));
	if (!text_tenant_valid(argv[optind]))
		return (out_usage("%s: a tenant's name is 1 to %d of a-z, 0-9, "
		    "_ and -, and begins with a letter or _", argv[optind],
		    TENANT_NAME_MAX));
	if (o->admin == SNAP_ADMIN_TENANT_SET && o->tenant.given == 0)
		return (out_usage("tenant set needs something to set: see "
		    "errandctl --help"));
	memcpy(o->tenant.name, argv[optind], strlen(argv[optind]) + 1);
	rc = call(s, o, r);
	if (rc == 0)
		client_reply_done(r);
	return (rc);
}

int
ctl_tenant(struct session *s, int argc, char **argv)
{
	struct client_reply *r;
	struct client_open *o;
	int rc = EXIT_OURS;

	if (argc < 2 || (strcmp(argv[1], "list") != 0 &&
	    strcmp(argv[1], "show") != 0 && strcmp(argv[1], "add") != 0 &&
	    strcmp(argv[1], "set") != 0))
		return (out_usage("tenant list, tenant show NAME, tenant add "
		    "NAME or tenant set NAME"));
	if (session_hello(s) == -1)
		return (EXIT_NO);
	o = calloc(1, sizeof(*o));
	r = calloc(1, sizeof(*r));
	if (o == NULL || r == NULL)
		goto done;
	if (strcmp(argv[1], "list") == 0)
		rc = argc == 2 ? list(s, o, r) :
		    out_usage("tenant list takes no arguments");
	else
		rc = named(s, argc - 1, argv + 1, o, r);
done:
	free(o);
	free(r);
	return (rc);
}
