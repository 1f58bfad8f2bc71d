/*
 * errandctl tenant list|show|add|set.
 */
#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "json.h"
#include "lib/text.h"
#include "out.h"

/* What an option's argument is, and where it goes. */
enum kind { USER, NUMBER, COUNT, CPUS, SIZE, DURATION, NET };

static const char *const wanted[] = {
	[USER] = "there is no such user here; write a name, or a number",
	[NUMBER] = "write a whole number",
	[COUNT] = "write a whole number",
	[CPUS] = "write a number of processors, for instance 2 or 1.5",
	[SIZE] = "write a size, for instance 512M or 2G",
	[DURATION] = "write a duration, for instance 90s, 10m or 2h",
	[NET] = "write none or host",
};

/* A member's place, which does not compile if it is of another width. */
#define AT(member, width) (offsetof(struct tenant_info, member) + \
	0 * sizeof(char[sizeof(((struct tenant_info *)0)->member) == \
	(width) ? 1 : -1]))
#define AT32(member)    AT(member, 4)
#define AT64(member)    AT(member, 8)

static const struct opt {
	const char *name;
	uint32_t field;         /* TENANT_...: for a SET */
	enum kind kind;
	size_t at;
} opts[] = {
	{ "uid", TENANT_UIDS, USER, 0 },
	{ "slots", TENANT_SLOTS, NUMBER, AT32(slots) },
	{ "cpus", TENANT_CPUS, CPUS, AT32(limits.cpus_milli) },
	{ "memory", TENANT_MEMORY, SIZE, AT64(limits.memory) },
	{ "pids", TENANT_PIDS, NUMBER, AT32(limits.pids) },
	{ "disk", TENANT_DISK, SIZE, AT64(limits.disk) },
	{ "store", TENANT_STORE, SIZE, AT64(store_bytes) },
	{ "objects", TENANT_OBJECTS, COUNT, AT64(store_objects) },
	{ "jobs", TENANT_JOBS, COUNT, AT64(jobs) },
	{ "logs", TENANT_LOGS, SIZE, AT64(log_bytes) },
	{ "keep", TENANT_KEEP, DURATION, AT64(keep_us) },
	{ "cache-size", TENANT_CACHE_SIZE, SIZE, AT64(cache_size) },
	{ "cache-total", TENANT_CACHE_TOTAL, SIZE, AT64(cache_total) },
	{ "timeout", TENANT_TIMEOUT, DURATION, AT64(limits.runtime_us) },
	{ "cpu-time", TENANT_CPU_TIME, DURATION, AT64(limits.cpu_us) },
	{ "log", TENANT_LOG, SIZE, AT64(limits.log_bytes) },
	{ "changes", TENANT_CHANGES, COUNT, AT64(limits.changes) },
	{ "net", TENANT_NET, NET, 0 },
};
#define NOPTS   (sizeof(opts) / sizeof(opts[0]))
#define USERS_MAX (sizeof(((struct tenant_info *)0)->uids) / sizeof(uint32_t))
#define FIRST   256             /* what getopt says for the first of them */

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
	    ", made by errandd" : "");
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
take(struct tenant_info *t, const struct opt *opt, const char *arg)
{
	void *to = (uint8_t *)t + opt->at;

	switch (opt->kind) {
	case USER:
		return (add_uid(t, arg));
	case NUMBER:
		return (number(arg, to));
	case COUNT:
		return (count(arg, to));
	case CPUS:
		return (text_cpus(arg, to));
	case SIZE:
		return (text_size(arg, to));
	case DURATION:
		return (text_duration(arg, to));
	case NET:
		t->net_host = strcmp(arg, "host") == 0;
		return (t->net_host || strcmp(arg, "none") == 0 ? 0 : -1);
	}
	return (-1);
}

/* The options of ${verb}; after them is ${optind}.  0, or what to exit with. */
static int
options(const char *verb, int argc, char **argv, struct tenant_info *t)
{
	struct option longs[NOPTS + 1] = { { 0 } };
	const struct opt *opt;
	size_t i;
	int c;

	for (i = 0; i < NOPTS; i++) {
		longs[i].name = opts[i].name;
		longs[i].has_arg = required_argument;
		longs[i].val = FIRST + (int)i;
	}
	opterr = 0;
	optind = 0;     /* afresh: main took its own with "+" */
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c < FIRST || strcmp(verb, "show") == 0)
			return (out_usage("tenant %s: %s: no such option, or "
			    "it lacks its value", verb, argv[optind - 1]));
		opt = &opts[c - FIRST];
		if (opt->kind == USER && t->nuids == USERS_MAX)
			return (out_usage("tenant %s: --%s %s: a tenant has "
			    "%zu users at most; make another tenant", verb,
			    opt->name, optarg, USERS_MAX));
		if (take(t, opt, optarg) == -1)
			return (out_usage("tenant %s: --%s %s: %s", verb,
			    opt->name, optarg, wanted[opt->kind]));
		t->given |= opt->field;
	}
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
	int rc;

	o->admin = strcmp(argv[0], "add") == 0 ? SNAP_ADMIN_TENANT_ADD :
	    strcmp(argv[0], "set") == 0 ? SNAP_ADMIN_TENANT_SET :
	    SNAP_ADMIN_TENANT_SHOW;
	if ((rc = options(argv[0], argc, argv, &o->tenant)) != 0)
		return (rc);
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
		    "NAME or tenant set NAME (to remove one: remove its file "
		    "in tenants_dir and send errandd a HUP)"));
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
