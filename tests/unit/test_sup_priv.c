#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/log.h"
#include "supervisor/logs.h"
#include "supervisor/priv.h"

/* The trusted surface refuses what is not exactly what it must be. */

static char dir[64];
static int dirfd_;

static int
setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/errand-priv-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return (-1);
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY);
	return (dirfd_ == -1 ? -1 : 0);
}

static int
teardown(void **state)
{
	char cmd[128];

	(void)state;
	close(dirfd_);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return (system(cmd) == 0 ? 0 : -1);
}

static int
pidfd_of(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	assert_true(fd != -1);
	return (fd);
}

/* Our own namespace, something dead, and something that is no pidfd. */
static void
test_map_refused(void **state)
{
	struct map_rule rule = { .owner_uid = geteuid(),
	    .host_uid = 1234567, .host_gid = 1234567 };
	static const struct uid_range bad[] = {
		{ 1, 4243 }, { 4243, 5000 }, { 5000, 4999 },
		{ 5000, UINT32_MAX },
	};
	struct userns ns;
	pid_t pid;
	size_t i;
	int fd;

	(void)state;
	if ((pid = fork()) == 0) {
		pause();
		_exit(0);
	}
	fd = pidfd_of(pid);
	assert_int_equal(pidfd_dead(fd), 0);
	assert_int_equal(map_priv(fd, &rule, &ns), -1);
	assert_int_equal(errno, EPERM);
	kill_priv(fd);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(pidfd_dead(fd), 1);
	assert_int_equal(map_priv(fd, &rule, &ns), -1);
	kill_priv(fd);          /* no harm */
	close(fd);
	assert_int_equal(map_priv(dirfd_, &rule, &ns), -1);
	assert_int_equal(map_priv(-1, &rule, &ns), -1);
	if (geteuid() == 0) {
		rule.host_uid = 0;
		assert_int_equal(map_priv(-1, &rule, &ns), -1);
		assert_int_equal(errno, EPERM);
	}
	/* Nor is a range that has its own id, or all there are. */
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		rule.host_uid = 4243;
		rule.more = bad[i];
		assert_int_equal(map_priv(-1, &rule, &ns), -1);
		assert_int_equal(errno, EPERM);
	}
}

/* A namespace of another owner than errand-exec is not ours to map. */
static void
test_map_owner(void **state)
{
	struct map_rule rule = { .owner_uid = 4242,
	    .host_uid = geteuid() == 0 ? 4243 : geteuid(),
	    .host_gid = getegid() };
	struct userns ns;
	int fd, up[2];
	pid_t pid;
	char c;

	(void)state;
	assert_int_equal(pipe(up), 0);
	if ((pid = fork()) == 0) {
		c = unshare(CLONE_NEWUSER) == 0;
		if (write(up[1], &c, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(up[0], &c, 1), 1);
	fd = pidfd_of(pid);
	if (c) {
		assert_int_equal(map_priv(fd, &rule, &ns), -1);
		assert_int_equal(errno, EPERM);
		rule.owner_uid = geteuid();
		rule.host_gid = geteuid() == 0 ? 4243 : getegid();
		assert_int_equal(map_priv(fd, &rule, &ns), 0);
		/* Only once. */
		assert_int_equal(map_priv(fd, &rule, &ns), -1);
	} else
		print_message("user namespaces are closed here\n");
	kill_priv(fd);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(fd);
	close(up[0]);
	close(up[1]);
}

static void
test_workdir(void **state)
{
	struct stat sb;
	uint32_t uid = geteuid() == 0 ? 65432 : geteuid();
	char name[16], path[32];

	(void)state;
	snprintf(name, sizeof(name), "%u", uid);
	assert_int_equal(workdir_priv(dirfd_, uid, uid), 0);
	assert_int_equal(workdir_priv(dirfd_, uid, uid), 0);
	assert_int_equal(fstatat(dirfd_, name, &sb, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(sb.st_uid, uid);
	assert_int_equal(sb.st_mode & 07777, 0700);
	snprintf(path, sizeof(path), "%s/jobs", name);
	assert_int_equal(fstatat(dirfd_, path, &sb, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(sb.st_uid, uid);
	/* A link in its place is not taken for it. */
	assert_int_equal(symlinkat(dir, dirfd_, "65433"), 0);
	assert_int_equal(workdir_priv(dirfd_, 65433, 65433), -1);
}

/* Sweeping removes what jobs left, and never goes through a link. */
static void
test_sweep(void **state)
{
	(void)state;
	assert_int_equal(mkdirat(dirfd_, "safe", 0700), 0);
	assert_int_equal(mkdirat(dirfd_, "safe/keep", 0700), 0);
	assert_int_equal(mkdirat(dirfd_, "100", 0700), 0);
	assert_int_equal(mkdirat(dirfd_, "100/jobs", 0700), 0);
	assert_int_equal(mkdirat(dirfd_, "100/jobs/x", 0700), 0);
	assert_int_equal(symlinkat("../../../safe", dirfd_, "100/jobs/x/l"),
	    0);
	assert_int_equal(mkdirat(dirfd_, "101", 0700), 0);
	assert_int_equal(symlinkat("../safe", dirfd_, "101/jobs"), 0);
	workdir_sweep_priv(dirfd_);
	assert_int_equal(faccessat(dirfd_, "100/jobs/x", F_OK, 0), -1);
	assert_int_equal(faccessat(dirfd_, "100/jobs", F_OK, 0), 0);
	assert_int_equal(faccessat(dirfd_, "safe/keep", F_OK, 0), 0);
}

/* A log is found by its own tenant, and by no other. */
static void
test_logs(void **state)
{
	const char *job = "abcdefghijklmn27";
	int fd;

	(void)state;
	assert_int_equal(logs_begun(dirfd_, 5, job), 0);
	assert_int_equal(logs_make(dirfd_, 5, job), 0);
	assert_int_equal(logs_begun(dirfd_, 5, job), 0);
	assert_true((fd = logs_begin(dirfd_, 5, job)) != -1);
	assert_int_equal(logs_begun(dirfd_, 5, job), 1);
	assert_int_equal(fcntl(fd, F_GETFL) & O_APPEND, O_APPEND);
	close(fd);
	assert_int_equal(logs_make(dirfd_, 5, job), -1);
	assert_int_equal(errno, EEXIST);
	assert_int_equal(logs_open(dirfd_, 6, job), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(logs_open(dirfd_, 5, "../../etc/shadow"), -1);
	assert_int_equal(errno, EINVAL);
	assert_true((fd = logs_open(dirfd_, 5, job)) != -1);
	assert_int_equal(write(fd, "x", 1), -1);
	close(fd);
	logs_remove(dirfd_, 5, job);
	assert_int_equal(logs_open(dirfd_, 5, job), -1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_map_refused), T(test_map_owner), T(test_workdir),
		T(test_sweep), T(test_logs),
	};

	log_init("test", LOG_LEVEL_ERROR);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
