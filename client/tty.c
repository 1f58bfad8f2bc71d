/*
 * The caller's terminal: its size, its modes, and that they come back.
 */
#include <sys/ioctl.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "out.h"
#include "tty.h"

static struct termios was;
static struct termios raw;
static volatile sig_atomic_t is_raw;

int
tty_is(void)
{
	return (isatty(STDIN_FILENO));
}

void
tty_size(uint16_t *rows, uint16_t *cols)
{
	struct winsize ws;
	int fd;

	*rows = 24;
	*cols = 80;
	for (fd = 0; fd <= STDERR_FILENO; fd++) {
		if (ioctl(fd, TIOCGWINSZ, &ws) == -1 || ws.ws_row == 0 ||
		    ws.ws_col == 0)
			continue;
		*rows = ws.ws_row;
		*cols = ws.ws_col;
		return;
	}
}

/* Only what may be done in a handler. */
static void
put_back(void)
{
	if (!is_raw)
		return;
	is_raw = 0;
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &was);
}

/* The end by any other signal than those that follow.c waits for. */
static void
on_fatal(int sig)
{
	put_back();
	(void)signal(sig, SIG_DFL);
	(void)raise(sig);
}

static void
guard(void)
{
	static const int sigs[] = { SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL,
	    SIGIO, SIGPROF, SIGSEGV, SIGSYS, SIGTRAP, SIGUSR1, SIGUSR2,
	    SIGVTALRM, SIGXCPU, SIGXFSZ };
	struct sigaction sa = { .sa_handler = on_fatal,
	    .sa_flags = (int)SA_NODEFER };
	static int done;
	size_t i;

	if (done)
		return;
	done = 1;
	(void)atexit(tty_restore);
	for (i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		(void)sigaction(sigs[i], &sa, NULL);
}

/* In the background the kernel stops us here, until we are brought back. */
static void
set_raw(void)
{
	int rc;

	do
		rc = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	while (rc == -1 && errno == EINTR);
}

void
tty_raw(void)
{
	if (is_raw || tcgetattr(STDIN_FILENO, &was) == -1)
		return;
	guard();
	raw = was;
	cfmakeraw(&raw);
	is_raw = 1;
	set_raw();
	out_raw(1);
}

void
tty_again(void)
{
	if (is_raw)
		set_raw();
}

void
tty_restore(void)
{
	put_back();
	out_raw(0);
}

void
tty_stop(void)
{
	int had = is_raw;

	tty_restore();
	(void)raise(SIGSTOP);
	if (had)
		tty_raw();
}
