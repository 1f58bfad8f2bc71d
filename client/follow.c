/*
 * Follows a job.  Writes its output to stdout and stderr; touches no file.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "follow.h"
#include "progress.h"
#include "lib/io.h"
#include "out.h"
#include "signals.h"
#include "stdin.h"
#include "tty.h"

#define RECONNECT_US    60000000ULL
#define RECONNECT_MS    200
#define HANG_UP_US      2000000ULL
#define PIPE_BIG        (1024 * 1024)
#define FLOOD_MIN       (FRAME_SLICE / 2)

static int
on_ignored(void *cookie, const struct frame *f)
{
	(void)cookie;
	(void)f;
	return (0);
}

/* Returns the stream, or 0. */
static uint32_t
send_signal(struct follow *f, int sig)
{
	struct client_open *o;
	uint32_t stream;

	if (f->s->c == NULL || conn_lost(f->s->c) ||
	    (o = calloc(1, sizeof(*o))) == NULL)
		return (0);
	o->verb = CLIENT_KILL;
	o->signal = (uint8_t)sig;
	o->no_wait = 1;
	memcpy(o->job, f->record.id, JOB_ID_LEN + 1);
	stream = conn_request(f->s->c, o, on_ignored, NULL);
	free(o);
	return (stream);
}

static int
grow_refs(struct follow *f, size_t len)
{
	uint8_t *p;

	if (f->nrefs + len > (size_t)LIMIT_NEED_REFS * OBJ_REF_LEN)
		return (-1);
	if (f->nrefs + len > f->refs_cap) {
		f->refs_cap = (f->nrefs + len) * 2;
		if ((p = realloc(f->refs, f->refs_cap)) == NULL)
			return (-1);
		f->refs = p;
	}
	return (0);
}

static int
is_shown(const struct follow *f, int which)
{
	return ((f->show & which) != 0 && !f->broken_pipe);
}

/* A piece of output could not be written, for the reason in errno. */
static void
not_written(struct follow *f, int fd)
{
	if (errno != EPIPE) {
		if (!f->unwritten)
			out_warn("cannot write the output: %s",
			    strerror(errno));
		f->unwritten = 1;
	} else if (fd == STDOUT_FILENO) {
		/* As the command itself would have it here. */
		f->broken_pipe = 1;
		if (!f->watcher)
			(void)send_signal(f, SIGPIPE);
	}
}

/*
 * A conn_direct_fn: from the socket to a pipe without a copy here.  What it
 * leaves is shown as usual, and any fault is met again by that.
 */
static ssize_t
pass_on(void *cookie, const struct frame *fr, int from)
{
	struct follow *f = cookie;
	const int fd = fr->flags == FRAME_STDERR ? STDERR_FILENO :
	    STDOUT_FILENO;
	const int which = fr->flags == FRAME_STDERR ? FOLLOW_STDERR :
	    FOLLOW_STDOUT;
	ssize_t n;

	if ((fr->flags != FRAME_STDOUT && fr->flags != FRAME_STDERR) ||
	    (f->pipes & which) == 0 || f->skip > 0 || !is_shown(f, which))
		return (0);
	progress_clear();
	n = splice(from, NULL, fd, NULL, fr->len, SPLICE_F_MOVE);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return (-1);
	if (n <= 0) {
		f->pipes &= ~which;
		return (0);
	}
	f->offset += (uint64_t)n;
	f->lost_us = 0;
	return (n);
}

/*
 * Output that comes in long pieces is a flood.  A pipe of 64 KiB that it goes
 * into is full all the time, and its two ends take turns for every few KiB; one
 * that somebody made larger still is left as it is.
 */
static void
flood(struct follow *f, int fd, int which)
{
	int size;

	if ((f->tried & which) == 0) {
		f->tried |= which;
		if ((size = fcntl(fd, F_GETPIPE_SZ)) == -1)
			return;
		f->pipes |= which;
		if (size < PIPE_BIG)
			(void)fcntl(fd, F_SETPIPE_SZ, PIPE_BIG);
	}
	if ((f->pipes & which) != 0)
		conn_direct(f->s->c, f->stream, pass_on, f);
}

/* Write one piece of output, less what the user asked to leave out. */
static void
show(struct follow *f, int fd, const uint8_t *p, size_t len)
{
	const int which = fd == STDOUT_FILENO ? FOLLOW_STDOUT : FOLLOW_STDERR;
	size_t cut;

	if (f->skip > 0) {
		cut = len < f->skip ? len : (size_t)f->skip;
		f->skip -= cut;
		p += cut;
		len -= cut;
	}
	if (len == 0 || !is_shown(f, which))
		return;
	progress_clear();
	if (len >= FLOOD_MIN)
		flood(f, fd, which);
	else
		/* Short pieces take fewer calls when they are read together. */
		conn_direct(f->s->c, 0, NULL, NULL);
	if (io_write(fd, p, len) == -1)
		not_written(f, fd);
}

static int
on_data(struct follow *f, const struct frame *fr)
{
	switch (fr->flags) {
	case FRAME_REFS:
		if (grow_refs(f, fr->len) == -1)
			return (-1);
		memcpy(f->refs + f->nrefs, fr->body, fr->len);
		f->nrefs += fr->len;
		break;
	case FRAME_STDOUT:
	case FRAME_STDERR:
		show(f, fr->flags == FRAME_STDOUT ? STDOUT_FILENO :
		    STDERR_FILENO, fr->body, fr->len);
		f->offset += fr->len;
		f->lost_us = 0;
		break;
	default:
		return (-1);
	}
	return (conn_consumed(f->s->c, fr->stream, fr->len));
}

/* Can such a reply be the last one, though it is no result? */
static int
may_end(const struct follow *f, uint8_t kind)
{
	return (kind == CLIENT_ACCEPTED ? f->detach : f->watcher);
}

static int
on_reply(struct follow *f, const struct frame *fr)
{
	struct client_reply *r;
	int rc;

	if ((r = calloc(1, sizeof(*r))) == NULL)
		return (-1);
	if ((rc = client_reply_parse(fr->body, fr->len, r)) == -1)
		goto done;
	switch (r->kind) {
	case CLIENT_NEED:
		rc = conn_ends(fr) ? 0 : -1;
		f->state = FOLLOW_NEED;
		break;
	case CLIENT_ACCEPTED:
	case CLIENT_JOB:
		if (conn_ends(fr) && !may_end(f, r->kind)) {
			rc = -1;
			break;
		}
		f->record = r->record;
		if (!f->accepted)
			f->offset = r->offset;
		f->accepted = 1;
		f->state = (fr->flags & FRAME_MORE) == 0 &&
		    r->kind == CLIENT_JOB ? FOLLOW_RESULT : FOLLOW_ACCEPTED;
		if (f->on_state != NULL)
			f->on_state(f);
		break;
	case CLIENT_RESULT:
		if (!conn_ends(fr) || !JOB_IS_FINAL(r->record.state)) {
			rc = -1;
			break;
		}
		f->record = r->record;
		f->state = FOLLOW_RESULT;
		break;
	default:
		rc = -1;
		break;
	}
done:
	client_reply_done(r);
	free(r);
	return (rc);
}

int
follow_frame(void *cookie, const struct frame *fr)
{
	struct follow *f = cookie;

	if (fr == NULL) {
		f->state = FOLLOW_LOST;
		return (0);
	}
	switch (fr->type) {
	case FRAME_DATA:
		return (on_data(f, fr));
	case FRAME_REPLY:
		return (on_reply(f, fr));
	case FRAME_RESET:
		f->state = FOLLOW_ERROR;
		return (err_parse(fr->body, fr->len, &f->err));
	case FRAME_END:
		return (0);
	default:
		return (-1);
	}
}

void
follow_done(struct follow *f)
{
	free(f->refs);
	f->refs = NULL;
}

int
follow_attach(struct follow *f, const char *job, uint64_t offset, int more)
{
	struct client_open *o;

	if ((o = calloc(1, sizeof(*o))) == NULL)
		return (-1);
	o->verb = CLIENT_ATTACH;
	o->offset = offset;
	o->follow = (uint8_t)more;
	snprintf(o->job, sizeof(o->job), "%s", job);
	f->state = FOLLOW_WAIT;
	f->stream = conn_request(f->s->c, o, follow_frame, f);
	free(o);
	return (f->stream == 0 ? -1 : 0);
}

/* On a new connection: the output from where we were, and the input. */
static int
attach_again(struct follow *f)
{
	if (follow_attach(f, f->record.id, f->offset, 1) == -1)
		return (-1);
	return (f->in == NULL ? 0 : input_start(f->in, f->record.id, 1));
}

/* Try for a minute to find the host again and go on where we were. */
static int
follow_again(struct follow *f)
{
	uint64_t now = io_mono_us(), until;

	progress_clear();
	/* What is typed now is for us: an interrupt, say. */
	tty_restore();
	if (f->in != NULL)
		input_lost(f->in);
	if (conn_broken(f->s->c)) {
		session_lost(f->s);
		return (-1);
	}
	/* A host that lets us in and closes again gets no new minute for it. */
	if (f->lost_us == 0)
		f->lost_us = now;
	until = f->lost_us + RECONNECT_US;
	if (now - f->tried_us < RECONNECT_MS * 1000)
		(void)poll(NULL, 0, RECONNECT_MS);
	if (!f->s->quiet && f->lost_us == now)
		out_warn("the connection was lost (%s); trying again for a "
		    "minute", conn_why(f->s->c));
	do {
		f->tried_us = io_mono_us();
		if (f->tried_us < until && session_reopen(f->s) == 0 &&
		    attach_again(f) == 0)
			return (0);
		(void)poll(NULL, 0, RECONNECT_MS);
	} while (io_mono_us() < until && signals_seen(SIGINT) < 3 &&
	    !signals_seen(SIGQUIT) && !signals_seen(SIGTERM) &&
	    !signals_seen(SIGHUP));
	out_warn("the host could not be reached again");
	return (-1);
}

struct sigstep {
	int forwarded;          /* INT signals sent on so far */
	int term;
};

/* What came in since the last look: 1 when the user leaves. */
static int
handle_signals(struct follow *f, struct sigstep *st)
{
	signals_drain();
	if (f->watcher)
		return (signals_any() || f->broken_pipe);
	if (f->in != NULL && input_detached(f->in))
		signals_pretend(SIGQUIT);
	if (signals_seen(SIGQUIT) || signals_seen(SIGHUP))
		return (1);
	while (st->forwarded < signals_seen(SIGINT)) {
		if (++st->forwarded == 3)
			return (1);
		(void)send_signal(f, st->forwarded == 1 ? SIGINT : SIGKILL);
	}
	if (signals_seen(SIGTERM) && !st->term) {
		st->term = 1;
		(void)send_signal(f, 0);
	}
	return (0);
}

static void
on_wake(void *cookie)
{
	(void)cookie;           /* the loop looks at the signals itself */
}

/* The terminal is raw while the command has it, and only then. */
static void
tty_turn(struct follow *f)
{
	if (!f->tty)
		return;
	if (signals_seen(SIGTSTP)) {
		signals_clear(SIGTSTP);
		tty_stop();
	}
	if (f->in != NULL && input_open(f->in))
		tty_raw();
	if (signals_seen(SIGCONT) || signals_seen(SIGWINCH)) {
		if (signals_seen(SIGCONT))
			tty_again();
		signals_clear(SIGCONT);
		signals_clear(SIGWINCH);
		if (f->in != NULL)
			input_window(f->in);
	}
}

/* What was to be sent last goes out as well as it can without waiting. */
static void
leave_input(struct follow *f)
{
	tty_restore();
	if (f->in == NULL)
		return;
	if (signals_seen(SIGQUIT))
		input_leave(f->in);
	if (!conn_lost(f->s->c))
		(void)conn_pump(f->s->c, 0);
}

static void
say_where(const struct follow *f)
{
	out_warn("not waiting any longer; see `errand status %s`, `errand "
	    "attach %s` or `errand kill %s`", f->record.id, f->record.id,
	    f->record.id);
}

/* As its own terminal would hang up; the host has a moment to hear of it. */
static void
hang_up(struct follow *f)
{
	uint64_t until = io_mono_us() + HANG_UP_US;
	uint32_t stream;

	tty_restore();
	stream = send_signal(f, SIGHUP);
	while (stream != 0 && conn_credit(f->s->c, stream) != 0 &&
	    io_mono_us() < until)
		(void)conn_pump(f->s->c, 100);
}

static int
leave(struct follow *f)
{
	if (signals_seen(SIGHUP) && f->tty)
		hang_up(f);
	leave_input(f);
	if (f->watcher)
		return (f->broken_pipe ? 128 + SIGPIPE : EXIT_INTERRUPTED);
	if (signals_seen(SIGQUIT)) {
		printf("%s\n", f->record.id);
		return (0);
	}
	if (!f->tty || !signals_seen(SIGHUP))
		say_where(f);
	return (signals_seen(SIGHUP) ? 128 + SIGHUP : EXIT_INTERRUPTED);
}

int
follow_run(struct follow *f)
{
	struct sigstep st = { 0 };

	if (f->tty)
		signals_catch_tty();
	conn_watch(f->s->c, CONN_WATCH_SIGNALS, signals_fd(), on_wake, f);
	while (f->state < FOLLOW_RESULT) {
		if (handle_signals(f, &st)) {
			progress_clear();
			return (leave(f));
		}
		tty_turn(f);
		if (f->in != NULL)
			input_turn(f->in);
		(void)conn_pump(f->s->c, -1);
		if (f->state != FOLLOW_LOST || f->record.id[0] == '\0')
			continue;
		if (follow_again(f) == -1) {
			out_warn("the state of job %s is unknown; ask for it "
			    "with `errand status %s`", f->record.id,
			    f->record.id);
			return (EXIT_OURS);
		}
		conn_watch(f->s->c, CONN_WATCH_SIGNALS, signals_fd(), on_wake,
		    f);
	}
	tty_restore();
	progress_clear();
	if (f->state == FOLLOW_LOST) {
		session_lost(f->s);
		return (EXIT_OURS);
	}
	if (f->state == FOLLOW_ERROR) {
		out_err(&f->err);
		return (EXIT_OURS);
	}
	if (f->watcher)
		return (f->unwritten ? EXIT_OURS : 0);
	return (follow_exit_code(f));
}

/* What of ours failed around the command, in words; "" for nothing. */
static const char *
ours_failed(const struct job_record *r)
{
	if (r->reason.code != ERR_NONE)
		return (r->reason.text);
	if (r->ran && !r->changes.complete)
		return ("not all changes could be collected");
	if (r->ran && !r->log.complete)
		return ("the log is incomplete");
	if (r->ran && r->log.truncated)
		return ("it wrote more than its log may hold: the middle of "
		    "the output is missing");
	if (!r->cleanup)
		return ("something of the job could not be cleaned up");
	return ("");
}

int
follow_exit_code(const struct follow *f)
{
	const struct job_record *r = &f->record;
	const char *fault = ours_failed(r);

	if (!JOB_IS_FINAL(r->state))
		return (0);
	if (*fault != '\0')
		out_warn("job %s: %s", r->id, fault);
	if (r->limit != JOB_LIMIT_NONE)
		out_warn("job %s: limit: %s", r->id, common_limit(r->limit));
	if (!r->ran)
		return (r->exit_code == 126 || r->exit_code == 127 ?
		    r->exit_code : EXIT_OURS);
	if (r->signal != 0)
		return (128 + r->signal);
	if (r->exit_code != 0)
		return (r->exit_code);
	/* Told to stop by such a limit, or too short to be told, it ended with
	 * success; it is none. */
	if (r->limit == JOB_LIMIT_RUNTIME || r->limit == JOB_LIMIT_CPU_TIME ||
	    r->limit == JOB_LIMIT_DISK || r->limit == JOB_LIMIT_INODES)
		return (EXIT_OURS);
	return (*fault != '\0' || f->unwritten ? EXIT_OURS : 0);
}
