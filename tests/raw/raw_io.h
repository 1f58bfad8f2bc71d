#ifndef ERRAND_TEST_RAW_IO_H
#define ERRAND_TEST_RAW_IO_H

/*
 * A connection spoken by hand: frames are built and shown without the code
 * that keeps the rules, so that they can be broken.  All that arrives is
 * printed, one line a frame:
 *
 *	hello MIN MAX SOFTWARE TENANT HOST
 *	reply STREAM KIND MORE TEXT
 *	data STREAM CHANNEL LENGTH
 *	end STREAM
 *	reset STREAM CODE TEXT
 *	goaway CODE TEXT
 *	ping FLAGS
 *	credit STREAM TOTAL
 *	closed SECONDS          the other end closed
 *	timeout SECONDS         it did not, in the time there was
 */

#include <sys/socket.h>
#include <sys/un.h>

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/content.h"
#include "lib/frame.h"
#include "lib/io.h"
#include "lib/le.h"
#include "lib/objrec.h"
#include "lib/text.h"
#include "proto/client_msg.h"

struct raw {
	int fd;
	uint64_t began;
	uint64_t until;         /* when patience ends */
	const char *tenant;     /* to ask for */
	int pong;               /* answer PINGs */
	int quiet;              /* print no DATA */
	int closed;
	/* the last frame */
	uint8_t type;
	uint32_t stream;
	uint8_t flags;
	struct client_reply reply;
	uint64_t data;          /* bytes of DATA so far */
	size_t have;
	uint8_t in[FRAME_HEAD + FRAME_BODY_MAX];
	uint8_t body[FRAME_BODY_MAX];   /* of the last frame */
	size_t len;
};

static double
raw_seconds(const struct raw *r)
{
	return ((double)(io_mono_us() - r->began) / 1e6);
}

static void
raw_connect(struct raw *r, const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(sun.sun_path))
		errx(1, "%s: too long for a socket", path);
	memcpy(sun.sun_path, path, strlen(path));
	r->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (r->fd == -1 || connect(r->fd, (struct sockaddr *)&sun,
	    sizeof(sun)) == -1)
		err(1, "%s", path);
	r->began = io_mono_us();
}

/* Send all of it, or find that the other end has closed. */
static int
raw_bytes(struct raw *r, const void *p, size_t len)
{
	const uint8_t *b = p;
	struct pollfd pfd = { .fd = r->fd, .events = POLLOUT };
	ssize_t n;

	while (len > 0) {
		if (io_mono_us() > r->until)
			return (-1);
		n = send(r->fd, b, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n == -1 && errno == EAGAIN) {
			(void)poll(&pfd, 1, 100);
			continue;
		}
		if (n == -1)
			return (-1);
		b += n;
		len -= (size_t)n;
	}
	return (0);
}

static int
raw_frame(struct raw *r, uint32_t stream, uint8_t type, uint8_t flags,
    const void *body, size_t len)
{
	uint8_t head[FRAME_HEAD];

	le_put32(head, (uint32_t)len);
	le_put32(head + 4, stream);
	head[8] = type;
	head[9] = flags;
	le_put16(head + 10, 0);
	if (raw_bytes(r, head, sizeof(head)) == -1)
		return (-1);
	return (raw_bytes(r, body, len));
}

static int
raw_hello(struct raw *r, uint32_t min, uint32_t max)
{
	struct client_hello h;
	uint8_t buf[512];
	ssize_t n;

	memset(&h, 0, sizeof(h));
	h.proto_min = min;
	h.proto_max = max;
	snprintf(h.software, sizeof(h.software), "raw");
	snprintf(h.tenant, sizeof(h.tenant), "%s", r->tenant);
	if ((n = client_hello_pack(&h, buf, sizeof(buf))) == -1)
		errx(2, "not a HELLO that can be sent");
	return (raw_frame(r, 0, FRAME_HELLO, 0, buf, (size_t)n));
}

static int
raw_open(struct raw *r, uint32_t stream, const struct client_open *o)
{
	static uint8_t buf[65536];
	ssize_t n;

	if ((n = client_open_pack(o, buf, sizeof(buf))) == -1)
		errx(2, "not a request that can be sent");
	return (raw_frame(r, stream, FRAME_OPEN, 0, buf, (size_t)n));
}

static const char *
raw_kind(uint8_t kind)
{
	static const char *const names[CLIENT_REPLY__MAX] = { "?", "uploaded",
	    "need", "accepted", "job", "result", "done", "info", "admin" };

	return (kind < CLIENT_REPLY__MAX ? names[kind] : "?");
}

/* Text of the other side, fit to be printed. */
static const char *
raw_text(const char *s)
{
	static char out[4 * LIMIT_TEXT];

	(void)text_escape(s, strlen(s), out, sizeof(out));
	return (out);
}

static void
raw_show_hello(const struct raw *r)
{
	struct client_hello h;

	if (client_hello_parse(r->body, r->len, &h) == -1) {
		printf("hello malformed\n");
		return;
	}
	printf("hello %u %u %s %s %s\n", h.proto_min, h.proto_max, h.software,
	    h.tenant[0] ? h.tenant : "-", raw_text(h.host));
}

static void
raw_show_err(const struct raw *r, const char *what)
{
	struct err e;

	memset(&e, 0, sizeof(e));
	if (r->len > 0 && err_parse(r->body, r->len, &e) == -1)
		printf("%s malformed\n", what);
	else if (r->type == FRAME_RESET)
		printf("%s %u %s %s\n", what, r->stream,
		    r->len > 0 ? err_code_name(e.code) : "-",
		    raw_text(e.text));
	else
		printf("%s %s %s\n", what, err_code_name(e.code),
		    raw_text(e.text));
}

static void
raw_show_reply(struct raw *r)
{
	struct client_reply *p = &r->reply;
	const char *more = (r->flags & FRAME_MORE) ? "more" : "last";

	client_reply_done(p);
	if (client_reply_parse(r->body, r->len, p) == -1) {
		printf("reply %u malformed\n", r->stream);
		return;
	}
	printf("reply %u %s %s", r->stream, raw_kind(p->kind), more);
	if (p->kind == CLIENT_ACCEPTED || p->kind == CLIENT_JOB ||
	    p->kind == CLIENT_RESULT)
		printf(" %s %s exit %u signal %u", p->record.id,
		    job_state_name(p->record.state), p->record.exit_code,
		    p->record.signal);
	else if (p->kind != CLIENT_INFO_REPLY && p->kind != CLIENT_ADMIN_REPLY)
		printf(" objects %" PRIu64 " bytes %" PRIu64, p->objects,
		    p->bytes);
	printf("\n");
}

static void
raw_show(struct raw *r)
{
	switch (r->type) {
	case FRAME_HELLO:
		raw_show_hello(r);
		break;
	case FRAME_REPLY:
		raw_show_reply(r);
		break;
	case FRAME_DATA:
		r->data += r->len;
		if (!r->quiet)
			printf("data %u %u %zu\n", r->stream, r->flags,
			    r->len);
		break;
	case FRAME_RESET:
		raw_show_err(r, "reset");
		break;
	case FRAME_GOAWAY:
		raw_show_err(r, "goaway");
		break;
	case FRAME_PING:
		printf("ping %u\n", r->flags);
		if (r->flags == 0 && r->pong)
			(void)raw_frame(r, 0, FRAME_PING, 1, NULL, 0);
		break;
	case FRAME_CREDIT_GRANT:
		if (!r->quiet && r->len == 8)
			printf("credit %u %" PRIu64 "\n", r->stream,
			    le_get64(r->body));
		break;
	case FRAME_END:
		printf("end %u\n", r->stream);
		break;
	default:
		printf("frame of unknown type %u\n", r->type);
		break;
	}
	fflush(stdout);
}

/* Take one whole frame out of what was read.  1 if there was one. */
static int
raw_take(struct raw *r)
{
	size_t len;

	if (r->have < FRAME_HEAD)
		return (0);
	if ((len = le_get32(r->in)) > FRAME_BODY_MAX)
		errx(1, "the other end sent a frame of %zu bytes", len);
	if (r->have < FRAME_HEAD + len)
		return (0);
	r->stream = le_get32(r->in + 4);
	r->type = r->in[8];
	r->flags = r->in[9];
	r->len = len;
	memcpy(r->body, r->in + FRAME_HEAD, len);
	r->have -= FRAME_HEAD + len;
	memmove(r->in, r->in + FRAME_HEAD + len, r->have);
	return (1);
}

static int
raw_ended(struct raw *r, const char *how)
{
	if (!r->closed)
		printf("%s %.1f\n", how, raw_seconds(r));
	fflush(stdout);
	r->closed = 1;
	return (0);
}

/* Read and show the next frame.  1, or 0 at the end, of patience too. */
static int
raw_next(struct raw *r)
{
	struct pollfd pfd = { .fd = r->fd, .events = POLLIN };
	uint64_t now;
	ssize_t n;

	while (!raw_take(r)) {
		if ((now = io_mono_us()) >= r->until)
			return (raw_ended(r, "timeout"));
		if (poll(&pfd, 1, (int)((r->until - now) / 1000) + 1) == 0)
			continue;
		n = recv(r->fd, r->in + r->have, sizeof(r->in) - r->have, 0);
		if (n <= 0)
			return (raw_ended(r, "closed"));
		r->have += (size_t)n;
	}
	raw_show(r);
	return (1);
}

/* Read on to the end. */
static void
raw_rest(struct raw *r)
{
	while (raw_next(r))
		continue;
}

/* Read until a frame of the type comes; 0 when it does not. */
static int
raw_wait(struct raw *r, uint8_t type)
{
	while (raw_next(r)) {
		if (r->type == type)
			return (1);
	}
	return (0);
}

/* Read until the stream has its last word; 0 when it does not come. */
static int
raw_answer(struct raw *r, uint32_t stream)
{
	while (raw_next(r)) {
		if (r->stream == stream && (r->type == FRAME_RESET ||
		    (r->type == FRAME_REPLY && !(r->flags & FRAME_MORE))))
			return (1);
	}
	return (0);
}

/* HELLO there and back; 1 if it was refused instead. */
static int
raw_greet(struct raw *r)
{
	if (raw_hello(r, PROTO_VERSION, PROTO_VERSION) == -1)
		return (1);
	return (!raw_wait(r, FRAME_HELLO));
}

static void
raw_random(uint8_t *p, size_t n, uint64_t seed)
{
	uint64_t x = seed * 2685821657736338717U + 88172645463325252U;

	while (n-- > 0) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		*p++ = (uint8_t)x;
	}
}

struct raw_pile {
	uint8_t *p;
	size_t len;
};

static int
raw_pile_add(void *cookie, const struct obj_ref *ref, const void *buf,
    size_t len)
{
	struct raw_pile *pile = cookie;
	size_t n;

	pile->p = realloc(pile->p, pile->len + OBJREC_HEAD + OBJ_MAX);
	if (pile->p == NULL ||
	    objrec_pack(ref, buf, len, pile->p + pile->len, &n) == -1)
		return (-1);
	pile->len += n;
	return (0);
}

static void
raw_upload(struct raw *r, uint32_t stream, const uint8_t *p, size_t len)
{
	struct client_open o;
	size_t n, at;

	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_UPLOAD;
	(void)raw_open(r, stream, &o);
	for (at = 0; at < len; at += n) {
		n = len - at < FRAME_SLICE ? len - at : FRAME_SLICE;
		(void)raw_frame(r, stream, FRAME_DATA, FRAME_OBJECT, p + at,
		    n);
	}
	(void)raw_frame(r, stream, FRAME_END, 0, NULL, 0);
}

static void
raw_spec(char **argv, struct raw_pile *pile, struct job_submit *sub)
{
	struct job_spec spec;
	uint8_t *buf;
	size_t len;

	memset(&spec, 0, sizeof(spec));
	while (argv[spec.argc] != NULL)
		spec.argc++;
	spec.argv = argv;
	spec.workdir = (char *)(uintptr_t)"";
	if (job_spec_pack(&spec, &buf, &len) == -1 ||
	    content_from_mem(buf, len, raw_pile_add, pile, &sub->spec) == -1)
		errx(2, "not a command that can be sent");
	sub->spec_len = len;
	raw_random(sub->idem, sizeof(sub->idem),
	    io_real_us() ^ (uint64_t)getpid() << 32);
	free(buf);
}

#endif /* !ERRAND_TEST_RAW_IO_H */
