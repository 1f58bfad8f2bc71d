/*
 * What an interrupted apply left in a tree: finishes it, or takes it back.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apply_internal.h"
#include "out.h"
#include "reserved.h"

/* Is there anything to do?  The usual case costs one call. */
static int
has_stage(const char *root)
{
	struct stat st;
	int fd, rc;

	if ((fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (0);
	rc = fstatat(fd, RESERVED_APPLY, &st, AT_SYMLINK_NOFOLLOW);
	close(fd);
	return (rc == 0);
}

static int
refuse(const char *root, const char *why)
{
	out_warn("%s/" RESERVED_APPLY ": %s", root, why);
	return (EXIT_OURS);
}

/*
 * Forward if nothing stands against it, else back, else forward with what can
 * be: an edit stays in each case.
 */
static int
mend(struct exec *x, const char **how)
{
	struct exec_view v;
	int rc = EXEC_CHANGED;

	exec_look(x, &v);
	*how = "was finished";
	if (v.forward)
		rc = exec_forward(x, 0, 0);
	if (rc == EXEC_CHANGED && v.back) {
		*how = "was taken back";
		return (exec_back(x));
	}
	if (rc == EXEC_CHANGED) {
		*how = "was finished but for what was edited meanwhile";
		rc = exec_forward(x, 0, 1);
	}
	if (rc == 0)
		exec_late(x);
	return (rc);
}

static int
replay(struct stage *st, const struct journal *j, const char *root, int quiet)
{
	const char *how;
	struct exec x;
	int rc;

	exec_init(&x, st, j);
	if ((rc = mend(&x, &how)) != 0)
		out_warn("%s: an apply of job %s was interrupted here, and it "
		    "can neither be finished nor taken back now: %s: %s", root,
		    j->job, x.at != NULL ? out_escape(x.at->path,
		    x.at->path_len) : "", strerror(errno));
	else if (stage_remove(st) == -1)
		rc = refuse(root, strerror(errno));
	else if (!quiet)
		out_warn("an apply of job %s had been interrupted here; it %s",
		    j->job, how);
	exec_done(&x);
	return (rc == 0 ? 0 : EXIT_OURS);
}

/* The tree is locked. */
int
apply_recover_locked(struct stage *st, const char *root, int quiet)
{
	struct journal j = { 0 };
	int rc;

	if (stage_open(st) == -1)
		return (errno == ENOENT ? 0 : refuse(root, errno == EPERM ?
		    "an apply of another user was interrupted here; let that "
		    "user run errand in this tree, or remove it" :
		    "is in the way; remove it"));
	if ((rc = stage_read(st, &j)) == 1) {
		rc = replay(st, &j, root, quiet);
		journal_done(&j);
		return (rc);
	}
	if (rc == -1 && st->lone)
		return (refuse(root, errno == EEXIST ? "is in the way: there "
		    "is no journal for it, so look at what it is, and remove "
		    "it" : strerror(errno)));
	if (rc == -1)
		return (refuse(root, errno == EACCES || errno == EPROTO ?
		    "has a journal that this user did not write for this tree; "
		    "look at what it is, and remove it" : strerror(errno)));
	/* Nothing in the tree was touched yet. */
	if (!stage_is_ours(st))
		return (refuse(root, "is not what errand makes; the name is "
		    "reserved, so move it elsewhere"));
	return (stage_remove(st) == 0 ? 0 : refuse(root, strerror(errno)));
}

int
apply_recover(const char *root, int quiet)
{
	struct stage st = { .root = -1, .dir = -1 };
	int rc;

	if (!has_stage(root))
		return (0);
	if (stage_lock(&st, root, quiet) == -1) {
		out_warn("%s: cannot be locked: %s", root, strerror(errno));
		return (EXIT_OURS);
	}
	rc = apply_recover_locked(&st, root, quiet);
	stage_unlock(&st);
	return (rc);
}
