/*
 * From a fork of pid 1 to the command itself: the child gives up what it has,
 * step by step, and executes.  Touches its own process only.  The like for
 * workers is supervisor/preexec.c.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/securebits.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "lib/chan.h"
#include "lib/io.h"
#include "lib/sandbox.h"
#include "ns.h"
#include "pty.h"
#include "preexec.h"
#include "rename_watch.h"
#include "share.h"

#define RUNNER          1000    /* the job's id in its own namespace */
#define EXEC_FD         3       /* the exec pipe, closed by execve */
#define GATE_FD         4
#define WATCH_FD        5       /* closed once it has said its word */
#define NOFILE_SOFT     1024
#define NOFILE_HARD     1048576

/*
 * Safety: this is the last code of ours before somebody else's.  Each step
 * takes something away; nothing is given.  A step that fails ends the process,
 * so that no command ever runs with less of a fence than was promised.
 */

/* The Landlock domain to be. */
struct wall {
	int abi;                /* 0: this kernel has none */
	int fd;
};

/* Say which step failed and end; nobody but the keeper reads it. */
static void __attribute__((noreturn))
fail(int fd, enum preexec_step step, const char *what)
{
	struct preexec_msg m = { .step = step, .err = errno };

	(void)snprintf(m.what, sizeof(m.what), "%s", what);
	(void)!write(fd, &m, sizeof(m));
	_exit(126);
}

/*
 * Nothing but 0, 1, 2 and, until execve, 3 to 5.  They are moved up first, so
 * that none of them is in another's place.
 */
static void
descriptors(const struct preexec_start *s)
{
	int out, err, gate, watch, null;
	int ex = fcntl(s->exec, F_DUPFD_CLOEXEC, 16);

	out = fcntl(s->out, F_DUPFD_CLOEXEC, 16);
	err = fcntl(s->err, F_DUPFD_CLOEXEC, 16);
	gate = fcntl(s->gate, F_DUPFD_CLOEXEC, 16);
	watch = fcntl(s->watch, F_DUPFD_CLOEXEC, 16);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (ex == -1 || out == -1 || err == -1 || gate == -1 || null == -1 ||
	    watch == -1 ||
	    dup2(null, STDIN_FILENO) == -1 || dup2(out, STDOUT_FILENO) == -1 ||
	    dup2(err, STDERR_FILENO) == -1 ||
	    dup3(ex, EXEC_FD, O_CLOEXEC) == -1 ||
	    dup3(gate, GATE_FD, O_CLOEXEC) == -1 ||
	    dup3(watch, WATCH_FD, O_CLOEXEC) == -1 ||
	    close_range(WATCH_FD + 1, ~0U, 0) == -1)
		fail(s->exec, PREEXEC_FENCE, "descriptors");
}

static void
limits(void)
{
	struct rlimit files = { NOFILE_SOFT, NOFILE_HARD };
	/* 1, not 0: the kernel then does not start a core handler either. */
	struct rlimit core = { 1, 1 };
	struct rlimit had;

	if (getrlimit(RLIMIT_NOFILE, &had) == 0 && had.rlim_max < NOFILE_HARD) {
		files.rlim_max = had.rlim_max;
		if (files.rlim_cur > had.rlim_max)
			files.rlim_cur = had.rlim_max;
	}
	if (setrlimit(RLIMIT_NOFILE, &files) == -1 ||
	    setrlimit(RLIMIT_CORE, &core) == -1 || share_limit() == -1)
		fail(EXEC_FD, PREEXEC_FENCE, "resource limits");
}

/*
 * What the job's limits decide.  The processors are pid 1's, whom errandd gave
 * them, maybe long after we were forked.
 */
static void
limits_job(const struct command *c)
{
	struct rlimit procs = { c->pids, c->pids };
	struct rlimit file = { c->file, c->file };
	cpu_set_t set;

	/* A second wall behind a cgroup, the only one elsewhere. */
	if (c->pids != 0)
		(void)setrlimit(RLIMIT_NPROC, &procs);
	if (c->file != 0 && setrlimit(RLIMIT_FSIZE, &file) == -1)
		fail(EXEC_FD, PREEXEC_FENCE, "resource limits");
	if (sched_getaffinity(1, sizeof(set), &set) == 0)
		(void)sched_setaffinity(0, sizeof(set), &set);
}

/* The job has a session of its own, and signals as a shell would give them. */
static void
session(void)
{
	sigset_t none;

	(void)signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) == -1 || setsid() == -1)
		fail(EXEC_FD, PREEXEC_FENCE, "a session");
	(void)umask(022);
}

/* In a user namespace below pid 1's: what is up there is out of reach. */
static void
identity(int as_root, uint32_t more)
{
	unsigned int id = as_root ? 0 : RUNNER;

	if (more != 0 && as_root) {
		if (ns_unshare_all(more) == -1)
			fail(EXEC_FD, PREEXEC_FENCE, "a user namespace");
	} else if (unshare(CLONE_NEWUSER) == -1 || ns_map_self(id, 0, 0) == -1)
		fail(EXEC_FD, PREEXEC_FENCE, "a user namespace");
	if (setresgid(id, id, id) == -1 || setresuid(id, id, id) == -1)
		fail(EXEC_FD, PREEXEC_FENCE, "the job's user");
}

/* As root, the job keeps what its own, nested namespace gives: nearly nothing,
 * since no other namespace belongs to that one. */
static void
capabilities(int as_root)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2];
	int cap;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		fail(EXEC_FD, PREEXEC_FENCE, "no new privileges");
	if (as_root)
		return;
	for (cap = 0; cap < 64; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == -1)
			break;
	}
	memset(data, 0, sizeof(data));
	if (syscall(SYS_capset, &head, data) == -1)
		fail(EXEC_FD, PREEXEC_FENCE, "capabilities");
}

static void
place_open(struct sandbox_path *p, const char *path, int writable)
{

	p->writable = writable;
	p->exec = 1;
	if ((p->fd = open(path, O_PATH | O_CLOEXEC)) == -1)
		fail(EXEC_FD, PREEXEC_FENCE, path);
}

/*
 * A second wall under the mounts: what is not listed cannot be written.  The
 * workspace comes last, since its tree is mounted over what was there before,
 * and a rule for what is covered counts for nothing.
 */
static void
landlock_prepare(struct wall *w)
{
	static const struct {
		const char *path;
		int writable;
	} rules[] = {
		{ "/", 0 }, { "/tmp", 1 }, { "/var/tmp", 1 }, { "/run", 1 },
		{ "/home/runner", 1 }, { "/dev", 1 }, { "/proc", 1 },
		{ "/dev/mqueue", 1 },
	};
	enum { N = sizeof(rules) / sizeof(rules[0]) };
	struct sandbox_path paths[N];
	size_t i;

	for (i = 0; i < N; i++)
		place_open(&paths[i], rules[i].path, rules[i].writable);
	if ((w->abi = sandbox_landlock_prepare(paths, N, &w->fd)) == -1)
		fail(EXEC_FD, PREEXEC_FENCE, "Landlock");
	for (i = 0; i < N; i++)
		io_close(&paths[i].fd);
}

/* Enter it.  The ruleset stays open.  0, or -1 with errno. */
static int
wall_close(const struct wall *w)
{
	struct sandbox_path p = { .writable = 1, .exec = 1 };
	int rc;

	if (w->abi == 0)
		return (0);
	if ((p.fd = open("/workspace", O_PATH | O_CLOEXEC)) == -1)
		return (-1);
	rc = sandbox_landlock_enter(w->abi, w->fd, &p, 1);
	io_close(&p.fd);
	return (rc);
}

static void
workdir(const struct command *c)
{

	if (chdir("/workspace") == -1)
		fail(EXEC_FD, PREEXEC_FENCE, "the workspace");
	if (c->workdir[0] != '\0' && chdir(c->workdir) == -1)
		fail(EXEC_FD, PREEXEC_WORKDIR, "");
}

/* The next message of the keeper; if it is gone there will be no command. */
static void
hear(struct gate_msg *m, size_t room, int *fds, size_t nfds)
{
	ssize_t n;

	n = chan_recv_wait(GATE_FD, (uint8_t *)m, room, fds, &nfds, -1);
	if (n < (ssize_t)sizeof(*m) || (size_t)n != sizeof(*m) + m->len)
		_exit(126);
}

static void
expect(uint32_t op, const struct gate_msg *m)
{

	errno = EPROTO;
	if (m->op != op)
		fail(EXEC_FD, PREEXEC_FENCE, "a message out of turn");
}

static void
say(const struct gate_msg *m, const int *fds, size_t nfds)
{

	if (chan_send_wait(GATE_FD, (const uint8_t *)m, sizeof(*m), fds,
	    nfds) == -1)
		_exit(126);
}

/*
 * Images need not have such a program; then all but the last step was shown.
 * The memory is shared with the process that will be the command: nothing of it
 * may be changed that this one still needs.
 */
static void __attribute__((noreturn))
probe_run(const struct wall *w)
{
	static const char *const names[] = { "/bin/true", "/usr/bin/true" };
	char name[] = "true", *argv[] = { name, NULL }, *env[] = { NULL };
	int bad = 0;
	size_t i;

	if (dup2(STDIN_FILENO, STDOUT_FILENO) == -1 ||
	    dup2(STDIN_FILENO, STDERR_FILENO) == -1 ||
	    wall_close(w) == -1 || chdir("/workspace") == -1)
		_exit(125);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)execve(names[i], argv, env);
		bad |= errno != ENOENT && errno != ENOTDIR;
	}
	_exit(bad ? 126 : 0);
}

/* A child of the very process that will be the command, with all its fences. */
static void
probe(const struct wall *w)
{
	struct gate_msg m = { .op = GATE_PROVED };
	pid_t pid;

	if ((pid = vfork()) == 0)
		probe_run(w);
	if (pid == -1 || waitpid(pid, &m.status, 0) != pid)
		fail(EXEC_FD, PREEXEC_FENCE, "a program to try it with");
	say(&m, NULL, 0);
}

/* Wait for COMMAND. */
static void
await_command(struct gate_command *g, int *fds, size_t nfds,
    const struct wall *w)
{

	for (;;) {
		hear(&g->m, sizeof(*g), fds, nfds);
		if (g->m.op != GATE_PROBE)
			break;
		probe(w);
	}
	expect(GATE_COMMAND, &g->m);
}

/* What it came with, and then what it reads, if anything: descriptor or -1. */
static int
command_take(const struct gate_command *g, const int *fds, struct command *c)
{

	if (g->m.len != 0) {
		if (command_read(g->image, g->m.len, c) == -1)
			fail(EXEC_FD, PREEXEC_FENCE, "reading the command");
		return (fds[0]);
	}
	if (command_map(fds[0], c) == -1)
		fail(EXEC_FD, PREEXEC_FENCE, "reading the command");
	(void)close(fds[0]);
	return (fds[1]);
}

/* What it reads: nothing, a pipe, or a terminal of its own for all three. */
static void
input(const struct gate_msg *m, int pipe)
{
	struct gate_msg reply = { .op = GATE_TTY };
	int fds[2];

	if (m->input && !m->tty && dup2(pipe, STDIN_FILENO) == -1)
		fail(EXEC_FD, PREEXEC_FENCE, "its input");
	if (!m->tty)
		return;
	if (pty_open(m->rows, m->cols, &fds[0], &fds[1]) == -1)
		fail(EXEC_FD, PREEXEC_FENCE, "a terminal");
	say(&reply, fds, 2);
	if (pty_adopt(fds[1]) == -1)
		fail(EXEC_FD, PREEXEC_FENCE, "a terminal");
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void
ready(void)
{
	const struct gate_msg m = { .op = GATE_READY };

	say(&m, NULL, 0);
}

static const char *
path_of(char **env)
{

	for (; *env != NULL; env++) {
		if (strncmp(*env, "PATH=", 5) == 0)
			return (*env + 5);
	}
	return ("/usr/bin:/bin");
}

/* Returns only with errno: ELIBACC when the file is there, and the interpreter
 * or loader that it names is not. */
static void
execute_file(const struct command *c, const char *file)
{
	(void)execve(file, c->argv, c->env);
	if (errno == ENOENT)
		errno = access(file, F_OK) == 0 ? ELIBACC : ENOENT;
}

/* One place of the PATH, likewise. */
static void
try_place(const struct command *c, const char *dir, size_t len)
{
	const char *name = c->argv[0];
	char file[PATH_MAX];

	if (len + strlen(name) + 2 > sizeof(file)) {
		errno = ENAMETOOLONG;
		return;
	}
	(void)snprintf(file, sizeof(file), "%.*s%s%s", (int)len, dir,
	    len == 0 ? "" : "/", name);
	execute_file(c, file);
}

/*
 * As execvp, but never through a shell: a file that is no program is none.
 * A place that may not be searched, or has a program that cannot be started, is
 * remembered, in case there is no better.
 */
static void
execute(const struct command *c)
{
	const char *p, *end;
	int worst = ENOENT;

	if (c->argv[0][0] == '\0') {
		errno = ENOENT;
		return;
	}
	if (strchr(c->argv[0], '/') != NULL) {
		execute_file(c, c->argv[0]);
		return;
	}
	for (p = path_of(c->env);; p = end + 1) {
		end = strchrnul(p, ':');
		try_place(c, p, (size_t)(end - p));
		if (errno == EACCES || (errno == ELIBACC && worst == ENOENT))
			worst = errno;
		else if (errno != ENOENT && errno != ENOTDIR &&
		    errno != ENAMETOOLONG && errno != ELIBACC)
			return;
		if (*end == '\0')
			break;
	}
	errno = worst;
}

/* A kernel that cannot ask lets overlayfs say what it says. */
static void
renames(void)
{
	uint8_t word = 0;
	int listener;

	if ((listener = rename_watch_install()) == -1) {
		if (errno != EINVAL && errno != ENOSYS && errno != EBUSY)
			fail(EXEC_FD, PREEXEC_FENCE, "a listener for renames");
	} else if (chan_send_wait(WATCH_FD, &word, 1, &listener, 1) == -1)
		_exit(126);
	io_close(&listener);
	(void)close(WATCH_FD);
}

/* All that is the same for every command of a sandbox. */
static void
fence(const struct preexec_start *s, struct wall *w)
{

	session();
	limits();
	if (!s->bounded)
		identity(s->as_root, s->ids);
	capabilities(s->as_root);
	if (s->ids == 0)
		renames();
	else
		(void)close(WATCH_FD);
	if (sandbox_install(s->filter) == -1)
		fail(EXEC_FD, PREEXEC_FENCE, "the filter of system calls");
	landlock_prepare(w);
}

void
preexec_run(const struct preexec_start *s)
{
	struct gate_command g;
	struct gate_msg m;
	struct command c;
	struct wall w;
	int fds[2] = { -1, -1 }, in;

	descriptors(s);
	fence(s, &w);
	ready();
	await_command(&g, fds, 2, &w);
	in = command_take(&g, fds, &c);
	input(&g.m, in);
	if (in != -1)
		(void)close(in);
	pty_term(c.env);
	limits_job(&c);
	if (wall_close(&w) == -1)
		fail(EXEC_FD, PREEXEC_FENCE, "Landlock");
	io_close(&w.fd);
	workdir(&c);
	hear(&m, sizeof(m), NULL, 0);
	expect(GATE_GO, &m);
	(void)close(GATE_FD);
	execute(&c);
	fail(EXEC_FD, PREEXEC_EXECUTE, "");
}
