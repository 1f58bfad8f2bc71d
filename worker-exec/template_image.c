/*
 * The view of an image: what is at the top of an operator's directory, bound
 * read-only into the template's tmpfs beside the directories that are ours.
 * Nothing in the image is written to or mounted on, so it needs no mount points
 * and may be on a read-only file system.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/log.h"
#include "mnt.h"
#include "template_internal.h"

#define ENTRIES_MAX     256     /* of one directory that is looked into */
#define MOUNTS_MAX      48      /* of one image: each sandbox copies them */

/*
 * What an image may hold under these names is not what jobs see there: each job
 * has its own, or all have ours.
 */
static const char *const ours_top[] = {
	"dev", "etc", "home", "proc", "root", "run", "sys", "tmp", "var",
	"workspace", "lost+found", NULL
};
static const char *const ours_var[] = { "lock", "run", "tmp", NULL };
static const char *const ours_home[] = { "runner", NULL };

/* Directories that are ours with the image's entries in them. */
static const struct {
	const char *path;
	const char *const *ours;
} parts[] = {
	{ ".", ours_top }, { "var", ours_var }, { "home", ours_home },
};

/* What is being done, and how much of it. */
struct image {
	const char *part;
	int from, to;           /* the directory there and here */
	unsigned int mounts;
};

static int
failed(const struct image *im, const char *name)
{

	log_warn("image: %s/%s", im->part, name);
	return (-1);
}

/* Links in the image lead to places in the image, never to the host's. */
static int
open_in(int image, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS
	};

	return ((int)syscall(SYS_openat2, image, path, &how, sizeof(how)));
}

static int
listed(const char *const *names, const char *name)
{

	for (; *names != NULL; names++) {
		if (strcmp(*names, name) == 0)
			return (1);
	}
	return (0);
}

/* One that cannot be read has something in it, for all we know. */
static int
is_empty(int dir, const char *name)
{
	struct dirent *e;
	int fd, n = 0;
	DIR *d;

	if ((fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1)
		return (0);
	if ((d = fdopendir(fd)) == NULL) {
		io_close(&fd);
		return (0);
	}
	while (n <= 2 && (e = readdir(d)) != NULL)
		n++;
	closedir(d);
	return (n <= 2);
}

static int
bind_entry(struct image *im, const char *name)
{

	if (++im->mounts > MOUNTS_MAX) {
		log_warnx("image: more than %d files and directories at its "
		    "top, in /var and in /home: put some into one directory",
		    MOUNTS_MAX);
		return (-1);
	}
	if (mnt_bind(im->from, name, im->to, name, MNT_RO | MNT_REC |
	    MNT_NOFOLLOW) == -1)
		return (failed(im, name));
	return (0);
}

/* A link is text here: it is followed by the job, in its own view. */
static int
make_link(struct image *im, const char *name)
{
	char target[PATH_MAX];
	ssize_t n;

	if ((n = readlinkat(im->from, name, target, sizeof(target) - 1)) == -1)
		return (failed(im, name));
	target[n] = '\0';
	if (symlinkat(target, im->to, name) == -1 && errno != EEXIST)
		return (failed(im, name));
	return (0);
}

static int
make_dir(struct image *im, const char *name, const struct stat *st)
{

	if (mkdirat(im->to, name, 0755) == -1 && errno != EEXIST)
		return (failed(im, name));
	if (!is_empty(im->from, name))
		return (bind_entry(im, name));
	if (fchmodat(im->to, name, st->st_mode & 0755, 0) == -1)
		return (failed(im, name));
	return (0);
}

static int
make_file(struct image *im, const char *name)
{
	int fd;

	if ((fd = openat(im->to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    0644)) == -1)
		return (failed(im, name));
	io_close(&fd);
	return (bind_entry(im, name));
}

static int
make_entry(struct image *im, const char *name)
{
	struct stat st;

	if (fstatat(im->from, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (failed(im, name));
	if (S_ISLNK(st.st_mode))
		return (make_link(im, name));
	if (S_ISDIR(st.st_mode))
		return (make_dir(im, name, &st));
	/* Devices and sockets are nothing to jobs. */
	return (S_ISREG(st.st_mode) ? make_file(im, name) : 0);
}

static int
make_entries(struct image *im, const char *const *ours)
{
	unsigned int n = 0;
	struct dirent *e;
	int fd, rc = 0;
	DIR *d;

	if ((fd = fcntl(im->from, F_DUPFD_CLOEXEC, 0)) == -1 ||
	    (d = fdopendir(fd)) == NULL) {
		io_close(&fd);
		return (failed(im, ""));
	}
	while (rc == 0 && (e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 ||
		    strcmp(e->d_name, "..") == 0 || listed(ours, e->d_name))
			continue;
		if (++n > ENTRIES_MAX) {
			log_warnx("image: %s has more than %d entries",
			    im->part, ENTRIES_MAX);
			rc = -1;
		} else
			rc = make_entry(im, e->d_name);
	}
	closedir(d);
	return (rc);
}

/* Both sides of one part.  An image without that directory has none of it. */
static int
make_part(struct image *im, int image, int top, const char *const *ours)
{
	int rc = -1;

	if ((im->from = open_in(image, im->part)) == -1)
		return (errno == ENOENT || errno == ENOTDIR ? 0 :
		    failed(im, ""));
	im->to = openat(top, im->part, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (im->to == -1)
		(void)failed(im, "");
	else
		rc = make_entries(im, ours);
	io_close(&im->from);
	io_close(&im->to);
	return (rc);
}

static int
make_etc(int image, int top)
{
	int from, etc, rc;

	if ((from = open_in(image, "etc")) == -1 && errno != ENOENT &&
	    errno != ENOTDIR) {
		log_warn("image: etc");
		return (-1);
	}
	if ((etc = openat(top, "etc", O_PATH | O_DIRECTORY |
	    O_CLOEXEC)) == -1) {
		log_warn("image: etc");
		io_close(&from);
		return (-1);
	}
	rc = template_etc_image(image, from, etc);
	io_close(&etc);
	return (rc);
}

int
template_image(int image, int host, int top)
{
	struct image im = { .from = -1, .to = -1 };
	size_t i;

	if (template_base(host, top) == -1)
		return (-1);
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		im.part = parts[i].path;
		if (make_part(&im, image, top, parts[i].ours) == -1)
			return (-1);
	}
	return (make_etc(image, top));
}
