#ifndef ERRAND_COMMON_H
#define ERRAND_COMMON_H

#include <getopt.h>

#include "session.h"

/* Options that every command has. */
#define COMMON_OPTS \
	{ "on", required_argument, NULL, COMMON_ON }, \
	{ "tenant", required_argument, NULL, COMMON_TENANT }, \
	{ "json", no_argument, NULL, COMMON_JSON }, \
	{ "quiet", no_argument, NULL, 'q' }, \
	{ "help", no_argument, NULL, COMMON_HELP }, \
	{ NULL, 0, NULL, 0 }

enum { COMMON_ON = 1000, COMMON_TENANT, COMMON_JSON, COMMON_HELP };

/**
 * common_option(s, command, opt, arg):
 * Handle one of them.  Return 0, an exit code, or -1: the help was printed.
 */
int common_option(struct session *, const char *, int, const char *);

/* Turn -1 (help was printed) into the exit code 0. */
int common_exit(int);

/**
 * common_job(s, name):
 * The name to ask the host for: "last" becomes the newest job that was
 * submitted from the tree we stand in, when there is one.
 */
const char *common_job(struct session *, const char *);

/**
 * common_name(tenant, name):
 * The same for a tenant (NULL: not known, "last" stays what it is), checked:
 * NULL after saying that it cannot be a job's name (a mistake in usage).
 */
const char *common_name(const char *, const char *);

/* A limit's name, with the option that asks for it. */
const char *common_limit(enum job_limit);

/* STATUS of a job into ${rec}: 0, or an exit code after saying why not. */
int common_record(struct session *, const char *, struct job_record *);

#endif /* !ERRAND_COMMON_H */
