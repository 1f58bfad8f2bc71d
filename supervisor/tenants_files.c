/*
 * The tenants' files: reads and writes tenants_dir and the file that counts
 * ids, and assigns ids and the uids of jobs on the host.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "lib/io.h"
#include "lib/log.h"
#include "proto/limits.h"
#include "tenants.h"
#include "tenants_files.h"
#include "tenants_internal.h"

#define NEXT_FILE       "tenants.next"

/* What one reading of tenants_dir found. */
struct fresh {
	struct tenant_list list;
	struct refused_list refused;
};

struct file {
	char name[256];
	struct tenant_conf conf;
	char why[LIMIT_TEXT];   /* it is refused, or "" */
	int rank;
};

static int
uid_in_range(const struct config *cfg, uint32_t uid)
{
	if (cfg->rootless)
		return (uid == getuid());
	return (uid >= cfg->tenant_uids.first && uid <= cfg->tenant_uids.last);
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

int
tenants_files_open(struct tenants *ts)
{
	uint8_t *buf;
	size_t len;

	ts->next_id = 1;
	if (io_file_read(ts->state_fd, NEXT_FILE, 16, &buf, &len) == -1) {
		if (errno == ENOENT)
			return (0);
		log_warn("%s/%s", ts->cfg->state_dir, NEXT_FILE);
		return (-1);
	}
	ts->next_id = (uint32_t)strtoul((char *)buf, NULL, 10);
	free(buf);
	return (0);
}

/* Assign id and host uid where a file gives none.  0, or -1 with errno. */
int
tenants_files_assign(struct tenants *ts, struct tenant_conf *tc)
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

/* What is written now is no longer what was refused. */
static void
refused_drop(struct tenants *ts, const char *name)
{
	struct refused *r;

	TAILQ_FOREACH(r, &ts->refused, next)
		if (strcmp(r->name, name) == 0) {
			TAILQ_REMOVE(&ts->refused, r, next);
			free(r);
			return;
		}
}

int
tenants_files_write(struct tenants *ts, const struct tenant_conf *tc)
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
	if (rc == 0)
		refused_drop(ts, tc->name);
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

/* Ids that are known stay; a file may not move a tenant to another's. */
static int
ids_keep(struct tenants *ts, struct tenant_conf *tc, char *why, size_t size)
{
	struct tenant *old;

	if ((old = tenants_find(ts, tc->name)) != NULL) {
		if ((tc->id != 0 && tc->id != old->conf.id) ||
		    (tc->host_uid != 0 && tc->host_uid != old->conf.host_uid)) {
			snprintf(why, size, "id and host_uid cannot change; "
			    "write %" PRIu32 " and %" PRIu32, old->conf.id,
			    old->conf.host_uid);
			return (-1);
		}
		/* Jobs that run have the old ones, which another tenant could
		 * be given now. */
		if (tc->image_uids.first != old->conf.image_uids.first ||
		    tc->image_uids.last != old->conf.image_uids.last) {
			snprintf(why, size, "image_uids cannot change while "
			    "errandd runs; start it again");
			return (-1);
		}
		tc->id = old->conf.id;
		tc->host_uid = old->conf.host_uid;
	} else if (tc->id != 0 && (old = tenants_by_id(ts, tc->id)) != NULL) {
		snprintf(why, size, "id %" PRIu32 " was tenant %s's; remove "
		    "the line and one is assigned", tc->id, old->conf.name);
		return (-1);
	}
	return (0);
}

/* What jobs run as is nobody else's: not a worker's, a tenant's, a user's. */
static int
image_uids_check(const struct config *cfg, const struct tenant_conf *tc,
    char *why, size_t size)
{
	const struct uid_range *r = &tc->image_uids;
	uint32_t i;

	if (!config_range_apart(r, &cfg->worker_uids) ||
	    !config_range_apart(r, &cfg->tenant_uids)) {
		snprintf(why, size, "image_uids overlap with worker_uids or "
		    "tenant_uids; give them a range apart");
		return (-1);
	}
	for (i = 0; i < tc->nuids; i++)
		if (r->first != 0 && tc->uids[i] >= r->first &&
		    tc->uids[i] <= r->last) {
			snprintf(why, size, "uid %" PRIu32 " is in image_uids; "
			    "give them a range that no user is in",
			    tc->uids[i]);
			return (-1);
		}
	return (0);
}

/* Is what a file says possible beside the tenants in ${list}? */
static int
conf_check(const struct tenants *ts, const struct tenant_list *list,
    const struct tenant_conf *tc, char *why, size_t size)
{
	const struct tenant *t;
	const char *clash;

	if (tc->host_uid != 0 && !uid_in_range(ts->cfg, tc->host_uid)) {
		snprintf(why, size, "host_uid %" PRIu32 " is outside "
		    "tenant_uids; remove the line and one is assigned",
		    tc->host_uid);
		return (-1);
	}
	if (image_uids_check(ts->cfg, tc, why, size) == -1)
		return (-1);
	TAILQ_FOREACH(t, list, next)
		if ((clash = tenants_clash(tc, &t->conf,
		    ts->cfg->rootless)) != NULL) {
			snprintf(why, size, "%s tenant %s; change one of the "
			    "two", clash, t->conf.name);
			return (-1);
		}
	return (0);
}

static int
insert_new(struct tenant_list *list, const struct tenant_conf *tc)
{
	struct tenant *t;

	if ((t = tenants_new(tc)) == NULL) {
		log_warn("tenant %s", tc->name);
		return (-1);
	}
	tenants_insert(list, t);
	return (0);
}

/*
 * A file that is wrong costs its own tenant alone: one that is there already
 * stays as it was, unless another has taken a uid of it meanwhile.
 */
static int
refuse(const struct tenants *ts, struct fresh *fresh, const char *name,
    const char *text)
{
	const struct tenant *old = tenants_find(ts, name);
	char why[LIMIT_TEXT];
	struct refused *r;

	if ((r = calloc(1, sizeof(*r))) == NULL) {
		log_warn("tenant %s", name);
		return (-1);
	}
	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(r->why, sizeof(r->why), "%s", text);
	TAILQ_INSERT_TAIL(&fresh->refused, r, next);
	if (old != NULL && !old->gone && conf_check(ts, &fresh->list,
	    &old->conf, why, sizeof(why)) == 0) {
		log_warnx("tenant %s stays as it was", name);
		return (insert_new(&fresh->list, &old->conf));
	}
	log_warnx("there is no tenant %s until its file is mended", name);
	return (0);
}

static int
conf_take(struct tenants *ts, struct fresh *fresh, struct file *f)
{
	char why[LIMIT_TEXT / 2];

	if (f->why[0] != '\0')
		return (refuse(ts, fresh, f->name, f->why));
	if (ids_keep(ts, &f->conf, why, sizeof(why)) == 0 &&
	    conf_check(ts, &fresh->list, &f->conf, why, sizeof(why)) == 0)
		return (insert_new(&fresh->list, &f->conf));
	snprintf(f->why, sizeof(f->why), "%.150s/%.60s.conf: %s",
	    ts->cfg->tenants_dir, f->name, why);
	log_warnx("%s", f->why);
	return (refuse(ts, fresh, f->name, f->why));
}

/* Who has a uid keeps it before those that claim it. */
static int
rank(const struct tenants *ts, const struct file *f)
{
	const struct tenant *old = tenants_find(ts, f->name);

	if (old == NULL || old->gone)
		return (2);
	return (f->why[0] == '\0' && tenants_claims(&f->conf, &old->conf));
}

static int
is_conf(const struct dirent *d)
{
	char name[256];

	return (file_name(d->d_name, name, sizeof(name)));
}

/* Into ${f}, in the order of their names. */
static void
parse_all(const struct tenants *ts, struct file *f, struct dirent **d, int n)
{
	int i;

	for (i = 0; i < n; i++, f++) {
		(void)file_name(d[i]->d_name, f->name, sizeof(f->name));
		if (config_tenant_read(ts->cfg->tenants_dir, f->name, &f->conf,
		    f->why, sizeof(f->why)) == 0)
			f->why[0] = '\0';
	}
}

static int
take_all(struct tenants *ts, struct fresh *fresh, struct dirent **d, int n)
{
	struct file *files;
	int i, r;

	if (n == 0)
		return (0);
	if ((files = calloc((size_t)n, sizeof(*files))) == NULL) {
		log_warn("%s", ts->cfg->tenants_dir);
		return (-1);
	}
	parse_all(ts, files, d, n);
	for (i = 0; i < n; i++)
		files[i].rank = rank(ts, &files[i]);
	for (r = 0; r < 3; r++)
		for (i = 0; i < n; i++)
			if (files[i].rank == r &&
			    conf_take(ts, fresh, &files[i]) == -1)
				goto err0;
	free(files);
	return (0);

err0:
	free(files);
	return (-1);
}

static int
read_all(struct tenants *ts, struct fresh *fresh)
{
	struct dirent **d;
	int i, n, rc = -1;

	TAILQ_INIT(&fresh->list);
	TAILQ_INIT(&fresh->refused);
	if ((n = scandir(ts->cfg->tenants_dir, &d, is_conf, alphasort)) == -1) {
		log_warn("%s", ts->cfg->tenants_dir);
		return (-1);
	}
	if (n > LIMIT_TENANTS)
		log_warnx("%s: more than %d tenants", ts->cfg->tenants_dir,
		    LIMIT_TENANTS);
	else
		rc = take_all(ts, fresh, d, n);
	for (i = 0; i < n; i++)
		free(d[i]);
	free(d);
	return (rc);
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
		if (tenants_find(ts, t->conf.name) != NULL)
			continue;
		if (tenants_files_assign(ts, &t->conf) == -1 ||
		    (write && tenants_files_write(ts, &t->conf) == -1)) {
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
		if ((old = tenants_find(ts, t->conf.name)) != NULL) {
			old->conf = t->conf;
			old->gone = 0;
			free(t);
		} else {
			tenants_insert(&ts->list, t);
			ts->count++;
		}
	}
}

static void
refused_clear(struct refused_list *list)
{
	struct refused *r;

	while ((r = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, r, next);
		free(r);
	}
}

int
tenants_reload(struct tenants *ts)
{
	struct fresh fresh;

	if (read_all(ts, &fresh) == -1 || ids_assign(ts, &fresh.list) == -1) {
		tenants_clear(&fresh.list);
		refused_clear(&fresh.refused);
		return (-1);
	}
	list_adopt(ts, &fresh.list);
	refused_clear(&ts->refused);
	TAILQ_CONCAT(&ts->refused, &fresh.refused, next);
	return (0);
}

void
tenants_files_close(struct tenants *ts)
{
	refused_clear(&ts->refused);
}

const char *
tenants_refused(const struct tenants *ts, const char *name)
{
	const struct refused *r;

	TAILQ_FOREACH(r, &ts->refused, next)
		if (name == NULL || strcmp(r->name, name) == 0)
			return (r->why);
	return (NULL);
}

int
tenants_check(const struct config *cfg)
{
	struct tenants ts = { .cfg = cfg };
	struct fresh fresh;
	int rc;

	TAILQ_INIT(&ts.list);
	if (access(cfg->tenants_dir, R_OK | X_OK) == -1) {
		if (errno == ENOENT)
			return (0);
		log_warn("the files of tenants are not checked: %s",
		    cfg->tenants_dir);
		return (errno == EACCES && geteuid() != 0 ? 0 : -1);
	}
	rc = read_all(&ts, &fresh);
	if (!TAILQ_EMPTY(&fresh.refused))
		rc = -1;
	tenants_clear(&fresh.list);
	refused_clear(&fresh.refused);
	return (rc);
}
