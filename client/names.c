/*
 * Names of one directory.  Reads the directory it is given.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "names.h"

void
names_done(struct names *ns)
{
	free(ns->v);
	free(ns->buf);
	memset(ns, 0, sizeof(*ns));
}

int
names_add(struct names *ns, const char *s, size_t len, int isdir)
{
	struct name *v;
	size_t cap, i;
	char *buf;

	if (ns->n == ns->cap) {
		cap = ns->cap == 0 ? 64 : ns->cap * 2;
		if ((v = realloc(ns->v, cap * sizeof(*v))) == NULL)
			return (-1);
		ns->v = v;
		ns->cap = cap;
	}
	if (ns->buf_cap - ns->buf_len < len + 1) {
		cap = (ns->buf_cap + len + 1) * 2;
		if ((buf = realloc(ns->buf, cap)) == NULL)
			return (-1);
		if (buf != ns->buf)
			for (i = 0; i < ns->n; i++)
				ns->v[i].s = buf + (ns->v[i].s - ns->buf);
		ns->buf = buf;
		ns->buf_cap = cap;
	}
	memcpy(ns->buf + ns->buf_len, s, len);
	ns->buf[ns->buf_len + len] = '\0';
	ns->v[ns->n].s = ns->buf + ns->buf_len;
	ns->v[ns->n].len = (uint16_t)len;
	ns->v[ns->n].dir_hint = isdir != 0;
	ns->n++;
	ns->buf_len += len + 1;
	return (0);
}

static int
name_cmp(const void *a, const void *b)
{
	return (strcmp(((const struct name *)a)->s,
	    ((const struct name *)b)->s));
}

void
names_reset(struct names *ns)
{
	ns->n = 0;
	ns->buf_len = 0;
}

void
names_sort(struct names *ns)
{
	if (ns->n > 1)
		qsort(ns->v, ns->n, sizeof(*ns->v), name_cmp);
}

int
names_read(struct names *ns, int dirfd)
{
	struct dirent *de;
	struct stat st;
	DIR *d;
	int fd, rc = 0;

	if ((fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (-1);
	if ((d = fdopendir(fd)) == NULL) {
		close(fd);
		return (-1);
	}
	while (rc == 0 && (errno = 0, de = readdir(d)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0)
			continue;
		if (de->d_type == DT_UNKNOWN && fstatat(dirfd, de->d_name, &st,
		    AT_SYMLINK_NOFOLLOW) == 0)
			de->d_type = IFTODT(st.st_mode);
		rc = names_add(ns, de->d_name, strlen(de->d_name),
		    de->d_type == DT_DIR);
	}
	if (de == NULL && errno != 0)
		rc = -1;
	closedir(d);
	return (rc);
}
