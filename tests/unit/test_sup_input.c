#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "lib/chan.h"
#include "lib/io.h"
#include "proto/job_msg.h"
#include "supervisor/config.h"
#include "supervisor/conn.h"
#include "supervisor/jobs.h"
#include "supervisor/sup.h"

/*
 * Who writes a job's input.  Connections are names here, and the keeper and the
 * workers are what was said to them.
 */

static struct sup sup;
static struct config cfg;
static struct sandbox box;
static struct job *j;
static char names[3];
#define CONN(i) ((struct conn *)&names[i])

static struct {
	struct conn *c;
	struct snap_msg m;
	int fd;
} said[16];
static size_t nsaid;
static struct job_msg told[16];
static size_t ntold, queued;

struct snap_msg *
__wrap_conn_msg(struct conn *c, enum snap_op op, uint64_t id)
{
	static struct snap_msg m;

	(void)c;
	memset(&m, 0, sizeof(m));
	m.op = (uint8_t)op;
	m.id = id;
	return (&m);
}

void
__wrap_conn_send(struct conn *c, const struct snap_msg *m, int fd)
{
	said[nsaid].c = c;
	said[nsaid].m = *m;
	said[nsaid++].fd = fd;
}

void
__wrap_conn_error(struct conn *c, uint64_t id, const struct err *e)
{
	said[nsaid].c = c;
	memset(&said[nsaid].m, 0, sizeof(said[nsaid].m));
	said[nsaid].m.op = SNAP_ERROR;
	said[nsaid].m.id = id;
	said[nsaid].m.u.error = *e;
	said[nsaid++].fd = -1;
}

int
__wrap_sandbox_send(struct sandbox *b, const struct job_msg *m,
    const int *fds, size_t nfds)
{
	assert_ptr_equal(b, &box);
	told[ntold++] = *m;
	if (nfds == 1)
		close(fds[0]);
	return (0);
}

size_t
__wrap_chan_queued(const struct chan *c)
{
	(void)c;
	return (queued);
}

struct job *
__wrap_jobs_next(struct jobs *js, struct job *last)
{
	(void)js;
	return (last == NULL ? j : NULL);
}

/* The last that a connection was told. */
static uint8_t
last(struct conn *c, uint64_t id)
{
	size_t i;

	for (i = nsaid; i > 0; i--)
		if (said[i - 1].c == c && said[i - 1].m.id == id)
			return (said[i - 1].m.op);
	return (0);
}

static uint16_t
last_code(void)
{
	assert_true(nsaid > 0 && said[nsaid - 1].m.op == SNAP_ERROR);
	return (said[nsaid - 1].m.u.error.code);
}

static uint8_t
keeper_heard(void)
{
	return (ntold > 0 ? told[ntold - 1].op : 0);
}

static int
setup(void **state)
{
	(void)state;
	memset(&sup, 0, sizeof(sup));
	sup.base = event_base_new();
	sup.cfg = &cfg;
	cfg.client_lease_us = 1000;
	nsaid = ntold = queued = 0;
	j = calloc(1, sizeof(*j));
	assert_non_null(j);
	j->sup = &sup;
	j->box = &box;
	box.chan = (struct chan *)&names[0];
	j->phase = KEEPER_READY;
	strcpy(j->rec.id, "aaaaaaaaaaaaaaa2");
	j->rec.submit.input = 1;
	job_input_init(j);
	assert_int_equal(job_input_make(j), 0);
	job_input_hand_over(j);
	assert_int_equal(keeper_heard(), JOBC_INPUT);
	return (0);
}

static int
teardown(void **state)
{
	(void)state;
	while (nsaid > 0)
		io_close(&said[--nsaid].fd);
	job_input_done(j);
	free(j);
	event_base_free(sup.base);
	return (0);
}

static void
started(void)
{
	j->phase = KEEPER_STARTED;
	job_input_started(j);
}

/* CONN(0) writes. */
static void
to_held(void)
{
	started();
	job_input_take(j, CONN(0), 1, 0);
	assert_int_equal(last(CONN(0), 1), SNAP_TAKEN);
}

static void
not_before_it_runs(void **state)
{
	(void)state;
	job_input_take(j, CONN(0), 1, 0);
	assert_int_equal(nsaid, 0);
	started();
	assert_int_equal(last(CONN(0), 1), SNAP_TAKEN);
	assert_int_equal(said[0].m.u.taken.offset, 0);
	assert_int_equal(write(said[0].fd, "x", 1), -1);        /* unread */
}

static void
only_with_input(void **state)
{
	(void)state;
	j->rec.submit.input = 0;
	job_input_take(j, CONN(0), 1, 1);
	assert_int_equal(last_code(), ERR_INVALID);
}

static void
one_at_a_time(void **state)
{
	(void)state;
	to_held();
	job_input_take(j, CONN(1), 2, 0);
	assert_int_equal(last(CONN(1), 2), SNAP_ERROR);
	assert_int_equal(last_code(), ERR_BUSY);
	assert_int_equal(said[nsaid - 1].m.u.error.retry, 0);
}

/* Nobody else can write any more before the next one may. */
static void
taken_over(void **state)
{
	(void)state;
	to_held();
	job_input_take(j, CONN(1), 2, 1);
	assert_int_equal(last(CONN(0), 0), SNAP_INPUT_STOP);
	assert_int_equal(last(CONN(1), 2), 0);
	job_input_end(j, CONN(0), SNAP_INPUT_LOST);
	assert_int_equal(keeper_heard(), JOBC_INPUT_ASK);
	assert_int_equal(last(CONN(1), 2), 0);
	assert_int_equal(job_input_at(j, 12345), 0);
	assert_int_equal(last(CONN(1), 2), SNAP_TAKEN);
	assert_int_equal(said[nsaid - 1].m.u.taken.offset, 12345);
	assert_int_equal(job_input_at(j, 1), -1);       /* not asked */
}

static void
end_is_for_good(void **state)
{
	(void)state;
	to_held();
	job_input_end(j, CONN(1), SNAP_INPUT_EOF);      /* not its own */
	assert_int_equal(keeper_heard(), JOBC_INPUT);
	job_input_end(j, CONN(0), SNAP_INPUT_EOF);
	assert_int_equal(keeper_heard(), JOBC_INPUT_END);
	assert_int_equal(told[ntold - 1].u.lost, 0);
	job_input_take(j, CONN(1), 2, 1);
	assert_int_equal(last_code(), ERR_NOT_FOUND);
}

static void
left_waits(void **state)
{
	(void)state;
	to_held();
	job_input_end(j, CONN(0), SNAP_INPUT_LEFT);
	assert_false(evtimer_pending(&j->input.timer, NULL));
	job_input_take(j, CONN(1), 2, 0);
	assert_int_equal(job_input_at(j, 7), 0);
	assert_int_equal(last(CONN(1), 2), SNAP_TAKEN);
}

static void
lost_has_a_lease(void **state)
{
	(void)state;
	to_held();
	job_inputs_drop(&sup, CONN(0));
	assert_true(evtimer_pending(&j->input.timer, NULL));
	job_input_take(j, CONN(1), 2, 0);
	assert_int_equal(job_input_at(j, 7), 0);
	assert_false(evtimer_pending(&j->input.timer, NULL));
	job_inputs_drop(&sup, CONN(1));
	assert_int_equal(event_base_loop(sup.base, EVLOOP_ONCE), 0);
	assert_int_equal(keeper_heard(), JOBC_INPUT_END);
	assert_int_equal(told[ntold - 1].u.lost, 1);
}

/* A client that never asked is as one that was lost, unless it is detached. */
static void
lease_from_the_start(void **state)
{
	(void)state;
	j->rec.submit.detach = 1;
	started();
	assert_false(evtimer_pending(&j->input.timer, NULL));
	j->rec.submit.detach = 0;
	started();
	assert_true(evtimer_pending(&j->input.timer, NULL));
}

static void
taken_back(void **state)
{
	(void)state;
	job_input_take(j, CONN(0), 1, 0);
	job_input_end(j, CONN(0), SNAP_INPUT_LEFT);
	assert_int_equal(last_code(), ERR_CANCELLED);
	started();
	job_input_take(j, CONN(1), 2, 0);
	assert_int_equal(last(CONN(1), 2), SNAP_TAKEN);
}

static void
asker_hears_of_the_end(void **state)
{
	(void)state;
	job_input_take(j, CONN(0), 1, 0);
	job_input_done(j);
	assert_int_equal(last_code(), ERR_NOT_FOUND);
	j->phase = KEEPER_ENDED;
	job_input_take(j, CONN(1), 2, 0);
	assert_int_equal(last_code(), ERR_NOT_FOUND);
}

static void
windows(void **state)
{
	(void)state;
	assert_int_equal(job_window(j, CONN(0), 1, 2), -1);
	assert_int_equal(errno, EPERM);                 /* it has none */
	j->rec.submit.tty = 1;
	to_held();
	assert_int_equal(job_window(j, CONN(0), 65535, 0), 0);
	assert_int_equal(keeper_heard(), JOBC_WINDOW);
	assert_int_equal(told[ntold - 1].u.window.rows, 65535);
	assert_int_equal(job_window(j, CONN(1), 1, 2), -1);
	assert_int_equal(errno, EPERM);
	queued = 1 << 20;
	assert_int_equal(job_window(j, CONN(0), 1, 2), -1);
	assert_int_equal(errno, EBUSY);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(not_before_it_runs), T(only_with_input), T(one_at_a_time),
		T(taken_over), T(end_is_for_good), T(left_waits),
		T(lost_has_a_lease), T(lease_from_the_start), T(taken_back),
		T(asker_hears_of_the_end), T(windows),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
