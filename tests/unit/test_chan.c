#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "chan.h"
#include "io.h"

#define LIMIT_US        (10 * UINT64_C(1000000))

/* One end of a channel, and what came out of it. */
struct end {
	struct chan     *chan;
	size_t          msgs;
	size_t          last_len;
	uint8_t         last[16];
	size_t          nfds;
	int             kept;           /* descriptor taken over, or -1 */
	int             ends;
	char            why[64];
	int             after_end;      /* messages after the end: never */

	/* What to do at the message number .at (from 1). */
	size_t          at;
	int             do_free;
	int             do_fail;
	int             do_pause;
	int             do_keep;
	int             do_reply;
	int             free_at_end;
};

static struct event_base *base;
static int fd_before;

static int
open_count(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 1024; fd++) {
		if (fcntl(fd, F_GETFD) != -1)
			n++;
	}
	return (n);
}

/* Every test begins and ends with the same number of descriptors. */
static int
setup(void **state)
{

	(void)state;
	fd_before = open_count();
	return ((base = event_base_new()) == NULL ? -1 : 0);
}

static int
teardown(void **state)
{

	(void)state;
	event_base_free(base);
	assert_int_equal(open_count(), fd_before);
	return (0);
}

static int
on_msg(void *cookie, const uint8_t *buf, size_t len, int *fds, size_t nfds)
{
	struct end *e = cookie;

	e->msgs++;
	if (e->ends > 0)
		e->after_end = 1;
	e->last_len = len;
	memcpy(e->last, buf, len < sizeof(e->last) ? len : sizeof(e->last));
	e->nfds = nfds;
	if (e->do_keep && nfds > 0) {
		e->kept = fds[0];
		fds[0] = -1;
	}
	if (e->do_reply)
		(void)chan_send(e->chan, (const uint8_t *)"r", 1, NULL, 0);
	if (e->msgs != e->at)
		return (0);
	if (e->do_pause)
		chan_pause(e->chan, 1);
	if (e->do_free) {
		chan_free(e->chan);
		e->chan = NULL;
	}
	return (e->do_fail ? -1 : 0);
}

static void
on_end(void *cookie, const char *why)
{
	struct end *e = cookie;

	e->ends++;
	snprintf(e->why, sizeof(e->why), "%s", why);
	if (e->free_at_end) {
		chan_free(e->chan);
		e->chan = NULL;
	}
}

static void
end_open(struct end *e, int fd)
{

	memset(e, 0, sizeof(*e));
	e->kept = -1;
	e->chan = chan_new(base, fd, "test", on_msg, on_end, e);
	assert_non_null(e->chan);
}

static int
send_text(struct end *e, const char *s)
{

	return (chan_send(e->chan, (const uint8_t *)s, strlen(s), NULL, 0));
}

static void
turn(void)
{

	assert_true(event_base_loop(base, EVLOOP_NONBLOCK) >= 0);
}

/* Run the loop until ${*what} has reached ${n}. */
static void
until(const size_t *what, size_t n)
{
	uint64_t stop = io_mono_us() + LIMIT_US;

	while (*what < n && io_mono_us() < stop)
		turn();
	assert_true(*what >= n);
}

static void
until_end(const struct end *e)
{
	uint64_t stop = io_mono_us() + LIMIT_US;

	while (e->ends == 0 && io_mono_us() < stop)
		turn();
	assert_int_equal(e->ends, 1);
}

static void
test_round_trip(void **state)
{
	struct end a, b;
	uint8_t big[CHAN_MSG_MAX];
	int sv[2];

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	end_open(&a, sv[0]);
	end_open(&b, sv[1]);
	assert_int_equal(fcntl(sv[0], F_GETFD), FD_CLOEXEC);
	assert_true(fcntl(sv[0], F_GETFL) & O_NONBLOCK);

	assert_int_equal(send_text(&a, "hello"), 0);
	assert_int_equal(send_text(&a, "you"), 0);
	until(&b.msgs, 2);
	assert_int_equal(b.last_len, 3);
	assert_memory_equal(b.last, "you", 3);

	memset(big, 'z', sizeof(big));
	assert_int_equal(chan_send(b.chan, big, sizeof(big), NULL, 0), 0);
	until(&a.msgs, 1);
	assert_int_equal(a.last_len, CHAN_MSG_MAX);
	assert_int_equal(chan_queued(a.chan), 0);

	chan_free(a.chan);
	until_end(&b);
	assert_string_equal(b.why, "closed by the other end");
	errno = 0;
	assert_int_equal(send_text(&b, "late"), -1);
	assert_int_equal(errno, EPIPE);
	turn();
	turn();
	assert_int_equal(b.ends, 1);
	chan_free(b.chan);
	chan_free(NULL);
}

static void
test_sizes(void **state)
{
	static uint8_t big[CHAN_MSG_MAX + 1];
	struct end a;
	int sv[2];

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	end_open(&a, sv[0]);
	assert_int_equal(chan_send(a.chan, big, 0, NULL, 0), -1);
	assert_int_equal(errno, EMSGSIZE);
	errno = 0;
	assert_int_equal(chan_send(a.chan, big, sizeof(big), NULL, 0), -1);
	assert_int_equal(errno, EMSGSIZE);
	assert_int_equal(chan_send(a.chan, big, 1, NULL, 0), 0);
	chan_free(a.chan);
	close(sv[1]);
}

static void
pipes(int *fds, size_t n)
{
	int p[2];
	size_t i;

	for (i = 0; i < n; i++) {
		assert_int_equal(pipe2(p, O_CLOEXEC), 0);
		close(p[0]);
		fds[i] = p[1];
	}
}

static void
test_fds(void **state)
{
	struct end a, b;
	int fds[CHAN_FDS_MAX], p[2], sv[2];
	char c;

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	end_open(&a, sv[0]);
	end_open(&b, sv[1]);

	/* Taken by the channel, kept by the receiver, close-on-exec. */
	assert_int_equal(pipe(p), 0);
	b.do_keep = 1;
	assert_int_equal(chan_send(a.chan, (const uint8_t *)"f", 1, &p[1], 1),
	    0);
	assert_int_equal(fcntl(p[1], F_GETFD), -1);
	until(&b.msgs, 1);
	assert_true(b.kept >= 0);
	assert_int_equal(fcntl(b.kept, F_GETFD), FD_CLOEXEC);
	assert_int_equal(write(b.kept, "x", 1), 1);
	assert_int_equal(read(p[0], &c, 1), 1);
	close(b.kept);
	assert_int_equal(read(p[0], &c, 1), 0);
	close(p[0]);

	/* As many as there may be; the receiver keeps one, 15 are closed. */
	pipes(fds, CHAN_FDS_MAX);
	assert_int_equal(chan_send(a.chan, (const uint8_t *)"f", 1, fds,
	    CHAN_FDS_MAX), 0);
	until(&b.msgs, 2);
	assert_int_equal(b.nfds, CHAN_FDS_MAX);
	close(b.kept);

	chan_free(a.chan);
	chan_free(b.chan);
}

static void
test_fds_refused(void **state)
{
	struct end a;
	int fds[CHAN_FDS_MAX + 1], sv[2];
	size_t i;

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	end_open(&a, sv[0]);
	pipes(fds, CHAN_FDS_MAX + 1);
	assert_int_equal(chan_send(a.chan, (const uint8_t *)"f", 1, fds,
	    CHAN_FDS_MAX + 1), -1);
	assert_int_equal(errno, EMSGSIZE);
	for (i = 0; i <= CHAN_FDS_MAX; i++)
		assert_int_equal(fcntl(fds[i], F_GETFD), -1);
	close(sv[1]);
	chan_free(a.chan);
}

/* What a hostile process may do with its end, without our rules. */
static int
raw_send(int fd, size_t len, const int *fds, size_t nfds)
{
	static uint8_t buf[4 * CHAN_MSG_MAX];
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(64 * sizeof(int))];
	} ctl = { .buf = { 0 } };
	struct iovec iov = { buf, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cm;

	if (nfds > 0) {
		msg.msg_control = ctl.buf;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		cm = CMSG_FIRSTHDR(&msg);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(cm), fds, nfds * sizeof(int));
	}
	return (sendmsg(fd, &msg, MSG_NOSIGNAL) == (ssize_t)len ? 0 : -1);
}

static void
test_cut_off(void **state)
{
	struct end b;
	int fds[CHAN_FDS_MAX + 1], sv[2];
	size_t i;

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	end_open(&b, sv[1]);
	pipes(fds, CHAN_FDS_MAX + 1);
	assert_int_equal(raw_send(sv[0], 10, fds, CHAN_FDS_MAX + 1), 0);
	for (i = 0; i <= CHAN_FDS_MAX; i++)
		close(fds[i]);
	until_end(&b);
	assert_int_equal(b.msgs, 0);
	assert_string_equal(b.why, "message or descriptors cut off");
	chan_free(b.chan);
	close(sv[0]);

	assert_int_equal(chan_pair(sv), 0);
	end_open(&b, sv[1]);
	assert_int_equal(raw_send(sv[0], CHAN_MSG_MAX + 1, NULL, 0), 0);
	until_end(&b);
	assert_int_equal(b.msgs, 0);
	chan_free(b.chan);
	close(sv[0]);
}

/* An empty packet, with or without descriptors, is an end. */
static void
test_empty_packet(void **state)
{
	struct end b;
	int fd, sv[2];

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	end_open(&b, sv[1]);
	pipes(&fd, 1);
	assert_int_equal(raw_send(sv[0], 0, &fd, 1), 0);
	close(fd);
	until_end(&b);
	assert_int_equal(b.msgs, 0);
	chan_free(b.chan);
	close(sv[0]);
}

static void
test_queue(void **state)
{
	static uint8_t buf[60000];
	struct end a, b;
	size_t n = 0, nfds_sent = 0;
	int fd, sv[2];

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	end_open(&a, sv[0]);
	for (;;) {
		buf[0] = (uint8_t)n;
		pipes(&fd, 1);
		if (chan_send(a.chan, buf, sizeof(buf), &fd, 1) == -1)
			break;
		n++;
		nfds_sent++;
		assert_true(n < 10000);
	}
	assert_int_equal(errno, ENOBUFS);
	assert_true(chan_queued(a.chan) > CHAN_QUEUE_MAX - 70000);
	assert_true(chan_queued(a.chan) <= CHAN_QUEUE_MAX);
	assert_true(n * sizeof(buf) > CHAN_QUEUE_MAX - 70000);
	turn();
	assert_int_equal(a.ends, 0);

	/* All of it arrives, in order, and the channel is as good as new. */
	end_open(&b, sv[1]);
	until(&b.msgs, n);
	assert_int_equal(b.last[0], (uint8_t)(n - 1));
	assert_int_equal(b.nfds, 1);
	assert_int_equal(chan_queued(a.chan), 0);
	assert_int_equal(send_text(&a, "more"), 0);
	until(&b.msgs, n + 1);
	assert_int_equal(b.last_len, 4);
	chan_free(a.chan);
	chan_free(b.chan);
}

/* A full queue goes with the channel, descriptors and all. */
static void
test_queue_dropped(void **state)
{
	static uint8_t buf[60000];
	struct end a;
	int fd, i, sv[2];

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	end_open(&a, sv[0]);
	for (i = 0; i < 100; i++) {
		pipes(&fd, 1);
		assert_int_equal(chan_send(a.chan, buf, sizeof(buf), &fd, 1),
		    0);
	}
	assert_true(chan_queued(a.chan) > 0);
	close(sv[1]);
	until_end(&a);
	assert_int_equal(chan_queued(a.chan), 0);
	chan_free(a.chan);

	assert_int_equal(chan_pair(sv), 0);
	end_open(&a, sv[0]);
	for (i = 0; i < 100; i++)
		(void)chan_send(a.chan, buf, sizeof(buf), NULL, 0);
	chan_free(a.chan);
	close(sv[1]);
}

/* The end is told once, from the loop, though sending noticed it. */
static void
test_end_after_send(void **state)
{
	struct end a;
	int sv[2];

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	end_open(&a, sv[0]);
	close(sv[1]);
	assert_int_equal(send_text(&a, "x"), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(a.ends, 0);
	assert_int_equal(send_text(&a, "x"), -1);
	assert_int_equal(a.ends, 0);
	turn();
	assert_int_equal(a.ends, 1);
	turn();
	assert_int_equal(a.ends, 1);
	chan_free(a.chan);
}

/* What the other end said last is heard, though sending to it failed. */
static void
test_last_words(void **state)
{
	struct end a;
	int i, sv[2];

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	end_open(&a, sv[0]);
	assert_int_equal(send_text(&a, "never read"), 0);
	for (i = 0; i < 200; i++)
		assert_int_equal(raw_send(sv[1], 5, NULL, 0), 0);
	close(sv[1]);
	assert_int_equal(send_text(&a, "x"), -1);
	until_end(&a);
	assert_int_equal(a.msgs, 200);
	assert_false(a.after_end);
	chan_free(a.chan);
}

/* The same, when nothing was sent: the reset that reading meets is no end. */
static void
test_reset(void **state)
{
	struct end a;
	int sv[2];

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	end_open(&a, sv[0]);
	assert_int_equal(send_text(&a, "never read"), 0);
	assert_int_equal(raw_send(sv[1], 5, NULL, 0), 0);
	close(sv[1]);
	until_end(&a);
	assert_int_equal(a.msgs, 1);
	chan_free(a.chan);
}

static void
test_reply_to_gone(void **state)
{
	struct end a;
	int i, sv[2];

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	end_open(&a, sv[0]);
	a.do_reply = 1;
	for (i = 0; i < 100; i++)
		assert_int_equal(raw_send(sv[1], 5, NULL, 0), 0);
	close(sv[1]);
	until_end(&a);
	assert_int_equal(a.msgs, 100);
	assert_false(a.after_end);
	chan_free(a.chan);
}

static void
test_free_inside(void **state)
{
	struct end a, b;
	int i, sv[2];

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	end_open(&a, sv[0]);
	end_open(&b, sv[1]);
	b.at = 3;
	b.do_free = 1;
	a.free_at_end = 1;
	for (i = 0; i < 10; i++)
		assert_int_equal(send_text(&a, "x"), 0);
	until(&b.msgs, 3);
	turn();
	turn();
	assert_int_equal(b.msgs, 3);
	assert_int_equal(b.ends, 0);

	/* The other one, in the end callback. */
	until_end(&a);
	assert_null(a.chan);

	/* Freed, and a failure reported all the same. */
	assert_int_equal(chan_pair(sv), 0);
	end_open(&b, sv[1]);
	b.at = 1;
	b.do_free = b.do_fail = 1;
	assert_int_equal(raw_send(sv[0], 1, NULL, 0), 0);
	until(&b.msgs, 1);
	turn();
	assert_int_equal(b.ends, 0);
	close(sv[0]);
}

/* Free with an end pending, and while the reply finds the other end gone. */
static void
test_free_pending(void **state)
{
	struct end a;
	int sv[2];

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	end_open(&a, sv[0]);
	close(sv[1]);
	assert_int_equal(send_text(&a, "x"), -1);
	chan_free(a.chan);
	turn();
	assert_int_equal(a.ends, 0);

	assert_int_equal(chan_pair(sv), 0);
	end_open(&a, sv[0]);
	a.do_reply = a.do_free = 1;
	a.at = 2;
	assert_int_equal(raw_send(sv[1], 1, NULL, 0), 0);
	assert_int_equal(raw_send(sv[1], 1, NULL, 0), 0);
	assert_int_equal(raw_send(sv[1], 1, NULL, 0), 0);
	close(sv[1]);
	until(&a.msgs, 2);
	turn();
	assert_int_equal(a.msgs, 2);
	assert_int_equal(a.ends, 0);
}

static void
test_violation(void **state)
{
	struct end a, b;
	int i, sv[2];

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	end_open(&a, sv[0]);
	end_open(&b, sv[1]);
	b.at = 2;
	b.do_fail = 1;
	for (i = 0; i < 5; i++)
		assert_int_equal(send_text(&a, "x"), 0);
	until_end(&b);
	assert_int_equal(b.msgs, 2);
	assert_string_equal(b.why, "protocol violation");
	turn();
	assert_int_equal(b.msgs, 2);
	assert_int_equal(b.ends, 1);
	chan_free(b.chan);
	until_end(&a);
	chan_free(a.chan);
}

/* A flood is taken in portions: another channel gets its turn between. */
static void
test_flood(void **state)
{
	struct end a, b;
	int i, other[2], sv[2];

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	assert_int_equal(chan_pair(other), 0);
	end_open(&a, sv[0]);
	end_open(&b, other[0]);
	for (i = 0; i < 500; i++)
		assert_int_equal(raw_send(sv[1], 1, NULL, 0), 0);
	assert_int_equal(raw_send(other[1], 1, NULL, 0), 0);
	assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
	assert_true(a.msgs > 0 && a.msgs <= 64);
	assert_int_equal(b.msgs, 1);
	until(&a.msgs, 500);
	chan_free(a.chan);
	chan_free(b.chan);
	close(sv[1]);
	close(other[1]);
}

static void
test_pause(void **state)
{
	struct end a;
	int i, sv[2];

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	end_open(&a, sv[0]);
	a.at = 3;
	a.do_pause = 1;
	for (i = 0; i < 10; i++)
		assert_int_equal(raw_send(sv[1], 1, NULL, 0), 0);
	until(&a.msgs, 3);
	turn();
	turn();
	assert_int_equal(a.msgs, 3);
	chan_pause(a.chan, 0);
	chan_pause(a.chan, 0);
	until(&a.msgs, 10);
	close(sv[1]);
	until_end(&a);
	chan_free(a.chan);
}

static void
test_wait(void **state)
{
	uint8_t buf[64];
	int got[4], p[2], sv[2];
	size_t n = 4;
	char c;

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	assert_int_equal(pipe(p), 0);
	assert_int_equal(chan_send_wait(sv[0], (const uint8_t *)"abc", 3,
	    &p[1], 1), 0);
	close(p[1]);
	assert_int_equal(chan_recv_wait(sv[1], buf, sizeof(buf), got, &n, -1),
	    3);
	assert_memory_equal(buf, "abc", 3);
	assert_int_equal(n, 1);
	assert_int_equal(fcntl(got[0], F_GETFD), FD_CLOEXEC);
	assert_int_equal(write(got[0], "x", 1), 1);
	assert_int_equal(read(p[0], &c, 1), 1);
	close(got[0]);
	close(p[0]);

	errno = 0;
	n = 4;
	assert_int_equal(chan_recv_wait(sv[1], buf, sizeof(buf), got, &n, 20),
	    -1);
	assert_int_equal(errno, ETIMEDOUT);
	assert_int_equal(chan_recv_wait(sv[1], buf, sizeof(buf), NULL, NULL,
	    0), -1);
	assert_int_equal(errno, ETIMEDOUT);

	close(sv[0]);
	assert_int_equal(chan_recv_wait(sv[1], buf, sizeof(buf), got, &n, -1),
	    0);
	assert_int_equal(chan_send_wait(sv[1], buf, 1, NULL, 0), -1);
	assert_int_equal(errno, EPIPE);
	close(sv[1]);
}

static void
test_wait_refused(void **state)
{
	static uint8_t buf[CHAN_MSG_MAX + 1];
	int fds[CHAN_FDS_MAX + 1], got[CHAN_FDS_MAX], sv[2];
	size_t i, n;

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	pipes(fds, CHAN_FDS_MAX + 1);
	assert_int_equal(chan_send_wait(sv[0], buf, 1, fds, CHAN_FDS_MAX + 1),
	    -1);
	assert_int_equal(errno, EMSGSIZE);
	assert_int_equal(chan_send_wait(sv[0], buf, sizeof(buf), NULL, 0), -1);
	assert_int_equal(chan_send_wait(sv[0], buf, 0, NULL, 0), -1);

	/* More descriptors than there is room for, then than there may be. */
	assert_int_equal(raw_send(sv[0], 1, fds, 2), 0);
	n = 1;
	errno = 0;
	assert_int_equal(chan_recv_wait(sv[1], buf, 10, got, &n, -1), -1);
	assert_int_equal(errno, EPROTO);
	assert_int_equal(raw_send(sv[0], 1, fds, CHAN_FDS_MAX + 1), 0);
	n = CHAN_FDS_MAX;
	errno = 0;
	assert_int_equal(chan_recv_wait(sv[1], buf, 10, got, &n, -1), -1);
	assert_int_equal(errno, EPROTO);
	assert_int_equal(raw_send(sv[0], 11, NULL, 0), 0);
	n = 1;
	errno = 0;
	assert_int_equal(chan_recv_wait(sv[1], buf, 10, got, &n, -1), -1);
	assert_int_equal(errno, EPROTO);

	for (i = 0; i <= CHAN_FDS_MAX; i++)
		close(fds[i]);
	close(sv[0]);
	close(sv[1]);
}

/* chan_send_wait waits for room, on a non-blocking socket too. */
static void
test_wait_room(void **state)
{
	static uint8_t buf[CHAN_MSG_MAX];
	int i, status, sv[2];
	pid_t pid;

	(void)state;
	assert_int_equal(chan_pair(sv), 0);
	assert_int_equal(io_nonblock(sv[0]), 0);
	if ((pid = fork()) == 0) {
		close(sv[0]);
		for (i = 0; i < 200; i++) {
			if (chan_recv_wait(sv[1], buf, sizeof(buf), NULL, NULL,
			    10000) != CHAN_MSG_MAX)
				_exit(1);
		}
		_exit(0);
	}
	close(sv[1]);
	for (i = 0; i < 200; i++)
		assert_int_equal(chan_send_wait(sv[0], buf, sizeof(buf), NULL,
		    0), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(sv[0]);
}

static void
test_new_refused(void **state)
{
	struct end a;

	(void)state;
	assert_null(chan_new(base, -1, "bad", on_msg, on_end, &a));
	assert_int_equal(errno, EBADF);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_round_trip),
		T(test_sizes),
		T(test_fds),
		T(test_fds_refused),
		T(test_cut_off),
		T(test_empty_packet),
		T(test_queue),
		T(test_queue_dropped),
		T(test_end_after_send),
		T(test_last_words),
		T(test_reset),
		T(test_reply_to_gone),
		T(test_free_inside),
		T(test_free_pending),
		T(test_violation),
		T(test_flood),
		T(test_pause),
		T(test_wait),
		T(test_wait_refused),
		T(test_wait_room),
		T(test_new_refused),
	};
#undef T

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
