#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/io.h"
#include "worker-exec/pty.h"
#include "worker-exec/stdin.h"

/* The feed, between a pipe that the test writes and one that it reads. */

static struct feed f;
static int in, out;             /* our ends */

/* Turns, until nothing is to be done. */
static void
spin(void)
{
	struct pollfd p[2];
	int i;

	for (i = 0; i < 10000; i++) {
		feed_poll(&f, p);
		if (poll(p, 2, 0) <= 0)
			return;
		feed_turn(&f, p);
	}
	fail_msg("it turns and turns");
}

static void
give(void)
{
	int p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(feed_from(&f, p[0]), 0);
	in = p[1];
}

static int
setup(void **state)
{
	int p[2];

	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	feed_init(&f);
	give();
	assert_int_equal(pipe2(p, O_CLOEXEC | O_NONBLOCK), 0);
	feed_pipe(&f, p[1]);
	out = p[0];
	return (0);
}

static int
teardown(void **state)
{
	(void)state;
	feed_done(&f);
	io_close(&in);
	io_close(&out);
	return (0);
}

static void
passes_on(void **state)
{
	char buf[16];

	(void)state;
	assert_int_equal(write(in, "abc", 3), 3);
	assert_int_equal(feed_offset(&f), 3);
	spin();
	assert_int_equal(read(out, buf, sizeof(buf)), 3);
	assert_memory_equal(buf, "abc", 3);
	assert_int_equal(feed_offset(&f), 3);
	assert_int_equal(read(out, buf, sizeof(buf)), -1);
}

/* What is not read stays in the pipes, and is counted once. */
static void
full_pipes_stop(void **state)
{
	static char piece[4096], buf[65536];
	size_t sent = 0, got = 0;
	ssize_t n;

	(void)state;
	while ((n = write(in, piece, sizeof(piece))) > 0 || sent == 65536) {
		sent += n > 0 ? (size_t)n : 0;
		spin();
	}
	assert_true(sent >= 65536 && sent <= 4 * 65536);
	assert_int_equal(feed_offset(&f), sent);
	assert_int_equal(f.stuck, 1);
	feed_end(&f, 0);
	for (;;) {
		spin();
		if ((n = read(out, buf, sizeof(buf))) <= 0)
			break;
		got += (size_t)n;
	}
	assert_int_equal(n, 0);         /* the end, and not before */
	assert_int_equal(got, sent);
}

static void
end_is_an_end(void **state)
{
	char c;

	(void)state;
	feed_end(&f, 0);
	assert_int_equal(read(out, &c, 1), 0);
	assert_int_equal(write(in, "x", 1), -1);
	assert_int_equal(errno, EPIPE);
}

/* All writers gone is no end, until it is said. */
static void
loss_is_no_end(void **state)
{
	char buf[4];

	(void)state;
	assert_int_equal(write(in, "ab", 2), 2);
	io_close(&in);
	spin();
	assert_int_equal(read(out, buf, sizeof(buf)), 2);
	assert_int_equal(read(out, buf, sizeof(buf)), -1);
	assert_int_equal(errno, EAGAIN);
	spin();
	feed_end(&f, 1);
	assert_int_equal(read(out, buf, sizeof(buf)), 0);
	assert_int_equal(f.hang_up, 0);
}

/* Nobody reads: whoever writes hears of it, without having written. */
static void
unread_breaks(void **state)
{
	struct pollfd p = { .fd = in };

	(void)state;
	io_close(&out);
	spin();
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_true(p.revents & POLLERR);
}

static void
one_pipe_only(void **state)
{
	int p[2], fd = open("/dev/null", O_RDONLY);

	(void)state;
	assert_int_equal(pipe(p), 0);
	assert_int_equal(feed_from(&f, p[0]), -1);
	feed_done(&f);
	feed_init(&f);
	assert_int_equal(feed_from(&f, fd), -1);
	close(fd);
	close(p[0]);
	close(p[1]);
}

static void
ends_before_it_begins(void **state)
{
	int p[2];
	char c;

	(void)state;
	feed_done(&f);
	io_close(&out);
	io_close(&in);
	feed_init(&f);
	give();
	feed_end(&f, 0);
	assert_int_equal(pipe2(p, O_CLOEXEC | O_NONBLOCK), 0);
	feed_pipe(&f, p[1]);
	out = p[0];
	spin();
	io_close(&in);
	spin();
	assert_int_equal(read(out, &c, 1), 0);
}

/* A terminal instead of the pipe; its slave is in out. */
static int
terminal(int input)
{
	int master;

	/* In a sandbox everybody may open it; on a host often root alone. */
	if (access("/dev/pts/ptmx", R_OK | W_OK) == -1) {
		printf("# needs a /dev/pts/ptmx that may be opened\n");
		skip();
	}
	io_close(&out);
	io_close(&f.to);
	assert_int_equal(pty_open(24, 80, &master, &out), 0);
	assert_int_equal(io_nonblock(out), 0);
	feed_terminal(&f, master, input);
	return (master);
}

static void
typed(void **state)
{
	int master = terminal(1), i;
	char buf[16];

	(void)state;
	assert_int_equal(write(in, "ab\n", 3), 3);
	spin();
	assert_int_equal(read(out, buf, sizeof(buf)), 3);
	assert_int_equal(write(in, "c", 1), 1);
	feed_end(&f, 0);
	spin();
	/* Half a line first, then the end, again and again. */
	assert_int_equal(read(out, buf, sizeof(buf)), 1);
	for (i = 0; i < 20; i++)
		assert_int_equal(read(out, buf, sizeof(buf)), 0);
	assert_int_equal(f.hang_up, 0);
	close(master);
}

static void
no_input_is_the_end(void **state)
{
	int master = terminal(0);
	char c;

	(void)state;
	spin();
	assert_int_equal(read(out, &c, 1), 0);
	close(master);
}

static void
loss_hangs_up(void **state)
{
	int master = terminal(1);

	(void)state;
	feed_end(&f, 1);
	assert_int_equal(f.hang_up, 1);
	close(master);
}

static void
known_terminals(void **state)
{
	static char vt[] = "TERM=vt100", odd[] = "TERM=no-such",
	    up[] = "TERM=../v/vt100", dumb[] = "TERM=dumb", x[] = "X=1";
	char *env[] = { x, vt, NULL };

	(void)state;
	if (access("/lib/terminfo/v/vt100", R_OK) == -1 &&
	    access("/usr/share/terminfo/v/vt100", R_OK) == -1)
		skip();
	pty_term(env);
	assert_string_equal(env[1], "TERM=vt100");
	env[1] = dumb;
	pty_term(env);
	assert_string_equal(env[1], "TERM=dumb");
	env[1] = odd;
	pty_term(env);
	assert_string_not_equal(env[1], "TERM=no-such");
	env[1] = up;
	pty_term(env);
	assert_string_not_equal(env[1], "TERM=../v/vt100");
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(passes_on), T(full_pipes_stop), T(end_is_an_end),
		T(loss_is_no_end), T(unread_breaks), T(one_pipe_only),
		T(ends_before_it_begins), T(typed), T(no_input_is_the_end),
		T(loss_hangs_up), T(known_terminals),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
