/*
 * The directory and the file that the index is in, as the file system has them:
 * made, flushed, measured.  Writes nothing into the file.
 */
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "index_file.h"
#include "lib/crash.h"
#include "lib/io.h"
#include "lib/log.h"

/* Pages at the end of the file that may never have been written. */
#define UNWRITTEN_MAX   64

/* Less than this many free bytes is a full disk. */
#define FULL_BELOW      (256ULL * 1024)

int
ix_file_disk_full(int dirfd)
{
	struct statvfs vfs;

	if (fstatvfs(dirfd, &vfs) == -1)
		return (0);
	return ((uint64_t)vfs.f_bavail * vfs.f_frsize < FULL_BELOW);
}

int
ix_file_dir(int parent, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	int fd = -1;

	if (mkdirat(parent, name, 0700) == 0 || errno == EEXIST)
		fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
		    O_NOFOLLOW);
	if (fd == -1)
		log_warn("directory index cannot be opened");
	return (fd);
}

int
ix_file_sync(int dirfd, int parent)
{
	if (MUTANT("no-index-dir-sync"))
		return (0);
	if (fsync(dirfd) == -1 || fsync(parent) == -1) {
		log_warn("index: its directory cannot be flushed");
		return (-1);
	}
	return (0);
}

/*
 * Give the file the pages that it lacks at its end.  Read as zeros, they are
 * no pages for LMDB, which says so should one of them be in use.
 */
static int
lengthen(int dirfd, uint64_t want)
{
	int fd, rc;

	if ((fd = openat(dirfd, "data.mdb", O_WRONLY | O_CLOEXEC |
	    O_NOFOLLOW)) == -1)
		return (-1);
	rc = ftruncate(fd, (off_t)want);
	io_close(&fd);
	return (rc);
}

/*
 * Pages that the file should have and has not would end the process.  A few at
 * its end may never have been written: LMDB gives numbers to pages that a
 * transaction takes and frees again.  More were cut off.
 */
int
ix_file_whole(int dirfd, uint64_t want, uint64_t page)
{
	struct stat sb;
	uint64_t len;

	if (fstatat(dirfd, "data.mdb", &sb, AT_SYMLINK_NOFOLLOW) == -1)
		goto err0;
	if ((len = (uint64_t)sb.st_size) >= want)
		return (0);
	if (want - len <= UNWRITTEN_MAX * page) {
		if (lengthen(dirfd, want) == -1)
			goto err0;
		return (0);
	}
	log_warnx("index: the file has %" PRIu64 " bytes and should have %"
	    PRIu64, len, want);
	errno = EUCLEAN;
	return (-1);

err0:
	log_warn("index/data.mdb");
	return (-1);
}
