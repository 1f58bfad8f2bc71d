/*
 * Values for what errandd.conf leaves out.  Looks at the host (processors,
 * memory, names, the place of our own program) and changes nothing.
 */
#include <sys/types.h>
#include <sys/stat.h>

#include <errno.h>
#include <linux/limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "config_defaults.h"

#define MIB     (UINT64_C(1024) * 1024)
#define HOUR    (UINT64_C(3600) * 1000000)

/*
 * Workers are beside our own program in a build tree, else where they are
 * installed.
 */
static char *
default_workers(void)
{
	char self[PATH_MAX], path[PATH_MAX + 16];
	ssize_t n;
	char *slash;

	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n > 0) {
		self[n] = '\0';
		if ((slash = strrchr(self, '/')) != NULL)
			*slash = '\0';
		snprintf(path, sizeof(path), "%s/errand-store", self);
		if (access(path, X_OK) == 0)
			return (strdup(self));
	}
	return (strdup(LIBEXECDIR));
}

static char *
user_dir(const char *xdg, const char *home_rel, const char *last)
{
	const char *s = getenv(xdg), *home = getenv("HOME");
	char *out;
	int n = -1;

	if (s != NULL && s[0] == '/')
		n = asprintf(&out, "%s/%s", s, "errand");
	else if (home_rel != NULL && home != NULL && home[0] == '/')
		n = asprintf(&out, "%s/%s", home, home_rel);
	else
		n = asprintf(&out, "%s-%u", last, (unsigned int)getuid());
	return (n == -1 ? NULL : out);
}

static int
default_dirs(struct config *c)
{
	if (c->rootless) {
		c->state_dir = user_dir("XDG_STATE_HOME",
		    ".local/state/errand", "/tmp/errand-state");
		c->run_dir = user_dir("XDG_RUNTIME_DIR", NULL, "/tmp/errand");
	} else {
		c->state_dir = strdup(STATEDIR);
		c->run_dir = strdup(RUNDIR);
	}
	c->worker_dir = default_workers();
	if (c->state_dir == NULL || c->run_dir == NULL ||
	    c->worker_dir == NULL)
		return (-1);
	return (0);
}

static uint32_t
online(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return (n < 1 ? 1 : n > 1024 ? 1024 : (uint32_t)n);
}

/* Half of what the host has: a job shall not starve it. */
static uint64_t
half_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	uint64_t half;

	if (pages < 1 || size < 1)
		return (512 * MIB);
	half = (uint64_t)pages * (uint64_t)size / 2;
	return (half < 256 * MIB ? 256 * MIB : half / MIB * MIB);
}

int
config_defaults(struct config *c)
{
	char host[LIMIT_NAME];

	if (default_dirs(c) == -1)
		return (-1);
	if (gethostname(host, sizeof(host)) == -1 || host[0] == '\0')
		memcpy(host, "localhost", sizeof("localhost"));
	host[sizeof(host) - 1] = '\0';
	if ((c->host_name = strdup(host)) == NULL)
		return (-1);
	c->worker_uids = (struct uid_range){ 1879048192, 1879048447 };
	c->tenant_uids = (struct uid_range){ 1879113728, 1879179263 };
	c->slots = online();
	c->idle_workers = 2;
	c->idle_sandboxes = 32;
	c->tenant_sandboxes = 16;
	c->stop_timeout_us = 10 * UINT64_C(1000000);
	c->keep = (struct keep_conf){
		.jobs = 10000,
		.logs = 16384 * MIB,
		.keep_us = 14 * 24 * HOUR,
		.cache_size = 4096 * MIB,
		.cache_total = 16384 * MIB,
	};
	c->client_lease_us = 60 * UINT64_C(1000000);
	c->defaults = (struct job_limits){
		.cpus_milli = online() * 1000,
		.pids = 2048,
		.memory = half_memory(),
		.disk = 0,      /* a file system for each job: by choice */
		.runtime_us = HOUR,
		.cpu_us = 0,
		.log_bytes = 64 * MIB,
		.changes = 200000,
	};
	return (0);
}
