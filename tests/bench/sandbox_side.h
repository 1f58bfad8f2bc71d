#ifndef ERRAND_TESTS_SANDBOX_SIDE_H
#define ERRAND_TESTS_SANDBOX_SIDE_H

/*
 * errand's own sandboxes: the real errand-exec, and of errandd all that has to
 * do with sandboxes, its pool among it.  The store and the end of jobs are the
 * test's, so that nothing is flushed here: what that costs is measured by
 * peers.py and store_bench.c.  After sandbox_load.h and exec_stand.h.
 */

#include <event2/event.h>

#include "supervisor/cgroup.h"
#include "supervisor/child.h"
#include "supervisor/config.h"
#include "supervisor/exec_dispatch.h"
#include "supervisor/job_dispatch.h"
#include "supervisor/jobs.h"
#include "supervisor/logs.h"
#include "supervisor/sandbox_leave.h"
#include "supervisor/sandbox_pool.h"
#include "supervisor/state.h"
#include "supervisor/sup.h"
#include "supervisor/tenants.h"

#define SIDE_WAIT_S     20      /* for a pool to be full, or a job's end */
#define SIDE_EMPTY_US   5000    /* as job_end.c looks */

struct side {
	struct sup sup;
	struct config *cfg;
	struct tenant tenant;
	struct stand store;
	struct job_limits limits;
	struct job_run run;
	const char *dir;
	int up, rested;
	/* of the burst or rate under way */
	unsigned int ended, freed, running;
	uint64_t stop_us;       /* no more are started then; 0: none anyway */
	double all, command;
	uint64_t start_us, start_real_us;
};

static struct side side;

struct side_job {
	struct job j;           /* first: the supervisor hands us this */
	struct event *store;
	struct event *empty;
	int fd;
};

static inline void
side_say(struct sandbox *b, enum job_op op, int *fds, size_t n)
{
	struct job_msg m;

	memset(&m, 0, sizeof(m));
	m.op = (uint8_t)op;
	if (op == JOBC_RUN) {
		m.u.run = side.run;
		memcpy(m.u.run.job, b->job->rec.id, sizeof(m.u.run.job));
	}
	assert_int_equal(sandbox_send(b, &m, fds, n), 0);
}

static void
side_on_store(evutil_socket_t fd, short what, void *cookie)
{
	struct side_job *s = cookie;

	(void)what;
	if (stand_store(&side.store, fd))
		return;
	event_free(s->store);
	s->store = NULL;
	io_close(&s->fd);
}

static inline struct side_job *side_submit(void);
static inline void side_start(struct side_job *);

static inline void
side_free(struct side_job *s)
{
	if (s->store != NULL)
		event_free(s->store);
	event_free(s->empty);
	io_close(&s->fd);
	sandbox_free(s->j.box);
	free(s);
	side.freed++;
	side.running--;
	if (side.stop_us > io_mono_us())
		side_start(side_submit());
}

/* As job_finish does. */
static void
side_on_empty(evutil_socket_t fd, short what, void *cookie)
{
	const struct timeval tv = { 0, SIDE_EMPTY_US };
	struct side_job *s = cookie;

	(void)fd;
	(void)what;
	if (sandbox_dead(s->j.box, 0))
		side_free(s);
	else
		assert_int_equal(evtimer_add(s->empty, &tv), 0);
}

/* What comes of a job: of errandd, only this is not its own here. */
static inline int
side_msg(struct job *j, const struct job_msg *m)
{
	struct side_job *s = (struct side_job *)(void *)j;

	switch (m->op) {
	case JOBC_STARTED:
		j->phase = j->box->phase = KEEPER_STARTED;
		sandbox_pool_stir(side.sup.sandboxes);
		return (0);
	case JOBC_ENDED:
		side.ended++;
		sandbox_pool_stir(side.sup.sandboxes);
		side.all = load_ms(side.start_us);
		return (0);
	case JOBC_RESULT:
		assert_int_equal(m->u.result.err.code, ERR_NONE);
		assert_int_equal(m->u.result.exit_code, 0);
		assert_int_equal(m->u.result.ran, 1);
		side.command = (double)(m->u.result.ended_us -
		    side.start_real_us) / 1000;
		sandbox_close(j->box);
		/* Not here: the channel's callback is under way. */
		event_active(s->empty, EV_TIMEOUT, 0);
		return (0);
	default:
		return (0);
	}
}

/*
 * A job as job_submit.c makes it.  Ids come again, so that logs, which nobody
 * writes, are there already: thousands of them, removed at the end, would be
 * looked at by ext4 for each that the next run makes.
 */
static inline struct side_job *
side_submit(void)
{
	static char ids[4 * LOAD_MANY][JOB_ID_LEN + 1];
	static unsigned int next;
	struct side_job *s = calloc(1, sizeof(*s));
	char *id = ids[next++ % (4 * LOAD_MANY)];

	assert_non_null(s);
	if (id[0] == '\0') {
		text_job_id(id);
		assert_int_equal(logs_make(side.sup.logs_fd,
		    side.tenant.conf.id, id), 0);
	}
	s->j.sup = &side.sup;
	s->j.tenant = &side.tenant;
	s->j.rec.limits = side.limits;
	memcpy(s->j.rec.id, id, sizeof(s->j.rec.id));
	return (s);
}

/* Log and store channel, sandbox, RUN and GO: as job_start.c. */
static inline void
side_start(struct side_job *s)
{
	struct sandbox_key key = { .tenant = &side.tenant };
	const char *what;
	int pair[2], fds[2];
	struct sandbox *b;

	fds[1] = logs_begin(side.sup.logs_fd, side.tenant.conf.id,
	    s->j.rec.id);
	assert_true(fds[1] != -1);
	assert_int_equal(chan_pair(pair), 0);
	s->fd = pair[0];
	fds[0] = pair[1];
	s->store = event_new(side.sup.base, s->fd, EV_READ | EV_PERSIST,
	    side_on_store, s);
	s->empty = evtimer_new(side.sup.base, side_on_empty, s);
	assert_true(s->store != NULL && s->empty != NULL);
	assert_int_equal(event_add(s->store, NULL), 0);
	b = sandbox_pool_claim(side.sup.sandboxes, &key, &side.limits);
	if (b == NULL)
		b = sandbox_new(&side.sup, &key, &side.limits, &what);
	assert_non_null(b);
	assert_int_equal(sandbox_give(b, &s->j), 0);
	side.running++;
	side_say(b, JOBC_RUN, fds, 2);
	stand_first(&side.store, s->fd, &side.run.spec);
	side_say(b, JOBC_GO, NULL, 0);
}

static struct admin_status
side_pool(void)
{
	struct admin_status st;

	memset(&st, 0, sizeof(st));
	sandbox_pool_show(side.sup.sandboxes, &st);
	return (st);
}

/* Those that wait, once no more is being made. */
static unsigned int
side_idle(void)
{
	struct admin_status st = side_pool();

	return (st.sandboxes_making > 0 ? 0 : st.sandboxes);
}

/* Turn the loop until there are so many of these. */
static inline void
side_until(unsigned int (*have)(void), unsigned int n)
{
	uint64_t end = io_mono_us() + SIDE_WAIT_S * UINT64_C(1000000);

	while (have() < n) {
		assert_true(io_mono_us() < end);
		assert_int_not_equal(event_base_loop(side.sup.base,
		    EVLOOP_ONCE), -1);
	}
}

static unsigned int
side_freed(void)
{
	return (side.freed);
}

/* No job waits or is being cleaned up after. */
static unsigned int
side_rest(void)
{
	return (side.running == 0);
}

static void
side_on_rested(evutil_socket_t fd, short what, void *cookie)
{
	(void)fd;
	(void)what;
	(void)cookie;
	side.rested = 1;
}

static unsigned int
side_rested(void)
{
	return ((unsigned int)side.rested);
}

static unsigned int
side_up(void)
{
	return ((unsigned int)side.up);
}

static inline void
side_begin(void)
{
	side.ended = side.freed = 0;
	side.start_us = io_mono_us();
	side.start_real_us = io_real_us();
}

/*
 * As the others rest before a burst, but with the loop turning, so that what is
 * under way ends: keepers of before, and the pool's own work.
 */
static inline void
side_rest_before(void)
{
	const struct timeval tv = { 0, LOAD_REST_US };
	struct event *ev = evtimer_new(side.sup.base, side_on_rested, NULL);

	assert_non_null(ev);
	side.rested = 0;
	assert_int_equal(evtimer_add(ev, &tv), 0);
	side_until(side_rested, 1);
	event_free(ev);
}

static inline void
side_burst(unsigned int n, struct load_answer *a)
{
	struct side_job *jobs[LOAD_MANY];
	unsigned int i;

	for (i = 0; i < n; i++)
		jobs[i] = side_submit();
	side_rest_before();
	side_begin();
	for (i = 0; i < n; i++)
		side_start(jobs[i]);
	side_until(side_freed, n);
	a->all = side.all;
	a->command = side.command;
}

/*
 * All are ready beforehand, and no more is being made or about to be: that is
 * what a claim of a warm one means.
 */
static inline void
side_warm(unsigned int n, struct load_answer *a)
{
	struct load_answer cold;

	if (side_idle() < n)
		side_burst(n, &cold);
	do {
		side_until(side_idle, n);
		side_rest_before();
	} while (side_idle() < n);
	side_burst(n, a);
}

static inline void
side_rate(unsigned int n, double seconds, struct load_answer *a)
{
	unsigned int i;

	side_begin();
	side.stop_us = side.start_us + (uint64_t)(seconds * 1e6);
	for (i = 0; i < n; i++)
		side_start(side_submit());
	while (io_mono_us() < side.stop_us)
		assert_int_not_equal(event_base_loop(side.sup.base,
		    EVLOOP_ONCE), -1);
	a->all = a->command = side.freed * 1000 / load_ms(side.start_us);
	side.stop_us = 0;
	side_until(side_rest, 1);
}

static void
side_on_up(struct sup *sup)
{
	(void)sup;
	side.up = 1;
}

static void
side_on_down(struct sup *sup)
{
	(void)sup;
}

static inline void
side_config(void)
{
	const char *build = getenv("ERRAND_BUILD");
	char path[128], *bin;
	FILE *f;

	assert_non_null(bin = realpath(build == NULL ? "build" : build, NULL));
	(void)snprintf(path, sizeof(path), "%s/conf", side.dir);
	assert_non_null(f = fopen(path, "w"));
	(void)fprintf(f, "state_dir = \"%s/state\"\nrun_dir = \"%s/run\"\n"
	    "worker_dir = \"%s/bin\"\n", side.dir, side.dir, bin);
	free(bin);
	assert_int_equal(fclose(f), 0);
	assert_non_null(side.cfg = config_load(path, 0));
	side.sup.cfg = side.cfg;
}

static inline void
side_open(void)
{
	static const char *const argv[] = { "/bin/true", NULL };
	struct stand_job j = { .argv = argv };
	struct sup *sup = &side.sup;
	char tag[40];

	sup->keys_fd = sup->logs_fd = sup->work_fd = sup->state_fd = -1;
	sup->exec_uid = side.cfg->worker_uids.first + 1;
	sup->store_uid = side.cfg->worker_uids.first;
	side.tenant.conf.id = 1;
	side.tenant.conf.host_uid = STAND_TENANT;
	side.limits = (struct job_limits){ .memory = UINT64_C(1) << 30,
	    .pids = 1024 };
	stand_spec(&side.store, &j, &side.run);
	side.run.limits = side.limits;
	assert_int_equal(state_open(sup), 0);
	assert_non_null(sup->base = event_base_new());
	state_tag(sup, tag, sizeof(tag));
	assert_non_null(sup->cgroups = cgroups_open(sup->base, sup->cfg, tag));
	assert_non_null(sup->leavers = leavers_new(sup));
	assert_non_null(sup->sandboxes = sandbox_pool_new(sup));
	assert_non_null(sup->exec = exec_link_new(sup, side_on_up,
	    side_on_down));
	child_event(exec_link_child(sup->exec), CHILD_WANT);
	side_until(side_up, 1);
}

static inline void
side_close(void)
{
	sandbox_pool_free(side.sup.sandboxes);
	exec_link_free(side.sup.exec);
	cgroups_close(side.sup.cgroups);
	leavers_free(side.sup.leavers);
	state_close(&side.sup);
	event_base_free(side.sup.base);
	config_free(side.cfg);
	objset_done(&side.store.store);
}

static inline void
side_serve(int fd, const char *dir, unsigned int mounts)
{
	struct load_answer a;
	struct load_order o;

	side.dir = dir;
	load_mounts(dir, mounts);
	side_config();
	side_open();
	while (read(fd, &o, sizeof(o)) == (ssize_t)sizeof(o)) {
		if (o.what == LOAD_BURST)
			side_warm(o.n, &a);
		else
			side_rate(o.n, o.seconds, &a);
		assert_int_equal(write(fd, &a, sizeof(a)), sizeof(a));
	}
	side_close();
}

#endif /* !ERRAND_TESTS_SANDBOX_SIDE_H */
