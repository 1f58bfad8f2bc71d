#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
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
#include <seccomp.h>

#include "io.h"
#include "sandbox.h"

#define NOBODY  65534
#define ALLOW(name) { .nr = SCMP_SYS(name), .act = SANDBOX_ALLOW }
#define SOFT(name, e) { .nr = SCMP_SYS(name), .act = SANDBOX_ERRNO, .err = (e) }
#define ARG32(a, v) .masked = 1, .arg = (a), .mask = 0xffffffff, .value = (v)
#define NITEMS(x) (sizeof(x) / sizeof((x)[0]))

/* How a child that ran ${fn} ended: its status, or 1000 + a signal. */
static int
in_child(int (*fn)(void))
{
	int status;
	pid_t pid;

	if ((pid = fork()) == 0) {
		/* The test library catches these, and would go on from here. */
		signal(SIGSEGV, SIG_DFL);
		signal(SIGSYS, SIG_DFL);
		/* Not _exit: sanitizers do things there that we forbade. */
		syscall(SYS_exit_group, fn());
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return (WIFSIGNALED(status) ? 1000 + WTERMSIG(status) :
	    WEXITSTATUS(status));
}

#define DIED    (1000 + SIGSYS)

static const struct sandbox_rule small[] = {
	ALLOW(write),
	SOFT(openat, EACCES),
	SOFT(socket, EPERM),
	/* Two values of the first argument, and softly nothing else. */
	{ .nr = SCMP_SYS(kill), .act = SANDBOX_ALLOW, ARG32(1, 0) },
	{ .nr = SCMP_SYS(kill), .act = SANDBOX_ALLOW, ARG32(1, 64) },
	SOFT(kill, ENOTTY),
	/* Everything but one: the general rule comes first on purpose. */
	ALLOW(ioctl),
	{ .nr = SCMP_SYS(ioctl), .act = SANDBOX_ERRNO, .err = EPERM,
	    ARG32(1, TIOCSTI) },
	/* All 64 bits, and nothing else about lseek. */
	{ .nr = SCMP_SYS(lseek), .act = SANDBOX_ALLOW, .masked = 1, .arg = 1,
	    .mask = UINT64_MAX, .value = UINT64_C(0x100000002) },
};

static void
fence(enum sandbox_default def)
{

	if (sandbox_seccomp(small, NITEMS(small), def) == -1)
		_exit(99);
}

/* The errno of a call that must fail, or 0. */
static int
err_of(long rc)
{

	return (rc == -1 ? errno : 0);
}

static int
allowed(void)
{

	fence(SANDBOX_KILL);
	if (err_of(syscall(SYS_write, -1, "", 1)) != EBADF)
		return (1);
	if (err_of(syscall(SYS_openat, -1, "x", 0)) != EACCES)
		return (2);
	if (err_of(syscall(SYS_socket, -1, -1, -1)) != EPERM)
		return (3);
	return (0);
}

static int
unnamed(void)
{

	fence(SANDBOX_KILL);
	syscall(SYS_dup, -1);
	return (0);
}

static void
test_actions(void **state)
{

	(void)state;
	assert_int_equal(in_child(allowed), 0);
	assert_int_equal(in_child(unnamed), DIED);
}

static int
soft_only(void)
{
	static const struct sandbox_rule rules[] = {
		ALLOW(exit_group),
		SOFT(openat, EACCES),
		SOFT(dup, ENOSYS),      /* the default, said aloud */
	};

	if (sandbox_seccomp(rules, NITEMS(rules), SANDBOX_ENOSYS) == -1)
		return (99);
	if (err_of(syscall(SYS_openat, -1, "x", 0)) != EACCES)
		return (1);
	if (err_of(syscall(SYS_dup, 0)) != ENOSYS)
		return (2);
	if (err_of(syscall(SYS_getppid)) != ENOSYS ||
	    err_of(syscall(100000, 1)) != ENOSYS)
		return (3);
	return (0);
}

static void
test_enosys(void **state)
{

	(void)state;
	assert_int_equal(in_child(soft_only), 0);
}

/* The kernel looks at 32 bits of these arguments; so must the filter. */
static int
masked(void)
{
	const unsigned long high = 0xabcdef0100000000UL;

	fence(SANDBOX_KILL);
	if (err_of(syscall(SYS_ioctl, -1, (unsigned long)TIOCSTI, "x")) !=
	    EPERM)
		return (1);
	if (err_of(syscall(SYS_ioctl, -1, TIOCSTI | high, "x")) != EPERM)
		return (2);
	if (err_of(syscall(SYS_ioctl, -1, (unsigned long)TIOCGWINSZ, "x")) !=
	    EBADF)
		return (3);
	if (err_of(syscall(SYS_kill, 0, 0L)) != 0)
		return (4);
	if (err_of(syscall(SYS_kill, 0x7fffffffL, 64 | high)) != ESRCH)
		return (5);
	if (err_of(syscall(SYS_kill, 0x7fffffffL, 1L)) != ENOTTY)
		return (6);
	if (err_of(syscall(SYS_kill, 0x7fffffffL, 1 | high)) != ENOTTY)
		return (7);
	if (err_of(syscall(SYS_lseek, -1, 0x100000002L, 0)) != EBADF)
		return (8);
	return (0);
}

static int
masked_low(void)
{

	fence(SANDBOX_KILL);
	syscall(SYS_lseek, -1, 0x000000002L, 0);
	return (0);
}

static int
masked_high(void)
{

	fence(SANDBOX_KILL);
	syscall(SYS_lseek, -1, 0x100000003L, 0);
	return (0);
}

static void
test_masked(void **state)
{

	(void)state;
	assert_int_equal(in_child(masked), 0);
	assert_int_equal(in_child(masked_low), DIED);
	assert_int_equal(in_child(masked_high), DIED);
}

static void
on_signal(int sig)
{

	(void)sig;
}

/* An allocator's life, a signal and a clock, with a table that says nothing. */
static int
libc_life(void)
{
	void *p[64];
	void *q;
	size_t i;

	signal(SIGALRM, on_signal);
	if (sandbox_seccomp(NULL, 0, SANDBOX_KILL) == -1)
		return (99);
	for (i = 0; i < NITEMS(p); i++) {
		if ((p[i] = malloc((size_t)1 << (i % 24))) == NULL)
			return (1);
		memset(p[i], 1, (size_t)1 << (i % 24));
	}
	for (i = 0; i < NITEMS(p); i++) {
		if ((q = realloc(p[i], (size_t)3 << (i % 24))) == NULL)
			return (2);
		p[i] = q;
	}
	for (i = 0; i < NITEMS(p); i++)
		free(p[i]);
	if (io_mono_us() == 0 || io_real_us() == 0)
		return (3);
	if (getpid() <= 0)
		return (4);
	return (0);
}

static int
exec_memory(void)
{

	if (sandbox_seccomp(NULL, 0, SANDBOX_KILL) == -1)
		return (99);
	mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
	    -1, 0);
	return (0);
}

/* The table's word on a call goes before ours. */
static int
exec_memory_soft(void)
{
	static const struct sandbox_rule rules[] = {
		SOFT(mprotect, EACCES),
	};

	if (sandbox_seccomp(rules, 1, SANDBOX_KILL) == -1)
		return (99);
	return (err_of(syscall(SYS_mprotect, NULL, 0, PROT_READ)) == EACCES ?
	    0 : 1);
}

static void
test_base(void **state)
{

	(void)state;
	assert_int_equal(in_child(libc_life), 0);
	assert_int_equal(in_child(exec_memory), DIED);
	assert_int_equal(in_child(exec_memory_soft), 0);
}

#ifdef __x86_64__
/* getpid by its number in x32, and by the one of 32-bit programs. */
static int
foreign_x32(void)
{

	fence(SANDBOX_KILL);
	syscall(0x40000000 + SYS_getpid);
	return (0);
}

static int
foreign_i386(void)
{
	long rc;

	fence(SANDBOX_KILL);
	__asm__ volatile ("int $0x80" : "=a"(rc) : "a"(20L) : "memory");
	return (0);
}

static int
foreign_x32_enosys(void)
{

	fence(SANDBOX_ENOSYS);
	syscall(0x40000000 + SYS_write, -1, "", 1);
	return (0);
}
#endif

static void
test_foreign(void **state)
{

	(void)state;
#ifdef __x86_64__
	assert_int_equal(in_child(foreign_x32), DIED);
	assert_int_equal(in_child(foreign_x32_enosys), DIED);
	/* Without 32-bit emulation the kernel ends it by SIGSEGV. */
	assert_true(in_child(foreign_i386) >= 1000);
#else
	skip();
#endif
}

static void
test_compile(void **state)
{
	static const struct sandbox_rule bad[] = {
		{ .nr = 1, .masked = 1, .arg = 6 },
		{ .nr = 1, .masked = 1, .arg = 1, .mask = 1, .value = 2 },
		{ .nr = 1, .act = SANDBOX_ERRNO, .err = 0 },
		{ .nr = 1, .act = SANDBOX_ERRNO, .err = 5000 },
	};
	static struct sandbox_rule many[4096];
	struct sock_fprog prog;
	size_t i;

	(void)state;
	for (i = 0; i < NITEMS(bad); i++) {
		errno = 0;
		assert_int_equal(sandbox_compile(&bad[i], 1, SANDBOX_KILL,
		    &prog), -1);
		assert_int_equal(errno, EINVAL);
	}
	assert_int_equal(sandbox_compile(small, NITEMS(small), SANDBOX_KILL,
	    &prog), 0);
	assert_true(prog.len > NITEMS(small));
	assert_int_equal(prog.filter[prog.len - 1].k,
	    SECCOMP_RET_KILL_PROCESS);
	free(prog.filter);

	/* Too long for the kernel: said at once, not cut off. */
	for (i = 0; i < NITEMS(many); i++) {
		many[i].nr = (int)i;
		many[i].act = SANDBOX_ERRNO;
		many[i].err = 1 + (int)(i % 2);
	}
	assert_int_equal(sandbox_compile(many, NITEMS(many), SANDBOX_KILL,
	    &prog), -1);
	assert_int_equal(errno, E2BIG);
}

/* What a program says of a call, as the kernel would run it. */
static uint32_t
verdict(const struct sock_fprog *prog, const struct seccomp_data *d)
{
	const struct sock_filter *i = prog->filter;
	uint32_t a = 0, x = 0;

	for (;; i++) {
		assert_true(i < prog->filter + prog->len);
		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			memcpy(&a, (const char *)d + i->k, sizeof(a));
			break;
		case BPF_LD | BPF_IMM:
			a = i->k;
			break;
		case BPF_MISC | BPF_TAX:
			x = a;
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_ALU | BPF_RSH | BPF_X:
			assert_true(x < 32);
			a >>= x;
			break;
		case BPF_JMP | BPF_JA:
			i += i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			i += a == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			i += a >= i->k ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			return (i->k);
		default:
			fail_msg("instruction %#x", i->code);
		}
	}
}

/* Both forms say the same of every call. */
static void
same(const struct sandbox_rule *rules, size_t n, enum sandbox_default def)
{
	struct seccomp_data d = { .arch = seccomp_arch_native() };
	struct sock_fprog a, b;
	uint64_t arg;

	assert_int_equal(sandbox_compile(rules, n, def, &a), 0);
	assert_int_equal(sandbox_compile_short(rules, n, def, &b), 0);
	for (d.nr = 0; d.nr < 1100; d.nr++) {
		for (arg = 0; arg < 4; arg++) {
			d.args[1] = arg | arg << 32;
			assert_int_equal(verdict(&a, &d), verdict(&b, &d));
		}
	}
	d.nr = 0x40000000;
	assert_int_equal(verdict(&a, &d), verdict(&b, &d));
	d.nr = -1;
	assert_int_equal(verdict(&a, &d), verdict(&b, &d));
	d.nr = 0;
	d.arch = ~d.arch;
	assert_int_equal(verdict(&b, &d), SECCOMP_RET_KILL_PROCESS);
	free(a.filter);
	free(b.filter);
}

static void
test_short(void **state)
{
	static const int tops[] = { 1, 31, 32, 33, 64, 470, 1024 };
	struct sandbox_rule rules[200];
	struct sock_fprog prog;
	size_t i, n, round;

	(void)state;
	srandom(5);
	for (round = 0; round < 140; round++) {
		memset(rules, 0, sizeof(rules));
		n = (size_t)random() % NITEMS(rules);
		for (i = 0; i < n; i++) {
			rules[i].nr = (int)(random() % tops[round % 7]);
			if (i % 8 != 0)
				continue;
			rules[i].masked = 1;
			rules[i].arg = 1;
			rules[i].mask = i % 16 ? 3 : UINT64_C(3) << 32 | 3;
			rules[i].value = (uint64_t)random() & rules[i].mask;
			rules[i].act = i % 32 ? SANDBOX_ALLOW : SANDBOX_ERRNO;
			rules[i].err = EDOM;
		}
		same(rules, n, round % 2 ? SANDBOX_KILL : SANDBOX_ENOSYS);
	}

	/* What it has no form for. */
	rules[0] = (struct sandbox_rule)SOFT(lseek, EDOM);
	assert_int_equal(sandbox_compile_short(rules, 1, SANDBOX_KILL, &prog),
	    -1);
	assert_int_equal(errno, EINVAL);
	rules[0] = (struct sandbox_rule){ .nr = 1024 };
	assert_int_equal(sandbox_compile_short(rules, 1, SANDBOX_KILL, &prog),
	    -1);
	assert_int_equal(errno, E2BIG);
}

/* Compiled before the fork, installed after, more masks than a jump reaches. */
static struct sock_fprog long_prog;

static int
long_block(void)
{

	if (sandbox_install(&long_prog) == -1)
		return (99);
	if (err_of(syscall(SYS_lseek, -1, 299L, 0)) != EBADF)
		return (1);
	if (err_of(syscall(SYS_lseek, -1, 300L, 0)) != EDOM)
		return (2);
	if (err_of(syscall(SYS_dup, -1)) != EBADF)
		return (3);
	return (0);
}

static void
test_long_block(void **state)
{
	struct sandbox_rule rules[302];
	size_t i;

	(void)state;
	memset(rules, 0, sizeof(rules));
	for (i = 0; i < 300; i++) {
		rules[i] = (struct sandbox_rule){ .nr = SCMP_SYS(lseek),
		    ARG32(1, i) };
	}
	rules[300] = (struct sandbox_rule)SOFT(lseek, EDOM);
	rules[301] = (struct sandbox_rule)ALLOW(dup);
	assert_int_equal(sandbox_compile(rules, 302, SANDBOX_KILL,
	    &long_prog), 0);
	assert_int_equal(in_child(long_block), 0);
	free(long_prog.filter);
}

static char dir[64];            /* with in/f and out/f */
static int abi;                 /* what a child said of the kernel */

static int
ask_abi(void)
{
	int rc = sandbox_landlock(NULL, 0);

	return (rc == -1 ? 99 : rc);
}

static void
put_file(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT, 0755);
	assert_true(fd >= 0);
	assert_int_equal(io_write(fd, "#!/bin/sh\n", 10), 0);
	close(fd);
}

static int
landlock_setup(void **state)
{
	char path[128];

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/test_sandbox.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return (-1);
	snprintf(path, sizeof(path), "%s/in", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/out", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	put_file("in/f");
	put_file("out/f");
	abi = in_child(ask_abi);
	assert_int_not_equal(abi, 99);
	return (0);
}

static int
landlock_teardown(void **state)
{

	(void)state;
	return (io_remove_tree(AT_FDCWD, dir));
}

/* Try to open ${name} in our directory.  0, or errno. */
static int
try(const char *name, int flags)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if ((fd = open(path, flags | O_CLOEXEC, 0600)) == -1)
		return (errno);
	close(fd);
	return (0);
}

static void
restrict_to(const char *name, int writable, int exec)
{
	struct sandbox_path p = { .writable = writable, .exec = exec };
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	p.fd = open(path, O_PATH | O_CLOEXEC);
	if (p.fd == -1 || sandbox_landlock(&p, 1) < 2)
		_exit(99);
	close(p.fd);
}

static int
read_only(void)
{

	restrict_to("in", 0, 0);
	if (try("in/f", O_RDONLY) != 0 || try("in", O_RDONLY) != 0)
		return (1);
	if (try("out/f", O_RDONLY) != EACCES || try("out", O_RDONLY) != EACCES)
		return (2);
	if (open("/etc/passwd", O_RDONLY) != -1 || errno != EACCES)
		return (3);
	if (try("in/f", O_WRONLY) != EACCES)
		return (4);
	if (try("in/new", O_WRONLY | O_CREAT) != EACCES)
		return (5);
	return (0);
}

static int
read_write(void)
{
	char from[128], to[128];

	restrict_to("in", 1, 0);
	if (try("in/f", O_RDWR) != 0 ||
	    try("in/new", O_RDWR | O_CREAT | O_TRUNC) != 0)
		return (1);
	snprintf(from, sizeof(from), "%s/in/new", dir);
	snprintf(to, sizeof(to), "%s/out/new", dir);
	if (rename(from, to) != -1)
		return (2);
	snprintf(to, sizeof(to), "%s/in/d", dir);
	if (mkdir(to, 0755) == -1)
		return (3);
	/* REFER: between directories, inside. */
	snprintf(to, sizeof(to), "%s/in/d/new", dir);
	if (rename(from, to) == -1)
		return (4);
	if (try("out/f", O_WRONLY) != EACCES)
		return (5);
	execl(to, to, (char *)NULL);
	return (errno == EACCES ? 0 : 6);
}

static int
one_file(void)
{

	restrict_to("in/f", 1, 1);
	if (try("in/f", O_RDWR) != 0)
		return (1);
	return (try("out/f", O_RDONLY) == EACCES ? 0 : 2);
}

static int
nothing(void)
{

	if (sandbox_landlock(NULL, 0) < 2)
		return (99);
	if (open("/", O_RDONLY | O_DIRECTORY) != -1 || errno != EACCES)
		return (1);
	return (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 2);
}

static void
test_landlock(void **state)
{

	(void)state;
	if (abi == 0)
		skip();
	assert_in_range(abi, 2, 7);
	assert_int_equal(in_child(read_only), 0);
	assert_int_equal(in_child(read_write), 0);
	assert_int_equal(in_child(one_file), 0);
	assert_int_equal(in_child(nothing), 0);
}

static int
net_forbidden(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	int fd;

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return (77);
	if (sandbox_landlock(NULL, 0) < 4)
		return (99);
	if (bind(fd, (struct sockaddr *)&in, sizeof(in)) != -1 ||
	    errno != EACCES)
		return (1);
	in.sin_port = htons(9);
	if (connect(fd, (struct sockaddr *)&in, sizeof(in)) != -1 ||
	    errno != EACCES)
		return (2);
	return (0);
}

static int
scope_forbidden(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	socklen_t len;
	int fd, srv;

	srv = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* Autobind: an abstract name that nobody else has. */
	len = sizeof(un.sun_family);
	if (srv == -1 || fd == -1 ||
	    bind(srv, (struct sockaddr *)&un, len) == -1 ||
	    listen(srv, 1) == -1)
		return (77);
	len = sizeof(un);
	if (getsockname(srv, (struct sockaddr *)&un, &len) == -1)
		return (77);
	if (kill(getppid(), 0) == -1)
		return (77);
	if (sandbox_landlock(NULL, 0) < 6)
		return (99);
	if (connect(fd, (struct sockaddr *)&un, len) != -1 || errno != EPERM)
		return (1);
	if (kill(getppid(), 0) != -1 || errno != EPERM)
		return (2);
	return (kill(getpid(), 0) == 0 ? 0 : 3);
}

static void
test_landlock_net(void **state)
{

	(void)state;
	if (abi < 4)
		skip();
	assert_int_equal(in_child(net_forbidden), 0);
}

static void
test_landlock_scope(void **state)
{

	(void)state;
	if (abi < 6)
		skip();
	assert_int_equal(in_child(scope_forbidden), 0);
}

static int
landlock_bad_fd(void)
{
	struct sandbox_path p = { .fd = -1 };

	return (sandbox_landlock(&p, 1) == -1 && errno == EBADF ? 0 : 1);
}

static void
test_landlock_bad(void **state)
{

	(void)state;
	if (abi == 0)
		skip();
	assert_int_equal(in_child(landlock_bad_fd), 0);
}

/* Is every Cap line of our own status zero, the bounding set included? */
static int
caps_zero(int bounding)
{
	uint8_t *buf;
	char *p;
	size_t len;
	int rc = 1;

	if (io_file_read(AT_FDCWD, "/proc/thread-self/status", 65536, &buf,
	    &len) == -1)
		return (0);
	for (p = (char *)buf; (p = strstr(p, "\nCap")) != NULL; p += 4) {
		if (strncmp(p, "\nCapBnd:", 8) == 0 && !bounding)
			continue;
		if (strncmp(p + 8, "\t0000000000000000\n", 18) != 0)
			rc = 0;
	}
	free(buf);
	return (rc);
}

static int
drop_root(void)
{
	gid_t groups[3] = { 1, 2, 3 };
	uid_t r, e, s;

	if (setgroups(3, groups) == -1)
		return (98);
	if (sandbox_drop(NOBODY, NOBODY) == -1)
		return (99);
	if (getresuid(&r, &e, &s) == -1 || r != NOBODY || e != NOBODY ||
	    s != NOBODY)
		return (1);
	if (getresgid(&r, &e, &s) == -1 || r != NOBODY || e != NOBODY ||
	    s != NOBODY)
		return (2);
	if (getgroups(0, NULL) != 0)
		return (3);
	if (!caps_zero(1))
		return (4);
	if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0 ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return (5);
	/* noroot, no_setuid_fixup, keep_caps and ambient: set and locked. */
	if ((prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) & 0xef) != 0xef)
		return (6);
	if (setuid(0) != -1 || setresuid(0, 0, 0) != -1 || setgid(0) != -1 ||
	    seteuid(0) != -1 || setgroups(1, groups) != -1)
		return (7);
	return (0);
}

static void
test_drop_root(void **state)
{

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(in_child(drop_root), 0);
}

/* An ordinary user: with its ids it works, with others it must not. */
static int
drop_user(void)
{
	unsigned int uid = NOBODY, gid = NOBODY;

	if (geteuid() != 0) {
		uid = geteuid();
		gid = getegid();
	} else if (setgroups(0, NULL) == -1 || setresgid(gid, gid, gid) == -1 ||
	    setresuid(uid, uid, uid) == -1)
		return (98);
	if (sandbox_drop(uid + 1, gid) != -1 || errno != EPERM)
		return (1);
	if (sandbox_drop(uid, gid) == -1)
		return (99);
	if (!caps_zero(0) || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 ||
	    prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		return (2);
	return (sandbox_drop(uid, gid) == 0 ? 0 : 3);
}

static int
drop_refused(void)
{

	if (sandbox_drop(0, 1) != -1 || errno != EINVAL)
		return (1);
	errno = 0;
	if (sandbox_drop(1, 0) != -1 || errno != EINVAL)
		return (2);
	if (sandbox_drop(UINT32_MAX, 1) != -1 ||
	    sandbox_drop(1, UINT32_MAX) != -1)
		return (3);
	return (0);
}

static void
test_drop_user(void **state)
{

	(void)state;
	assert_int_equal(in_child(drop_user), 0);
	assert_int_equal(in_child(drop_refused), 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test(f)
#define L(f) cmocka_unit_test_setup_teardown(f, landlock_setup, \
	landlock_teardown)
	const struct CMUnitTest tests[] = {
		T(test_actions),
		T(test_enosys),
		T(test_masked),
		T(test_base),
		T(test_foreign),
		T(test_compile),
		T(test_short),
		T(test_long_block),
		L(test_landlock),
		L(test_landlock_net),
		L(test_landlock_scope),
		L(test_landlock_bad),
		T(test_drop_root),
		T(test_drop_user),
	};
#undef L
#undef T

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
