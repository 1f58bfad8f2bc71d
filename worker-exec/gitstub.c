/*
 * A stand-in for the repository that stays with its owner.  Writes .git in the
 * directory it is given, with the tenant's rights.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include "gitstub.h"
#include "lib/io.h"

/* The blob without bytes, which the index names, as zlib has it. */
#define EMPTY_BLOB \
    "\x78\x9c\x4b\xca\xc9\x4f\x52\x30\x60\x00\x00\x09\xb0\x01\xf0"

#define DIRECTORY       NULL, 0
#define BYTES(s)        s, sizeof(s) - 1

static const struct part {
	const char *name;
	const char *bytes;
	size_t len;
} parts[] = {
	{ ".git", DIRECTORY },
	{ ".git/objects", DIRECTORY },
	{ ".git/objects/e6", DIRECTORY },
	{ ".git/objects/e6/9de29bb2d1d6434b8b29ae775ad8c2e48c5391",
	    BYTES(EMPTY_BLOB) },
	{ ".git/refs", DIRECTORY },
	{ ".git/refs/heads", DIRECTORY },
	{ ".git/HEAD", BYTES("ref: refs/heads/main\n") },
	{ ".git/config", BYTES("[core]\n\trepositoryformatversion = 0\n"
	    "\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n") },
	{ ".git/description", BYTES("Stands in for the submitter's repository, "
	    "which was not sent: no history.\n"
	    "The commit is in ERRAND_COMMIT.\n") },
};

static int
part_make(int dir, const struct part *p)
{
	int fd, rc;

	if (p->bytes == NULL)
		return (mkdirat(dir, p->name, 0755));
	if ((fd = openat(dir, p->name, O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0644)) == -1)
		return (-1);
	rc = io_write(fd, p->bytes, p->len);
	io_close(&fd);
	return (rc);
}

int
gitstub_make(int dir)
{
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (part_make(dir, &parts[i]) == -1)
			return (-1);
	return (0);
}
