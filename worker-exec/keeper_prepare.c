/*
 * From a new process to a sandbox that waits for its job: namespaces, ids,
 * directories, pid 1, the process that will be the command.  Does all that does
 * not depend on the job; what does is in keeper_run.c.
 */
#include <sys/prctl.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "init.h"
#include "keeper_internal.h"
#include "lib/chan.h"
#include "lib/io.h"
#include "lib/worker_args.h"
#include "ns.h"
#include "proto/job_msg.h"
#include "sandbox.h"
#include "share.h"
#include "storeclient.h"

/*
 * What pid 1 has to be given once we are the tenant, so that the job may open
 * its own output again by name.
 */
enum { GIVE_WORKSPACE, GIVE_GATE, GIVE_EXEC, GIVE_OUT, GIVE_ERR, GIVE__MAX };

int
keeper_shed(const struct prep *p)
{
	const int keep[] = { p->chan, p->disk };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		return (-1);
	if (getppid() != p->parent)
		return (-1);    /* it ended before we asked */
	(void)prctl(PR_SET_NAME, "errand-keeper", 0, 0, 0);
	(void)umask(0);
	/* Keep 0, 1, 2 and what came with PREPARE; all else of errand-exec, the
	 * other sandboxes' channels included, is closed. */
	return (ns_close_others(keep, p->disk == -1 ? 1 : 2));
}

void
keeper_say_hello(struct keeper *k)
{
	struct job_msg m;

	memset(&m, 0, sizeof(m));
	m.op = JOBC_HELLO;
	m.u.version = CHANNEL_VERSION;
	keeper_send(k, &m, NULL, 0);
}

/* Fork pid 1, which waits for PLACED. */
static int
init_fork(struct keeper *k)
{
	const struct exec_filters *f = k->filters;
	int host = k->prep->net == JOB_NET_HOST, ctl[2];
	struct init_start start = {
		.view = { .from = k->prep->view, .net_host = host,
		    .scratch = k->prep->scratch,
		    /* Without a namespace of its own, nothing is its share. */
		    .jobs = k->cfg->bounded ? 0 : k->cfg->jobs,
		    .terminals = share_terminals(k->cfg->jobs),
		    .runner = k->cfg->bounded ? k->prep->host_uid : 0 },
		.filter = host ? f->host : f->none,
		.as_root = k->prep->as_root,
		.ids = k->cfg->bounded ? 0 : k->prep->ids,
		.tenant = k->cfg->bounded ? k->prep->host_uid : 0,
	};

	if (chan_pair(ctl) == -1)
		return (-1);
	k->ctl = ctl[0];
	start.ctl = ctl[1];
	if ((k->init = ns_clone(NS_INIT, &k->initfd)) == 0) {
		io_close(&ctl[0]);
		io_close(&k->chan);
		init_main(&start);
	}
	io_close(&ctl[1]);
	return (k->init == -1 ? -1 : 0);
}

/*
 * Pid 1 is made before the maps are written, so that both can be announced at
 * once; errandd answers one after the other.
 */
static int
announce(struct keeper *k)
{
	int self;

	keeper_say_hello(k);
	if (k->cfg->rootless && ns_map_self(0, k->cfg->uid,
	    k->cfg->gid) == -1)
		return (keeper_fault_step(k, "the ids of the sandbox", errno));
	if ((self = ns_pidfd_self()) == -1)
		return (keeper_fault_step(k, "a pidfd", errno));
	keeper_say(k, JOBC_MAP, self);
	io_close(&self);
	if (init_fork(k) == -1)
		return (keeper_fault_step(k, "pid 1 of the sandbox", errno));
	keeper_say(k, JOBC_PLACE, k->initfd);
	return (0);
}

/* Until the maps are written we are nobody. */
static int
become(struct keeper *k)
{

	if (keeper_await(k, &k->mapped) == -1)
		return (-1);
	/* The interface first: the right to that is not kept. */
	if (k->cfg->bounded && k->prep->net != JOB_NET_HOST &&
	    ns_loopback() == -1)
		return (keeper_fault_step(k, "the loopback interface", errno));
	if ((k->cfg->bounded ? ns_become_tenant(k->prep->host_uid,
	    NS_KEEPER_CAPS, NS_OVERLAY_CAP) : ns_become_root()) == -1)
		return (keeper_fault_step(k, "becoming the tenant's user",
		    errno));
	if (getppid() != k->prep->parent)
		_exit(1);
	if (sethostname("errand", 6) == -1)
		return (keeper_fault_step(k, "the host name", errno));
	if (!k->cfg->bounded && k->prep->net != JOB_NET_HOST &&
	    ns_loopback() == -1)
		return (keeper_fault_step(k, "the loopback interface", errno));
	return (0);
}

/* A pipe whose end for reading is ours. */
static int
pipe_make(int *ours, int *theirs)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) == -1)
		return (-1);
	*ours = p[0];
	*theirs = p[1];
	return (0);
}

static int
gate_make(struct keeper *k, int *theirs)
{
	int p[2];

	if (chan_pair(p) == -1)
		return (-1);
	k->gate = p[0];
	*theirs = p[1];
	return (0);
}

static int
pipes_make(struct keeper *k, int *give)
{

	/* The job can read its own output too: a read must not wait for it. */
	if (gate_make(k, &give[GIVE_GATE]) == -1 ||
	    pipe_make(&k->exec_fd, &give[GIVE_EXEC]) == -1 ||
	    pipe_make(&k->out[0], &give[GIVE_OUT]) == -1 ||
	    pipe_make(&k->out[1], &give[GIVE_ERR]) == -1 ||
	    io_nonblock(k->out[0]) == -1 || io_nonblock(k->out[1]) == -1)
		return (keeper_fault_step(k, "a pipe", errno));
	return (0);
}

/* Have pid 1 make the view and fork the command's process. */
static int
give_all(struct keeper *k)
{
	struct init_msg m = { .op = INIT_MAKE };
	int give[GIVE__MAX] = { -1, -1, -1, -1, -1 }, rc = -1;
	size_t i;

	/* Pid 1 hears first that it was placed, then this. */
	if (pipes_make(k, give) == 0 &&
	    (give[GIVE_WORKSPACE] = workspace_make(k)) != -1 &&
	    keeper_await(k, &k->placed) == 0) {
		keeper_tell_init(k, &m, give, GIVE__MAX);
		k->held[0] = give[GIVE_OUT];
		k->held[1] = give[GIVE_ERR];
		give[GIVE_OUT] = give[GIVE_ERR] = -1;
		rc = 0;
	}
	for (i = 0; i < GIVE__MAX; i++)
		io_close(&give[i]);
	return (rc);
}

/*
 * What a job needs of the heap, for a moment: its pages are ours then, and the
 * job does not wait while the kernel copies them.
 */
static void
warm(void)
{
	struct storeclient *sc = storeclient_new(-1, -1, NULL, NULL);
	struct pump p;

	if (pump_init(&p, -1, 0) == 0)
		pump_done(&p);
	storeclient_free(sc);
}

/*
 * A sandbox that waits must be known to work: a program of its view runs, with
 * all that fences a command in.  With a job at hand there is no better proof
 * than the job.
 */
static int
gated(struct keeper *k)
{
	const int prove = k->run == NULL;

	if (prove) {
		keeper_tell_gate(k, GATE_PROBE, -1);
		warm();
	}
	if (keeper_await(k, &k->gated) == -1)
		return (-1);
	return (prove ? keeper_await(k, &k->proved) : 0);
}

int
keeper_prepare(struct keeper *k)
{

	if (announce(k) == -1 || become(k) == -1 ||
	    give_all(k) == -1 || gated(k) == -1)
		return (-1);
	keeper_say(k, JOBC_READY, -1);
	return (0);
}
