/*
 * The client's socket, the only one that is read here; what comes from it is
 * hostile until lib/frame*.c has checked it.  Who the client is and what it may
 * do is supervisor/conn.c's part.
 */
#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "conn.h"
#include "lib/io.h"
#include "lib/le.h"
#include "lib/log.h"
#include "lib/size.h"
#include "proto/client_msg.h"

#define READ_MAX        65536   /* bytes taken at once */
#define FLUSH_MAX       (1024 * 1024)   /* bytes written at once */
#define PIPE_BIG        (1024 * 1024)

const struct conn_times conn_times_default = {
	.hello = 10 * UINT64_C(1000000),
	.ping = 5 * UINT64_C(1000000),
	.dead = 15 * UINT64_C(1000000),
};

/*
 * Invariants of struct conn:
 *  1. The read event is pending exactly when none of held, blocked and over is
 *     set, the write event exactly when blocked is set and over is not.
 *  2. head_have bytes of the first frame's header were read, first_left bytes
 *     of its body are missing; greeted is set when it is whole.
 *  3. pipe_have bytes are in the pipe, all of stream pipe_of; they are the
 *     bodies that frame_owed will ask for, in that order, until that stream is
 *     reset: then some stay, and the pipe is not used again.
 */
struct conn {
	int fd;
	struct conn_times times;
	const struct conn_ops *ops;
	void *cookie;
	struct frame_conn *fc;
	struct event *rev;
	struct event *wev;
	struct event *tick;
	const char *blame;
	uint64_t born;
	uint64_t last;          /* when the client last gave a sign of life */
	uint8_t greeted;
	uint8_t held;
	uint8_t blocked;
	uint8_t over;
	size_t head_have;
	size_t first_left;
	int pipe[2];            /* -1 until it is wanted */
	uint8_t no_pipe;
	uint32_t pipe_of;
	size_t pipe_have;
	uint8_t head[FRAME_HEAD];
	uint8_t in[READ_MAX];
};

static void
arm(struct conn *c)
{
	if (!c->over && !c->held && !c->blocked)
		(void)event_add(c->rev, NULL);
	else
		(void)event_del(c->rev);
	if (!c->over && c->blocked)
		(void)event_add(c->wev, NULL);
	else
		(void)event_del(c->wev);
}

static void
finish(struct conn *c)
{
	if (c->over)
		return;
	c->over = 1;
	arm(c);
	(void)event_del(c->tick);
}

/* The connection is broken by what the client did: say so to both sides. */
static void
break_off(struct conn *c, const char *why)
{
	struct err e;

	log_warnx("client: %s; closing", why);
	(void)err_set(&e, ERR_INVALID, "the connection was closed: %s", why);
	conn_bye(c, &e);
}

/* Bytes that may be read now: of the first frame, no byte too many. */
static size_t
read_want(const struct conn *c)
{
	if (c->greeted)
		return (READ_MAX);
	if (c->head_have < FRAME_HEAD)
		return (FRAME_HEAD - c->head_have);
	return (c->first_left < READ_MAX ? c->first_left : READ_MAX);
}

/* Follow where the first frame ends. */
static void
first_count(struct conn *c, size_t n)
{
	if (c->greeted)
		return;
	if (c->head_have < FRAME_HEAD) {
		memcpy(c->head + c->head_have, c->in, n);
		c->head_have += n;
		if (c->head_have < FRAME_HEAD)
			return;
		c->first_left = le_get32(c->head);
	} else
		c->first_left -= n;
	c->greeted = c->first_left == 0;
}

static void
take_in(struct conn *c, size_t n)
{
	first_count(c, n);
	if (frame_feed(c->fc, c->in, n) == -1 && !c->over)
		break_off(c, c->blame != NULL ? c->blame :
		    frame_fault(c->fc));
}

static void
on_read(evutil_socket_t fd, short what, void *cookie)
{
	struct conn *c = cookie;
	ssize_t n;

	(void)what;
	n = recv(fd, c->in, read_want(c), MSG_DONTWAIT);
	if (n > 0) {
		c->last = io_mono_us();
		take_in(c, (size_t)n);
	} else if (n == 0) {
		log_debug("client: closed its end");
		finish(c);
	} else if (errno != EAGAIN && errno != EINTR) {
		log_debug("client: receiving: %s", strerror(errno));
		finish(c);
	}
	c->ops->after(c->cookie);
}

static void
on_write(evutil_socket_t fd, short what, void *cookie)
{
	struct conn *c = cookie;

	(void)fd;
	(void)what;
	(void)conn_flush(c);
	c->ops->after(c->cookie);
}

static void
tick_in(struct conn *c, uint64_t us)
{
	struct timeval tv = { (time_t)(us / 1000000),
	    (suseconds_t)(us % 1000000) };

	(void)event_add(c->tick, &tv);
}

/*
 * Silence before the first frame, or after it.  While we hold the client back
 * ourselves its silence means nothing.
 */
static void
on_tick(evutil_socket_t fd, short what, void *cookie)
{
	struct conn *c = cookie;
	uint64_t now = io_mono_us(), quiet = now - c->last;

	(void)fd;
	(void)what;
	if (!c->greeted) {
		if (now - c->born >= c->times.hello)
			break_off(c, "no HELLO came in time");
		else
			tick_in(c, c->born + c->times.hello - now);
	} else if (c->held || quiet < c->times.ping) {
		tick_in(c, c->held ? c->times.ping : c->times.ping - quiet);
	} else if (quiet >= c->times.dead) {
		break_off(c, "nothing was heard for too long");
	} else {
		(void)frame_send(c->fc, 0, FRAME_PING, 0, NULL, 0);
		tick_in(c, c->times.dead - quiet < c->times.ping ?
		    c->times.dead - quiet : c->times.ping);
	}
	c->ops->after(c->cookie);
}

static int
on_frame(void *cookie, const struct frame *f)
{
	struct conn *c = cookie;

	return (c->over ? -1 : c->ops->frame(c->cookie, f));
}

static int
make_events(struct conn *c, struct event_base *base)
{
	c->rev = event_new(base, c->fd, EV_READ | EV_PERSIST, on_read, c);
	c->wev = event_new(base, c->fd, EV_WRITE | EV_PERSIST, on_write, c);
	c->tick = evtimer_new(base, on_tick, c);
	if (c->rev == NULL || c->wev == NULL || c->tick == NULL) {
		errno = ENOMEM;
		return (-1);
	}
	return (0);
}

static void
destroy(struct conn *c)
{
	if (c->rev != NULL)
		event_free(c->rev);
	if (c->wev != NULL)
		event_free(c->wev);
	if (c->tick != NULL)
		event_free(c->tick);
	io_close(&c->pipe[0]);
	io_close(&c->pipe[1]);
	frame_conn_free(c->fc);
	free(c);
}

struct conn *
conn_new(struct event_base *base, int fd, const struct conn_times *times,
    const struct conn_ops *ops, void *cookie)
{
	struct conn *c;
	struct stat sb;

	if (fstat(fd, &sb) == -1)
		goto err0;
	if (!S_ISSOCK(sb.st_mode)) {
		errno = ENOTSOCK;
		goto err0;
	}
	if (io_nonblock(fd) == -1 || NEW_ARRAY(c, 1) == -1)
		goto err0;
	c->fd = fd;
	c->pipe[0] = c->pipe[1] = -1;
	c->times = *times;
	c->ops = ops;
	c->cookie = cookie;
	c->born = c->last = io_mono_us();
	if ((c->fc = frame_conn_new(FRAME_HOST, on_frame, c)) == NULL)
		goto err1;
	if (make_events(c, base) == -1)
		goto err1;
	arm(c);
	tick_in(c, times->hello);

	return (c);

err1:
	destroy(c);
err0:
	return (NULL);
}

void
conn_free(struct conn *c)
{
	if (c == NULL)
		return;
	finish(c);
	io_close(&c->fd);
	destroy(c);
}

struct frame_conn *
conn_frames(struct conn *c)
{
	return (c->fc);
}

void
conn_hold(struct conn *c, int hold)
{
	c->held = hold != 0;
	if (!hold)
		c->last = io_mono_us();
	arm(c);
}

/* Most connections never need it. */
static int
pipe_make(struct conn *c)
{
	if (c->pipe[1] != -1)
		return (0);
	if (c->no_pipe || pipe2(c->pipe, O_CLOEXEC | O_NONBLOCK) == -1) {
		c->no_pipe = 1;
		return (-1);
	}
	/* It works with less, too. */
	(void)fcntl(c->pipe[1], F_SETPIPE_SZ, PIPE_BIG);
	return (0);
}

int
conn_pipe(struct conn *c, uint32_t stream)
{
	if (pipe_make(c) == -1 || (c->pipe_have > 0 && c->pipe_of != stream))
		return (-1);
	return (c->pipe[1]);
}

int
conn_piped(struct conn *c, uint32_t stream, uint8_t channel, size_t len)
{
	c->pipe_of = stream;
	c->pipe_have += len;
	return (frame_send_away(c->fc, stream, channel, len));
}

/* Write from the pipe what is next.  As send, or -1 with errno. */
static ssize_t
write_owed(struct conn *c, size_t len)
{
	ssize_t n;

	n = splice(c->pipe[0], NULL, c->fd, NULL, len, SPLICE_F_NONBLOCK);
	if (n == 0)
		errno = EIO;    /* it has less than we were told */
	if (n <= 0)
		return (-1);
	c->pipe_have -= (size_t)n;
	frame_owed_done(c->fc, (size_t)n);
	return (n);
}

static ssize_t
write_frames(struct conn *c, const uint8_t *p, size_t len)
{
	ssize_t n;

	if ((n = send(c->fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT)) > 0)
		frame_out_done(c->fc, (size_t)n);
	return (n);
}

/* Write once.  Bytes written, 0 when nothing is left or nothing goes. */
static size_t
write_some(struct conn *c)
{
	const uint8_t *p;
	size_t owed, len;
	ssize_t n;

	len = frame_out(c->fc, &p);
	owed = frame_owed(c->fc);
	if (len == 0 && owed == 0) {
		c->blocked = 0;
		return (0);
	}
	do
		n = len > 0 ? write_frames(c, p, len) : write_owed(c, owed);
	while (n == -1 && errno == EINTR);
	if (n == -1) {
		c->blocked = errno == EAGAIN;
		if (!c->blocked)
			finish(c);
		return (0);
	}
	/* One that takes what it is sent is alive, even if we do not read. */
	if (c->blocked)
		c->last = io_mono_us();
	return ((size_t)n);
}

size_t
conn_flush(struct conn *c)
{
	size_t n, total = 0;

	while (!c->over && total < FLUSH_MAX && (n = write_some(c)) > 0)
		total += n;
	/* More goes at once, but others first: the write event comes back. */
	if (total >= FLUSH_MAX)
		c->blocked = 1;
	arm(c);
	return (total);
}

void
conn_blame(struct conn *c, const char *why)
{
	c->blame = why;
}

void
conn_bye(struct conn *c, const struct err *e)
{
	uint8_t buf[2 * LIMIT_TEXT];
	ssize_t n;

	if (c->over)
		return;
	c->ops->greet(c->cookie);
	if ((n = err_pack(e, buf, sizeof(buf))) != -1 &&
	    frame_send(c->fc, 0, FRAME_GOAWAY, 0, buf, (size_t)n) == 0)
		(void)conn_flush(c);
	finish(c);
}

int
conn_over(const struct conn *c)
{
	return (c->over);
}
