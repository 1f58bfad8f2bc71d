/*
 * Reads the command's two output pipes and appends to its log.  The form of the
 * log is in lib/joblog.c.
 */
#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/joblog.h"
#include "pump.h"

#define PIPE_SMALL      65536           /* as the kernel makes them */
#define PIPE_BIG        (1024 * 1024)

int
pump_init(struct pump *p, int log, uint64_t cap)
{

	memset(p, 0, sizeof(*p));
	p->fd[0] = p->fd[1] = -1;
	p->log = joblog_writer_new(log, cap == 0 ? UINT64_MAX : cap);
	return (p->log == NULL ? -1 : 0);
}

void
pump_done(struct pump *p)
{

	io_close(&p->fd[0]);
	io_close(&p->fd[1]);
	joblog_writer_free(p->log);
}

/* A pipe that was full once will be again: fewer, larger turns then. */
static void
enlarge(struct pump *p, int i)
{

	if (p->big[i])
		return;
	p->big[i] = 1;
	(void)fcntl(p->fd[i], F_SETPIPE_SZ, PIPE_BIG);
}

void
pump_read(struct pump *p, int i)
{
	static const uint8_t streams[] = { JOBLOG_STDOUT, JOBLOG_STDERR };
	struct iovec iov[JOBLOG_PIECES];
	ssize_t n;

	if (p->fd[i] == -1)
		return;
	joblog_room(p->log, iov);
	n = readv(p->fd[i], iov, JOBLOG_PIECES);
	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		io_close(&p->fd[i]);
		return;
	}
	if (n >= PIPE_SMALL)
		enlarge(p, i);
	if (p->failed == 0 &&
	    joblog_add(p->log, streams[i], (size_t)n) == -1)
		p->failed = errno;
}

/* Both at once, so that the order of the streams stays about right. */
void
pump_drain(struct pump *p)
{
	struct pollfd pfd[2];
	int i;

	while (p->fd[0] != -1 || p->fd[1] != -1) {
		for (i = 0; i < 2; i++) {
			pfd[i].fd = p->fd[i];
			pfd[i].events = POLLIN;
		}
		if (poll(pfd, 2, -1) == -1 && errno != EINTR)
			break;
		for (i = 0; i < 2; i++) {
			if (pfd[i].revents != 0)
				pump_read(p, i);
		}
	}
}

uint64_t
pump_bytes(const struct pump *p)
{

	return (joblog_bytes(p->log));
}

int
pump_finish(struct pump *p, struct job_log *log)
{
	struct joblog_sum sum;
	int rc;

	rc = joblog_finish(p->log, &sum);
	if (rc == -1 && p->failed == 0)
		p->failed = errno;
	log->bytes = joblog_bytes(p->log);
	if (rc == 0) {
		log->bytes = sum.bytes;
		log->stdout_bytes = sum.stdout_bytes;
		log->stderr_bytes = sum.stderr_bytes;
		log->truncated = sum.truncated != 0;
		memcpy(log->digest, sum.digest, sizeof(log->digest));
	}
	log->complete = p->failed == 0;
	errno = p->failed;
	return (p->failed == 0 ? 0 : -1);
}
