#ifndef ERRAND_CRASH_ALONE_H
#define ERRAND_CRASH_ALONE_H

#include <sys/mount.h>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

/*
 * A mount namespace from which nothing is seen outside.  In a chroot the root
 * is no mount, so what is private has to be said from the top: joining one's
 * own namespace leads there, and the way back is held open.  0, or -1 with
 * errno.
 */
static inline int
mounts_alone(void)
{
	int root, ns;

	if (unshare(CLONE_NEWNS) == -1 ||
	    (root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (-1);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
		return (close(root));
	if ((ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC)) == -1 ||
	    setns(ns, CLONE_NEWNS) == -1 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1 ||
	    fchdir(root) == -1 || chroot(".") == -1)
		return (-1);
	(void)close(ns);
	return (close(root));
}

#endif /* !ERRAND_CRASH_ALONE_H */
