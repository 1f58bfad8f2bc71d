#ifndef ERRAND_WRITEOUT_H
#define ERRAND_WRITEOUT_H

#include <stdint.h>

/*
 * A file that grows at its end, perhaps by gigabytes, and is read little once
 * its readers have come by.  It is handed to the disk steadily, so that its
 * barrier finds little left to wait for; and what lies far behind its end gives
 * its memory back, so that it neither crowds out what others have in there nor
 * is written to memory that the kernel has first to find.
 *
 * Nothing is promised by this: a barrier is the caller's.  Nothing waits until
 * the disk has it, though the kernel may have us wait until it takes more.  A
 * file system that knows none of it is left in peace.
 */
#define WRITEOUT_STEP   (UINT64_C(8) << 20)     /* told the kernel at a time */
#define WRITEOUT_WINDOW (UINT64_C(32) << 20)    /* kept, for readers */

struct writeout {
	int fd;
	uint64_t begun;         /* up to here the disk was told to begin */
};

void writeout_init(struct writeout *, int fd);

/* The file has this many bytes now.  Files shorter than a step cost nothing. */
void writeout_grew(struct writeout *, uint64_t size);

/* All of it is on the disk; nothing more will be written. */
void writeout_done(struct writeout *, uint64_t size);

/**
 * writeout_read(fd, from, to):
 * For a reader of such a file, by the step: these bytes were read.  Where the
 * writer has given them back, so that they came from the disk, they are given
 * back again; near the end they are left to other readers.
 */
void writeout_read(int fd, uint64_t from, uint64_t to);

#endif /* !ERRAND_WRITEOUT_H */
