/*
 * What a job reads, and its terminal, in its keeper: how they are made and what
 * errandd says about them.  Bytes are moved by stdin.c and pump.c.
 */
#include <sys/ioctl.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "keeper_internal.h"
#include "lib/chan.h"
#include "lib/io.h"
#include "lib/log.h"
#include "preexec.h"
#include "proto/job_msg.h"

#define LAST_READS      64      /* of a terminal, before it is hung up */

/* Made by the tenant, so that the job may open it again by name. */
static int
pipe_make(struct keeper *k, int *fd)
{
	int in[2];

	if (pipe2(in, O_CLOEXEC) == -1)
		return (-1);
	*fd = in[0];
	feed_pipe(&k->feed, in[1]);
	return (io_nonblock(in[1]));
}

/* The command into the message, or as a memfd beside it.  0 or -1. */
static int
image_put(struct keeper *k, struct gate_command *g, int *fds, size_t *nfds)
{
	const struct command_image *im = &k->command;

	if (im->len <= sizeof(g->image)) {
		memcpy(g->image, im->p, im->len);
		g->m.len = (uint32_t)im->len;
		return (0);
	}
	if ((fds[*nfds] = command_memfd(im)) == -1)
		return (keeper_fault_step(k, "the command", errno));
	(*nfds)++;
	return (0);
}

/* What it reads, if that is a pipe.  0 or -1. */
static int
input_put(struct keeper *k, const struct gate_command *g, int *fds,
    size_t *nfds)
{
	if (!g->m.input || g->m.tty)
		return (0);
	if (pipe_make(k, &fds[*nfds]) == -1) {
		io_close(&fds[*nfds]);
		return (keeper_fault_step(k, "a pipe", errno));
	}
	(*nfds)++;
	return (0);
}

int
keeper_give(struct keeper *k)
{
	struct gate_command g = { .m = { .op = GATE_COMMAND,
	    .rows = k->run->rows, .cols = k->run->cols } };
	int fds[2] = { -1, -1 }, rc = -1;
	size_t nfds = 0;

	g.m.tty = (k->run->flags & JOBC_RUN_TTY) != 0;
	g.m.input = (k->run->flags & JOBC_RUN_INPUT) != 0;
	if (image_put(k, &g, fds, &nfds) == 0 &&
	    input_put(k, &g, fds, &nfds) == 0) {
		if (chan_send_wait(k->gate, (const uint8_t *)&g,
		    sizeof(g.m) + g.m.len, fds, nfds) == -1)
			log_debug("job %s: nobody to run it", keeper_name(k));
		rc = 0;
	}
	io_close(&fds[0]);
	io_close(&fds[1]);
	return (rc);
}

/* It takes the place of the output's pipes, which end with what they hold. */
void
keeper_terminal(struct keeper *k, int *fds)
{
	struct pollfd p = { .events = POLLIN };
	unsigned int number;

	if (k->run == NULL || (k->run->flags & JOBC_RUN_TTY) == 0 ||
	    k->slave != -1 || ioctl(fds[0], TIOCGPTN, &number) == -1 ||
	    io_nonblock(fds[0]) == -1)
		return;
	io_close(&k->pump.fd[0]);
	io_close(&k->pump.fd[1]);
	io_close(&k->held[0]);
	io_close(&k->held[1]);
	k->pump.fd[0] = fds[0];
	k->slave = fds[1];
	fds[0] = fds[1] = -1;
	feed_terminal(&k->feed, k->pump.fd[0],
	    (k->run->flags & JOBC_RUN_INPUT) != 0);
	/* What was typed lies in a queue for the kernel to come to; who asks
	 * whether there is something to read has it come. */
	p.fd = k->slave;
	(void)poll(&p, 1, 0);
	k->terminal = 1;
}

int
keeper_input(struct keeper *k, int *fd)
{

	if (feed_from(&k->feed, *fd) == 0)
		*fd = -1;
	return (0);
}

int
keeper_input_end(struct keeper *k, const struct job_msg *m)
{

	feed_end(&k->feed, m->u.lost);
	return (0);
}

int
keeper_input_ask(struct keeper *k, const struct job_msg *m)
{
	struct job_msg r;

	(void)m;
	memset(&r, 0, sizeof(r));
	r.op = JOBC_INPUT_AT;
	r.u.offset = feed_offset(&k->feed);
	keeper_send(k, &r, NULL, 0);
	return (0);
}

int
keeper_window(struct keeper *k, const struct job_msg *m)
{
	const struct winsize ws = { .ws_row = m->u.window.rows,
	    .ws_col = m->u.window.cols };

	/* Before there is a terminal it is what that begins with. */
	k->job.rows = m->u.window.rows;
	k->job.cols = m->u.window.cols;
	if (k->slave != -1)
		(void)ioctl(k->slave, TIOCSWINSZ, &ws);
	return (0);
}

/* Everybody on it gets HUP, reads its end, and writes no more. */
static void
hang_up(struct keeper *k)
{
	int i;

	for (i = 0; i < LAST_READS && k->pump.fd[0] != -1; i++)
		pump_read(&k->pump, 0);
	feed_done(&k->feed);
	io_close(&k->slave);
	io_close(&k->pump.fd[0]);
}

/*
 * The kernel sends these to the group in the foreground, as it does when they
 * are typed; HUP is the terminal's end.
 */
int
keeper_signal_terminal(struct keeper *k, int sig)
{

	if (k->slave == -1)
		return (0);
	if (sig == SIGHUP) {
		hang_up(k);
		return (1);
	}
	if (sig != SIGINT && sig != SIGQUIT && sig != SIGTSTP)
		return (0);
	return (ioctl(k->pump.fd[0], TIOCSIG, sig) == 0);
}

void
keeper_feed_look(struct keeper *k)
{

	if (k->feed.hang_up && k->slave != -1)
		hang_up(k);
}
