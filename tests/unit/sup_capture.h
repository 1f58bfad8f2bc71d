#ifndef ERRAND_TEST_SUP_CAPTURE_H
#define ERRAND_TEST_SUP_CAPTURE_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What a piece of code says on stderr. */
static char said[8192];
static int said_fd = -1, said_old = -1;

static inline void
say_begin(void)
{
	fflush(stderr);
	said_fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	said_old = dup(STDERR_FILENO);
	(void)dup2(said_fd, STDERR_FILENO);
}

static inline const char *
say_end(void)
{
	ssize_t n;

	fflush(stderr);
	(void)dup2(said_old, STDERR_FILENO);
	close(said_old);
	n = pread(said_fd, said, sizeof(said) - 1, 0);
	close(said_fd);
	said[n > 0 ? n : 0] = '\0';
	return (said);
}

#endif /* !ERRAND_TEST_SUP_CAPTURE_H */
