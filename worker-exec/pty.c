/*
 * A job's terminal.  Opens /dev/pts/ptmx of the view it runs in, and looks for
 * descriptions of terminals there.
 */
#include <sys/ioctl.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "lib/io.h"
#include "pty.h"

#define NITEMS(a)       (sizeof(a) / sizeof((a)[0]))
#define NAME_MAX_TERM   64

int
pty_open(uint16_t rows, uint16_t cols, int *master, int *slave)
{
	const struct winsize ws = { .ws_row = rows, .ws_col = cols };
	struct termios tio;
	int zero = 0;

	*master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC |
	    O_NONBLOCK);
	if (*master == -1)
		return (-1);
	/* By the master, not by name: it can be no other. */
	if (ioctl(*master, TIOCSPTLCK, &zero) == -1 ||
	    (*slave = ioctl(*master, TIOCGPTPEER, O_RDWR | O_NOCTTY |
	    O_CLOEXEC)) == -1)
		goto err1;
	if (ioctl(*master, TIOCSWINSZ, &ws) == -1 ||
	    tcgetattr(*slave, &tio) == -1)
		goto err2;
	tio.c_iflag |= IUTF8;
	if (tcsetattr(*slave, TCSANOW, &tio) == -1)
		goto err2;
	return (0);

err2:
	io_close(slave);
err1:
	io_close(master);
	return (-1);
}

int
pty_adopt(int slave)
{
	int fd;

	if (ioctl(slave, TIOCSCTTY, 0) == -1)
		return (-1);
	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (dup2(slave, fd) == -1)
			return (-1);
	return (0);
}

/* Where ncurses looks, in its order. */
static int
is_known(const char *name)
{
	static const char *const places[] = { "/etc/terminfo", "/lib/terminfo",
	    "/usr/share/terminfo", "/usr/lib/terminfo" };
	char path[128];
	size_t i;

	if (*name == '\0' || strlen(name) > NAME_MAX_TERM ||
	    strchr(name, '/') != NULL || *name == '.')
		return (0);
	for (i = 0; i < NITEMS(places); i++) {
		(void)snprintf(path, sizeof(path), "%s/%c/%s", places[i],
		    *name, name);
		if (access(path, R_OK) == 0)
			return (1);
	}
	return (0);
}

void
pty_term(char **env)
{
	static char others[][24] = { "TERM=xterm-256color", "TERM=xterm",
	    "TERM=vt100" };
	size_t i;

	for (; *env != NULL; env++)
		if (strncmp(*env, "TERM=", 5) == 0)
			break;
	if (*env == NULL || strcmp(*env, "TERM=dumb") == 0 ||
	    is_known(*env + 5))
		return;
	for (i = 0; i < NITEMS(others); i++) {
		if (is_known(others[i] + 5)) {
			*env = others[i];
			return;
		}
	}
}
