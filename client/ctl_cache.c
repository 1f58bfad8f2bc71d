/*
 * errandctl cache list|rm.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "json.h"
#include "lib/cachedir.h"
#include "lib/text.h"
#include "out.h"

struct call {
	struct session *s;
	struct client_open o;
	struct client_reply r;
	uint64_t told;
};

static json_t *
cache_json(const char *tenant, const struct cache_info *ci)
{
	json_t *o = json_object();

	json_object_set_new(o, "tenant", json_string(tenant));
	json_object_set_new(o, "project", json_string(ci->project));
	json_object_set_new(o, "name", ci->name[0] == '\0' ? json_null() :
	    json_string(ci->name));
	json_object_set_new(o, "bytes", json_integer((json_int_t)ci->bytes));
	json_object_set_new(o, "entries",
	    json_integer((json_int_t)ci->entries));
	json_object_set_new(o, "saved", ci->saved_us == 0 ? json_null() :
	    json_string(out_time(ci->saved_us)));
	json_object_set_new(o, "used", ci->used_us == 0 ? json_null() :
	    json_string(out_time(ci->used_us)));
	return (o);
}

static void
show(const struct call *c, const struct cache_info *ci)
{
	const char *tenant = c->o.tenant.name;
	char project[4 * LIMIT_NAME + 1];

	if (c->s->json) {
		(void)json_print(cache_json(tenant, ci), STDOUT_FILENO);
		return;
	}
	text_escape(ci->project, strlen(ci->project), project,
	    sizeof(project));
	if (ci->name[0] == '\0')
		printf("%-16s (damaged; \"cache rm %s --all\" removes it)\n",
		    tenant, tenant);
	else if (c->o.admin == SNAP_ADMIN_CACHE_RM)
		printf("%-16s %s/%s removed\n", tenant, project, ci->name);
	else
		printf("%-16s %s/%s  %s, %llu entries, used %s\n", tenant,
		    project, ci->name, text_bytes(ci->bytes),
		    (unsigned long long)ci->entries, out_time(ci->used_us));
}

/* Page by page, until there is none. */
static int
all_pages(struct call *c)
{
	uint32_t i, n;
	int rc;

	c->o.tenant.id = 0;
	do {
		if ((rc = session_call(c->s, &c->o, &c->r)) != 0)
			return (rc);
		n = c->r.ncaches;
		for (i = 0; i < n; i++)
			show(c, &c->r.caches[i]);
		client_reply_done(&c->r);
		c->told += n;
		c->o.tenant.id += n;
	} while (n > 0);
	return (0);
}

static int
tenant_set(struct call *c, const char *name)
{
	if (!text_tenant_valid(name))
		return (out_usage("%s: a tenant's name is 1 to %d of a-z, 0-9, "
		    "_ and -, and begins with a letter or _", name,
		    TENANT_NAME_MAX));
	memcpy(c->o.tenant.name, name, strlen(name) + 1);
	return (0);
}

/* Of every tenant. */
static int
list_tenants(struct call *c)
{
	struct client_reply r;
	uint32_t i, last = 0;
	int rc;

	for (;;) {
		memset(&r, 0, sizeof(r));
		c->o.admin = SNAP_ADMIN_TENANT_LIST;
		c->o.tenant.name[0] = '\0';
		c->o.tenant.id = last;
		if ((rc = session_call(c->s, &c->o, &r)) != 0)
			return (rc);
		c->o.admin = SNAP_ADMIN_CACHE_LIST;
		for (i = 0; rc == 0 && i < r.ntenants; i++) {
			last = r.tenants[i].id;
			if ((rc = tenant_set(c, r.tenants[i].name)) == 0)
				rc = all_pages(c);
		}
		i = r.ntenants;
		client_reply_done(&r);
		if (rc != 0 || i == 0)
			return (rc);
	}
}

static int
list(struct call *c, int argc, char **argv)
{
	int rc;

	if (argc > 1)
		return (out_usage("cache list takes one TENANT at most"));
	if (argc == 0)
		return (list_tenants(c));
	if ((rc = tenant_set(c, argv[0])) != 0)
		return (rc);
	c->o.admin = SNAP_ADMIN_CACHE_LIST;
	return (all_pages(c));
}

/* PROJECT/NAME, as it is listed; a name has no slash. */
static int
which(struct call *c, const char *arg)
{
	const char *slash = strrchr(arg, '/');
	struct cache_info *ci = &c->o.cache;

	memset(ci, 0, sizeof(*ci));
	if (strcmp(arg, "--all") == 0)
		return (0);
	if (slash == NULL || (size_t)(slash - arg) >= sizeof(ci->project) ||
	    !cachedir_name_valid(slash + 1))
		return (out_usage("%s: name a cache as \"cache list\" does, "
		    "PROJECT/NAME; or --all", arg));
	memcpy(ci->project, arg, (size_t)(slash - arg));
	memcpy(ci->name, slash + 1, strlen(slash + 1) + 1);
	return (0);
}

static int
rm(struct call *c, int argc, char **argv)
{
	int i, rc;

	if (argc < 2)
		return (out_usage("cache rm needs a TENANT, and PROJECT/NAME "
		    "of its caches or --all"));
	if ((rc = tenant_set(c, argv[0])) != 0)
		return (rc);
	c->o.admin = SNAP_ADMIN_CACHE_RM;
	for (i = 1; i < argc; i++) {
		c->told = 0;
		if ((rc = which(c, argv[i])) != 0 || (rc = all_pages(c)) != 0)
			return (rc);
		if (c->told == 0 && c->o.cache.name[0] != '\0') {
			out_warn("tenant %s has no cache %s", argv[0],
			    argv[i]);
			return (EXIT_NO);
		}
	}
	return (0);
}

int
ctl_cache(struct session *s, int argc, char **argv)
{
	struct call *c;
	int rc;

	if (argc < 2 || (strcmp(argv[1], "list") != 0 &&
	    strcmp(argv[1], "rm") != 0))
		return (out_usage("cache list [TENANT] or cache rm TENANT "
		    "PROJECT/NAME..."));
	if (session_hello(s) == -1)
		return (EXIT_NO);
	if ((c = calloc(1, sizeof(*c))) == NULL)
		return (EXIT_OURS);
	c->s = s;
	c->o.verb = CLIENT_ADMIN;
	if (strcmp(argv[1], "list") == 0)
		rc = list(c, argc - 2, argv + 2);
	else
		rc = rm(c, argc - 2, argv + 2);
	free(c);
	return (rc);
}
