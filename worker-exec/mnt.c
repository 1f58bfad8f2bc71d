/*
 * The mount system calls: what they touch is the mount namespace that we are
 * in.  What is mounted where is decided by template*.c, view.c and overlay.c.
 */
#include <sys/mount.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "lib/io.h"
#include "mnt.h"

static uint64_t
attrs(int flags)
{
	uint64_t a = MOUNT_ATTR_NOSUID;

	if (flags & MNT_RO)
		a |= MOUNT_ATTR_RDONLY;
	if ((flags & MNT_DEV) == 0)
		a |= MOUNT_ATTR_NODEV;
	if (flags & MNT_NOEXEC)
		a |= MOUNT_ATTR_NOEXEC;
	return (a);
}

int
mnt_clone(int dir, const char *path, int flags)
{
	struct mount_attr attr = { .attr_set = attrs(flags) };
	unsigned int rec = (flags & MNT_REC) ? AT_RECURSIVE : 0;
	unsigned int last = (flags & MNT_NOFOLLOW) ? AT_SYMLINK_NOFOLLOW : 0;
	int fd;

	if ((fd = (int)syscall(SYS_open_tree, dir, path,
	    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | rec | last)) == -1)
		goto err0;
	if (syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | rec, &attr,
	    sizeof(attr)) == -1)
		goto err1;
	return (fd);

err1:
	io_close(&fd);
err0:
	return (-1);
}

int
mnt_attach(int fd, int dir, const char *path)
{

	return ((int)syscall(SYS_move_mount, fd, "", dir, path,
	    MOVE_MOUNT_F_EMPTY_PATH));
}

int
mnt_bind(int fromdir, const char *from, int todir, const char *to, int flags)
{
	int fd, rc;

	if ((fd = mnt_clone(fromdir, from, flags)) == -1)
		return (-1);
	rc = mnt_attach(fd, todir, to);
	io_close(&fd);
	return (rc);
}

static int
configure(int fs, const char *key, const char *value)
{
	int maybe = key[0] == '?';
	long rc;

	rc = syscall(SYS_fsconfig, fs, value == NULL ? FSCONFIG_SET_FLAG :
	    FSCONFIG_SET_STRING, key + maybe, value, 0);
	return (rc == -1 && !(maybe && errno == EINVAL) ? -1 : 0);
}

int
mnt_new(const char *type, const char *const *options, int flags)
{
	int fs, fd;

	if ((fs = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC)) == -1)
		goto err0;
	for (; options != NULL && options[0] != NULL; options += 2) {
		if (configure(fs, options[0], options[1]) == -1)
			goto err1;
	}
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL,
	    0) == -1)
		goto err1;
	if ((fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
	    (unsigned int)attrs(flags))) == -1)
		goto err1;
	io_close(&fs);
	return (fd);

err1:
	io_close(&fs);
err0:
	return (-1);
}

/*
 * With both arguments the same, the old root ends up on top of the new one,
 * and no directory is needed to put it.
 */
int
mnt_pivot(const char *dir)
{

	if (chdir(dir) == -1 || syscall(SYS_pivot_root, ".", ".") == -1)
		return (-1);
	if (umount2(".", MNT_DETACH) == -1)
		return (-1);
	return (chdir("/"));
}
