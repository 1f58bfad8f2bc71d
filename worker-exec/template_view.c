/*
 * The parts of the view that are the same for all jobs: programs, devices,
 * empty directories.  Binds from the host and writes into the template's tmpfs.
 * What differs from job to job is added by view.c.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/log.h"
#include "mnt.h"
#include "template_internal.h"

#define NITEMS(a)       (sizeof(a) / sizeof((a)[0]))

/* The host's programs.  Links stay links, as on a host with a merged /usr. */
static const char *const programs[] = {
	"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt",
};

/* Device nodes are the host's, bound: nobody but root may make them. */
static const char *const devices[] = {
	"null", "zero", "full", "random", "urandom", "tty",
};

/* Directories that exist in every view; view.c mounts on some of them. */
static const struct {
	const char *path;
	mode_t mode;
} dirs[] = {
	{ "dev", 0755 }, { "dev/pts", 0755 }, { "dev/shm", 01777 },
	{ "dev/mqueue", 0755 },
	{ "etc", 0755 },
	{ "home", 0755 }, { "home/runner", 0755 },
	{ "mnt", 0755 },
	{ "proc", 0555 },
	{ "root", 0755 },
	{ "run", 0755 },
	{ "srv", 0755 },
	{ "sys", 0555 }, { "sys/devices", 0555 },
	{ "sys/devices/system", 0555 }, { "sys/devices/system/cpu", 0555 },
	{ "tmp", 01777 },
	{ "var", 0755 }, { "var/cache", 0755 }, { "var/lib", 0755 },
	{ "var/log", 0755 }, { "var/spool", 0755 }, { "var/tmp", 01777 },
	{ "workspace", 0755 },
};

static const struct {
	const char *path;
	const char *target;
} links[] = {
	{ "dev/fd", "/proc/self/fd" },
	{ "dev/stdin", "/proc/self/fd/0" },
	{ "dev/stdout", "/proc/self/fd/1" },
	{ "dev/stderr", "/proc/self/fd/2" },
	{ "dev/ptmx", "pts/ptmx" },
	{ "var/run", "/run" },
	{ "var/lock", "/run/lock" },
};

static int
failed(const char *path)
{

	log_warn("the mounts for sandboxes: /%s", path);
	return (-1);
}

int
template_file(int dir, const char *name, const char *text)
{
	int fd, rc;

	if ((fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    0644)) == -1)
		return (-1);
	rc = io_write(fd, text, strlen(text));
	io_close(&fd);
	return (rc);
}

static int
make_dirs(int top)
{
	size_t i;

	for (i = 0; i < NITEMS(dirs); i++) {
		if (mkdirat(top, dirs[i].path, 0755) == -1 ||
		    fchmodat(top, dirs[i].path, dirs[i].mode, 0) == -1)
			return (failed(dirs[i].path));
	}
	for (i = 0; i < NITEMS(links); i++) {
		if (symlinkat(links[i].target, top, links[i].path) == -1)
			return (failed(links[i].path));
	}
	return (0);
}

/* One of the host's directories of programs, or the link it is. */
static int
make_program(int host, int top, const char *name)
{
	char target[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (fstatat(host, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (errno == ENOENT ? 0 : failed(name));
	if (S_ISLNK(st.st_mode)) {
		n = readlinkat(host, name, target, sizeof(target) - 1);
		if (n == -1)
			return (failed(name));
		target[n] = '\0';
		return (symlinkat(target, top, name) == -1 ? failed(name) : 0);
	}
	if (!S_ISDIR(st.st_mode))
		return (0);
	if (mkdirat(top, name, 0755) == -1 ||
	    mnt_bind(host, name, top, name, MNT_RO | MNT_REC) == -1)
		return (failed(name));
	return (0);
}

static int
make_device(int host, int top, const char *name)
{
	char path[32] = "dev/";
	int fd;

	strncat(path, name, sizeof(path) - sizeof("dev/"));
	fd = openat(top, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd == -1)
		return (failed(path));
	io_close(&fd);
	if (mnt_bind(host, path, top, path, MNT_DEV | MNT_NOEXEC) == -1)
		return (failed(path));
	return (0);
}

/* Numbers of processors are all that programs commonly want of /sys. */
static void
make_sys(int host, int top)
{
	static const char path[] = "sys/devices/system/cpu";

	if (mnt_bind(host, path, top, path, MNT_RO | MNT_NOEXEC) == -1)
		log_info("jobs have no /%s: %s", path, strerror(errno));
}

int
template_base(int host, int top)
{
	size_t i;

	if (make_dirs(top) == -1)
		return (-1);
	for (i = 0; i < NITEMS(devices); i++) {
		if (make_device(host, top, devices[i]) == -1)
			return (-1);
	}
	make_sys(host, top);
	return (0);
}

int
template_fill(int host, int top)
{
	size_t i;
	int etc, rc;

	if (template_base(host, top) == -1)
		return (-1);
	for (i = 0; i < NITEMS(programs); i++) {
		if (make_program(host, top, programs[i]) == -1)
			return (-1);
	}
	if ((etc = openat(top, "etc", O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (failed("etc"));
	rc = template_etc(host, etc);
	io_close(&etc);
	return (rc);
}
