/*
 * The client's INPUT and WINDOW: what a job reads, and the size of its
 * terminal.  Writes the bytes into a pipe from the supervisor, whose other end
 * is the job's keeper's, and gives credit for what went in: so a command that
 * does not read stops its client and nothing else.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "conn.h"
#include "dispatch.h"
#include "handlers.h"
#include "lib/frame.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/size.h"
#include "session.h"
#include "stream.h"
#include "sup.h"

/*
 * Invariants of struct input:
 *  1. asking is set until INPUT was answered, fd is the pipe from then until
 *     the input was given up; the supervisor is told so, also while asking.
 *  2. held[at .. len - 1] was received and is not in the pipe; it is what the
 *     client has no credit for, so at most FRAME_CREDIT bytes.
 */
struct input {
	char job[JOB_ID_LEN + 1];
	uint8_t asking;
	int fd;
	struct event *broken;   /* the pipe's other end was closed */
	struct event *room;     /* there is room in it; pending while needed */
	uint8_t *held;
	size_t at, len, cap;
};

static void
on_told(void *cookie, const struct snap_msg *m, int *fd)
{
	(void)cookie;
	(void)m;
	(void)fd;
}

/* Give the input back. */
static void
give_up(struct stream *st, enum snap_input_end how)
{
	struct input *in = st->priv;
	struct snap_msg *m;

	if (in->fd == -1 && !in->asking)
		return;
	in->asking = 0;
	if (in->broken != NULL)
		event_free(in->broken);
	if (in->room != NULL)
		event_free(in->room);
	in->broken = in->room = NULL;
	io_close(&in->fd);
	m = sup_msg(st->s->sup, SNAP_INPUT_END);
	memcpy(m->u.input_end.job, in->job, sizeof(m->u.input_end.job));
	m->u.input_end.how = (uint8_t)how;
	sup_request(st->s->sup, -1, on_told, NULL);
}

/* The command, or its keeper, wants no more. */
static void
unwanted(struct stream *st)
{
	give_up(st, SNAP_INPUT_EOF);
	stream_count(st, CLIENT_DONE, 0, 0);
}

/* Returns the bytes written, 0 when there is no room; the pipe may break. */
static size_t
put(struct stream *st, const uint8_t *p, size_t len)
{
	struct input *in = st->priv;
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = write(in->fd, p + done, len - done);
		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			(void)event_add(in->room, NULL);
		else
			unwanted(st);
		break;
	}
	(void)frame_consumed(conn_frames(st->s->conn), st->id, done);
	return (done);
}

/* Write what is held; at the client's END the input is at its end. */
static void
go_on(struct stream *st)
{
	struct input *in = st->priv;

	if (in->at < in->len)
		in->at += put(st, in->held + in->at, in->len - in->at);
	if (in->at == in->len)
		in->at = in->len = 0;
	if (st->ended && in->len == 0 && !st->over)
		unwanted(st);
}

static void
on_room(evutil_socket_t fd, short what, void *cookie)
{
	struct stream *st = cookie;
	struct session *s = st->s;

	(void)fd;
	(void)what;
	if (!st->over)
		go_on(st);
	session_after(s);
}

static void
on_broken(evutil_socket_t fd, short what, void *cookie)
{
	struct stream *st = cookie;
	struct session *s = st->s;

	(void)fd;
	(void)what;
	if (!st->over)
		unwanted(st);
	session_after(s);
}

/*
 * A pipe's end for writing, from the supervisor.  An error is all that can be
 * heard of by waiting for something to read from it.
 */
static int
pipe_take(struct stream *st, int *fd)
{
	struct input *in = st->priv;
	struct stat sb;

	errno = EPROTO;
	if (*fd == -1 || fstat(*fd, &sb) == -1 || !S_ISFIFO(sb.st_mode) ||
	    io_nonblock(*fd) == -1)
		return (-1);
	in->broken = event_new(st->s->base, *fd, EV_READ | EV_PERSIST,
	    on_broken, st);
	in->room = event_new(st->s->base, *fd, EV_WRITE, on_room, st);
	/* From here on it is ours to give up. */
	in->fd = *fd;
	*fd = -1;
	return (in->broken == NULL || in->room == NULL ||
	    event_add(in->broken, NULL) == -1 ? -1 : 0);
}

static void
on_taken(void *cookie, const struct snap_msg *m, int *fd)
{
	struct stream *st = cookie;
	struct input *in = st->priv;
	struct client_reply r;

	in->asking = 0;
	if (m->op == SNAP_ERROR) {
		stream_fail(st, &m->u.error);
		return;
	}
	if (pipe_take(st, fd) == -1) {
		log_warn("a job's input");
		/* Whose it is now, the supervisor does not know. */
		in->asking = 1;
		stream_failf(st, ERR_INTERNAL,
		    "the host could not open the job's input");
		return;
	}
	memset(&r, 0, sizeof(r));
	r.kind = CLIENT_INPUT_REPLY;
	r.offset = m->u.taken.offset;
	stream_reply(st, &r, 1);
}

/* Does the request name a job by its id?  If not, it was failed. */
static int
named(struct stream *st, const struct client_open *o)
{
	if (text_job_id_valid(o->job))
		return (1);
	stream_failf(st, ERR_INVALID, "this request needs the job's whole id");
	return (0);
}

void
input_open(struct stream *st, const struct client_open *o)
{
	struct input *in;
	struct snap_msg *m;

	if (!named(st, o))
		return;
	if (NEW_ARRAY(in, 1) == -1) {
		stream_failf(st, ERR_INTERNAL, "the host ran out of memory");
		return;
	}
	st->priv = in;
	in->fd = -1;
	in->asking = 1;
	memcpy(in->job, o->job, sizeof(in->job));
	m = sup_msg(st->s->sup, SNAP_INPUT);
	memcpy(m->u.input.job, in->job, sizeof(m->u.input.job));
	m->u.input.take = o->take;
	sup_request(st->s->sup, -1, on_taken, st);
}

static void
hold(struct stream *st, const uint8_t *p, size_t len)
{
	struct input *in = st->priv;
	uint8_t *q;

	if (in->at > 0) {
		memmove(in->held, in->held + in->at, in->len - in->at);
		in->len -= in->at;
		in->at = 0;
	}
	q = size_grow(in->held, &in->cap, in->len + len, 1);
	if (q == NULL) {
		stream_failf(st, ERR_INTERNAL, "the host ran out of memory");
		return;
	}
	in->held = q;
	memcpy(q + in->len, p, len);
	in->len += len;
}

void
input_take(struct stream *st, const uint8_t *p, size_t len)
{
	struct input *in = st->priv;
	size_t n = 0;

	if (in->fd == -1) {
		stream_failf(st, ERR_INVALID,
		    "input was sent before the job could take any");
		return;
	}
	if (in->len == 0)
		n = put(st, p, len);
	if (n < len && !st->over)
		hold(st, p + n, len - n);
}

void
input_end(struct stream *st)
{
	struct input *in = st->priv;

	if (in->fd == -1)
		stream_failf(st, ERR_INVALID,
		    "input was sent before the job could take any");
	else
		go_on(st);
}

void
input_event(struct stream *st, const struct snap_msg *m)
{
	struct input *in = st->priv;

	if (m->op != SNAP_INPUT_STOP || in == NULL || in->fd == -1 ||
	    strcmp(m->u.input_stop.job, in->job) != 0)
		return;
	give_up(st, SNAP_INPUT_LOST);
	stream_failf(st, ERR_BUSY, "another client has taken the input of "
	    "job %s", in->job);
}

/* A client that resets the stream leaves; what else ends it is a loss. */
void
input_done(struct stream *st)
{
	struct input *in = st->priv;

	if (in == NULL)
		return;
	if (!conn_over(st->s->conn))
		give_up(st, SNAP_INPUT_LEFT);
	if (in->broken != NULL)
		event_free(in->broken);
	if (in->room != NULL)
		event_free(in->room);
	io_close(&in->fd);
	free(in->held);
	free(in);
}

static void
on_window(void *cookie, const struct snap_msg *m, int *fd)
{
	struct stream *st = cookie;

	(void)fd;
	if (m->op == SNAP_ERROR)
		stream_fail(st, &m->u.error);
	else
		stream_count(st, CLIENT_DONE, 1, 0);
}

void
window_open(struct stream *st, const struct client_open *o)
{
	struct snap_msg *m;

	if (!named(st, o))
		return;
	m = sup_msg(st->s->sup, SNAP_WINDOW);
	memcpy(m->u.window.job, o->job, sizeof(m->u.window.job));
	m->u.window.rows = o->rows;
	m->u.window.cols = o->cols;
	sup_request(st->s->sup, -1, on_window, st);
}
