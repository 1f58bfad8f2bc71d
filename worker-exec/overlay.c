/*
 * The mount that becomes /workspace: a cached tree below, of one directory or
 * several, the job's upper
 * directory above.  Makes a detached mount, no file.
 */
#include <fcntl.h>
#include <stddef.h>

#include "mnt.h"
#include "overlay.h"

/*
 * The options are all said, since hosts change the defaults:
 *  - redirect_dir, metacopy: what is in the upper directory was written by
 *    jobs, and these would let it point into other layers.
 *  - index: would tie the upper directory to one mount.
 *  - userxattr: marks that a user namespace may write; without it a directory
 *    that exists below cannot be removed.
 *  - volatile: nothing in the upper directory outlives the job; with it,
 *    neither the job's fsync nor the unmount flush the host's file system.
 *  - uuid: nobody asks for it, and making one costs a write.  Kernels before
 *    6.6 know on and off only, and refuse what they do not know.
 */
int
overlay_mount(const char *lower, const char *upper, const char *work)
{
	const char *options[] = {
		"lowerdir", lower, "upperdir", upper, "workdir", work,
		"redirect_dir", "nofollow", "metacopy", "off", "index", "off",
		"uuid", "off", "userxattr", NULL, "?volatile", NULL, NULL,
	};

	return (mnt_new("overlay", options, 0));
}

int
overlay_plain(const char *upper)
{

	return (mnt_clone(AT_FDCWD, upper, 0));
}
