/*
 * Remembers which tree a job came from.  Writes below the state directory.
 *
 * A record: job id, blank, 66 hexadecimal digits of the root's reference,
 * blank, path, NUL.
 */
#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/text.h"
#include "origin.h"
#include "state.h"

#define FILE_MAX        65536
#define REF_HEX         (2 * OBJ_REF_LEN)
#define HEAD            (JOB_ID_LEN + 1 + REF_HEX + 1)
#define RECORD_MAX      (HEAD + PATH_MAX)

static int
open_file(const char *job, int flags)
{
	char path[PATH_MAX], rel[32];

	if (!text_job_id_valid(job)) {
		errno = EINVAL;
		return (-1);
	}
	snprintf(rel, sizeof(rel), "origins/%.1s", job);
	if (state_path(rel, path) == -1)
		return (-1);
	return (open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0600));
}

/* Leave the newer half.  The file is locked and keeps its name. */
static int
trim(int fd, size_t len)
{
	uint8_t *buf, *p;
	int rc = -1;

	if ((buf = malloc(len)) == NULL)
		return (-1);
	if (io_pread(fd, buf, len, 0) == 0 &&
	    (p = memchr(buf + len / 2, 0, len - len / 2)) != NULL) {
		p++;
		len -= (size_t)(p - buf);
		if (ftruncate(fd, 0) == 0)
			rc = io_pwrite(fd, p, len, 0);
	}
	free(buf);
	return (rc);
}

int
origin_set(const char *job, const char *root, const struct obj_ref *ref)
{
	uint8_t enc[OBJ_REF_LEN];
	char rec[RECORD_MAX], hex[REF_HEX + 1];
	struct stat st;
	int fd, n, rc = -1;

	if ((fd = open_file(job, O_RDWR | O_CREAT | O_APPEND)) == -1)
		return (-1);
	obj_ref_encode(ref, enc);
	text_hex(enc, sizeof(enc), hex);
	n = snprintf(rec, sizeof(rec), "%s %s %s", job, hex, root);
	if (n < 0 || n >= (int)sizeof(rec)) {
		errno = ENAMETOOLONG;
		goto done;
	}
	if (flock(fd, LOCK_EX) == -1 || fstat(fd, &st) == -1)
		goto done;
	if (st.st_size > FILE_MAX && trim(fd, (size_t)st.st_size) == -1)
		goto done;
	rc = io_write(fd, rec, (size_t)n + 1);
done:
	close(fd);
	return (rc);
}

static int
parse(const char *rec, const char *job, char *root, struct obj_ref *ref)
{
	uint8_t enc[OBJ_REF_LEN];
	char hex[REF_HEX + 1];

	if (strlen(rec) <= HEAD || strlen(rec) - HEAD >= PATH_MAX ||
	    memcmp(rec, job, JOB_ID_LEN) != 0 || rec[JOB_ID_LEN] != ' ' ||
	    rec[HEAD - 1] != ' ' || rec[HEAD] != '/')
		return (-1);
	memcpy(hex, rec + JOB_ID_LEN + 1, REF_HEX);
	hex[REF_HEX] = '\0';
	if (text_unhex(hex, enc, sizeof(enc)) == -1 ||
	    obj_ref_decode(enc, ref) == -1)
		return (-1);
	memcpy(root, rec + HEAD, strlen(rec) - HEAD + 1);
	return (0);
}

int
origin_get(const char *job, char *root, struct obj_ref *ref)
{
	char path[32];
	uint8_t *buf;
	size_t len, i;
	int fd, found = -1;

	if ((fd = open_file(job, O_RDONLY)) == -1)
		return (-1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (io_file_read(AT_FDCWD, path, 4 * FILE_MAX, &buf, &len) == -1)
		goto err0;
	/* The last record of a job counts; each ends with a NUL. */
	for (i = 0; i < len; i += strlen((char *)buf + i) + 1)
		if (parse((char *)buf + i, job, root, ref) == 0)
			found = 0;
	free(buf);
	close(fd);
	errno = ENOENT;
	return (found);

err0:
	close(fd);
	return (-1);
}
