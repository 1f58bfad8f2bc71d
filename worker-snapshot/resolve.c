/*
 * What a user called a job, as the store's record of it.  Asks the store;
 * nothing else is touched.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "joblist.h"
#include "label.h"
#include "lib/log.h"
#include "lib/size.h"
#include "proto/client_msg.h"
#include "resolve.h"
#include "store_client.h"

struct resolve {
	struct store_client *sc;
	char name[LIMIT_NAME + 1];
	resolve_fn *fn;
	void *cookie;
	struct joblist list;
	struct label *label;
};

static void
fail(struct resolve *r, const struct err *e)
{
	r->fn(r->cookie, NULL, e);
}

static void
not_found(struct resolve *r)
{
	struct err e;

	if (strcmp(r->name, "last") == 0)
		(void)err_set(&e, ERR_NOT_FOUND, "you have no jobs here");
	else if (strlen(r->name) < JOBLIST_PREFIX_MIN)
		(void)err_set(&e, ERR_NOT_FOUND, "no job is called \"%s\"; "
		    "the beginning of an id needs %d characters or more",
		    r->name, JOBLIST_PREFIX_MIN);
	else if (text_job_id_valid(r->name))
		(void)err_set(&e, ERR_NOT_FOUND, "no job is called \"%s\", or "
		    "it is no longer kept; \"errand ps -a\" lists yours",
		    r->name);
	else
		(void)err_set(&e, ERR_NOT_FOUND, "no job is called \"%s\"; "
		    "\"errand ps -a\" lists yours", r->name);
	fail(r, &e);
}

static void
damaged(struct resolve *r, const char *what)
{
	struct err e;

	log_warnx("store: %s: malformed", what);
	(void)err_set(&e, ERR_INTERNAL, "the host's store gave a malformed %s",
	    what);
	fail(r, &e);
}

static void
give(struct resolve *r, size_t at)
{
	struct job_record rec;

	if (joblist_record(&r->list.items[at], &rec) == -1)
		damaged(r, "job record");
	else
		r->fn(r->cookie, &rec, NULL);
}

static void
on_label(void *cookie, ssize_t at)
{
	struct resolve *r = cookie;
	struct err e;
	size_t found = 0;

	if (at >= 0) {
		give(r, (size_t)at);
		return;
	}
	switch (joblist_prefix(&r->list, r->name, &found)) {
	case 0:
		not_found(r);
		break;
	case 1:
		give(r, found);
		break;
	default:
		(void)err_set(&e, ERR_AMBIGUOUS, "several jobs' ids begin "
		    "with \"%s\"; give more of the id", r->name);
		fail(r, &e);
		break;
	}
}

static void
on_list(void *cookie, const struct store_msg *m, int *fd)
{
	struct resolve *r = cookie;

	if (m->op == STORE_ERROR) {
		fail(r, &m->u.error);
		return;
	}
	if (joblist_take(&r->list, m, *fd) == -1) {
		damaged(r, "list of jobs");
		return;
	}
	if (strcmp(r->name, "last") == 0) {
		if (r->list.n == 0)
			not_found(r);
		else
			give(r, 0);
		return;
	}
	r->label = label_new(r->sc, &r->list, r->name, on_label, r);
	if (r->label == NULL)
		on_label(r, -1);
}

static void
ask_list(struct resolve *r)
{
	struct store_msg m;

	memset(&m, 0, sizeof(m));
	m.op = STORE_JOB_LIST;
	m.u.list.limit = LIMIT_LIST_JOBS;
	if (strcmp(r->name, "last") == 0)
		m.u.list.limit = 1;
	store_request(r->sc, &m, -1, on_list, r);
}

static void
on_job(void *cookie, const struct store_msg *m, int *fd)
{
	struct resolve *r = cookie;
	struct job_record rec;

	(void)fd;
	if (m->op == STORE_ERROR && m->u.error.code == ERR_NOT_FOUND)
		ask_list(r);            /* a label may look like an id */
	else if (m->op == STORE_ERROR)
		fail(r, &m->u.error);
	else if (job_record_parse(m->u.ok.data.p, m->u.ok.data.len,
	    &rec) == -1)
		damaged(r, "job record");
	else
		r->fn(r->cookie, &rec, NULL);
}

static void
ask_job(struct resolve *r)
{
	struct store_msg m;

	memset(&m, 0, sizeof(m));
	m.op = STORE_JOB_GET;
	memcpy(m.u.job.job, r->name, sizeof(m.u.job.job));
	store_request(r->sc, &m, -1, on_job, r);
}

struct resolve *
resolve_new(struct store_client *sc, const char *name, resolve_fn *fn,
    void *cookie)
{
	struct resolve *r;

	if (NEW_ARRAY(r, 1) == -1)
		return (NULL);
	r->sc = sc;
	memcpy(r->name, name, strnlen(name, LIMIT_NAME));
	r->fn = fn;
	r->cookie = cookie;
	if (text_job_id_valid(r->name))
		ask_job(r);
	else
		ask_list(r);
	return (r);
}

void
resolve_free(struct resolve *r)
{
	if (r == NULL)
		return;
	label_free(r->label);
	store_cancel(r->sc, r);
	joblist_done(&r->list);
	free(r);
}
