/*
 * Pid 1 of a sandbox.  Makes the view, forks the command, reaps and signals
 * inside its pid namespace.  Talks to its keeper only; has no channel to
 * errandd or the store.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "init.h"
#include "lib/chan.h"
#include "lib/io.h"
#include "ns.h"

#define LEFTOVER_MS     100     /* for what the command left behind */

/*
 * Theory: pid 1 was forked and is never executed, so its memory counts as
 * that of a process outside of the job's namespaces, and nothing inside may
 * trace it.  It makes the view, forks the command, reaps, and ends when the
 * command has; then the kernel ends everything else in the pid namespace.
 */
struct init {
	struct init_fds fds;
	struct command cmd;
	int sig;                /* a signalfd for SIGCHLD */
	pid_t pid;              /* of the command */
};

static void
tell(const struct init *in, const struct init_msg *m)
{

	(void)chan_send_wait(in->fds.ctl, (const uint8_t *)m, sizeof(*m), NULL,
	    0);
}

/* Lend the keeper our mount namespace. */
static void
lend(const struct init *in)
{
	struct init_msg m = { .op = INIT_VIEW };
	int ns;

	if ((ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC)) == -1)
		return;
	(void)chan_send_wait(in->fds.ctl, (const uint8_t *)&m, sizeof(m), &ns,
	    1);
	io_close(&ns);
}

static void __attribute__((noreturn))
fail(const struct init *in, const char *step)
{
	struct init_msg m = { .op = INIT_FAILED, .number = errno };

	(void)snprintf(m.step, sizeof(m.step), "%s", step);
	tell(in, &m);
	_exit(1);
}

/* The next message of the keeper; without one there is nothing to be for. */
static void
hear(const struct init *in, uint32_t op, struct init_msg *m, int *fds,
    size_t nfds)
{
	size_t n = nfds;

	if (chan_recv_wait(in->fds.ctl, (uint8_t *)m, sizeof(*m), fds, &n,
	    -1) != (ssize_t)sizeof(*m))
		_exit(1);
	if (m->op != op || n != nfds) {
		errno = EPROTO;
		fail(in, "a message out of turn");
	}
}

static int
join_hear(const struct init *in, int *fds, size_t *n)
{
	struct init_msg m;

	*n = INIT_JOIN_MAX;
	if (chan_recv_wait(in->fds.ctl, (uint8_t *)&m, sizeof(m), fds, n,
	    -1) != (ssize_t)sizeof(m) || m.op != INIT_PLACED ||
	    m.number != (int32_t)*n)
		return (-1);
	return (0);
}

/* As the tenant already: the files let in nobody else. */
static void
join_all(const struct init *in, int *fds, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (write(fds[i], "0", 1) != 1)
			fail(in, "joining its cgroup");
		io_close(&fds[i]);
	}
}

/*
 * Blocked here, SIGCHLD is read from a descriptor.  Other signals from inside
 * do not reach a pid 1 that has no handlers.
 */
static void
signals(struct init *in)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &set, NULL) == -1 ||
	    (in->sig = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) == -1)
		fail(in, "signals");
}

static void
command_fork(struct init *in, const struct sock_fprog *filter, int out,
    int err)
{
	const struct preexec_fds fds = { in->fds.go, in->fds.exec, out, err };

	if ((in->pid = ns_clone(0, NULL)) == 0)
		preexec_run(&in->cmd, &fds, filter);
	if (in->pid == -1)
		fail(in, "a process for the command");
	io_close(&in->fds.go);
	io_close(&in->fds.exec);
	io_close(&out);
	io_close(&err);
}

/* To the command's process group; to itself before it has one. */
static void
deliver(const struct init *in, int sig)
{

	if (kill(-in->pid, sig) == -1)
		(void)kill(in->pid, sig);
}

static void
done(const struct init *in, int status, const struct rusage *ru)
{
	struct init_msg m = { .op = INIT_DONE, .number = status };

	m.cpu_us = (uint64_t)ru->ru_utime.tv_sec * 1000000 +
	    (uint64_t)ru->ru_utime.tv_usec +
	    (uint64_t)ru->ru_stime.tv_sec * 1000000 +
	    (uint64_t)ru->ru_stime.tv_usec;
	m.memory = (uint64_t)ru->ru_maxrss * 1024;
	tell(in, &m);
}

/* Reap all there is.  Returns -1 when no child is left. */
static int
reap(struct init *in)
{
	struct rusage ru;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &ru)) > 0) {
		if (pid == in->pid) {
			in->pid = -1;
			done(in, status, &ru);
		}
	}
	return (pid == 0 ? 0 : -1);
}

static void
drain(const struct init *in)
{
	struct signalfd_siginfo si[4];

	while (read(in->sig, si, sizeof(si)) > 0)
		continue;
}

/*
 * What the command left running has a moment to end by itself: a pipeline's
 * last part, say, that is still writing.  Then we end, and so does the rest.
 */
static void __attribute__((noreturn))
leave(struct init *in)
{
	struct pollfd p = { .fd = in->sig, .events = POLLIN };
	uint64_t now, end = io_mono_us() + LEFTOVER_MS * 1000;

	while (reap(in) != -1 && (now = io_mono_us()) < end) {
		(void)poll(&p, 1, (int)((end - now) / 1000) + 1);
		drain(in);
	}
	_exit(0);
}

static void
serve(struct init *in)
{
	struct pollfd p[2] = {
		{ .fd = in->fds.ctl, .events = POLLIN },
		{ .fd = in->sig, .events = POLLIN },
	};
	struct init_msg m;

	for (;;) {
		if (poll(p, 2, -1) == -1 && errno != EINTR)
			fail(in, "waiting");
		if (p[1].revents != 0) {
			drain(in);
			(void)reap(in);
			if (in->pid == -1)
				leave(in);
		}
		if (p[0].revents != 0) {
			hear(in, INIT_SIGNAL, &m, NULL, 0);
			deliver(in, m.number);
		}
	}
}

void
init_main(const struct init_start *start)
{
	struct init in = { .fds = start->fds, .sig = -1, .pid = -1 };
	const char *step = NULL;
	const int own[] = { in.fds.ctl, in.fds.go, in.fds.exec };
	struct init_msg m;
	int fds[4], join[INIT_JOIN_MAX];
	size_t njoin;

	if (ns_close_others(own, 3) == -1)
		fail(&in, "closing descriptors");
	(void)prctl(PR_SET_NAME, "errand-init", 0, 0, 0);
	if (join_hear(&in, join, &njoin) == -1)
		_exit(1);
	if (ns_become_root() == -1)
		fail(&in, "becoming the job's user");
	join_all(&in, join, njoin);
	/* Where it was placed is the top of what the job sees of cgroups. */
	if (unshare(CLONE_NEWCGROUP) == -1)
		fail(&in, "a cgroup namespace");
	signals(&in);
	if (view_make(&start->view, &step) == -1)
		fail(&in, step);
	hear(&in, INIT_WORKSPACE, &m, fds, 4);
	if (view_enter(fds[0], &step) == -1)
		fail(&in, step);
	if (command_map(fds[1], &in.cmd) == -1)
		fail(&in, "reading the command");
	io_close(&fds[0]);
	io_close(&fds[1]);
	command_fork(&in, start->filter, fds[2], fds[3]);
	lend(&in);
	serve(&in);
	_exit(0);
}
