/*
 * Signals to the client: counted in a handler, acted on elsewhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "out.h"
#include "signals.h"

static int wake[2] = { -1, -1 };
static volatile sig_atomic_t seen[65];
static volatile sig_atomic_t early;

static void
on_signal(int sig)
{
	int e = errno;

	if (early)
		_exit(sig == SIGINT ? EXIT_INTERRUPTED : 128 + sig);
	seen[sig]++;
	if (write(wake[1], "", 1) == -1)
		seen[0] = 1;            /* full: it will be looked at anyway */
	errno = e;
}

int
signals_catch(void)
{
	static const int sigs[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction sa = { .sa_handler = on_signal }, old;
	size_t i;

	if (wake[0] != -1)
		return (0);
	if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) == -1)
		return (-1);
	for (i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++) {
		if (sigaction(sigs[i], &sa, &old) == -1)
			return (-1);
		/* nohup is meant; others a shell ignores in the background. */
		if (sigs[i] == SIGHUP && old.sa_handler == SIG_IGN)
			(void)signal(SIGHUP, SIG_IGN);
	}
	(void)signal(SIGPIPE, SIG_IGN);
	return (0);
}

void
signals_catch_tty(void)
{
	static const int sigs[] = { SIGWINCH, SIGTSTP, SIGCONT };
	struct sigaction sa = { .sa_handler = on_signal };
	size_t i;

	for (i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		(void)sigaction(sigs[i], &sa, NULL);
}

void
signals_early(int on)
{
	early = on;
}

int
signals_seen(int sig)
{
	return (seen[sig]);
}

int
signals_any(void)
{
	return (seen[SIGINT] + seen[SIGTERM] + seen[SIGHUP] + seen[SIGQUIT]);
}

void
signals_clear(int sig)
{
	seen[sig] = 0;
}

void
signals_pretend(int sig)
{
	seen[sig]++;
}

int
signals_fd(void)
{
	return (wake[0]);
}

void
signals_drain(void)
{
	char drain[64];

	while (read(wake[0], drain, sizeof(drain)) > 0)
		continue;
}
