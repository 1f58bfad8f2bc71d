/*
 * Renaming directories of an overlay's lower layer.  Needs root, to mount.
 */
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/chan.h"
#include "lib/sandbox.h"
#include "tests/crash/alone.h"
#include "worker-exec/rename_dir.h"
#include "worker-exec/rename_watch.h"

static char top[64];
static int can;

static void
sh(const char *cmd)
{
	assert_int_equal(system(cmd), 0);
}

static int
group(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/errand-rename-XXXXXX");
	assert_non_null(mkdtemp(top));
	can = geteuid() == 0 && mounts_alone() == 0 &&
	    mount("tmpfs", top, "tmpfs", 0, NULL) == 0 && chdir(top) == 0;
	return (0);
}

static int
group_end(void **state)
{
	(void)state;
	assert_int_equal(chdir("/"), 0);
	(void)umount2(top, MNT_DETACH);
	(void)rmdir(top);
	return (0);
}

/* A fresh overlay in "m", we are in it. */
static int
setup(void **state)
{
	(void)state;
	if (!can)
		return (0);
	assert_int_equal(chdir(top), 0);
	(void)umount2("m", MNT_DETACH);
	sh("rm -rf l u w m; mkdir l u w m; cd l; mkdir -p foo/deep/er other/e; "
	    "echo x >foo/deep/bar; echo y >foo/a; ln -s a foo/link; "
	    "chmod 750 foo/deep; touch -d 2001-02-03 foo foo/deep/bar");
	assert_int_equal(mount("overlay", "m", "overlay", 0, "lowerdir=l,"
	    "upperdir=u,workdir=w,userxattr,redirect_dir=nofollow,"
	    "metacopy=off,index=off"), 0);
	assert_int_equal(chdir("m"), 0);
	return (0);
}

static void
need(void)
{
	if (can)
		return;
	printf("# needs root\n");
	skip();
}

static int
ren(const char *from, const char *to, unsigned int flags)
{
	return (rename_dir(AT_FDCWD, from, AT_FDCWD, to, flags));
}

static void
test_control(void **state)
{
	(void)state;
	need();
	assert_int_equal(rename("foo", "foo2"), -1);
	assert_int_equal(errno, EXDEV);
}

static void
test_all_of_it(void **state)
{
	(void)state;
	need();
	assert_int_equal(ren("foo", "foo2", 0), 0);
	sh("test ! -e foo && test \"$(cat foo2/deep/bar)\" = x && "
	    "test \"$(readlink foo2/link)\" = a && test -d foo2/deep/er && "
	    "test \"$(stat -c %a foo2/deep)\" = 750 && "
	    "test \"$(date -r foo2/deep/bar +%F)\" = 2001-02-03 && "
	    "test \"$(date -r foo2 +%F)\" = 2001-02-03 && "
	    "test \"$(ls -A)\" = \"$(printf 'foo2\\nother')\"");
	/* And back, and once more: it is in the upper layer now. */
	assert_int_equal(ren("foo2", "foo", 0), 0);
	assert_int_equal(ren("foo", "third", 0), 0);
	sh("test \"$(cat third/deep/bar)\" = x && test \"$(ls -A)\" = "
	    "\"$(printf 'other\\nthird')\"");
}

static void
test_target(void **state)
{
	(void)state;
	need();
	sh("mkdir -p empty full/x; : >file");
	assert_int_equal(ren("foo", "full", 0), -1);
	assert_int_equal(errno, ENOTEMPTY);
	assert_int_equal(ren("foo", "file", 0), -1);
	assert_int_equal(errno, ENOTDIR);
	assert_int_equal(ren("foo", "other", RENAME_NOREPLACE), -1);
	assert_int_equal(errno, EEXIST);
	assert_int_equal(ren("foo", "other", RENAME_EXCHANGE), -1);
	assert_int_equal(errno, EXDEV);
	assert_int_equal(ren("absent", "other", 0), -1);
	assert_int_equal(errno, ENOENT);
	sh("test \"$(cat foo/deep/bar foo/a)\" = \"$(printf 'x\\ny')\"");
	assert_int_equal(ren("foo", "empty", 0), 0);
	sh("test \"$(cat empty/deep/bar)\" = x && test ! -e foo");
}

/* An empty directory of the lower layer is replaced as well. */
static void
test_over_lower(void **state)
{
	int other = -1;

	(void)state;
	need();
	other = open("other", O_RDONLY | O_DIRECTORY);
	assert_true(other >= 0);
	assert_int_equal(rename_dir(AT_FDCWD, "foo", other, "e", 0), 0);
	close(other);
	sh("test \"$(cat other/e/deep/bar)\" = x && test ! -e foo");
}

static void
test_modes(void **state)
{
	(void)state;
	need();
	sh("chmod 555 foo/deep foo");
	assert_int_equal(ren("foo", "ro", 0), 0);
	sh("test \"$(stat -c %a ro ro/deep)\" = \"$(printf '555\\n555')\" && "
	    "test \"$(cat ro/deep/bar)\" = x");
}

/* No room in the middle: all of it is where it was. */
static void
test_no_room(void **state)
{
	(void)state;
	need();
	assert_int_equal(chdir(top), 0);
	assert_int_equal(umount2("m", MNT_DETACH), 0);
	sh("mkdir s; mount -t tmpfs -o size=256k none s; mkdir s/u s/w; "
	    "for i in 1 2 3 4 5 6; do head -c 100000 /dev/urandom >l/foo/f$i; "
	    "done; mkdir l/foo/sub; cp l/foo/f1 l/foo/sub/f7; cat l/foo/f* "
	    "l/foo/sub/f7 >sum");
	assert_int_equal(mount("overlay", "m", "overlay", 0, "lowerdir=l,"
	    "upperdir=s/u,workdir=s/w,userxattr,redirect_dir=nofollow,"
	    "metacopy=off,index=off"), 0);
	assert_int_equal(chdir("m"), 0);
	assert_int_equal(ren("foo", "foo2", 0), -1);
	assert_int_equal(errno, ENOSPC);
	sh("cat foo/f* foo/sub/f7 | cmp - ../sum && test ! -e foo2 && "
	    "test \"$(ls -A)\" = \"$(printf 'foo\\nother')\"");
	assert_int_equal(chdir(top), 0);
	(void)umount2("m", MNT_DETACH);
	sh("umount s; rmdir s");
}

/* Deeper than we go: refused, and whole. */
static void
test_depth(void **state)
{
	(void)state;
	need();
	assert_int_equal(chdir(top), 0);
	assert_int_equal(umount2("m", MNT_DETACH), 0);
	sh("d=l/foo; for i in $(seq 250); do d=$d/d; done; mkdir -p $d; "
	    "echo deep >$d/f");
	assert_int_equal(mount("overlay", "m", "overlay", 0, "lowerdir=l,"
	    "upperdir=u,workdir=w,userxattr,redirect_dir=nofollow,"
	    "metacopy=off,index=off"), 0);
	assert_int_equal(chdir("m"), 0);
	assert_int_equal(ren("foo", "foo2", 0), -1);
	assert_int_equal(errno, EXDEV);
	sh("test \"$(cat $(find foo -name f))\" = deep && test ! -e foo2 && "
	    "test \"$(ls -A)\" = \"$(printf 'foo\\nother')\"");
}

/*
 * Run ${fn} in a process whose renames we are asked about; its result, and in
 * ${asked} how often that was.
 */
static int
watched(int (*fn)(void), int *asked)
{
	int pair[2], listener = -1, status = -1, one;
	struct pollfd p = { .events = POLLIN };
	size_t n = 1;
	uint8_t c = 0;
	pid_t pid;

	assert_int_equal(chan_pair(pair), 0);
	if ((pid = fork()) == 0) {
		one = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ?
		    rename_watch_install() : -1;
		if (one == -1 || chan_send_wait(pair[1], &c, 1, &one,
		    1) == -1)
			_exit(99);
		close(one);
		_exit(fn());
	}
	close(pair[1]);
	assert_int_equal(chan_recv_wait(pair[0], &c, 1, &listener, &n, -1), 1);
	assert_int_equal(n, 1);
	p.fd = listener;
	*asked = 0;
	while (poll(&p, 1, 20000) == 1 && (p.revents & POLLIN)) {
		++*asked;
		assert_int_equal(rename_watch_serve(listener, ".", NULL,
		    0), 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	while (waitpid(-1, NULL, 0) > 0)
		continue;
	close(listener);
	close(pair[0]);
	return (WIFEXITED(status) ? WEXITSTATUS(status) : 100);
}

static int
many_ways(void)
{
	char from[200], to[200];
	int other = open("other", O_RDONLY | O_DIRECTORY);

	if (rename("foo", "foo2") == -1 || rename("foo2/", "foo3/") == -1)
		return (1);
	if (renameat(AT_FDCWD, "foo3", other, "in") == -1)
		return (2);
	snprintf(from, sizeof(from), "%s/m/other/in", top);
	snprintf(to, sizeof(to), "%s/m//other/../foo4", top);
	if (renameat2(other, from, -1, to, RENAME_NOREPLACE) == -1)
		return (3);
	if (rename("foo4/a", "foo4/b") == -1)
		return (4);
	if (rename("absent", "x") != -1 || errno != ENOENT)
		return (5);
	if (rename("foo4", "foo4/deep/x") != -1 || errno != EINVAL)
		return (6);
	if (rename("other/.", "x") != -1 || errno != EBUSY)
		return (7);
	if (rename((const char *)8, "x") != -1 || errno != EFAULT)
		return (8);
	if (renameat(77, "a", AT_FDCWD, "b") != -1 || errno != EBADF)
		return (9);
	if (rename("", "b") != -1 || errno != ENOENT)
		return (10);
	if (rename("other", "foo4") != -1 || errno != ENOTEMPTY)
		return (11);
	return (0);
}

static void
test_watched(void **state)
{
	int asked;

	(void)state;
	need();
	assert_int_equal(watched(many_ways, &asked), 0);
	assert_int_equal(asked, 12);
	sh("test \"$(cat foo4/deep/bar)\" = x && test \"$(cat foo4/b)\" = y "
	    "&& test \"$(ls -A)\" = \"$(printf 'foo4\\nother')\"");
}

/* Two file systems are two, and what is not the workspace's is not ours. */
static int
elsewhere(void)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/away", top);
	if (rename("foo", path) != -1 || errno != EXDEV)
		return (1);
	snprintf(path, sizeof(path), "%s/l", top);
	return (rename(path, "x") != -1 || errno != EXDEV ? 2 : 0);
}

static void
test_elsewhere(void **state)
{
	int asked;

	(void)state;
	need();
	assert_int_equal(watched(elsewhere, &asked), 0);
	sh("test -e foo/a && test ! -e x && test ! -e ../away");
}

/* A child that is killed in the middle of its question, many times. */
static int
killed(void)
{
	int i;
	pid_t pid;

	for (i = 0; i < 30; i++) {
		if ((pid = fork()) == 0) {
			for (;;) {
				(void)rename("foo", "foo2");
				(void)rename("foo2", "foo");
			}
		}
		usleep(2000);
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
	return (0);
}

static void
test_killed(void **state)
{
	int asked;

	(void)state;
	need();
	assert_int_equal(watched(killed, &asked), 0);
	assert_true(asked > 30);
	sh("test \"$(cat foo*/deep/bar)\" = x && test $(ls -Ad foo* "
	    ".errand* 2>/dev/null | wc -l) = 1");
}

/* What the command's process does itself, before it is the command. */
static int
own_domain(void)
{
	struct sandbox_path all = { .writable = 1, .exec = 1 };

	if ((all.fd = open("/", O_PATH | O_DIRECTORY)) == -1 ||
	    sandbox_landlock_files(&all, 1) == -1)
		return (1);
	return (rename("foo", "foo2") == -1 ? 2 : 0);
}

static void
test_own_domain(void **state)
{
	int asked;

	(void)state;
	need();
	assert_int_equal(watched(own_domain, &asked), 0);
	assert_int_equal(asked, 1);
}

/* A domain of somebody's who may guess what ours are known by. */
static int
domain(void)
{
	const uint64_t fs = 1 << 4 | 1 << 7; /* removing, making directories */
	uint64_t guess = UINT64_C(7) << 32;
	int fd = (int)syscall(SYS_landlock_create_ruleset, &fs, sizeof(fs), 0);

	if (fd == -1)
		return (errno == ENOSYS || errno == EOPNOTSUPP ? 3 : 1);
	return (syscall(SYS_landlock_restrict_self, guess | (uint32_t)fd,
	    0) == -1 ? 2 : 0);
}

/* The parent is in none, but that cannot be seen. */
static int
fenced(void)
{
	int status, rc;
	pid_t pid;

	if (rename("foo", "foo2") == -1)
		return (10);
	if ((pid = fork()) == 0) {
		if ((rc = domain()) == 0 && (rename("foo2", "foo3") != -1 ||
		    errno != EACCES))
			rc = 4;
		_exit(rc);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return (11);
	if (WEXITSTATUS(status) != 0)
		return (WEXITSTATUS(status));
	return (rename("other", "x") != -1 || errno != EXDEV ? 12 : 0);
}

/* Last, for it stays so. */
static void
test_fenced(void **state)
{
	int asked, rc;

	(void)state;
	need();
	if ((rc = watched(fenced, &asked)) == 3) {
		printf("# needs Landlock\n");
		skip();
	}
	assert_int_equal(rc, 0);
	assert_int_equal(asked, 4);
	sh("test \"$(cat foo2/deep/bar)\" = x && test ! -e foo3");
}

int
main(void)
{
#define TEST(t) cmocka_unit_test_setup(t, setup)
	const struct CMUnitTest tests[] = {
		TEST(test_control), TEST(test_all_of_it), TEST(test_target),
		TEST(test_over_lower), TEST(test_modes), TEST(test_no_room),
		TEST(test_depth), TEST(test_watched), TEST(test_elsewhere),
		TEST(test_killed), TEST(test_own_domain), TEST(test_fenced),
	};

	return (cmocka_run_group_tests_name("rename", tests, group,
	    group_end));
}
