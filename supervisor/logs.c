/*
 * Files of job output: makes, opens and removes them by name.  What is in them
 * is written by keepers and read by errand-snapshot, never here.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/text.h"
#include "logs.h"

#define MODE_WAITS      0400    /* nothing was executed yet */
#define MODE_BEGUN      0600
#define PATH_ROOM       (16 + JOB_ID_LEN + 8)

static int
log_path(uint32_t tenant, const char *job, char *path)
{
	if (!text_job_id_valid(job)) {
		errno = EINVAL;
		return (-1);
	}
	snprintf(path, PATH_ROOM, "%" PRIu32 "/%s.log", tenant, job);
	return (0);
}

int
logs_make(int dir, uint32_t tenant, const char *job)
{
	char path[PATH_ROOM], sub[16];
	int fd;

	if (log_path(tenant, job, path) == -1)
		return (-1);
	snprintf(sub, sizeof(sub), "%" PRIu32, tenant);
	if (mkdirat(dir, sub, 0700) == 0) {
		if (fsync(dir) == -1)
			return (-1);
	} else if (errno != EEXIST)
		return (-1);
	if ((fd = openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, MODE_WAITS)) == -1)
		return (-1);
	io_close(&fd);
	return (0);
}

int
logs_begin(int dir, uint32_t tenant, const char *job)
{
	char path[PATH_ROOM];

	if (log_path(tenant, job, path) == -1 ||
	    fchmodat(dir, path, MODE_BEGUN, 0) == -1)
		return (-1);
	return (openat(dir, path, O_WRONLY | O_APPEND | O_NOFOLLOW |
	    O_CLOEXEC));
}

int
logs_begun(int dir, uint32_t tenant, const char *job)
{
	char path[PATH_ROOM];
	struct stat sb;

	if (log_path(tenant, job, path) == -1)
		return (1);
	if (fstatat(dir, path, &sb, AT_SYMLINK_NOFOLLOW) == -1)
		return (errno != ENOENT);
	return ((sb.st_mode & 0777) != MODE_WAITS);
}

int
logs_sync(int dir, uint32_t tenant)
{
	char sub[16];
	int fd, rc;

	snprintf(sub, sizeof(sub), "%" PRIu32, tenant);
	if ((fd = openat(dir, sub, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1)
		return (-1);
	rc = fsync(fd);
	io_close(&fd);
	return (rc);
}

int
logs_open(int dir, uint32_t tenant, const char *job)
{
	char path[PATH_ROOM];

	if (log_path(tenant, job, path) == -1)
		return (-1);
	return (openat(dir, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
}

void
logs_remove(int dir, uint32_t tenant, const char *job)
{
	char path[PATH_ROOM];

	if (log_path(tenant, job, path) == 0)
		(void)unlinkat(dir, path, 0);
}
