#ifndef ERRAND_JOBLOG_H
#define ERRAND_JOBLOG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A job's output on disk: an append-only file of frames.  The keeper writes
 * it, followers read it, the supervisor only opens it.  Little-endian:
 *
 *   u8 stream (1 stdout, 2 stderr, 3 marker), 3 zero bytes, u32 length, bytes
 *
 * Offsets seen by clients count payload bytes of streams 1 and 2 in file
 * order.  A marker (a sentence) says where the middle was dropped; when there
 * is one, the log is truncated.
 */
#define JOBLOG_HEAD     8
#define JOBLOG_PIECE    65536   /* most bytes of one frame's payload */
#define JOBLOG_STDOUT   1
#define JOBLOG_STDERR   2
#define JOBLOG_MARKER   3

/*
 * Writer: caps the file.  Beyond ${cap} payload bytes it keeps only the last
 * JOBLOG_TAIL bytes of each stream, in memory, and joblog_finish appends them.
 * It hands a long log to the disk while it grows (lib/writeout.h) and uses a
 * MiB of memory for one.
 */
#define JOBLOG_TAIL     65536
#define JOBLOG_PIECES   8       /* frames that are added at once, at most */
struct joblog_writer;
struct iovec;

struct joblog_writer *joblog_writer_new(int fd, uint64_t cap);
void joblog_writer_free(struct joblog_writer *);

/**
 * joblog_room(w, iov):
 * Where the next output may be read to: JOBLOG_PIECES pieces of JOBLOG_PIECE
 * bytes, good until the next call on ${w}.
 */
void joblog_room(const struct joblog_writer *, struct iovec [JOBLOG_PIECES]);

/**
 * joblog_add(w, stream, len):
 * Append the ${len} bytes that were read to there, the pieces in their order.
 * Return 0, or -1 with errno (ENOSPC, EIO); then what is in the file is whole
 * frames, and the rest counts as missing.
 */
int joblog_add(struct joblog_writer *, uint8_t stream, size_t len);

/* The same of output that lies elsewhere.  Ends at the first fault. */
int joblog_write(struct joblog_writer *, uint8_t stream, const void *,
    size_t);

struct joblog_sum {
	uint64_t bytes;         /* payload of both streams that is kept */
	uint64_t stdout_bytes;  /* as drained, kept or not */
	uint64_t stderr_bytes;
	uint64_t file_bytes;    /* length of the file */
	int truncated;
	uint8_t digest[32];     /* of the file: lib/joblog_digest.h */
};

/* Kept payload bytes so far. */
uint64_t joblog_bytes(const struct joblog_writer *);

/* Append tails, fdatasync if anything was written, fill the sum.  0 or -1. */
int joblog_finish(struct joblog_writer *, struct joblog_sum *);

/*
 * Reader: gives whole or partial frames from a payload offset on.  Hostile
 * contents give -1/EPROTO.
 */
struct joblog_reader;
struct joblog_reader *joblog_reader_new(int fd, uint64_t offset);
void joblog_reader_free(struct joblog_reader *);

/**
 * joblog_read(r, stream, buf, cap):
 * The next payload bytes of one stream (at most ${cap}), to the end of a long
 * frame and no further.  Returns their number, 0 when the file has no more now,
 * -1 with errno.
 */
ssize_t joblog_read(struct joblog_reader *, uint8_t *stream, uint8_t *buf,
    size_t cap);

/**
 * joblog_splice(r, stream, pipe, cap):
 * Have the next payload bytes of one stream, at most ${cap}, moved to a pipe
 * without a copy, which waits for no room there.  Returns their number; or 0,
 * with nothing moved, when joblog_read is to be asked: for short pieces, at the
 * end, for a fault, and when the pipe takes no more.
 *
 * What is in the pipe are the file's own pages, so it is only done for frames
 * that are whole: the writer may cut off and write anew what is not.
 */
ssize_t joblog_splice(struct joblog_reader *, uint8_t *stream, int pipe,
    size_t cap);
uint64_t joblog_offset(const struct joblog_reader *);

#endif /* !ERRAND_JOBLOG_H */
