/*
 * A worker's command line and the fork for it.  Makes processes; watching them
 * is child.c's part.
 */
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <linux/limits.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "lib/log.h"
#include "preexec.h"
#include "roles.h"
#include "spawn.h"

struct command {
	char path[PATH_MAX];
	char dir[PATH_MAX];
	char uid[16];
	char gid[16];
	char level[16];
	char jobs[16];
	char *argv[15 + 2 * IMAGES_MAX];
};

static int
fits(int n, size_t size)
{
	if (n >= 0 && (size_t)n < size)
		return (1);
	errno = ENAMETOOLONG;
	return (0);
}

/*
 * errand-NAME -u UID -g UID [-d DIR] [-r] [-R] [-i NAME=PATH]... -n JOBS
 * -l LEVEL
 */
static int
command_make(const struct spawn *sp, struct command *c)
{
	const struct role *role = sp->role;
	char **a = c->argv;
	uint32_t i;

	if (!fits(snprintf(c->path, sizeof(c->path), "%s/%s",
	    sp->cfg->worker_dir, role->program), sizeof(c->path)))
		return (-1);
	snprintf(c->uid, sizeof(c->uid), "%u", sp->uid);
	snprintf(c->gid, sizeof(c->gid), "%u", sp->cfg->rootless ?
	    (uint32_t)getgid() : sp->uid);
	snprintf(c->jobs, sizeof(c->jobs), "%" PRIu32, sp->cfg->slots);
	snprintf(c->level, sizeof(c->level), "%d", sp->level);
	*a++ = c->path;
	*a++ = (char *)(uintptr_t)"-u";
	*a++ = c->uid;
	*a++ = (char *)(uintptr_t)"-g";
	*a++ = c->gid;
	if (role->dir != NULL) {
		if (!fits(snprintf(c->dir, sizeof(c->dir), "%s/%s",
		    sp->cfg->state_dir, role->dir), sizeof(c->dir)))
			return (-1);
		*a++ = (char *)(uintptr_t)"-d";
		*a++ = c->dir;
	}
	if (sp->cfg->rootless)
		*a++ = (char *)(uintptr_t)"-r";
	if (sp->rebuild)
		*a++ = (char *)(uintptr_t)"-R";
	for (i = 0; role->images && i < sp->cfg->nimages; i++) {
		*a++ = (char *)(uintptr_t)"-i";
		*a++ = sp->cfg->images[i].arg;
	}
	*a++ = (char *)(uintptr_t)"-n";
	*a++ = c->jobs;
	*a++ = (char *)(uintptr_t)"-l";
	*a++ = c->level;
	*a = NULL;
	return (0);
}

/*
 * The pidfd is taken before anybody can have reaped the child: nobody but
 * child.c waits, and only through it.
 */
int
spawn_worker(const struct spawn *sp, pid_t *pid, int *pidfd)
{
	struct command cmd;

	if (command_make(sp, &cmd) == -1)
		goto err0;
	if ((*pid = fork()) == -1)
		goto err0;
	if (*pid == 0)
		preexec_worker(cmd.path, cmd.argv, sp->chan);
	if ((*pidfd = (int)syscall(SYS_pidfd_open, *pid, 0)) == -1)
		goto err1;
	return (0);

err1:
	(void)kill(*pid, SIGKILL);
	(void)waitpid(*pid, NULL, 0);
err0:
	log_warn("start %s", sp->role->program);
	return (-1);
}
