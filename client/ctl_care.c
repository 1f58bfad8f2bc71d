/*
 * A task of the store from its begin to its end.  Talks to the host and writes
 * progress on the terminal.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl_care.h"
#include "lib/text.h"
#include "out.h"
#include "session.h"

struct run {
	struct session *s;
	const struct care_hear *hear;
	int done;               /* 1 done, -1 refused, -2 lost, -3 given up */
	struct err err;
};

static int
on_reply(struct run *r, const struct frame *f)
{
	struct client_reply rep;

	memset(&rep, 0, sizeof(rep));
	if (client_reply_parse(f->body, f->len, &rep) == -1)
		return (-1);
	if (rep.kind != CLIENT_CARE_REPLY || rep.care == NULL ||
	    rep.care->done != ((f->flags & FRAME_MORE) == 0)) {
		client_reply_done(&rep);
		return (-1);
	}
	r->hear->say(r->hear->cookie, rep.care);
	if (rep.care->done)
		r->done = 1;
	client_reply_done(&rep);
	return (0);
}

static int
on_data(struct run *r, const struct frame *f)
{
	if (r->hear->bytes == NULL || f->flags != FRAME_BYTES)
		return (-1);
	if (r->hear->bytes(r->hear->cookie, f->body, f->len) == -1) {
		r->done = -3;
		return (0);
	}
	return (conn_consumed(r->s->c, f->stream, f->len));
}

static int
on_frame(void *cookie, const struct frame *f)
{
	struct run *r = cookie;

	if (f == NULL) {
		r->done = -2;
		return (0);
	}
	switch (f->type) {
	case FRAME_RESET:
		r->done = -1;
		return (err_parse(f->body, f->len, &r->err));
	case FRAME_REPLY:
		return (on_reply(r, f));
	case FRAME_DATA:
		return (r->done == -3 ? 0 : on_data(r, f));
	default:
		return (-1);
	}
}

int
care_run(struct session *s, enum care_task task, const struct care_hear *hear)
{
	struct run r = { .s = s, .hear = hear };
	struct client_open *o;
	uint32_t stream;

	if (session_hello(s) == -1)
		return (EXIT_NO);
	if ((o = calloc(1, sizeof(*o))) == NULL)
		return (EXIT_OURS);
	o->verb = CLIENT_CARE;
	o->task = (uint8_t)task;
	if ((stream = conn_request(s->c, o, on_frame, &r)) == 0)
		r.done = -2;
	free(o);
	while (r.done == 0 && conn_pump(s->c, -1) == 0)
		;
	if (stream != 0)
		conn_forget(s->c, stream);
	if (r.done == 1)
		return (0);
	care_progress_end(s);
	if (r.done == -1)
		out_err(&r.err);
	else if (r.done != -3)
		session_lost(s);
	return (r.done == -1 && r.err.code == ERR_INVALID ? EXIT_USAGE :
	    EXIT_OURS);
}

static int
is_shown(const struct session *s)
{
	return (!s->json && isatty(STDERR_FILENO));
}

void
care_progress(const struct session *s, const char *what, uint64_t at,
    uint64_t total)
{
	if (!is_shown(s))
		return;
	fprintf(stderr, "\r%s: %s", what, text_bytes(at));
	if (total > 0)
		fprintf(stderr, " of %s, %u %%", text_bytes(total),
		    (unsigned int)(at >= total ? 100 : at * 100.0 / total));
	fprintf(stderr, "\033[K");
	fflush(stderr);
}

void
care_progress_end(const struct session *s)
{
	if (is_shown(s))
		fprintf(stderr, "\r\033[K");
}
