/*
 * What a configuration needs of the host before anything is started.  Looks at
 * the file system and changes nothing.
 */
#include <sys/un.h>

#include <errno.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "config.h"
#include "config_check.h"
#include "lib/log.h"
#include "roles.h"
#include "state.h"

/*
 * One that is missing may be on its way, as while a package is replaced: the
 * start goes on without, and child.c tries again.  Where none is, nobody will
 * come.
 */
static int
workers_check(const struct config *cfg, int start)
{
	char path[PATH_MAX];
	int i, n, missing = 0;

	for (i = 0; i < ROLE__MAX; i++) {
		n = snprintf(path, sizeof(path), "%s/%s", cfg->worker_dir,
		    roles[i].program);
		if (n > 0 && (size_t)n < sizeof(path) &&
		    access(path, X_OK) == 0)
			continue;
		log_warnx("worker_dir = %s: %s cannot be executed there: %s; "
		    "set worker_dir to the directory that it is in",
		    cfg->worker_dir, roles[i].program, strerror(errno));
		missing++;
	}
	return (missing > (start ? ROLE__MAX - 1 : 0) ? -1 : 0);
}

static int
sockets_check(const struct config *cfg)
{
	const size_t most = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;

	if (strlen(cfg->run_dir) + strlen("/control.sock") <= most)
		return (0);
	log_warnx("run_dir = %s: a socket's path has at most %zu bytes; "
	    "choose a shorter run_dir", cfg->run_dir, most);
	return (-1);
}

int
config_check(const struct config *cfg, int start)
{
	if (workers_check(cfg, start) == -1 || sockets_check(cfg) == -1 ||
	    state_passable(cfg) == -1 || cgroups_check(cfg) == -1)
		return (-1);
	return (0);
}
