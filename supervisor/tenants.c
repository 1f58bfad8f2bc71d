/*
 * Tenants, by name, id and local uid.  Makes tenants_dir, and reads
 * /etc/passwd for a user's name.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "config_range.h"
#include "lib/io.h"
#include "lib/log.h"
#include "proto/client_msg.h"
#include "proto/limits.h"
#include "subuids.h"
#include "tenants.h"
#include "tenants_files.h"
#include "tenants_internal.h"

struct tenant *
tenants_new(const struct tenant_conf *tc)
{
	struct tenant *t;

	if ((t = calloc(1, sizeof(*t))) == NULL)
		return (NULL);
	t->conf = *tc;
	TAILQ_INIT(&t->chain.waiting);
	return (t);
}

void
tenants_insert(struct tenant_list *list, struct tenant *t)
{
	struct tenant *at;

	TAILQ_FOREACH(at, list, next)
		if (at->conf.id > t->conf.id) {
			TAILQ_INSERT_BEFORE(at, t, next);
			return;
		}
	TAILQ_INSERT_TAIL(list, t, next);
}

void
tenants_clear(struct tenant_list *list)
{
	struct tenant *t;

	while ((t = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, t, next);
		free(t);
	}
}

static int
has_uid(const struct tenant_conf *tc, uint32_t uid)
{
	uint32_t i;

	for (i = 0; i < tc->nuids; i++)
		if (tc->uids[i] == uid)
			return (1);
	return (0);
}

int
tenants_claims(const struct tenant_conf *a, const struct tenant_conf *b)
{
	uint32_t i;

	for (i = 0; i < a->nuids; i++)
		if (!has_uid(b, a->uids[i]))
			return (1);
	return (0);
}

const char *
tenants_clash(const struct tenant_conf *a, const struct tenant_conf *b,
    int rootless)
{
	uint32_t i;

	if (strcmp(a->name, b->name) == 0)
		return ("its name is taken by");
	if (a->id != 0 && a->id == b->id)
		return ("it has the id of");
	if (a->host_uid != 0 && a->host_uid == b->host_uid && !rootless)
		return ("it has the host_uid of");
	for (i = 0; i < a->nuids; i++)
		if (has_uid(b, a->uids[i]))
			return ("one of its uids belongs to");
	if (!config_range_apart(&a->image_uids, &b->image_uids))
		return ("its image_uids overlap with those of");
	return (NULL);
}

struct tenant *
tenants_find(const struct tenants *ts, const char *name)
{
	struct tenant *t;

	TAILQ_FOREACH(t, &ts->list, next)
		if (strcmp(t->conf.name, name) == 0)
			return (t);
	return (NULL);
}

struct tenants *
tenants_open(const struct config *cfg, int state_fd)
{
	struct tenants *ts;

	if ((ts = calloc(1, sizeof(*ts))) == NULL)
		goto err0;
	ts->cfg = cfg;
	ts->state_fd = state_fd;
	TAILQ_INIT(&ts->list);
	TAILQ_INIT(&ts->refused);
	if (mkdir(cfg->tenants_dir, 0700) == -1 && errno != EEXIST)
		goto err1;
	if ((ts->dir_fd = open(cfg->tenants_dir,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		goto err1;
	if (tenants_files_open(ts) == -1 || tenants_reload(ts) == -1)
		goto err2;
	return (ts);

err2:
	tenants_close(ts);
	return (NULL);
err1:
	log_warn("%s", cfg->tenants_dir);
	free(ts);
err0:
	return (NULL);
}

void
tenants_close(struct tenants *ts)
{
	if (ts == NULL)
		return;
	tenants_clear(&ts->list);
	tenants_files_close(ts);
	io_close(&ts->dir_fd);
	free(ts);
}

struct tenant *
tenants_by_name(struct tenants *ts, const char *name)
{
	struct tenant *t;

	t = tenants_find(ts, name);
	return (t == NULL || t->gone ? NULL : t);
}

struct tenant *
tenants_by_id(struct tenants *ts, uint32_t id)
{
	struct tenant *t;

	TAILQ_FOREACH(t, &ts->list, next)
		if (t->conf.id == id)
			return (t);
	return (NULL);
}

/* The user's own name where it serves, read without asking the network. */
static void
auto_name(struct tenants *ts, uint32_t uid, char *name)
{
	struct passwd *pw;
	FILE *f;

	snprintf(name, TENANT_NAME_MAX + 1, "u%" PRIu32, uid);
	if (uid == 0) {
		strcpy(name, "root");
		return;
	}
	if ((f = fopen("/etc/passwd", "re")) == NULL)
		return;
	while ((pw = fgetpwent(f)) != NULL)
		if (pw->pw_uid == uid && text_tenant_valid(pw->pw_name) &&
		    tenants_find(ts, pw->pw_name) == NULL) {
			snprintf(name, TENANT_NAME_MAX + 1, "%s", pw->pw_name);
			break;
		}
	fclose(f);
}

static struct tenant *
auto_add(struct tenants *ts, uint32_t uid, struct err *err)
{
	struct tenant_conf tc;

	memset(&tc, 0, sizeof(tc));
	auto_name(ts, uid, tc.name);
	tc.nuids = 1;
	tc.uids[0] = uid;
	tc.automatic = 1;
	return (tenants_add(ts, &tc, err));
}

static int
in_range(const struct uid_range *r, uint32_t uid)
{
	return (uid >= r->first && uid <= r->last);
}

/*
 * May this user become a tenant by coming?  Not with ids that somebody has by
 * the thousand, and not until there is no room for those an operator makes.
 */
static int
auto_check(const struct tenants *ts, uint32_t uid, struct err *err)
{
	const struct config *cfg = ts->cfg;
	const struct tenant *t;
	uint32_t n = 0;
	char who[64];

	if (cfg->rootless)
		return (0);     /* it has one user, who started it */
	if (in_range(&cfg->worker_uids, uid) ||
	    in_range(&cfg->tenant_uids, uid))
		return (err_set(err, ERR_UNKNOWN_TENANT, "uid %" PRIu32 " is "
		    "errandd's own, for workers or jobs, and no user", uid));
	if (subuids_owner(SUBUIDS_FILE, uid, who, sizeof(who)))
		return (err_set(err, ERR_UNKNOWN_TENANT, "uid %" PRIu32 " is "
		    "one that " SUBUIDS_FILE " gives to %s, and becomes no "
		    "tenant by itself; an operator can make it one with: "
		    "errandctl tenant add NAME --uid %" PRIu32, uid, who,
		    uid));
	TAILQ_FOREACH(t, &ts->list, next)
		n += t->conf.automatic && !t->gone;
	if (n >= LIMIT_TENANTS / 2)
		return (err_set(err, ERR_LIMIT, "%d users have become tenants "
		    "by themselves, which is the most; an operator can make "
		    "others with: errandctl tenant add NAME --uid %" PRIu32,
		    LIMIT_TENANTS / 2, uid));
	return (0);
}

struct tenant *
tenants_of_uid(const struct tenants *ts, uint32_t uid)
{
	struct tenant *t;

	TAILQ_FOREACH(t, &ts->list, next)
		if (!t->gone && has_uid(&t->conf, uid))
			return (t);
	return (NULL);
}

struct tenant *
tenants_by_uid(struct tenants *ts, uint32_t uid, struct err *err)
{
	struct tenant *t = tenants_of_uid(ts, uid);
	const char *why = NULL;

	if (t != NULL)
		return (t);
	if (ts->cfg->local_auto && (why = tenants_refused(ts, NULL)) == NULL)
		return (auto_check(ts, uid, err) == -1 ? NULL :
		    auto_add(ts, uid, err));
	if (ts->cfg->local_auto) {
		(void)err_set(err, ERR_UNKNOWN_TENANT, "uid %" PRIu32 " is no "
		    "tenant of this host, and none is made while the file of "
		    "one is wrong; its operator has to mend it: %s", uid, why);
		return (NULL);
	}
	(void)err_set(err, ERR_UNKNOWN_TENANT, "uid %" PRIu32 " is no tenant "
	    "of this host; its operator can make it one with: errandctl "
	    "tenant add NAME --uid %" PRIu32, uid, uid);
	return (NULL);
}

/* May ${tc} be added?  0, or -1 with ${err}. */
static int
add_check(struct tenants *ts, const struct tenant_conf *tc, struct err *err)
{
	char range[LIMIT_TEXT];
	struct tenant *t;
	const char *why;

	if (!text_tenant_valid(tc->name))
		return (err_set(err, ERR_INVALID, "no name for a tenant; use "
		    "a-z, 0-9, _ and -, at most %d bytes", TENANT_NAME_MAX));
	if ((why = tenants_refused(ts, tc->name)) != NULL)
		return (err_set(err, ERR_CONFLICT, "tenant %s has a file that "
		    "is wrong; mend or remove it and send errandd a HUP: %s",
		    tc->name, why));
	if (config_range_tenant(tc, range, sizeof(range)) == -1)
		return (err_set(err, ERR_INVALID, "tenant %s: %s", tc->name,
		    range));
	if (ts->count >= LIMIT_TENANTS)
		return (err_set(err, ERR_LIMIT, "this host has %d tenants, "
		    "which is the most", LIMIT_TENANTS));
	TAILQ_FOREACH(t, &ts->list, next) {
		if (strcmp(t->conf.name, tc->name) == 0 && !t->gone)
			return (err_set(err, ERR_CONFLICT, "there is a tenant "
			    "%s already; to change it: errandctl tenant set %s",
			    tc->name, tc->name));
		why = tenants_clash(tc, &t->conf, ts->cfg->rootless);
		if (why != NULL && (!t->gone ||
		    strcmp(t->conf.name, tc->name) == 0))
			return (err_set(err, ERR_CONFLICT, "tenant %s cannot "
			    "be added: %s tenant %s", tc->name, why,
			    t->conf.name));
	}
	return (0);
}

struct tenant *
tenants_add(struct tenants *ts, const struct tenant_conf *tc, struct err *err)
{
	struct tenant_conf full = *tc;
	struct tenant *t;

	full.id = full.host_uid = 0;
	if (add_check(ts, &full, err) == -1)
		goto err0;
	if (tenants_files_assign(ts, &full) == -1)
		goto err1;
	if ((t = tenants_new(&full)) == NULL)
		goto err1;
	if (tenants_files_write(ts, &full) == -1)
		goto err2;
	tenants_insert(&ts->list, t);
	ts->count++;
	log_info("tenant %s: made, id %" PRIu32 ", host uid %" PRIu32,
	    full.name, full.id, full.host_uid);
	return (t);

err2:
	free(t);
err1:
	log_warn("tenant %s", full.name);
	(void)err_set(err, errno == ERANGE ? ERR_LIMIT : ERR_IO,
	    "tenant %s cannot be written: %s", full.name, errno == ERANGE ?
	    "tenant_uids has no uid left; give it a longer range" :
	    strerror(errno));
err0:
	return (NULL);
}

/* What was given of ${ti}, in its table's words. */
static void
conf_change(struct tenant_conf *tc, const struct tenant_info *ti)
{
	const struct job_limits *l = &ti->limits;

	if ((ti->given & TENANT_UIDS) != 0) {
		tc->nuids = ti->nuids;
		memcpy(tc->uids, ti->uids, sizeof(tc->uids));
	}
	if ((ti->given & TENANT_SLOTS) != 0)
		tc->slots = ti->slots;
	if ((ti->given & TENANT_NET) != 0)
		tc->net_host = ti->net_host;
	if ((ti->given & TENANT_STORE) != 0)
		tc->keep.store = ti->store_bytes;
	if ((ti->given & TENANT_OBJECTS) != 0)
		tc->keep.objects = ti->store_objects;
	if ((ti->given & TENANT_JOBS) != 0)
		tc->keep.jobs = ti->jobs;
	if ((ti->given & TENANT_LOGS) != 0)
		tc->keep.logs = ti->log_bytes;
	if ((ti->given & TENANT_KEEP) != 0)
		tc->keep.keep_us = ti->keep_us;
	if ((ti->given & TENANT_CACHE_SIZE) != 0)
		tc->keep.cache_size = ti->cache_size;
	if ((ti->given & TENANT_CACHE_TOTAL) != 0)
		tc->keep.cache_total = ti->cache_total;
	if ((ti->given & TENANT_CPUS) != 0)
		tc->limits.cpus_milli = l->cpus_milli;
	if ((ti->given & TENANT_MEMORY) != 0)
		tc->limits.memory = l->memory;
	if ((ti->given & TENANT_PIDS) != 0)
		tc->limits.pids = l->pids;
	if ((ti->given & TENANT_DISK) != 0)
		tc->limits.disk = l->disk;
	if ((ti->given & TENANT_TIMEOUT) != 0)
		tc->limits.runtime_us = l->runtime_us;
	if ((ti->given & TENANT_CPU_TIME) != 0)
		tc->limits.cpu_us = l->cpu_us;
	if ((ti->given & TENANT_LOG) != 0)
		tc->limits.log_bytes = l->log_bytes;
	if ((ti->given & TENANT_CHANGES) != 0)
		tc->limits.changes = l->changes;
}

struct tenant *
tenants_set(struct tenants *ts, struct tenant *who,
    const struct tenant_info *ti, struct err *err)
{
	struct tenant_conf full = who->conf;
	const struct tenant *t;
	char range[LIMIT_TEXT];
	const char *why;

	conf_change(&full, ti);
	if (config_range_tenant(&full, range, sizeof(range)) == -1) {
		(void)err_set(err, ERR_INVALID, "tenant %s: %s", full.name,
		    range);
		return (NULL);
	}
	TAILQ_FOREACH(t, &ts->list, next)
		if (t != who && (why = tenants_clash(&full, &t->conf,
		    ts->cfg->rootless)) != NULL) {
			(void)err_set(err, ERR_CONFLICT, "tenant %s: %s "
			    "tenant %s; change that one first", full.name,
			    why, t->conf.name);
			return (NULL);
		}
	if (tenants_files_write(ts, &full) == -1) {
		log_warn("tenant %s", full.name);
		(void)err_set(err, ERR_IO, "tenant %s cannot be written: %s",
		    full.name, strerror(errno));
		return (NULL);
	}
	who->conf = full;
	return (who);
}

struct tenant *
tenants_after(struct tenants *ts, uint32_t id)
{
	struct tenant *t;

	TAILQ_FOREACH(t, &ts->list, next)
		if (!t->gone && t->conf.id > id)
			return (t);
	return (NULL);
}

struct tenant *
tenants_next(struct tenants *ts, struct tenant *t)
{
	return (t == NULL ? TAILQ_FIRST(&ts->list) : TAILQ_NEXT(t, next));
}
