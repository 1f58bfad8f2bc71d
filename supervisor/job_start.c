/*
 * What a job needs from us to run, and the RUN and GO that follow.  Makes its
 * channels here, and has its directory, cgroup and log made by priv.c, cgroup.c
 * and logs.c.  Executes nothing: errand-exec does.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "config.h"
#include "exec_dispatch.h"
#include "job_dispatch.h"
#include "jobs.h"
#include "lib/chan.h"
#include "lib/io.h"
#include "lib/log.h"
#include "logs.h"
#include "proto/client_msg.h"
#include "store_client.h"
#include "sup.h"
#include "tenants.h"

/* A large tree takes a while to be written; a slot is not held for ever. */
#define START_US        (UINT64_C(900) * 1000000)

/* Descriptors of a RUN, in its order. */
enum { RUN_JOB, RUN_STORE, RUN_LOG, RUN_VALUES, RUN__MAX };

static void
fds_close(int *fds)
{
	size_t i;

	for (i = 0; i < RUN__MAX; i++)
		io_close(&fds[i]);
}

static void
on_bound(void *cookie, const struct store_msg *m, int fd)
{
	(void)cookie;
	(void)fd;
	if (m->op == STORE_ERROR)
		log_warnx("store: a job's channel: %s", m->u.error.text);
}

/*
 * A store channel for the job.  The other end may be used at once: what is
 * written to it waits until the store serves it.
 */
static int
store_channel(struct job *j, int *fd)
{
	struct store_msg m;
	int pair[2];

	if (chan_pair(pair) == -1)
		return (-1);
	memset(&m, 0, sizeof(m));
	m.op = STORE_BIND;
	m.u.bind.tenant_id = j->rec.tenant_id;
	m.u.bind.rights = STORE_RIGHT_PUT | STORE_RIGHT_GET |
	    STORE_RIGHT_RESULTS;
	tenant_quota(j->sup->tenants, j->tenant, &m.u.bind.quota);
	if (store_request(j->sup->store, &m, pair[0], on_bound, NULL) == 0) {
		io_close(&pair[1]);
		return (-1);
	}
	*fd = pair[1];
	return (0);
}

void
job_store_again(struct job *j)
{
	struct job_msg m;
	int fd;

	if (j->chan == NULL || j->phase >= KEEPER_DONE)
		return;
	if (store_channel(j, &fd) == -1) {
		log_warn("job %s: store channel", j->rec.id);
		return;
	}
	memset(&m, 0, sizeof(m));
	m.op = JOBC_STORE;
	(void)job_send_fd(j, &m, fd);
}

static int
job_channel(struct job *j, int *fd)
{
	int pair[2];

	if (chan_pair(pair) == -1)
		return (-1);
	if ((j->chan = chan_new(j->sup->base, pair[0], "job", job_msg_in,
	    job_chan_end, j)) == NULL) {
		io_close(&pair[0]);
		io_close(&pair[1]);
		return (-1);
	}
	*fd = pair[1];
	return (0);
}

/* What a sandbox needs, in the order in which it is least to undo. */
static int
acquire(struct job *j, int *fds, const char **what)
{
	struct sup *sup = j->sup;
	const struct tenant_conf *tc = &j->tenant->conf;
	uint32_t gid = sup->cfg->rootless ? getgid() : tc->host_uid;

	*what = "its work directory";
	if (workdir_priv(sup->work_fd, tc->host_uid, gid) == -1)
		return (-1);
	*what = "its log";
	if ((fds[RUN_LOG] = logs_begin(sup->logs_fd, j->rec.tenant_id,
	    j->rec.id)) == -1)
		return (-1);
	*what = "its channels";
	if (store_channel(j, &fds[RUN_STORE]) == -1 ||
	    job_channel(j, &fds[RUN_JOB]) == -1)
		return (-1);
	fds[RUN_VALUES] = j->values_fd;
	j->values_fd = -1;
	return (0);
}

static int
run_send(struct job *j, int *fds)
{
	struct exec_msg m;
	size_t n = fds[RUN_VALUES] == -1 ? 3 : 4;

	memset(&m, 0, sizeof(m));
	m.op = EXEC_RUN;
	memcpy(m.u.run.job, j->rec.id, sizeof(m.u.run.job));
	m.u.run.flags = n == 4 ? EXEC_RUN_VALUES : 0;
	m.u.run.host_uid = j->tenant->conf.host_uid;
	m.u.run.net = j->rec.submit.net;
	m.u.run.as_root = j->rec.submit.as_root;
	m.u.run.root = j->rec.submit.root;
	m.u.run.spec = j->rec.submit.spec;
	m.u.run.spec_len = j->rec.submit.spec_len;
	m.u.run.limits = j->rec.limits;
	return (exec_link_run(j->sup->exec, &m, fds, n));
}

int
job_start(struct job *j)
{
	int fds[RUN__MAX] = { -1, -1, -1, -1 };
	const char *what;

	j->t_start = io_mono_us();
	j->rec.phases.queue = j->t_start - j->t_admit;
	if (acquire(j, fds, &what) == -1) {
		log_warn("job %s: %s", j->rec.id, what);
		(void)err_set(&j->fault, ERR_SANDBOX, "the host could not make "
		    "%s: %s", what, strerror(errno));
		goto err0;
	}
	j->phase = KEEPER_NEW;
	if (run_send(j, fds) == -1) {
		(void)err_set(&j->fault, ERR_WORKER_LOST, "errand-exec ended "
		    "before the job started");
		goto err1;
	}
	/* Needed at PLACE; made while the keeper is. */
	if ((j->cgroup = cgroup_new(j->sup->cgroups, j->rec.id,
	    &j->rec.limits)) == NULL) {
		log_warn("job %s: its cgroup", j->rec.id);
		(void)err_set(&j->fault, ERR_SANDBOX, "the host could not make "
		    "its cgroup: %s", strerror(errno));
		goto err1;
	}
	if (j->waits == WAIT_NONE)
		job_timer(j, WAIT_START, START_US);
	return (0);

err1:
	chan_free(j->chan);
	j->chan = NULL;
	j->phase = KEEPER_DONE;
	j->doomed = 1;
	return (-1);
err0:
	fds_close(fds);
	chan_free(j->chan);
	j->chan = NULL;
	j->doomed = 1;
	return (-1);
}

void
job_go(struct job *j)
{
	struct job_msg m;

	if (j->go || j->doomed || !j->published || j->chan == NULL ||
	    j->request != 0 || j->rec.state != JOB_STARTING)
		return;
	memset(&m, 0, sizeof(m));
	m.op = JOBC_GO;
	j->go = 1;
	(void)job_send(j, &m);
}
