#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/backup_in.h"

/*
 * A host that streams anything as a backup: what it makes are the files of a
 * backup, in the directory that was given, and never more bytes than it sent.
 */

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static char top[] = "/tmp/errand-fuzz-XXXXXX";
static int topfd = -1;

static void
must(int ok)
{
	if (!ok)
		abort();
}

static void
clean(void)
{
	(void)rmdir(top);
}

/* Remove what is in a directory; how many bytes that was. */
static uint64_t
empty(int dirfd, int is_packs)
{
	struct dirent *de;
	struct stat sb;
	uint64_t sum = 0;
	DIR *d = NULL;
	int fd;

	must((fd = dup(dirfd)) != -1 && (d = fdopendir(fd)) != NULL);
	rewinddir(d);
	while ((de = readdir(d)) != NULL) {
		if (de->d_name[0] == '.')
			continue;
		must(fstatat(dirfd, de->d_name, &sb, AT_SYMLINK_NOFOLLOW) ==
		    0);
		if (!is_packs && strcmp(de->d_name, "packs") == 0)
			continue;
		must(S_ISREG(sb.st_mode) && (sb.st_mode & 077) == 0);
		must(is_packs ? strlen(de->d_name) == 13 :
		    strcmp(de->d_name, "key") == 0 ||
		    strcmp(de->d_name, "rebuild") == 0);
		sum += (uint64_t)sb.st_size;
		must(unlinkat(dirfd, de->d_name, 0) == 0);
	}
	closedir(d);
	return (sum);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct backup_in b;
	size_t at, n;
	int rc = 0;

	if (topfd == -1) {
		must(mkdtemp(top) != NULL);
		must((topfd = open(top, O_RDONLY | O_DIRECTORY |
		    O_CLOEXEC)) != -1);
		atexit(clean);
	}
	must(backup_in_open(&b, topfd) == 0);
	/* In pieces, as a network would. */
	for (at = 0; rc == 0 && at < len; at += n) {
		n = 1 + data[at] % 97;
		if (n > len - at)
			n = len - at;
		rc = backup_in_feed(&b, data + at, n);
	}
	if (rc == 0 && backup_in_end(&b) == 0)
		must(b.over);
	must(empty(b.packsfd, 1) + empty(topfd, 0) <= len);
	backup_in_close(&b);
	must(unlinkat(topfd, "packs", AT_REMOVEDIR) == 0);
	return (0);
}
