/*
 * A job's part of what the kernel counts by user.  Touches limits of its own
 * process and of the user namespace it is in.
 *
 * What a job takes is counted for its own user in its own namespace, and once
 * more for whoever made that namespace, which is the same user for all
 * sandboxes.  Without this, one job that takes as many signals or inotify
 * instances as the host allows a user leaves none to the jobs of others.  What
 * has a resource limit is made boundless for the maker and bounded for each
 * job; for inotify there is a number in /proc/sys, and a job gets its part.
 */
#include <sys/resource.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/io.h"
#include "lib/sandbox.h"
#include "share.h"

#define NITEMS(a)       (sizeof(a) / sizeof((a)[0]))

/* Processes are errandd's to limit: preexec.c. */
static const struct row {
	int resource;
	rlim_t job;
} rows[] = {
	{ RLIMIT_NPROC, RLIM_INFINITY },
	{ RLIMIT_SIGPENDING, 32768 },
	{ RLIMIT_MSGQUEUE, 819200 },
	{ RLIMIT_MEMLOCK, 8 * 1024 * 1024 },
};

static const struct number {
	const char *host;       /* what one user may have */
	const char *ours;       /* what the namespace may have */
	unsigned long least;    /* with fewer programs do not work */
} numbers[] = {
	{ "fs/inotify/max_user_instances", "user/max_inotify_instances",
	    SANDBOX_INOTIFY_INSTANCES },
	{ "fs/inotify/max_user_watches", "user/max_inotify_watches",
	    SANDBOX_INOTIFY_WATCHES },
};

void
share_unlimit(void)
{
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
	size_t i;

	for (i = 0; i < NITEMS(rows); i++)
		(void)setrlimit((__rlimit_resource_t)rows[i].resource, &none);
}

int
share_limit(void)
{
	struct rlimit rl;
	size_t i;

	for (i = 0; i < NITEMS(rows); i++) {
		if (getrlimit((__rlimit_resource_t)rows[i].resource, &rl) == -1)
			return (-1);
		if (rl.rlim_max > rows[i].job)
			rl.rlim_max = rows[i].job;
		if (rl.rlim_cur > rl.rlim_max)
			rl.rlim_cur = rl.rlim_max;
		if (setrlimit((__rlimit_resource_t)rows[i].resource, &rl) == -1)
			return (-1);
	}
	return (0);
}

/*
 * All terminals of all instances of devpts are counted together: 4,096, of
 * which 1,024 are for the host's own (kernel.pty.max, kernel.pty.reserve).
 */
unsigned int
share_terminals(unsigned int jobs)
{
	const unsigned int all = 2048, most = 256, least = 2;
	unsigned int n = all / (jobs > 0 ? jobs : 1);

	return (n > most ? most : n < least ? least : n);
}

static int
number_get(const char *path, unsigned long *n)
{
	uint8_t *buf;
	size_t len;

	if (io_file_read(AT_FDCWD, path, 64, &buf, &len) == -1)
		return (-1);
	*n = strtoul((const char *)buf, NULL, 10);
	free(buf);
	return (0);
}

static void
number_put(const char *path, unsigned long n)
{
	int fd;

	if ((fd = open(path, O_WRONLY | O_CLOEXEC)) == -1)
		return;
	(void)dprintf(fd, "%lu", n);
	io_close(&fd);
}

void
share_notify(const char *proc, unsigned int jobs)
{
	char host[64], ours[64];
	unsigned long n;
	size_t i;

	for (i = 0; i < NITEMS(numbers) && jobs > 1; i++) {
		(void)snprintf(host, sizeof(host), "%s/sys/%s", proc,
		    numbers[i].host);
		(void)snprintf(ours, sizeof(ours), "%s/sys/%s", proc,
		    numbers[i].ours);
		if (number_get(host, &n) == -1)
			continue;
		n /= jobs;
		if (n < numbers[i].least)
			n = numbers[i].least;
		if (n <= INT_MAX)
			number_put(ours, n);
	}
}
