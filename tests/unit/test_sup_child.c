#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "lib/log.h"
#include "supervisor/child_internal.h"
#include "supervisor/config.h"
#include "supervisor/roles.h"

/*
 * Supervision: every state answers every event, and a worker that cannot be
 * started, ends, or is wanted again is handled as the table says.
 */

static struct event_base *base;
static struct config cfg;
static char dir[] = "/tmp/errand-child-XXXXXX";
static int ups, gones, downs;
static enum { STOP_AT_BACKOFF, STOP_AT_GONE, STOP_AT_DOWN } until;

static int
on_msg(void *c, const uint8_t *buf, size_t len, int *fds, size_t n)
{
	(void)c;
	(void)buf;
	(void)len;
	(void)fds;
	(void)n;
	return (0);
}

static void
on_up(void *c)
{
	(void)c;
	ups++;
}

static void
on_gone(void *c)
{
	(void)c;
	gones++;
	if (until == STOP_AT_GONE)
		event_base_loopbreak(base);
}

static void
on_down(void *c)
{
	(void)c;
	downs++;
	if (until == STOP_AT_DOWN)
		event_base_loopbreak(base);
}

static const struct child_ops ops = { on_msg, on_up, on_gone, on_down };

static struct child *
make(const struct role *role)
{
	struct child_init init = {
		.base = base, .cfg = &cfg, .role = role, .uid = 1,
		.level = 0, .ops = &ops
	};
	struct child *c;

	ups = gones = downs = 0;
	assert_non_null(c = child_new(&init));
	return (c);
}

/* Let time pass, but no more than ten seconds. */
static void
run(int what)
{
	struct timeval tv = { 10, 0 };

	until = what;
	event_base_loopexit(base, &tv);
	event_base_dispatch(base);
}

static void
script(const char *name, const char *body)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_non_null(f = fopen(path, "w"));
	fprintf(f, "#!/bin/sh\n%s\n", body);
	fclose(f);
	assert_int_equal(chmod(path, 0755), 0);
}

static void
test_table(void **state)
{
	int s, e;

	(void)state;
	for (s = 0; s < CHILD__NSTATE; s++)
		for (e = 0; e < CHILD__NEVENT; e++)
			assert_non_null(child_actions[s][e]);
}

/* No program: back-off, and a stop from there. */
static void
test_missing(void **state)
{
	struct role role = { .name = "x", .program = "no-such-program" };
	struct child *c = make(&role);
	const struct child_death *d;

	(void)state;
	child_event(c, CHILD_WANT);
	assert_int_equal(child_state(c), CHILD_STARTING);
	run(STOP_AT_GONE);
	assert_int_equal(gones, 1);
	assert_non_null(d = child_last_death(c));
	assert_int_equal(d->code, 111);
	assert_int_equal(child_state(c), CHILD_BACKOFF);
	child_event(c, CHILD_WANT);
	assert_int_equal(child_state(c), CHILD_BACKOFF);
	child_event(c, CHILD_STOP);
	assert_int_equal(child_state(c), CHILD_DOWN);
	assert_int_equal(downs, 1);
	assert_int_equal(ups, 0);
	child_free(c);
}

/* A worker that serves once: its end after READY brings it down at once. */
static void
test_once(void **state)
{
	struct role role = { .name = "x", .program = "once", .once = 1 };
	struct child *c = make(&role);

	(void)state;
	script("once", "read x <&3");
	child_event(c, CHILD_WANT);
	child_event(c, CHILD_READY);
	assert_int_equal(child_state(c), CHILD_UP);
	assert_int_equal(ups, 1);
	child_event(c, CHILD_STOP);
	assert_int_equal(child_state(c), CHILD_STOPPING);
	run(STOP_AT_DOWN);
	assert_int_equal(child_state(c), CHILD_DOWN);
	assert_int_equal(gones, 1);
	assert_int_equal(child_pid(c), 0);
	child_free(c);
}

/* One that ends before READY is not started again at once, once or not. */
static void
test_crash_at_start(void **state)
{
	struct role role = { .name = "x", .program = "crash", .once = 1 };
	struct child *c = make(&role);

	(void)state;
	script("crash", "exit 3");
	child_event(c, CHILD_WANT);
	run(STOP_AT_GONE);
	assert_int_equal(child_state(c), CHILD_BACKOFF);
	assert_int_equal(child_last_death(c)->code, 3);
	child_free(c);
}

/* A fault kills; a worker that is to stay comes back after a back-off. */
static void
test_fault(void **state)
{
	struct role role = { .name = "x", .program = "stay" };
	struct child *c = make(&role);

	(void)state;
	script("stay", "sleep 60");
	child_event(c, CHILD_WANT);
	child_event(c, CHILD_READY);
	child_fault(c, "told a lie");
	assert_int_equal(child_state(c), CHILD_STOPPING);
	child_fault(c, "told another");         /* no effect */
	run(STOP_AT_GONE);
	assert_int_equal(child_state(c), CHILD_BACKOFF);
	assert_int_equal(child_last_death(c)->signal, 9);
	assert_string_equal(child_last_death(c)->why, "told a lie");
	child_event(c, CHILD_STOP);
	child_free(c);
}

/* Wanted again while it still stops. */
static void
test_want_again(void **state)
{
	struct role role = { .name = "x", .program = "once", .once = 1 };
	struct child *c = make(&role);

	(void)state;
	child_event(c, CHILD_WANT);
	child_event(c, CHILD_READY);
	child_event(c, CHILD_STOP);
	child_event(c, CHILD_WANT);
	run(STOP_AT_GONE);
	assert_int_equal(child_state(c), CHILD_BACKOFF);
	child_event(c, CHILD_STOP);
	assert_int_equal(child_state(c), CHILD_DOWN);
	child_free(c);
}

/* HELLO twice is a broken promise; an event that cannot be does no harm. */
static void
test_odd(void **state)
{
	struct role role = { .name = "x", .program = "stay" };
	struct child *c = make(&role);

	(void)state;
	child_event(c, CHILD_READY);
	child_event(c, CHILD_EXIT);
	child_event(c, CHILD_TIMEOUT);
	assert_int_equal(child_state(c), CHILD_DOWN);
	child_event(c, CHILD_WANT);
	child_event(c, CHILD_READY);
	child_event(c, CHILD_READY);
	assert_int_equal(child_state(c), CHILD_STOPPING);
	run(STOP_AT_GONE);
	child_event(c, CHILD_STOP);
	child_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_crash_at_start),
		cmocka_unit_test(test_fault),
		cmocka_unit_test(test_want_again),
		cmocka_unit_test(test_odd),
	};
	char cmd[64];
	int rc;

	log_init("test", LOG_LEVEL_ERROR);
	if (mkdtemp(dir) == NULL || (base = event_base_new()) == NULL)
		return (1);
	cfg.worker_dir = dir;
	cfg.state_dir = dir;
	cfg.rootless = 1;
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	event_base_free(base);
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	return (system(cmd) != 0 ? 1 : rc);
}
