/*
 * A channel in an event loop: queued sending, callbacks for what comes.
 * Touches its socket and the descriptors that travel on it.  Without a loop:
 * chan_wait.c.
 */
#include <sys/queue.h>
#include <sys/socket.h>

#include <linux/sock_diag.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "chan.h"
#include "chan_internal.h"
#include "io.h"
#include "log.h"

#define DRAIN_MAX       64      /* messages per wake, then others' turn */
#define UNREAD_ROUNDS   64      /* more wakes than a full socket buffer holds */
#define RETRY_US        10000   /* when the kernel is short of something */
#define UNREAD_BYTES    32768   /* the kernel's memory of a short one is 768 */

struct packet {
	STAILQ_ENTRY(packet) next;
	size_t          len;
	size_t          nfds;
	int             fds[CHAN_FDS_MAX];
	uint8_t         buf[];
};

/*
 * Invariants, true whenever the event loop runs:
 *  1. The queue is not empty exactly when the write event or the retry timer
 *     is pending.
 *  2. The read event is pending exactly when neither paused, stopped nor why
 *     is set.  stopped is only set while the queue is not empty.
 *  3. why is set once, when the channel has broken.  From then on nothing is
 *     sent or queued, and the end event is active or pending until it has
 *     called the end callback.
 *  4. While busy > 0 one of our event handlers is running and the memory
 *     stays; dead says that chan_free was called meanwhile.
 */
struct chan {
	int             fd;
	char            *name;
	chan_msg_fn     *msg;
	chan_end_fn     *end;
	void            *cookie;
	struct event    *rev;
	struct event    *wev;
	struct event    *retry;
	struct event    *endev;
	STAILQ_HEAD(, packet) queue;
	size_t          queued;         /* bytes, overhead included */
	const char      *why;
	int             unread;         /* rounds to look for last messages */
	int             paused;
	int             bound;          /* as chan_bound says */
	int             stopped;        /* for its sake */
	int             busy;
	int             dead;
};

static void
queue_drop(struct chan *c)
{
	struct packet *p;

	while ((p = STAILQ_FIRST(&c->queue)) != NULL) {
		STAILQ_REMOVE_HEAD(&c->queue, next);
		chan_fds_close(p->fds, p->nfds);
		free(p);
	}
	c->queued = 0;
}

static void
events_del(struct chan *c)
{

	event_del(c->rev);
	event_del(c->wev);
	event_del(c->retry);
}

static void
events_free(struct chan *c)
{

	if (c->rev != NULL)
		event_free(c->rev);
	if (c->wev != NULL)
		event_free(c->wev);
	if (c->retry != NULL)
		event_free(c->retry);
	if (c->endev != NULL)
		event_free(c->endev);
}

static void
destroy(struct chan *c)
{

	events_free(c);
	free(c->name);
	free(c);
}

static void
busy_leave(struct chan *c)
{

	c->busy--;
	if (c->busy == 0 && c->dead)
		destroy(c);
}

/* The channel is broken: the end event will say so, from the event loop. */
static void
break_later(struct chan *c, const char *why)
{

	if (c->why != NULL)
		return;
	c->why = why;
	events_del(c);
	queue_drop(c);
	event_active(c->endev, EV_TIMEOUT, 0);
}

/* Sending failed, but what the other end said before may still be there. */
static void
break_send(struct chan *c)
{

	c->unread = UNREAD_ROUNDS;
	break_later(c, "closed by the other end");
}

/*
 * Deliver what has come, up to DRAIN_MAX messages.  Return 1 when there may be
 * more, else 0: nothing left, paused, broken or freed.  Call while busy.
 */
static int
drain(struct chan *c)
{
	uint8_t buf[CHAN_MSG_MAX];
	int fds[CHAN_FDS_MAX];
	size_t nfds;
	ssize_t n;
	int i, rc;

	for (i = 0; i < DRAIN_MAX; i++) {
		n = chan_packet_recv(c->fd, buf, sizeof(buf), fds, &nfds);
		if (n == -1 && errno == EAGAIN)
			return (0);
		if (n <= 0) {
			break_later(c, n == 0 ? "closed by the other end" :
			    errno == EPROTO ? "message or descriptors cut off" :
			    "receiving failed");
			return (0);
		}
		rc = c->msg(c->cookie, buf, (size_t)n, fds, nfds);
		chan_fds_close(fds, nfds);
		if (c->dead)
			return (0);
		if (rc == -1) {
			c->unread = 0;
			break_later(c, "protocol violation");
			return (0);
		}
		if (c->paused || c->stopped)
			return (0);
	}
	return (1);
}

static void
on_read(evutil_socket_t fd, short what, void *cookie)
{
	struct chan *c = cookie;

	(void)fd;
	(void)what;
	c->busy++;
	(void)drain(c);         /* what is left wakes us again */
	busy_leave(c);
}

/* After a failed send: last messages first, then the end. */
static void
on_end(evutil_socket_t fd, short what, void *cookie)
{
	static const struct timeval now = { 0, 0 };
	struct chan *c = cookie;

	(void)fd;
	(void)what;
	c->busy++;
	if (c->unread > 0 && !c->paused) {
		c->unread--;
		/* A timer, so that the loop serves others in between. */
		if (drain(c) && event_add(c->endev, &now) == 0)
			goto done;
	}
	if (!c->dead) {
		log_debug("channel %s: %s", c->name, c->why);
		c->end(c->cookie, c->why);
	}
done:
	busy_leave(c);
}

/* Errors that pass: the socket is full, or the kernel is short of something. */
static int
is_shortage(int err)
{

	return (err == EAGAIN || err == ENOBUFS || err == ENOMEM ||
	    err == ETOOMANYREFS);
}

/*
 * Be woken when it makes sense to try again.  Only a full socket announces
 * that; waiting for the others by the write event would spin.
 */
static int
arm(struct chan *c, int err)
{
	static const struct timeval later = { 0, RETRY_US };

	if (err == EAGAIN)
		return (event_add(c->wev, NULL));
	event_del(c->wev);
	return (event_add(c->retry, &later));
}

/* Does so much lie unread that a message with descriptors has to wait? */
static int
crowded(const struct chan *c, size_t nfds)
{
	uint32_t mem[SK_MEMINFO_VARS];
	socklen_t len = sizeof(mem);

	if (!c->bound || nfds == 0)
		return (0);
	if (getsockopt(c->fd, SOL_SOCKET, SO_MEMINFO, mem, &len) == -1 ||
	    len < sizeof(mem[0]) * (SK_MEMINFO_WMEM_ALLOC + 1))
		return (0);
	return (mem[SK_MEMINFO_WMEM_ALLOC] > UNREAD_BYTES);
}

/* Who does not read is not heard. */
static void
stop(struct chan *c)
{

	c->stopped = 1;
	event_del(c->rev);
}

static void
go_on(struct chan *c)
{

	if (!c->stopped)
		return;
	c->stopped = 0;
	if (!c->paused && event_add(c->rev, NULL) == -1)
		break_later(c, "no memory to go on reading");
}

static int
packet_send(struct chan *c, const struct packet *p)
{

	if (crowded(c, p->nfds)) {
		errno = ETOOMANYREFS;
		return (-1);
	}
	return (chan_packet_send(c->fd, p->buf, p->len, p->fds, p->nfds,
	    MSG_DONTWAIT));
}

static void
on_write(evutil_socket_t fd, short what, void *cookie)
{
	struct chan *c = cookie;
	struct packet *p;

	(void)fd;
	(void)what;
	while ((p = STAILQ_FIRST(&c->queue)) != NULL) {
		if (packet_send(c, p) == -1) {
			if (!is_shortage(errno) || arm(c, errno) == -1)
				break_send(c);
			return;
		}
		STAILQ_REMOVE_HEAD(&c->queue, next);
		c->queued -= sizeof(*p) + p->len;
		chan_fds_close(p->fds, p->nfds);
		free(p);
	}
	event_del(c->wev);
	go_on(c);
}

static int
make_events(struct chan *c, struct event_base *base)
{

	c->rev = event_new(base, c->fd, EV_READ | EV_PERSIST, on_read, c);
	c->wev = event_new(base, c->fd, EV_WRITE | EV_PERSIST, on_write, c);
	c->retry = evtimer_new(base, on_write, c);
	c->endev = evtimer_new(base, on_end, c);
	if (c->rev == NULL || c->wev == NULL || c->retry == NULL ||
	    c->endev == NULL) {
		errno = ENOMEM;
		return (-1);
	}
	return (event_add(c->rev, NULL));
}

struct chan *
chan_new(struct event_base *base, int fd, const char *name, chan_msg_fn *msg,
    chan_end_fn *end, void *cookie)
{
	struct chan *c;

	if (io_nonblock(fd) == -1 || fcntl(fd, F_SETFD, FD_CLOEXEC) == -1)
		goto err0;
	chan_buffers(fd);
	if ((c = calloc(1, sizeof(*c))) == NULL)
		goto err0;
	STAILQ_INIT(&c->queue);
	c->fd = fd;
	c->msg = msg;
	c->end = end;
	c->cookie = cookie;
	if ((c->name = strdup(name)) == NULL)
		goto err1;
	if (make_events(c, base) == -1)
		goto err1;
	return (c);

err1:
	destroy(c);
err0:
	return (NULL);
}

void
chan_free(struct chan *c)
{

	if (c == NULL || c->dead)
		return;
	events_del(c);
	event_del(c->endev);
	queue_drop(c);
	io_close(&c->fd);
	c->dead = 1;
	if (c->busy == 0)
		destroy(c);
}

/* Out of memory is a full queue too: the caller's choices are the same. */
static int
enqueue(struct chan *c, const uint8_t *buf, size_t len, const int *fds,
    size_t nfds)
{
	struct packet *p;
	size_t cost = sizeof(*p) + len;

	if (cost > CHAN_QUEUE_MAX - c->queued ||
	    (p = malloc(cost)) == NULL) {
		errno = ENOBUFS;
		return (-1);
	}
	p->len = len;
	p->nfds = nfds;
	memcpy(p->buf, buf, len);
	if (nfds > 0)
		memcpy(p->fds, fds, nfds * sizeof(*fds));
	STAILQ_INSERT_TAIL(&c->queue, p, next);
	c->queued += cost;
	return (0);
}

/* Sent (0), to be queued because of ${*err} (1), or refused (-1). */
static int
send_now(struct chan *c, const uint8_t *buf, size_t len, const int *fds,
    size_t nfds, int *err)
{

	if (crowded(c, nfds)) {
		*err = ETOOMANYREFS;
		return (1);
	}
	if (chan_packet_send(c->fd, buf, len, fds, nfds, MSG_DONTWAIT) == 0)
		return (0);
	*err = errno;
	if (is_shortage(errno))
		return (1);
	/* What is wrong with this message alone leaves the channel whole. */
	if (errno != EBADF && errno != EMSGSIZE && errno != EINVAL) {
		break_send(c);
		errno = EPIPE;
	}
	return (-1);
}

int
chan_send(struct chan *c, const uint8_t *buf, size_t len, const int *fds,
    size_t nfds)
{
	int err = 0, rc = 1;

	if (c->why != NULL || c->dead) {
		errno = EPIPE;
		goto err0;
	}
	if (len == 0 || len > CHAN_MSG_MAX || nfds > CHAN_FDS_MAX) {
		errno = EMSGSIZE;
		goto err0;
	}
	if (STAILQ_EMPTY(&c->queue))
		rc = send_now(c, buf, len, fds, nfds, &err);
	if (rc == -1)
		goto err0;
	if (rc == 0) {
		chan_fds_close(fds, nfds);
		return (0);
	}
	if (enqueue(c, buf, len, fds, nfds) == -1)
		goto err0;
	if (err != 0 && arm(c, err) == -1) {
		break_send(c);          /* drops the queue, fds included */
		errno = EPIPE;
		return (-1);
	}
	if (c->bound && nfds > 0)
		stop(c);
	return (0);

err0:
	chan_fds_close(fds, nfds);
	return (-1);
}

size_t
chan_queued(const struct chan *c)
{

	return (c->queued);
}

void
chan_bound(struct chan *c)
{

	c->bound = 1;
}

void
chan_pause(struct chan *c, int pause)
{

	c->paused = pause;
	if (c->why != NULL || c->dead)
		return;
	if (pause)
		event_del(c->rev);
	else if (!c->stopped && event_add(c->rev, NULL) == -1)
		break_later(c, "no memory to go on reading");
}
