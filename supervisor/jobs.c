/*
 * The table of jobs that have not ended, their slots and their queue.  Opens
 * nothing itself.  What clients see of jobs is in worker-snapshot/jobs.c, what
 * stays of them in worker-store/jobs.c.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "conn.h"
#include "exec_dispatch.h"
#include "job_dispatch.h"
#include "jobs.h"
#include "lib/io.h"
#include "lib/log.h"
#include "store_client.h"
#include "sup.h"
#include "tenants.h"
#include "tenants_limits.h"

/*
 * Invariants:
 *  1. all is in order of admission.
 *  2. running counts the jobs with a slot, queued those in state QUEUED that
 *     are not settling.
 */
struct jobs {
	struct sup *sup;
	TAILQ_HEAD(, job) all;
	uint32_t count, running, queued;
	int kicking;
	void (*gone)(struct sup *);
};

struct jobs *
jobs_new(struct sup *sup)
{
	struct jobs *js;

	if ((js = calloc(1, sizeof(*js))) == NULL)
		return (NULL);
	js->sup = sup;
	TAILQ_INIT(&js->all);
	return (js);
}

void
jobs_free(struct jobs *js)
{
	struct job *j;

	if (js == NULL)
		return;
	js->gone = NULL;
	while ((j = TAILQ_FIRST(&js->all)) != NULL)
		job_free(j);
	free(js);
}

void
jobs_on_gone(struct jobs *js, void (*fn)(struct sup *))
{
	js->gone = fn;
}

struct job *
jobs_find(struct jobs *js, const char *id)
{
	struct job *j;

	TAILQ_FOREACH(j, &js->all, all)
		if (strcmp(j->rec.id, id) == 0)
			return (j);
	return (NULL);
}

struct job *
jobs_next(struct jobs *js, struct job *j)
{
	return (j == NULL ? TAILQ_FIRST(&js->all) : TAILQ_NEXT(j, all));
}

uint32_t
jobs_running(const struct jobs *js)
{
	return (js->running);
}

uint32_t
jobs_queued(const struct jobs *js)
{
	return (js->queued);
}

uint32_t
jobs_count(const struct jobs *js)
{
	return (js->count);
}

struct job *
job_new(struct sup *sup, struct tenant *t)
{
	struct jobs *js = sup->jobs;
	struct job *j;

	if ((j = calloc(1, sizeof(*j))) == NULL)
		return (NULL);
	j->sup = sup;
	j->tenant = t;
	j->phase = KEEPER_NONE;
	j->values_fd = -1;
	TAILQ_INIT(&j->watches);
	evtimer_assign(&j->timer, sup->base, job_on_timer, j);
	evtimer_assign(&j->logack, sup->base, job_on_logack, j);
	job_input_init(j);
	job_meter_init(j, sup->base);
	j->rec.state = JOB_QUEUED;
	j->rec.tenant_id = t->conf.id;
	memcpy(j->rec.tenant, t->conf.name, sizeof(j->rec.tenant));
	text_job_id(j->rec.id);
	TAILQ_INSERT_TAIL(&js->all, j, all);
	js->count++;
	js->queued++;
	t->queued++;
	return (j);
}

void
job_slot(struct job *j, int take)
{
	struct jobs *js = j->sup->jobs;
	int step = take ? 1 : -1;

	if (j->slot == take)
		return;
	j->slot = take;
	js->running += (uint32_t)step;
	j->tenant->running += (uint32_t)step;
	if (take && j->rec.state == JOB_QUEUED) {
		j->rec.state = JOB_STARTING;
		js->queued--;
		j->tenant->queued--;
	}
}

static void
watches_drop(struct job *j)
{
	struct watch *w;

	while ((w = TAILQ_FIRST(&j->watches)) != NULL)
		watch_free(w);
}

int
job_values(struct job *j)
{
	int fd = j->values_fd;

	j->tenant->values -= j->values;
	j->values = 0;
	j->values_fd = -1;
	return (fd);
}

void
job_free(struct job *j)
{
	struct sup *sup = j->sup;
	struct jobs *js = sup->jobs;
	int values = job_values(j);

	if (!j->slot && j->rec.state == JOB_QUEUED) {
		js->queued--;
		j->tenant->queued--;
	}
	job_slot(j, 0);
	store_forget(sup->store, j->request);
	if (j->settling)
		TAILQ_REMOVE(&j->tenant->chain.waiting, j, settle);
	watches_drop(j);
	evtimer_del(&j->timer);
	evtimer_del(&j->logack);
	job_input_done(j);
	job_meter_stop(j);
	io_close(&values);
	disk_unwait(j->disk);
	sandbox_free(j->box);
	TAILQ_REMOVE(&js->all, j, all);
	js->count--;
	free(j);
	if (js->gone != NULL)
		js->gone(sup);
}

int
jobs_slot_free(const struct jobs *js, const struct tenant *t)
{
	return (js->running < js->sup->cfg->slots &&
	    t->running < tenant_slots(js->sup->tenants, t));
}

/* Whose turn it is: durable, queued, of a tenant with the fewest running. */
static struct job *
queue_next(struct jobs *js)
{
	struct job *j, *best = NULL;

	TAILQ_FOREACH(j, &js->all, all) {
		if (j->rec.state != JOB_QUEUED || !j->published || j->doomed ||
		    j->request != 0 || j->settling ||
		    !jobs_slot_free(js, j->tenant))
			continue;
		if (best == NULL || j->tenant->running < best->tenant->running)
			best = j;
	}
	return (best);
}

/*
 * A queued job's record says QUEUED; the mark that it starts must be durable
 * before it does, as with any other.
 */
static void
queue_start(struct job *j)
{
	job_slot(j, 1);
	conn_job_state(j);
	if (job_publish(j) == -1) {
		job_fail(j, ERR_BUSY, "the store could not be asked to start "
		    "the job; submit it again");
		return;
	}
	if (job_start(j) == -1)
		job_finish(j);
}

void
jobs_kick(struct jobs *js)
{
	const char *why;
	struct job *j;

	if (js->kicking || js->sup->stopping ||
	    !exec_link_ready(js->sup->exec, &why) ||
	    !store_client_up(js->sup->store))
		return;
	js->kicking = 1;
	while ((j = queue_next(js)) != NULL)
		queue_start(j);
	js->kicking = 0;
}

void
jobs_exec_lost(struct jobs *js)
{
	struct job *j, *next;

	for (j = TAILQ_FIRST(&js->all); j != NULL; j = next) {
		next = TAILQ_NEXT(j, all);
		if (j->phase != KEEPER_NONE && j->phase != KEEPER_DONE)
			job_keeper_lost(j, "the process that runs sandboxes "
			    "(errand-exec) ended");
	}
}

void
jobs_store_back(struct jobs *js)
{
	struct tenant *t;
	struct job *j;

	TAILQ_FOREACH(j, &js->all, all)
		job_store_again(j);
	for (t = tenants_next(js->sup->tenants, NULL); t != NULL;
	    t = tenants_next(js->sup->tenants, t))
		chain_kick(js->sup, t);
	jobs_kick(js);
}

void
jobs_stop(struct jobs *js)
{
	struct job *j, *next;

	for (j = TAILQ_FIRST(&js->all); j != NULL; j = next) {
		next = TAILQ_NEXT(j, all);
		if (j->settling || j->phase >= KEEPER_ENDED)
			continue;
		if (j->fault.code == ERR_NONE) {
			j->fault.code = ERR_CANCELLED;
			snprintf(j->fault.text, sizeof(j->fault.text),
			    "the host's daemon was stopped");
		}
		job_signal(j, 0, JOB_LIMIT_NONE);
	}
}
