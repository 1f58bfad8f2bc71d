/*
 * A tree from the store, laid out as files.  Writes below the directory it is
 * given, which nobody else knows yet, with the tenant's rights.
 */
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ahead.h"
#include "lib/content.h"
#include "lib/io.h"
#include "lib/tree.h"
#include "materialise.h"
#include "plan.h"
#include "proto/client_msg.h"
#include "storeclient.h"
#include "treeroom.h"

#define NS      INT64_C(1000000000)
#define SMALL   (64 * 1024)     /* files that are counted by their size */
#define ENTRY   4096            /* and this for each */

/*
 * The writing walk holds one directory open and moves by names and "..": nobody
 * but this keeper knows the directory yet.  What it writes was asked for some
 * way ahead (ahead.h).
 */
struct mat {
	struct plan plan;
	struct storeclient *sc;
	struct ahead *ahead;
	struct treeroom *room;
	int fd;                 /* of the file that is written */
	uint64_t blocks;        /* of it, which the room knows of */
	int dir;
	const char *at;         /* name of what is being made, for errors */
};

static int
set_time(int fd, const char *name, const struct plan_node *nd)
{
	struct timespec ts[2] = { { .tv_nsec = UTIME_OMIT } };

	ts[1].tv_sec = nd->mtime_ns / NS;
	ts[1].tv_nsec = nd->mtime_ns % NS;
	if (ts[1].tv_nsec < 0) {
		ts[1].tv_nsec += NS;
		ts[1].tv_sec--;
	}
	if (name == NULL)
		return (futimens(fd, ts));
	return (utimensat(fd, name, ts, AT_SYMLINK_NOFOLLOW));
}

/* What the file has on the disk by now; holes are nothing. */
static int
room_add(struct mat *m)
{
	struct stat st;
	uint64_t had = m->blocks;

	if (fstat(m->fd, &st) == -1)
		return (-1);
	m->blocks = (uint64_t)st.st_blocks;
	return (treeroom_add(m->room, m->blocks > had ?
	    (m->blocks - had) * 512 : 0));
}

/* A large file may be one piece of content a million times. */
static int
fetch(void *cookie, const struct obj_ref *ref, uint8_t *buf, size_t *len)
{
	struct mat *m = cookie;

	if (room_add(m) == -1)
		return (-1);
	return (ahead_fetch(m->ahead, ref, buf, len));
}

static int
make_file(struct mat *m, const struct plan_node *nd, const char *name)
{
	int small = nd->size <= SMALL, fd, rc = -1;

	/* umask is 0; a mode without writing does not matter to who made it. */
	fd = openat(m->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, nd->mode);
	if (fd == -1)
		return (-1);
	m->fd = fd;
	m->blocks = 0;
	if (content_to_fd(&nd->ref, nd->size, small ? ahead_fetch : fetch,
	    small ? (void *)m->ahead : m, fd) == 0 &&
	    (small ? treeroom_add(m->room, ENTRY + nd->size) :
	    room_add(m)) == 0)
		rc = set_time(fd, NULL, nd);
	io_close(&fd);
	return (rc);
}

static int
make_link(struct mat *m, const struct plan_node *nd, const char *name)
{

	if (symlinkat(m->plan.names + nd->target, m->dir, name) == -1)
		return (-1);
	return (set_time(m->dir, name, nd));
}

/* A name that the tree below has: overlayfs hides what has this on top. */
static int
make_gone(struct mat *m, const char *name)
{

	return (mknodat(m->dir, name, S_IFCHR, makedev(0, 0)));
}

/* Files and links of a directory; its directories empty and still ours. */
static int
fill(struct mat *m, uint32_t i)
{
	const struct plan_node *dir = &m->plan.nodes[i], *nd;
	uint32_t c;
	int rc;

	for (c = 0; c < dir->n; c++) {
		nd = &m->plan.nodes[dir->first + c];
		m->at = m->plan.names + nd->name;
		if (nd->kind == TREE_FILE) {
			if (ahead_go(m->ahead) == -1)
				return (-1);
			rc = make_file(m, nd, m->at);
		} else if (nd->kind == TREE_LINK)
			rc = make_link(m, nd, m->at);
		else if (nd->kind == PLAN_GONE)
			rc = make_gone(m, m->at);
		else
			rc = mkdirat(m->dir, m->at, 0700);
		if (rc == -1)
			return (-1);
	}
	return (0);
}

static int
go_to(struct mat *m, const char *name)
{
	int fd;

	fd = openat(m->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1)
		return (-1);
	io_close(&m->dir);
	m->dir = fd;
	return (0);
}

/* Everything is in it: now its own mode and time, then back to its parent. */
static int
finish_dir(struct mat *m, const struct plan_node *nd)
{
	int fd = m->dir, rc;

	m->at = m->plan.names + nd->name;
	if ((m->dir = openat(fd, "..", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1) {
		m->dir = fd;
		return (-1);
	}
	rc = fchmod(fd, nd->mode) == -1 ? -1 : set_time(fd, NULL, nd);
	io_close(&fd);
	return (rc);
}

static int
make_all(struct mat *m)
{
	uint32_t i = 0, next, up;

	for (;;) {
		if (fill(m, i) == -1)
			return (-1);
		next = plan_next_dir(&m->plan, i, &up);
		if (next == PLAN_NONE)
			break;
		for (; up > 0; up--) {
			if (finish_dir(m, &m->plan.nodes[i]) == -1)
				return (-1);
			i = m->plan.nodes[i].parent;
		}
		m->at = m->plan.names + m->plan.nodes[next].name;
		if (go_to(m, m->at) == -1)
			return (-1);
		i = next;
	}
	for (; i != 0; i = m->plan.nodes[i].parent) {
		if (finish_dir(m, &m->plan.nodes[i]) == -1)
			return (-1);
	}
	return (fchmod(m->dir, 0755));
}

static int
explain(const struct mat *m, struct err *err)
{
	int e = errno;
	char name[TREE_NAME_MAX * 4 + 1];

	if (e == EREMOTEIO) {
		*err = *storeclient_error(m->sc);
		return (-1);
	}
	if (e == E2BIG)
		return (err_set(err, ERR_LIMIT, "the tree has more than %u "
		    "entries", PLAN_MAX));
	if (e == EPROTO)
		return (err_set(err, ERR_DAMAGED, "an object of the tree is "
		    "malformed, or not as long as it should be"));
	if (e == ECANCELED)
		return (err_set(err, ERR_CANCELLED, "cancelled before it "
		    "started"));
	text_escape(m->at, strlen(m->at), name, sizeof(name));
	if (e == EDQUOT)
		return (err_set(err, ERR_FULL, "the submitted tree takes more "
		    "of the host's disk than it leaves to others: it stopped "
		    "at %s, of which the store may hold less, since what is "
		    "in it twice is there once", text_bytes(m->room->laid)));
	if (e == ENOSPC)
		return (err_set(err, ERR_FULL, "there is no room on the host "
		    "for the submitted tree (%s)", strerror(e)));
	return (err_set(err, ERR_IO, "the submitted tree could not be laid "
	    "out on the host: %.200s: %s", name, strerror(e)));
}

static int
lay_out(struct mat *m, int dirfd, struct err *err)
{
	int rc = -1;

	m->dir = -1;
	if ((m->ahead = ahead_new(&m->plan, m->sc)) == NULL ||
	    (m->dir = fcntl(dirfd, F_DUPFD_CLOEXEC, 0)) == -1 ||
	    (rc = make_all(m)) == -1)
		(void)explain(m, err);
	ahead_free(m->ahead);
	io_close(&m->dir);
	return (rc);
}

int
materialise(int dirfd, struct storeclient *sc, const struct obj_ref *root,
    struct treeroom *room, uint64_t *entries, struct err *err)
{
	struct mat m = { .sc = sc, .room = room, .at = "" };
	int rc;

	if (storeclient_want(sc, root) == 0 &&
	    plan_read(&m.plan, sc, root) == 0)
		rc = lay_out(&m, dirfd, err);
	else
		rc = explain(&m, err);
	*entries = m.plan.n;
	plan_done(&m.plan);
	return (rc);
}

int
materialise_plan(int dirfd, struct storeclient *sc, const struct plan *plan,
    struct treeroom *room, struct err *err)
{
	struct mat m = { .plan = *plan, .sc = sc, .room = room, .at = "" };

	return (lay_out(&m, dirfd, err));
}
