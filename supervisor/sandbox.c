/*
 * One sandbox as we see it: asked for, given to a job, ended.  Makes its
 * channel, and has its directory and cgroup made by priv.c and cgroup.c.  What
 * its keeper says is in sandbox_dispatch.c, how many are kept ready in
 * sandbox_pool.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "config.h"
#include "exec_dispatch.h"
#include "jobs.h"
#include "lib/chan.h"
#include "lib/io.h"
#include "lib/log.h"
#include "sandbox.h"
#include "sandbox_leave.h"
#include "sandbox_pool.h"
#include "sup.h"
#include "tenants.h"

static uint32_t
gid_of(const struct sandbox *b)
{
	return (b->sup->cfg->rootless ? getgid() :
	    b->key.tenant->conf.host_uid);
}

/* More than the tenant's one where it has an image, and is root in it. */
struct map_rule
sandbox_ids(const struct sandbox *b)
{
	const struct tenant_conf *tc = &b->key.tenant->conf;
	struct map_rule rule = {
		.owner_uid = b->sup->exec_uid,
		.host_uid = tc->host_uid, .host_gid = gid_of(b)
	};

	if (b->key.as_root && b->key.image != NULL && !b->sup->cfg->rootless)
		rule.more = tc->image_uids;
	return (rule);
}

/* The channel, and its other end on the way to a keeper. */
static int
prepare_send(struct sandbox *b, const char **what)
{
	const struct map_rule rule = sandbox_ids(b);
	struct exec_msg m;
	int pair[2], fds[2];

	*what = "its channel";
	if (chan_pair(pair) == -1)
		return (-1);
	if ((b->chan = chan_new(b->sup->base, pair[0], "job", sandbox_msg_in,
	    sandbox_chan_end, b)) == NULL) {
		io_close(&pair[0]);
		io_close(&pair[1]);
		return (-1);
	}
	memset(&m, 0, sizeof(m));
	m.op = EXEC_PREPARE;
	memcpy(m.u.prepare.sandbox, b->id, sizeof(m.u.prepare.sandbox));
	m.u.prepare.host_uid = b->key.tenant->conf.host_uid;
	m.u.prepare.net = b->key.net;
	m.u.prepare.as_root = b->key.as_root;
	m.u.prepare.scratch = b->limits.memory;
	if (rule.more.first != 0)
		m.u.prepare.ids = rule.more.last - rule.more.first + 1;
	if (b->key.image != NULL)
		memcpy(m.u.prepare.image, b->key.image->name,
		    sizeof(m.u.prepare.image));
	*what = NULL;
	fds[0] = pair[1];
	fds[1] = b->disk.mnt;
	b->disk.mnt = -1;
	return (exec_link_prepare(b->sup->exec, &m, fds, fds[1] == -1 ? 1 :
	    2));
}

static int
disk_new(struct sandbox *b)
{
	uint32_t uid = b->key.tenant->conf.host_uid;

	if (b->key.disk == 0)
		return (0);
	return (disk_take(b->sup->disks, b->key.disk, uid, uid, &b->disk));
}

struct sandbox *
sandbox_new(struct sup *sup, const struct sandbox_key *key,
    const struct job_limits *l, const char **what)
{
	struct sandbox *b;

	*what = "it";
	if ((b = calloc(1, sizeof(*b))) == NULL)
		return (NULL);
	b->sup = sup;
	b->key = *key;
	b->limits = *l;
	b->phase = KEEPER_NEW;
	b->keeper_fd = b->pid1_fd = b->disk.mnt = b->disk.dir = -1;
	b->asked_us = io_mono_us();
	text_job_id(b->id);
	sandbox_pool_add(sup->sandboxes, b);
	*what = "its disk";
	if (disk_new(b) == -1)
		goto err1;
	*what = "its work directory";
	if (workdir_priv(sup->work_fd, key->tenant->conf.host_uid,
	    gid_of(b)) == -1 || prepare_send(b, what) == -1)
		goto err1;
	/* Needed at PLACE; made while the keeper is. */
	*what = "its cgroup";
	if ((b->cgroup = cgroup_new(sup->cgroups, b->id, l)) == NULL)
		goto err1;
	return (b);

err1:
	sandbox_free(b);
	return (NULL);
}

/* Nobody will say how its keeper ended when errand-exec has ended too. */
static void
leave(const struct sandbox *b)
{
	const struct map_rule ids = sandbox_ids(b);
	const char *why;

	if (exec_link_ready(b->sup->exec, &why))
		leavers_add(b->sup->leavers, b->id, &ids);
	else if (pidfd_dead(b->keeper_fd))
		sandbox_orphan(b);
}

void
sandbox_free(struct sandbox *b)
{
	int e = errno;

	if (b == NULL)
		return;
	sandbox_pool_remove(b->sup->sandboxes, b);
	if (!b->gone && b->keeper_fd != -1)
		leave(b);
	else if (b->killed)
		sandbox_orphan(b);
	chan_free(b->chan);
	io_close(&b->keeper_fd);
	io_close(&b->pid1_fd);
	cgroup_free(b->cgroup);
	disk_drop(b->sup->disks, &b->disk);
	free(b);
	errno = e;
}

int
sandbox_give(struct sandbox *b, struct job *j)
{
	if (cgroup_limit(b->cgroup, &b->limits, &j->rec.limits) == -1)
		return (-1);
	b->limits = j->rec.limits;
	b->job = j;
	j->box = b;
	j->phase = b->phase;
	if (b->pid1_fd != -1)
		job_cpus(j);
	return (0);
}

void
sandbox_close(struct sandbox *b)
{
	chan_free(b->chan);
	b->chan = NULL;
}

/* Safe at any time: only this sandbox's own processes are reached. */
void
sandbox_kill(struct sandbox *b)
{
	kill_priv(b->pid1_fd);
	if (b->cgroup != NULL)
		cgroup_kill(b->cgroup);
}

int
sandbox_dead(const struct sandbox *b, int keeper)
{
	if (b->pid1_fd != -1 && !pidfd_dead(b->pid1_fd))
		return (0);
	if (keeper && b->keeper_fd != -1 && !pidfd_dead(b->keeper_fd))
		return (0);
	return (b->cgroup == NULL || cgroup_empty(b->cgroup));
}

void
sandbox_orphan(const struct sandbox *b)
{
	const struct map_rule ids = sandbox_ids(b);

	workdir_remove_priv(b->sup->work_fd, &ids, b->id);
}

/*
 * The keeper of a job that said something has left its last words in its
 * channel, which come next; the channel's end says that there are no more.
 * Without a job there is nothing to wait for, and somebody else may hold the
 * channel open.
 */
void
sandbox_gone(struct sandbox *b, int status)
{
	log_debug("sandbox %s: keeper ended with %d", b->id, status);
	b->gone = 1;
	b->killed = status != 0;
	if (b->phase == KEEPER_NEW)
		sandbox_lost(b, "its sandbox could not be made");
	else if (b->job == NULL)
		sandbox_lost(b, "the process that kept its sandbox ended");
}

void
sandbox_lost(struct sandbox *b, const char *why)
{
	if (b->job != NULL) {
		job_keeper_lost(b->job, why);
		return;
	}
	kill_priv(b->keeper_fd);
	sandbox_kill(b);
	sandbox_orphan(b);
	sandbox_pool_failed(b, why);
}
