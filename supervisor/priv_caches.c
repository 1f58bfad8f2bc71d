/*
 * A tenant's caches, looked at and removed with the tenant's rights.  Forks;
 * nothing here reads a message.
 */
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cachedir.h"
#include "lib/io.h"
#include "priv.h"
#include "proto/snapshot_msg.h"

#define CACHES_S        10      /* for a list; it takes a millisecond */

static void
cache_tell(const struct cachedir *c, int fd)
{
	struct cache_info ci = { .bytes = c->mark.bytes,
	    .entries = c->mark.entries, .saved_us = c->mark.saved_us,
	    .used_us = c->used_us };

	memcpy(ci.project, c->mark.project, sizeof(ci.project));
	memcpy(ci.name, c->mark.name, sizeof(ci.name));
	(void)io_write(fd, &ci, sizeof(ci));
}

/* In a process of its own, as the tenant. */
static void
caches_tell(int caches, const struct caches_ask *ask, int fd)
{
	uint32_t told = 0, skip = ask->skip;
	struct cachedir *v;
	size_t i, n;

	if (cachedir_list(caches, &v, &n) == -1)
		return;
	for (i = 0; i < n && told < LIMIT_CACHE_LIST; i++) {
		if (v[i].retired || (!ask->any &&
		    (strcmp(v[i].mark.project, ask->project) != 0 ||
		    strcmp(v[i].mark.name, ask->name) != 0)))
			continue;
		if (skip > 0) {
			skip--;
			continue;
		}
		if (ask->remove && cachedir_retire(caches, v[i].key) == -1)
			continue;
		cache_tell(&v[i], fd);
		told++;
	}
	free(v);
}

static void __attribute__((noreturn))
caches_process(int work, uint32_t uid, uint32_t gid,
    const struct caches_ask *ask, int out)
{
	char path[16];
	int tenant, caches = -1;

	/* Both may have any number: out of the way first. */
	if ((work = fcntl(work, F_DUPFD, 10)) == -1 ||
	    (out = fcntl(out, F_DUPFD, 10)) == -1 || dup2(work, 3) == -1 ||
	    dup2(out, 4) == -1 || close_range(5, ~0U, 0) == -1 ||
	    become_priv(uid, gid) == -1)
		_exit(1);
	snprintf(path, sizeof(path), "%" PRIu32, uid);
	if ((tenant = openat(3, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) != -1)
		caches = cachedir_open(tenant, 0);
	if (caches == -1)
		_exit(0);
	(void)alarm(CACHES_S);
	caches_tell(caches, ask, 4);
	(void)close(4);         /* that was all; removing takes its time */
	(void)alarm(0);
	cachedir_sweep(caches);
	_exit(0);
}

/*
 * Safe because: the process that looks has the rights the tenant's jobs have on
 * the host, and none of our descriptors but the work root; what it says is
 * checked before it is passed on (cache_admin.c).
 */
int
caches_priv(int work, uint32_t uid, uint32_t gid, const struct caches_ask *ask)
{
	int p[2];
	pid_t pid;

	if (pipe2(p, O_CLOEXEC | O_NONBLOCK) == -1)
		return (-1);
	if ((pid = fork()) == 0) {
		if (fork() == 0)
			caches_process(work, uid, gid, ask, p[1]);
		_exit(0);
	}
	io_close(&p[1]);
	if (pid == -1)
		io_close(&p[0]);
	else
		(void)waitpid(pid, NULL, 0);
	return (p[0]);
}
