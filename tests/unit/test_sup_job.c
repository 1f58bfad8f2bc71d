#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>
#include <sodium.h>

#include "lib/chan.h"
#include "lib/io.h"
#include "lib/log.h"
#include "proto/exec_msg.h"
#include "proto/job_msg.h"
#include "supervisor/cgroup.h"
#include "supervisor/config.h"
#include "supervisor/conn.h"
#include "supervisor/exec_dispatch.h"
#include "supervisor/jobs.h"
#include "supervisor/priv.h"
#include "supervisor/sandbox_pool.h"
#include "supervisor/store_client.h"
#include "supervisor/sup.h"
#include "supervisor/tenants.h"
#include "supervisor/tenants_limits.h"

/*
 * A job's way from submission to receipt, with the store, errand-exec and the
 * keeper played by the test: what comes out of turn, fails, or never comes.
 */

static struct sup sup;
static struct config cfg;
static struct tenant tenant;
static struct conn *const conn = (struct conn *)&tenant; /* never looked at */
static char dir[] = "/tmp/errand-job-XXXXXX";

/* What was asked of the store, and not answered yet. */
static struct {
	struct store_msg m;
	store_reply_fn *fn;
	void *cookie;
} asked[16];
static int nasked, store_refuses;
static struct obj_ref bound;    /* what the last channel was sent unasked */
static int keeper = -1;         /* the keeper's end of the job channel */
static uint64_t cpu_used;
static int kills, alive, exec_ok, map_ok, place_errno, stirred;
static const struct job_result *says;  /* in RESULT, when not NULL */
static struct err refused;
static char submitted[JOB_ID_LEN + 1];
static struct job_record last;

int
__wrap_exec_link_bounded(const struct exec_link *x, const char **why)
{
	(void)x;
	(void)why;
	return (0);
}

int
__wrap_exec_link_ready(const struct exec_link *x, const char **why)
{
	(void)x;
	*why = NULL;
	return (1);
}

int
__wrap_exec_link_prepare(struct exec_link *x, const struct exec_msg *m,
    int *fds, size_t nfds)
{
	int fd = fds[0];

	(void)x;
	assert_int_equal(nfds, 1);
	assert_int_equal(m->op, EXEC_PREPARE);
	assert_int_equal(m->u.prepare.host_uid, 60001);
	keeper = exec_ok ? fd : -1;
	if (!exec_ok)
		io_close(&fd);
	return (exec_ok ? 0 : -1);
}

int
__wrap_store_client_up(const struct store_client *sc)
{
	(void)sc;
	return (1);
}

void
__wrap_store_forget(struct store_client *sc, uint64_t id)
{
	(void)sc;
	(void)id;
}

uint64_t
__wrap_store_request(struct store_client *sc, struct store_msg *m, int fd,
    store_reply_fn *fn, void *cookie)
{
	(void)sc;
	io_close(&fd);
	if (store_refuses)
		return (0);
	if (m->op == STORE_BIND) {
		bound = m->u.bind.first;
		return (99);
	}
	assert_true(nasked < 16);
	asked[nasked].m = *m;
	asked[nasked].fn = fn;
	asked[nasked].cookie = cookie;
	return ((uint64_t)++nasked);
}

struct cgroup *
__wrap_cgroup_new(struct cgroups *cgs, const char *job,
    const struct job_limits *l)
{
	(void)cgs;
	(void)job;
	(void)l;
	return (calloc(1, 1));
}

int
__wrap_cgroup_limit(struct cgroup *cg, const struct job_limits *had,
    const struct job_limits *l)
{
	(void)cg;
	(void)had;
	(void)l;
	return (0);
}

void
__wrap_cgroup_free(struct cgroup *cg)
{
	free(cg);
}

void
__wrap_cgroup_kill(struct cgroup *cg)
{
	(void)cg;
	kills++;
}

int
__wrap_cgroup_empty(struct cgroup *cg)
{
	(void)cg;
	return (!alive);
}

uint64_t
__wrap_cgroup_cpu(const struct cgroup *cg)
{
	(void)cg;
	return (cpu_used += 5);
}

void
__wrap_cgroup_usage(struct cgroup *cg, struct job_usage *u, int *hit)
{
	(void)cg;
	u->cpu_us = cpu_used += 5;
	*hit = 0;
}

int
__wrap_workdir_priv(int fd, uint32_t uid, uint32_t gid)
{
	(void)fd;
	(void)uid;
	(void)gid;
	return (0);
}

int
__wrap_map_priv(int fd, const struct map_rule *r, struct userns *ns)
{
	(void)fd;
	assert_int_equal(r->host_uid, 60001);
	ns->ino = 7;
	errno = EPERM;
	return (map_ok ? 0 : -1);
}

int
__wrap_place_priv(int fd, const struct userns *ns, struct cgroup *cg,
    uint32_t uid, int *fds, size_t *n)
{
	(void)fd;
	(void)cg;
	(void)uid;
	(void)fds;
	*n = 0;
	assert_int_equal(ns->ino, 7);
	errno = place_errno;
	return (place_errno == 0 ? 0 : -1);
}

void
__wrap_kill_priv(int fd)
{
	(void)fd;
}

int
__wrap_pidfd_dead(int fd)
{
	(void)fd;
	return (!alive);
}

struct tenant *
__wrap_tenants_next(struct tenants *ts, struct tenant *t)
{
	(void)ts;
	return (t == NULL ? &tenant : NULL);
}

void
__wrap_tenant_quota(const struct tenants *ts, const struct tenant *t,
    struct store_quota *q)
{
	(void)ts;
	(void)t;
	memset(q, 0, sizeof(*q));
}

void
__wrap_tenant_keep(const struct tenants *ts, const struct tenant *t,
    struct keep_conf *k)
{
	(void)ts;
	*k = t->conf.keep;
}

void
__wrap_tenant_limits(const struct tenants *ts, const struct tenant *t,
    struct job_limits *l)
{
	(void)ts;
	*l = t->conf.limits;
}

struct tenant *
__wrap_conn_tenant(const struct conn *c)
{
	(void)c;
	return (&tenant);
}

void
__wrap_conn_error(struct conn *c, uint64_t id, const struct err *e)
{
	(void)c;
	assert_int_equal(id, 42);
	refused = *e;
}

void
__wrap_conn_submitted(struct conn *c, uint64_t id, const char *job,
    uint8_t state, int existed)
{
	(void)c;
	(void)state;
	(void)existed;
	assert_int_equal(id, 42);
	strcpy(submitted, job);
}

void
__wrap_sandbox_pool_stir(struct sandbox_pool *p)
{
	(void)p;
	stirred++;
}

void
__wrap_conn_job_state(struct job *j)
{
	last = j->rec;
}

void
__wrap_conn_job_log(struct job *j)
{
	(void)j;
}

static void
spin(void)
{
	int i;

	for (i = 0; i < 20; i++)
		event_base_loop(sup.base, EVLOOP_NONBLOCK);
}

static void
answer(uint8_t op, uint16_t code)
{
	struct store_msg m;
	int i = nasked - 1;

	assert_true(i >= 0);
	memset(&m, 0, sizeof(m));
	m.op = op;
	if (op == STORE_ERROR) {
		m.u.error.code = code;
		strcpy(m.u.error.text, "no");
	} else
		memcpy(m.u.ok.job, asked[i].m.u.publish.job,
		    sizeof(m.u.ok.job));
	if (op == STORE_OK && asked[i].m.op == STORE_HEAD)
		m.u.ok.sequence = 6;
	asked[i].fn(asked[i].cookie, &m, -1);
}

static uint8_t
asked_op(void)
{
	return (nasked == 0 ? 0 : asked[nasked - 1].m.op);
}

/* The keeper says something, with a descriptor or without. */
static void
say(uint8_t op, int with_fd)
{
	struct job_msg m;
	uint8_t buf[4096];
	int fd = with_fd ? open("/dev/null", O_RDONLY) : -1;
	ssize_t n;

	memset(&m, 0, sizeof(m));
	m.op = op;
	if (op == JOBC_RUN) {
		strcpy(m.u.run.job, "aaaaaaaaaaaaaaaa");
		m.u.run.spec.kind = OBJ_CHUNK;
		m.u.run.spec.id[0] = 1;
		m.u.run.spec_len = 1;
	}
	if (op == JOBC_HELLO)
		m.u.version = CHANNEL_VERSION;
	if (op == JOBC_RESULT) {
		m.u.result.ran = 1;
		m.u.result.exit_code = 3;
		m.u.result.log.bytes = 10;
		if (says != NULL)
			m.u.result = *says;
	}
	n = job_msg_pack(&m, buf, sizeof(buf));
	assert_true(n > 0);
	assert_int_equal(chan_send_wait(keeper, buf, (size_t)n, &fd,
	    (size_t)with_fd), 0);
	if (fd != -1)
		close(fd);
	spin();
}

/* What the keeper hears next; 0: nothing, or the end. */
static uint8_t
hear(void)
{
	uint8_t buf[CHAN_MSG_MAX];
	struct job_msg m;
	int fds[CHAN_FDS_MAX];
	size_t nfds = CHAN_FDS_MAX;
	ssize_t n;

	spin();
	n = chan_recv_wait(keeper, buf, sizeof(buf), fds, &nfds, 0);
	if (n <= 0)
		return (0);
	assert_int_equal(job_msg_parse(buf, (size_t)n, &m), 0);
	return (m.op);
}

static struct job *
submit(void)
{
	struct job_submit s;

	memset(&s, 0, sizeof(s));
	memset(s.idem, 5, sizeof(s.idem));
	s.spec.kind = OBJ_CHUNK;
	memset(s.spec.id, 1, sizeof(s.spec.id));
	s.spec_len = 20;
	job_submit(&sup, conn, 42, &s, -1);
	return (jobs_next(sup.jobs, NULL));
}

static void
to_running(void)
{
	answer(STORE_OK, 0);
	say(JOBC_HELLO, 0);
	say(JOBC_MAP, 1);
	say(JOBC_PLACE, 1);
	say(JOBC_READY, 0);
	assert_int_equal(hear(), JOBC_RUN);
	assert_int_equal(hear(), JOBC_GO);
	assert_int_equal(hear(), JOBC_MAPPED);
	assert_int_equal(hear(), JOBC_PLACED);
	/* The store sends the spec without being asked. */
	assert_int_equal(bound.kind, OBJ_CHUNK);
	assert_int_equal(bound.id[0], 1);
	assert_int_equal(stirred, 0);
	say(JOBC_STARTED, 0);
	assert_int_equal(last.state, JOB_RUNNING);
	assert_int_equal(stirred, 1);
}

/* HEAD if it is not known, SETTLE, and then there is no job any more. */
static void
settle(uint8_t state)
{
	spin();
	assert_int_equal(asked_op(), STORE_HEAD);
	answer(STORE_OK, 0);
	assert_int_equal(asked_op(), STORE_SETTLE);
	assert_int_equal(asked[nasked - 1].m.u.settle.sequence, 7);
	answer(STORE_OK, 0);
	assert_int_equal(last.state, state);
	assert_int_equal(last.receipt_sequence, 7);
	assert_int_equal(jobs_count(sup.jobs), 0);
	assert_int_equal(jobs_running(sup.jobs), 0);
	assert_int_equal(tenant.running, 0);
}

static int
setup(void **state)
{
	(void)state;
	memset(&tenant, 0, sizeof(tenant));
	memset(&refused, 0, sizeof(refused));
	memset(&last, 0, sizeof(last));
	TAILQ_INIT(&tenant.chain.waiting);
	strcpy(tenant.conf.name, "alpha");
	tenant.conf.id = 1;
	tenant.conf.host_uid = 60001;
	tenant.conf.slots = 2;
	tenant.conf.limits = (struct job_limits){ 1000, 10, 1000, 1000, 1000000,
	    1000, 1000, 1000 };
	submitted[0] = '\0';
	nasked = store_refuses = kills = alive = stirred = 0;
	exec_ok = map_ok = 1;
	place_errno = 0;
	says = NULL;
	sup.sandboxes = sandbox_pool_new(&sup);
	return ((sup.jobs = jobs_new(&sup)) == NULL ? -1 : 0);
}

static int
teardown(void **state)
{
	(void)state;
	jobs_free(sup.jobs);
	sandbox_pool_free(sup.sandboxes);
	if (keeper != -1)
		close(keeper);
	keeper = -1;
	return (0);
}

static void
test_good(void **state)
{
	(void)state;
	assert_non_null(submit());
	assert_int_equal(asked_op(), STORE_PUBLISH);
	assert_string_equal(submitted, "");
	to_running();
	assert_int_equal(strlen(submitted), JOB_ID_LEN);
	say(JOBC_LOG, 0);
	assert_int_equal(hear(), JOBC_LOGACK);
	say(JOBC_ENDED, 0);
	assert_int_equal(stirred, 2);
	assert_int_equal(last.state, JOB_SETTLING);
	say(JOBC_RESULT, 0);
	settle(JOB_EXITED);
	assert_int_equal(last.exit_code, 3);
	assert_int_equal(last.ran, 1);
	assert_int_equal(last.unknown, 0);
	assert_int_equal(last.cleanup, 1);
	assert_int_equal(last.usage.cpu_us, 5);
}

/* Nothing is let go before its start is durable. */
static void
test_go_waits(void **state)
{
	(void)state;
	(void)submit();
	say(JOBC_HELLO, 0);
	say(JOBC_MAP, 1);
	say(JOBC_PLACE, 1);
	say(JOBC_READY, 0);
	assert_int_equal(hear(), JOBC_RUN);
	assert_int_equal(hear(), JOBC_MAPPED);
	assert_int_equal(hear(), JOBC_PLACED);
	assert_int_equal(hear(), 0);
	/* A keeper that starts all the same has lost its job. */
	say(JOBC_STARTED, 0);
	assert_true(kills > 0 || jobs_next(sup.jobs, NULL)->doomed);
	answer(STORE_OK, 0);
	settle(JOB_FAILED);
	assert_int_equal(last.ran, 0);
	assert_int_equal(last.reason.code, ERR_WORKER_LOST);
}

static void
test_publish_fails(void **state)
{
	(void)state;
	(void)submit();
	answer(STORE_ERROR, ERR_MISSING);
	assert_int_equal(refused.code, ERR_MISSING);
	assert_int_equal(jobs_count(sup.jobs), 0);
	assert_int_equal(tenant.running, 0);
	assert_int_equal(hear(), JOBC_RUN);
	assert_int_equal(hear(), 0);
	assert_string_equal(submitted, "");
}

static void
test_store_away(void **state)
{
	(void)state;
	store_refuses = 1;
	assert_null(submit());
	assert_int_equal(refused.code, ERR_BUSY);
	assert_int_equal(refused.retry, 1);
}

/* Each message out of turn, and each wrong number of descriptors. */
static void
test_out_of_turn(void **state)
{
	static const struct { uint8_t op; int fd; } first[] = {
		{ JOBC_MAP, 1 }, { JOBC_PLACE, 1 }, { JOBC_STARTED, 0 },
		{ JOBC_READY, 0 }, { JOBC_RUN, 0 },
		{ JOBC_LOG, 0 }, { JOBC_ENDED, 0 }, { JOBC_RESULT, 0 },
		{ JOBC_HELLO, 1 }, { JOBC_GO, 0 }, { JOBC_MAPPED, 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		if (i > 0)
			assert_int_equal(setup(state), 0);
		(void)submit();
		answer(STORE_OK, 0);
		say(first[i].op, first[i].fd);
		settle(JOB_FAILED);
		assert_int_equal(last.reason.code, ERR_WORKER_LOST);
		assert_int_equal(last.ran, 0);
		assert_int_equal(teardown(state), 0);
	}
	assert_int_equal(setup(state), 0);
}

static void
test_map_refused(void **state)
{
	(void)state;
	map_ok = 0;
	(void)submit();
	answer(STORE_OK, 0);
	say(JOBC_HELLO, 0);
	say(JOBC_MAP, 1);
	settle(JOB_FAILED);
}

/* A result of a command that never started is a lie. */
static void
test_false_result(void **state)
{
	(void)state;
	(void)submit();
	answer(STORE_OK, 0);
	say(JOBC_HELLO, 0);
	say(JOBC_RESULT, 0);
	settle(JOB_FAILED);
	assert_int_equal(last.ran, 0);
	assert_int_equal(last.exit_code, 0);
}

static void
test_keeper_ends(void **state)
{
	(void)state;
	(void)submit();
	to_running();
	close(keeper);
	keeper = -1;
	settle(JOB_FAILED);
	assert_int_equal(last.ran, 1);
	assert_int_equal(last.unknown, 1);
	assert_int_equal(last.reason.code, ERR_WORKER_LOST);
}

static void
test_exec_lost(void **state)
{
	(void)state;
	(void)submit();
	to_running();
	jobs_exec_lost(sup.jobs);
	settle(JOB_FAILED);
	assert_non_null(strstr(last.reason.text, "errand-exec"));
}

static void
test_run_not_sent(void **state)
{
	(void)state;
	exec_ok = 0;
	(void)submit();
	answer(STORE_OK, 0);
	assert_int_equal(strlen(submitted), JOB_ID_LEN);
	settle(JOB_FAILED);
}

/* The third of two slots waits; killed there, it never ran. */
static void
test_kill_queued(void **state)
{
	struct job *j;

	(void)state;
	cfg.slots = 0;
	j = submit();
	assert_int_equal(j->rec.state, JOB_QUEUED);
	answer(STORE_OK, 0);
	assert_int_equal(jobs_queued(sup.jobs), 1);
	job_signal(j, 0, JOB_LIMIT_NONE);
	settle(JOB_KILLED);
	assert_int_equal(last.ran, 0);
	assert_int_equal(last.reason.code, ERR_CANCELLED);
	assert_int_equal(jobs_queued(sup.jobs), 0);
	assert_int_equal(tenant.queued, 0);
	cfg.slots = 2;
}

/* A queued job is published again, as starting, before it is let go. */
static void
test_queue_start(void **state)
{
	struct job *j;

	(void)state;
	cfg.slots = 0;
	j = submit();
	answer(STORE_OK, 0);
	cfg.slots = 2;
	jobs_kick(sup.jobs);
	assert_int_equal(asked_op(), STORE_PUBLISH);
	assert_int_equal(nasked, 2);
	assert_int_equal(j->rec.state, JOB_STARTING);
	say(JOBC_HELLO, 0);
	assert_int_equal(hear(), JOBC_RUN);
	assert_int_equal(hear(), 0);
	answer(STORE_OK, 0);
	assert_int_equal(hear(), JOBC_GO);
	close(keeper);
	keeper = -1;
	settle(JOB_FAILED);
}

static void
test_kill_running(void **state)
{
	struct job *j = submit();

	(void)state;
	to_running();
	job_signal(j, SIGINT, JOB_LIMIT_NONE);
	assert_int_equal(hear(), JOBC_SIGNAL);
	assert_int_equal(j->waits, WAIT_RUNTIME);
	job_signal(j, 0, JOB_LIMIT_NONE);
	assert_int_equal(hear(), JOBC_SIGNAL);
	assert_int_equal(j->waits, WAIT_GRACE);
	assert_int_equal(kills, 0);
	job_signal(j, SIGKILL, JOB_LIMIT_NONE);
	assert_int_equal(hear(), JOBC_SIGNAL);
	assert_int_equal(kills, 1);
	say(JOBC_ENDED, 0);
	j->result.signal = 0;
	say(JOBC_RESULT, 0);
	/* It exited all the same: that is what is said. */
	settle(JOB_EXITED);
}

/* Nothing settles while a process of the job lives. */
static void
test_waits_for_empty(void **state)
{
	struct job *j = submit();

	(void)state;
	to_running();
	alive = 1;
	say(JOBC_ENDED, 0);
	say(JOBC_RESULT, 0);
	assert_int_equal(j->waits, WAIT_EMPTY);
	assert_true(kills > 0);
	assert_int_equal(asked_op(), STORE_PUBLISH);
	alive = 0;
	job_finish(j);
	settle(JOB_EXITED);
	assert_int_equal(last.cleanup, 1);
}

/* A refused SETTLE is tried again after asking where the chain ends. */
static void
test_settle_again(void **state)
{
	struct job *j = submit();

	(void)state;
	to_running();
	say(JOBC_ENDED, 0);
	say(JOBC_RESULT, 0);
	answer(STORE_OK, 0);            /* HEAD */
	answer(STORE_ERROR, ERR_CONFLICT);
	assert_int_equal(j->waits, WAIT_SETTLE);
	assert_int_equal(tenant.chain.busy, 0);
	chain_kick(&sup, &tenant);
	settle(JOB_EXITED);
}

static void
test_limits(void **state)
{
	struct job_submit s;

	(void)state;
	memset(&s, 0, sizeof(s));
	s.spec.kind = OBJ_CHUNK;
	s.limits.memory = 1001;
	job_submit(&sup, conn, 42, &s, -1);
	assert_int_equal(refused.code, ERR_LIMIT);
	assert_non_null(strstr(refused.text, "--memory"));
	s.limits.memory = 0;
	s.limits.disk = 1;
	job_submit(&sup, conn, 42, &s, -1);
	assert_int_equal(refused.code, ERR_LIMIT);
	assert_non_null(strstr(refused.text, "--disk cannot be enforced"));
	s.limits.disk = 0;
	s.net = JOB_NET_HOST;
	job_submit(&sup, conn, 42, &s, -1);
	assert_int_equal(refused.code, ERR_DENIED);
	s.net = JOB_NET_NONE;
	memset(&s.spec, 0, sizeof(s.spec));
	job_submit(&sup, conn, 42, &s, -1);
	assert_int_equal(refused.code, ERR_INVALID);
	assert_int_equal(jobs_count(sup.jobs), 0);
}

static void
test_idem(void **state)
{
	struct job_submit s;

	(void)state;
	(void)submit();
	(void)submit();
	assert_int_equal(refused.code, ERR_BUSY);
	assert_int_equal(jobs_count(sup.jobs), 1);
	answer(STORE_OK, 0);
	submitted[0] = '\0';
	(void)submit();
	assert_string_equal(submitted, jobs_next(sup.jobs, NULL)->rec.id);
	memset(&s, 0, sizeof(s));
	memset(s.idem, 5, sizeof(s.idem));
	s.spec.kind = OBJ_CHUNK;
	job_submit(&sup, conn, 42, &s, -1);
	assert_int_equal(refused.code, ERR_CONFLICT);
}

/* A sandbox that died before it was placed: its keeper still says why. */
static void
test_place_dead(void **state)
{
	struct job_result r = { 0 };

	(void)state;
	place_errno = ESRCH;
	r.err.code = ERR_DAMAGED;
	strcpy(r.err.text, "an object is damaged");
	says = &r;
	(void)submit();
	answer(STORE_OK, 0);
	say(JOBC_HELLO, 0);
	say(JOBC_MAP, 1);
	say(JOBC_PLACE, 1);
	say(JOBC_ENDED, 0);
	say(JOBC_RESULT, 0);
	settle(JOB_FAILED);
	assert_int_equal(last.reason.code, ERR_DAMAGED);
	assert_int_equal(last.ran, 0);
}

/* What is not placed for another reason runs no further. */
static void
test_place_refused(void **state)
{
	(void)state;
	place_errno = EPERM;
	(void)submit();
	answer(STORE_OK, 0);
	say(JOBC_HELLO, 0);
	say(JOBC_MAP, 1);
	say(JOBC_PLACE, 1);
	settle(JOB_FAILED);
	assert_int_equal(last.reason.code, ERR_WORKER_LOST);
}

/* "Not found" is not the same failure as others: its code is kept. */
static void
test_not_found(void **state)
{
	struct job_result r = { .exit_code = 127 };

	(void)state;
	r.err.code = ERR_NOT_FOUND;
	strcpy(r.err.text, "x: command not found");
	says = &r;
	(void)submit();
	answer(STORE_OK, 0);
	say(JOBC_HELLO, 0);
	say(JOBC_MAP, 1);
	say(JOBC_PLACE, 1);
	say(JOBC_ENDED, 0);
	say(JOBC_RESULT, 0);
	settle(JOB_FAILED);
	assert_int_equal(last.ran, 0);
	assert_int_equal(last.exit_code, 127);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_good), T(test_go_waits), T(test_publish_fails),
		T(test_store_away), T(test_out_of_turn), T(test_map_refused),
		T(test_false_result), T(test_keeper_ends), T(test_exec_lost),
		T(test_run_not_sent), T(test_kill_queued), T(test_queue_start),
		T(test_kill_running), T(test_waits_for_empty),
		T(test_settle_again), T(test_limits), T(test_idem),
		T(test_place_dead), T(test_place_refused), T(test_not_found),
	};
	char cmd[64];
	int rc;

	log_init("test", LOG_LEVEL_ERROR);
	if (sodium_init() == -1 || mkdtemp(dir) == NULL ||
	    (sup.base = event_base_new()) == NULL)
		return (1);
	crypto_sign_keypair(sup.host_pk, sup.host_sk);
	cfg.slots = 2;
	cfg.worker_uids = (struct uid_range){ 50000, 50020 };
	sup.cfg = &cfg;
	sup.logs_fd = open(dir, O_RDONLY | O_DIRECTORY);
	sup.exec_uid = 50001;
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	event_base_free(sup.base);
	close(sup.logs_fd);
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	return (system(cmd) == 0 ? rc : 1);
}
