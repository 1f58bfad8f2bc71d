/*
 * The keeper of one job, from its fork to its exit.  Runs as the tenant,
 * outside the job's pid namespace and cgroup; forks pid 1 and waits on
 * everything that concerns the job.  Messages are handled in keeper_chan.c.
 */
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect.h"
#include "command.h"
#include "init.h"
#include "keep.h"
#include "keeper_internal.h"
#include "lib/chan.h"
#include "lib/content.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/worker_args.h"
#include "lib/memfd.h"
#include "ns.h"
#include "proto/client_msg.h"
#include "proto/job_msg.h"
#include "sandbox.h"
#include "storeclient.h"

#define PIDS_MORE       8       /* so that the cgroup's limit is met first */

/*
 * Keep our descriptors and 0, 1, 2; everything else of errand-exec, other
 * jobs' channels included, is closed.
 */
static int
descriptors(const struct run *run)
{
	int fds[] = { run->chan, run->store, run->log, run->values };

	return (ns_close_others(fds, run->values == -1 ? 3 : 4));
}

/* Safe defaults, before anything of the job is looked at. */
static int
shed(struct run *run)
{

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		return (-1);
	if (getppid() != run->parent)
		return (-1);    /* it ended before we asked */
	(void)prctl(PR_SET_NAME, "errand-keeper", 0, 0, 0);
	(void)umask(0);
	return (descriptors(run));
}

static void
pair_close(int *a, int *b)
{

	io_close(a);
	io_close(b);
}

/* Fork pid 1, which waits for PLACED.  Its ends of the pipes are closed. */
static int
init_fork(struct keeper *k, const struct exec_filters *f)
{
	int ctl[2] = { -1, -1 }, go[2] = { -1, -1 }, ex[2] = { -1, -1 };
	struct init_start start;
	int host = k->run->net == JOB_NET_HOST;

	if (chan_pair(ctl) == -1 || pipe2(go, O_CLOEXEC) == -1 ||
	    pipe2(ex, O_CLOEXEC) == -1)
		return (-1);
	start.fds = (struct init_fds){ ctl[1], go[0], ex[1] };
	start.view = (struct view){ .net_host = host,
	    .scratch = k->run->limits.memory };
	start.filter = host ? f->host : f->none;
	k->ctl = ctl[0];
	k->go_fd = go[1];
	k->exec_fd = ex[0];

	if ((k->init = ns_clone(NS_INIT, &k->initfd)) == 0) {
		pair_close(&ctl[0], &go[1]);
		pair_close(&ex[0], &k->chan);
		init_main(&start);
	}
	pair_close(&ctl[1], &go[0]);
	io_close(&ex[1]);
	return (k->init == -1 ? -1 : 0);
}

static void
say_hello(struct keeper *k)
{
	struct job_msg m;

	memset(&m, 0, sizeof(m));
	m.op = JOBC_HELLO;
	m.u.version = CHANNEL_VERSION;
	keeper_send(k, &m, NULL, 0);
}

/*
 * Pid 1 is made before the maps are written, so that both can be announced at
 * once; errandd answers one after the other.
 */
static int
announce(struct keeper *k, const struct exec_filters *f)
{
	int self;

	say_hello(k);
	if (k->cfg->rootless && ns_map_self(0, k->cfg->uid,
	    k->cfg->gid) == -1)
		return (keeper_fault_step(k, "the ids of the sandbox", errno));
	if ((self = ns_pidfd_self()) == -1)
		return (keeper_fault_step(k, "a pidfd", errno));
	keeper_say(k, JOBC_MAP, self);
	io_close(&self);
	if (init_fork(k, f) == -1)
		return (keeper_fault_step(k, "pid 1 of the sandbox", errno));
	keeper_say(k, JOBC_PLACE, k->initfd);
	return (0);
}

/* Serve errandd until ${*flag} is set. */
static int
await(struct keeper *k, const uint8_t *flag)
{
	struct pollfd p = { .fd = k->chan, .events = POLLIN };

	while (!*flag) {
		if (poll(&p, 1, -1) == -1 && errno != EINTR)
			return (keeper_fault_step(k, "waiting", errno));
		if (keeper_hear(k) == -1)
			return (-1);
	}
	return (0);
}

/* Until the maps are written we are nobody. */
static int
become(struct keeper *k)
{

	if (await(k, &k->mapped) == -1)
		return (-1);
	if (ns_become_root() == -1)
		return (keeper_fault_step(k, "becoming the tenant's user",
		    errno));
	if (getppid() != k->run->parent)
		_exit(1);
	if (sethostname("errand", 6) == -1)
		return (keeper_fault_step(k, "the host name", errno));
	if (k->run->net != JOB_NET_HOST && ns_loopback() == -1)
		return (keeper_fault_step(k, "the loopback interface", errno));
	return (0);
}

struct text {
	uint8_t *p;
	size_t len;
	size_t cap;
};

static int
text_add(void *cookie, const uint8_t *buf, uint64_t len)
{
	struct text *t = cookie;

	if (len > t->cap - t->len) {
		errno = EPROTO;
		return (-1);
	}
	if (buf == NULL)
		memset(t->p + t->len, 0, (size_t)len);
	else
		memcpy(t->p + t->len, buf, (size_t)len);
	t->len += (size_t)len;
	return (0);
}

static int
store_fault(struct keeper *k, const char *what)
{
	struct err err = { 0 };

	if (errno == ECANCELED)
		return (-1);
	if (errno == EREMOTEIO)
		err = *storeclient_error(k->sc);
	else
		(void)err_set(&err, errno == EPROTO ? ERR_DAMAGED : ERR_IO,
		    "%s: %s", what, strerror(errno));
	return (keeper_fault(k, &err));
}

/* Fetch and parse the spec. */
static int
spec_get(struct keeper *k, struct job_spec *spec)
{
	struct text t = { .cap = (size_t)k->run->spec_len };
	int rc = -1;

	if (t.cap > LIMIT_SPEC || (t.p = malloc(t.cap)) == NULL)
		return (keeper_fault_step(k, "the job's spec", ENOMEM));
	if (content_read(&k->run->spec, storeclient_fetch, k->sc, text_add,
	    &t) == 0) {
		errno = EPROTO;
		if (t.len == t.cap)
			rc = job_spec_parse(t.p, t.len, spec);
	}
	free(t.p);
	return (rc == -1 ? store_fault(k, "the job's spec") : 0);
}

/* The command as pid 1 wants it: a memfd, or -1. */
static int
command_make(struct keeper *k, const struct job_spec *spec)
{
	struct command_facts f = { .job = k->run->job,
	    .as_root = k->run->as_root, .pids = k->run->limits.pids };
	const char *why;
	struct err err;
	int fd;

	memset(&err, 0, sizeof(err));
	if (f.pids != 0 && !k->cfg->rootless)
		f.pids += PIDS_MORE;
	if (k->run->values != -1 && memfd_map(k->run->values, LIMIT_ENV_BYTES,
	    &f.values, &f.values_len) == -1) {
		(void)err_set(&err, ERR_INVALID, "the values of the "
		    "environment cannot be read: %s", strerror(errno));
		return (keeper_fault(k, &err));
	}
	if ((fd = command_pack(spec, &f, &why)) == -1) {
		(void)err_set(&err, ERR_INVALID, "%s", why);
		(void)keeper_fault(k, &err);
	}
	memfd_unmap(f.values, f.values_len);
	return (fd);
}

static int
keep_fault(struct keeper *k)
{
	struct err err = { 0 };

	(void)err_set(&err, errno == EPROTO ? ERR_INVALID : ERR_IO,
	    "the tree's ignore rules: %s", errno == EPROTO ? "malformed" :
	    strerror(errno));
	(void)keeper_fault(k, &err);
	return (-1);
}

/* Fetch the spec, and make of it what pid 1 needs: a memfd, or -1. */
static int
command_get(struct keeper *k)
{
	struct job_spec spec;
	int fd;

	if (spec_get(k, &spec) == -1)
		return (-1);
	k->argv0 = strdup(spec.argv[0]);
	k->workdir = strdup(spec.workdir == NULL ? "" : spec.workdir);
	fd = (k->keep = keep_new(&spec)) == NULL ? keep_fault(k) :
	    command_make(k, &spec);
	job_spec_done(&spec);
	if (k->argv0 == NULL || k->workdir == NULL) {
		io_close(&fd);
		return (keeper_fault_step(k, "the command", ENOMEM));
	}
	return (fd);
}

/* The output's pipes; ${fds} are the ends for writing. */
static int
output_make(struct keeper *k, int *fds)
{
	int out[2], er[2];

	if (pipe2(out, O_CLOEXEC) == -1)
		return (keeper_fault_step(k, "a pipe", errno));
	k->pump.fd[0] = out[0];
	fds[0] = out[1];
	if (pipe2(er, O_CLOEXEC) == -1)
		return (keeper_fault_step(k, "a pipe", errno));
	k->pump.fd[1] = er[0];
	fds[1] = er[1];
	/* The job can read its own output too: a read must not wait for it. */
	if (io_nonblock(out[0]) == -1 || io_nonblock(er[0]) == -1)
		return (keeper_fault_step(k, "a pipe", errno));
	return (0);
}

/* Give pid 1 the workspace and the command. */
static int
hand_in(struct keeper *k)
{
	struct init_msg m = { .op = INIT_WORKSPACE };
	int fds[4] = { -1, -1, -1, -1 }, rc = -1;
	size_t i;

	/* Pid 1 hears first that it was placed, then this. */
	if ((fds[1] = command_get(k)) != -1 &&
	    output_make(k, &fds[2]) == 0 &&
	    (fds[0] = workspace_make(k)) != -1 &&
	    await(k, &k->placed) == 0) {
		keeper_tell_init(k, &m, fds, 4);
		rc = 0;
	}
	for (i = 0; i < 4; i++)
		io_close(&fds[i]);
	return (rc);
}

/* The exec pipe: a reason, or its end when the command was executed. */
static void
hear_exec(struct keeper *k)
{
	struct job_msg m;
	uint8_t sig;
	ssize_t n;

	n = read(k->exec_fd, &k->refused, sizeof(k->refused));
	if (n == -1 && errno == EINTR)
		return;
	io_close(&k->exec_fd);
	if (n != 0 || k->result.err.code != ERR_NONE || k->cancelled ||
	    !k->go || !k->placed)
		return;
	k->started = 1;
	k->result.ran = 1;
	/* The end of a short command may have been heard of first. */
	k->started_mono = k->done ? k->ended_mono : io_mono_us();
	k->result.started_us = k->done ? k->result.ended_us : io_real_us();
	k->result.start_us = k->started_mono - k->run->came_us;
	memset(&m, 0, sizeof(m));
	m.op = JOBC_STARTED;
	m.u.started_us = k->result.started_us;
	keeper_send(k, &m, NULL, 0);
	if ((sig = k->signal) != 0) {
		struct init_msg im = { .op = INIT_SIGNAL, .number = sig };

		keeper_tell_init(k, &im, NULL, 0);
	}
}

enum { AT_CHAN, AT_CTL, AT_EXEC, AT_INIT, AT_OUT, AT_ERR, AT__MAX };

/* Pid 1 before the exec pipe: its fault explains the pipe's early end. */
static int
turn(struct keeper *k, const struct pollfd *p)
{

	if (p[AT_CHAN].revents != 0)
		(void)keeper_hear(k);
	if (p[AT_CTL].revents != 0)
		keeper_hear_init(k);
	if (p[AT_EXEC].revents != 0)
		hear_exec(k);
	if (p[AT_OUT].revents != 0)
		pump_read(&k->pump, 0);
	if (p[AT_ERR].revents != 0)
		pump_read(&k->pump, 1);
	keeper_log(k, 0);
	return (p[AT_INIT].revents != 0);
}

/* Serve everybody until pid 1 is dead, and with it all of the job. */
static void
attend(struct keeper *k)
{
	struct pollfd p[AT__MAX];
	int i;

	for (;;) {
		p[AT_CHAN].fd = k->closed ? -1 : k->chan;
		p[AT_CTL].fd = k->ctl;
		p[AT_EXEC].fd = k->exec_fd;
		p[AT_INIT].fd = k->initfd;
		p[AT_OUT].fd = k->pump.fd[0];
		p[AT_ERR].fd = k->pump.fd[1];
		for (i = 0; i < AT__MAX; i++) {
			p[i].events = POLLIN;
			p[i].revents = 0;
		}
		if (poll(p, AT__MAX, -1) == -1) {
			if (errno != EINTR)
				break;
			continue;
		}
		if (turn(k, p))
			break;
	}
}

static void
init_reap(struct keeper *k)
{

	if (k->init > 0) {
		keeper_kill(k);
		while (waitpid(k->init, NULL, 0) == -1 && errno == EINTR)
			continue;
		k->init = -1;
	}
	io_close(&k->initfd);
}

/* What the last messages say, after the sender's death. */
static void
last_words(struct keeper *k)
{
	while (k->ctl != -1 && !k->done)
		keeper_hear_init(k);
	if (k->exec_fd != -1)
		hear_exec(k);
	if (k->init == -1 && k->pump.log != NULL)
		pump_drain(&k->pump);
}

static void
explain_refusal(struct keeper *k)
{
	const struct preexec_msg *r = &k->refused;
	char name[256];
	struct err err;

	memset(&err, 0, sizeof(err));
	if (r->step == PREEXEC_FENCE) {
		(void)keeper_fault_step(k, r->what, r->err);
		return;
	}
	text_escape(r->step == PREEXEC_WORKDIR ? k->workdir : k->argv0,
	    strlen(r->step == PREEXEC_WORKDIR ? k->workdir : k->argv0), name,
	    sizeof(name));
	if (r->step == PREEXEC_WORKDIR) {
		k->result.exit_code = 120;
		(void)err_set(&err, ERR_INVALID, "the workspace has no "
		    "directory %s to run the command in: %s", name,
		    strerror(r->err));
	} else if (r->err == ENOENT || r->err == ENOTDIR) {
		k->result.exit_code = 127;
		(void)err_set(&err, ERR_NOT_FOUND, "%s: command not found",
		    name);
	} else {
		k->result.exit_code = 126;
		(void)err_set(&err, ERR_DENIED, "%s: cannot be executed: %s",
		    name, strerror(r->err));
	}
	(void)keeper_fault(k, &err);
}

/* How it ended, where pid 1 did not live to say. */
static void
conclude(struct keeper *k)
{
	struct job_result *r = &k->result;
	struct err err;

	memset(&err, 0, sizeof(err));
	if (k->refused.step != 0)
		explain_refusal(k);
	else if (k->cancelled) {
		r->signal = SIGKILL;
		(void)err_set(&err, ERR_CANCELLED, "ended before the command "
		    "was executed");
		(void)keeper_fault(k, &err);
	} else if (!k->started && r->err.code == ERR_NONE) {
		(void)keeper_fault_step(k, "pid 1 of the sandbox was killed",
		    0);
	} else if (k->started && !k->done) {
		r->signal = SIGKILL;
		r->exit_code = 128 + SIGKILL;
		r->ended_us = io_real_us();
		k->ended_mono = io_mono_us();
	}
	/* Both may be seen in one turn, the end first. */
	if (k->started && k->ended_mono > k->started_mono)
		r->run_us = k->ended_mono - k->started_mono;
}

/* Use the store's new channel, if there is one.  Nothing waits on the old. */
static int
store_switch(struct keeper *k)
{
	struct storeclient *sc;

	if (k->newstore == -1)
		return (-1);
	if ((sc = storeclient_new(k->newstore, k->chan, keeper_hear,
	    k)) == NULL)
		return (-1);
	k->newstore = -1;
	storeclient_free(k->sc);
	k->sc = sc;
	return (0);
}

/* Wait for another store when this one is gone.  0 when there is one. */
static int
store_again(struct keeper *k)
{
	struct pollfd p = { .fd = k->chan, .events = POLLIN };

	if (!storeclient_lost(k->sc))
		return (-1);
	log_info("job %s: the store is gone; waiting for it", k->run->job);
	while (k->newstore == -1) {
		if (poll(&p, 1, -1) == -1 && errno != EINTR)
			return (-1);
		if (keeper_hear(k) == -1)
			return (-1);
	}
	return (store_switch(k));
}

/* What one store was given is collected again for the next. */
static void
collect_whole(struct keeper *k)
{
	const struct job_result before = k->result;

	(void)store_switch(k);
	for (;;) {
		collect(k);
		if (store_again(k) == -1)
			return;
		k->result = before;
	}
}

/* After the end of all processes: the log, the changes, the result. */
static void
settle(struct keeper *k)
{
	uint64_t begin = io_mono_us();
	struct job_msg m;
	struct err err;

	memset(&err, 0, sizeof(err));
	keeper_log(k, 1);
	keeper_say(k, JOBC_ENDED, -1);
	if (pump_finish(&k->pump, &k->result.log) == -1) {
		(void)err_set(&err, errno == ENOSPC ? ERR_FULL : ERR_IO,
		    "the log of the job could not be written: %s",
		    strerror(errno));
		(void)keeper_fault(k, &err);
	}
	collect_whole(k);
	k->result.collect_us = io_mono_us() - begin;
	memset(&m, 0, sizeof(m));
	m.op = JOBC_RESULT;
	m.u.result = k->result;
	keeper_send(k, &m, NULL, 0);
}

static int
keeper_init(struct keeper *k, struct run *run, const struct worker_args *cfg)
{

	memset(k, 0, sizeof(*k));
	k->run = run;
	k->cfg = cfg;
	k->chan = run->chan;
	k->ctl = k->go_fd = k->exec_fd = k->initfd = k->viewfd = -1;
	k->newstore = -1;
	k->tenant = k->jobdir = k->tree.lock = -1;
	k->log_ready = 1;
	if ((k->sc = storeclient_new(run->store, run->chan, keeper_hear,
	    k)) == NULL)
		return (-1);
	return (pump_init(&k->pump, run->log, run->limits.log_bytes));
}

void
keeper_main(struct run *run, const struct worker_args *cfg,
    const struct exec_filters *filters)
{
	struct keeper k;

	if (shed(run) == -1 || keeper_init(&k, run, cfg) == -1) {
		log_warn("job %s: keeper", run->job);
		_exit(111);
	}
	/* The store answers while the namespaces are being mapped. */
	(void)storeclient_want(k.sc, &run->spec);
	(void)storeclient_kick(k.sc);
	if (announce(&k, filters) == 0 && become(&k) == 0 && hand_in(&k) == 0)
		attend(&k);
	init_reap(&k);
	last_words(&k);
	conclude(&k);
	if (!k.closed)
		settle(&k);
	workspace_remove(&k);
	_exit(0);
}

void
keeper_stillborn(int chan, const char *why)
{
	struct job_msg m;
	struct keeper k;

	memset(&k, 0, sizeof(k));
	k.chan = chan;
	say_hello(&k);
	memset(&m, 0, sizeof(m));
	m.op = JOBC_RESULT;
	(void)err_set(&m.u.result.err, ERR_SANDBOX, "%s", why);
	keeper_send(&k, &m, NULL, 0);
}
