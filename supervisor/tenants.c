/*
 * Tenants, their ids and the uids of their jobs on the host.  Reads and writes
 * tenants_dir and the file that counts ids; reads /etc/passwd for a user's
 * name.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "lib/io.h"
#include "lib/log.h"
#include "proto/client_msg.h"
#include "proto/limits.h"
#include "tenants.h"

#define NEXT_FILE       "tenants.next"

TAILQ_HEAD(tenant_list, tenant);

/*
 * Invariants:
 *  1. next_id is above every id that was ever given; tenants.next in the
 *     state directory says so durably before an id is used.
 *  2. list is in order of id.
 */
struct tenants {
	const struct config *cfg;
	int state_fd;
	int dir_fd;
	struct tenant_list list;
	uint32_t count;
	uint32_t next_id;
};

static struct tenant *
tenant_new(const struct tenant_conf *tc)
{
	struct tenant *t;

	if ((t = calloc(1, sizeof(*t))) == NULL)
		return (NULL);
	t->conf = *tc;
	TAILQ_INIT(&t->chain.waiting);
	return (t);
}

static void
list_insert(struct tenant_list *list, struct tenant *t)
{
	struct tenant *at;

	TAILQ_FOREACH(at, list, next)
		if (at->conf.id > t->conf.id) {
			TAILQ_INSERT_BEFORE(at, t, next);
			return;
		}
	TAILQ_INSERT_TAIL(list, t, next);
}

static void
list_clear(struct tenant_list *list)
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

/* Why two tenants cannot both be, or NULL. */
static const char *
clash(const struct tenant_conf *a, const struct tenant_conf *b, int rootless)
{
	uint32_t i;

	if (strcmp(a->name, b->name) == 0)
		return ("there is already that name: it is");
	if (a->id != 0 && a->id == b->id)
		return ("it has the id of");
	if (a->host_uid != 0 && a->host_uid == b->host_uid && !rootless)
		return ("it has the host_uid of");
	for (i = 0; i < a->nuids; i++)
		if (has_uid(b, a->uids[i]))
			return ("one of its uids belongs to");
	return (NULL);
}

static int
uid_in_range(const struct config *cfg, uint32_t uid)
{
	if (cfg->rootless)
		return (uid == getuid());
	return (uid >= cfg->tenant_uids.first && uid <= cfg->tenant_uids.last);
}

/* Is what a file says possible beside the tenants in ${list}? */
static int
conf_check(const struct tenants *ts, const struct tenant_list *list,
    const struct tenant_conf *tc)
{
	const struct tenant *t;
	const char *why;

	if (tc->host_uid != 0 && !uid_in_range(ts->cfg, tc->host_uid)) {
		log_warnx("%s/%s.conf: host_uid %" PRIu32 " is outside "
		    "tenant_uids; remove the line and one is assigned",
		    ts->cfg->tenants_dir, tc->name, tc->host_uid);
		return (-1);
	}
	TAILQ_FOREACH(t, list, next)
		if ((why = clash(tc, &t->conf, ts->cfg->rootless)) != NULL) {
			log_warnx("%s/%s.conf: %s tenant %s; change one of "
			    "the two", ts->cfg->tenants_dir, tc->name, why,
			    t->conf.name);
			return (-1);
		}
	return (0);
}

static int
next_write(struct tenants *ts, uint32_t next)
{
	char buf[16];
	int n;

	n = snprintf(buf, sizeof(buf), "%" PRIu32 "\n", next);
	if (io_file_replace(ts->state_fd, NEXT_FILE, 0600, buf,
	    (size_t)n) == -1)
		return (-1);
	ts->next_id = next;
	return (0);
}

static int
next_read(struct tenants *ts)
{
	uint8_t *buf;
	size_t len;

	ts->next_id = 1;
	if (io_file_read(ts->state_fd, NEXT_FILE, 16, &buf, &len) == -1)
		return (errno == ENOENT ? 0 : -1);
	ts->next_id = (uint32_t)strtoul((char *)buf, NULL, 10);
	free(buf);
	return (0);
}

/* Assign id and host uid where a file gives none.  0, or -1 with errno. */
static int
conf_assign(struct tenants *ts, struct tenant_conf *tc)
{
	uint32_t room;

	if (tc->id == 0) {
		tc->id = ts->next_id;
		if (next_write(ts, tc->id + 1) == -1)
			return (-1);
	} else if (next_write(ts, tc->id < ts->next_id ? ts->next_id :
	    tc->id + 1) == -1)
		return (-1);
	if (tc->host_uid != 0)
		return (0);
	room = ts->cfg->tenant_uids.last - ts->cfg->tenant_uids.first;
	if (ts->cfg->rootless)
		tc->host_uid = getuid();
	else if (tc->id - 1 <= room)
		tc->host_uid = ts->cfg->tenant_uids.first + tc->id - 1;
	else {
		errno = ERANGE;
		return (-1);
	}
	return (0);
}

static int
conf_write(struct tenants *ts, const struct tenant_conf *tc)
{
	char file[TENANT_NAME_MAX + 8];
	char *text;
	size_t len;
	int rc;

	snprintf(file, sizeof(file), "%s.conf", tc->name);
	if ((text = config_tenant_text(tc, &len)) == NULL)
		return (-1);
	rc = io_file_replace(ts->dir_fd, file, 0600, text, len);
	free(text);
	return (rc);
}

/* "NAME.conf" -> NAME; other files are not ours. */
static int
file_name(const char *file, char *name, size_t size)
{
	size_t n = strlen(file);

	if (n < 6 || strcmp(file + n - 5, ".conf") != 0 || file[0] == '.')
		return (0);
	if (n - 5 >= size)
		n = size + 4;
	memcpy(name, file, n - 5);
	name[n - 5] = '\0';
	return (1);
}

static int
read_one(struct tenants *ts, struct tenant_list *list, const char *name)
{
	struct tenant_conf tc;
	struct tenant *t;

	if (config_tenant_read(ts->cfg->tenants_dir, name, &tc) == -1 ||
	    conf_check(ts, list, &tc) == -1)
		return (-1);
	if ((t = tenant_new(&tc)) == NULL) {
		log_warn("tenant %s", name);
		return (-1);
	}
	list_insert(list, t);
	return (0);
}

/* All files into a fresh list; those without an id come first in it. */
static int
read_all(struct tenants *ts, struct tenant_list *list)
{
	char name[256];
	struct dirent *d;
	uint32_t n = 0;
	DIR *dir;
	int rc = 0;

	if ((dir = opendir(ts->cfg->tenants_dir)) == NULL) {
		log_warn("%s", ts->cfg->tenants_dir);
		return (-1);
	}
	while (rc == 0 && (d = readdir(dir)) != NULL) {
		if (!file_name(d->d_name, name, sizeof(name)))
			continue;
		if (++n > LIMIT_TENANTS) {
			log_warnx("%s: more than %d tenants",
			    ts->cfg->tenants_dir, LIMIT_TENANTS);
			rc = -1;
		} else
			rc = read_one(ts, list, name);
	}
	closedir(dir);
	return (rc);
}

static struct tenant *
find_any(const struct tenants *ts, const char *name)
{
	struct tenant *t;

	TAILQ_FOREACH(t, &ts->list, next)
		if (strcmp(t->conf.name, name) == 0)
			return (t);
	return (NULL);
}

/* Ids that are known stay; a file may not move a tenant to another's. */
static int
ids_keep(struct tenants *ts, struct tenant_list *fresh)
{
	struct tenant *t, *old;

	TAILQ_FOREACH(t, fresh, next) {
		if ((old = find_any(ts, t->conf.name)) != NULL) {
			if ((t->conf.id != 0 && t->conf.id != old->conf.id) ||
			    (t->conf.host_uid != 0 &&
			    t->conf.host_uid != old->conf.host_uid)) {
				log_warnx("%s/%s.conf: id and host_uid cannot "
				    "change; write %" PRIu32 " and %" PRIu32,
				    ts->cfg->tenants_dir, t->conf.name,
				    old->conf.id, old->conf.host_uid);
				return (-1);
			}
			t->conf.id = old->conf.id;
			t->conf.host_uid = old->conf.host_uid;
		} else if ((old = tenants_by_id(ts, t->conf.id)) != NULL) {
			log_warnx("%s/%s.conf: id %" PRIu32 " was tenant %s's; "
			    "remove the line and one is assigned",
			    ts->cfg->tenants_dir, t->conf.name, t->conf.id,
			    old->conf.name);
			return (-1);
		}
	}
	return (0);
}

/* Fresh tenants without id or host uid get them, and their file says so. */
static int
ids_assign(struct tenants *ts, struct tenant_list *fresh)
{
	struct tenant *t;
	int write;

	/* Ids that files give are taken before any is assigned. */
	TAILQ_FOREACH(t, fresh, next)
		if (t->conf.id >= ts->next_id)
			ts->next_id = t->conf.id + 1;
	TAILQ_FOREACH(t, fresh, next) {
		write = t->conf.id == 0 || t->conf.host_uid == 0;
		if (find_any(ts, t->conf.name) != NULL)
			continue;
		if (conf_assign(ts, &t->conf) == -1 ||
		    (write && conf_write(ts, &t->conf) == -1)) {
			log_warn("%s/%s.conf: assign ids",
			    ts->cfg->tenants_dir, t->conf.name);
			return (-1);
		}
	}
	return (0);
}

static void
list_adopt(struct tenants *ts, struct tenant_list *fresh)
{
	struct tenant *t, *old;

	TAILQ_FOREACH(t, &ts->list, next)
		t->gone = 1;
	while ((t = TAILQ_FIRST(fresh)) != NULL) {
		TAILQ_REMOVE(fresh, t, next);
		if ((old = find_any(ts, t->conf.name)) != NULL) {
			old->conf = t->conf;
			old->gone = 0;
			free(t);
		} else {
			list_insert(&ts->list, t);
			ts->count++;
		}
	}
}

int
tenants_reload(struct tenants *ts)
{
	struct tenant_list fresh = TAILQ_HEAD_INITIALIZER(fresh);

	if (read_all(ts, &fresh) == -1 || ids_keep(ts, &fresh) == -1 ||
	    ids_assign(ts, &fresh) == -1) {
		list_clear(&fresh);
		return (-1);
	}
	list_adopt(ts, &fresh);
	return (0);
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
	if (mkdir(cfg->tenants_dir, 0700) == -1 && errno != EEXIST)
		goto err1;
	if ((ts->dir_fd = open(cfg->tenants_dir,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		goto err1;
	if (next_read(ts) == -1)
		goto err2;
	if (tenants_reload(ts) == -1)
		goto err3;
	return (ts);

err2:
	log_warn("%s/%s", cfg->state_dir, NEXT_FILE);
err3:
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
	list_clear(&ts->list);
	io_close(&ts->dir_fd);
	free(ts);
}

struct tenant *
tenants_by_name(struct tenants *ts, const char *name)
{
	struct tenant *t;

	t = find_any(ts, name);
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
		    find_any(ts, pw->pw_name) == NULL) {
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

struct tenant *
tenants_by_uid(struct tenants *ts, uint32_t uid, struct err *err)
{
	struct tenant *t;

	TAILQ_FOREACH(t, &ts->list, next)
		if (!t->gone && has_uid(&t->conf, uid))
			return (t);
	if (ts->cfg->local_auto)
		return (auto_add(ts, uid, err));
	(void)err_set(err, ERR_UNKNOWN_TENANT, "uid %" PRIu32 " is no tenant "
	    "of this host; its operator can make it one with: errandctl "
	    "tenant add NAME --uid %" PRIu32, uid, uid);
	return (NULL);
}

/* May ${tc} be added?  0, or -1 with ${err}. */
static int
add_check(struct tenants *ts, const struct tenant_conf *tc, struct err *err)
{
	struct tenant *t;
	const char *why;

	if (!text_tenant_valid(tc->name))
		return (err_set(err, ERR_INVALID, "no name for a tenant; use "
		    "a-z, 0-9, _ and -, at most %d bytes", TENANT_NAME_MAX));
	if (ts->count >= LIMIT_TENANTS)
		return (err_set(err, ERR_LIMIT, "this host has %d tenants, "
		    "which is the most", LIMIT_TENANTS));
	TAILQ_FOREACH(t, &ts->list, next) {
		why = clash(tc, &t->conf, ts->cfg->rootless);
		if (why != NULL && (!t->gone ||
		    strcmp(t->conf.name, tc->name) == 0))
			return (err_set(err, ERR_CONFLICT, "tenant %s cannot be "
			    "added: %s tenant %s", tc->name, why,
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
	if (conf_assign(ts, &full) == -1)
		goto err1;
	if ((t = tenant_new(&full)) == NULL)
		goto err1;
	if (conf_write(ts, &full) == -1)
		goto err2;
	list_insert(&ts->list, t);
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
}

struct tenant *
tenants_set(struct tenants *ts, struct tenant *who,
    const struct tenant_info *ti, struct err *err)
{
	struct tenant_conf full = who->conf;
	const struct tenant *t;
	const char *why;

	conf_change(&full, ti);
	TAILQ_FOREACH(t, &ts->list, next)
		if (t != who && (why = clash(&full, &t->conf,
		    ts->cfg->rootless)) != NULL) {
			(void)err_set(err, ERR_CONFLICT, "tenant %s: %s "
			    "tenant %s; change that one first", full.name,
			    why, t->conf.name);
			return (NULL);
		}
	if (conf_write(ts, &full) == -1) {
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

#define PICK(l, d, member) \
	do { if ((l)->member == 0) (l)->member = (d)->member; } while (0)

void
tenant_limits(const struct tenants *ts, const struct tenant *t,
    struct job_limits *l)
{
	const struct job_limits *d = &ts->cfg->defaults;

	*l = t->conf.limits;
	PICK(l, d, cpus_milli);
	PICK(l, d, pids);
	PICK(l, d, memory);
	PICK(l, d, disk);
	PICK(l, d, runtime_us);
	PICK(l, d, cpu_us);
	PICK(l, d, log_bytes);
	PICK(l, d, changes);
}

void
tenant_keep(const struct tenants *ts, const struct tenant *t,
    struct keep_conf *k)
{
	const struct keep_conf *d = &ts->cfg->keep;

	*k = t->conf.keep;
	PICK(k, d, store);
	PICK(k, d, objects);
	PICK(k, d, jobs);
	PICK(k, d, logs);
	PICK(k, d, keep_us);
}

void
tenant_quota(const struct tenants *ts, const struct tenant *t,
    struct store_quota *q)
{
	struct keep_conf k;

	tenant_keep(ts, t, &k);
	q->bytes = k.store;
	q->objects = k.objects;
	q->jobs = k.jobs;
	q->log_bytes = k.logs;
}

uint32_t
tenant_slots(const struct tenants *ts, const struct tenant *t)
{
	return (t->conf.slots != 0 ? t->conf.slots : ts->cfg->tenant_slots);
}

void
tenant_show(const struct tenants *ts, const struct tenant *t,
    struct tenant_info *ti)
{
	struct keep_conf k;

	memset(ti, 0, sizeof(*ti));
	memcpy(ti->name, t->conf.name, sizeof(ti->name));
	ti->id = t->conf.id;
	ti->nuids = t->conf.nuids;
	memcpy(ti->uids, t->conf.uids, sizeof(ti->uids));
	ti->host_uid = t->conf.host_uid;
	ti->slots = tenant_slots(ts, t);
	ti->net_host = t->conf.net_host;
	ti->automatic = t->conf.automatic;
	tenant_keep(ts, t, &k);
	ti->store_bytes = k.store;
	ti->store_objects = k.objects;
	ti->jobs = k.jobs;
	ti->log_bytes = k.logs;
	ti->keep_us = k.keep_us;
	tenant_limits(ts, t, &ti->limits);
	ti->running = t->running;
	ti->queued = t->queued;
}
