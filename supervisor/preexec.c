/*
 * Between fork and exec of a worker: no memory is allocated, nothing returns.
 * The like for a job's command is worker-exec/preexec.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/chan.h"
#include "preexec.h"

#define EXIT_SYSTEM     111

static void
signals_reset(void)
{
	sigset_t none;
	int sig;

	for (sig = 1; sig < NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			(void)signal(sig, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * The channel goes to 3 first: the descriptors 0 and 1 may be free, and then
 * it could be one of them.
 */
void
preexec_worker(const char *path, char **argv, int chan)
{
	static char *env[] = { NULL };
	int null;

	signals_reset();
	(void)setsid();
	(void)umask(077);
	if (chan == CHAN_FD) {
		if (fcntl(chan, F_SETFD, 0) == -1)
			goto err0;
	} else if (dup2(chan, CHAN_FD) == -1)
		goto err0;
	if ((null = open("/dev/null", O_RDWR)) == -1 ||
	    dup2(null, STDIN_FILENO) == -1 ||
	    dup2(null, STDOUT_FILENO) == -1)
		goto err0;
	if (close_range(CHAN_FD + 1, ~0U, 0) == -1)
		goto err0;
	if (chdir("/") == -1)
		goto err0;
	(void)execve(path, argv, env);

err0:
	dprintf(STDERR_FILENO, "supervisor: %s: %s; install the programs of "
	    "this release there, or set worker_dir\n", path, strerror(errno));
	_exit(EXIT_SYSTEM);
}
