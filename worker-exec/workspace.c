/*
 * The directories of one sandbox on the host and the mount made of them.
 * Touches jobs/ in the tenant's work directory, with its rights.  The tree
 * below is treecache.c's, the mount itself overlay.c's.
 */
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "keeper_internal.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/sandbox.h"
#include "lib/worker_args.h"
#include "ns.h"
#include "overlay.h"
#include "template.h"

#define YOUNG_S 60      /* a directory may not be locked yet */

static int
open_dir(int dir, const char *name)
{

	return (openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC));
}

/* The tenant's directory is errandd's to make; as an ordinary user, ours. */
static int
tenant_open(struct keeper *k)
{
	char path[64];

	(void)snprintf(path, sizeof(path), TEMPLATE_WORK "/%" PRIu32,
	    k->prep->host_uid);
	if (k->cfg->rootless && mkdir(path, 0700) == -1 && errno != EEXIST)
		return (keeper_fault_step(k, "a work directory", errno));
	if ((k->tenant = open_dir(AT_FDCWD, path)) == -1 ||
	    fchdir(k->tenant) == -1)
		return (keeper_fault_step(k, "the tenant's work directory",
		    errno));
	return (0);
}

/*
 * jobs/ID, named after the sandbox, locked for as long as we live: see
 * workspace_remove.
 */
static int
jobdir_make(struct keeper *k)
{
	char path[64];

	if (mkdirat(k->tenant, "jobs", 0700) == -1 && errno != EEXIST)
		return (keeper_fault_step(k, "a work directory", errno));
	(void)snprintf(path, sizeof(path), "jobs/%s", k->prep->id);
	if (mkdirat(k->tenant, path, 0700) == -1 ||
	    (k->jobdir = open_dir(k->tenant, path)) == -1 ||
	    flock(k->jobdir, LOCK_EX | LOCK_NB) == -1)
		return (keeper_fault_step(k, "the job's work directory",
		    errno));
	return (0);
}

/*
 * What the job writes is in a directory of its own, or in a file system of its
 * own that errandd made as large as the job's limit.
 */
static int
data_make(struct keeper *k)
{

	k->on_disk = k->prep->disk != -1;
	if (k->on_disk && (mkdirat(k->jobdir, "disk", 0700) == -1 ||
	    move_mount(k->prep->disk, "", k->jobdir, "disk",
	    MOVE_MOUNT_F_EMPTY_PATH) == -1))
		return (keeper_fault_step(k, "the job's disk", errno));
	if ((k->data = open_dir(k->jobdir, k->on_disk ? "disk" : ".")) == -1 ||
	    mkdirat(k->data, "upper", 0755) == -1)
		return (keeper_fault_step(k, "the job's work directory",
		    errno));
	return (0);
}

/*
 * Links in the job's directory to the directories that make up its tree, the
 * topmost first.  The list of their names is what the mount is told, and all
 * of that has to fit in 255 bytes.
 */
static int
layers_name(struct keeper *k, char *list, size_t size)
{
	char target[128], name[24];
	size_t i, at = 0;

	for (i = 0; i < k->tree.n; i++) {
		(void)snprintf(name, sizeof(name), "l%zu", i);
		(void)snprintf(target, sizeof(target), "../../trees/%s/tree",
		    k->tree.root[i]);
		if (symlinkat(target, k->jobdir, name) == -1)
			return (-1);
		at += (size_t)snprintf(list + at, size - at, "%s%s",
		    i == 0 ? "" : ":", name);
	}
	return (0);
}

/* The right that it takes is in force for just this: see ns.h. */
static int
overlay_bounded(const char *lower, const char *upper, const char *work)
{
	int fd;

	if (sandbox_caps(NS_KEEPER_CAPS | NS_OVERLAY_CAP) == -1)
		return (-1);
	fd = overlay_mount(lower, upper, work);
	if (sandbox_caps(NS_KEEPER_CAPS) == -1)
		io_close(&fd);
	return (fd);
}

/* Names are relative to the job's directory for the moment. */
static int
overlay_make(struct keeper *k)
{
	char lower[24 * TREECACHE_LAYERS];
	int fd = -1;

	if (mkdirat(k->data, "work", 0700) == 0 &&
	    layers_name(k, lower, sizeof(lower)) == 0 &&
	    fchdir(k->jobdir) == 0)
		fd = (k->cfg->bounded ? overlay_bounded :
		    overlay_mount)(lower, k->on_disk ? "disk/upper" : "upper",
		    k->on_disk ? "disk/work" : "work");
	if (fd == -1)
		(void)keeper_fault_step(k, "the overlay of the workspace",
		    errno);
	if (fchdir(k->tenant) == -1) {
		io_close(&fd);
		return (keeper_fault_step(k, "the tenant's work directory",
		    errno));
	}
	return (fd);
}

int
workspace_make(struct keeper *k)
{
	char upper[64];
	int fd;

	if (tenant_open(k) == -1 || jobdir_make(k) == -1 ||
	    data_make(k) == -1)
		return (-1);
	(void)snprintf(upper, sizeof(upper), "jobs/%s/%supper", k->prep->id,
	    k->on_disk ? "disk/" : "");
	if ((fd = overlay_plain(upper)) == -1)
		return (keeper_fault_step(k, "the workspace", errno));
	return (fd);
}

int
workspace_tree(struct keeper *k)
{
	struct err err;

	memset(&err, 0, sizeof(err));
	if (treecache_get(k->tenant, k->sc, &k->run->root, &k->tree,
	    &err) == -1)
		return (keeper_fault(k, &err));
	return (overlay_make(k));
}

/* A job's directory that nobody holds a lock on has lost its keeper. */
static void
sweep_one(int jobs, const char *name)
{
	struct stat st;
	int dir;

	if (fstatat(jobs, name, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
	    st.st_ctim.tv_sec + YOUNG_S > time(NULL) ||
	    (dir = open_dir(jobs, name)) == -1)
		return;
	if (flock(dir, LOCK_EX | LOCK_NB) == 0 &&
	    io_remove_tree(jobs, name) == -1)
		log_warn("the work directory of a lost job, %s", name);
	io_close(&dir);
}

static void
sweep(int jobs)
{
	struct dirent *e;
	DIR *d;
	int fd;

	if ((fd = open_dir(jobs, ".")) == -1)
		return;
	if ((d = fdopendir(fd)) == NULL) {
		io_close(&fd);
		return;
	}
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] != '.')
			sweep_one(jobs, e->d_name);
	}
	closedir(d);
}

int
workspace_soft(const struct keeper *k)
{

	return (k->run->limits.disk != 0 && k->prep->disk == -1);
}

/*
 * What holds the disk is the workspace and our descriptor of it, so that it
 * goes with the job and nothing in it need be removed.
 */
void
workspace_detach(struct keeper *k)
{
	char path[64];

	if (!k->on_disk || k->jobdir == -1 || fchdir(k->tenant) == -1)
		return;
	(void)snprintf(path, sizeof(path), "jobs/%s/disk", k->prep->id);
	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == -1)
		log_warn("job %s: its disk", keeper_name(k));
	k->on_disk = 0;
}

void
workspace_remove(struct keeper *k)
{
	int jobs;

	io_close(&k->viewfd);           /* the workspace is unmounted */
	io_close(&k->data);
	if (k->tenant == -1 || (jobs = open_dir(k->tenant, "jobs")) == -1)
		return;
	workspace_detach(k);
	if (k->jobdir != -1 && io_remove_tree(jobs, k->prep->id) == -1)
		log_warn("job %s: its work directory", keeper_name(k));
	sweep(jobs);
	io_close(&jobs);
	io_close(&k->jobdir);
	io_close(&k->tree.lock);
}
