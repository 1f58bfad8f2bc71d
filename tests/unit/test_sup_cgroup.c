#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/cgroup_find.h"

/* Where our groups are, in the layouts that hosts have. */

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_v1),
		cmocka_unit_test(test_v2),
		cmocka_unit_test(test_part),
		cmocka_unit_test(test_odd),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
