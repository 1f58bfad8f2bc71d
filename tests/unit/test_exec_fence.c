#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

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
#include <unistd.h>

#include <cmocka.h>

#include "lib/log.h"
#include "lib/sandbox.h"
#include "worker-exec/sandbox.h"

/*
 * The fence of a keeper that has handed its job in: what it can do no more, and
 * that it still can do its work.
 */

static char dir[] = "/tmp/errand-fence-XXXXXX";
static pid_t other;     /* a process outside */

static int
refused(long rc, int err)
{

	return (rc == -1 && (errno == err || errno == EPERM));
}

static int
processes(void)
{
	static char *argv[] = { NULL };

	return (refused(fork(), ENOSYS) && refused(vfork(), ENOSYS) &&
	    refused(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), ENOSYS) &&
	    refused(syscall(SYS_clone3, NULL, 0), ENOSYS) &&
	    refused(execve("/bin/true", argv, argv), ENOSYS) &&
	    refused(syscall(SYS_execveat, AT_FDCWD, "/bin/true", argv, argv,
	    0), ENOSYS));
}

static int
namespaces(void)
{

	return (refused(unshare(CLONE_NEWUSER), ENOSYS) &&
	    refused(setns(0, 0), ENOSYS) &&
	    refused(mount("/", "/", NULL, MS_BIND, NULL), ENOSYS) &&
	    refused(umount2("/", MNT_DETACH), ENOSYS) &&
	    refused(syscall(SYS_pivot_root, ".", "."), ENOSYS) &&
	    refused(syscall(SYS_fsopen, "tmpfs", 0), ENOSYS) &&
	    refused(syscall(SYS_fsmount, 0, 0, 0), ENOSYS) &&
	    refused(syscall(SYS_open_tree, AT_FDCWD, "/", 0), ENOSYS) &&
	    refused(syscall(SYS_move_mount, 0, "", 0, "", 0), ENOSYS) &&
	    refused(chroot("/"), ENOSYS));
}

static int
strangers(void)
{
	struct iovec iov = { &iov, sizeof(iov) };

	return (refused(socket(AF_UNIX, SOCK_STREAM, 0), ENOSYS) &&
	    refused(socket(AF_INET, SOCK_STREAM, 0), ENOSYS) &&
	    refused(ptrace(PTRACE_ATTACH, other, NULL, NULL), ENOSYS) &&
	    refused(process_vm_readv(other, &iov, 1, &iov, 1, 0), ENOSYS) &&
	    refused(syscall(SYS_pidfd_getfd, 0, 0, 0), ENOSYS) &&
	    refused(syscall(SYS_bpf, 0, NULL, 0), ENOSYS) &&
	    refused(syscall(SYS_io_uring_setup, 1, NULL), ENOSYS) &&
	    refused(setresuid(0, 0, 0), ENOSYS));
}

/* Landlock's part, where the filter lets the call through. */
static int
devices(void)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/device", dir);
	return (refused(mknod(path, S_IFCHR | 0600, 0), EACCES) ||
	    errno == ENOSYS);
}

/* What its work needs. */
static int
work(void)
{
	char from[128], to[128];
	int fd, d = open(dir, O_RDONLY | O_DIRECTORY);

	(void)snprintf(from, sizeof(from), "%s/a/f", dir);
	(void)snprintf(to, sizeof(to), "%s/b/f", dir);
	return (d != -1 && mkdirat(d, "a", 0700) == 0 &&
	    mkdirat(d, "b", 0700) == 0 &&
	    (fd = open(from, O_RDWR | O_CREAT, 0600)) != -1 &&
	    write(fd, "x", 1) == 1 && ftruncate(fd, 0) == 0 &&
	    sync_file_range(fd, 0, 1, SYNC_FILE_RANGE_WRITE) == 0 &&
	    posix_fadvise(fd, 0, 1, POSIX_FADV_DONTNEED) == 0 &&
	    fdatasync(fd) == 0 && rename(from, to) == 0 &&
	    unlink(to) == 0 && unlinkat(d, "a", AT_REMOVEDIR) == 0 &&
	    unlinkat(d, "b", AT_REMOVEDIR) == 0 &&
	    memfd_create("m", MFD_ALLOW_SEALING) != -1);
}

/* It ends those whom it forked before. */
static int
ends(void)
{

	return (kill(other, 0) == -1 && errno == ENOSYS &&
	    syscall(SYS_pidfd_send_signal, 100, SIGKILL, NULL, 0) == 0);
}

/* In a fenced process; its exit status is 0 when ${fn} is content. */
static void
fenced(int (*fn)(void))
{
	struct exec_filters f;
	struct sandbox_path p = { .writable = 1 };
	int status, pidfd;
	pid_t pid;

	if ((other = fork()) == 0) {
		for (;;)
			pause();
	}
	if ((pid = fork()) == 0) {
		pidfd = (int)syscall(SYS_pidfd_open, other, 0);
		if (pidfd == -1 || dup2(pidfd, 100) == -1)
			_exit(3);
		exec_fence(&f);
		p.fd = open(dir, O_RDONLY | O_DIRECTORY);
		if (sandbox_landlock_light(&p, 1) == -1 ||
		    sandbox_install(f.late) == -1)
			_exit(2);
		_exit(fn() ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)kill(other, SIGKILL);
	assert_int_equal(waitpid(other, NULL, 0), other);
	assert_int_equal(status, 0);
}

static void test_processes(void **s) { (void)s; fenced(processes); }
static void test_namespaces(void **s) { (void)s; fenced(namespaces); }
static void test_strangers(void **s) { (void)s; fenced(strangers); }
static void test_devices(void **s) { (void)s; fenced(devices); }
static void test_work(void **s) { (void)s; fenced(work); }
static void test_ends(void **s) { (void)s; fenced(ends); }

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_namespaces),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_work),
		cmocka_unit_test(test_ends),
	};
	int rc;

	log_init("test", LOG_LEVEL_ERROR);
	if (mkdtemp(dir) == NULL)
		return (1);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(dir);
	return (rc);
}
