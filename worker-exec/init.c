/*
 * Pid 1 of a sandbox.  Makes the view, forks the command, reaps and signals
 * inside its pid namespace.  Talks to its keeper only; has no channel to
 * errandd or the store.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "init.h"
#include "lib/chan.h"
#include "lib/io.h"
#include "lib/sandbox.h"
#include "ns.h"
#include "rename_watch.h"

#define LEFTOVER_MS     100     /* for what the command left behind */

/*
 * Theory: pid 1 was forked and is never executed, so its memory counts as
 * that of a process outside of the job's namespaces, and nothing inside may
 * trace it.  It makes the view, forks the process that will be the command long
 * before there is one, reaps, and ends when the command has; then the kernel
 * ends everything else in the pid namespace.
 */
struct init {
	const struct init_start *start;
	int ctl;
	int sig;                /* a signalfd for SIGCHLD */
	pid_t pid;              /* of the command */
	int watch;              /* the command's word about its renames comes
				 * here, or -1 */
	int renames;            /* the listener, or -1 */
	size_t ncaches;
	dev_t caches[LIMIT_CACHES];
};

static void
tell(const struct init *in, const struct init_msg *m)
{

	(void)chan_send_wait(in->ctl, (const uint8_t *)m, sizeof(*m), NULL,
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
	(void)chan_send_wait(in->ctl, (const uint8_t *)&m, sizeof(m), &ns,
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

static int
join_hear(const struct init *in, int *fds, size_t *n)
{
	struct init_msg m;

	*n = INIT_JOIN_MAX;
	if (chan_recv_wait(in->ctl, (uint8_t *)&m, sizeof(m), fds, n,
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

static pid_t
preexec_fork(struct init *in, const int *fds)
{
	const struct preexec_start start = {
		.gate = fds[0], .exec = fds[1], .out = fds[2], .err = fds[3],
		.watch = fds[4],
		.as_root = in->start->as_root, .ids = in->start->ids,
		.filter = in->start->filter,
		.bounded = in->start->tenant != 0
	};
	pid_t pid;

	if ((pid = ns_clone(0, NULL)) == 0)
		preexec_run(&start);
	if (pid == -1)
		fail(in, "a process for the command");
	return (pid);
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
on_make(struct init *in, const struct init_msg *m, int *fds)
{
	const char *step = NULL;
	int give[] = { fds[1], fds[2], fds[3], fds[4], -1 }, pair[2];

	(void)m;
	if (view_enter(fds[0], &step) == -1)
		fail(in, step);
	if (chan_pair(pair) == -1)
		fail(in, "a channel");
	in->watch = pair[0];
	give[4] = pair[1];
	in->pid = preexec_fork(in, give);
	io_close(&pair[1]);
	lend(in);
}

static void
on_change(struct init *in, const struct init_msg *m, int *fds)
{
	struct init_msg r = { .op = INIT_CHANGED };
	const char *step = NULL;

	if (view_change(fds[0], m->size, &step) == -1)
		fail(in, step);
	if (in->start->tenant != 0 && sandbox_caps(0) == -1)
		fail(in, "giving up capabilities");
	tell(in, &r);
}

static void
on_cache(struct init *in, const struct init_msg *m, int *fds)
{
	struct init_msg r = { .op = INIT_CACHED };
	char path[sizeof(m->path)];
	struct stat st;

	memcpy(path, m->path, sizeof(path));
	path[sizeof(path) - 1] = '\0';
	if ((r.number = view_cache(fds[0], path)) == -1)
		r.number = -errno;
	else if (in->ncaches < LIMIT_CACHES && stat(path, &st) == 0)
		in->caches[in->ncaches++] = st.st_dev;
	tell(in, &r);
}

static void
on_signal(struct init *in, const struct init_msg *m, int *fds)
{

	(void)fds;
	if (in->pid != -1)
		deliver(in, m->number);
}

#define HEAR_FDS 5

static const struct {
	uint32_t op;
	size_t least, most;     /* descriptors */
	void (*fn)(struct init *, const struct init_msg *, int *);
} routes[] = {
	{ INIT_MAKE, 5, 5, on_make },
	{ INIT_CHANGE, 0, 1, on_change },
	{ INIT_CACHE, 1, 1, on_cache },
	{ INIT_SIGNAL, 0, 0, on_signal },
};

/* The next message of the keeper; without one there is nothing to be for. */
static void
hear(struct init *in)
{
	int fds[HEAR_FDS] = { -1, -1, -1, -1, -1 };
	size_t i, n = HEAR_FDS;
	struct init_msg m;

	if (chan_recv_wait(in->ctl, (uint8_t *)&m, sizeof(m), fds, &n,
	    -1) != (ssize_t)sizeof(m))
		_exit(1);
	for (i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (routes[i].op == m.op && n >= routes[i].least &&
		    n <= routes[i].most)
			break;
	if (i == sizeof(routes) / sizeof(routes[0])) {
		errno = EPROTO;
		fail(in, "a message out of turn");
	}
	routes[i].fn(in, &m, fds);
	for (i = 0; i < HEAR_FDS; i++)
		io_close(&fds[i]);
}

/* The command's process says once how we are asked about its renames. */
static void
hear_watch(struct init *in)
{
	size_t n = 1;
	uint8_t word;

	if (chan_recv_wait(in->watch, &word, 1, &in->renames, &n, -1) != 1 ||
	    n != 1)
		in->renames = -1;
	io_close(&in->watch);
}

/* Once nobody is left who could ask, it would never be quiet again. */
static void
hear_renames(struct init *in, short what)
{

	if ((what & POLLIN) == 0 ||
	    rename_watch_serve(in->renames, "/workspace", in->caches,
	    in->ncaches) == -1)
		io_close(&in->renames);
}

static void __attribute__((noreturn))
serve(struct init *in)
{
	struct pollfd p[4] = {
		{ .fd = in->ctl, .events = POLLIN },
		{ .fd = in->sig, .events = POLLIN },
		{ .events = POLLIN }, { .events = POLLIN },
	};
	int forked = 0;

	for (;;) {
		p[2].fd = in->watch;
		p[3].fd = in->renames;
		if (poll(p, 4, -1) == -1 && errno != EINTR)
			fail(in, "waiting");
		if (p[2].revents != 0)
			hear_watch(in);
		if (p[3].revents != 0)
			hear_renames(in, p[3].revents);
		if (p[1].revents != 0) {
			drain(in);
			(void)reap(in);
			if (forked && in->pid == -1)
				leave(in);
		}
		if (p[0].revents != 0)
			hear(in);
		forked |= in->pid != -1;
	}
}

void
init_main(const struct init_start *start)
{
	struct init in = { .start = start, .ctl = start->ctl, .sig = -1,
	    .pid = -1, .watch = -1, .renames = -1 };
	const char *step = NULL;
	int join[INIT_JOIN_MAX];
	size_t njoin;

	if (ns_close_others(&in.ctl, 1) == -1)
		fail(&in, "closing descriptors");
	(void)prctl(PR_SET_NAME, "errand-init", 0, 0, 0);
	if (join_hear(&in, join, &njoin) == -1)
		_exit(1);
	if ((start->tenant != 0 ? ns_become_tenant(start->tenant,
	    NS_TENANT_CAPS, 0) : ns_become_root()) == -1)
		fail(&in, "becoming the job's user");
	join_all(&in, join, njoin);
	/* Where it was placed is the top of what the job sees of cgroups. */
	if (unshare(CLONE_NEWCGROUP) == -1)
		fail(&in, "a cgroup namespace");
	signals(&in);
	if (view_make(&start->view, &step) == -1)
		fail(&in, step);
	serve(&in);
}
