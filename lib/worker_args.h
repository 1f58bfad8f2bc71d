#ifndef ERRAND_WORKER_ARGS_H
#define ERRAND_WORKER_ARGS_H

#include "lib/log.h"

/* What errandd says on a worker's command line. */
struct worker_args {
	unsigned int uid;       /* what the worker becomes */
	unsigned int gid;
	const char *dir;        /* what it works on, or NULL */
	int rootless;
	int rebuild;            /* the store: make its index anew first */
	enum log_level level;
};

#define WORKER_USAGE    100     /* exit status of wrong use */

/**
 * worker_args_parse(argc, argv, args):
 * Parse `-u uid -g gid [-d directory] [-r] [-R] [-l level]`.  Return 0, or -1 after
 * printing the usage.
 */
int worker_args_parse(int, char **, struct worker_args *);

#endif /* !ERRAND_WORKER_ARGS_H */
