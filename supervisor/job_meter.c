/*
 * Limits that nothing but looking finds reached: what a job has written to its
 * disk, and the processor time of all its processes.  Reads its cgroup and its
 * file system's figures.
 *
 * The kernel gives no more than the disk holds, so looking late costs nothing
 * but time; processor time is looked at when it could be over at the earliest,
 * by the processors that the job may use.
 */
#include <event2/event.h>
#include <string.h>

#include "cgroup.h"
#include "jobs.h"
#include "lib/log.h"
#include "sandbox.h"

#define DISK_US         UINT64_C(200000)
#define CPU_LEAST_US    UINT64_C(10000)
#define CPU_MOST_US     UINT64_C(5000000)

/* What the job used; what making the sandbox took is not its own. */
static uint64_t
cpu_used(const struct job *j)
{
	uint64_t us = cgroup_cpu(j->box->cgroup);

	return (us > j->box->cpu_made ? us - j->box->cpu_made : 0);
}

/* Microseconds until the time may be used up; 0: it is.  Never: no limit. */
static uint64_t
cpu_left(const struct job *j)
{
	uint64_t limit = j->rec.limits.cpu_us, used, left;
	uint32_t n = (j->rec.limits.cpus_milli + 999) / 1000;

	if (limit == 0)
		return (UINT64_MAX);
	if ((used = cpu_used(j)) >= limit)
		return (0);
	left = (limit - used) / (n == 0 ? 1024 : n);
	return (left < CPU_LEAST_US ? CPU_LEAST_US : left > CPU_MOST_US ?
	    CPU_MOST_US : left);
}

static void
again(struct job *j, uint64_t us)
{
	struct timeval tv = {
		.tv_sec = (time_t)(us / 1000000),
		.tv_usec = (suseconds_t)(us % 1000000)
	};

	if (evtimer_add(&j->meter, &tv) == -1)
		log_warnx("job %s: timer", j->rec.id);
}

static void
reached(struct job *j, enum job_limit limit)
{
	log_info("job %s: limit: %s", j->rec.id, job_limit_name(limit));
	job_signal(j, 0, limit);
}

static void
look(evutil_socket_t fd, short what, void *cookie)
{
	struct job *j = cookie;
	enum job_limit limit;
	uint64_t left;

	(void)fd;
	(void)what;
	if (j->rec.state != JOB_RUNNING || j->box == NULL)
		return;
	if ((limit = disk_full(&j->box->disk)) != JOB_LIMIT_NONE) {
		reached(j, limit);
		return;
	}
	if ((left = cpu_left(j)) == 0) {
		reached(j, JOB_LIMIT_CPU_TIME);
		return;
	}
	if (j->box->disk.dir != -1 && left > DISK_US)
		left = DISK_US;
	if (left != UINT64_MAX)
		again(j, left);
}

void
job_meter_init(struct job *j, struct event_base *base)
{
	evtimer_assign(&j->meter, base, look, j);
}

void
job_meter_start(struct job *j)
{
	uint64_t left = cpu_left(j);

	if (j->box->disk.dir != -1 && left > DISK_US)
		left = DISK_US;
	if (left != UINT64_MAX)
		again(j, left);
}

void
job_meter_stop(struct job *j)
{
	evtimer_del(&j->meter);
}
