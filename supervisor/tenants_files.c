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
		if ((why = tenants_clash(tc, &t->conf, ts->cfg->rootless)) != NULL) {
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
	if ((t = tenants_new(&tc)) == NULL) {
		log_warn("tenant %s", name);
		return (-1);
	}
	tenants_insert(list, t);
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

/* Ids that are known stay; a file may not move a tenant to another's. */
static int
ids_keep(struct tenants *ts, struct tenant_list *fresh)
{
	struct tenant *t, *old;

	TAILQ_FOREACH(t, fresh, next) {
		if ((old = tenants_find(ts, t->conf.name)) != NULL) {
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

int
tenants_reload(struct tenants *ts)
{
	struct tenant_list fresh = TAILQ_HEAD_INITIALIZER(fresh);

	if (read_all(ts, &fresh) == -1 || ids_keep(ts, &fresh) == -1 ||
	    ids_assign(ts, &fresh) == -1) {
		tenants_clear(&fresh);
		return (-1);
	}
	list_adopt(ts, &fresh);
	return (0);
}
