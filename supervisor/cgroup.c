/*
 * Groups of jobs from their making to their removal, in the hierarchies that
 * cgroup_find.c found.  Touches the cgroup file systems only: our own place in
 * them, our base group, and what is below it.
 */
#include <sys/queue.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup_internal.h"
#include "config.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/text.h"

#define LEAF            "supervisor"    /* where we are ourselves, on v2 */
#define RETRY_MS        50
#define RETRIES         100

/* Remove the directories.  0 when all are gone. */
static int
group_rmdir(const struct cgroups *cgs, const char *job)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < cgs->nh; i++)
		if (unlinkat(cgs->h[i].fd, job, AT_REMOVEDIR) == -1 &&
		    errno != ENOENT)
			rc = -1;
	return (rc);
}

static void
fds_close(int *fds)
{
	size_t i;

	for (i = 0; i < CG_MAX; i++)
		io_close(&fds[i]);
}

static void
fds_open(const struct cgroups *cgs, const char *job, int *fds)
{
	size_t i;

	for (i = 0; i < CG_MAX; i++)
		fds[i] = i >= cgs->nh ? -1 : openat(cgs->h[i].fd, job,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

static void
dying_arm(struct cgroups *cgs)
{
	struct timeval tv = { 0, RETRY_MS * 1000 };

	if (!TAILQ_EMPTY(&cgs->dying))
		evtimer_add(&cgs->timer, &tv);
}

/* Remove it; what is still in it is killed, and it is removed the next time. */
static int
group_end(struct cgroups *cgs, struct cgroup *cg)
{
	if (group_rmdir(cgs, cg->job) == 0)
		return (0);
	fds_open(cgs, cg->job, cg->fd);
	cg_kill(cgs, cg->fd);
	fds_close(cg->fd);
	return (group_rmdir(cgs, cg->job));
}

static void
on_timer(evutil_socket_t fd, short what, void *cookie)
{
	struct cgroups *cgs = cookie;
	struct cgroup *cg, *next;

	(void)fd;
	(void)what;
	for (cg = TAILQ_FIRST(&cgs->dying); cg != NULL; cg = next) {
		next = TAILQ_NEXT(cg, next);
		if (group_end(cgs, cg) == -1 && ++cg->tries < RETRIES)
			continue;
		if (cg->tries >= RETRIES)
			log_warnx("job %s: its cgroup stays busy", cg->job);
		TAILQ_REMOVE(&cgs->dying, cg, next);
		free(cg);
	}
	dying_arm(cgs);
}

/* What a former daemon left: kill and remove, now or by the timer. */
static void
sweep(struct cgroups *cgs, const struct hierarchy *h)
{
	struct cgroup *cg;
	struct dirent *d;
	DIR *dir;
	int fd;

	if ((fd = openat(h->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) ==
	    -1 || (dir = fdopendir(fd)) == NULL) {
		io_close(&fd);
		return;
	}
	while ((d = readdir(dir)) != NULL) {
		if (!text_job_id_valid(d->d_name) ||
		    (cg = calloc(1, sizeof(*cg))) == NULL)
			continue;
		if (h == cgs->h)
			log_info("job %s: its cgroup is left over",
			    d->d_name);
		cg->cgs = cgs;
		snprintf(cg->job, sizeof(cg->job), "%s", d->d_name);
		fds_open(cgs, cg->job, cg->fd);
		cg_kill(cgs, cg->fd);
		cgroup_free(cg);
	}
	closedir(dir);
}

/*
 * v2: a group with processes cannot give its controllers on, so we move to a
 * leaf of our own.  Pids and cpu it could give on, but then nobody could enter
 * the groups below; so this comes before anything is enabled.  Only the top of
 * all, which has no type, may have both.
 */
static int
v2_leave(int parent)
{
	char buf[32];
	int e;

	if (faccessat(parent, "cgroup.type", F_OK, 0) == -1)
		return (0);
	if (cg_read(parent, "cgroup.procs", buf, sizeof(buf)) == -1)
		return (-1);
	if (buf[0] == '\0')
		return (0);
	if (mkdirat(parent, LEAF, 0755) == -1 && errno != EEXIST)
		return (-1);
	if (cg_write(parent, LEAF "/cgroup.procs", "%d",
	    (int)getpid()) == -1 || cg_read(parent, "cgroup.procs", buf,
	    sizeof(buf)) == -1)
		goto err0;
	if (buf[0] == '\0')
		return (0);
	errno = EBUSY;          /* others are in it too */

err0:
	e = errno;
	(void)cg_write(parent, "cgroup.procs", "%d", (int)getpid());
	(void)unlinkat(parent, LEAF, AT_REMOVEDIR);
	errno = e;
	return (-1);
}

/* Have the groups below controlled.  What is not delegated is left out. */
static int
v2_enable(int parent)
{
	static const char *const names[] = { "memory", "pids", "cpu" };
	char buf[256];
	size_t i;
	int n = 0, e = 0;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (cg_write(parent, "cgroup.subtree_control", "+%s",
		    names[i]) == 0)
			n++;
		else
			e = errno;
	if (n == 0 && cg_read(parent, "cgroup.subtree_control", buf,
	    sizeof(buf)) == 0 && strstr(buf, "memory") != NULL)
		n = 1;
	errno = e;
	return (n > 0 ? 0 : -1);
}

/* Make the base group below ${path}; its descriptor, or -1. */
static int
base_make(const struct cgroups *cgs, const char *path, int v2)
{
	int parent, fd = -1;

	if ((parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (-1);
	if (v2 && (v2_leave(parent) == -1 || v2_enable(parent) == -1))
		goto done;
	if (mkdirat(parent, cgs->name, 0755) == -1 && errno != EEXIST)
		goto done;
	fd = openat(parent, cgs->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd != -1 && v2)
		(void)v2_enable(fd);
done:
	io_close(&parent);
	return (fd);
}

/* What is controlled below a base group, whose list has our words only. */
static unsigned int
v2_what(int fd)
{
	unsigned int what = CG_UNIFIED | CG_CPUACCT;
	char buf[256];

	if (cg_read(fd, "cgroup.subtree_control", buf, sizeof(buf)) == -1)
		return (what);
	what |= strstr(buf, "memory") != NULL ? CG_MEMORY : 0;
	what |= strstr(buf, "pids") != NULL ? CG_PIDS : 0;
	what |= strstr(buf, "cpu") != NULL ? CG_CPU : 0;
	return (what);
}

static void
hierarchy_try(struct cgroups *cgs, const struct cg_mount *m,
    const char *root, int v2)
{
	struct hierarchy *h = &cgs->h[cgs->nh];
	int i;

	/* Our own group first; where that is closed, the top (as root). */
	for (i = 0; i < (root == NULL ? 2 : 1); i++) {
		if (cg_path(m, root != NULL ? root : i == 0 ? NULL : "/",
		    h->parent, sizeof(h->parent)) == -1)
			continue;
		if ((h->fd = base_make(cgs, h->parent, v2)) == -1)
			continue;
		h->what = v2 ? v2_what(h->fd) : m->what;
		cgs->nh++;
		return;
	}
	snprintf(cgs->note, sizeof(cgs->note), "cgroup %s: %s; limits that "
	    "need it are not enforced (set cgroup_root to a group that is "
	    "ours)", m->point, strerror(errno));
}

/* Without a controller of its own the unified tree only helps to kill. */
static int
is_v2(const struct cg_mount *m, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (m[i].what & (CG_MEMORY | CG_PIDS | CG_CPU))
			return (0);
	return (n == 1 && m[0].what == CG_UNIFIED);
}

static size_t
mounts_read(struct cg_mount *m)
{
	uint8_t *mounts, *self;
	size_t len, n;

	if (io_file_read(AT_FDCWD, "/proc/self/mountinfo", 4 * 1024 * 1024,
	    &mounts, &len) == -1)
		return (0);
	if (io_file_read(AT_FDCWD, "/proc/self/cgroup", 65536, &self,
	    &len) == -1) {
		free(mounts);
		return (0);
	}
	n = cg_find((char *)mounts, (char *)self, m);
	free(mounts);
	free(self);
	return (n);
}

int
cgroups_check(const struct config *cfg)
{
	static struct cg_mount m[CG_MAX];
	char path[PATH_MAX];
	size_t i, n;

	if (cfg->cgroup_root == NULL)
		return (0);
	n = mounts_read(m);
	for (i = 0; i < n; i++) {
		if (!is_v2(m, n) && (m[i].what & (CG_MEMORY | CG_PIDS |
		    CG_CPU)) == 0)
			continue;
		if (cg_path(&m[i], cfg->cgroup_root, path,
		    sizeof(path)) == 0 && access(path, W_OK) == 0)
			continue;
		log_warnx("cgroup_root = %s: %s: %s; make that group, or "
		    "remove the line", cfg->cgroup_root, path,
		    strerror(errno));
		return (-1);
	}
	return (0);
}

/* Some hierarchies or controllers are ours, but maybe not all that matter. */
static void
part_note(struct cgroups *cgs)
{
	int memory = cgroups_hold(cgs, CG_MEMORY);
	int cpu = cgroups_hold(cgs, CG_CPU);

	if (!memory || !cpu)
		snprintf(cgs->note, sizeof(cgs->note), "no cgroup of ours "
		    "controls %s: such limits are not enforced", memory ?
		    "cpu" : cpu ? "memory" : "memory and cpu");
}

static void
cgroups_find(struct cgroups *cgs, const struct config *cfg)
{
	static struct cg_mount m[CG_MAX];
	size_t i, n;

	if ((n = mounts_read(m)) == 0) {
		snprintf(cgs->note, sizeof(cgs->note), "no cgroups are mounted "
		    "here: memory, pids and cpus are not limited");
		return;
	}
	cgs->v2 = is_v2(m, n);
	/*
	 * On the hybrid layout the unified tree has no controllers.  It would
	 * give kill and an event, which the death of the pid namespace gives
	 * too, and cost each job a move by us, with a grace period's wait.
	 */
	for (i = 0; i < n; i++)
		if (cgs->v2 || m[i].what != CG_UNIFIED)
			hierarchy_try(cgs, &m[i], cfg->cgroup_root, cgs->v2);
	if (cgs->nh == 0)
		cgs->v2 = 0;
	else if (cgs->note[0] == '\0')
		part_note(cgs);
	for (i = 0; i < cgs->nh; i++)
		sweep(cgs, &cgs->h[i]);
}

struct cgroups *
cgroups_open(struct event_base *base, const struct config *cfg,
    const char *tag)
{
	struct cgroups *cgs;

	if ((cgs = calloc(1, sizeof(*cgs))) == NULL)
		return (NULL);
	cgs->base = base;
	TAILQ_INIT(&cgs->dying);
	evtimer_assign(&cgs->timer, base, on_timer, cgs);
	snprintf(cgs->name, sizeof(cgs->name), "errand.%s", tag);
	cgroups_find(cgs, cfg);
	if (cgs->note[0] != '\0')
		log_info("%s", cgs->note);
	return (cgs);
}

void
cgroups_close(struct cgroups *cgs)
{
	struct cgroup *cg;
	size_t i;
	int fd;

	if (cgs == NULL)
		return;
	evtimer_del(&cgs->timer);
	while ((cg = TAILQ_FIRST(&cgs->dying)) != NULL) {
		TAILQ_REMOVE(&cgs->dying, cg, next);
		(void)group_rmdir(cgs, cg->job);
		free(cg);
	}
	for (i = 0; i < cgs->nh; i++) {
		io_close(&cgs->h[i].fd);
		fd = open(cgs->h[i].parent, O_RDONLY | O_DIRECTORY |
		    O_CLOEXEC);
		if (fd != -1)
			(void)unlinkat(fd, cgs->name, AT_REMOVEDIR);
		io_close(&fd);
	}
	free(cgs);
}

const char *
cgroups_kind(const struct cgroups *cgs)
{
	return (cgs == NULL || cgs->nh == 0 ? "none" : cgs->v2 ? "v2" : "v1");
}

const char *
cgroups_note(const struct cgroups *cgs)
{
	return (cgs->note);
}

int
cgroups_hold(const struct cgroups *cgs, unsigned int what)
{
	size_t i;

	/* On v2 every group counts it. */
	if (cgs != NULL && cgs->nh > 0 && cgs->v2 && (what & CG_CPUACCT))
		return (1);
	for (i = 0; cgs != NULL && i < cgs->nh; i++)
		if (cgs->h[i].what & what)
			return (1);
	return (0);
}

struct cgroup *
cgroup_new(struct cgroups *cgs, const char *job, const struct job_limits *l)
{
	struct cgroup *cg;
	size_t i;

	if ((cg = calloc(1, sizeof(*cg))) == NULL)
		return (NULL);
	cg->cgs = cgs;
	snprintf(cg->job, sizeof(cg->job), "%s", job);
	for (i = 0; i < CG_MAX; i++)
		cg->fd[i] = -1;
	for (i = 0; i < cgs->nh; i++)
		if (mkdirat(cgs->h[i].fd, job, 0755) == -1 && errno != EEXIST)
			goto err0;
	fds_open(cgs, job, cg->fd);
	if (cg_limits(cg, l) == -1)
		goto err0;
	return (cg);

err0:
	log_warn("job %s: cgroup", job);
	cgroup_free(cg);
	return (NULL);
}

void
cgroup_free(struct cgroup *cg)
{
	struct cgroups *cgs;

	if (cg == NULL)
		return;
	cgs = cg->cgs;
	fds_close(cg->fd);
	TAILQ_INSERT_TAIL(&cgs->dying, cg, next);
	if (!evtimer_pending(&cgs->timer, NULL))
		dying_arm(cgs);
}
