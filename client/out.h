#ifndef ERRAND_OUT_H
#define ERRAND_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "proto/job_types.h"

/* What every command of the clients prints and returns. */
enum exit_code {
	EXIT_OURS = 120,        /* something of ours failed */
	EXIT_CONFLICT = 121,
	EXIT_NO = 1,            /* a question whose answer is no */
	EXIT_USAGE = 2,
	EXIT_INTERRUPTED = 130
};

/* Program name for messages.  Descriptors 0, 1 and 2 that are closed are
 * filled first, so that nothing else (a connection) takes their place: output
 * to them fails. */
void out_init(const char *);

/* The terminal is raw: lines need a carriage return too. */
void out_raw(int);

/* One line on stderr: "errand: text"; control bytes are escaped. */
void out_warn(const char *, ...) __attribute__((format(printf, 1, 2)));

/* A typed error of the host, with what to do about it. */
void out_err(const struct err *);

/* Usage error: prints, with a hint at --help; returns EXIT_USAGE. */
int out_usage(const char *, ...) __attribute__((format(printf, 1, 2)));

/* getopt has said what is wrong: add the hint alone.  EXIT_USAGE. */
int out_hint(void);

/* Write all to stdout: 0, or -1 after saying why (EPIPE is silent). */
int out_bytes(const void *, size_t);

/* Did all that was printed to stdout get there?  0, or -1, likewise. */
int out_flush(void);

/* The limits that are set, on one line of stdout. */
void out_limits(const struct job_limits *);

/* What a tenant uses of the store, and what it may (0: no limit). */
struct tenant_used;
void out_used(const struct tenant_used *, const struct tenant_used *);

/* What may be kept alone, of a tenant who uses nothing; the same. */
void out_keep(const struct tenant_used *);

/* Escaped for people: a static ring of 4 strings. */
const char *out_escape(const void *, size_t);

/* RFC 3339 with microseconds, UTC; a static ring of 4. */
const char *out_time(uint64_t us);

#endif /* !ERRAND_OUT_H */
