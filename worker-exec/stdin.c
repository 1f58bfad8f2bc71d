/*
 * The job's input, in its keeper.  Moves bytes between descriptors that it was
 * given and looks at none of them.
 */
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "stdin.h"

#define MOVE_MAX        (1024 * 1024)
#define MUCH            (4 * 1024 * 1024)       /* then in larger pieces */
#define PIPE_BIG        (256 * 1024)
#define KEY_EOF         0x04            /* Ctrl-D */
#define EOFS            100             /* one for each read that asks */

void
feed_init(struct feed *f)
{

	memset(f, 0, sizeof(*f));
	f->from = f->to = -1;
}

/* No more of it: whoever writes hears that his pipe is broken. */
static void
close_all(struct feed *f)
{

	io_close(&f->from);
	if (!f->tty)
		io_close(&f->to);
	f->to = -1;
	f->stuck = 0;
	f->at = f->len = 0;
}

void
feed_done(struct feed *f)
{

	close_all(f);
	explicit_bzero(f->typed, sizeof(f->typed));
}

int
feed_from(struct feed *f, int fd)
{
	struct stat st;

	if (f->from != -1 || f->ending || fstat(fd, &st) == -1 ||
	    !S_ISFIFO(st.st_mode) || io_nonblock(fd) == -1)
		return (-1);
	f->from = fd;
	return (0);
}

void
feed_pipe(struct feed *f, int fd)
{

	f->to = fd;
}

static size_t
in_pipe(const struct feed *f)
{
	int n = 0;

	if (f->from == -1 || ioctl(f->from, FIONREAD, &n) == -1 || n < 0)
		return (0);
	return ((size_t)n);
}

uint64_t
feed_offset(const struct feed *f)
{

	return (f->taken + in_pipe(f));
}

/*
 * A pipe ends when it is closed.  A terminal has no end: it is typed, once for
 * each of some reads; or it is hung up, when nobody is there any more.
 */
static void
finish(struct feed *f)
{

	if (!f->tty || f->lost) {
		f->hang_up = f->tty;
		close_all(f);
		return;
	}
	io_close(&f->from);
	memset(f->typed, KEY_EOF, EOFS);
	f->at = 0;
	f->len = EOFS;
}

/* Nothing is to be had of from: for now, or for ever. */
static void
empty(struct feed *f, int dry)
{

	f->dry = (uint8_t)dry;
	if (f->ending)
		finish(f);
}

/* A flood takes fewer turns through larger pipes.  Best effort. */
static void
enlarge(struct feed *f)
{

	if (f->big || f->taken < MUCH)
		return;
	f->big = 1;
	(void)fcntl(f->from, F_SETPIPE_SZ, PIPE_BIG);
	(void)fcntl(f->to, F_SETPIPE_SZ, PIPE_BIG);
}

static void
move_pipe(struct feed *f)
{
	ssize_t n;

	n = splice(f->from, NULL, f->to, NULL, MOVE_MAX,
	    SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n > 0) {
		f->taken += (uint64_t)n;
		enlarge(f);
	} else if (n == 0)
		empty(f, 1);
	else if (errno == EAGAIN && in_pipe(f) > 0)
		f->stuck = 1;
	else if (errno == EAGAIN)
		empty(f, 0);
	else if (errno != EINTR)
		close_all(f);
}

/* Type what is waiting; 1 when there is nothing left of it. */
static int
type(struct feed *f)
{
	ssize_t n;

	if (f->at == f->len)
		return (1);
	n = write(f->to, f->typed + f->at, f->len - f->at);
	if (n > 0)
		f->at += (size_t)n;
	else if (n == -1 && errno == EAGAIN)
		f->stuck = 1;
	else if (n == 0 || errno != EINTR)
		close_all(f);
	return (f->at == f->len);
}

static void
move_terminal(struct feed *f)
{
	ssize_t n;

	if (!type(f) || f->from == -1 || f->to == -1)
		return;
	n = read(f->from, f->typed, sizeof(f->typed));
	if (n > 0) {
		f->taken += (uint64_t)n;
		f->at = 0;
		f->len = (size_t)n;
	} else if (n == 0)
		empty(f, 1);
	else if (errno == EAGAIN)
		empty(f, 0);
	else if (errno != EINTR)
		close_all(f);
	(void)type(f);
}

/* That the last was taken, nobody else will say. */
static void
move(struct feed *f)
{

	if (f->to == -1)
		return;
	if (f->tty)
		move_terminal(f);
	else if (f->from != -1)
		move_pipe(f);
	if (f->ending && f->from != -1 && f->to != -1 && f->at == f->len &&
	    in_pipe(f) == 0) {
		finish(f);
		(void)type(f);
	}
}

/* What was sent before this was heard is in the pipe already. */
void
feed_end(struct feed *f, int lost)
{

	if (f->ending)
		return;
	f->ending = 1;
	f->lost = lost != 0;
	if (f->to != -1 && f->from == -1)
		finish(f);
	move(f);
}

void
feed_terminal(struct feed *f, int fd, int input)
{

	f->tty = 1;
	f->to = fd;
	if (!input)
		feed_end(f, 0);
	else if (f->ending && in_pipe(f) == 0)
		finish(f);
}

void
feed_poll(const struct feed *f, struct pollfd *p)
{
	int typing = f->tty && f->at < f->len;

	p[0].fd = f->to == -1 || f->stuck || typing || f->dry ? -1 : f->from;
	p[0].events = POLLIN;
	/* That the command closed its end is told without asking. */
	p[1].fd = f->tty && !f->stuck && !typing ? -1 : f->to;
	p[1].events = f->stuck || typing ? POLLOUT : 0;
	p[0].revents = p[1].revents = 0;
}

void
feed_turn(struct feed *f, const struct pollfd *p)
{

	if (p[0].revents == 0 && p[1].revents == 0)
		return;
	if (!f->tty && (p[1].revents & POLLERR) != 0) {
		close_all(f);
		return;
	}
	f->stuck = 0;
	move(f);
}
