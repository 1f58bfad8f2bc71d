#ifndef ERRAND_BACKUP_IN_H
#define ERRAND_BACKUP_IN_H

#include <stddef.h>
#include <stdint.h>

#include "proto/backup.h"

/*
 * The stream of a backup (proto/backup.h), written into a directory as it
 * comes, each file flushed at its end.
 *
 * Invariants:
 *  1. fd != -1 exactly while a file is being written, left bytes of which are
 *     still to come.
 *  2. Nothing is written outside of dirfd, and nothing there is written over.
 */
struct backup_in {
	int dirfd;
	int packsfd;            /* packs/ in it */
	int fd;
	uint64_t left;
	uint8_t head[BACKUP_HEAD];
	size_t have;            /* bytes of head */
	uint64_t files, bytes;
	int over;               /* the end has come, and all was there */
};

/**
 * backup_in_open(b, dirfd):
 * Begin in the empty directory ${dirfd} (borrowed).  0, or -1 with errno.
 */
int backup_in_open(struct backup_in *, int);
void backup_in_close(struct backup_in *);

/**
 * backup_in_feed(b, p, len):
 * Take the next bytes.  Return 0, or -1 with errno: EPROTO when this is no
 * backup.
 */
int backup_in_feed(struct backup_in *, const uint8_t *, size_t);

/* Has all of it come?  Then flush the directories.  0, or -1 with errno. */
int backup_in_end(struct backup_in *);

#endif /* !ERRAND_BACKUP_IN_H */
