/*
 * Which processors a job is shown.  Touches the affinity of pid 1 of its
 * sandbox, which all of the job inherits.
 */
#include <sched.h>
#include <string.h>

#include "jobs.h"
#include "lib/log.h"
#include "sup.h"

/* How many jobs are shown each processor. */
static void
loads(const struct job *self, unsigned int *load)
{
	struct job *j = NULL;
	int cpu;

	while ((j = jobs_next(self->sup->jobs, j)) != NULL)
		for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
			load[cpu] += CPU_ISSET(cpu, &j->cpus) != 0;
}

static int
least(const cpu_set_t *all, const cpu_set_t *taken, const unsigned int *load)
{
	int cpu, best = -1;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, all) && !CPU_ISSET(cpu, taken) &&
		    (best == -1 || load[cpu] < load[best]))
			best = cpu;
	return (best);
}

/*
 * Programs start as many threads as they see processors, so a job that may use
 * few must not see all.  What it gets is the cgroup's to say.
 */
void
job_cpus(struct job *j)
{
	unsigned int load[CPU_SETSIZE] = { 0 };
	uint32_t n = j->rec.limits.cpus_milli / 1000 +
	    (j->rec.limits.cpus_milli % 1000 != 0);
	cpu_set_t all;

	CPU_ZERO(&j->cpus);
	if (n == 0 || sched_getaffinity(0, sizeof(all), &all) == -1 ||
	    n >= (uint32_t)CPU_COUNT(&all))
		return;
	loads(j, load);
	while (n-- > 0)
		CPU_SET(least(&all, &j->cpus, load), &j->cpus);
	if (cpus_priv(j->box->pid1_fd, &j->cpus) == -1) {
		log_warn("job %s: the processors it sees", j->rec.id);
		CPU_ZERO(&j->cpus);
	}
}
