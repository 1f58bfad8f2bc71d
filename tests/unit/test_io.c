#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "io.h"

static int top = -1;            /* a fresh directory for each test */
static char top_path[64];

static int
setup(void **state)
{

	(void)state;
	/* In memory where we can: ten thousand directories are many. */
	snprintf(top_path, sizeof(top_path), "%s/test_io.XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(top_path) == NULL || chmod(top_path, 0755) == -1)
		return (-1);
	top = open(top_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return (top == -1 ? -1 : 0);
}

static int
teardown(void **state)
{

	(void)state;
	io_close(&top);
	return (io_remove_tree(AT_FDCWD, top_path));
}

static void
put_file(int dirfd, const char *name, const char *text)
{
	int fd;

	fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(io_write(fd, text, strlen(text)), 0);
	close(fd);
}

static int
exists(int dirfd, const char *name)
{
	struct stat st;

	return (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0);
}

static void
test_whole(void **state)
{
	char buf[8];
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	assert_int_equal(io_write(p[1], "abcdef", 6), 0);
	assert_int_equal(io_read(p[0], buf, 2), 0);
	assert_int_equal(io_read(p[0], buf + 2, 4), 0);
	assert_memory_equal(buf, "abcdef", 6);
	assert_int_equal(io_write(p[1], "x", 1), 0);
	io_close(&p[1]);
	assert_int_equal(p[1], -1);
	assert_int_equal(io_read(p[0], buf, 2), -1);
	assert_int_equal(errno, EPIPE);
	errno = EIO;
	io_close(&p[0]);
	io_close(&p[0]);
	assert_int_equal(errno, EIO);
}

/* A pipe takes and gives a megabyte in pieces. */
static void
test_pieces(void **state)
{
	static uint8_t out[1 << 20], in[1 << 20];
	size_t i;
	pid_t pid;
	int p[2], status;

	(void)state;
	for (i = 0; i < sizeof(out); i++)
		out[i] = (uint8_t)(i * 7 >> 2);
	assert_int_equal(pipe(p), 0);
	if ((pid = fork()) == 0)
		_exit(io_write(p[1], out, sizeof(out)) == 0 ? 0 : 1);
	assert_int_equal(io_read(p[0], in, sizeof(in)), 0);
	assert_memory_equal(in, out, sizeof(in));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(p[0]);
	close(p[1]);
}

static void
test_positioned(void **state)
{
	char buf[4];
	int fd;

	(void)state;
	fd = openat(top, "f", O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(io_pwrite(fd, "abcd", 4, 10), 0);
	assert_int_equal(io_pread(fd, buf, 4, 10), 0);
	assert_memory_equal(buf, "abcd", 4);
	assert_int_equal(io_pread(fd, buf, 4, 11), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(io_pread(fd, buf, 4, -1), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(io_pwrite(fd, buf, 4, INT64_MAX - 1), -1);
	assert_int_equal(errno, EINVAL);
	close(fd);
}

static void
test_nonblock(void **state)
{
	char c;
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	assert_int_equal(io_nonblock(p[0]), 0);
	assert_int_equal(io_nonblock(p[0]), 0);
	assert_int_equal(read(p[0], &c, 1), -1);
	assert_int_equal(errno, EAGAIN);
	close(p[0]);
	close(p[1]);
	assert_int_equal(io_nonblock(-1), -1);
}

static void
test_clocks(void **state)
{
	uint64_t a, b;

	(void)state;
	a = io_mono_us();
	b = io_mono_us();
	assert_true(a > 0 && b >= a);
	/* After 2020 and before 2100. */
	assert_true(io_real_us() > UINT64_C(1577836800000000));
	assert_true(io_real_us() < UINT64_C(4102444800000000));
}

static void
test_file_read(void **state)
{
	uint8_t *buf;
	size_t len;

	(void)state;
	put_file(top, "f", "0123456789");
	assert_int_equal(io_file_read(top, "f", 10, &buf, &len), 0);
	assert_int_equal(len, 10);
	assert_string_equal((char *)buf, "0123456789");
	free(buf);
	errno = 0;
	assert_int_equal(io_file_read(top, "f", 9, &buf, &len), -1);
	assert_int_equal(errno, EFBIG);

	put_file(top, "empty", "");
	assert_int_equal(io_file_read(top, "empty", 0, &buf, &len), 0);
	assert_int_equal(len, 0);
	assert_string_equal((char *)buf, "");
	free(buf);

	/* A file whose size is a lie. */
	assert_int_equal(io_file_read(AT_FDCWD, "/proc/self/status", 65536,
	    &buf, &len), 0);
	assert_true(len > 512);
	assert_int_equal(strlen((char *)buf), len);
	free(buf);
	assert_int_equal(io_file_read(AT_FDCWD, "/proc/self/status", 100,
	    &buf, &len), -1);
	assert_int_equal(errno, EFBIG);
}

static void
test_file_read_kinds(void **state)
{
	uint8_t *buf;
	size_t len;

	(void)state;
	assert_int_equal(io_file_read(top, "none", 10, &buf, &len), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(mkfifoat(top, "fifo", 0600), 0);
	assert_int_equal(io_file_read(top, "fifo", 10, &buf, &len), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(io_file_read(top, ".", 10, &buf, &len), -1);
	assert_int_equal(errno, EISDIR);
}

static void
assert_content(const char *name, const char *want, mode_t mode)
{
	struct stat st;
	uint8_t *buf;
	size_t len;

	assert_int_equal(io_file_read(top, name, 1000, &buf, &len), 0);
	assert_string_equal((char *)buf, want);
	free(buf);
	assert_int_equal(fstatat(top, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_mode, S_IFREG | mode);
}

static void
test_replace(void **state)
{
	mode_t mask = umask(077);

	(void)state;
	assert_int_equal(io_file_replace(top, "f", 0644, "one", 3), 0);
	assert_content("f", "one", 0644);
	assert_int_equal(io_file_replace(top, "f", 0600, "second", 6), 0);
	assert_content("f", "second", 0600);
	assert_false(exists(top, "f.new"));

	/* What a crash left behind is no obstacle. */
	put_file(top, "f.new", "longer than what comes next");
	assert_int_equal(io_file_replace(top, "f", 0600, "3", 1), 0);
	assert_content("f", "3", 0600);

	assert_int_equal(mkdirat(top, "d", 0755), 0);
	assert_int_equal(io_file_replace(top, "d/g", 0600, "", 0), 0);
	assert_content("d/g", "", 0600);
	umask(mask);
}

static void
test_replace_refused(void **state)
{

	(void)state;
	put_file(top, "victim", "precious");
	assert_int_equal(symlinkat("victim", top, "f.new"), 0);
	assert_int_equal(io_file_replace(top, "f", 0600, "x", 1), -1);
	assert_int_equal(errno, ELOOP);
	assert_content("victim", "precious", 0644);

	assert_int_equal(linkat(top, "victim", top, "g.new", 0), 0);
	assert_int_equal(io_file_replace(top, "g", 0600, "x", 1), -1);
	assert_content("victim", "precious", 0644);

	assert_int_equal(io_file_replace(top, "no/h", 0600, "x", 1), -1);
	assert_int_equal(errno, ENOENT);

	/* A failed rename leaves nothing. */
	assert_int_equal(mkdirat(top, "dir", 0755), 0);
	assert_int_equal(io_file_replace(top, "dir", 0600, "x", 1), -1);
	assert_false(exists(top, "dir.new"));
}

/* Many at once: the file is always one of them, whole. */
static void
test_replace_together(void **state)
{
	char text[64];
	uint8_t *buf;
	size_t len;
	int i, j, status;

	(void)state;
	for (i = 0; i < 8; i++) {
		if (fork() != 0)
			continue;
		memset(text, 'a' + i, sizeof(text));
		for (j = 0; j < 20; j++) {
			if (io_file_replace(top, "f", 0600, text,
			    (size_t)(10 + i)) == -1)
				_exit(1);
		}
		_exit(0);
	}
	for (i = 0; i < 8; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(io_file_read(top, "f", 100, &buf, &len), 0);
	assert_in_range(buf[0], 'a', 'h');
	assert_int_equal(len, 10 + buf[0] - 'a');
	for (i = 0; (size_t)i < len; i++)
		assert_int_equal(buf[i], buf[0]);
	free(buf);
	assert_false(exists(top, "f.new"));
}

static void
test_remove_simple(void **state)
{

	(void)state;
	assert_int_equal(io_remove_tree(top, "none"), 0);
	put_file(top, "file", "x");
	assert_int_equal(io_remove_tree(top, "file"), 0);
	assert_false(exists(top, "file"));
	assert_int_equal(mkdirat(top, "d", 0755), 0);
	assert_int_equal(io_remove_tree(top, "d"), 0);
	assert_false(exists(top, "d"));
	assert_int_equal(io_remove_tree(top, "none/d"), 0);
}

static void
test_remove_links(void **state)
{

	(void)state;
	assert_int_equal(mkdirat(top, "outside", 0755), 0);
	put_file(top, "outside/keep", "x");
	assert_int_equal(mkdirat(top, "d", 0755), 0);
	assert_int_equal(mkdirat(top, "d/sub", 0755), 0);
	assert_int_equal(symlinkat("../outside", top, "d/link"), 0);
	assert_int_equal(symlinkat("../../outside", top, "d/sub/link"), 0);
	assert_int_equal(symlinkat("/", top, "d/root"), 0);
	assert_int_equal(symlinkat("nowhere", top, "d/dangling"), 0);
	assert_int_equal(mkfifoat(top, "d/fifo", 0600), 0);
	assert_int_equal(io_remove_tree(top, "d"), 0);
	assert_false(exists(top, "d"));
	assert_true(exists(top, "outside/keep"));

	assert_int_equal(symlinkat("outside", top, "toplink"), 0);
	assert_int_equal(io_remove_tree(top, "toplink"), 0);
	assert_false(exists(top, "toplink"));
	assert_true(exists(top, "outside/keep"));
}

/* As an ordinary user, for whom modes mean something. */
static int
remove_locked(void)
{
	int fd;

	if (geteuid() == 0 && (setresgid(12345, 12345, 12345) == -1 ||
	    setresuid(12345, 12345, 12345) == -1))
		return (1);
	if (mkdirat(top, "d", 0755) == -1 || mkdirat(top, "d/a", 0755) == -1 ||
	    mkdirat(top, "d/a/b", 0755) == -1 ||
	    mkdirat(top, "d/a/b/c", 0) == -1 ||
	    mkdirat(top, "d/full", 0755) == -1)
		return (2);
	if ((fd = openat(top, "d/full/f", O_CREAT | O_WRONLY, 0)) == -1)
		return (3);
	close(fd);
	if (fchmodat(top, "d/a/b", 0, 0) == -1 ||
	    fchmodat(top, "d/a", 0400, 0) == -1 ||
	    fchmodat(top, "d/full", 0500, 0) == -1 ||
	    fchmodat(top, "d", 0100, 0) == -1)
		return (4);
	if (io_remove_tree(top, "d") == -1)
		return (5);
	return (exists(top, "d") ? 6 : 0);
}

static void
test_remove_locked(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(fchmod(top, 0777), 0);
	if ((pid = fork()) == 0)
		_exit(remove_locked());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void
make_deep(const char *name, int depth)
{
	int fd, next, i;

	assert_int_equal(mkdirat(top, name, 0755), 0);
	fd = openat(top, name, O_RDONLY | O_DIRECTORY);
	assert_true(fd >= 0);
	for (i = 0; i < depth; i++) {
		if (mkdirat(fd, "x", 0755) == -1 || (i % 100 == 0 &&
		    mkdirat(fd, "y", 0755) == -1))
			fail();
		put_file(fd, "f", "x");
		next = openat(fd, "x", O_RDONLY | O_DIRECTORY);
		assert_true(next >= 0);
		close(fd);
		fd = next;
	}
	close(fd);
}

static int
open_count(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 1024; fd++) {
		if (fcntl(fd, F_GETFD) != -1)
			n++;
	}
	return (n);
}

static void
test_remove_deep(void **state)
{
	int before = open_count();

	(void)state;
	make_deep("deep", 10000);
	assert_int_equal(io_remove_tree(top, "deep"), 0);
	assert_false(exists(top, "deep"));
	assert_int_equal(open_count(), before);
}

static void
test_remove_wide(void **state)
{
	char name[32];
	int i;

	(void)state;
	assert_int_equal(mkdirat(top, "w", 0755), 0);
	for (i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "w/%d", i);
		assert_int_equal(mkdirat(top, name, 0755), 0);
		snprintf(name, sizeof(name), "w/%d/f", i);
		put_file(top, name, "x");
	}
	assert_int_equal(io_remove_tree(top, "w"), 0);
	assert_false(exists(top, "w"));
}

/* In a root that is no mount point, private is what it must be already. */
static int
mounts_private(void)
{
	uint8_t *buf;
	size_t len;
	int shared;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
		return (1);
	if (io_file_read(AT_FDCWD, "/proc/self/mountinfo", 1 << 24, &buf,
	    &len) == -1)
		return (0);
	shared = strstr((char *)buf, " shared:") != NULL;
	free(buf);
	return (!shared);
}

/* A mount in the tree, of the same file system, is left alone. */
static int
remove_mounted(void)
{

	if (unshare(CLONE_NEWNS) == -1 || !mounts_private() ||
	    chdir(top_path) == -1 ||    /* top is in the other namespace */
	    mount("outside", "d/m", NULL, MS_BIND, NULL) == -1)
		return (77);
	if (io_remove_tree(AT_FDCWD, "d") != -1 || errno != EBUSY)
		return (1);
	return (exists(top, "outside/keep") ? 0 : 2);
}

static void
test_remove_mount(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(mkdirat(top, "outside", 0755), 0);
	put_file(top, "outside/keep", "x");
	assert_int_equal(mkdirat(top, "d", 0755), 0);
	assert_int_equal(mkdirat(top, "d/m", 0755), 0);
	if ((pid = fork()) == 0)
		_exit(remove_mounted());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_whole),
		T(test_pieces),
		T(test_positioned),
		T(test_nonblock),
		T(test_clocks),
		T(test_file_read),
		T(test_file_read_kinds),
		T(test_replace),
		T(test_replace_refused),
		T(test_replace_together),
		T(test_remove_simple),
		T(test_remove_links),
		T(test_remove_locked),
		T(test_remove_deep),
		T(test_remove_wide),
		T(test_remove_mount),
	};
#undef T

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
