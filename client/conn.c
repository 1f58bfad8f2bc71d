/*
 * The client's side of the connection.  Opens one socket; everything read from
 * it is hostile until lib/frame.c and proto/ have checked it.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conn.h"
#include "lib/io.h"

#define SILENCE_US      15000000ULL     /* of a dead connection */
#define READ_SIZE       (256 * 1024)

struct slot {
	uint32_t stream;        /* 0: free */
	conn_frame_fn *fn;
	void *cookie;
};

struct conn {
	int fd;
	struct frame_conn *fc;
	struct slot slots[FRAME_STREAMS];
	struct client_hello host;
	int have_host;
	int lost;
	int broken;             /* by what the host said */
	char why[LIMIT_TEXT];
	struct err err;
	uint64_t heard_us;
	struct {
		int fd;
		void (*fn)(void *);
		void *cookie;
	} watch[CONN_WATCH__MAX];
	struct {
		uint32_t stream;
		conn_direct_fn *fn;     /* NULL: for none */
		void *cookie;
	} direct;
	uint8_t *buf;
};

/* Report the loss to every open stream, once. */
static void
lose(struct conn *c, const char *why)
{
	conn_frame_fn *fn;
	size_t i;

	if (c->lost)
		return;
	c->lost = 1;
	if (c->why[0] == '\0')
		snprintf(c->why, sizeof(c->why), "%s", why);
	io_close(&c->fd);
	for (i = 0; i < FRAME_STREAMS; i++) {
		if (c->slots[i].stream == 0)
			continue;
		fn = c->slots[i].fn;
		c->slots[i].stream = 0;
		(void)fn(c->slots[i].cookie, NULL);
	}
}

static int
on_hello(struct conn *c, const struct frame *f)
{
	if (client_hello_parse(f->body, f->len, &c->host) == -1)
		return (-1);
	c->have_host = 1;
	return (0);
}

static int
on_goaway(struct conn *c, const struct frame *f)
{
	if (err_parse(f->body, f->len, &c->err) == -1)
		return (-1);
	/* Nothing that was asked will be answered any more. */
	lose(c, c->err.text);
	return (0);
}

int
conn_ends(const struct frame *f)
{
	return (f->type == FRAME_RESET ||
	    (f->type == FRAME_REPLY && (f->flags & FRAME_MORE) == 0));
}

static int
on_frame(void *cookie, const struct frame *f)
{
	struct conn *c = cookie;
	struct slot s;
	size_t i;
	int rc;

	if (f->type == FRAME_HELLO)
		return (on_hello(c, f));
	if (f->type == FRAME_GOAWAY)
		return (on_goaway(c, f));
	for (i = 0; i < FRAME_STREAMS; i++)
		if (c->slots[i].stream == f->stream)
			break;
	if (i == FRAME_STREAMS)
		return (0);
	s = c->slots[i];
	rc = s.fn(s.cookie, f);
	/* Whoever refuses the last frame is still to hear of the loss. */
	if (rc == 0 && conn_ends(f) && c->slots[i].stream == f->stream)
		c->slots[i].stream = 0;
	return (rc);
}

static int
unix_connect(const char *path, char *why)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(sun.sun_path)) {
		snprintf(why, LIMIT_TEXT, "the socket's path is %zu bytes "
		    "long; the system's limit is %zu", strlen(path),
		    sizeof(sun.sun_path) - 1);
		return (-1);
	}
	memcpy(sun.sun_path, path, strlen(path) + 1);
	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1)
		goto err0;
	if (connect(fd, (const struct sockaddr *)&sun, sizeof(sun)) == -1)
		goto err1;
	if (io_nonblock(fd) == -1)
		goto err1;
	return (fd);

err1:
	io_close(&fd);
err0:
	snprintf(why, LIMIT_TEXT, "cannot reach errandd at %.200s: %s%s", path,
	    strerror(errno), errno == ENOENT || errno == ECONNREFUSED ?
	    "; is it running?" : errno == EACCES && strstr(path,
	    "control.sock") != NULL ? "; root may use it, and the members of "
	    "admin_group in errandd.conf" : "");
	return (-1);
}

static int
send_hello(struct conn *c, const char *tenant)
{
	struct client_hello h = { .proto_min = PROTO_VERSION,
	    .proto_max = PROTO_VERSION, .software = ERRAND_VERSION };
	uint8_t buf[1024];
	ssize_t n;

	if (tenant != NULL)
		snprintf(h.tenant, sizeof(h.tenant), "%s", tenant);
	if ((n = client_hello_pack(&h, buf, sizeof(buf))) == -1)
		return (-1);
	return (frame_send(c->fc, 0, FRAME_HELLO, 0, buf, (size_t)n));
}

struct conn *
conn_open(const char *addr, const char *tenant, char *why)
{
	struct conn *c;
	size_t i;

	if (strncmp(addr, "unix:", 5) != 0) {
		snprintf(why, LIMIT_TEXT, "%.200s: only unix:PATH addresses "
		    "are understood by this version", addr);
		return (NULL);
	}
	if ((c = calloc(1, sizeof(*c))) == NULL ||
	    (c->buf = malloc(READ_SIZE)) == NULL ||
	    (c->fc = frame_conn_new(FRAME_CLIENT, on_frame, c)) == NULL) {
		snprintf(why, LIMIT_TEXT, "%s", strerror(errno));
		goto err0;
	}
	c->fd = -1;
	for (i = 0; i < CONN_WATCH__MAX; i++)
		c->watch[i].fd = -1;
	if ((c->fd = unix_connect(addr + 5, why)) == -1)
		goto err0;
	if (send_hello(c, tenant) == -1) {
		snprintf(why, LIMIT_TEXT, "cannot say hello: %s",
		    strerror(errno));
		goto err1;
	}
	c->heard_us = io_mono_us();
	(void)conn_pump(c, 0);
	return (c);

err1:
	io_close(&c->fd);
err0:
	if (c != NULL) {
		frame_conn_free(c->fc);
		free(c->buf);
	}
	free(c);
	return (NULL);
}

void
conn_close(struct conn *c)
{
	if (c == NULL)
		return;
	io_close(&c->fd);
	frame_conn_free(c->fc);
	free(c->buf);
	free(c);
}

/* Read and feed at most ${len} bytes.  Returns their number, or -1. */
static ssize_t
read_some(struct conn *c, size_t len)
{
	ssize_t n;

	n = read(c->fd, c->buf, len < READ_SIZE ? len : READ_SIZE);
	if (n == 0) {
		lose(c, "the host closed the connection");
		return (-1);
	}
	if (n == -1) {
		if (errno != EAGAIN && errno != EINTR)
			lose(c, strerror(errno));
		return (-1);
	}
	c->heard_us = io_mono_us();
	if (frame_feed(c->fc, c->buf, (size_t)n) == -1 && !c->lost) {
		c->broken = 1;
		lose(c, frame_fault(c->fc));
	}
	return (c->lost ? -1 : n);
}

/* Offer what comes next.  Bytes moved, 0 when it is to be read, or -1. */
static ssize_t
move_some(struct conn *c)
{
	struct frame f;
	ssize_t n;

	if (!frame_body(c->fc, &f) || f.stream != c->direct.stream)
		return (0);
	if ((n = c->direct.fn(c->direct.cookie, &f, c->fd)) > 0) {
		frame_body_done(c->fc, (size_t)n);
		(void)frame_consumed(c->fc, f.stream, (size_t)n);
		c->heard_us = io_mono_us();
	}
	return (n);
}

/*
 * Read to the end of each header and no further, so that the body is still in
 * the socket.  When nothing could be moved at once though there is something to
 * be read, where it goes to is what is not ready; that is for whoever writes it
 * to say.
 */
static void
pump_direct(struct conn *c)
{
	size_t total = 0;
	ssize_t n;

	while (total < READ_SIZE && c->direct.fn != NULL) {
		n = move_some(c);
		if (n == -1 && (errno != EAGAIN || total > 0))
			return;
		if (n <= 0 && (n = read_some(c, frame_want(c->fc))) == -1)
			return;
		total += (size_t)n;
	}
}

static void
pump_in(struct conn *c)
{
	if (c->direct.fn != NULL)
		pump_direct(c);
	else
		(void)read_some(c, READ_SIZE);
}

static void
pump_out(struct conn *c)
{
	const uint8_t *p;
	size_t len;
	ssize_t n;

	while (!c->lost && (len = frame_out(c->fc, &p)) > 0) {
		n = send(c->fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n == -1) {
			/* What the host said last may still be readable. */
			if (errno == EPIPE || errno == ECONNRESET)
				pump_in(c);
			if (errno != EAGAIN && errno != EINTR)
				lose(c, strerror(errno));
			return;
		}
		frame_out_done(c->fc, (size_t)n);
	}
}

int
conn_pump(struct conn *c, int timeout)
{
	struct pollfd pfd[1 + CONN_WATCH__MAX];
	const uint8_t *p;
	size_t i;
	int n;

	pump_out(c);
	if (c->lost)
		return (-1);
	pfd[0].fd = c->fd;
	pfd[0].events = (short)(POLLIN | (frame_out(c->fc, &p) > 0 ? POLLOUT :
	    0));
	for (i = 0; i < CONN_WATCH__MAX; i++) {
		pfd[i + 1].fd = c->watch[i].fd;
		pfd[i + 1].events = POLLIN;
	}
	if (timeout == -1)
		timeout = 1000;
	n = poll(pfd, 1 + CONN_WATCH__MAX, timeout);
	if (n == -1)
		return (0);             /* a signal */
	if (n == 0 && io_mono_us() - c->heard_us > SILENCE_US && timeout > 0) {
		lose(c, "the host has been silent for 15 seconds");
		return (-1);
	}
	for (i = 0; i < CONN_WATCH__MAX; i++)
		if (pfd[i + 1].revents != 0)
			c->watch[i].fn(c->watch[i].cookie);
	if (pfd[0].revents & (POLLIN | POLLHUP | POLLERR))
		pump_in(c);
	if (!c->lost)
		pump_out(c);
	return (c->lost ? -1 : 0);
}

int
conn_until(struct conn *c, const int *flag)
{
	while (*flag == 0)
		if (conn_pump(c, -1) == -1)
			return (*flag != 0 ? 0 : -1);
	return (0);
}

const struct client_hello *
conn_hello(struct conn *c)
{
	while (!c->have_host)
		if (conn_pump(c, -1) == -1)
			return (NULL);
	/* Refused: the host has said who it is, and goodbye. */
	return (c->err.code != ERR_NONE ? NULL : &c->host);
}

const struct client_hello *
conn_host(const struct conn *c)
{
	return (c->have_host ? &c->host : NULL);
}

uint32_t
conn_request(struct conn *c, const struct client_open *o, conn_frame_fn *fn,
    void *cookie)
{
	uint8_t buf[8192];
	uint32_t stream;
	ssize_t n;
	size_t i;

	if (c->lost || (n = client_open_pack(o, buf, sizeof(buf))) == -1)
		return (0);
	for (i = 0; i < FRAME_STREAMS; i++)
		if (c->slots[i].stream == 0)
			break;
	if (i == FRAME_STREAMS)
		return (0);
	stream = frame_stream_new(c->fc);
	if (frame_send(c->fc, stream, FRAME_OPEN, 0, buf, (size_t)n) == -1)
		return (0);
	c->slots[i].stream = stream;
	c->slots[i].fn = fn;
	c->slots[i].cookie = cookie;
	return (stream);
}

void
conn_forget(struct conn *c, uint32_t stream)
{
	size_t i;

	for (i = 0; stream != 0 && i < FRAME_STREAMS; i++)
		if (c->slots[i].stream == stream)
			c->slots[i].stream = 0;
}

int
conn_data(struct conn *c, uint32_t stream, uint8_t channel, const void *buf,
    size_t len)
{
	if (c->lost)
		return (-1);
	return (frame_send(c->fc, stream, FRAME_DATA, channel, buf, len));
}

int
conn_end(struct conn *c, uint32_t stream)
{
	if (c->lost)
		return (-1);
	return (frame_send(c->fc, stream, FRAME_END, 0, NULL, 0));
}

int
conn_consumed(struct conn *c, uint32_t stream, size_t n)
{
	return (c->lost ? -1 : frame_consumed(c->fc, stream, n));
}

size_t
conn_waiting(const struct conn *c, uint32_t stream)
{
	return (c->lost ? 0 : frame_waiting(c->fc, stream));
}

void
conn_watch(struct conn *c, enum conn_watch_at at, int fd, void (*fn)(void *),
    void *cookie)
{
	c->watch[at].fd = fd;
	c->watch[at].fn = fn;
	c->watch[at].cookie = cookie;
}

void
conn_reset(struct conn *c, uint32_t stream)
{
	conn_forget(c, stream);
	if (!c->lost)
		(void)frame_send(c->fc, stream, FRAME_RESET, 0, NULL, 0);
}

void
conn_direct(struct conn *c, uint32_t stream, conn_direct_fn *fn, void *cookie)
{
	c->direct.stream = stream;
	c->direct.fn = fn;
	c->direct.cookie = cookie;
}

uint64_t
conn_credit(const struct conn *c, uint32_t stream)
{
	return (c->lost ? 0 : frame_credit(c->fc, stream));
}

int
conn_lost(const struct conn *c)
{
	return (c->lost);
}

int
conn_broken(const struct conn *c)
{
	return (c->broken);
}

const char *
conn_why(const struct conn *c)
{
	return (c->why);
}

const struct err *
conn_err(const struct conn *c)
{
	return (c->err.code != ERR_NONE ? &c->err : NULL);
}

uint64_t
conn_sent(const struct conn *c)
{
	return (frame_bytes_sent(c->fc));
}

uint64_t
conn_received(const struct conn *c)
{
	return (frame_bytes_received(c->fc));
}
