#ifndef ERRAND_DISK_IMAGE_H
#define ERRAND_DISK_IMAGE_H

#include <stdint.h>
#include <sys/types.h>

#include "proto/job_types.h"

struct disk_images;
struct disk_wait;
struct event_base;

/*
 * What holds a job to its --disk: a file system of that size, of which the
 * kernel gives no more.  It lies in a file without a name on a loop device that
 * goes when it is unmounted, so that nothing of it outlives its descriptors,
 * however we end.  Needs root, loop devices and mkfs.ext4.
 */
#define DISK_MIN        (UINT64_C(1) << 20)
#define DISK_MAX        (UINT64_C(1) << 39)

/*
 * Invariants of struct disk:
 *  1. Both descriptors are of the same mount, which is in no namespace until
 *     whoever gets ${mnt} puts it into its own.
 *  2. Its blocks and inodes are this job's alone.
 */
struct disk {
	int mnt;                /* the mount, to be handed over; or -1 */
	int dir;                /* its root directory, ours to look; or -1 */
};

/**
 * disk_images_open(base, state, usual):
 * Images below the directory ${state}; ${usual} bytes is what most jobs will
 * ask for (0: nothing), of which a few are kept ready.  Never fails but for
 * memory: disk_images_note says why images cannot be made, "" when they can;
 * of NULL it says that there are none.
 */
struct disk_images *disk_images_open(struct event_base *, int, uint64_t);
void disk_images_close(struct disk_images *);
const char *disk_images_note(const struct disk_images *);

/* Has one of that size been made, so that the next takes a millisecond? */
int disk_known(const struct disk_images *, uint64_t);

/**
 * disk_await(di, bytes, fn, cookie):
 * Have one made, and call ${fn} with 0 when it is there, then disk_take does
 * not wait for one of that size, or with an errno.  What is returned is good
 * until then, or until disk_unwait, after which nobody is called.  NULL with
 * errno: nothing was asked for.
 */
struct disk_wait *disk_await(struct disk_images *, uint64_t,
    void (*)(void *, int), void *);
void disk_unwait(struct disk_wait *);

/**
 * disk_take(di, bytes, uid, gid, d):
 * An empty file system that holds ${bytes} (DISK_MIN to DISK_MAX) and at most
 * 1 MiB more, its root directory owned by ${uid} and ${gid}.  One that is not
 * at hand is waited for: about a millisecond, a second if the size is not
 * known.  0, or -1 with errno (ERANGE: no such size).
 */
int disk_take(struct disk_images *, uint64_t, uint32_t, uint32_t,
    struct disk *);

/* Which of its limits has been reached: DISK, INODES or NONE. */
enum job_limit disk_full(const struct disk *);

/* What is written there, in bytes; 0 when it cannot be told. */
uint64_t disk_used(const struct disk *);

/**
 * disk_drop(di, d):
 * Nobody needs what is in it: not written back, and gone with the last
 * descriptor and mount.  Without one it does nothing.
 */
void disk_drop(struct disk_images *, struct disk *);

#endif /* !ERRAND_DISK_IMAGE_H */
