/*
 * Merges text by running git merge-file.  What it reads are memfds, and it
 * stands in the root directory, so that no repository has a say.
 */
#include <sys/mman.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gitls.h"
#include "lib/io.h"
#include "merge.h"

/* A memfd that git inherits, and its name there. */
static int
offer(const struct merge_bytes *b, char *name, size_t len)
{
	int fd;

	if ((fd = memfd_create("errand-merge", 0)) == -1)
		return (-1);
	if (io_write(fd, b->p, b->len) == -1) {
		close(fd);
		return (-1);
	}
	snprintf(name, len, "/proc/self/fd/%d", fd);
	return (fd);
}

/* Control bytes that no text has.  Git looks for NUL alone; a short binary file
 * may well have none, and markers would spoil it. */
static int
is_text(const struct merge_bytes *b)
{
	size_t i;
	uint8_t c;

	for (i = 0; i < b->len; i++) {
		c = b->p[i];
		if (c == 0x7f || (c < 0x20 && (c < '\b' || c > '\r') &&
		    c != 0x1b))
			return (0);
	}
	return (1);
}

/* Are the two versions of an earlier merge in it, between our markers?  A merge
 * on top of that would put markers between markers. */
static int
unsettled(const struct merge_bytes *b)
{
	static const char from[] = "<<<<<<< here\n";
	const size_t n = sizeof(from) - 1;
	const uint8_t *p = b->p, *end = b->p + b->len;

	while ((size_t)(end - p) >= n && memcmp(p, from, n) != 0) {
		if ((p = memchr(p, '\n', (size_t)(end - p))) == NULL)
			return (0);
		p++;
	}
	return ((size_t)(end - p) >= n);
}

static int
run_git(char names[3][32], char **out, size_t *len)
{
	const char *const argv[] = { GIT_SAFE, "merge-file", "-p", "-q",
	    "-L", "here", "-L", "as submitted", "-L", "by the job",
	    names[0], names[1], names[2], NULL };
	int rc;

	rc = gitls_output(argv, "/", NULL, 0, out, len);
	if (rc == -1)
		return (-1);
	if (rc < 128)
		return (rc != 0);
	free(*out);
	*out = NULL;
	errno = EINVAL;
	return (-1);
}

int
merge_text(const struct merge_bytes *ours, const struct merge_bytes *base,
    const struct merge_bytes *theirs, char **out, size_t *len)
{
	const struct merge_bytes *in[3] = { ours, base, theirs };
	int fds[3] = { -1, -1, -1 }, i, rc = -1;
	char names[3][32];

	*out = NULL;
	for (i = 0; i < 3; i++) {
		if (in[i]->len > MERGE_TEXT_MAX) {
			errno = EFBIG;
			goto done;
		}
		if (!is_text(in[i])) {
			errno = EINVAL;
			goto done;
		}
		if (i == 0 && unsettled(in[i])) {
			errno = EEXIST;
			goto done;
		}
		fds[i] = offer(in[i], names[i], sizeof(names[i]));
		if (fds[i] == -1)
			goto done;
	}
	rc = run_git(names, out, len);
done:
	for (i = 0; i < 3; i++)
		io_close(&fds[i]);
	return (rc);
}
