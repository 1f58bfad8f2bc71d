/*
 * errand-exec where it has less than root on a host: as an ordinary user, and
 * as root in a chroot.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "objset.h"
#include "exec_stand.h"
#include "exec_tree.h"

#define ORDINARY 64190

static const char tree[] =
    "d 755 d\n"
    "f 644 d/x = x\n"
    "f 644 f = one\n";

/* One job that looks and writes; returns 0 when all was as it should be. */
static void
one_job(struct stand *s, int as_root)
{
	static const char *const argv[] = { "sh", "-c", "id -u; cat d/x; "
	    "printf two >f; rm -r d; mkdir d; touch d/y; "
	    "touch /usr/x 2>/dev/null && echo bad; set -- /proc/[0-9]*; "
	    "echo $#; cut -d: -f1 -s /proc/net/dev | tr -d ' '", NULL };
	struct stand_job j = { .argv = argv, .as_root = (uint8_t)as_root };
	struct stand_out o;
	char *text;
	int i;

	for (i = 0; i < 3; i++) {
		j.root = ttree_make(&s->store, tree);
		stand_run(s, &j, &o);
		if (o.result.err.code != ERR_NONE)
			print_message("%s\n", o.result.err.text);
		assert_string_equal((char *)o.out[0], as_root ?
		    "0\nx2\nlo\n" : "1000\nx2\nlo\n");
		assert_int_equal(o.result.exit_code, 0);
		assert_int_equal(o.result.err.code, ERR_NONE);
		assert_int_equal(o.gone, 0);
		text = ttree_changes(&s->store, &o.result.changes.list,
		    o.result.changes.digest);
		assert_string_equal(text, "D d/x\nA d/y\nM f\n");
		free(text);
		stand_out_done(&o);
	}
}

/* Run ${fn} in a process of its own: it changes what it is for ever. */
static void
apart(void (*fn)(void))
{
	int status;
	pid_t pid;

	if ((pid = fork()) == 0) {
		fn();
		exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0)
		fail_msg("ended with %#x", (unsigned int)status);
}

static void
rootless(void)
{
	static struct stand s;

	if (geteuid() == 0) {
		assert_int_equal(setgroups(0, NULL), 0);
		assert_int_equal(setresgid(ORDINARY, ORDINARY, ORDINARY), 0);
		assert_int_equal(setresuid(ORDINARY, ORDINARY, ORDINARY), 0);
	}
	stand_start(&s, 1);
	assert_int_equal(s.hello.u.hello.userns, 1);
	one_job(&s, 0);
	one_job(&s, 1);
	assert_int_equal(stand_stop(&s), 0);
}

/* In a chroot nobody can make a user namespace, root included. */
static int
in_chroot(void)
{
	int status;
	pid_t pid;

	if ((pid = fork()) == 0)
		_exit(unshare(CLONE_NEWUSER) == -1);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return (status != 0);
}

static void
test_rootless(void **state)
{

	(void)state;
	if (in_chroot()) {
		print_message("# needs user namespaces: not in a chroot\n");
		skip();
	}
	apart(rootless);
}

static void
root_bind(const char *root, const char *name, int rec)
{
	char path[256], target[256];
	struct stat sb;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s%s", root, name);
	if (lstat(name, &sb) == -1)
		return;
	if (S_ISLNK(sb.st_mode)) {
		n = readlink(name, target, sizeof(target) - 1);
		assert_true(n > 0);
		target[n] = '\0';
		assert_int_equal(symlink(target, path), 0);
		return;
	}
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(mount(name, path, NULL, MS_BIND | (rec ? MS_REC : 0),
	    NULL), 0);
}

/* We are in one: errand-exec has to find its way out. */
static void
here(void)
{
	static struct stand s;

	stand_start(&s, 0);
	assert_int_equal(s.hello.u.hello.userns, 1);
	one_job(&s, 0);
	one_job(&s, 1);
	assert_int_equal(stand_stop(&s), 0);
}

/* A root of binds: no mount of the host's root directory is seen in it. */
static void
chrooted(void)
{
	static const char *const names[] = { "/usr", "/bin", "/sbin", "/lib",
	    "/lib32", "/lib64", "/etc", "/dev", "/proc", "/sys" };
	static struct stand s;
	char root[] = "/tmp/errand-chroot.XXXXXX", tmp[128], bin[256];
	char build[256];
	size_t i;

	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_non_null(mkdtemp(root));
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		root_bind(root, names[i], strcmp(names[i], "/usr") == 0);
	(void)snprintf(tmp, sizeof(tmp), "%s/tmp", root);
	assert_int_equal(mkdir(tmp, 0755), 0);
	(void)snprintf(tmp, sizeof(tmp), "%s/build", root);
	assert_int_equal(mkdir(tmp, 0755), 0);
	stand_program(build, sizeof(build));
	*strrchr(build, '/') = '\0';
	(void)snprintf(bin, sizeof(bin), "%s/build/bin", root);
	assert_int_equal(mkdir(bin, 0755), 0);
	assert_int_equal(mount(build, bin, NULL, MS_BIND, NULL), 0);
	assert_int_equal(setenv("ERRAND_BUILD", "/build", 1), 0);
	assert_int_equal(chroot(root), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(unshare(CLONE_NEWUSER), -1);
	stand_start(&s, 0);
	assert_int_equal(s.hello.u.hello.userns, 1);
	one_job(&s, 0);
	one_job(&s, 1);
	assert_int_equal(stand_stop(&s), 0);
}

static void
test_chroot(void **state)
{

	(void)state;
	if (geteuid() != 0) {
		print_message("# needs root\n");
		skip();
	}
	apart(in_chroot() ? here : chrooted);
	assert_int_equal(system("rm -rf --one-file-system "
	    "/tmp/errand-chroot.*"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rootless),
		cmocka_unit_test(test_chroot),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
