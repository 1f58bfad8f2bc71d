/*
 * What a job reads: our descriptor 0 to a stream of the connection.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conn.h"
#include "lib/frame.h"
#include "out.h"
#include "session.h"
#include "stdin.h"
#include "tty.h"

#define RING            FRAME_CREDIT
#define PIECE           65536
#define KEY_DETACH      0x1c            /* Ctrl-\ */

struct input {
	struct session *s;
	char job[JOB_ID_LEN + 1];
	uint32_t stream;        /* 0: none */
	int open;               /* the host takes it */
	int over;               /* nobody wants more of it */
	int eof;                /* we have read it to its end */
	int ended;              /* and said so on this stream */
	int tty;
	int detached;
	int window;             /* WINDOW was not answered yet */
	int window_due;
	uint64_t base;          /* offset at which the stream began */
	uint64_t acked, sent, seen;
	uint8_t ring[RING];
};

struct input *
input_new(struct session *s, int tty)
{
	struct input *in;

	if ((in = calloc(1, sizeof(*in))) == NULL)
		return (NULL);
	in->s = s;
	in->tty = tty;
	return (in);
}

static void
unwatch(struct input *in)
{
	if (in->s->c != NULL)
		conn_watch(in->s->c, CONN_WATCH_INPUT, -1, NULL, NULL);
}

void
input_free(struct input *in)
{
	if (in == NULL)
		return;
	/* What was typed may be secret. */
	explicit_bzero(in->ring, sizeof(in->ring));
	free(in);
}

/* No more is read, and the terminal is the caller's again. */
static void
finish(struct input *in)
{
	in->over = 1;
	in->open = 0;
	in->stream = 0;
	unwatch(in);
}

/* A host that has more than we sent, or less than it said, is not believed. */
static int
begin(struct input *in, const struct frame *f)
{
	struct client_reply r;
	int rc;

	if (client_reply_parse(f->body, f->len, &r) == -1)
		return (-1);
	rc = r.kind == CLIENT_INPUT_REPLY ? 0 : -1;
	if (rc == 0 && in->seen == 0)
		in->acked = in->seen = r.offset; /* others sent some */
	else if (rc == 0 && (r.offset < in->acked || r.offset > in->seen)) {
		out_warn("the host has lost some of the input, or got some of "
		    "another client: no more is sent");
		finish(in);
	}
	client_reply_done(&r);
	if (rc == -1 || in->over)
		return (rc);
	in->base = in->acked = in->sent = r.offset;
	in->open = 1;
	in->window_due = in->tty;
	return (0);
}

static int
refused(struct input *in, const struct frame *f)
{
	struct err e;

	if (err_parse(f->body, f->len, &e) == -1)
		return (-1);
	/* That it has ended is told by its result. */
	if (e.code != ERR_NOT_FOUND)
		out_err(&e);
	finish(in);
	return (0);
}

static int
on_frame(void *cookie, const struct frame *f)
{
	struct input *in = cookie;

	if (f == NULL)
		return (0);
	if (f->type == FRAME_RESET)
		return (refused(in, f));
	if (f->type != FRAME_REPLY)
		return (-1);
	if (conn_ends(f)) {
		finish(in);
		return (0);
	}
	return (in->open ? -1 : begin(in, f));
}

int
input_start(struct input *in, const char *job, int take)
{
	struct client_open *o;

	if (in->over)
		return (0);
	if ((o = calloc(1, sizeof(*o))) == NULL)
		return (-1);
	o->verb = CLIENT_INPUT;
	o->take = take != 0;
	memcpy(in->job, job, JOB_ID_LEN + 1);
	memcpy(o->job, job, JOB_ID_LEN + 1);
	in->open = in->ended = in->window = 0;
	in->stream = conn_request(in->s->c, o, on_frame, in);
	free(o);
	return (in->stream == 0 ? -1 : 0);
}

/* Put ${n} bytes that were read at the end of the ring. */
static void
keep(struct input *in, const uint8_t *p, size_t n)
{
	size_t at = (size_t)(in->seen % RING), first = RING - at;

	if (first > n)
		first = n;
	memcpy(in->ring + at, p, first);
	memcpy(in->ring, p + first, n - first);
	in->seen += n;
}

/* Send what is in the ring and was not sent; at the end say so. */
static void
flush(struct input *in)
{
	size_t at, n;

	while (in->sent < in->seen) {
		at = (size_t)(in->sent % RING);
		n = (size_t)(in->seen - in->sent);
		if (n > RING - at)
			n = RING - at;
		if (conn_data(in->s->c, in->stream, FRAME_STDIN,
		    in->ring + at, n) == -1)
			return;
		in->sent += n;
	}
	if (in->eof && !in->ended) {
		in->ended = 1;
		(void)conn_end(in->s->c, in->stream);
	}
}

/* One read, of what there is room for. */
static void
on_readable(void *cookie)
{
	struct input *in = cookie;
	size_t room = RING - (size_t)(in->seen - in->acked);
	const uint8_t *key;
	uint8_t buf[PIECE];
	ssize_t n;

	if (!in->open || in->eof || room == 0)
		return;
	n = read(STDIN_FILENO, buf, room < sizeof(buf) ? room : sizeof(buf));
	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n == -1 && errno != EIO && errno != EBADF)
		out_warn("cannot read the input: %s", strerror(errno));
	if (n <= 0) {
		in->eof = 1;
		return;
	}
	if (in->tty && (key = memchr(buf, KEY_DETACH, (size_t)n)) != NULL) {
		in->detached = 1;
		n = key - buf;
	}
	keep(in, buf, (size_t)n);
	explicit_bzero(buf, (size_t)n);
}

static int
on_window(void *cookie, const struct frame *f)
{
	struct input *in = cookie;

	in->window = 0;
	return (f == NULL || conn_ends(f) ? 0 : -1);
}

/* One at a time: the last of many changes is what counts. */
static void
send_window(struct input *in)
{
	struct client_open *o;

	if (in->window || !in->window_due ||
	    (o = calloc(1, sizeof(*o))) == NULL)
		return;
	o->verb = CLIENT_WINDOW;
	memcpy(o->job, in->job, JOB_ID_LEN + 1);
	tty_size(&o->rows, &o->cols);
	in->window_due = 0;
	in->window = conn_request(in->s->c, o, on_window, in) != 0;
	free(o);
}

/* What the host has given credit for anew, it has passed on. */
static void
note_arrived(struct input *in)
{
	uint64_t credit = conn_credit(in->s->c, in->stream);

	if (credit < FRAME_CREDIT)
		return;
	credit -= FRAME_CREDIT;
	in->acked = in->base + (credit < in->sent - in->base ? credit :
	    in->sent - in->base);
}

void
input_turn(struct input *in)
{
	int wanted;

	if (in->stream == 0 || conn_lost(in->s->c))
		return;
	if (in->open) {
		note_arrived(in);
		flush(in);
		send_window(in);
	}
	wanted = in->open && !in->eof && !in->detached &&
	    in->seen - in->acked < RING;
	conn_watch(in->s->c, CONN_WATCH_INPUT, wanted ? STDIN_FILENO : -1,
	    on_readable, in);
}

void
input_lost(struct input *in)
{
	in->open = in->window = 0;
	in->stream = 0;
}

void
input_leave(struct input *in)
{
	if (in->stream != 0 && in->s->c != NULL && !conn_lost(in->s->c))
		conn_reset(in->s->c, in->stream);
	finish(in);
}

int
input_detached(const struct input *in)
{
	return (in->detached);
}

int
input_open(const struct input *in)
{
	return (in->open);
}

void
input_window(struct input *in)
{
	in->window_due = 1;
}
