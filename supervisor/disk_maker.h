#ifndef ERRAND_DISK_MAKER_H
#define ERRAND_DISK_MAKER_H

#include <stdint.h>

/*
 * The process that makes and drops file systems for disk_image.c.  On its
 * channel, one SOCK_SEQPACKET pair:
 *
 *   errandd  MAKE .bytes   -> MADE .bytes, .error 0 + 1 fd: the mount; or
 *                             .error, an errno
 *   errandd  DROP + 1 fd   the root directory of one that nobody needs
 *
 * Requests of one size are answered in their order; one whose size class has to
 * be formatted first does not hold up others.  It ends with the channel.
 */
enum disk_op { DISK_MAKE = 1, DISK_MADE, DISK_DROP };

struct disk_msg {
	uint32_t op;
	int32_t error;
	uint64_t bytes;
};

#define DISK_BLOCK      UINT64_C(4096)

/**
 * disk_maker(chan, images):
 * Be that process, with both descriptors as 3 and 4 and no other of errandd's.
 */
void disk_maker(int, int) __attribute__((noreturn));

/* Shut down and close the file system whose root directory this is. */
void disk_shut(int *);

#endif /* !ERRAND_DISK_MAKER_H */
