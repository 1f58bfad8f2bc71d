/*
 * A stand-in for the repository that stays with its owner.  Writes .git in the
 * directory it is given, with the tenant's rights.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "gitstub.h"
#include "lib/io.h"

/* A directory when there is no text. */
static const struct part {
	const char *name;
	const char *text;
} parts[] = {
	{ ".git", NULL },
	{ ".git/objects", NULL },
	{ ".git/refs", NULL },
	{ ".git/refs/heads", NULL },
	{ ".git/HEAD", "ref: refs/heads/main\n" },
	{ ".git/config", "[core]\n\trepositoryformatversion = 0\n"
	    "\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n" },
	{ ".git/description", "Stands in for the submitter's repository, which "
	    "was not sent: no history.\nThe commit is in ERRAND_COMMIT.\n" },
};

static int
part_make(int dir, const struct part *p)
{
	int fd, rc;

	if (p->text == NULL)
		return (mkdirat(dir, p->name, 0755));
	if ((fd = openat(dir, p->name, O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0644)) == -1)
		return (-1);
	rc = io_write(fd, p->text, strlen(p->text));
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
