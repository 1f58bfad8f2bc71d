/*
 * A job's caches, from its spec to what is saved of them.  Touches cN/ where
 * the job's data is and caches/ in the tenant's work directory, with the
 * tenant's rights.  What is saved is made by cache_merge.c and kept by
 * lib/cachedir*.c.
 */
#include <sys/stat.h>
#include <sys/vfs.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache.h"
#include "cache_merge.h"
#include "init.h"
#include "keeper_internal.h"
#include "lib/cachedir.h"
#include "lib/crash.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/text.h"
#include "overlay.h"
#include "proto/client_msg.h"
#include "template.h"

#define WORKSPACE       "/workspace/"
#define NONE            "none"          /* what is below with nothing saved */

struct cache {
	struct cache_spec spec;
	int saved;              /* the saved state, locked, or -1 */
	int made;               /* directories on the way to it */
	uint8_t mounted;
	uint8_t sealed;         /* next is whole */
	struct cachedir_new next;
};

struct caches {
	char project[CACHEDIR_NAME + 1];
	int dir;                /* of the tenant's caches, or -1 */
	size_t n;
	struct cache v[LIMIT_CACHES];
};

static void __attribute__((format(printf, 2, 3)))
note(struct cache_use *u, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(u->note, sizeof(u->note), fmt, ap);
	va_end(ap);
}

int
caches_new(struct keeper *k, const struct job_spec *spec)
{
	struct caches *c;
	size_t i;

	if (spec->ncaches == 0)
		return (0);
	if ((c = calloc(1, sizeof(*c))) == NULL)
		return (keeper_fault_step(k, "the caches", ENOMEM));
	c->dir = -1;
	c->n = spec->ncaches;
	(void)snprintf(c->project, sizeof(c->project), "%s",
	    spec->project == NULL ? "" : spec->project);
	k->result.ncaches = (uint32_t)c->n;
	for (i = 0; i < c->n; i++) {
		c->v[i].spec = spec->caches[i];
		c->v[i].saved = c->v[i].next.dir = -1;
		memcpy(k->result.caches[i].name, spec->caches[i].name,
		    sizeof(k->result.caches[i].name));
	}
	k->caches = c;
	return (0);
}

/* What it begins with.  Nothing that can be found there fails the job. */
static void
find(struct keeper *k, struct cache *c, struct cache_use *u)
{
	struct cachedir_mark m;

	c->saved = cachedir_find(k->caches->dir, k->caches->project,
	    c->spec.name, &m);
	if (c->saved != -1) {
		u->restored = 1;
		u->bytes = m.bytes;
	} else if (errno != ENOENT) {
		note(u, "what was saved of it is damaged; it began empty");
		log_warnx("job %s: cache %s: what was saved of it is damaged",
		    keeper_name(k), c->spec.name);
	}
}

/* Its directories, where the job's data is: cN with upper and work. */
static int
dirs_make(struct keeper *k, size_t i)
{
	char name[24];
	int dir, rc;

	(void)snprintf(name, sizeof(name), "c%zu", i);
	if (mkdirat(k->data, name, 0700) == -1 ||
	    (dir = openat(k->data, name, O_RDONLY | O_DIRECTORY |
	    O_NOFOLLOW | O_CLOEXEC)) == -1)
		return (-1);
	rc = mkdirat(dir, "upper", 0755) == -1 ||
	    mkdirat(dir, "work", 0700) == -1 ? -1 : 0;
	io_close(&dir);
	return (rc);
}

/* Its top has the mode that the job which saved it gave it. */
static void
top_mode(struct keeper *k, const struct cache *c, size_t i)
{
	char upper[32];
	struct stat st;

	(void)snprintf(upper, sizeof(upper), "c%zu/upper", i);
	if (c->saved != -1 &&
	    fstatat(c->saved, "tree", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    fchmodat(k->data, upper, st.st_mode & 07777, 0) == -1)
		log_warn("job %s: cache %s: its mode", keeper_name(k),
		    c->spec.name);
}

/*
 * The lower directory is named from where it is, so that nobody can have put
 * another one there since it was locked.
 */
static int
overlay_make(struct keeper *k, const struct cache *c, size_t i)
{
	char upper[128], work[128], at[96];
	int fd = -1, lower = c->saved == -1 ? k->jobdir : c->saved;

	(void)snprintf(at, sizeof(at), TEMPLATE_WORK "/%" PRIu32
	    "/jobs/%s/%sc%zu", k->prep->host_uid, k->prep->id,
	    k->on_disk ? "disk/" : "", i);
	(void)snprintf(upper, sizeof(upper), "%s/upper", at);
	(void)snprintf(work, sizeof(work), "%s/work", at);
	if (fchdir(lower) == 0)
		fd = overlay_mount(c->saved == -1 ? NONE : "tree", upper,
		    work);
	if (fd == -1)
		(void)keeper_fault_step(k, "the overlay of a cache", errno);
	if (fchdir(k->tenant) == -1) {
		io_close(&fd);
		return (keeper_fault_step(k, "the tenant's work directory",
		    errno));
	}
	return (fd);
}

static int
in_the_way(struct keeper *k, const struct cache *c, int e)
{
	char path[LIMIT_CACHE_PATH * 2];
	struct err err;

	if (e != ENOTDIR && e != ENOENT && e != ELOOP)
		return (keeper_fault_step(k, "mounting a cache", e));
	memset(&err, 0, sizeof(err));
	text_escape(c->spec.path, strlen(c->spec.path), path, sizeof(path));
	k->result.exit_code = 120;
	(void)err_set(&err, ERR_INVALID, "the cache %s cannot be at %.255s: a "
	    "file or a symbolic link is in its place or on the way there",
	    c->spec.name, path);
	return (keeper_fault(k, &err));
}

/* Have pid 1 put it in its place. */
static int
hand_over(struct keeper *k, struct cache *c, int fd)
{
	struct init_msg m = { .op = INIT_CACHE };

	memcpy(m.path, c->spec.path, sizeof(m.path));
	k->cached = 0;
	keeper_tell_init(k, &m, &fd, 1);
	if (keeper_await(k, &k->cached) == -1)
		return (-1);
	if (k->cache_at < 0)
		return (in_the_way(k, c, -k->cache_at));
	c->made = k->cache_at;
	return (0);
}

static int
mount_one(struct keeper *k, size_t i)
{
	struct cache *c = &k->caches->v[i];
	int fd, rc;

	find(k, c, &k->result.caches[i]);
	if (dirs_make(k, i) == -1)
		return (keeper_fault_step(k, "the directories of a cache",
		    errno));
	top_mode(k, c, i);
	if ((fd = overlay_make(k, c, i)) == -1)
		return (-1);
	c->mounted = 1;
	rc = hand_over(k, c, fd);
	io_close(&fd);
	return (rc);
}

int
caches_mount(struct keeper *k)
{
	struct caches *c = k->caches;
	size_t i;

	if (c == NULL)
		return (0);
	if ((c->dir = cachedir_open(k->tenant, 1)) == -1 ||
	    mkdirat(k->jobdir, NONE, 0700) == -1)
		return (keeper_fault_step(k, "the tenant's caches", errno));
	for (i = 0; i < c->n; i++)
		if (mount_one(k, i) == -1)
			return (-1);
	return (0);
}

/* The directory that holds the last part of a path below ${dir}, which is cut
 * off it; never through a link. */
static int
parent_open(int dir, char *path, const char **last)
{
	char *at = path, *name = strsep(&at, "/");
	int next, fd;

	fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (; fd != -1 && at != NULL; name = strsep(&at, "/")) {
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
		io_close(&fd);
		fd = next;
	}
	*last = name;
	return (fd);
}

/*
 * Take away what the job does not need: the empty directories that it was
 * mounted on.  Those that are not empty, or are not there any more, are the
 * job's now.
 */
static void
unmake(int upper, const struct cache *c)
{
	char path[LIMIT_CACHE_PATH], copy[LIMIT_CACHE_PATH], *slash;
	const char *last;
	int made, dir, rc;

	if (strncmp(c->spec.path, WORKSPACE, sizeof(WORKSPACE) - 1) != 0)
		return;
	(void)snprintf(path, sizeof(path), "%s", c->spec.path +
	    sizeof(WORKSPACE) - 1);
	for (made = c->made; made > 0; made--) {
		memcpy(copy, path, sizeof(copy));
		if ((dir = parent_open(upper, copy, &last)) == -1)
			return;
		rc = unlinkat(dir, last, AT_REMOVEDIR);
		io_close(&dir);
		if (rc == -1 || (slash = strrchr(path, '/')) == NULL)
			return;
		*slash = '\0';
	}
}

void
caches_unmake(struct keeper *k)
{
	size_t i;
	int upper;

	if (k->caches == NULL || k->data == -1)
		return;
	if ((upper = openat(k->data, "upper", O_RDONLY | O_DIRECTORY |
	    O_NOFOLLOW | O_CLOEXEC)) == -1)
		return;
	/* The last first: a way that two share was made for the first. */
	for (i = k->caches->n; i > 0; i--)
		unmake(upper, &k->caches->v[i - 1]);
	io_close(&upper);
}

/* Of a disk of its own; then some of what it wrote may be cut short, whether it
 * saw that or not. */
static int
disk_is_full(const struct keeper *k)
{
	struct stat ours, host;
	struct statfs sfs;

	return (fstat(k->data, &ours) == 0 && fstat(k->tenant, &host) == 0 &&
	    ours.st_dev != host.st_dev && fstatfs(k->data, &sfs) == 0 &&
	    (sfs.f_bavail * (uint64_t)sfs.f_bsize <= JOB_DISK_SLACK ||
	    sfs.f_ffree <= JOB_DISK_SLACK_INODES));
}

/* Why nothing of this job is saved, or NULL. */
static const char *
unsaved(const struct keeper *k, char *buf, size_t size)
{
	const struct job_result *r = &k->result;

	if (!r->ran)
		return ("the command did not run");
	if (r->signal != 0)
		(void)snprintf(buf, size, "the command died of signal %u",
		    r->signal);
	else if (r->exit_code != 0)
		(void)snprintf(buf, size, "the command exited with %u",
		    r->exit_code);
	else if (r->limit != JOB_LIMIT_NONE)
		(void)snprintf(buf, size, "the job reached a limit: %s",
		    job_limit_name(r->limit));
	else if (disk_is_full(k))
		return ("its disk was full at the end (--disk)");
	else if (k->told_to_end)
		return ("the command was told to end");
	else if (r->err.code != ERR_NONE)
		return ("not all went well with the job");
	else
		return (NULL);
	return (buf);
}

static int
is_empty(int dir)
{
	int fd, n = 0;
	DIR *d;

	if ((fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (0);
	if ((d = fdopendir(fd)) == NULL) {
		io_close(&fd);
		return (0);
	}
	while (n < 3 && readdir(d) != NULL)
		n++;
	closedir(d);
	return (n < 3);
}

/* Has the job written nothing, and left its top as it was? */
static int
unchanged(int upper, int low)
{
	struct stat a, b;

	if (!is_empty(upper))
		return (0);
	return (low == -1 || (fstat(upper, &a) == 0 && fstat(low, &b) == 0 &&
	    a.st_mode == b.st_mode));
}

static int
failed(struct cache_use *u)
{
	int e = errno;

	if (e == EDQUOT)
		note(u, "the caches that jobs use now leave no room for it "
		    "here");
	else if (e == ENOSPC)
		note(u, "there is no room on the host");
	else
		note(u, "it could not be kept: %s", strerror(e));
	return (-1);
}

/* Make the next state.  Takes both descriptors. */
static int
make(struct keeper *k, struct cache *c, struct cache_use *u, int upper,
    int low)
{
	struct cachedir_mark m = { .saved_us = io_real_us() };
	struct cache_size size;
	char why[sizeof(u->note)];

	if (cachedir_begin(k->caches->dir, k->caches->project, c->spec.name,
	    k->prep->id, &c->next) == -1) {
		io_close(&upper);
		io_close(&low);
		return (failed(u));
	}
	if (cache_merge(upper, low, c->next.dir, k->run->cache_bytes, &size,
	    why, sizeof(why)) == -1) {
		note(u, "%s", why);
		return (-1);
	}
	CRASH_POINT("cache-merged");
	(void)snprintf(m.project, sizeof(m.project), "%s",
	    k->caches->project);
	(void)snprintf(m.name, sizeof(m.name), "%s", c->spec.name);
	m.bytes = size.bytes;
	m.entries = size.entries;
	if (cachedir_seal(&c->next, &m) == -1)
		return (failed(u));
	c->sealed = 1;
	return (0);
}

/* Put it in the place of the former, which is not in use for our sake. */
static void
publish(struct keeper *k, struct cache *c, struct cache_use *u)
{
	const uint64_t total = k->run->cache_total;

	io_close(&c->saved);
	if (cachedir_publish(&c->next, total == 0 ? INT64_MAX : total) == -1) {
		(void)failed(u);
		return;
	}
	u->saved = 1;
	u->bytes = c->next.bytes;
}

static void
make_one(struct keeper *k, size_t i)
{
	struct cache *c = &k->caches->v[i];
	struct cache_use *u = &k->result.caches[i];
	int upper, low = -1;
	char name[32];

	(void)snprintf(name, sizeof(name), "c%zu/upper", i);
	upper = openat(k->data, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (upper != -1 && c->saved != -1 && (low = openat(c->saved, "tree",
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) == -1)
		io_close(&upper);
	if (upper == -1) {
		(void)failed(u);
		return;
	}
	if (!unchanged(upper, low)) {
		(void)make(k, c, u, upper, low);
		return;
	}
	u->unchanged = 1;
	io_close(&upper);
	io_close(&low);
}

/* All that are made are flushed at once. */
static void
publish_all(struct keeper *k)
{
	struct caches *c = k->caches;
	struct cache_use *u;
	int flushed = 0;
	size_t i;

	for (i = 0; i < c->n; i++) {
		u = &k->result.caches[i];
		if (c->v[i].sealed) {
			if (!flushed && cachedir_flush(c->dir) == -1)
				(void)failed(u);
			else {
				flushed = 1;
				publish(k, &c->v[i], u);
			}
		}
		if (!u->saved && !u->unchanged)
			log_info("job %s: cache %s was not saved: %s",
			    keeper_name(k), c->v[i].spec.name, u->note);
	}
}

void
caches_save(struct keeper *k)
{
	char buf[64];
	const char *why;
	size_t i;

	if (k->caches == NULL)
		return;
	io_close(&k->viewfd);           /* they are unmounted */
	why = unsaved(k, buf, sizeof(buf));
	for (i = 0; i < k->caches->n; i++) {
		if (why == NULL && k->caches->v[i].mounted)
			make_one(k, i);
		else
			note(&k->result.caches[i], "%s", why == NULL ?
			    "it was not there" : why);
	}
	if (why == NULL)
		publish_all(k);
}

void
caches_free(struct keeper *k)
{
	struct caches *c = k->caches;
	size_t i;

	if (c == NULL)
		return;
	for (i = 0; i < c->n; i++)
		io_close(&c->v[i].saved);
	for (i = 0; i < c->n; i++)
		cachedir_abort(&c->v[i].next);
	if (c->dir != -1)
		cachedir_sweep(c->dir);
	io_close(&c->dir);
	free(c);
	k->caches = NULL;
}
