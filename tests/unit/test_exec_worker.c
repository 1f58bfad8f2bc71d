#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "worker-exec/command.h"
#include "worker-exec/preexec.h"
#include "objset.h"
#include "exec_stand.h"
#include "exec_tree.h"

static struct stand st;

#define SH(script) { "sh", "-c", (script), NULL }

static void
show(const struct stand_out *o)
{

	if (o->result.err.code != ERR_NONE)
		print_message("%s\n", o->result.err.text);
	if (o->len[1] > 0)
		print_message("%s", (char *)o->out[1]);
}

/* Run a script and compare what it says. */
static void
says(const struct stand_job *base, const char *script, const char *want)
{
	const char *const argv[] = SH(script);
	struct stand_job j = *base;
	struct stand_out o;

	j.argv = argv;
	stand_run(&st, &j, &o);
	if (o.result.exit_code != 0 || strcmp((char *)o.out[0], want) != 0) {
		show(&o);
		fail_msg("%s: %u \"%s\", not \"%s\"", script,
		    o.result.exit_code, (char *)o.out[0], want);
	}
	assert_int_equal(o.result.err.code, ERR_NONE);
	assert_int_equal(o.gone, 0);
	stand_out_done(&o);
}

static const struct stand_job plain = { .argv = NULL };

static void
test_exit_codes(void **state)
{
	char script[32];
	const char *const argv[] = SH(script);
	struct stand_job j = { .argv = argv };
	struct stand_out o;
	int i;

	(void)state;
	for (i = 0; i < 256; i += i < 3 || i > 250 ? 1 : 31) {
		(void)snprintf(script, sizeof(script), "exit %d", i);
		stand_run(&st, &j, &o);
		show(&o);
		assert_int_equal(o.result.err.code, ERR_NONE);
		assert_int_equal(o.result.ran, 1);
		assert_int_equal(o.result.exit_code, i);
		assert_int_equal(o.result.signal, 0);
		assert_int_equal(o.started, 1);
		assert_int_equal(o.ended, 1);
		assert_int_equal(o.gone, 0);
		stand_out_done(&o);
	}
}

static void
test_signals(void **state)
{
	static const int sigs[] = { SIGSEGV, SIGKILL, SIGTERM, SIGHUP,
	    SIGABRT };
	char script[32];
	const char *const argv[] = SH(script);
	struct stand_job j = { .argv = argv };
	struct stand_out o;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++) {
		(void)snprintf(script, sizeof(script), "kill -%d $$", sigs[i]);
		stand_run(&st, &j, &o);
		assert_int_equal(o.result.ran, 1);
		assert_int_equal(o.result.signal, sigs[i]);
		stand_out_done(&o);
	}
}

static void
test_not_executed(void **state)
{
	static const char tree[] =
	    "f 755 bin = \x7f" "ELF, or not\n"
	    "d 755 dir\n"
	    "f 644 noexec = #!/bin/sh\n"
	    "f 755 plain = echo hello\n";
	static const struct {
		const char *cmd;
		const char *workdir;
		int code;
		int err;
	} cases[] = {
		{ "./missing", "", 127, ERR_NOT_FOUND },
		{ "no-such-command", "", 127, ERR_NOT_FOUND },
		{ "", "", 127, ERR_NOT_FOUND },
		{ "./noexec", "", 126, ERR_DENIED },
		{ "./dir", "", 126, ERR_DENIED },
		{ "./plain", "", 126, ERR_DENIED },
		{ "./bin", "", 126, ERR_DENIED },
		{ "true", "nowhere", 120, ERR_INVALID },
		{ "true", "plain", 120, ERR_INVALID },
	};
	const char *argv[] = { NULL, NULL };
	struct stand_job j = { .argv = argv };
	struct stand_out o;
	size_t i;

	(void)state;
	j.root = ttree_make(&st.store, tree);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		argv[0] = cases[i].cmd;
		j.workdir = cases[i].workdir;
		stand_run(&st, &j, &o);
		assert_int_equal(o.result.ran, 0);
		assert_int_equal(o.started, 0);
		assert_int_equal(o.result.exit_code, cases[i].code);
		assert_int_equal(o.result.err.code, cases[i].err);
		assert_non_null(strstr(o.result.err.text, cases[i].code ==
		    120 ? cases[i].workdir : cases[i].cmd));
		assert_true(obj_ref_equal(&o.result.changes.root, &j.root));
		stand_out_done(&o);
	}
}

static void
test_argv(void **state)
{
	static const char *const argv[] = { "printf", "[%s]", "", "a  b",
	    "$HOME", "*", "it's", "x;y", "\xff\n", NULL };
	struct stand_job j = { .argv = argv };
	struct stand_out o;

	(void)state;
	stand_run(&st, &j, &o);
	assert_string_equal((char *)o.out[0],
	    "[][a  b][$HOME][*][it's][x;y][\xff\n]");
	stand_out_done(&o);
}

/* How long what is handed in gets. */
static size_t
image_len(const char *const *argv)
{
	struct job_spec spec = { .argv = (char **)(uintptr_t)argv };
	struct command_facts f = { .job = "aaaaaaaaaaaaaaaa" };
	struct command_image im;
	const char *why;

	while (spec.argv[spec.argc] != NULL)
		spec.argc++;
	assert_int_equal(command_pack(&spec, &f, &im, &why), 0);
	free(im.p);
	return (im.len);
}

/* A short command comes in a message, a longer one beside it. */
static void
test_long_command(void **state)
{
	static char arg[100001];
	static const char *const argv[] = { "/bin/sh", "-c", "echo ${#1}",
	    "sh", arg, NULL };
	struct stand_job j = { .argv = argv };
	struct stand_out o;
	size_t i, room, n[5];
	char want[16];

	(void)state;
	room = GATE_IMAGE - image_len(argv);
	n[0] = 0;
	n[1] = room - 1;
	n[2] = room;
	n[3] = room + 1;
	n[4] = sizeof(arg) - 1;
	for (i = 0; i < 5; i++) {
		memset(arg, 'x', n[i]);
		arg[n[i]] = '\0';
		stand_run(&st, &j, &o);
		(void)snprintf(want, sizeof(want), "%zu\n", n[i]);
		assert_string_equal((char *)o.out[0], want);
		stand_out_done(&o);
	}
}

static void
test_environment(void **state)
{
	static const char *const names[] = { "FOO", "LANG", NULL };
	static const char values[] = "FOO=b a\nr\0LANG=de_DE";
	static const char wrong[] = "FOO=1\0BAR=2";
	static const char *const argv[] = SH("env | sort; env -i /usr/bin/env");
	struct stand_job j = { .argv = argv, .env = names, .values = values,
	    .values_len = sizeof(values) };
	struct stand_out o;
	char want[1024];

	(void)state;
	stand_run(&st, &j, &o);
	show(&o);
	(void)snprintf(want, sizeof(want), "ERRAND_JOB=%s\n"
	    "ERRAND_WORKSPACE=/workspace\nFOO=b a\nHOME=/home/runner\n"
	    "LANG=de_DE\nLOGNAME=runner\n"
	    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
	    "/sbin:/bin\nPWD=/workspace\nSHELL=/bin/sh\n"
	    "TERM=dumb\nTMPDIR=/tmp\nUSER=runner\nr\n", o.id);
	assert_string_equal((char *)o.out[0], want);
	stand_out_done(&o);

	j.values = wrong;
	j.values_len = sizeof(wrong);
	stand_run(&st, &j, &o);
	assert_int_equal(o.result.ran, 0);
	assert_int_equal(o.result.err.code, ERR_INVALID);
	stand_out_done(&o);
}

static void
test_output(void **state)
{
	static const char *const argv[] = SH(
	    "head -c 3000000 /dev/zero; echo err >&2; "
	    "(sleep 0.02; echo late) & exit 3");
	static const int sizes[] = { 0, 1, 1000, 65536, 1048577 };
	char script[64];
	const char *const argv2[] = SH(script);
	struct stand_job j = { .argv = argv };
	struct stand_out o;
	size_t i;

	(void)state;
	stand_run(&st, &j, &o);
	assert_int_equal(o.result.exit_code, 3);
	assert_int_equal(o.len[0], 3000000 + 5);
	assert_string_equal((char *)o.out[1], "err\n");
	assert_int_equal(o.result.log.bytes, 3000000 + 5 + 4);
	assert_int_equal(o.result.log.complete, 1);
	stand_out_done(&o);

	j.argv = argv2;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		(void)snprintf(script, sizeof(script),
		    "exec head -c %d /dev/zero", sizes[i]);
		stand_run(&st, &j, &o);
		assert_int_equal(o.len[0], sizes[i]);
		stand_out_done(&o);
	}
	j.limits.log_bytes = 100000;
	(void)snprintf(script, sizeof(script), "seq 1 100000");
	stand_run(&st, &j, &o);
	assert_int_equal(o.result.exit_code, 0);
	assert_int_equal(o.result.log.truncated, 1);
	assert_int_equal(o.result.log.stdout_bytes, 588895);
	stand_out_done(&o);
}

static void
test_identity(void **state)
{
	struct stand_job root = { .as_root = 1 };

	(void)state;
	says(&plain, "id -u; id -un; id -g; id -G; id -gn",
	    "1000\nrunner\n1000\n1000\nrunner\n");
	says(&root, "id -u; id -un; echo $USER; id -G", "0\nroot\nroot\n0\n");
	says(&plain, "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' "
	    "/proc/self/status", "CapEff:\t0000000000000000\n"
	    "CapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n");
	says(&plain, "ulimit -Sn; ulimit -c; umask; hostname; cat /proc/1/comm",
	    "1024\n0\n0022\nerrand\nerrand-init\n");
	says(&plain, "cat /proc/self/cgroup | cut -d: -f3 | sort -u", "/\n");
}

static void
test_descriptors(void **state)
{

	(void)state;
	says(&plain, "ls /proc/$$/fd; true", "0\n1\n2\n");
	says(&plain, "readlink /proc/$$/fd/0; cat", "/dev/null\n");
}

static void
test_view(void **state)
{

	(void)state;
	says(&plain, "ls /; cd /; ls -a /home /root /workspace",
	    "bin\ndev\netc\nhome\nlib\nlib32\nlib64\nmnt\nopt\nproc\nroot\n"
	    "run\nsbin\nsrv\nsys\ntmp\nusr\nvar\nworkspace\n"
	    "/home:\n.\n..\nrunner\n\n/root:\n.\n..\n\n/workspace:\n.\n..\n");
	says(&plain, "cat /etc/shadow 2>/dev/null || echo no", "no\n");
	says(&plain, "for d in /tmp /var/tmp /dev/shm /run $HOME .; do "
	    "cp /bin/true $d/t && $d/t || echo bad $d; rm $d/t; done", "");
	says(&plain, "for d in /usr /etc /dev /bin/ /lib/ /sys /proc /opt / "
	    "/etc/alternatives; do touch $d/x 2>/dev/null && echo bad $d; "
	    "done; true", "");
	says(&plain, "for d in null zero full random urandom tty; do "
	    "test -c /dev/$d || echo bad $d; done; echo x >/dev/null; "
	    "head -c 2 /dev/urandom | wc -c; ls /dev",
	    "2\nfd\nfull\nmqueue\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\n"
	    "stdout\ntty\nurandom\nzero\n");
	says(&plain, "stat -c %a /tmp /var/tmp /dev/shm /run $HOME",
	    "1777\n1777\n1777\n755\n755\n");
	says(&plain, "set -- /proc/[0-9]*; echo $#; ls /sys",
	    "2\ndevices\n");
	says(&plain, "bash -c 'cat <(echo a) >/dev/stdout'", "a\n");
	says(&plain, "for f in sys/kernel/core_pattern sysrq-trigger keys "
	    "sys/kernel/hostname irq/default_smp_affinity; do "
	    "(echo 1 >/proc/$f) 2>/dev/null && test -f /proc/$f && "
	    "echo bad $f; done; cat /proc/kcore /proc/timer_list /proc/keys "
	    "2>/dev/null | wc -c; cat /proc/self/uid_map",
	    "0\n      1000          0          1\n");
	says(&plain, "python3 -c 'import multiprocessing as m,os,pty; "
	    "m.Lock(); pty.openpty(); print(os.sched_getaffinity(0) != 0)'",
	    "True\n");
}

static void
test_network(void **state)
{
	struct stand_job host = { .net = JOB_NET_HOST };

	(void)state;
	says(&plain, "cut -d: -f1 -s /proc/net/dev | tr -d ' '", "lo\n");
	says(&plain, "python3 -c 'import socket as k\n"
	    "for h in \"127.0.0.1\", \"::1\":\n"
	    " s=k.create_server((h,0),family=k.AF_INET6 if \":\" in h else "
	    "k.AF_INET)\n"
	    " k.create_connection(s.getsockname()[:2],3)\n"
	    "try: k.socket(40)\n"
	    "except OSError: print(\"ok\")'", "ok\n");
	says(&host, "python3 -c 'import socket as k\n"
	    "k.socketpair()\n"
	    "try: k.socket(k.AF_UNIX)\n"
	    "except PermissionError: print(\"ok\")'; "
	    "cut -d: -f1 -s /proc/net/dev | grep -c lo; "
	    "test -s /etc/resolv.conf -o ! -s /etc/hosts || echo x",
	    "ok\n1\n");
}

static void
test_refused_calls(void **state)
{
	static const char script[] =
	    "import ctypes, threading\n"
	    "t=threading.Thread(target=int); t.start(); t.join()\n"
	    "l=ctypes.CDLL(None,use_errno=True)\n"
	    "def c(*a):\n"
	    " r=l.syscall(*a)\n"
	    " return ctypes.get_errno() if r==-1 else 0\n"
	    "print(c(999), c(435,0,0), c(272,0x10000000), c(165,0,0,0,0,0),"
	    " c(56,0x10000011,0,0,0,0), c(321,0,0,0), c(425,0,0),"
	    " c(16,0,0x5412,0), c(16,0,ctypes.c_ulong(0x100005412),0),"
	    " c(161,b'/'), c(308,-1,0), c(323,0), c(250,0), c(298,0,0,0,0,0),"
	    " c(304,0,0,0), c(169,0,0,0,0))";
	const char *const argv[] = { "python3", "-c", script, NULL };
	struct stand_job j = { .argv = argv };
	struct stand_out o;
	int as_root;

	(void)state;
	for (as_root = 0; as_root < 2; as_root++) {
		j.as_root = (uint8_t)as_root;
		stand_run(&st, &j, &o);
		show(&o);
#ifdef __x86_64__
		assert_string_equal((char *)o.out[0],
		    "38 38 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n");
#endif
		stand_out_done(&o);
	}
}

static void
test_init_is_out_of_reach(void **state)
{
	struct stand_job root = { .as_root = 1 };
	static const char script[] =
	    "kill -9 1 2>/dev/null; kill -TERM 1 2>/dev/null; "
	    "cat /proc/1/environ 2>/dev/null && echo env; "
	    "ls /proc/1/fd 2>/dev/null && echo fds; "
	    "readlink /proc/1/exe && echo exe; "
	    "python3 -c 'import ctypes; print(ctypes.CDLL(None).ptrace("
	    "16,1,0,0))'; sleep 0.01; echo alive";

	(void)state;
	says(&plain, script, "-1\nalive\n");
	says(&root, script, "-1\nalive\n");
}

static const char tree_text[] =
    "d 755 a\n"
    "f 644 a/one = 1\n"
    "d 700 a/sub\n"
    "f 600 a/sub/deep = deep\n"
    "l 777 a/up = ../z\n"
    "f 644 big = @300000\n"
    "d 755 empty\n"
    "f 755 run = #!/bin/sh\n"
    "f 644 z = last\n";

static void
test_tree(void **state)
{
	struct stand_job j = { .root = ttree_make(&st.store, tree_text) };

	(void)state;
	says(&j, "find . -printf '%y %m %p %l %T@ %u\\n' | sort -k3 | "
	    "sed 1d; cat z a/one a/up a/sub/deep; wc -c <big; "
	    "md5sum <big >/dev/null; pwd",
	    "d 755 ./a  1234567890.1234567890 runner\n"
	    "f 644 ./a/one  1234567890.1234567890 runner\n"
	    "d 700 ./a/sub  1234567890.1234567890 runner\n"
	    "f 600 ./a/sub/deep  1234567890.1234567890 runner\n"
	    "l 777 ./a/up ../z 1234567890.1234567890 runner\n"
	    "f 644 ./big  1234567890.1234567890 runner\n"
	    "d 755 ./empty  1234567890.1234567890 runner\n"
	    "f 755 ./run  1234567890.1234567890 runner\n"
	    "f 644 ./z  1234567890.1234567890 runner\n"
	    "last1lastdeep300000\n/workspace\n");
	j.workdir = "a/sub";
	says(&j, "pwd; ls", "/workspace/a/sub\ndeep\n");
}

/* Many objects: batches, several under way, lists of chunks. */
static void
test_large_tree(void **state)
{
	struct stand_job j = { .argv = NULL };
	char *text, *p;
	int d, f;

	(void)state;
	assert_non_null(text = p = malloc(1 << 20));
	for (d = 0; d < 30; d++) {
		p += sprintf(p, "d 755 d%02d\n", d);
		for (f = 0; f < 40; f++)
			p += sprintf(p, "f 644 d%02d/f%02d = %d of %d\n", d,
			    f, f, d);
	}
	p += sprintf(p, "f 600 huge = @20000000\nf 600 z = end\n");
	j.root = ttree_make(&st.store, text);
	free(text);
	says(&j, "find . -type f | wc -l; cat d*/* | wc -c; "
	    "tail -c 3 huge | od -An -tx1 | wc -w; wc -c <huge; cat z",
	    "1202\n8900\n3\n20000000\nend");
	says(&j, "cat d29/f39 z", "39 of 29end");
}

static void
test_at_once(void **state)
{
	static const char *const argv[] = SH("cat f; echo $ERRAND_JOB >>f");
	struct stand_job j[12];
	struct stand_out o[12];
	size_t i;

	(void)state;
	memset(j, 0, sizeof(j));
	for (i = 0; i < 12; i++) {
		j[i].argv = argv;
		j[i].root = ttree_make(&st.store, i % 3 == 0 ?
		    "f 644 f = at once\n" : "f 644 f = at once too\n");
	}
	stand_run_many(&st, j, o, 12);
	for (i = 0; i < 12; i++) {
		show(&o[i]);
		assert_int_equal(o[i].result.err.code, ERR_NONE);
		assert_int_equal(o[i].result.changes.count, 1);
		assert_int_equal(o[i].gone, 0);
		assert_string_equal((char *)o[i].out[0], i % 3 == 0 ?
		    "at once" : "at once too");
		stand_out_done(&o[i]);
	}
}

/* Here without a cgroup: the second wall alone. */
static void
test_pids_limit(void **state)
{
	static const char *const argv[] = SH("for i in $(seq 40); do "
	    "sleep 5 & done; echo no");
	struct stand_job j = { .argv = argv, .limits.pids = 5 };
	struct stand_out o;

	(void)state;
	stand_run(&st, &j, &o);
	assert_int_not_equal(o.result.exit_code, 0);
	assert_string_equal((char *)o.out[0], "");
	stand_out_done(&o);
}

/* What a script changes, as a list, and that the tree after agrees. */
static void
changes(const char *before, const char *script, const char *list,
    const char *after)
{
	const char *const argv[] = SH(script);
	struct stand_job j = { .argv = argv };
	unsigned int puts = st.puts;
	struct stand_out o;
	char *text;

	if (before != NULL)
		j.root = ttree_make(&st.store, before);
	stand_run(&st, &j, &o);
	show(&o);
	assert_int_equal(o.result.exit_code, 0);
	assert_int_equal(o.result.err.code, ERR_NONE);
	assert_int_equal(o.result.changes.complete, 1);
	text = ttree_changes(&st.store, &o.result.changes.list,
	    o.result.changes.digest);
	if (strcmp(text, list) != 0)
		fail_msg("%s: changes\n%snot\n%s", script, text, list);
	free(text);
	text = ttree_text(&st.store, &o.result.changes.root);
	if (strcmp(text, after) != 0)
		fail_msg("%s: tree\n%snot\n%s", script, text, after);
	free(text);
	if (list[0] == '\0') {
		assert_int_equal(puts, st.puts);
		assert_int_equal(o.result.changes.count, 0);
		assert_true(obj_ref_equal(&o.result.changes.root, &j.root));
	}
	stand_out_done(&o);
}

static const char small[] =
    "d 755 d\n"
    "f 644 d/x = x\n"
    "f 644 f = one\n"
    "l 777 l = f\n"
    "f 644 z = z\n";

static void
test_no_change(void **state)
{

	(void)state;
	changes(small, "true", "", small);
	changes(small, "touch f d l; touch -h l", "", small);
	changes(small, ": >>f; chmod 600 f; chmod 644 f", "", small);
	changes(small, "cp f g; cat g >f; rm g", "", small);
	changes(small, "mv f g; mv g f", "", small);
	changes(small, "rm d/x; printf x >d/x", "", small);
	changes(small, "mkdir .git .GIT d/.Git; echo 1 >.git/x", "", small);
	changes(small, "mkfifo p; touch q; rm q", "", small);
	changes(NULL, "true", "", "");
	changes(NULL, "touch x; rm x", "", "");
}

static void
test_changes(void **state)
{

	(void)state;
	changes(small, "printf new >n", "A n\n",
	    "d 755 d\nf 644 d/x = x\nf 644 f = one\nl 777 l = f\n"
	    "f 644 n = new\nf 644 z = z\n");
	changes(small, "printf two >f", "M f\n",
	    "d 755 d\nf 644 d/x = x\nf 644 f = two\nl 777 l = f\n"
	    "f 644 z = z\n");
	changes(small, "printf two >>f; chmod 4755 f", "M f\n",
	    "d 755 d\nf 644 d/x = x\nf 755 f = onetwo\nl 777 l = f\n"
	    "f 644 z = z\n");
	changes(small, "chmod 700 d f", "C d\nC f\n",
	    "d 700 d\nf 644 d/x = x\nf 700 f = one\nl 777 l = f\n"
	    "f 644 z = z\n");
	changes(small, "rm f; rm -r d", "D d\nD d/x\nD f\n",
	    "l 777 l = f\nf 644 z = z\n");
	changes(small, "mv f g", "D f\nA g\n",
	    "d 755 d\nf 644 d/x = x\nf 644 g = one\nl 777 l = f\n"
	    "f 644 z = z\n");
	changes(small, "mv d e", "D d\nD d/x\nA e\nA e/x\n",
	    "d 755 e\nf 644 e/x = x\nf 644 f = one\nl 777 l = f\n"
	    "f 644 z = z\n");
	changes(small, "rm -r d; mkdir d; printf y >d/y", "D d/x\nA d/y\n",
	    "d 755 d\nf 644 d/y = y\nf 644 f = one\nl 777 l = f\n"
	    "f 644 z = z\n");
	changes(small, "rm z; mv f z", "D f\nM z\n",
	    "d 755 d\nf 644 d/x = x\nl 777 l = f\nf 644 z = one\n");
	changes(small, "ln -sfn z l; ln -s a b", "A b\nM l\n",
	    "l 777 b = a\nd 755 d\nf 644 d/x = x\nf 644 f = one\n"
	    "l 777 l = z\nf 644 z = z\n");
	changes(small, "rm -r d; printf d >d; rm f; mkdir f; touch f/y; "
	    "rm l; printf l >l",
	    "T d\nD d/x\nT f\nA f/y\nT l\n",
	    "f 644 d = d\nd 755 f\nf 644 f/y = \nf 644 l = l\n"
	    "f 644 z = z\n");
	changes(small, "rm z; mkfifo z; mkdir -p n/e", "A n\nA n/e\nD z\n",
	    "d 755 d\nf 644 d/x = x\nf 644 f = one\nl 777 l = f\n"
	    "d 755 n\nd 755 n/e\n");
	changes(small, "touch .wh.f .wh..wh..opq",
	    "A .wh..wh..opq\nA .wh.f\n",
	    "f 644 .wh..wh..opq = \nf 644 .wh.f = \n"
	    "d 755 d\nf 644 d/x = x\nf 644 f = one\nl 777 l = f\n"
	    "f 644 z = z\n");
	changes("f 644 a = 1\n", "rm a", "D a\n", "");
	changes(NULL, "mkdir -p a/b; printf 1 >a/b/c; printf 2 >a-b; "
	    "mknod w c 0 0 2>/dev/null; rm -f w",
	    "A a\nA a-b\nA a/b\nA a/b/c\n",
	    "d 755 a\nd 755 a/b\nf 644 a/b/c = 1\nf 644 a-b = 2\n");
}

static void
test_hostile_changes(void **state)
{

	(void)state;
	changes(small, "mkdir -p s/t; printf 1 >s/t/u; chmod 0 s/t/u s/t s z",
	    "A s\nA s/t\nA s/t/u\nC z\n",
	    "d 755 d\nf 644 d/x = x\nf 644 f = one\nl 777 l = f\n"
	    "d 000 s\nd 000 s/t\nf 000 s/t/u = 1\nf 000 z = z\n");
	changes(NULL, "printf hard >a; i=0; while [ $i -lt 50 ]; do "
	    "ln a b$i; i=$((i+1)); done; rm b*; ln a c; ln a d",
	    "A a\nA c\nA d\n",
	    "f 644 a = hard\nf 644 c = hard\nf 644 d = hard\n");
	changes(NULL, "truncate -s 1T s", "A s\n", "f 644 s = <zeros>\n");
	changes(NULL, "setfattr -n user.overlay.opaque -v y . 2>/dev/null; "
	    "ln -s /etc/shadow x; ln -s / y", "A x\nA y\n",
	    "l 777 x = /etc/shadow\nl 777 y = /\n");
}

static void
test_depth(void **state)
{
	static const char script[] =
	    "import os\n"
	    "for i in range(10000):\n"
	    " os.mkdir('d'); os.chdir('d')\n"
	    "print('ok')";
	const char *const argv[] = { "python3", "-c", script, NULL };
	struct stand_job j = { .argv = argv };
	struct stand_out o;

	(void)state;
	stand_run(&st, &j, &o);
	show(&o);
	assert_string_equal((char *)o.out[0], "ok\n");
	assert_int_equal(o.result.err.code, ERR_NONE);
	assert_int_equal(o.result.changes.complete, 0);
	assert_int_equal(o.result.changes.root.kind, OBJ_NONE);
	assert_int_equal(o.result.changes.count, TREE_DEPTH_MAX);
	assert_int_equal(o.gone, 0);
	stand_out_done(&o);
}

static void
test_change_limit(void **state)
{
	static const char *const argv[] = SH("touch a b c d e f g h");
	struct stand_job j = { .argv = argv, .limits.changes = 5 };
	struct stand_out o;
	char *text;

	(void)state;
	stand_run(&st, &j, &o);
	assert_int_equal(o.result.exit_code, 0);
	assert_int_equal(o.result.changes.complete, 0);
	assert_int_equal(o.result.changes.count, 5);
	assert_int_equal(o.result.limit, JOB_LIMIT_CHANGES);
	text = ttree_changes(&st.store, &o.result.changes.list,
	    o.result.changes.digest);
	assert_string_equal(text, "A a\nA b\nA c\nA d\nA e\n");
	free(text);
	stand_out_done(&o);
}

static void
test_leftovers(void **state)
{
	static const char *const argv[] = SH("sleep 600 & "
	    "setsid sh -c 'while :; do sleep 1; done' & echo done; exit 4");
	struct stand_job j = { .argv = argv };
	struct stand_out o;
	uint64_t begin = io_mono_us();

	(void)state;
	stand_run(&st, &j, &o);
	assert_int_equal(o.result.exit_code, 4);
	assert_string_equal((char *)o.out[0], "done\n");
	assert_true(io_mono_us() - begin < 5000000);
	stand_out_done(&o);
}

static void
test_kill(void **state)
{
	static const char *const sleeper[] = SH("sleep 1000");
	static const char *const trapper[] = SH("trap 'echo got; exit 7' TERM; "
	    "echo ready; while :; do sleep 0.01; done");
	static const char *const deaf[] = SH("trap '' TERM INT; sleep 1000");
	struct stand_job j = { .argv = sleeper, .signal = SIGTERM };
	struct stand_out o;

	(void)state;
	stand_run(&st, &j, &o);
	assert_int_equal(o.result.signal, SIGTERM);
	stand_out_done(&o);

	j.argv = trapper;
	j.await = 1;
	stand_run(&st, &j, &o);
	assert_int_equal(o.result.signal, 0);
	assert_int_equal(o.result.exit_code, 7);
	assert_string_equal((char *)o.out[0], "ready\ngot\n");
	stand_out_done(&o);

	j.argv = deaf;
	j.await = 0;
	j.signal = SIGKILL;
	stand_run(&st, &j, &o);
	assert_int_equal(o.result.ran, 1);
	assert_int_equal(o.result.signal, SIGKILL);
	stand_out_done(&o);

	j.signal = 0;
	j.signal_early = SIGKILL;
	stand_run(&st, &j, &o);
	assert_int_equal(o.got_result, 1);
	if (!o.started) {
		assert_int_equal(o.result.ran, 0);
		assert_int_equal(o.result.err.code, ERR_CANCELLED);
	}
	stand_out_done(&o);
}

/* Without GO nothing is executed, and what was made goes away. */
static void
test_cancel(void **state)
{
	static const char *const argv[] = SH("echo never");
	struct stand_job j = { .argv = argv, .no_go = 1 };
	struct stand_out o;

	(void)state;
	j.root = ttree_make(&st.store, small);
	stand_run(&st, &j, &o);
	assert_int_equal(o.gone, 0);
	assert_int_equal(o.started, 0);
	assert_int_equal(o.len[0], 0);
	stand_out_done(&o);
}

/*
 * The result comes first, and what nobody waits for not before other jobs of
 * the same burst had time to run.  We may hear of either late, of none early.
 */
static void
test_cleans_up_last(void **state)
{
	static const char *const argv[] = { "/bin/true", NULL };
	struct stand_job j = { .argv = argv };
	struct stand_out o;
	uint64_t gone;

	(void)state;
	stand_run(&st, &j, &o);
	assert_int_equal(o.result.ran, 1);
	gone = io_real_us() - (io_mono_us() - o.us_gone);
	assert_true(gone >= o.result.ended_us + 20000);
	assert_true(o.us_gone >= o.us_result);
	stand_out_done(&o);
}

static void
test_missing_object(void **state)
{
	static const char *const argv[] = SH("true");
	struct stand_job j = { .argv = argv };
	struct stand_out o;

	(void)state;
	j.root.kind = OBJ_TREE;
	memset(j.root.id, 0x5a, sizeof(j.root.id));
	stand_run(&st, &j, &o);
	assert_int_equal(o.result.ran, 0);
	assert_int_equal(o.result.err.code, ERR_MISSING);
	stand_out_done(&o);
}

/* What errandd asked for is what counts, and what the spec has to say. */
static void
test_other_image(void **state)
{
	static const char *const argv[] = SH("true");
	struct stand_job j = { .argv = argv, .image = "other" };
	struct stand_out o;

	(void)state;
	stand_run(&st, &j, &o);
	assert_int_equal(o.result.ran, 0);
	assert_int_equal(o.result.err.code, ERR_INVALID);
	assert_non_null(strstr(o.result.err.text, "another image"));
	stand_out_done(&o);
}

static int
count(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	if (d == NULL)
		return (-1);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return (n - 2);
}

static int
processes(void)
{
	char path[64];
	uint8_t *buf;
	size_t len;
	int n = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
	    (int)st.pid, (int)st.pid);
	if (io_file_read(AT_FDCWD, path, 65536, &buf, &len) == -1)
		return (-1);
	for (; len > 0; len--)
		n += buf[len - 1] == ' ';
	free(buf);
	return (n);
}

/* Phases of the job that does nothing, from RUN on, in microseconds. */
#define RUNS 200

static const char *const phases[] = { "MAP", "PLACE", "STARTED", "ENDED",
    "RESULT", "GONE" };
static uint64_t times[6][RUNS];

static void
times_add(const struct stand_out *o, int i)
{

	times[0][i] = o->us_map - o->us_run;
	times[1][i] = o->us_place - o->us_run;
	times[2][i] = o->us_started - o->us_run;
	times[3][i] = o->us_ended - o->us_run;
	times[4][i] = o->us_result - o->us_run;
	times[5][i] = o->us_gone - o->us_run;
}

static int
cmp_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y ? -1 : x > y);
}

static void
times_show(void)
{
	size_t i;

	for (i = 0; i < 6; i++) {
		qsort(times[i], RUNS, sizeof(times[i][0]), cmp_u64);
		print_message("%s: least %" PRIu64 ", median %" PRIu64 "\n",
		    phases[i], times[i][0], times[i][RUNS / 2]);
	}
}

static void
test_nothing_is_left(void **state)
{
	static const char *const argv[] = { "true", NULL };
	struct stand_job j = { .argv = argv };
	struct stand_out o;
	char fds[64], jobs[128], mounts[64];
	uint8_t *before, *after;
	size_t blen, alen;
	int nfds, i;

	(void)state;
	j.root = ttree_make(&st.store, small);
	(void)snprintf(fds, sizeof(fds), "/proc/%d/fd", (int)st.pid);
	(void)snprintf(mounts, sizeof(mounts), "/proc/%d/mountinfo",
	    (int)st.pid);
	(void)snprintf(jobs, sizeof(jobs), "%s/%u/jobs", st.dir, st.tenant);
	stand_run(&st, &j, &o);
	stand_out_done(&o);
	nfds = count(fds);
	assert_int_equal(io_file_read(AT_FDCWD, mounts, 1 << 20, &before,
	    &blen), 0);
	for (i = 0; i < RUNS; i++) {
		stand_run(&st, &j, &o);
		assert_int_equal(o.got_result, 1);
		assert_int_equal(o.result.exit_code, 0);
		times_add(&o, i);
		stand_out_done(&o);
	}
	times_show();
	assert_int_equal(count(fds), nfds);
	assert_int_equal(io_file_read(AT_FDCWD, mounts, 1 << 20, &after,
	    &alen), 0);
	assert_int_equal(blen, alen);
	assert_memory_equal(before, after, alen);
	assert_int_equal(count(jobs), 0);
	assert_int_equal(processes(), 0);
	free(before);
	free(after);
}

/* Trees that were laid out are kept, but not for ever. */
static void
test_tree_cache(void **state)
{
	static const char *const argv[] = { "true", NULL };
	struct stand_job j = { .argv = argv };
	struct stand_out o;
	char text[32], trees[128];
	unsigned int gets;
	int i;

	(void)state;
	for (i = 0; i < 70; i++) {
		(void)snprintf(text, sizeof(text), "f 644 f = %d\n", i);
		j.root = ttree_make(&st.store, text);
		stand_run(&st, &j, &o);
		assert_int_equal(o.result.err.code, ERR_NONE);
		stand_out_done(&o);
	}
	(void)snprintf(trees, sizeof(trees), "%s/%u/trees", st.dir, st.tenant);
	assert_true(count(trees) <= 64 && count(trees) > 60);
	gets = st.gets;
	stand_run(&st, &j, &o);
	assert_int_equal(st.gets, gets + 1);    /* the spec alone */
	stand_out_done(&o);
}

static void
test_hello(void **state)
{

	(void)state;
	assert_int_equal(st.hello.u.hello.version, CHANNEL_VERSION);
	assert_int_equal(st.hello.u.hello.userns, 1);
	assert_string_equal(st.hello.u.hello.note, "");
}

static int
up(void **state)
{

	(void)state;
	stand_start(&st, 0);
	return (0);
}

static int
down(void **state)
{

	(void)state;
	return (stand_stop(&st) != 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hello),
		cmocka_unit_test(test_exit_codes),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_not_executed),
		cmocka_unit_test(test_argv),
		cmocka_unit_test(test_long_command),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_output),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_view),
		cmocka_unit_test(test_network),
		cmocka_unit_test(test_refused_calls),
		cmocka_unit_test(test_init_is_out_of_reach),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_large_tree),
		cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_pids_limit),
		cmocka_unit_test(test_no_change),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_hostile_changes),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_change_limit),
		cmocka_unit_test(test_leftovers),
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_cleans_up_last),
		cmocka_unit_test(test_missing_object),
		cmocka_unit_test(test_other_image),
		cmocka_unit_test(test_tree_cache),
		cmocka_unit_test(test_nothing_is_left),
	};

	if (geteuid() != 0) {
		puts("1..0 # SKIP sandboxes of tenants need root");
		return (77);
	}
	return (cmocka_run_group_tests(tests, up, down));
}
