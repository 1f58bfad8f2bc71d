/*
 * passwd and group in the view of an image: the users that jobs are, then those
 * that the image knows.  Reads two files of the image; memory only.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "template_internal.h"

#define FILE_MAX        (512 * 1024)

/* What everybody may read, or NULL; links lead to places in the image. */
static char *
file_get(int image, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS
	};
	struct stat st;
	char *text = NULL;
	ssize_t n;
	int fd;

	if ((fd = (int)syscall(SYS_openat2, image, path, &how,
	    sizeof(how))) == -1)
		return (NULL);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    (st.st_mode & S_IROTH) != 0 && st.st_size <= FILE_MAX &&
	    (text = malloc((size_t)st.st_size + 1)) != NULL) {
		n = read(fd, text, (size_t)st.st_size);
		text[n < 0 ? 0 : n] = '\0';
	}
	io_close(&fd);
	return (text);
}

/* Does a line "name:...:id:..." say who is spoken of in ours already? */
static int
is_ours(const char *line, const char *ours)
{
	size_t n = strcspn(line, ":");
	const char *p, *id;

	for (p = ours; *p != '\0'; p = strchr(p, '\n') + 1) {
		if (strncmp(p, line, n + 1) == 0)
			return (1);
	}
	if (line[n] == '\0' || (id = strchr(line + n + 1, ':')) == NULL)
		return (1);     /* no such line */
	id++;
	return ((id[0] == '0' && id[1] == ':') ||
	    strncmp(id, "1000:", 5) == 0);
}

char *
template_users(int image, const char *path, const char *ours)
{
	char *theirs = file_get(image, path), *pos = theirs, *line, *text;
	size_t len;
	FILE *f;

	if ((f = open_memstream(&text, &len)) == NULL) {
		free(theirs);
		return (NULL);
	}
	(void)fputs(ours, f);
	while ((line = strsep(&pos, "\n")) != NULL) {
		if (*line != '\0' && !is_ours(line, ours))
			(void)fprintf(f, "%s\n", line);
	}
	free(theirs);
	if (fclose(f) != 0) {
		free(text);
		return (NULL);
	}
	return (text);
}
