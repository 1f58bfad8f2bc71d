/*
 * What is left to this process after start-up: an empty root and a table of
 * system calls.  The engine is lib/sandbox.c.
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/log.h"
#include "lib/sandbox.h"
#include "sandbox.h"

#define ALLOW(name)             { .nr = SCMP_SYS(name), .act = SANDBOX_ALLOW }
#define WHEN(name, a, v)        { .nr = SCMP_SYS(name), .act = SANDBOX_ALLOW, \
	.masked = 1, .arg = (a), .mask = 0xffffffff, .value = (v) }
#define WITH(name, a, bits)     { .nr = SCMP_SYS(name), .act = SANDBOX_ALLOW, \
	.masked = 1, .arg = (a), .mask = (bits), .value = (bits) }

/*
 * What is left after start-up; memory, clocks and the end are in the engine's
 * own list.  Everything else kills: no file can be opened or looked up, no
 * socket made or connected, no program or process started, nothing signalled.
 */
static const struct sandbox_rule rules[] = {
	/* the loop */
	ALLOW(epoll_wait),
	ALLOW(epoll_pwait),
	ALLOW(epoll_ctl),
	/* the two channels, with descriptors */
	ALLOW(recvmsg),
	ALLOW(sendmsg),
	WHEN(setsockopt, 1, SOL_SOCKET),        /* buffers of the store's */
	/* the client */
	ALLOW(recvfrom),
	ALLOW(sendto),
	/* memfds: made, filled, sealed, checked; the log on stderr */
	ALLOW(memfd_create),
	ALLOW(ftruncate),
	ALLOW(write),
	WHEN(fcntl, 1, F_ADD_SEALS),
	WHEN(fcntl, 1, F_GET_SEALS),
	ALLOW(fstat),
	WITH(newfstatat, 3, AT_EMPTY_PATH),
	/* descriptors that were received */
	WHEN(fcntl, 1, F_SETFD),
	WHEN(fcntl, 1, F_GETFL),
	WHEN(fcntl, 1, F_SETFL),
	ALLOW(close),
	/* a job's log */
	ALLOW(pread64),
	ALLOW(preadv),
	ALLOW(pipe2),           /* its pages to the client, not copied */
	WHEN(fcntl, 1, F_SETPIPE_SZ),
	ALLOW(splice),
	ALLOW(fadvise64),       /* and gives back the memory of a long one */
};

/* A new directory that has no name any more, so that it stays empty. */
static int
nameless(void)
{
	static const char *const where[] = { "/run", "/tmp", "/var/tmp" };
	char path[64];
	size_t i;
	int fd;

	for (i = 0; i < sizeof(where) / sizeof(where[0]); i++) {
		snprintf(path, sizeof(path), "%s/errand-XXXXXX", where[i]);
		if (mkdtemp(path) == NULL)
			continue;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
		if (rmdir(path) == 0 && fd != -1)
			return (fd);
		io_close(&fd);
	}
	return (-1);
}

/*
 * Runs as root.  Safe because the name that is removed was made here a moment
 * before, for root alone; because the directory is used through a descriptor
 * that refused a link; and because what follows has no other descriptor of a
 * directory, so that nothing leads out of the new root.
 */
void
snap_root(const char *dir)
{
	int fd;

	if (dir != NULL)
		fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
	else
		fd = nameless();
	if (fd == -1)
		fatal("no empty directory to live in%s%s",
		    dir != NULL ? ": " : "", dir != NULL ? dir : "");
	if (fchdir(fd) == -1 || chroot(".") == -1)
		fatal("chroot to an empty directory");
	io_close(&fd);
}

int
snap_fence(void)
{
	int abi;

	if ((abi = sandbox_landlock(NULL, 0)) == -1)
		fatal("landlock");
	if (sandbox_seccomp(rules, sizeof(rules) / sizeof(rules[0]),
	    SANDBOX_KILL) == -1)
		fatal("seccomp");
	return (abi);
}
