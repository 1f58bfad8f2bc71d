#ifndef ERRAND_WORKER_ARGS_H
#define ERRAND_WORKER_ARGS_H

#include <stddef.h>

#include "lib/image.h"
#include "lib/log.h"

/* What errandd says on a worker's command line. */
struct worker_args {
	unsigned int uid;       /* what the worker becomes */
	unsigned int gid;
	const char *dir;        /* what it works on, or NULL */
	int rootless;
	int rebuild;            /* the store: make its index anew first */
	unsigned int jobs;      /* at once on this host; 0: not said */
	enum log_level level;
	int bounded;            /* errand-exec, not an option: it found that it
				 * has to do without user namespaces */
	size_t nimages;         /* errand-exec */
	const char *images[IMAGES_MAX]; /* NAME=PATH each */
};

#define WORKER_USAGE    100     /* exit status of wrong use */

/**
 * worker_args_parse(argc, argv, args):
 * Parse `-u uid -g gid [-d directory] [-n jobs] [-r] [-R] [-i name=path]...
 * [-l level]`.  Return 0, or -1 after printing the usage.
 */
int worker_args_parse(int, char **, struct worker_args *);

#endif /* !ERRAND_WORKER_ARGS_H */
