/*
 * Finding a host and talking to it once.  Uses conn.c and state.c.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "local.h"
#include "out.h"
#include "session.h"
#include "signals.h"
#include "state.h"

/* A greeting that was cut off is tried again so often, after so long and then
 * twice that; where there is no place, for longer. */
#define GREET_TRIES     3
#define GREET_BUSY      7
#define GREET_MS        100

static struct err last_err;

/* Which host: a given one, or this user's own (started by `errand run`). */
static int
find_host(struct session *s, char *why)
{
	int rc;

	if (s->addr[0] != '\0')
		return (0);
	if ((rc = state_host_addr(s->on, s->addr, why)) != 1)
		return (rc);
	if (s->local)
		return (local_start(s->addr, why));
	return (local_find(s->addr, why));
}

int
session_open(struct session *s)
{
	char why[LIMIT_TEXT];

	if (find_host(s, why) == -1 ||
	    (s->c = conn_open(s->addr, s->tenant, why)) == NULL) {
		out_warn("%s", why);
		return (-1);
	}
	return (0);
}

void
session_lost(const struct session *s)
{
	if (s->c == NULL)
		return;
	if (conn_err(s->c) != NULL)
		out_err(conn_err(s->c));
	else
		out_warn("the connection to the host was lost: %s",
		    conn_why(s->c));
}

/*
 * How often a lost greeting is tried again in all: nothing was asked yet that
 * could be done twice.  What the host refused, or garbled, it would again,
 * unless it has no place now.
 */
static int
greet_tries(const struct conn *c)
{
	const struct err *e = conn_err(c);

	if (e != NULL)
		return (e->code == ERR_BUSY && e->retry ? GREET_BUSY : 0);
	return (conn_broken(c) ? 0 : GREET_TRIES);
}

/* The connection was lost before the host had greeted us. */
static int
greet_again(struct session *s)
{
	char why[LIMIT_TEXT], first[LIMIT_TEXT];
	struct conn *c;
	int i = 0;

	snprintf(first, sizeof(first), "%s", conn_why(s->c));
	while (i < greet_tries(s->c)) {
		(void)poll(NULL, 0, GREET_MS << i++);
		if (signals_any())
			return (-1);
		if ((c = conn_open(s->addr, s->tenant, why)) == NULL)
			continue;
		conn_close(s->c);
		s->c = c;
		if ((s->host = conn_hello(s->c)) != NULL)
			return (0);
	}
	if (conn_err(s->c) != NULL || i == 0)
		session_lost(s);
	else
		out_warn("the connection to the host was lost: %s; %d tries "
		    "more came to nothing", first, i);
	return (-1);
}

int
session_hello(struct session *s)
{
	char why[LIMIT_TEXT];

	if (s->c == NULL && session_open(s) == -1)
		return (-1);
	if ((s->host = conn_hello(s->c)) == NULL && greet_again(s) == -1)
		return (-1);
	if (state_host_pin(s->addr, s->host->host_key, why) == -1 && s->verbose)
		out_warn("%s", why);
	return (0);
}

int
session_reopen(struct session *s)
{
	char why[LIMIT_TEXT];

	conn_close(s->c);
	s->c = conn_open(s->addr, s->tenant, why);
	if (s->c == NULL)
		return (-1);
	if ((s->host = conn_hello(s->c)) == NULL) {
		conn_close(s->c);
		s->c = NULL;
		return (-1);
	}
	return (0);
}

void
session_close(struct session *s)
{
	conn_close(s->c);
	s->c = NULL;
}

struct call {
	struct client_reply *rep;
	uint8_t kind;           /* of the reply there must be */
	int done;               /* 1 reply, -1 error, -2 lost */
	struct err err;
};

static int
on_call(void *cookie, const struct frame *f)
{
	struct call *call = cookie;

	if (f == NULL) {
		call->done = -2;
		return (0);
	}
	if (f->type == FRAME_RESET) {
		call->done = -1;
		return (err_parse(f->body, f->len, &call->err));
	}
	if (f->type != FRAME_REPLY || (f->flags & FRAME_MORE) != 0)
		return (-1);
	if (client_reply_parse(f->body, f->len, call->rep) == -1)
		return (-1);
	if (call->rep->kind != call->kind) {
		client_reply_done(call->rep);
		return (-1);
	}
	call->done = 1;
	return (0);
}

/* What a request with a single reply is answered with. */
static uint8_t
answer_to(uint8_t verb)
{
	switch (verb) {
	case CLIENT_STATUS:
		return (CLIENT_JOB);
	case CLIENT_INFO:
		return (CLIENT_INFO_REPLY);
	case CLIENT_ADMIN:
		return (CLIENT_ADMIN_REPLY);
	default:
		return (CLIENT_DONE);
	}
}

const struct err *
session_err(void)
{
	return (&last_err);
}

int
session_call(struct session *s, const struct client_open *o,
    struct client_reply *rep)
{
	struct call call = { .rep = rep, .kind = answer_to(o->verb) };

	memset(&last_err, 0, sizeof(last_err));
	memset(rep, 0, sizeof(*rep));
	if (conn_request(s->c, o, on_call, &call) == 0)
		call.done = -2;
	while (call.done == 0 && conn_pump(s->c, -1) == 0)
		;
	if (call.done == 1)
		return (0);
	if (call.done != -1) {
		session_lost(s);
		return (EXIT_NO);
	}
	last_err = call.err;
	out_err(&call.err);
	return (call.err.code == ERR_INVALID ? EXIT_USAGE : EXIT_NO);
}
