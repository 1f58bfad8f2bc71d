/*
 * The keeper of one sandbox and its job, from its fork to its exit.  Runs as
 * the tenant, outside the job's pid namespace and cgroup; waits on everything
 * that concerns the job.  The sandbox is made in keeper_prepare.c, the job
 * brought in by keeper_run.c, messages are handled in keeper_chan.c.
 */
#include <sys/wait.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache.h"
#include "collect.h"
#include "init.h"
#include "keeper_internal.h"
#include "lib/io.h"
#include "lib/log.h"
#include "proto/client_msg.h"
#include "proto/job_msg.h"
#include "storeclient.h"

#define LINGER_MS       20      /* so long is a burst of 16 on two processors */

enum {
	AT_CHAN, AT_CTL, AT_GATE, AT_EXEC, AT_INIT, AT_OUT, AT_ERR, AT__MAX,
	AT_FEED = AT__MAX       /* and one more */
};

static void
hear_out(struct keeper *k)
{

	pump_read(&k->pump, 0);
}

static void
hear_err(struct keeper *k)
{

	pump_read(&k->pump, 1);
}

static void
hear_chan(struct keeper *k)
{

	(void)keeper_hear(k);
}

/* Pid 1 before the exec pipe: its fault explains the pipe's early end. */
static void (*const hear[AT__MAX])(struct keeper *) = {
	[AT_CHAN] = hear_chan, [AT_CTL] = keeper_hear_init,
	[AT_GATE] = keeper_hear_gate, [AT_EXEC] = keeper_hear_exec,
	[AT_OUT] = hear_out, [AT_ERR] = hear_err,
};

/* Serve whoever speaks next.  0, or -1 when pid 1 is dead. */
static int
turn(struct keeper *k)
{
	const int fds[AT__MAX] = {
		[AT_CHAN] = k->closed ? -1 : k->chan, [AT_CTL] = k->ctl,
		[AT_GATE] = k->gate, [AT_EXEC] = k->exec_fd,
		[AT_INIT] = k->initfd, [AT_OUT] = k->pump.fd[0],
		[AT_ERR] = k->pump.fd[1],
	};
	struct pollfd p[AT_FEED + 2];
	int i;

	for (i = 0; i < AT__MAX; i++)
		p[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
	feed_poll(&k->feed, &p[AT_FEED]);
	if (poll(p, AT_FEED + 2, -1) == -1)
		return (errno == EINTR ? 0 : -1);
	for (i = 0; i < AT__MAX; i++)
		if (p[i].revents != 0 && hear[i] != NULL)
			hear[i](k);
	feed_turn(&k->feed, &p[AT_FEED]);
	keeper_feed_look(k);
	if (k->run != NULL)
		keeper_log(k, 0);
	return (p[AT_INIT].revents != 0 ? -1 : 0);
}

int
keeper_await(struct keeper *k, const uint8_t *flag)
{

	while (!*flag) {
		if (turn(k) == -1 || k->cancelled || k->closed ||
		    k->result.err.code != ERR_NONE || k->refused.step != 0)
			return (-1);
	}
	return (k->cancelled || k->closed ? -1 : 0);
}

/* Serve everybody until pid 1 is dead, and with it all of the job. */
static void
attend(struct keeper *k)
{

	while (turn(k) == 0)
		continue;
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
	io_close(&k->held[0]);
	io_close(&k->held[1]);
}

/* What the last messages say, after the sender's death. */
static void
last_words(struct keeper *k)
{
	while (k->ctl != -1 && !k->done)
		keeper_hear_init(k);
	if (k->exec_fd != -1)
		keeper_hear_exec(k);
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
	} else if (r->err == ELIBACC) {
		k->result.exit_code = 127;
		(void)err_set(&err, ERR_NOT_FOUND, "%s: is there, but the "
		    "interpreter or loader that it names is not", name);
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
	if (k->started && k->ended_mono > k->started_mono)
		r->run_us = k->ended_mono - k->started_mono;
}

/*
 * A job that was ended for what it wrote, or that ended when all it may write
 * was written: what it could not write, its status may not tell.
 */
static void
metered(struct keeper *k)
{
	struct job_result *r = &k->result;
	struct meter_word w;

	if (meter_done(&k->meter, &w) == 0 && w.limit != JOB_LIMIT_NONE)
		r->limit = w.limit;
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
	log_info("job %s: the store is gone; waiting for it", keeper_name(k));
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

static void
result_say(struct keeper *k)
{
	struct job_msg m;

	memset(&m, 0, sizeof(m));
	m.op = JOBC_RESULT;
	m.u.result = k->result;
	keeper_send(k, &m, NULL, 0);
}

/* After the end of all processes: the log, the changes, the result. */
static void
settle(struct keeper *k)
{
	uint64_t begin = io_mono_us();
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
	caches_unmake(k);
	collect_whole(k);
	caches_save(k);
	k->result.collect_us = io_mono_us() - begin;
	result_say(k);
}

static void
keeper_init(struct keeper *k, const struct prep *p,
    const struct worker_args *cfg, const struct exec_filters *filters)
{

	memset(k, 0, sizeof(*k));
	k->prep = p;
	k->cfg = cfg;
	k->filters = filters;
	k->chan = p->chan;
	k->ctl = k->gate = k->exec_fd = k->initfd = k->viewfd = -1;
	k->out[0] = k->out[1] = k->pump.fd[0] = k->pump.fd[1] = -1;
	k->held[0] = k->held[1] = -1;
	k->newstore = k->slave = -1;
	feed_init(&k->feed);
	meter_init(&k->meter);
	k->tenant = k->jobdir = k->data = k->tree.lock = -1;
	k->log_ready = 1;
}

/* Until there is a job; 0, or -1 when there will be none. */
static int
run_await(struct keeper *k)
{
	while (k->run == NULL) {
		if (turn(k) == -1 || k->closed || k->cancelled ||
		    k->refused.step != 0)
			return (-1);
	}
	return (0);
}

/*
 * What is left is to clean up, and nobody waits for that: other jobs of the
 * same burst may just be on their way, and it takes a fifth of what a job does.
 */
static void
linger(void)
{

	(void)poll(NULL, 0, LINGER_MS);
}

void
keeper_main(const struct prep *p, const struct worker_args *cfg,
    const struct exec_filters *filters)
{
	struct keeper k;

	keeper_init(&k, p, cfg, filters);
	if (keeper_shed(p) == -1) {
		log_warn("sandbox %s: keeper", p->id);
		_exit(111);
	}
	if (keeper_prepare(&k) == 0 && run_await(&k) == 0 &&
	    keeper_hand_in(&k) == 0)
		attend(&k);
	feed_done(&k.feed);
	init_reap(&k);
	io_close(&k.slave);
	last_words(&k);
	conclude(&k);
	metered(&k);
	if (!k.closed && k.run != NULL) {
		settle(&k);
		linger();
	} else if (!k.closed)
		result_say(&k);
	caches_free(&k);
	workspace_remove(&k);
	_exit(0);
}

void
keeper_stillborn(int chan, const char *why)
{
	struct keeper k;

	memset(&k, 0, sizeof(k));
	k.chan = chan;
	keeper_say_hello(&k);
	(void)err_set(&k.result.err, ERR_SANDBOX, "%s", why);
	result_say(&k);
}
