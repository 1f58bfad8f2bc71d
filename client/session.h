#ifndef ERRAND_SESSION_H
#define ERRAND_SESSION_H

#include "conn.h"

/* What is common to all commands that talk to a host. */
struct session {
	const char *on;         /* --on, or NULL */
	const char *tenant;     /* --tenant, or NULL */
	int json;
	int quiet;
	int verbose;
	int local;              /* start a private daemon when there is none */
	char addr[4096 + 8];
	struct conn *c;
	const struct client_hello *host;
};

/**
 * session_open(s):
 * Find the host and connect; session_hello also waits for its HELLO, on
 * another connection if the first is lost before it, and pins its key.  Return
 * 0, or -1 after saying why on stderr.
 */
int session_open(struct session *);
int session_hello(struct session *);
void session_close(struct session *);

/* Connect again to the same host.  0, or -1 (silent). */
int session_reopen(struct session *);

/* Say why the connection was lost. */
void session_lost(const struct session *);

/**
 * session_call(s, open, rep):
 * One request whose answer is a single REPLY.  Return 0 (client_reply_done is
 * the caller's duty), or the exit code after saying what is wrong.
 */
int session_call(struct session *, const struct client_open *,
    struct client_reply *);

/* The error of the last session_call that failed (code NONE: connection). */
const struct err *session_err(void);

#endif /* !ERRAND_SESSION_H */
