/*
 * All that is done with root's rights for a process that we do not trust: uid
 * maps, moves into cgroups, kills by pidfd, tenants' work directories.  Each
 * function says why it is safe; nothing here reads a message.
 */
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "lib/cachedir.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/text.h"
#include "priv.h"

int
pidfd_dead(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return (pidfd == -1 || poll(&p, 1, 0) != 0);
}

/*
 * The number behind a pidfd, in our pid namespace; -1 if it has none: ESRCH,
 * the process has ended; EBADF, it is no pidfd, or not of a process of ours.
 */
static pid_t
pidfd_pid(int pidfd)
{
	char path[64], *p;
	uint8_t *buf;
	size_t len;
	long pid = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	if (io_file_read(AT_FDCWD, path, 4096, &buf, &len) == -1)
		return (-1);
	if ((p = strstr((char *)buf, "\nPid:")) != NULL)
		pid = strtol(p + 5, NULL, 10);
	free(buf);
	if (pid <= 0) {
		errno = pid == 0 ? EBADF : ESRCH;
		return (-1);
	}
	return ((pid_t)pid);
}

/*
 * /proc/PID of the process behind a pidfd.  The number may have been given to
 * another process before we opened it, but not while the one we mean lives:
 * alive afterwards means that the directory is its own, and a directory stays
 * that process's even when the number is used again.
 */
static int
proc_open(int pidfd, pid_t *pid)
{
	char path[32];
	int fd;

	if ((*pid = pidfd_pid(pidfd)) == -1)
		return (-1);
	snprintf(path, sizeof(path), "/proc/%d", (int)*pid);
	if ((fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (-1);
	if (pidfd_dead(pidfd)) {
		io_close(&fd);
		errno = ESRCH;
	}
	return (fd);
}

static int
userns_of(int fd, struct userns *ns)
{
	struct stat sb;

	if (fstat(fd, &sb) == -1)
		return (-1);
	ns->dev = sb.st_dev;
	ns->ino = sb.st_ino;
	return (0);
}

static int
userns_same(const struct userns *a, const struct userns *b)
{
	return (a->dev == b->dev && a->ino == b->ino);
}

/*
 * Is this a namespace that we may write maps for?  Not our own; a direct child
 * of our own; made by the uid errand-exec runs as, and by nobody else.
 */
static int
userns_check(int nsfd, uint32_t owner, struct userns *ns)
{
	struct userns own, parent;
	uid_t uid = (uid_t)-1;
	int fd;

	if ((fd = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC)) == -1)
		return (-1);
	if (userns_of(fd, &own) == -1 || userns_of(nsfd, ns) == -1)
		goto err1;
	io_close(&fd);
	if ((fd = ioctl(nsfd, NS_GET_PARENT)) == -1)
		return (-1);
	if (userns_of(fd, &parent) == -1)
		goto err1;
	io_close(&fd);
	if (ioctl(nsfd, NS_GET_OWNER_UID, &uid) == -1)
		return (-1);
	if (userns_same(&own, ns) || !userns_same(&own, &parent) ||
	    uid != owner) {
		errno = EPERM;
		return (-1);
	}
	return (0);

err1:
	io_close(&fd);
	return (-1);
}

static int
proc_write(int proc, const char *name, const char *text)
{
	size_t len = strlen(text);
	ssize_t n;
	int fd;

	if ((fd = openat(proc, name, O_WRONLY | O_CLOEXEC)) == -1)
		return (-1);
	n = write(fd, text, len);
	io_close(&fd);
	return (n == (ssize_t)len ? 0 : -1);
}

static int
map_write(int proc, const char *name, uint32_t id, const struct uid_range *more)
{
	char text[64];
	int n;

	n = snprintf(text, sizeof(text), "0 %" PRIu32 " 1\n", id);
	if (more->first != 0)
		snprintf(text + n, sizeof(text) - (size_t)n,
		    "1 %" PRIu32 " %" PRIu32 "\n", more->first,
		    more->last - more->first + 1);
	return (proc_write(proc, name, text));
}

/* Not root's, and not so many that they wrap around. */
static int
rule_check(const struct map_rule *rule)
{
	const struct uid_range *more = &rule->more;

	if ((rule->host_uid == 0 && geteuid() == 0) ||
	    more->last < more->first ||
	    (more->first != 0 && (more->last == UINT32_MAX ||
	    (rule->host_uid >= more->first &&
	    rule->host_uid <= more->last)))) {
		errno = EPERM;
		return (-1);
	}
	return (0);
}

/* Without groups to set, there are none whose absence could open a file. */
static int
maps_write(int proc, const struct map_rule *rule)
{
	if (rule->more.first == 0 &&
	    proc_write(proc, "setgroups", "deny") == -1)
		return (-1);
	if (map_write(proc, "gid_map", rule->host_gid, &rule->more) == -1)
		return (-1);
	return (map_write(proc, "uid_map", rule->host_uid, &rule->more));
}

/*
 * Safe because: the ids are the job's tenant's, from our own records, and never
 * 0; the namespace was checked; the files are opened through the checked
 * process's own directory; and the kernel lets a map be written only once, so
 * nobody's map is changed afterwards.  The process may move to another
 * namespace of its own between check and write: then the map it gets is that
 * same one, in a namespace that only it can have made.
 */
int
map_priv(int pidfd, const struct map_rule *rule, struct userns *ns)
{
	int proc, nsfd;
	pid_t pid;

	if (rule_check(rule) == -1)
		goto err0;
	if ((proc = proc_open(pidfd, &pid)) == -1)
		goto err0;
	if ((nsfd = openat(proc, "ns/user", O_RDONLY | O_CLOEXEC)) == -1)
		goto err1;
	if (userns_check(nsfd, rule->owner_uid, ns) == -1)
		goto err2;
	if (maps_write(proc, rule) == -1)
		goto err2;
	io_close(&nsfd);
	io_close(&proc);
	return (0);

err2:
	io_close(&nsfd);
err1:
	io_close(&proc);
err0:
	return (-1);
}

/* Is the process in this namespace? */
static int
userns_is(int proc, const struct userns *ns)
{
	struct userns its;
	int fd, rc;

	if ((fd = openat(proc, "ns/user", O_RDONLY | O_CLOEXEC)) == -1)
		return (-1);
	rc = userns_of(fd, &its);
	io_close(&fd);
	if (rc == 0 && !userns_same(ns, &its)) {
		errno = EPERM;
		rc = -1;
	}
	return (rc);
}

/*
 * Safe because: only a process of the job's own user namespace is moved, and
 * only into the group of that job, which is ours and will be killed with it.
 * Alive after the move means that the number was its own all the time.
 */
int
place_priv(int pidfd, const struct userns *ns, struct cgroup *cg, uint32_t uid,
    int *fds, size_t *n)
{
	int proc;
	pid_t pid;

	*n = 0;

	if ((proc = proc_open(pidfd, &pid)) == -1)
		goto err0;
	if (ns != NULL && userns_is(proc, ns) == -1)
		goto err1;
	if (cgroup_place(cg, pid, uid, fds, n) == -1)
		goto err1;
	if (pidfd_dead(pidfd)) {
		while (*n > 0)
			io_close(&fds[--*n]);
		errno = ESRCH;
		goto err1;
	}
	io_close(&proc);
	return (0);

err1:
	io_close(&proc);
err0:
	return (-1);
}

/* A line "NAME:<numbers>" of /proc/PID/status: all four are ${id}? */
static int
ids_line(const char *status, const char *name, uint32_t id)
{
	const char *p = strstr(status, name);
	uint32_t v[4];

	return (p != NULL && sscanf(p + strlen(name), "%" SCNu32 "%" SCNu32 "%"
	    SCNu32 "%" SCNu32, &v[0], &v[1], &v[2], &v[3]) == 4 &&
	    v[0] == id && v[1] == id && v[2] == id && v[3] == id);
}

/* Is its number in its own, innermost pid namespace 1, and not so in ours? */
static int
pid1_line(const char *status)
{
	const char *p = strstr(status, "\nNSpid:"), *end;

	if (p == NULL || (end = strchr(p + 1, '\n')) == NULL)
		return (0);
	/* The first number is ours for it, and has the first tab before it. */
	return (end[-1] == '1' && end[-2] == '\t' && end - 2 > p + 7);
}

int
tenant_priv(int pidfd, uint32_t uid)
{
	int proc, rc, ok;
	uint8_t *buf;
	size_t len;
	pid_t pid;

	if ((proc = proc_open(pidfd, &pid)) == -1)
		return (-1);
	rc = io_file_read(proc, "status", 65536, &buf, &len);
	io_close(&proc);
	if (rc == -1)
		return (-1);
	ok = pid1_line((char *)buf) && (uid == 0 ||
	    (ids_line((char *)buf, "\nUid:", uid) &&
	    ids_line((char *)buf, "\nGid:", uid)));
	free(buf);
	if (ok)
		return (0);
	errno = pidfd_dead(pidfd) ? ESRCH : EPERM;
	return (-1);
}

/*
 * Safe because: it was found to be pid 1 of the job when it was placed.  Should
 * it die right now and its number be another's, that one runs on fewer
 * processors, and we say so.
 */
int
cpus_priv(int pidfd, const cpu_set_t *cpus)
{
	pid_t pid;

	if ((pid = pidfd_pid(pidfd)) == -1 ||
	    sched_setaffinity(pid, sizeof(*cpus), cpus) == -1)
		return (-1);
	if (pidfd_dead(pidfd)) {
		errno = ESRCH;
		return (-1);
	}
	return (0);
}

/* Safe because: a pidfd never stands for another process than it was made of,
 * and it came with the job whose end this is. */
void
kill_priv(int pidfd)
{
	if (pidfd != -1 && syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL,
	    0) == -1 && errno != ESRCH)
		log_warn("kill a sandbox");
}

static int
dir_give(int dir, const char *name, uint32_t uid, uint32_t gid)
{
	if (mkdirat(dir, name, 0700) == -1)
		return (-1);
	return (fchownat(dir, name, uid, gid, AT_SYMLINK_NOFOLLOW));
}

/*
 * Safe because: the work root is root's and nobody else may write there; the
 * directory is complete, its parts given away before it is, when it gets its
 * name; and what exists is used only when it is a directory of that uid.
 */
int
workdir_priv(int work, uint32_t uid, uint32_t gid)
{
	char name[16], tmp[32];
	struct stat sb;
	int fd;

	snprintf(name, sizeof(name), "%" PRIu32, uid);
	snprintf(tmp, sizeof(tmp), "%" PRIu32 ".new", uid);
	if (fstatat(work, name, &sb, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISDIR(sb.st_mode) && sb.st_uid == uid)
			return (0);
		errno = EPERM;
		return (-1);
	}
	if (io_remove_tree(work, tmp) == -1 || mkdirat(work, tmp, 0700) == -1)
		return (-1);
	if ((fd = openat(work, tmp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1)
		return (-1);
	if (dir_give(fd, "trees", uid, gid) == -1 ||
	    dir_give(fd, "jobs", uid, gid) == -1 ||
	    fchown(fd, uid, gid) == -1 ||
	    renameat(work, tmp, work, name) == -1) {
		io_close(&fd);
		return (-1);
	}
	io_close(&fd);
	return (0);
}

int
become_priv(uint32_t uid, uint32_t gid)
{
	if (geteuid() != 0)
		return (0);     /* rootless: it is ours */
	if (uid == 0 || setgroups(0, NULL) == -1 ||
	    setresgid(gid, gid, gid) == -1)
		return (-1);
	return (setresuid(uid, uid, uid));
}

/*
 * Whose directories are below the job's may have any of the ids it had, and
 * only root of a namespace with all of them can remove those.  The parent, who
 * is root, writes the maps of ours; it is told over a pipe, since a word of
 * memory would be its own.
 */
static int
become_all(const struct map_rule *rule)
{
	int go[2], proc;
	char path[32];
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) == -1)
		return (-1);
	if ((pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL,
	    NULL, NULL, NULL)) == 0) {
		io_close(&go[1]);
		if (read(go[0], path, 1) != 1 || setgroups(0, NULL) == -1 ||
		    setresgid(0, 0, 0) == -1 || setresuid(0, 0, 0) == -1)
			_exit(1);
		io_close(&go[0]);
		return (0);
	}
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (pid != -1 && (proc = open(path, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) != -1 && maps_write(proc, rule) == 0)
		(void)!write(go[1], "", 1);
	io_close(&go[0]);
	io_close(&go[1]);
	if (pid == -1)          /* closed here: what the tenant itself may */
		return (become_priv(rule->host_uid, rule->host_gid));
	_exit(0);
}

/* In a process of its own, with nothing of ours open but the work root. */
static void __attribute__((noreturn))
remover(int work, const struct map_rule *rule, const char *job)
{
	char path[32];
	int fd, caches;

	if (dup2(work, 3) == -1 || close_range(4, ~0U, 0) == -1 ||
	    (rule->more.first != 0 ? become_all(rule) :
	    become_priv(rule->host_uid, rule->host_gid)) == -1)
		_exit(1);
	snprintf(path, sizeof(path), "%" PRIu32 "/jobs", rule->host_uid);
	fd = openat(3, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1 || io_remove_tree(fd, job) == -1)
		log_warn("job %s: its work directory", job);
	if (fd != -1 && (caches = openat(fd, "../caches",
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) != -1)
		cachedir_sweep(caches);
	_exit(0);
}

/*
 * Safe because: the process that does it has the rights the job itself had on
 * the host, and none of our descriptors; links are not followed.  Forked twice,
 * so that it is nobody's to wait for.
 */
void
workdir_remove_priv(int work, const struct map_rule *rule, const char *job)
{
	pid_t pid;

	if ((pid = fork()) == 0) {
		if (fork() == 0)
			remover(work, rule, job);
		_exit(0);
	}
	if (pid == -1)
		log_warn("job %s: its work directory", job);
	else
		(void)waitpid(pid, NULL, 0);
}

static void
jobs_sweep(int work, const char *name)
{
	struct dirent *d;
	DIR *dir;
	int tenant, fd, caches;

	if ((tenant = openat(work, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1)
		return;
	fd = openat(tenant, "jobs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if ((caches = cachedir_open(tenant, 0)) != -1)
		cachedir_sweep(caches);
	io_close(&caches);
	io_close(&tenant);
	if (fd == -1 || (dir = fdopendir(fd)) == NULL) {
		io_close(&fd);
		return;
	}
	while ((d = readdir(dir)) != NULL)
		if (strcmp(d->d_name, ".") != 0 &&
		    strcmp(d->d_name, "..") != 0 &&
		    io_remove_tree(fd, d->d_name) == -1)
			log_warn("work directory of an old job, uid %s", name);
	closedir(dir);
}

/*
 * Safe because: directories are entered by descriptor and never through a
 * link, so that what a job left can only name things below its own.
 */
void
workdir_sweep_priv(int work)
{
	struct dirent *d;
	DIR *dir;
	int fd;

	if ((fd = openat(work, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1
	    || (dir = fdopendir(fd)) == NULL) {
		io_close(&fd);
		return;
	}
	while ((d = readdir(dir)) != NULL)
		if (strspn(d->d_name, "0123456789") == strlen(d->d_name))
			jobs_sweep(work, d->d_name);
	closedir(dir);
}
