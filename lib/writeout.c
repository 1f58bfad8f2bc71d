/* Hands a long file to the disk while it grows.  No barrier is made here. */

#include <sys/stat.h>

#include <fcntl.h>

#include "writeout.h"

/* What was still being written when it was asked for is asked for again. */
#define AGAIN           WRITEOUT_WINDOW

void
writeout_init(struct writeout *o, int fd)
{
	o->fd = fd;
	o->begun = 0;
}

/*
 * Pages that are not yet on the disk stay.  The kernel skips them and does not
 * wait, so that a range is named several times until it has left it behind.
 */
static void
give_back(int fd, uint64_t from, uint64_t to)
{
	(void)posix_fadvise(fd, (off_t)from, (off_t)(to - from),
	    POSIX_FADV_DONTNEED);
}

void
writeout_grew(struct writeout *o, uint64_t size)
{
	uint64_t to = size - size % WRITEOUT_STEP, last;

	if (to == o->begun)
		return;
	(void)sync_file_range(o->fd, (off_t)o->begun, (off_t)(to - o->begun),
	    SYNC_FILE_RANGE_WRITE);
	o->begun = to;
	if (to <= WRITEOUT_WINDOW)
		return;
	last = to - WRITEOUT_WINDOW;
	give_back(o->fd, last > AGAIN ? last - AGAIN : 0, last);
}

void
writeout_done(struct writeout *o, uint64_t size)
{
	if (size > WRITEOUT_WINDOW)
		give_back(o->fd, 0, size - WRITEOUT_WINDOW);
}

void
writeout_read(int fd, uint64_t from, uint64_t to)
{
	struct stat sb;

	if (fstat(fd, &sb) == 0 && (uint64_t)sb.st_size > to &&
	    (uint64_t)sb.st_size - to > WRITEOUT_WINDOW + AGAIN)
		/* The piece of memory that lay across the last end too. */
		give_back(fd, from > WRITEOUT_STEP ? from - WRITEOUT_STEP : 0,
		    to);
}
