/*
 * The order in which the daemon ends.  Has the other parts stop, keeps time,
 * and then ends the event loop.
 */
#include <event2/event.h>
#include <event2/event_struct.h>

#include "child.h"
#include "config.h"
#include "exec_dispatch.h"
#include "jobs.h"
#include "lib/log.h"
#include "listen.h"
#include "notify.h"
#include "pool.h"
#include "sandbox_pool.h"
#include "stop.h"
#include "store_client.h"
#include "sup.h"

#define SECOND          1000000
#define WORKERS_SEC     6       /* for all workers to end */

/* Steps of sup->stopping; each begins once. */
enum { RUNNING, STOP_JOBS, STOP_WORKERS, STOP_STORE, STOP_DONE };

static struct event timer;

static void
done(struct sup *sup)
{
	sup->stopping = STOP_DONE;
	(void)event_base_loopbreak(sup->base);
}

static void
step(struct sup *sup)
{
	if (sup->stopping == STOP_WORKERS && pool_down(sup->pool) &&
	    child_state(exec_link_child(sup->exec)) == CHILD_DOWN) {
		sup->stopping = STOP_STORE;
		child_event(store_client_child(sup->store), CHILD_STOP);
	}
	if (sup->stopping == STOP_STORE &&
	    child_state(store_client_child(sup->store)) == CHILD_DOWN)
		done(sup);
}

static void
workers_stop(struct sup *sup)
{
	struct timeval tv = { WORKERS_SEC, 0 };

	if (sup->stopping != STOP_JOBS)
		return;
	if (jobs_count(sup->jobs) > 0)
		log_warnx("%u jobs did not settle in time; the next start "
		    "says what became of them", jobs_count(sup->jobs));
	sup->stopping = STOP_WORKERS;
	evtimer_del(&timer);
	(void)evtimer_add(&timer, &tv);
	child_event(exec_link_child(sup->exec), CHILD_STOP);
	pool_stop(sup->pool);
	step(sup);
}

static void
on_timer(evutil_socket_t fd, short what, void *cookie)
{
	struct sup *sup = cookie;

	(void)fd;
	(void)what;
	if (sup->stopping == STOP_JOBS)
		workers_stop(sup);
	else
		done(sup);
}

void
stop_begin(struct sup *sup)
{
	uint64_t us = sup->cfg->stop_timeout_us;
	struct timeval tv = {
		.tv_sec = (time_t)(us / SECOND),
		.tv_usec = (suseconds_t)(us % SECOND)
	};

	if (sup->stopping != RUNNING)
		return;
	sup->stopping = STOP_JOBS;
	log_info("stopping");
	notify("STOPPING=1");
	listen_stop(sup->listeners);
	evtimer_assign(&timer, sup->base, on_timer, sup);
	(void)evtimer_add(&timer, &tv);
	sandbox_pool_stop(sup->sandboxes);
	jobs_stop(sup->jobs);
	stop_job_gone(sup);
}

void
stop_job_gone(struct sup *sup)
{
	if (sup->stopping == STOP_JOBS && jobs_count(sup->jobs) == 0)
		workers_stop(sup);
}

void
stop_child_down(struct sup *sup)
{
	if (sup->stopping >= STOP_WORKERS)
		step(sup);
}
