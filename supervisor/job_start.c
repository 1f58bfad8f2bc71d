/*
 * What a job needs from us to run, and the RUN and GO that follow.  Makes its
 * store channel here; its sandbox is one of sandbox_pool.c's or a new one of
 * sandbox.c's, its log made by logs.c.  Executes nothing: errand-exec does.
 */
#include <errno.h>
#include <string.h>

#include "config.h"
#include "disk_image.h"
#include "images.h"
#include "job_dispatch.h"
#include "jobs.h"
#include "lib/chan.h"
#include "lib/io.h"
#include "lib/log.h"
#include "logs.h"
#include "proto/client_msg.h"
#include "sandbox_pool.h"
#include "store_client.h"
#include "sup.h"
#include "tenants.h"
#include "tenants_limits.h"

/* Until it may be executed; a slot is not held for ever. */
#define START_US        (UINT64_C(900) * 1000000)
/*
 * From GO until it is executed.  What a keeper may need it for is a sandbox
 * that is still being made, and a tree: so much for each file, and so many
 * bytes in a microsecond, on the slowest of hosts.
 */
#define GO_US           (UINT64_C(10) * 1000000)
#define GO_MAKE_US      (UINT64_C(30) * 1000000)
#define GO_FILE_US      1000
#define GO_US_BYTES     4

/* Descriptors of a RUN, in its order. */
enum { RUN_STORE, RUN_LOG, RUN_VALUES, RUN__MAX };

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
 * A store channel for the job, on which ${first}, if there is one, comes
 * unasked.  The other end may be used at once: what is written to it waits
 * until the store serves it.
 */
static int
store_channel(struct job *j, const struct obj_ref *first, int *fd)
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
	if (first != NULL)
		m.u.bind.first = *first;
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

	if (j->box == NULL || j->phase >= KEEPER_DONE)
		return;
	if (store_channel(j, NULL, &fd) == -1) {
		log_warn("job %s: store channel", j->rec.id);
		return;
	}
	memset(&m, 0, sizeof(m));
	m.op = JOBC_STORE;
	(void)sandbox_send(j->box, &m, &fd, 1);
}

/* What comes with RUN. */
static int
acquire(struct job *j, int *fds, const char **what)
{
	*what = "its log";
	if ((fds[RUN_LOG] = logs_begin(j->sup->logs_fd, j->rec.tenant_id,
	    j->rec.id)) == -1)
		return (-1);
	*what = "its channel to the store";
	if (store_channel(j, &j->rec.submit.spec, &fds[RUN_STORE]) == -1)
		return (-1);
	if (job_input_make(j) == -1)
		return (-1);
	fds[RUN_VALUES] = job_values(j);
	return (0);
}

static struct sandbox_key
key_of(const struct job *j)
{
	return ((struct sandbox_key){
		.tenant = j->tenant, .net = j->rec.submit.net,
		.as_root = j->rec.submit.as_root,
		/* Rootless its keeper counts: any sandbox will do. */
		.disk = j->sup->cfg->rootless ? 0 : j->rec.limits.disk,
		.image = image_find(j->sup->cfg, j->rec.submit.image)
	});
}

/* One that is there, or one to be made.  0 or -1. */
static int
sandbox_take(struct job *j, const char **what)
{
	const struct sandbox_key key = key_of(j);
	struct sandbox *b;

	b = sandbox_pool_claim(j->sup->sandboxes, &key, &j->rec.limits);
	if (b == NULL && (b = sandbox_new(j->sup, &key, &j->rec.limits,
	    what)) == NULL)
		return (-1);
	*what = "its limits";
	if (sandbox_give(b, j) == 0)
		return (0);
	sandbox_free(b);
	return (-1);
}

static int
run_send(struct job *j, const int *fds)
{
	size_t n = fds[RUN_VALUES] == -1 ? 2 : 3;
	struct keep_conf keep;
	struct job_msg m;

	memset(&m, 0, sizeof(m));
	m.op = JOBC_RUN;
	memcpy(m.u.run.job, j->rec.id, sizeof(m.u.run.job));
	m.u.run.flags = n == 3 ? JOBC_RUN_VALUES : 0;
	if (j->rec.submit.input)
		m.u.run.flags |= JOBC_RUN_INPUT;
	if (j->rec.submit.tty)
		m.u.run.flags |= JOBC_RUN_TTY;
	m.u.run.rows = j->rec.submit.rows;
	m.u.run.cols = j->rec.submit.cols;
	m.u.run.root = j->rec.submit.root;
	m.u.run.spec = j->rec.submit.spec;
	m.u.run.spec_len = j->rec.submit.spec_len;
	m.u.run.limits = j->rec.limits;
	tenant_keep(j->sup->tenants, j->tenant, &keep);
	m.u.run.cache_bytes = keep.cache_size;
	m.u.run.cache_total = keep.cache_total;
	return (sandbox_send(j->box, &m, fds, n));
}

static void
start_fault(struct job *j, const char *what)
{
	if (what == NULL) {
		(void)err_set(&j->fault, ERR_WORKER_LOST, "errand-exec ended "
		    "before the job started");
		return;
	}
	log_warn("job %s: %s", j->rec.id, what);
	(void)err_set(&j->fault, ERR_SANDBOX, "the host could not make %s: %s",
	    what, strerror(errno));
}

/* Nothing has to be waited for.  0, or -1 with the fault set. */
static int
start(struct job *j)
{
	int fds[RUN__MAX] = { -1, -1, -1 };
	const char *what;

	if (acquire(j, fds, &what) == -1 || sandbox_take(j, &what) == -1) {
		start_fault(j, what);
		fds_close(fds);
		j->doomed = 1;
		return (-1);
	}
	/* If it cannot be sent, the channel's end is on its way to us. */
	(void)run_send(j, fds);
	job_input_hand_over(j);
	if (j->waits == WAIT_NONE)
		job_timer(j, WAIT_START, START_US);
	return (0);
}

static void
on_disk(void *cookie, int error)
{
	struct job *j = cookie;

	j->disk = NULL;
	if (j->doomed)
		return;
	if (error != 0) {
		errno = error;
		start_fault(j, "its disk");
		job_finish(j);
	} else if (start(j) == -1)
		job_finish(j);
	else
		job_go(j);
}

/*
 * A disk of a size that nobody has had before takes a second: this job waits
 * for it, and nobody else.  Until then the pool does not hear of the size, so
 * it makes none that would have to be waited for.
 */
int
job_start(struct job *j)
{
	const uint64_t disk = key_of(j).disk;

	j->t_start = io_mono_us();
	j->rec.phases.queue = j->t_start - j->t_admit;
	if (disk == 0 || disk_known(j->sup->disks, disk))
		return (start(j));
	j->disk = disk_await(j->sup->disks, disk, on_disk, j);
	if (j->disk != NULL)
		return (0);
	start_fault(j, "its disk");
	j->doomed = 1;
	return (-1);
}

/*
 * How long its keeper has.  How large the tree is says the submitter, who can
 * lengthen the wait for its own job alone, and not beyond the whole.
 */
static uint64_t
go_time(const struct job *j)
{
	const struct job_submit *s = &j->rec.submit;
	uint64_t us = GO_US;

	if (j->phase < KEEPER_READY)
		us += GO_MAKE_US;
	if (s->root.kind == OBJ_NONE)
		return (us);
	if (s->tree_files > START_US / GO_FILE_US ||
	    s->tree_bytes / GO_US_BYTES > START_US)
		return (START_US);
	us += s->tree_files * GO_FILE_US + s->tree_bytes / GO_US_BYTES;
	return (us < START_US ? us : START_US);
}

void
job_go(struct job *j)
{
	struct job_msg m;

	if (j->go || j->doomed || !j->published || j->box == NULL ||
	    j->request != 0 || j->rec.state != JOB_STARTING)
		return;
	memset(&m, 0, sizeof(m));
	m.op = JOBC_GO;
	j->go = 1;
	if (j->waits == WAIT_START)
		job_timer(j, WAIT_START, go_time(j));
	(void)job_send(j, &m);
}
