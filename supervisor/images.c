/*
 * Images: whether a directory may be one, and which there are.  Looks at the
 * host's files and changes none; what is mounted of one is decided by
 * errand-exec (template_image.c there).
 */
#include <sys/stat.h>

#include <errno.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "images.h"

/*
 * Who may write to an image decides what other people's jobs execute.  The
 * same goes for the directories that lead to it, where only one that keeps
 * entries to their owners, as /tmp does, may be open to all.
 */
static int
trusted(const char *path, unsigned int own, int top, char *why, size_t len)
{
	struct stat st;

	if (lstat(path, &st) == -1)
		snprintf(why, len, "%s: %s", path, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		snprintf(why, len, "%s is not a directory; name the root "
		    "directory of an image, unpacked", path);
	else if (st.st_uid != 0 && st.st_uid != own)
		snprintf(why, len, "%s is owned by uid %u, who could change "
		    "what jobs run; chown it to root", path, st.st_uid);
	else if ((st.st_mode & 022) != 0 && (top || (st.st_mode & S_ISVTX) ==
	    0))
		snprintf(why, len, "%s can be written to by others than its "
		    "owner (mode %04o), who could change what jobs run; chmod "
		    "go-w it", path, st.st_mode & 07777);
	else
		return (0);
	return (-1);
}

int
image_check(const char *path, unsigned int own, char **real, char *why,
    size_t len)
{
	char part[PATH_MAX], *slash;

	if ((*real = realpath(path, NULL)) == NULL) {
		snprintf(why, len, "%s: %s", path, strerror(errno));
		return (-1);
	}
	snprintf(part, sizeof(part), "%s", *real);
	if (trusted(part, own, 1, why, len) == -1)
		goto err1;
	if (strcmp(part, "/") == 0) {
		snprintf(why, len, "%s is the host's own root, which jobs see "
		    "without an image; name another directory", path);
		goto err1;
	}
	while ((slash = strrchr(part, '/')) != NULL && slash != part) {
		*slash = '\0';
		if (trusted(part, own, 0, why, len) == -1)
			goto err1;
	}
	return (0);

err1:
	free(*real);
	*real = NULL;
	return (-1);
}

const struct image_conf *
image_find(const struct config *cfg, const char *name)
{
	uint32_t i;

	for (i = 0; i < cfg->nimages; i++)
		if (strcmp(cfg->images[i].name, name) == 0)
			return (&cfg->images[i]);
	return (NULL);
}

void
images_list(const struct config *cfg, char *buf, size_t len)
{
	size_t at = 0;
	uint32_t i;
	int n;

	buf[0] = '\0';
	for (i = 0; i < cfg->nimages; i++) {
		n = snprintf(buf + at, len - at, "%s%s", i == 0 ? "" : ", ",
		    cfg->images[i].name);
		if (n < 0 || (size_t)n >= len - at)
			return;
		at += (size_t)n;
	}
}
