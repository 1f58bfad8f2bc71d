/*
 * What one job sees as its file system: its copy of the template, a /proc, a
 * /tmp, a /dev/pts, /workspace.  Runs in pid 1 and mounts in its namespace
 * only.  What all jobs have in common is made by template*.c.
 */
#include <sys/mount.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/io.h"
#include "mnt.h"
#include "proto/limits.h"
#include "share.h"
#include "template.h"
#include "view.h"

#define NITEMS(a)       (sizeof(a) / sizeof((a)[0]))
#define SCRATCH_INODES  "262144"

/*
 * Private directories are parts of one tmpfs, so that they have one limit and
 * cost one mount.  /tmp is the last: it covers the whole.
 */
static const struct {
	const char *name;
	const char *path;
	mode_t mode;
} scratch[] = {
	{ "run", "run", 0755 },
	{ "home", "home/runner", 0755 },
	{ "vartmp", "var/tmp", 01777 },
	{ "shm", "dev/shm", 01777 },
	{ "tmp", "tmp", 01777 },
};

/*
 * What a job must not read or write in its /proc.  Most of these are root's
 * and closed to it anyway; covered, they are closed whoever it is.
 */
enum cover {
	COVER_RO,               /* read-only */
	COVER_FILE,             /* /dev/null is over it */
	COVER_DIR               /* an empty directory is over it */
};

static const struct {
	const char *path;
	enum cover how;
} covers[] = {
	{ "proc/acpi", COVER_DIR },
	{ "proc/asound", COVER_RO },
	{ "proc/bus", COVER_RO },
	{ "proc/fs", COVER_RO },
	{ "proc/irq", COVER_RO },
	{ "proc/kcore", COVER_FILE },
	{ "proc/key-users", COVER_FILE },
	{ "proc/keys", COVER_FILE },
	{ "proc/kmsg", COVER_FILE },
	{ "proc/latency_stats", COVER_FILE },
	{ "proc/sched_debug", COVER_FILE },
	{ "proc/scsi", COVER_DIR },
	{ "proc/sys", COVER_RO },
	{ "proc/sysrq-trigger", COVER_FILE },
	{ "proc/timer_list", COVER_FILE },
	{ "proc/timer_stats", COVER_FILE },
};

static int
failed(const char **step, const char *what)
{

	*step = what;
	return (-1);
}

/* Our copy of the view: what was locked below it stays so. */
static int
view_copy(const char *from)
{
	int fd, rc;

	if ((fd = mnt_clone(AT_FDCWD, from, MNT_REC | MNT_DEV)) == -1)
		return (-1);
	rc = mnt_attach(fd, AT_FDCWD, from);
	io_close(&fd);
	return (rc == -1 ? -1 : chdir(from));
}

static int
mount_new(const char *type, const char *const *options, int flags,
    const char *path)
{
	int fd, rc;

	if ((fd = mnt_new(type, options, flags)) == -1)
		return (-1);
	rc = mnt_attach(fd, AT_FDCWD, path);
	io_close(&fd);
	return (rc);
}

/*
 * A file of users in which runner has another number, over the one there is.
 * It lies at the top of the private tmpfs, which no path of the job leads to.
 */
static int
users_make(const char *name, unsigned int runner)
{
	char path[32], line[512], *rest;
	FILE *in, *out = NULL;
	int rc = -1;

	(void)snprintf(path, sizeof(path), "etc/%s", name);
	if ((in = fopen(path, "re")) == NULL)
		return (-1);
	(void)snprintf(path, sizeof(path), "tmp/%s", name);
	if ((out = fopen(path, "wxe")) == NULL)
		goto out;
	while (fgets(line, sizeof(line), in) != NULL) {
		rest = strstr(line, ":1000:");
		if (strncmp(line, "runner:x", 8) != 0 || rest == NULL)
			(void)fputs(line, out);
		else if (strcmp(name, "group") == 0)
			(void)fprintf(out, "runner:x:%u:\n", runner);
		else
			(void)fprintf(out, "runner:x:%u:%u:runner:"
			    "/home/runner:/bin/sh\n", runner, runner);
	}
	rc = fclose(out);
out:
	(void)fclose(in);
	return (rc == 0 ? chmod(path, 0644) : -1);
}

static int
users_put(unsigned int runner)
{
	static const char *const names[] = { "passwd", "group" };
	char from[32], to[32];
	size_t i;

	for (i = 0; i < NITEMS(names); i++) {
		(void)snprintf(from, sizeof(from), "tmp/%s", names[i]);
		(void)snprintf(to, sizeof(to), "etc/%s", names[i]);
		if (users_make(names[i], runner) == -1 ||
		    mnt_bind(AT_FDCWD, from, AT_FDCWD, to, MNT_RO) == -1)
			return (-1);
	}
	return (0);
}

static int
scratch_make(const struct view *v)
{
	char size[32], from[32];
	const char *options[] = { "mode", "0755", "nr_inodes", SCRATCH_INODES,
	    "size", size, NULL };
	size_t i;

	(void)snprintf(size, sizeof(size), "%" PRIu64,
	    v->scratch == 0 ? VIEW_SCRATCH : v->scratch);
	if (mount_new("tmpfs", options, 0, "tmp") == -1 ||
	    (v->runner != 0 && users_put(v->runner) == -1))
		return (-1);
	for (i = 0; i < NITEMS(scratch); i++) {
		(void)snprintf(from, sizeof(from), "tmp/%s", scratch[i].name);
		if (mkdir(from, 0700) == -1 ||
		    chmod(from, scratch[i].mode) == -1 ||
		    mnt_bind(AT_FDCWD, from, AT_FDCWD, scratch[i].path,
		    0) == -1)
			return (-1);
	}
	return (0);
}

/*
 * The old calls, because they are half as many: a bind takes the flags of what
 * it binds, and what covers files and directories has all it needs.
 */
static int
cover(const char *path, enum cover how)
{
	const unsigned long ro = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID |
	    MS_NODEV | MS_NOEXEC;
	const char *from = path;

	if (how == COVER_FILE)
		from = "dev/null";
	else if (how == COVER_DIR)
		from = TEMPLATE_EMPTY;
	if (mount(from, path, NULL, MS_BIND, NULL) == -1)
		return (errno == ENOENT ? 0 : -1);
	return (how == COVER_RO ? mount(NULL, path, NULL, ro, NULL) : 0);
}

static int
proc_make(const struct view *v)
{
	size_t i;

	if (mount_new("proc", NULL, MNT_NOEXEC, "proc") == -1)
		return (-1);
	/* Now, for it gets read-only. */
	share_notify("proc", v->jobs);
	for (i = 0; i < NITEMS(covers); i++) {
		if (cover(covers[i].path, covers[i].how) == -1)
			return (-1);
	}
	return (0);
}

/* The group of terminals, 5, is nobody here; so it is the job's own. */
static int
pts_make(const struct view *v)
{
	char max[16];
	const char *const options[] = { "ptmxmode", "0666", "mode", "0620",
	    "max", max, "?newinstance", NULL, NULL };

	(void)snprintf(max, sizeof(max), "%u", v->terminals);

	return (mount_new("devpts", options, MNT_DEV | MNT_NOEXEC, "dev/pts"));
}

/*
 * Message queues are of the IPC namespace and need no mount; but Landlock
 * allows what a rule's directory is above, and this one is theirs.  A kernel
 * without them has nothing to allow.
 */
static int
mqueue_make(void)
{

	if (mount_new("mqueue", NULL, MNT_NOEXEC, "dev/mqueue") == 0)
		return (0);
	return (errno == ENODEV ? 0 : -1);
}

static int
net_make(void)
{

	if (mnt_bind(AT_FDCWD, TEMPLATE_NET "/hosts", AT_FDCWD, "etc/hosts",
	    MNT_RO) == -1)
		return (-1);
	return (mnt_bind(AT_FDCWD, TEMPLATE_NET "/resolv.conf", AT_FDCWD,
	    "etc/resolv.conf", MNT_RO));
}

int
view_make(const struct view *v, const char **step)
{

	if (view_copy(v->from) == -1)
		return (failed(step, "copying the view"));
	if (proc_make(v) == -1)
		return (failed(step, "mounting /proc"));
	if (scratch_make(v) == -1)
		return (failed(step, "mounting /tmp"));
	if (pts_make(v) == -1)
		return (failed(step, "mounting /dev/pts"));
	if (mqueue_make() == -1)
		return (failed(step, "mounting /dev/mqueue"));
	if (v->net_host && net_make() == -1)
		return (failed(step, "the host's name service"));
	return (0);
}

int
view_enter(int mount, const char **step)
{

	if (mnt_attach(mount, AT_FDCWD, "workspace") == -1)
		return (failed(step, "mounting the workspace"));
	if (mnt_pivot(".") == -1)
		return (failed(step, "changing the root"));
	return (0);
}

/* One of the private directories stands for all: they are one tmpfs. */
int
view_change(int tree, uint64_t bytes, const char **step)
{
	char size[32];

	(void)snprintf(size, sizeof(size), "size=%" PRIu64, bytes);
	if (bytes != 0 && mount(NULL, "/tmp", NULL, MS_REMOUNT | MS_NOSUID |
	    MS_NODEV, size) == -1)
		return (failed(step, "the size of /tmp"));
	/* Not over the empty one: what the host calls that would be told. */
	if (tree != -1 && (umount2("/workspace", MNT_DETACH) == -1 ||
	    mnt_attach(tree, AT_FDCWD, "/workspace") == -1))
		return (failed(step, "mounting the workspace"));
	return (0);
}

/* Open a directory of the view, never through a link; make it if it is not
 * there. */
static int
step_into(int dir, const char *name, int *made)
{
	const int how = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd;

	if ((fd = openat(dir, name, how)) != -1 || errno != ENOENT)
		return (fd);
	if (mkdirat(dir, name, 0755) == -1)
		return (-1);
	(*made)++;
	return (openat(dir, name, how));
}

int
view_cache(int mount, const char *path)
{
	char copy[LIMIT_CACHE_PATH], *at = copy, *name;
	int dir, next, made = 0;

	(void)snprintf(copy, sizeof(copy), "%s", path + strspn(path, "/"));
	if ((dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (-1);
	while ((name = strsep(&at, "/")) != NULL) {
		next = step_into(dir, name, &made);
		io_close(&dir);
		if ((dir = next) == -1)
			return (-1);
	}
	if (syscall(SYS_move_mount, mount, "", dir, "",
	    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == -1)
		made = -1;
	io_close(&dir);
	return (made);
}
