/*
 * What killed keepers leave behind after their job.  Memory, and the removal of
 * work directories (priv.c).
 */
#include <sys/queue.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "lib/log.h"
#include "priv.h"
#include "proto/job_types.h"
#include "sandbox_leave.h"
#include "sup.h"

struct leaver {
	TAILQ_ENTRY(leaver) next;
	char id[JOB_ID_LEN + 1];
	struct map_rule ids;
};

/* Invariant: each is of a keeper of the errand-exec that runs, whose GONE did
 * not come yet. */
struct leavers {
	struct sup *sup;
	TAILQ_HEAD(, leaver) all;
};

struct leavers *
leavers_new(struct sup *sup)
{
	struct leavers *l;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		return (NULL);
	l->sup = sup;
	TAILQ_INIT(&l->all);
	return (l);
}

static void
drop(struct leavers *l, struct leaver *v)
{
	TAILQ_REMOVE(&l->all, v, next);
	free(v);
}

void
leavers_free(struct leavers *l)
{
	struct leaver *v;

	if (l == NULL)
		return;
	while ((v = TAILQ_FIRST(&l->all)) != NULL)
		drop(l, v);
	free(l);
}

void
leavers_add(struct leavers *l, const char *id, const struct map_rule *ids)
{
	struct leaver *v;

	/* Without it, the tenant's next keeper removes what is left. */
	if (l == NULL || (v = calloc(1, sizeof(*v))) == NULL)
		return;
	(void)snprintf(v->id, sizeof(v->id), "%s", id);
	v->ids = *ids;
	TAILQ_INSERT_TAIL(&l->all, v, next);
}

static void
clean(struct leavers *l, struct leaver *v)
{
	log_debug("sandbox %s: its keeper did not clean up", v->id);
	workdir_remove_priv(l->sup->work_fd, &v->ids, v->id);
	drop(l, v);
}

void
leavers_gone(struct leavers *l, const char *id, int status)
{
	struct leaver *v;

	if (l == NULL)
		return;
	TAILQ_FOREACH(v, &l->all, next)
		if (strcmp(v->id, id) == 0)
			break;
	if (v == NULL)
		return;
	if (status == 0)
		drop(l, v);
	else
		clean(l, v);
}

void
leavers_lost(struct leavers *l)
{
	struct leaver *v;

	while (l != NULL && (v = TAILQ_FIRST(&l->all)) != NULL)
		clean(l, v);
}
