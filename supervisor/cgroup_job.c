/*
 * One job's groups while it runs: limits, members, usage, kill.  Reads and
 * writes files of groups that cgroup.c opened, and signals the processes in
 * them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup_internal.h"
#include "lib/io.h"
#include "lib/log.h"

#define CPU_PERIOD      100000
#define PIDS_OURS       1       /* pid 1 of the sandbox */

int
cg_write(int dir, const char *name, const char *fmt, ...)
{
	char buf[64];
	va_list ap;
	ssize_t n;
	int fd, len;

	va_start(ap, fmt);
	len = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	if ((fd = openat(dir, name, O_WRONLY | O_CLOEXEC)) == -1)
		return (-1);
	n = write(fd, buf, (size_t)len);
	io_close(&fd);
	return (n == len ? 0 : -1);
}

int
cg_read(int dir, const char *name, char *buf, size_t size)
{
	ssize_t n;
	int fd;

	if ((fd = openat(dir, name, O_RDONLY | O_CLOEXEC)) == -1)
		return (-1);
	n = read(fd, buf, size - 1);
	io_close(&fd);
	if (n < 0)
		return (-1);
	buf[n] = '\0';
	return (0);
}

static int
file_number(int dir, const char *name, uint64_t *v)
{
	char buf[64], *end;
	uint64_t n;

	if (cg_read(dir, name, buf, sizeof(buf)) == -1)
		return (-1);
	n = strtoull(buf, &end, 10);
	if (end == buf)
		return (-1);
	*v = n;
	return (0);
}

/* The number after "key " at the start of a line. */
static int
file_key(int dir, const char *name, const char *key, uint64_t *v)
{
	char buf[4096], *p;
	size_t n = strlen(key);

	if (cg_read(dir, name, buf, sizeof(buf)) == -1)
		return (-1);
	for (p = buf; p != NULL; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
		if (strncmp(p, key, n) == 0 && p[n] == ' ') {
			*v = strtoull(p + n, NULL, 10);
			return (0);
		}
	return (-1);
}

static const struct hierarchy *
hierarchy_of(const struct cgroups *cgs, unsigned int what, size_t *i)
{
	for (*i = 0; *i < cgs->nh; (*i)++)
		if (cgs->h[*i].what & what)
			return (&cgs->h[*i]);
	return (NULL);
}

/* The job's group where this is controlled, or -1. */
static int
fd_of(const struct cgroup *cg, unsigned int what)
{
	size_t i;

	return (hierarchy_of(cg->cgs, what, &i) == NULL ? -1 : cg->fd[i]);
}

/* Everybody in a group, once. */
static int
procs_kill(int dir)
{
	char buf[16384], *p, *end;
	int n = 0;
	long pid;

	if (cg_read(dir, "cgroup.procs", buf, sizeof(buf)) == -1)
		return (0);
	for (p = buf; (pid = strtol(p, &end, 10)) > 0 && end != p; p = end) {
		(void)kill((pid_t)pid, SIGKILL);
		n++;
	}
	return (n);
}

/*
 * cgroup.kill where the kernel has it.  Else, on v1, freeze first: then a pid
 * that was read cannot be another process when the signal goes out, and
 * nobody forks away from it.
 */
void
cg_kill(const struct cgroups *cgs, const int *fds)
{
	const struct hierarchy *u, *f;
	size_t i, k;

	u = hierarchy_of(cgs, CG_UNIFIED, &i);
	if (u != NULL && fds[i] != -1 &&
	    cg_write(fds[i], "cgroup.kill", "1") == 0)
		return;
	if ((f = hierarchy_of(cgs, CG_FREEZER, &k)) != NULL && fds[k] != -1)
		(void)cg_write(fds[k], "freezer.state", "FROZEN");
	for (i = 0; i < cgs->nh; i++)
		if (fds[i] != -1)
			(void)procs_kill(fds[i]);
	if (f != NULL && fds[k] != -1)
		(void)cg_write(fds[k], "freezer.state", "THAWED");
}

static int
group_empty(const struct cgroups *cgs, const int *fds)
{
	uint64_t populated;
	char c[8];
	size_t i;

	if (hierarchy_of(cgs, CG_UNIFIED, &i) != NULL && fds[i] != -1 &&
	    file_key(fds[i], "cgroup.events", "populated", &populated) == 0 &&
	    populated != 0)
		return (0);
	for (i = 0; i < cgs->nh; i++)
		if (fds[i] != -1 &&
		    cg_read(fds[i], "cgroup.procs", c, sizeof(c)) == 0 &&
		    c[0] != '\0')
			return (0);
	return (1);
}

/* Quota in microseconds of each period; the kernel wants at least 1000. */
static uint64_t
cpu_quota(uint32_t milli)
{
	uint64_t q = (uint64_t)milli * CPU_PERIOD / 1000;

	return (q < 1000 ? 1000 : q);
}

static int
limits_v2(int fd, const struct job_limits *l)
{
	if (l->memory != 0) {
		(void)cg_write(fd, "memory.swap.max", "0");
		if (cg_write(fd, "memory.max", "%" PRIu64, l->memory) == -1 &&
		    errno != ENOENT)
			return (-1);
	}
	if (l->pids != 0 && cg_write(fd, "pids.max", "%" PRIu32,
	    l->pids + PIDS_OURS) == -1 && errno != ENOENT)
		return (-1);
	if (l->cpus_milli != 0 && cg_write(fd, "cpu.max", "%" PRIu64 " %d",
	    cpu_quota(l->cpus_milli), CPU_PERIOD) == -1 && errno != ENOENT)
		return (-1);
	return (0);
}

static int
limits_v1(const struct cgroup *cg, const struct job_limits *l)
{
	int fd;

	if ((fd = fd_of(cg, CG_MEMORY)) != -1 && l->memory != 0) {
		if (cg_write(fd, "memory.limit_in_bytes", "%" PRIu64,
		    l->memory) == -1)
			return (-1);
		(void)cg_write(fd, "memory.memsw.limit_in_bytes", "%" PRIu64,
		    l->memory);
	}
	if ((fd = fd_of(cg, CG_PIDS)) != -1 && l->pids != 0 &&
	    cg_write(fd, "pids.max", "%" PRIu32, l->pids + PIDS_OURS) == -1)
		return (-1);
	if ((fd = fd_of(cg, CG_CPU)) != -1 && l->cpus_milli != 0 &&
	    cg_write(fd, "cpu.cfs_quota_us", "%" PRIu64,
	    cpu_quota(l->cpus_milli)) == -1)
		return (-1);
	return (0);
}

/* As it is before anybody wrote a limit. */
static int
unlimit(const struct cgroup *cg, const struct job_limits *l)
{
	int fd, rc = 0;

	if (l->memory != 0 && (fd = fd_of(cg, CG_MEMORY)) != -1 &&
	    cg->cgs->v2)
		rc |= cg_write(fd, "memory.max", "max");
	else if (l->memory != 0 && fd_of(cg, CG_MEMORY) != -1) {
		fd = fd_of(cg, CG_MEMORY);
		(void)cg_write(fd, "memory.memsw.limit_in_bytes", "-1");
		rc |= cg_write(fd, "memory.limit_in_bytes", "-1");
	}
	if (l->pids != 0 && (fd = fd_of(cg, CG_PIDS)) != -1)
		rc |= cg_write(fd, "pids.max", "max");
	if (l->cpus_milli != 0 && (fd = fd_of(cg, CG_CPU)) != -1)
		rc |= cg->cgs->v2 ? cg_write(fd, "cpu.max", "max") :
		    cg_write(fd, "cpu.cfs_quota_us", "-1");
	return (rc == 0 ? 0 : -1);
}

/* What was written before is taken back first: that a limit may be raised does
 * not depend on the order then. */
int
cgroup_limit(struct cgroup *cg, const struct job_limits *had,
    const struct job_limits *l)
{
	if (cg == NULL || cg->cgs->nh == 0 || (had->memory == l->memory &&
	    had->pids == l->pids && had->cpus_milli == l->cpus_milli))
		return (0);
	if (unlimit(cg, had) == -1)
		return (-1);
	return (cg_limits(cg, l));
}

int
cg_limits(const struct cgroup *cg, const struct job_limits *l)
{
	return (cg->cgs->v2 ? limits_v2(cg->fd[0], l) : limits_v1(cg, l));
}

static int
become(uint32_t uid)
{

	return (geteuid() == uid ? 0 : seteuid(uid));
}

/* The files are that user's, whom the kernel looks at when they are opened. */
static int
join_own(const struct cgroup *cg, uint32_t uid, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (fchownat(cg->fd[i], "tasks", uid, (gid_t)-1,
		    AT_SYMLINK_NOFOLLOW) == -1)
			return (-1);
	}
	return (0);
}

/* As the user: how many could be opened. */
static size_t
join_open(const struct cgroup *cg, int *fds, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if ((fds[i] = openat(cg->fd[i], "tasks", O_WRONLY | O_CLOEXEC |
		    O_NOFOLLOW)) == -1)
			break;
	}
	return (i);
}

/* The files to join by, opened as the user who may. */
static int
join_files(const struct cgroup *cg, uint32_t uid, int *fds, size_t *n)
{
	size_t all = cg->cgs->nh, got;
	int e;

	if (all > CGROUP_JOIN_MAX)
		all = CGROUP_JOIN_MAX;
	if (join_own(cg, uid, all) == -1 || become(uid) == -1)
		goto err0;
	got = join_open(cg, fds, all);
	e = errno;
	if (become(getuid()) == -1) {
		/* Cannot be: the real uid is ours.  Nothing must go on so. */
		log_warn("become root again");
		abort();
	}
	errno = e;
	if (got < all)
		goto err1;
	*n = all;
	return (0);

err1:
	while (got > 0)
		io_close(&fds[--got]);
err0:
	log_warn("job %s: a file to join its cgroup by", cg->job);
	return (-1);
}

int
cgroup_place(struct cgroup *cg, pid_t pid, uint32_t uid, int *fds, size_t *n)
{
	*n = 0;
	if (cg->cgs->nh == 0)
		return (0);
	if (!cg->cgs->v2)
		return (join_files(cg, uid, fds, n));
	if (cg_write(cg->fd[0], "cgroup.procs", "%d", (int)pid) == 0)
		return (0);
	if (errno != ESRCH)
		log_warn("job %s: move process %d to its cgroup", cg->job,
		    (int)pid);
	return (-1);
}

void
cgroup_kill(struct cgroup *cg)
{
	cg_kill(cg->cgs, cg->fd);
}

int
cgroup_empty(struct cgroup *cg)
{
	return (group_empty(cg->cgs, cg->fd));
}

uint64_t
cgroup_cpu(const struct cgroup *cg)
{
	uint64_t n = 0;
	int fd;

	if (cg->cgs->nh == 0)
		return (0);
	if (cg->cgs->v2)
		(void)file_key(cg->fd[0], "cpu.stat", "usage_usec", &n);
	else if ((fd = fd_of(cg, CG_CPUACCT)) != -1 &&
	    file_number(fd, "cpuacct.usage", &n) == 0)
		n /= 1000;
	return (n);
}

static void
usage_v2(int fd, struct job_usage *u, uint64_t *pids_max)
{
	(void)file_key(fd, "cpu.stat", "usage_usec", &u->cpu_us);
	(void)file_number(fd, "memory.peak", &u->memory_peak);
	(void)file_key(fd, "memory.events", "oom_kill", &u->oom_kills);
	(void)file_number(fd, "pids.peak", &u->pids_peak);
	(void)file_key(fd, "pids.events", "max", pids_max);
}

static void
usage_v1(const struct cgroup *cg, struct job_usage *u, uint64_t *pids_max)
{
	uint64_t ns;
	int fd;

	if ((fd = fd_of(cg, CG_CPUACCT)) != -1 &&
	    file_number(fd, "cpuacct.usage", &ns) == 0)
		u->cpu_us = ns / 1000;
	if ((fd = fd_of(cg, CG_MEMORY)) != -1) {
		(void)file_number(fd, "memory.max_usage_in_bytes",
		    &u->memory_peak);
		(void)file_key(fd, "memory.oom_control", "oom_kill",
		    &u->oom_kills);
	}
	if ((fd = fd_of(cg, CG_PIDS)) != -1) {
		(void)file_number(fd, "pids.peak", &u->pids_peak);
		(void)file_key(fd, "pids.events", "max", pids_max);
	}
}

void
cgroup_usage(struct cgroup *cg, struct job_usage *u, int *pids_hit)
{
	uint64_t max = 0;

	if (cg->cgs->nh > 0 && cg->cgs->v2)
		usage_v2(cg->fd[0], u, &max);
	else if (cg->cgs->nh > 0)
		usage_v1(cg, u, &max);
	*pids_hit = max > 0;
}
