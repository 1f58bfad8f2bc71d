#include <sys/wait.h>

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "lib/io.h"
#include "lib/log.h"
#include "supervisor/cgroup_internal.h"
#include "supervisor/config.h"

/*
 * Where our groups are, in the layouts that hosts have; and how those of this
 * one go.
 */

static struct cg_mount m[CG_MAX];
static char path[PATH_MAX];

static const char v1_mounts[] =
    "22 1 0:5 / /proc rw - proc proc rw\n"
    "30 22 0:25 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "31 30 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup "
    "rw,cpu,cpuacct\n"
    "32 30 0:27 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup "
    "rw,memory\n"
    "33 30 0:28 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"
    "34 30 0:29 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
    "35 30 0:30 / /sys/fs/cgroup/systemd rw - cgroup cgroup "
    "rw,name=systemd\n"
    "36 30 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    "37 30 0:27 / /mnt/memory\\040again rw - cgroup cgroup rw,memory\n";
static const char v1_self[] =
    "9:name=systemd:/x\n8:pids:/p\n4:memory:/api/25f\n2:cpu,cpuacct:/\n"
    "0::/u\n";

static void
test_v1(void **state)
{
	(void)state;
	assert_int_equal(cg_find(v1_mounts, v1_self, m), 4);
	assert_int_equal(m[0].what, CG_CPU | CG_CPUACCT);
	assert_int_equal(cg_path(&m[0], NULL, path, sizeof(path)), 0);
	assert_string_equal(path, "/sys/fs/cgroup/cpu,cpuacct");
	assert_int_equal(m[1].what, CG_MEMORY);
	assert_int_equal(cg_path(&m[1], NULL, path, sizeof(path)), 0);
	assert_string_equal(path, "/sys/fs/cgroup/memory/api/25f");
	assert_int_equal(m[2].what, CG_PIDS);
	assert_int_equal(m[3].what, CG_UNIFIED);
	assert_int_equal(cg_path(&m[3], NULL, path, sizeof(path)), 0);
	assert_string_equal(path, "/sys/fs/cgroup/unified/u");
	assert_int_equal(cg_path(&m[3], "/other", path, sizeof(path)), 0);
	assert_string_equal(path, "/sys/fs/cgroup/unified/other");
}

static void
test_v2(void **state)
{
	const char *mounts = "30 22 0:25 / /sys/fs/cgroup rw,nosuid shared:4 "
	    "- cgroup2 cgroup2 rw,nsdelegate\n";

	(void)state;
	assert_int_equal(cg_find(mounts, "0::/system.slice/errandd.service\n",
	    m), 1);
	assert_int_equal(m[0].what, CG_UNIFIED);
	assert_int_equal(cg_path(&m[0], NULL, path, sizeof(path)), 0);
	assert_string_equal(path,
	    "/sys/fs/cgroup/system.slice/errandd.service");
	assert_int_equal(cg_path(&m[0], "/", path, sizeof(path)), 0);
	assert_string_equal(path, "/sys/fs/cgroup");
}

/* A part of the hierarchy is mounted: a chroot or a container. */
static void
test_part(void **state)
{
	const char *mounts = "30 22 0:25 /docker/abc /sys/fs/cgroup ro - "
	    "cgroup2 cgroup2 rw\n";

	(void)state;
	assert_int_equal(cg_find(mounts, "0::/docker/abc/job\n", m), 1);
	assert_int_equal(cg_path(&m[0], NULL, path, sizeof(path)), 0);
	assert_string_equal(path, "/sys/fs/cgroup/job");
	assert_int_equal(cg_find(mounts, "0::/docker/abcd\n", m), 1);
	assert_int_equal(cg_path(&m[0], NULL, path, sizeof(path)), 0);
	assert_string_equal(path, "/sys/fs/cgroup");
	assert_int_equal(cg_find(mounts, "0::/../../elsewhere\n", m), 1);
	assert_int_equal(cg_path(&m[0], NULL, path, sizeof(path)), 0);
	assert_string_equal(path, "/sys/fs/cgroup");
}

static void
test_odd(void **state)
{
	(void)state;
	assert_int_equal(cg_find("", "", m), 0);
	assert_int_equal(cg_find("nonsense\n1 2 - cgroup2\n - cgroup2 x y\n",
	    "nonsense", m), 0);
	assert_int_equal(cg_find("1 2 3 / /c rw - cgroup2 c rw\n", "0:\n:::\n",
	    m), 1);
	assert_int_equal(cg_path(&m[0], NULL, path, sizeof(path)), 0);
	assert_string_equal(path, "/c");
	assert_int_equal(cg_path(&m[0], "/x", path, 4), -1);
}

#define ID      "aaaaaaaaaaaaaaaa"

/* In how many hierarchies the group is. */
static size_t
there(const struct cgroups *cgs)
{
	size_t i, n = 0;

	for (i = 0; i < cgs->nh; i++)
		n += faccessat(cgs->h[i].fd, ID, F_OK, 0) == 0;
	return (n);
}

static void
until_gone(struct cgroups *cgs)
{
	uint64_t end = io_mono_us() + 10000000;

	while (there(cgs) > 0) {
		assert_true(io_mono_us() < end);
		assert_int_not_equal(event_base_loop(cgs->base, EVLOOP_ONCE),
		    -1);
	}
}

/* A process in all of them that does not end by itself. */
static pid_t
somebody(struct cgroups *cgs)
{
	pid_t pid;
	size_t i;

	if ((pid = fork()) == 0) {
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	for (i = 0; i < cgs->nh; i++)
		assert_int_equal(cg_write(cgs->h[i].fd, ID "/cgroup.procs",
		    "%d", (int)pid), 0);
	return (pid);
}

/* Not at once, since the next job may be on its way; but soon. */
static void
test_end(void **state)
{
	struct config cfg = { .cgroup_root = NULL };
	struct job_limits none = { 0 };
	struct event_base *base;
	struct cgroups *cgs;
	struct cgroup *cg;
	char tag[32];
	int status;
	pid_t pid;

	(void)state;
	(void)snprintf(tag, sizeof(tag), "test%d", (int)getpid());
	assert_non_null(base = event_base_new());
	assert_non_null(cgs = cgroups_open(base, &cfg, tag));
	if (cgs->nh == 0)
		skip();
	assert_non_null(cg = cgroup_new(cgs, ID, &none));
	assert_int_equal(there(cgs), cgs->nh);
	cgroup_free(cg);
	assert_int_equal(there(cgs), cgs->nh);
	until_gone(cgs);

	/* Whoever is in it does not keep it. */
	assert_non_null(cg = cgroup_new(cgs, ID, &none));
	pid = somebody(cgs);
	assert_int_equal(cgroup_empty(cg), 0);
	cgroup_free(cg);
	until_gone(cgs);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

	/* The end of all does not leave any. */
	assert_non_null(cg = cgroup_new(cgs, ID, &none));
	cgroup_free(cg);
	cgroups_close(cgs);
	assert_non_null(cgs = cgroups_open(base, &cfg, tag));
	assert_int_equal(there(cgs), 0);
	cgroups_close(cgs);
	event_base_free(base);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_v1),
		cmocka_unit_test(test_v2),
		cmocka_unit_test(test_part),
		cmocka_unit_test(test_odd),
		cmocka_unit_test(test_end),
	};

	log_init("test", LOG_LEVEL_WARN);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
