/*
 * What a sandbox costs, beside posix_spawn, bwrap and a bare clone3 in the same
 * run: claims of sandboxes that are ready (P10), sandboxes in a second (P11),
 * the same on a host with many mounts (P12).
 *
 * Usage: sandbox_bench [-d directory] [-r rounds] [-s seconds] [-m mounts]
 *	    [-n number] [-o file] [kind]
 *
 * With a kind, that alone, to look into it; without, all, and the ratios.
 * With a number, that many at once (up to 16) alone.
 * Each round has five bursts of each kind, and one rate of so many seconds, for
 * 1, 4 and 16 at once; the kinds take turns.  Needs root and bubblewrap.
 */
#include <sys/socket.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "lib/log.h"
#include "supervisor/jobs.h"
#include "worker-exec/ns.h"
#include "tests/bench/bench.h"
#include "tests/bench/sandbox_load.h"
#include "tests/bench/sandbox_bare.h"
#include "tests/unit/objset.h"
#include "tests/unit/exec_stand.h"
#include "tests/bench/sandbox_side.h"

#define BURSTS          5

static struct bench b;
static size_t rounds = 5;
static double seconds = 1;
static unsigned int mounts = 300;
static const char *dir = "/var/tmp", *out, *only;

/* The supervisor's calls that are not its own here: see sandbox_side.h. */

int
__wrap_job_msg_in(struct job *j, const struct job_msg *m, int *fds, size_t n)
{
	(void)fds;
	(void)n;
	return (side_msg(j, m));
}

void
__wrap_job_keeper_lost(struct job *j, const char *why)
{
	(void)j;
	fail_msg("a sandbox was lost: %s", why);
}

void
__wrap_jobs_exec_lost(struct jobs *js)
{
	(void)js;
}

static pid_t
true_start(unsigned int slot)
{
	static char *argv[] = { (char *)(uintptr_t)"true", NULL };

	(void)slot;
	return (load_spawn("/bin/true", argv));
}

static pid_t
bwrap_start(unsigned int slot)
{
	static const char *const argv[] = { "bwrap", "--unshare-all",
	    "--die-with-parent", "--ro-bind", "/usr", "/usr", "--symlink",
	    "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink",
	    "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev",
	    "--tmpfs", "/tmp", "true", NULL };

	(void)slot;
	return (load_spawn("/usr/bin/bwrap", (char *const *)(uintptr_t)argv));
}

static void
true_serve(int fd, const char *at, unsigned int more)
{
	struct load_peer p = { .start = true_start };

	(void)at;
	(void)more;
	load_peer_serve(&p, fd);
}

static void
bwrap_serve(int fd, const char *at, unsigned int more)
{
	struct load_peer p = { .start = bwrap_start };

	load_mounts(at, more);
	load_peer_serve(&p, fd);
}

static struct kind {
	const char *name;
	void (*serve)(int, const char *, unsigned int);
	int more;               /* with the mounts */
	pid_t pid;
	int fd;
	char dir[128];
} kinds[] = {
	{ "posix_spawn", true_serve, 0, -1, -1, "" },
	{ "bwrap", bwrap_serve, 0, -1, -1, "" },
	{ "clone3", bare_serve, 0, -1, -1, "" },
	{ "errand", side_serve, 0, -1, -1, "" },
	{ "bwrap, more mounts", bwrap_serve, 1, -1, -1, "" },
	{ "clone3, more mounts", bare_serve, 1, -1, -1, "" },
	{ "errand, more mounts", side_serve, 1, -1, -1, "" },
};

static size_t nkinds = sizeof(kinds) / sizeof(kinds[0]);

static void
kinds_choose(void)
{
	size_t i;

	for (i = 0; only != NULL && i < nkinds; i++) {
		if (strcmp(kinds[i].name, only) == 0) {
			kinds[0] = kinds[i];
			nkinds = 1;
		}
	}
	assert_true(only == NULL || nkinds == 1);
}

static void
kind_start(struct kind *k)
{
	int sv[2];
	size_t i;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
	    sv), 0);
	(void)snprintf(k->dir, sizeof(k->dir), "%s/errand-bench.XXXXXX", dir);
	assert_non_null(mkdtemp(k->dir));
	assert_int_equal(chmod(k->dir, 0755), 0);
	(void)fflush(stdout);
	if ((k->pid = fork()) == 0) {
		for (i = 0; i < nkinds; i++)
			io_close(&kinds[i].fd);
		close(sv[0]);
		k->serve(sv[1], k->dir, k->more ? mounts : 0);
		_exit(0);
	}
	assert_true(k->pid > 0);
	close(sv[1]);
	k->fd = sv[0];
}

static void
kind_stop(struct kind *k)
{
	int status;

	io_close(&k->fd);
	assert_int_equal(waitpid(k->pid, &status, 0), k->pid);
	assert_int_equal(status, 0);
	(void)io_remove_tree(AT_FDCWD, k->dir);
}

static const char *
named(const struct kind *k, unsigned int n, const char *what)
{
	static char name[96];

	(void)snprintf(name, sizeof(name), "%s, %u at once, %s", k->name, n,
	    what);
	return (name);
}

static struct load_answer
ask(struct kind *k, enum load_what what, unsigned int n)
{
	struct load_order o = { .what = what, .n = n, .seconds = seconds };
	struct load_answer a;

	assert_int_equal(write(k->fd, &o, sizeof(o)), sizeof(o));
	if (read(k->fd, &a, sizeof(a)) != (ssize_t)sizeof(a))
		fail_msg("%s has ended", k->name);
	return (a);
}

static void
burst(struct kind *k, unsigned int n)
{
	struct load_answer a = ask(k, LOAD_BURST, n);

	bench_add(&b, named(k, n, "ms"), a.all);
	if (k->serve == side_serve)
		bench_add(&b, named(k, n, "ms to the command's end"),
		    a.command);
}

static unsigned int many[] = { 1, 4, LOAD_MANY };
static size_t nmany = sizeof(many) / sizeof(many[0]);

/* There and back again, so that none is always the first. */
static void
turn(size_t round, unsigned int n)
{
	size_t i, k;

	for (i = 0; i < BURSTS; i++) {
		for (k = 0; k < nkinds; k++)
			burst(&kinds[i % 2 == 0 ? k : nkinds - 1 - k], n);
	}
	for (k = 0; k < nkinds; k++) {
		i = round % 2 == 0 ? k : nkinds - 1 - k;
		bench_add(&b, named(&kinds[i], n, "a second"),
		    ask(&kinds[i], LOAD_RATE, n).all);
	}
}

static double
median(const char *kind, unsigned int n, const char *what)
{
	struct kind k = { .name = kind };

	return (bench_median(&b, named(&k, n, what)));
}

static void
ratios(unsigned int n)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "P10 claim / posix_spawn, %u", n);
	bench_ratio(&b, name, median("errand", n, "ms") /
	    median("posix_spawn", n, "ms"), 1.5, 0);
	(void)snprintf(name, sizeof(name), "P10 to the command's end, %u", n);
	bench_ratio(&b, name, median("errand", n, "ms to the command's end") /
	    median("posix_spawn", n, "ms"), 1.5, 0);
	(void)snprintf(name, sizeof(name), "P11 rate / clone3's, %u", n);
	bench_ratio(&b, name, median("errand", n, "a second") /
	    median("clone3", n, "a second"), 0.8, 1);
	(void)snprintf(name, sizeof(name), "P12 rate with mounts / rate, %u",
	    n);
	bench_ratio(&b, name, median("errand, more mounts", n, "a second") /
	    median("errand", n, "a second"), 0.95, 1);
}

static void
show(unsigned int n)
{
	size_t k;

	for (k = 0; k < nkinds; k++) {
		bench_show(&b, named(&kinds[k], n, "ms"));
		if (kinds[k].serve == side_serve)
			bench_show(&b, named(&kinds[k], n,
			    "ms to the command's end"));
		bench_show(&b, named(&kinds[k], n, "a second"));
	}
	if (only == NULL)
		ratios(n);
}

static double
load_average(void)
{
	double v[1] = { -1 };

	(void)getloadavg(v, 1);
	return (v[0]);
}

/* As a test, so that what goes wrong is named. */
static void
run(void **state)
{
	size_t i, k;

	(void)state;
	kinds_choose();
	bench_init(&b, 0);
	bench_fact(&b, "load average before", load_average());
	bench_fact(&b, "mounts more", mounts);
	for (k = 0; k < nkinds; k++)
		kind_start(&kinds[k]);
	for (i = 0; i < rounds; i++) {
		for (k = 0; k < nmany; k++)
			turn(i, many[k]);
	}
	for (k = 0; k < nmany; k++)
		show(many[k]);
	for (k = 0; k < nkinds; k++)
		kind_stop(&kinds[k]);
	bench_done(&b, out);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(run) };
	int opt;

	while ((opt = getopt(argc, argv, "d:r:s:m:n:o:")) != -1) {
		switch (opt) {
		case 'd':
			dir = optarg;
			break;
		case 'r':
			rounds = strtoul(optarg, NULL, 10);
			break;
		case 's':
			seconds = strtod(optarg, NULL);
			break;
		case 'm':
			mounts = (unsigned int)strtoul(optarg, NULL, 10);
			break;
		case 'n':
			many[0] = (unsigned int)strtoul(optarg, NULL, 10);
			nmany = 1;
			break;
		case 'o':
			out = optarg;
			break;
		default:
			return (100);
		}
	}
	only = argv[optind];
	log_init("bench", LOG_LEVEL_WARN);
	if (rounds == 0 || many[0] == 0 || many[0] > LOAD_MANY ||
	    geteuid() != 0 || sodium_init() == -1)
		return (100);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
