#ifndef ERRAND_RUN_OPTS_H
#define ERRAND_RUN_OPTS_H

#include <stddef.h>
#include <stdint.h>

#include "proto/job_types.h"
#include "session.h"

/* The options of `errand run`, checked. */
struct run_opts {
	struct session *s;
	char *const *argv;      /* the command, NULL terminated */
	int argc;
	int detach;
	const char *root;       /* -C */
	const char *workdir;    /* -w */
	int no_snapshot;
	int include_all;
	int strict;
	int dry_run;
	int apply;
	char **env;             /* NAME=VALUE, owned */
	size_t nenv;
	struct job_limits limits;
	int net;                /* enum job_net */
	const char *image;      /* --image, or NULL */
	int as_root;
	int input;              /* -i, or a terminal that is typed on */
	int tty;                /* -t */
	const char *label;
	const char *id;         /* --id */
	const char **artifacts; /* --artifact, as given; owned array */
	size_t nartifacts;
	const char *caches[LIMIT_CACHES];       /* --cache, as given */
	size_t ncaches;
};

/**
 * run_opts_parse(argc, argv, o):
 * Parse what follows `errand run`.  Return 0, an exit code after saying what is
 * wrong, or -1 after printing the help.
 */
int run_opts_parse(int, char **, struct run_opts *);
void run_opts_done(struct run_opts *);

#endif /* !ERRAND_RUN_OPTS_H */
