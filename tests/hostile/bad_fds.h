#ifndef ERRAND_TEST_BAD_FDS_H
#define ERRAND_TEST_BAD_FDS_H

/*
 * Descriptors that are not what a message calls for.  Made before the fence,
 * since behind it there is no way to.
 */

#include <sys/mman.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/chan.h"
#include "lib/log.h"
#include "lib/memfd.h"

enum bad_fd {
	BAD_PIPE, BAD_DIR, BAD_OPEN, BAD_HALF, BAD_BIG, BAD_OWN, BAD_NULL,
	BAD_PATH, BAD_FILE, BAD_GOOD, BAD__MAX
};

static const char *const bad_names[BAD__MAX] = {
	[BAD_PIPE] = "pipe", [BAD_DIR] = "dir", [BAD_OPEN] = "unsealed",
	[BAD_HALF] = "half-sealed", [BAD_BIG] = "too-big",
	[BAD_OWN] = "own-channel", [BAD_NULL] = "device", [BAD_PATH] = "path",
	[BAD_FILE] = "file", [BAD_GOOD] = "good"
};

static int bad_fds[BAD__MAX];

static int
bad_memfd(off_t size, int seals)
{
	int fd;

	if ((fd = memfd_create("bad", MFD_CLOEXEC | MFD_ALLOW_SEALING)) == -1 ||
	    ftruncate(fd, size) == -1 ||
	    (seals != 0 && fcntl(fd, F_ADD_SEALS, seals) == -1))
		fatal("memfd");
	return (fd);
}

static void
bad_fds_make(void)
{
	const int all = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW |
	    F_SEAL_WRITE;
	int p[2];

	if (pipe(p) == -1)
		fatal("pipe");
	bad_fds[BAD_PIPE] = p[0];
	bad_fds[BAD_DIR] = open("/", O_RDONLY | O_DIRECTORY);
	bad_fds[BAD_OPEN] = bad_memfd(100, 0);
	bad_fds[BAD_HALF] = bad_memfd(100, F_SEAL_SHRINK | F_SEAL_WRITE);
	bad_fds[BAD_BIG] = bad_memfd((off_t)1 << 40, all);
	bad_fds[BAD_OWN] = CHAN_FD;
	bad_fds[BAD_NULL] = open("/dev/null", O_RDWR);
	bad_fds[BAD_PATH] = open("/", O_PATH);
	bad_fds[BAD_FILE] = open("/etc/passwd", O_RDONLY);
	bad_fds[BAD_GOOD] = bad_memfd(0, all);
}

static int
bad_fd(const char *name)
{
	int i;

	for (i = 0; i < BAD__MAX; i++)
		if (strcmp(bad_names[i], name) == 0)
			return (bad_fds[i]);
	fatalx("no descriptor is called \"%s\"", name);
}

#endif /* !ERRAND_TEST_BAD_FDS_H */
