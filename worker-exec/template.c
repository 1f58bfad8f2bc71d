/*
 * The small mount namespace that all sandboxes are copied from, made once at
 * start.  Needs the host's rights and runs before they are dropped.  A job's
 * own copy of it is made by view.c.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/log.h"
#include "mnt.h"
#include "ns.h"
#include "template.h"
#include "template_internal.h"

/* An ordinary user becomes this in the namespace that holds the template. */
#define OUTER_ID        1000

/*
 * Where things come from, as descriptors in the namespace that is taken
 * apart: paths mean something else half-way through.
 */
struct source {
	int host;               /* what "/" was when we were started */
	int work;               /* the work root, mounted nowhere yet */
};

static int
failed(const char *what)
{

	log_warn("the mounts for sandboxes: %s", what);
	return (-1);
}

/* The parts of the host's root that are ours to name, even in a chroot. */
static const char *
relative(const char *path)
{

	path += strspn(path, "/");
	return (*path == '\0' ? "." : path);
}

/*
 * In a chroot nobody may make a user namespace, root included.  Entering our
 * own mount namespace once more takes us to its true root; what we had for a
 * root stays reachable as a descriptor.  Safe: the caller is root, and ends up
 * in the template's root, which holds less than the chroot did.
 */
static int
leave_chroot(void)
{
	int ns;

	if ((ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC)) == -1) {
		log_warn("/proc is needed: mount it where errandd runs");
		return (-1);
	}
	if (setns(ns, CLONE_NEWNS) == -1) {
		io_close(&ns);
		return (failed("leaving the chroot"));
	}
	io_close(&ns);
	return (0);
}

static int
unshare_all(int rootless)
{
	unsigned int uid = geteuid(), gid = getegid();
	char why[512];

	if (unshare(CLONE_NEWNS | (rootless ? CLONE_NEWUSER : 0)) == -1) {
		if (rootless && ns_trial(why, sizeof(why)) == -1) {
			log_warnx("%s", why);
			return (-1);
		}
		return (failed("a mount namespace"));
	}
	if (rootless && ns_map_self(OUTER_ID, uid, gid) == -1)
		return (failed("the ids of the user namespace"));
	return (0);
}

static int
sources_open(struct source *s, const char *dir, int rootless)
{

	/* After unshare: descriptors belong to the namespace they are of. */
	if ((s->host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (failed("the root directory"));
	if (!rootless && leave_chroot() == -1)
		return (-1);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)
		return (failed("keeping mounts to ourselves"));
	if ((s->work = mnt_clone(s->host, relative(dir), 0)) == -1) {
		log_warn("work root %s", dir);
		return (-1);
	}
	return (0);
}

/* The directories of the new root, and the host's parts in them. */
static int
populate(const struct source *s, int top)
{
	static const char *const dirs[] = { "view", "work", "net", "empty",
	    "proc" };
	int view = -1, net = -1, rc = -1;
	size_t i;

	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (mkdirat(top, dirs[i], 0755) == -1)
			return (failed(dirs[i]));
	}
	if (mnt_attach(s->work, top, "work") == -1)
		return (failed("the work root"));
	/* Whole and unmasked, or no sandbox may mount a /proc of its own. */
	if (mnt_bind(s->host, "proc", top, "proc", MNT_REC | MNT_NOEXEC) == -1)
		return (failed("/proc"));
	view = openat(top, "view", O_PATH | O_DIRECTORY | O_CLOEXEC);
	net = openat(top, "net", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (view != -1 && net != -1 && template_fill(s->host, view) == 0)
		rc = template_net(s->host, net);
	io_close(&view);
	io_close(&net);
	return (rc);
}

/* The mount point is the work root, as a directory that surely exists. */
static int
root_make(const struct source *s, const char *dir)
{
	static const char *const options[] = { "mode", "0755", "size", "32m",
	    NULL };
	int fd, top;

	if ((fd = mnt_new("tmpfs", options, 0)) == -1)
		return (failed("a tmpfs"));
	if (mnt_attach(fd, s->host, relative(dir)) == -1) {
		io_close(&fd);
		return (failed("mounting the tmpfs"));
	}
	io_close(&fd);
	top = openat(s->host, relative(dir), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top == -1)
		return (failed("the tmpfs"));
	if (populate(s, top) == -1 || fchdir(top) == -1) {
		io_close(&top);
		return (-1);
	}
	io_close(&top);
	return (0);
}

int
template_build(const char *dir, int rootless)
{
	struct mount_attr ro = { .attr_set = MOUNT_ATTR_RDONLY };
	struct source s = { -1, -1 };
	mode_t mask = umask(022);
	int rc = -1;

	if (unshare_all(rootless) == -1 ||
	    sources_open(&s, dir, rootless) == -1)
		goto out;
	if (root_make(&s, dir) == -1)
		goto out;
	if (mnt_pivot(".") == -1) {
		(void)failed("changing the root");
		goto out;
	}
	if (syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &ro,
	    sizeof(ro)) == -1) {
		(void)failed("making the root read-only");
		goto out;
	}
	rc = 0;
out:
	io_close(&s.host);
	io_close(&s.work);
	(void)umask(mask);
	return (rc);
}
