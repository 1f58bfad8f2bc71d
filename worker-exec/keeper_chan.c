/*
 * What the keeper says and hears on its sockets, to errandd (proto/job_msg.h),
 * pid 1 (init.h) and the process that will be the command (preexec.h).  Touches
 * these and pid 1's pidfd.
 */
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "init.h"
#include "keeper_internal.h"
#include "lib/chan.h"
#include "lib/io.h"
#include "lib/log.h"
#include "proto/client_msg.h"
#include "proto/job_msg.h"

#define PACKET  LIMIT_RECORD
#define FDS_MAX INIT_JOIN_MAX   /* of a message of errandd */

const char *
keeper_name(const struct keeper *k)
{

	return (k->run != NULL ? k->run->job : k->prep->id);
}

void
keeper_send(struct keeper *k, const struct job_msg *m, const int *fds,
    size_t nfds)
{
	uint8_t buf[PACKET];
	ssize_t n;

	if (k->closed)
		return;
	if ((n = job_msg_pack(m, buf, sizeof(buf))) == -1) {
		log_warn("job %s: message %u", keeper_name(k), m->op);
		return;
	}
	if (chan_send_wait(k->chan, buf, (size_t)n, fds, nfds) == -1)
		k->closed = 1;
}

void
keeper_say(struct keeper *k, int op, int fd)
{
	struct job_msg m;

	memset(&m, 0, sizeof(m));
	m.op = (uint8_t)op;
	keeper_send(k, &m, &fd, fd == -1 ? 0 : 1);
}

int
keeper_fault(struct keeper *k, const struct err *err)
{

	if (k->result.err.code == ERR_NONE)
		k->result.err = *err;
	return (-1);
}

int
keeper_fault_step(struct keeper *k, const char *step, int e)
{
	struct err err;

	memset(&err, 0, sizeof(err));
	log_warnx("job %s: %s: %s", keeper_name(k), step, strerror(e));
	(void)err_set(&err, ERR_SANDBOX, "the sandbox could not be made on "
	    "the host: %s%s%s%s", step, e == 0 ? "" : ": ",
	    e == 0 ? "" : strerror(e),
	    e == ENOSPC || e == EUSERS ? " (out of namespaces or space: see "
	    "the sysctls under user.max_, and df)" :
	    e == ENOMEM || e == EAGAIN ? " (out of memory or processes)" : "");
	return (keeper_fault(k, &err));
}

/* Safe: a pidfd stands for the process it was made with, and no other. */
void
keeper_kill(struct keeper *k)
{

	if (k->initfd != -1)
		(void)syscall(SYS_pidfd_send_signal, k->initfd, SIGKILL, NULL,
		    0);
}

void
keeper_tell_init(struct keeper *k, const struct init_msg *m, const int *fds,
    size_t nfds)
{

	if (chan_send_wait(k->ctl, (const uint8_t *)m, sizeof(*m), fds,
	    nfds) == -1)
		log_debug("job %s: pid 1 is gone", keeper_name(k));
}

void
keeper_tell_gate(struct keeper *k, uint32_t op, int fd)
{
	struct gate_msg m = { .op = op };

	if (k->gate == -1 || chan_send_wait(k->gate, (const uint8_t *)&m,
	    sizeof(m), &fd, fd == -1 ? 0 : 1) == -1)
		log_debug("job %s: nobody to run it", keeper_name(k));
}

void
keeper_go(struct keeper *k)
{

	if (!k->go || !k->handed || k->told)
		return;
	k->told = 1;
	k->go_mono = io_mono_us();
	k->go_us = io_real_us();
	keeper_tell_gate(k, GATE_GO, -1);
	/* But for a terminal it says no more here, and we are not to be woken
	 * for its end.  What comes next is the command's affair. */
	if ((k->run->flags & JOBC_RUN_TTY) == 0)
		io_close(&k->gate);
	(void)sched_yield();
}

static void
deliver(struct keeper *k, uint8_t sig)
{
	struct init_msg m = { .op = INIT_SIGNAL, .number = sig };

	if (k->started && !k->done && keeper_signal_terminal(k, sig))
		return;
	if (k->started && !k->done)
		keeper_tell_init(k, &m, NULL, 0);
	else if (!k->done)
		k->signal = sig;
}

static int
on_mapped(struct keeper *k, const struct job_msg *m)
{

	(void)m;
	k->mapped = 1;
	return (0);
}

/* The files by which pid 1 joins its cgroups are for pid 1. */
static int
on_placed(struct keeper *k, const int *fds, size_t nfds)
{
	struct init_msg im = { .op = INIT_PLACED, .number = (int32_t)nfds };

	k->placed = 1;
	keeper_tell_init(k, &im, fds, nfds);
	return (0);
}

static int
on_go(struct keeper *k, const struct job_msg *m)
{

	(void)m;
	k->go = 1;
	keeper_go(k);
	return (0);
}

static int
on_logack(struct keeper *k, const struct job_msg *m)
{

	(void)m;
	k->log_ready = 1;
	keeper_log(k, 0);
	return (0);
}

static int
on_signal(struct keeper *k, const struct job_msg *m)
{

	if (m->u.signal == SIGTERM)
		k->told_to_end = 1;
	if (m->u.signal != SIGKILL) {
		deliver(k, m->u.signal);
		return (0);
	}
	keeper_kill(k);
	if (k->started)
		return (0);
	k->cancelled = 1;
	errno = ECANCELED;
	return (-1);
}

/* Taken up by store_switch (keeper.c), when nothing waits on the old one. */
static int
on_store(struct keeper *k, int fd)
{

	io_close(&k->newstore);
	k->newstore = fd;
	return (0);
}

static const struct route {
	uint8_t op;
	int (*fn)(struct keeper *, const struct job_msg *);
} routes[] = {
	{ JOBC_MAPPED, on_mapped },
	{ JOBC_GO, on_go },
	{ JOBC_LOGACK, on_logack },
	{ JOBC_SIGNAL, on_signal },
	{ JOBC_INPUT_END, keeper_input_end },
	{ JOBC_INPUT_ASK, keeper_input_ask },
	{ JOBC_WINDOW, keeper_window },
};

static int
dispatch(struct keeper *k, const uint8_t *buf, size_t len, int *fds,
    size_t nfds)
{
	struct job_msg m;
	size_t i;
	int fd;

	if (job_msg_parse(buf, len, &m) == -1)
		goto bad;
	if (m.op == JOBC_STORE && nfds == 1) {
		fd = fds[0];
		fds[0] = -1;
		return (on_store(k, fd));
	}
	if (m.op == JOBC_INPUT && nfds == 1)
		return (keeper_input(k, fds));
	if (m.op == JOBC_PLACED && nfds <= INIT_JOIN_MAX)
		return (on_placed(k, fds, nfds));
	if (m.op == JOBC_RUN && keeper_take(k, &m, fds, nfds) == 0)
		return (0);
	for (i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		if (routes[i].op == m.op && nfds == 0)
			return (routes[i].fn(k, &m));
	}
bad:
	log_warnx("job %s: a message that cannot be read", keeper_name(k));
	k->closed = 1;
	errno = ECANCELED;
	return (-1);
}

int
keeper_hear(void *cookie)
{
	struct keeper *k = cookie;
	uint8_t buf[PACKET];
	size_t nfds;
	ssize_t n;
	int fds[FDS_MAX], rc;

	while (!k->closed) {
		nfds = FDS_MAX;
		n = chan_recv_wait(k->chan, buf, sizeof(buf), fds, &nfds, 0);
		if (n == -1 && errno == ETIMEDOUT)
			return (0);
		if (n <= 0)
			break;
		rc = dispatch(k, buf, (size_t)n, fds, nfds);
		while (nfds > 0)
			io_close(&fds[--nfds]);
		if (rc == -1)
			return (-1);
	}
	/* Nobody wants the job any more. */
	k->closed = 1;
	if (!k->started)
		k->cancelled = 1;
	keeper_kill(k);
	errno = ECANCELED;
	return (-1);
}

static void
on_done(struct keeper *k, const struct init_msg *m)
{
	struct job_result *r = &k->result;
	int status = m->number;

	k->done = 1;
	k->ended_mono = io_mono_us();
	r->ended_us = io_real_us();
	r->usage.cpu_us = m->cpu_us;
	r->usage.memory_peak = m->memory;
	if (WIFSIGNALED(status)) {
		r->signal = (uint8_t)WTERMSIG(status);
		r->exit_code = (uint8_t)(128 + r->signal);
	} else
		r->exit_code = (uint8_t)WEXITSTATUS(status);
}

void
keeper_hear_init(struct keeper *k)
{
	struct init_msg m;
	size_t nfds = 1;
	int fd = -1;
	ssize_t n;

	n = chan_recv_wait(k->ctl, (uint8_t *)&m, sizeof(m), &fd, &nfds, 0);
	if (n == -1 && errno == ETIMEDOUT)
		return;
	if (n != (ssize_t)sizeof(m)) {
		io_close(&k->ctl);
		return;
	}
	m.step[sizeof(m.step) - 1] = '\0';
	if (m.op == INIT_DONE)
		on_done(k, &m);
	else if (m.op == INIT_FAILED)
		(void)keeper_fault_step(k, m.step, m.number);
	else if (m.op == INIT_CHANGED)
		k->mounted = 1;
	else if (m.op == INIT_CACHED) {
		k->cached = 1;
		k->cache_at = m.number;
	} else if (m.op == INIT_VIEW && nfds == 1 && k->viewfd == -1) {
		k->viewfd = fd;
		fd = -1;
	}
	if (nfds == 1)
		io_close(&fd);
}

/* What ran to show that a command can. */
static void
on_proved(struct keeper *k, int status)
{
	struct err err;

	k->proved = 1;
	if (status == 0)
		return;
	memset(&err, 0, sizeof(err));
	(void)err_set(&err, ERR_SANDBOX, "no program can be run in a sandbox: "
	    "%s %d", WIFSIGNALED(status) ? "signal" : "status",
	    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	(void)keeper_fault(k, &err);
}

void
keeper_hear_gate(struct keeper *k)
{
	struct gate_msg m;
	size_t nfds = 2;
	ssize_t n;
	int fds[2];

	n = chan_recv_wait(k->gate, (uint8_t *)&m, sizeof(m), fds, &nfds, 0);
	if (n == -1 && errno == ETIMEDOUT)
		return;
	if (n == (ssize_t)sizeof(m) && m.op == GATE_READY && nfds == 0)
		k->gated = 1;
	else if (n == (ssize_t)sizeof(m) && m.op == GATE_PROVED && nfds == 0)
		on_proved(k, m.status);
	else if (n == (ssize_t)sizeof(m) && m.op == GATE_TTY && nfds == 2)
		keeper_terminal(k, fds);
	else
		io_close(&k->gate);
	while (n > 0 && nfds > 0)
		io_close(&fds[--nfds]);
}

void
keeper_log(struct keeper *k, int last)
{
	struct job_msg m;
	uint64_t bytes = pump_bytes(&k->pump);

	if (bytes == k->log_told || !(k->log_ready || last) || !k->placed)
		return;
	memset(&m, 0, sizeof(m));
	m.op = JOBC_LOG;
	m.u.log_bytes = bytes;
	keeper_send(k, &m, NULL, 0);
	k->log_told = bytes;
	k->log_ready = 0;
}
