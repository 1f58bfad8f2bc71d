/*
 * What is left to this process after start-up: its directory and a table of
 * system calls.  The engine is lib/sandbox.c and lib/landlock.c.
 */
#include <errno.h>

#include <seccomp.h>

#include "lib/log.h"
#include "lib/sandbox.h"
#include "sandbox.h"

#define ALLOW(name)     { .nr = SCMP_SYS(name), .act = SANDBOX_ALLOW }
#define SOFT(name, e)   { .nr = SCMP_SYS(name), .act = SANDBOX_ERRNO, \
	.err = (e) }

/*
 * What serving takes, found by tracing it with the LMDB, libevent, libsodium
 * and zstd of Debian 12; memory, locks, clocks and the end of the process are
 * in the engine's own table.  Whatever is not here kills the process.
 */
static const struct sandbox_rule rules[] = {
	/* the event loop */
	ALLOW(epoll_wait),
	ALLOW(epoll_pwait),
	ALLOW(epoll_ctl),
	/* channels: messages, a new one's buffers and flags, its type */
	ALLOW(recvmsg),
	ALLOW(sendmsg),
	ALLOW(setsockopt),
	ALLOW(getsockopt),
	ALLOW(fcntl),
	ALLOW(close),
	/* memfds: made, filled, sealed, looked at */
	ALLOW(memfd_create),
	ALLOW(ftruncate),
	ALLOW(fstat),
	ALLOW(newfstatat),
	ALLOW(write),           /* memfds, and lines on stderr */
	ALLOW(writev),
	/* packs; the files are below our directory, Landlock sees to it */
	ALLOW(openat),
	ALLOW(pread64),
	ALLOW(preadv),
	ALLOW(pwrite64),
	ALLOW(pwritev),
	ALLOW(fdatasync),
	ALLOW(sync_file_range), /* to begin with it early */
	ALLOW(fsync),
	ALLOW(unlinkat),        /* packs that were rewritten */
	ALLOW(lseek),
	/* the index: its pages, a larger map (msync: where pages are mapped
	 * for writing, which ours are not, LMDB may still be built to) */
	ALLOW(msync),
	/* how full the disk is */
	ALLOW(fstatfs),
	/* qsort asks how much memory there is before it takes some */
	ALLOW(sysinfo),
	/* what the C library asks and can do without */
	SOFT(ioctl, ENOTTY),
	SOFT(socket, EPERM),
	SOFT(connect, EPERM),
};

/*
 * Safe with any rights: both only take away.  The directory is the one that
 * was checked when it was opened.
 */
int
sandbox_fence(int dirfd)
{
	const struct sandbox_path path = { .fd = dirfd, .writable = 1 };
	int abi;

	if ((abi = sandbox_landlock(&path, 1)) == -1)
		fatal("landlock");
	if (abi == 0)
		log_warnx("this kernel has no Landlock that is of use: files "
		    "are kept apart by their owners only");
	if (sandbox_seccomp(rules, sizeof(rules) / sizeof(rules[0]),
	    SANDBOX_KILL) == -1)
		fatal("seccomp");
	return (abi);
}
