/*
 * Packets with descriptors, one at a time: the system calls under chan.c, and a
 * blocking channel for processes that have no event loop.
 */
#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "chan.h"
#include "chan_internal.h"
#include "io.h"

#define SOCKBUF         (1024 * 1024)

union fds_control {
	struct cmsghdr  align;
	char            buf[CMSG_SPACE(CHAN_FDS_MAX * sizeof(int))];
};

void
chan_fds_close(const int *fds, size_t nfds)
{
	int keep = errno;
	size_t i;

	for (i = 0; i < nfds; i++) {
		if (fds[i] != -1)
			close(fds[i]);
	}
	errno = keep;
}

int
chan_packet_send(int fd, const uint8_t *buf, size_t len, const int *fds,
    size_t nfds, int flags)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union fds_control ctl;
	struct cmsghdr *cm;
	ssize_t n;

	if (nfds > 0) {
		memset(&ctl, 0, sizeof(ctl));
		msg.msg_control = ctl.buf;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		cm = CMSG_FIRSTHDR(&msg);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(cm), fds, nfds * sizeof(int));
	}
	do
		n = sendmsg(fd, &msg, MSG_NOSIGNAL | flags);
	while (n == -1 && errno == EINTR);
	return (n == -1 ? -1 : 0);
}

/* Take the descriptors out.  There is room for no more than CHAN_FDS_MAX. */
static size_t
take_fds(struct msghdr *msg, int *fds)
{
	struct cmsghdr *cm;
	size_t n, total = 0;

	for (cm = CMSG_FIRSTHDR(msg); cm != NULL; cm = CMSG_NXTHDR(msg, cm)) {
		if (cm->cmsg_level != SOL_SOCKET ||
		    cm->cmsg_type != SCM_RIGHTS)
			continue;
		n = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds + total, CMSG_DATA(cm), n * sizeof(int));
		total += n;
	}
	return (total);
}

ssize_t
chan_packet_recv(int fd, uint8_t *buf, size_t room, int *fds, size_t *nfds)
{
	struct iovec iov = { buf, room };
	struct msghdr msg;
	union fds_control ctl;
	ssize_t n;

	/*
	 * ECONNRESET says once that the peer closed without reading all that
	 * we sent; what it sent before is still there.
	 */
	do {
		memset(&msg, 0, sizeof(msg));
		msg.msg_iov = &iov;
		msg.msg_iovlen = 1;
		msg.msg_control = ctl.buf;
		msg.msg_controllen = sizeof(ctl.buf);
		n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (n == -1 && (errno == EINTR || errno == ECONNRESET));
	if (n == -1)
		return (-1);

	*nfds = take_fds(&msg, fds);
	if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		chan_fds_close(fds, *nfds);
		errno = EPROTO;
		return (-1);
	}
	if (n == 0) {
		/* An empty packet is an end too; it carries nothing. */
		chan_fds_close(fds, *nfds);
		*nfds = 0;
	}
	return (n);
}

/* Only the owner of CAP_NET_ADMIN may go past the host's limit. */
static void
raise_buffer(int fd, int force, int polite)
{
	const int size = SOCKBUF;

	if (setsockopt(fd, SOL_SOCKET, force, &size, sizeof(size)) == -1)
		(void)setsockopt(fd, SOL_SOCKET, polite, &size, sizeof(size));
}

/* Best effort: without it the queue is used earlier, that is all. */
void
chan_buffers(int fd)
{

	raise_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF);
	raise_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF);
}

int
chan_pair(int sv[2])
{

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) == -1)
		return (-1);
	chan_buffers(sv[0]);
	chan_buffers(sv[1]);
	return (0);
}

/* Until ${fd} is ready or ${deadline} (0: none) is past.  0 or -1. */
static int
wait_ready(int fd, short what, uint64_t deadline)
{
	struct pollfd pfd = { .fd = fd, .events = what };
	uint64_t now, left;
	int ms = -1, n;

	for (;;) {
		if (deadline != 0) {
			now = io_mono_us();
			left = now < deadline ? deadline - now : 0;
			/* Rounded up, so as not to spin at the end. */
			ms = (int)((left + 999) / 1000);
		}
		if ((n = poll(&pfd, 1, ms)) > 0)
			return (0);
		if (n == 0) {
			errno = ETIMEDOUT;
			return (-1);
		}
		if (errno != EINTR)
			return (-1);
	}
}

int
chan_send_wait(int fd, const uint8_t *buf, size_t len, const int *fds,
    size_t nfds)
{

	if (len == 0 || len > CHAN_MSG_MAX || nfds > CHAN_FDS_MAX) {
		errno = EMSGSIZE;
		return (-1);
	}
	while (chan_packet_send(fd, buf, len, fds, nfds, 0) == -1) {
		if (errno != EAGAIN)
			return (-1);
		if (wait_ready(fd, POLLOUT, 0) == -1)
			return (-1);
	}
	return (0);
}

ssize_t
chan_recv_wait(int fd, uint8_t *buf, size_t room, int *fds, size_t *nfds,
    int timeout_ms)
{
	int got[CHAN_FDS_MAX];
	uint64_t deadline = 0;
	size_t ngot, max = nfds == NULL ? 0 : *nfds;
	ssize_t n;

	if (timeout_ms >= 0)
		deadline = io_mono_us() + (uint64_t)timeout_ms * 1000;
	while ((n = chan_packet_recv(fd, buf, room, got, &ngot)) == -1) {
		if (errno != EAGAIN)
			return (-1);
		if (wait_ready(fd, POLLIN, deadline) == -1)
			return (-1);
	}
	if (ngot > max) {
		chan_fds_close(got, ngot);
		errno = EPROTO;
		return (-1);
	}
	if (ngot > 0)
		memcpy(fds, got, ngot * sizeof(*got));
	if (nfds != NULL)
		*nfds = ngot;
	return (n);
}
