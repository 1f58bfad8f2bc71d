/*
 * The command line that the workers have in common.  Memory and stderr only.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/chan.h"
#include "worker_args.h"

static int
usage(const char *name)
{
	(void)fprintf(stderr, "usage: %s -u uid -g gid [-d directory] "
	    "[-n jobs] [-r] [-R] [-i name=path]... [-l level]\n"
	    "errandd starts it, with a channel on descriptor %d\n",
	    name, CHAN_FD);
	return (-1);
}

static int
number(const char *s, unsigned long max, unsigned int *out)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(s, &end, 10);
	if (errno != 0 || *s < '0' || *s > '9' || *end != '\0' || n > max)
		return (-1);
	*out = (unsigned int)n;
	return (0);
}

/* 0, or -1: the option or its argument is none. */
static int
take(struct worker_args *a, int c, unsigned int *given)
{
	unsigned int level;

	switch (c) {
	case 'u':
		*given |= 1;
		return (number(optarg, 0xfffffffeUL, &a->uid));
	case 'g':
		*given |= 2;
		return (number(optarg, 0xfffffffeUL, &a->gid));
	case 'd':
		a->dir = optarg;
		return (0);
	case 'l':
		if (number(optarg, LOG_LEVEL_DEBUG, &level) == -1)
			return (-1);
		a->level = (enum log_level)level;
		return (0);
	case 'n':
		return (number(optarg, 0xffffffffUL, &a->jobs));
	case 'r':
		a->rootless = 1;
		return (0);
	case 'i':
		if (a->nimages == IMAGES_MAX || strchr(optarg, '=') == NULL)
			return (-1);
		a->images[a->nimages++] = optarg;
		return (0);
	case 'R':
		a->rebuild = 1;
		return (0);
	default:
		return (-1);
	}
}

int
worker_args_parse(int argc, char **argv, struct worker_args *a)
{
	unsigned int given = 0;
	int c;

	memset(a, 0, sizeof(*a));
	a->level = LOG_LEVEL_INFO;
	while ((c = getopt(argc, argv, "u:g:d:i:l:n:rR")) != -1)
		if (take(a, c, &given) == -1)
			return (usage(argv[0]));
	return (optind == argc && given == 3 ? 0 : usage(argv[0]));
}
