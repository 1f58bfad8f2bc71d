/*
 * Questions about the kernel: namespaces, cgroups, fences.  Forks, makes
 * namespaces that end with the process, reads /proc and /sys; changes nothing.
 */
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "lib/io.h"

#define NOBODY          65534
#define FAILED          101             /* of a child; then an errno */

void
doctor_say(struct doctor_answer *a, enum doctor_level level, const char *mend,
    const char *fmt, ...)
{
	va_list ap;

	a->level = level;
	va_start(ap, fmt);
	vsnprintf(a->text, sizeof(a->text), fmt, ap);
	va_end(ap);
	snprintf(a->mend, sizeof(a->mend), "%s", mend);
}

/* A number in a file of /proc/sys, or -1 when it is not there. */
static long
sysctl_get(const char *path)
{
	uint8_t *buf;
	size_t len;
	long n;

	if (io_file_read(AT_FDCWD, path, 64, &buf, &len) == -1)
		return (-1);
	n = strtol((const char *)buf, NULL, 10);
	free(buf);
	return (n);
}

static int
put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), rc;

	if (fd == -1)
		return (-1);
	rc = io_write(fd, text, strlen(text));
	io_close(&fd);
	return (rc);
}

static int
ids_map(unsigned int uid, unsigned int gid)
{
	char u[32], g[32];

	snprintf(u, sizeof(u), "0 %u 1\n", uid);
	snprintf(g, sizeof(g), "0 %u 1\n", gid);
	if (put("/proc/self/setgroups", "deny") == -1 ||
	    put("/proc/self/gid_map", g) == -1 ||
	    put("/proc/self/uid_map", u) == -1)
		return (-1);
	return (0);
}

/* In the child: 0 and the result, or FAILED and errno, in the pipe. */
static void __attribute__((noreturn))
child(int out, int (*fn)(void))
{
	unsigned int uid = getuid(), gid = getgid();
	int word[2] = { FAILED, 0 }, status;
	pid_t pid;

	if (uid == 0) {
		uid = gid = NOBODY;
		if (setgroups(0, NULL) == -1 ||
		    setresgid(gid, gid, gid) == -1 ||
		    setresuid(uid, uid, uid) == -1)
			goto out;
		(void)prctl(PR_SET_DUMPABLE, 1);
	}
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
	    CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) == -1 ||
	    ids_map(uid, gid) == -1)
		goto out;
	if ((pid = fork()) == 0)
		_exit(fn());
	if (pid != -1 && waitpid(pid, &status, 0) == pid)
		word[0] = WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
out:
	word[1] = errno;
	(void)io_write(out, word, sizeof(word));
	_exit(0);
}

int
doctor_in_userns(int (*fn)(void))
{
	int p[2], word[2] = { FAILED, EIO };
	pid_t pid;

	if (pipe2(p, O_CLOEXEC) == -1)
		return (-1);
	if ((pid = fork()) == 0)
		child(p[1], fn);
	io_close(&p[1]);
	if (pid != -1) {
		(void)io_read(p[0], word, sizeof(word));
		(void)waitpid(pid, NULL, 0);
	}
	io_close(&p[0]);
	if (word[0] < FAILED)
		return (word[0]);
	errno = word[1];
	return (-1);
}

static void
ask_kernel(struct doctor_answer *a)
{
	unsigned int major = 0, minor = 0;
	struct utsname u;

	if (uname(&u) == -1 ||
	    sscanf(u.release, "%u.%u", &major, &minor) != 2)
		doctor_say(a, DOCTOR_LESS, "", "the kernel does not tell its "
		    "version");
	else if (major < 5 || (major == 5 && minor < 14))
		doctor_say(a, DOCTOR_BAD, "run Linux 5.14 or newer; errand is "
		    "tested from 6.1 on", "Linux %s is too old", u.release);
	else
		doctor_say(a, DOCTOR_OK, "", "Linux %s", u.release);
}

static int
nothing(void)
{
	return (0);
}

/* Is nothing mounted on what we call the root? */
static int
root_unmounted(void)
{
	uint8_t *buf;
	size_t len;
	int has;

	if (io_file_read(AT_FDCWD, "/proc/self/mountinfo", 1 << 20, &buf,
	    &len) == -1)
		return (0);
	has = strstr((const char *)buf, " / / ") != NULL;
	free(buf);
	return (!has);
}

/* Below another root than pid 1's, where that may be looked at. */
static int
in_chroot(void)
{
	struct stat root, top;

	if (stat("/", &root) == 0 && stat("/proc/1/root", &top) == 0)
		return (root.st_dev != top.st_dev ||
		    root.st_ino != top.st_ino);
	return (root_unmounted());
}

/* Why user namespaces are closed, as far as a setting tells. */
static const struct closed {
	const char *path;
	long value;
	const char *mend;
} closed[] = {
	{ "/proc/sys/user/max_user_namespaces", 0,
	    "sysctl -w user.max_user_namespaces=65536" },
	{ "/proc/sys/kernel/unprivileged_userns_clone", 0,
	    "sysctl -w kernel.unprivileged_userns_clone=1" },
	{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1,
	    "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or "
	    "give errand-exec an AppArmor profile with \"userns,\"" },
};

/* As root there is another way; it gives less. */
static void
bounded_say(struct doctor_answer *a, const char *mend, const char *path, int e)
{
	char what[128];

	snprintf(what, sizeof(what), "%s %s", path != NULL ? "closed by" :
	    "cannot be made:", path != NULL ? path : strerror(e));
	if (getuid() != 0)
		doctor_say(a, DOCTOR_BAD, mend, "%s", what);
	else
		doctor_say(a, DOCTOR_LESS, mend, "%s; errandd as root runs "
		    "jobs in bounded mode: one wall less, and no --as-root",
		    what);
}

static void
ask_userns(struct doctor_answer *a)
{
	const char *mend = "a container that errand runs in, or a security "
	    "module, must allow unshare(CLONE_NEWUSER)";
	size_t i;
	int e;

	if (doctor_in_userns(nothing) == 0) {
		doctor_say(a, DOCTOR_OK, "", "can be made by ordinary users");
		return;
	}
	e = errno;
	for (i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
		if (sysctl_get(closed[i].path) == closed[i].value) {
			bounded_say(a, closed[i].mend, closed[i].path, e);
			return;
		}
	if (in_chroot())
		doctor_say(a, getuid() == 0 ? DOCTOR_LESS : DOCTOR_BAD,
		    "nothing for errandd as root, which gets out of the "
		    "chroot by itself; as an ordinary user run it outside",
		    "cannot be made inside a chroot");
	else
		bounded_say(a, mend, NULL, e);
}

static int
mount_proc(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)
		return (2);
	return (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV |
	    MS_NOEXEC, NULL) == 0 ? 0 : 1);
}

static void
ask_proc(struct doctor_answer *a)
{
	int rc = doctor_in_userns(mount_proc);

	if (rc == 0)
		doctor_say(a, DOCTOR_OK, "", "a sandbox can have one of its "
		    "own");
	else if (rc == -1)
		doctor_say(a, DOCTOR_LESS, "mend user namespaces first",
		    "not tried: no user namespace");
	else
		doctor_say(a, DOCTOR_BAD, "start errandd where /proc is whole: "
		    "not in a container that masks parts of it, nor in a "
		    "service with ProtectKernelTunables or ProcSubset",
		    "parts of /proc are covered here, so no sandbox can have "
		    "one");
}

static int
cgroup_file_has(const char *path, const char *word)
{
	uint8_t *buf;
	size_t len;
	int has;

	if (io_file_read(AT_FDCWD, path, 65536, &buf, &len) == -1)
		return (0);
	has = strstr((const char *)buf, word) != NULL;
	free(buf);
	return (has);
}

static void
ask_cgroups(struct doctor_answer *a)
{
	static const char v2[] = "/sys/fs/cgroup/cgroup.controllers";
	int i, missing = 0;
	static const char *const want[] = { "cpu", "memory", "pids" };
	char path[64];

	if (access(v2, R_OK) == 0) {
		for (i = 0; i < 3; i++)
			missing += !cgroup_file_has(v2, want[i]);
		if (missing != 0)
			doctor_say(a, DOCTOR_LESS, "boot with the controllers "
			    "cpu, memory and pids on (cgroup_enable=memory)",
			    "v2 without some of cpu, memory, pids");
		else
			doctor_say(a, DOCTOR_OK, "", "v2 with cpu, memory and "
			    "pids");
		return;
	}
	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", want[i]);
		missing += access(path, F_OK) != 0;
	}
	if (missing == 0 && getuid() != 0)
		doctor_say(a, DOCTOR_LESS, "boot with cgroup v2 and be in a "
		    "session of systemd, or have root run errandd", "v1, of "
		    "which an ordinary user's daemon gets none: it refuses "
		    "--memory and --cpus");
	else if (missing == 0)
		doctor_say(a, DOCTOR_OK, "", "v1 with cpu, memory and pids");
	else
		doctor_say(a, DOCTOR_LESS, "mount cgroup2 on /sys/fs/cgroup, "
		    "as systemd does", "no cgroups: limits of memory, "
		    "processors and processes hold in part only");
}

static void
ask_landlock(struct doctor_answer *a)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_CREATE_RULESET_VERSION);

	if (abi >= 2)
		doctor_say(a, DOCTOR_OK, "", "version %ld", abi);
	else if (abi == 1)
		doctor_say(a, DOCTOR_LESS, "run Linux 5.19 or newer",
		    "version 1 cannot be used, since it forbids renaming "
		    "between directories: one wall less");
	else
		doctor_say(a, DOCTOR_LESS, "boot with landlock in the list "
		    "lsm=", "absent: one wall less");
}

static void
ask_seccomp(struct doctor_answer *a)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0)
		doctor_say(a, DOCTOR_OK, "", "filters");
	else
		doctor_say(a, DOCTOR_BAD, "run a kernel with "
		    "CONFIG_SECCOMP_FILTER", "no filters: %s",
		    strerror(errno));
}

const struct doctor_question *
doctor_questions(size_t *n)
{
	static const struct doctor_question all[] = {
		{ "kernel", ask_kernel },
		{ "user namespaces", ask_userns },
		{ "proc", ask_proc },
		{ "overlay", doctor_overlay },
		{ "cgroups", ask_cgroups },
		{ "seccomp", ask_seccomp },
		{ "landlock", ask_landlock },
		{ "disk limits", doctor_loop },
		{ "identities", doctor_ids },
		{ "disk", doctor_state },
	};

	*n = sizeof(all) / sizeof(all[0]);
	return (all);
}
