/*
 * A job's way into a sandbox that waits for it: the spec and the tree from the
 * store, the command to pid 1's child, GO.  What a sandbox needs without its
 * job is in keeper_prepare.c.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache.h"
#include "command.h"
#include "gitindex.h"
#include "gitstub.h"
#include "init.h"
#include "keep.h"
#include "keeper_internal.h"
#include "lib/content.h"
#include "lib/io.h"
#include "lib/memfd.h"
#include "lib/sandbox.h"
#include "lib/worker_args.h"
#include "proto/client_msg.h"
#include "proto/job_msg.h"
#include "sandbox.h"
#include "storeclient.h"

#define PIDS_MORE       8       /* so that the cgroup's limit is met first */

int
keeper_take(struct keeper *k, const struct job_msg *m, int *fds, size_t nfds)
{
	const struct job_run *j = &m->u.run;
	struct run *r = &k->job;

	if (k->run != NULL ||
	    nfds != ((j->flags & JOBC_RUN_VALUES) ? 3U : 2U)) {
		errno = EPROTO;
		return (-1);
	}
	memcpy(r->job, j->job, sizeof(r->job));
	r->root = j->root;
	r->spec = j->spec;
	r->spec_len = j->spec_len;
	r->limits = j->limits;
	r->flags = j->flags;
	r->cache_bytes = j->cache_bytes;
	r->cache_total = j->cache_total;
	r->rows = j->rows;
	r->cols = j->cols;
	r->store = fds[0];
	r->log = fds[1];
	r->values = nfds == 3 ? fds[2] : -1;
	fds[0] = fds[1] = -1;
	if (nfds == 3)
		fds[2] = -1;
	r->came_us = io_mono_us();
	if ((k->sc = storeclient_new(r->store, k->chan, keeper_hear,
	    k)) == NULL || pump_init(&k->pump, r->log,
	    r->limits.log_bytes) == -1) {
		errno = ENOMEM;
		return (-1);
	}
	k->run = r;
	/* A failure is met again by whoever fetches it. */
	(void)storeclient_expect(k->sc, &r->spec);
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

/* Programs that ask Git get an answer; below a tree it is overlaid. */
static int
git_stand_in(struct keeper *k, const struct job_spec *spec)
{
	int upper;

	if (spec->commit == NULL || k->run->root.kind == OBJ_NONE)
		return (0);
	if ((upper = openat(k->data, "upper", O_RDONLY | O_DIRECTORY |
	    O_NOFOLLOW | O_CLOEXEC)) == -1 || gitstub_make(upper) == -1) {
		(void)keeper_fault_step(k, "a stand-in for .git", errno);
		io_close(&upper);
		return (-1);
	}
	io_close(&upper);
	k->has_git = 1;
	return (0);
}

/* Its index is made when there is a tree to look at.  A job does without it. */
static void
git_index(struct keeper *k, int tree)
{
	if (k->has_git && gitindex_make(tree) == -1)
		log_warn("job %s: no index for the stand-in of .git",
		    k->run->job);
}

/* The command as pid 1's child wants it.  0 or -1. */
static int
command_make(struct keeper *k, const struct job_spec *spec)
{
	struct command_facts f = { .job = k->run->job,
	    .as_root = k->prep->as_root, .pids = k->run->limits.pids };
	const char *why;
	struct err err;
	int rc;

	memset(&err, 0, sizeof(err));
	if (workspace_soft(k))
		f.file = k->run->limits.disk;
	/* Without a user namespace all jobs of the tenant would be counted. */
	if (k->cfg->bounded)
		f.pids = 0;
	else if (f.pids != 0 && !k->cfg->rootless)
		f.pids += PIDS_MORE;
	if (k->run->values != -1 && memfd_map(k->run->values, LIMIT_ENV_BYTES,
	    &f.values, &f.values_len) == -1) {
		(void)err_set(&err, ERR_INVALID, "the values of the "
		    "environment cannot be read: %s", strerror(errno));
		return (keeper_fault(k, &err));
	}
	if ((rc = command_pack(spec, &f, &k->command, &why)) == -1) {
		(void)err_set(&err, ERR_INVALID, "%s", why);
		(void)keeper_fault(k, &err);
	}
	memfd_unmap(f.values, f.values_len);
	return (rc);
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

/*
 * The spec has it for the receipt and for idempotency, errandd's word is what
 * counted; a client that says two things gets neither.
 */
static int
image_same(struct keeper *k, const struct job_spec *spec)
{
	struct err err = { 0 };

	if (strcmp(spec->image == NULL ? "" : spec->image,
	    k->prep->image) == 0)
		return (0);
	(void)err_set(&err, ERR_INVALID, "the job's spec names another image "
	    "than its submission");
	return (keeper_fault(k, &err));
}

/* They are mounted when pid 1 has no right to mount any more: see DESIGN. */
static int
caches_may(struct keeper *k, const struct job_spec *spec)
{
	struct err err = { 0 };

	if (!k->cfg->bounded || spec->ncaches == 0)
		return (0);
	(void)err_set(&err, ERR_SANDBOX, "--cache needs user namespaces, which "
	    "are closed on this host (errandctl status); leave it out");
	return (keeper_fault(k, &err));
}

/* All that is made of the spec.  0 or -1. */
static int
spec_use(struct keeper *k, const struct job_spec *spec)
{

	if (image_same(k, spec) == -1 || caches_may(k, spec) == -1)
		return (-1);
	k->argv0 = strdup(spec->argv[0]);
	k->workdir = strdup(spec->workdir == NULL ? "" : spec->workdir);
	if (k->argv0 == NULL || k->workdir == NULL)
		return (keeper_fault_step(k, "the command", ENOMEM));
	if ((k->keep = keep_new(spec)) == NULL)
		return (keep_fault(k));
	if (command_make(k, spec) == -1 || git_stand_in(k, spec) == -1)
		return (-1);
	return (caches_new(k, spec));
}

/* Fetch the spec, and make of it what the command's process needs. */
static int
command_get(struct keeper *k)
{
	struct job_spec spec;
	int rc;

	if (spec_get(k, &spec) == -1)
		return (-1);
	rc = spec_use(k, &spec);
	job_spec_done(&spec);
	return (rc);
}

/*
 * What pid 1 has to change in the view, if anything: the tree in the workspace,
 * the room in /tmp.
 */
static int
workspace_change(struct keeper *k)
{
	struct init_msg m = { .op = INIT_CHANGE };
	int fd = -1;

	if (k->run->limits.memory != k->prep->scratch)
		m.size = k->run->limits.memory == 0 ? VIEW_SCRATCH :
		    k->run->limits.memory;
	if (k->run->root.kind != OBJ_NONE &&
	    (fd = workspace_tree(k)) == -1)
		return (-1);
	if (m.size == 0 && fd == -1 && !k->cfg->bounded)
		return (0);
	if (fd != -1)
		git_index(k, fd);
	keeper_tell_init(k, &m, &fd, fd == -1 ? 0 : 1);
	io_close(&fd);
	return (keeper_await(k, &k->mounted));
}

/* What the fence of a keeper and its meter is made of. */
static int
fence_late(void *cookie)
{
	struct keeper *k = cookie;
	const struct sandbox_path tenant = { .fd = k->tenant, .writable = 1 };

	if (k->cfg->bounded && sandbox_caps(0) == -1)
		return (-1);
	if (sandbox_landlock_light(&tenant, k->tenant == -1 ? 0 : 1) == -1)
		return (-1);
	return (sandbox_install(k->filters->late));
}

/* The meter closed all descriptors but its own. */
static int
fence_meter(void *cookie)
{
	struct keeper *k = cookie;

	k->tenant = -1;
	return (fence_late(k));
}

/* Have what the job writes counted, where nothing else bounds it. */
static int
meter(struct keeper *k)
{
	struct meter_start s = { .initfd = k->initfd,
	    .bytes = k->run->limits.disk };
	int rc;

	if (!workspace_soft(k))
		return (0);
	/* With caches, what is written to those too. */
	if ((s.upper = openat(k->data, k->caches == NULL ? "upper" : ".",
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) == -1)
		return (keeper_fault_step(k, "counting what it writes",
		    errno));
	rc = meter_run(&k->meter, &s, fence_meter, k);
	io_close(&s.upper);
	return (rc == -1 ? keeper_fault_step(k, "counting what it writes",
	    errno) : 0);
}

/*
 * We mount no more, and from here on meet what the job left: no program,
 * device, socket or mount is made any more, and no call is open but those for
 * files and channels.  Safe with any rights: both only take away.  The command
 * may run already; of what it does nothing is looked at before.
 */
static int
fence(struct keeper *k)
{

	if (fence_late(k) == 0)
		return (0);
	(void)keeper_fault_step(k, "the keeper's fence", errno);
	k->result.ran = k->told;        /* nobody looks whether it was */
	keeper_kill(k);
	return (-1);
}

int
keeper_hand_in(struct keeper *k)
{

	if (command_get(k) == -1 || workspace_change(k) == -1 ||
	    caches_mount(k) == -1 || keeper_give(k) == -1 || meter(k) == -1)
		return (-1);
	workspace_detach(k);
	k->pump.fd[0] = k->out[0];
	k->pump.fd[1] = k->out[1];
	k->out[0] = k->out[1] = -1;
	/* What is typed on it from the start is typed on a terminal as it was
	 * made, not on one that the command has set otherwise and that echoes
	 * it. */
	if ((k->run->flags & JOBC_RUN_TTY) != 0 &&
	    keeper_await(k, &k->terminal) == -1)
		return (-1);
	k->handed = 1;
	/* Rights over the host go first; without any, the fence takes as long
	 * as the command's own last steps. */
	if (k->cfg->bounded && fence(k) == -1)
		return (-1);
	keeper_go(k);
	return (k->cfg->bounded ? 0 : fence(k));
}

/* The exec pipe: a reason, or its end when the command was executed. */
void
keeper_hear_exec(struct keeper *k)
{
	struct job_msg m;
	uint8_t sig;
	ssize_t n;

	n = read(k->exec_fd, &k->refused, sizeof(k->refused));
	if (n == -1 && errno == EINTR)
		return;
	io_close(&k->exec_fd);
	if (n != 0 || k->result.err.code != ERR_NONE || k->cancelled ||
	    !k->told)
		return;
	k->started = 1;
	k->result.ran = 1;
	/*
	 * The end of a short command may have been heard of first: then all
	 * that is known is that it started once it was let go.
	 */
	k->started_mono = k->done ? k->go_mono : io_mono_us();
	k->result.started_us = k->done ? k->go_us : io_real_us();
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

