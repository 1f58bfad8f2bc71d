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
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/log.h"
#include "lib/worker_args.h"
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
	static const char *const dirs[] = { "view", "images", "work", "net",
	    "empty", "proc" };
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

/* One image's view, under its name once it is complete. */
static int
image_make(const struct source *s, int dir, const char *name, const char *path)
{
	int image = -1, view = -1, rc = -1;

	if (mkdirat(dir, name, 0755) == -1)
		return (failed(name));
	image = openat(s->host, relative(path), O_PATH | O_DIRECTORY |
	    O_NOFOLLOW | O_CLOEXEC);
	view = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (image == -1 || view == -1)
		log_warn("image %s: %s", name, path);
	else
		rc = template_image(image, s->host, view);
	io_close(&image);
	io_close(&view);
	return (rc);
}

/*
 * One that fails takes none of the others along.  What was made of it stays,
 * under a name that no image can have: mounts hang in it.
 */
static int
images_make(const struct source *s, int top, const struct worker_args *cfg)
{
	char name[IMAGE_NAME_MAX + 1], broken[24];
	const char *eq;
	size_t i;
	int dir;

	if ((dir = openat(top, "images", O_PATH | O_DIRECTORY |
	    O_CLOEXEC)) == -1)
		return (failed("images"));
	for (i = 0; i < cfg->nimages; i++) {
		eq = strchr(cfg->images[i], '=');
		(void)snprintf(name, sizeof(name), "%.*s",
		    (int)(eq - cfg->images[i]), cfg->images[i]);
		if (image_make(s, dir, name, eq + 1) == 0)
			continue;
		log_warnx("image %s: jobs cannot use it", name);
		(void)snprintf(broken, sizeof(broken), "-%zu", i);
		if (renameat(dir, name, dir, broken) == -1) {
			io_close(&dir);
			return (failed(name));
		}
	}
	io_close(&dir);
	return (0);
}

/* The mount point is the work root, as a directory that surely exists. */
static int
root_make(const struct source *s, const struct worker_args *cfg)
{
	const char *dir = cfg->dir;
	char size[16];
	const char *options[] = { "mode", "0755", "size", size, NULL };
	int fd, top;

	(void)snprintf(size, sizeof(size), "%zum", 32 * (1 + cfg->nimages));

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
	if (populate(s, top) == -1 || images_make(s, top, cfg) == -1 ||
	    fchdir(top) == -1) {
		io_close(&top);
		return (-1);
	}
	io_close(&top);
	return (0);
}

int
template_view(const struct worker_args *cfg, const char *image, char *view,
    size_t len)
{
	size_t i, n = strlen(image);

	(void)snprintf(view, len, "%s", TEMPLATE_VIEW);
	if (n == 0)
		return (0);
	(void)snprintf(view, len, "%s/%s", TEMPLATE_IMAGES, image);
	for (i = 0; i < cfg->nimages; i++) {
		if (strncmp(cfg->images[i], image, n) == 0 &&
		    cfg->images[i][n] == '=')
			return (access(view, F_OK));
	}
	return (-1);
}

int
template_build(const struct worker_args *cfg)
{
	struct mount_attr ro = { .attr_set = MOUNT_ATTR_RDONLY };
	struct source s = { -1, -1 };
	mode_t mask = umask(022);
	int rc = -1;

	if (unshare_all(cfg->rootless) == -1 ||
	    sources_open(&s, cfg->dir, cfg->rootless) == -1)
		goto out;
	if (root_make(&s, cfg) == -1)
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
