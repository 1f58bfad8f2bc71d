/*
 * Starts `errandd --user` for this user.  Runs one program: the errandd beside
 * this one, or the installed one.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conn.h"
#include "lib/io.h"
#include "local.h"
#include "out.h"
#include "proto/limits.h"
#include "state.h"

#define START_US        10000000ULL

extern char **environ;

/* errandd where this program is, or was installed with it, else where it
 * usually is. */
static int
find_errandd(char *out)
{
	static const char *const beside[] = { "", "/../sbin" };
	static const char *const dirs[] = { "/usr/local/sbin", "/usr/sbin" };
	char dir[PATH_MAX - 32];
	ssize_t n;
	char *slash;
	size_t i;

	n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	dir[n > 0 ? n : 0] = '\0';
	if ((slash = strrchr(dir, '/')) != NULL)
		*slash = '\0';
	for (i = 0; slash != NULL && i < sizeof(beside) / sizeof(beside[0]);
	    i++) {
		snprintf(out, PATH_MAX, "%s%s/errandd", dir, beside[i]);
		if (access(out, X_OK) == 0)
			return (0);
	}
	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(out, PATH_MAX, "%s/errandd", dirs[i]);
		if (access(out, X_OK) == 0)
			return (0);
	}
	return (-1);
}

static int
spawn_errandd(const char *path, const char *log)
{
	static char user[] = "--user";
	char *argv[] = { (char *)(uintptr_t)path, user, NULL };
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	pid_t pid;
	int rc;

	if (posix_spawn_file_actions_init(&fa) != 0)
		return (-1);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 2, log,
	    O_WRONLY | O_CREAT | O_APPEND, 0600);
	posix_spawnattr_init(&at);
	posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSID);
	rc = posix_spawn(&pid, path, &fa, &at, argv, environ);
	posix_spawnattr_destroy(&at);
	posix_spawn_file_actions_destroy(&fa);
	errno = rc;
	return (rc == 0 ? 0 : -1);
}

/* Does this user's daemon answer? */
static int
running(char *addr, char *why)
{
	struct conn *c;

	if (state_private_addr(addr, why) == -1)
		return (-1);
	if (access(addr + 5, F_OK) == -1 ||
	    (c = conn_open(addr, NULL, why)) == NULL)
		return (0);
	conn_close(c);
	return (1);
}

static int
root_refuse(char *why)
{
	snprintf(why, LIMIT_TEXT, "no host: " RUNDIR "/errand.sock is not "
	    "there, and root gets no private daemon; start errandd, or set "
	    "ERRAND_HOST=unix:PATH");
	return (-1);
}

int
local_find(char *addr, char *why)
{
	int up;

	/* One that is there and does not answer is the caller's to report. */
	if ((up = running(addr, why)) != 0 || access(addr + 5, F_OK) == 0)
		return (up == -1 ? -1 : 0);
	if (getuid() == 0)
		return (root_refuse(why));
	snprintf(why, LIMIT_TEXT, "no daemon of yours runs here, and no host "
	    "is configured; `errand run` starts one");
	return (-1);
}

int
local_start(char *addr, char *why)
{
	char path[PATH_MAX], log[PATH_MAX];
	uint64_t until;
	int up;

	if ((up = running(addr, why)) != 0)
		return (up == 1 ? 0 : -1);
	if (getuid() == 0)
		return (root_refuse(why));
	if (find_errandd(path) == -1) {
		snprintf(why, LIMIT_TEXT, "no host is configured, and there is "
		    "no errandd to start a private one, neither beside this "
		    "program, nor in ../sbin from it, /usr/local/sbin or "
		    "/usr/sbin; set ERRAND_HOST=unix:PATH");
		return (-1);
	}
	if (state_path("errandd.log", log) == -1 ||
	    spawn_errandd(path, log) == -1) {
		snprintf(why, LIMIT_TEXT, "cannot start %.200s: %s", path,
		    strerror(errno));
		return (-1);
	}
	out_warn("starting a private errandd for this user (its log: %s)",
	    log);
	until = io_mono_us() + START_US;
	while ((up = running(addr, why)) == 0) {
		if (io_mono_us() > until) {
			snprintf(why, LIMIT_TEXT, "the private errandd did "
			    "not start; its log is %.200s", log);
			return (-1);
		}
		(void)poll(NULL, 0, 10);
	}
	return (up == 1 ? 0 : -1);
}
