/*
 * Walks what would be sent.  Opens directories below the root, never through a
 * link.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "listing.h"
#include "out.h"

struct walk {
	struct select *sel;
	listing_fn *fn;
	void *cookie;
	char path[PATH_MAX];
};

static int walk_dir(struct walk *, int, size_t);

static int
fault(const struct walk *w)
{
	if (*select_why(w->sel) != '\0')
		out_warn("%s", select_why(w->sel));
	else
		out_warn("%s: %s", *w->path == '\0' ? "." : w->path,
		    strerror(errno));
	return (-1);
}

static int
walk_below(struct walk *w, int dirfd, const char *name, size_t len)
{
	int fd, rc;

	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1)
		return (errno == ENOENT || errno == ENOTDIR || errno == ELOOP ?
		    0 : fault(w));
	rc = walk_dir(w, fd, len);
	close(fd);
	return (rc);
}

/* One name: told first, so that the directory's rules are still at hand. */
static int
visit(struct walk *w, int dirfd, const struct name *nm, size_t at,
    struct stat *st)
{
	size_t len = at;

	if (fstatat(dirfd, nm->s, st, AT_SYMLINK_NOFOLLOW) == -1 ||
	    (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode) &&
	    !S_ISLNK(st->st_mode))) {
		st->st_mode = 0;
		return (0);
	}
	if (at + nm->len + 2 > sizeof(w->path)) {
		errno = ENAMETOOLONG;
		return (fault(w));
	}
	if (at > 0)
		w->path[len++] = '/';
	memcpy(w->path + len, nm->s, nm->len + 1U);
	return (w->fn(w->cookie, w->path, nm->s, st));
}

static int
walk_dir(struct walk *w, int fd, size_t at)
{
	struct names ns = { 0 };
	struct stat st;
	size_t i, n;
	int rc;

	if ((rc = select_names(w->sel, fd, w->path, &ns)) == -1)
		rc = fault(w);
	for (i = 0; rc == 0 && i < ns.n; i++) {
		rc = visit(w, fd, &ns.v[i], at, &st);
		n = at + (at > 0) + ns.v[i].len;
		if (rc == 0 && S_ISDIR(st.st_mode)) {
			rc = walk_below(w, fd, ns.v[i].s, n);
			/* Back, for those that judge the names that follow. */
			w->path[at] = '\0';
			if (rc == 0 && select_return(w->sel, w->path) == -1)
				rc = fault(w);
		}
		w->path[at] = '\0';
	}
	names_done(&ns);
	return (rc);
}

int
listing_walk(int rootfd, struct select *sel, listing_fn *fn, void *cookie)
{
	struct walk w = { .sel = sel, .fn = fn, .cookie = cookie };

	return (walk_dir(&w, rootfd, 0));
}
