#ifndef ERRAND_IO_H
#define ERRAND_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Read or write all of it, over short counts and EINTR.  0, or -1 with errno
 * (EPIPE for an early end of file). */
int io_read(int, void *, size_t);
int io_write(int, const void *, size_t);
int io_pread(int, void *, size_t, off_t);
int io_pwrite(int, const void *, size_t, off_t);

/* Close ${*fd} if it is not -1 and set it to -1; errno is kept. */
void io_close(int *);

int io_nonblock(int);

/* CLOCK_MONOTONIC and CLOCK_REALTIME in microseconds. */
uint64_t io_mono_us(void);
uint64_t io_real_us(void);

/**
 * io_file_read(dirfd, path, max, buf, len):
 * Read a whole regular file of at most ${max} bytes into fresh memory, NUL
 * terminated.  Return 0, or -1 with errno (EFBIG).
 */
int io_file_read(int, const char *, size_t, uint8_t **, size_t *);

/**
 * io_file_replace(dirfd, name, mode, buf, len):
 * Write ${name} anew: .new file, fsync, rename, fsync of the directory.
 * Durable when this returns 0.
 */
int io_file_replace(int, const char *, mode_t, const void *, size_t);

/**
 * io_remove_tree(dirfd, name):
 * Remove a directory and all below it by descriptors: links are unlinked and
 * never entered, unreadable directories are made readable, depth is bounded
 * by memory only, mounts are not crossed.  Already absent is a success.
 */
int io_remove_tree(int, const char *);

#endif /* !ERRAND_IO_H */
