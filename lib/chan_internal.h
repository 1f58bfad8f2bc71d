#ifndef ERRAND_CHAN_INTERNAL_H
#define ERRAND_CHAN_INTERNAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What chan.c and chan_wait.c share: one packet, with its descriptors. */

/* Close those of ${fds} that are not -1; errno is kept. */
void chan_fds_close(const int *, size_t);

/* sendmsg with MSG_NOSIGNAL and ${flags}, over EINTR.  0, or -1. */
int chan_packet_send(int, const uint8_t *, size_t, const int *, size_t, int);

/**
 * chan_packet_recv(fd, buf, room, fds, nfds):
 * Receive one packet without blocking.  ${fds} has CHAN_FDS_MAX slots; its
 * descriptors are close-on-exec.  Return the length, 0 at the end, or -1 with
 * errno: EAGAIN, or EPROTO when data or descriptors were cut off, in which
 * case none is left open.
 */
ssize_t chan_packet_recv(int, uint8_t *, size_t, int *, size_t *);

/* Raise the buffers as far as we may. */
void chan_buffers(int);

#endif /* !ERRAND_CHAN_INTERNAL_H */
