#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/log.h"
#include "supervisor/job_room.h"
#include "supervisor/jobs.h"
#include "supervisor/tenants.h"

/* Jobs that wait: however many some tenants have, another may have one. */

#define MIB     (UINT64_C(1024) * 1024)

static char dir[64], tdir[80];
static struct config cfg;
static int state_fd;
static struct tenants *ts;
static uint64_t total;

static int
setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/errand-room-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return (-1);
	snprintf(tdir, sizeof(tdir), "%s/tenants.d", dir);
	memset(&cfg, 0, sizeof(cfg));
	cfg.tenants_dir = tdir;
	cfg.tenant_uids = (struct uid_range){ 60000, 60999 };
	cfg.local_auto = 1;
	total = 0;
	if ((state_fd = open(dir, O_RDONLY | O_DIRECTORY)) == -1 ||
	    (ts = tenants_open(&cfg, state_fd)) == NULL)
		return (-1);
	return (0);
}

static int
teardown(void **state)
{
	char cmd[128];

	(void)state;
	tenants_close(ts);
	close(state_fd);
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	return (system(cmd) == 0 ? 0 : -1);
}

static struct tenant *
tenant(const char *prefix, uint32_t n, uint8_t automatic)
{
	struct tenant_conf tc;
	struct tenant *t;
	struct err err;

	memset(&tc, 0, sizeof(tc));
	snprintf(tc.name, sizeof(tc.name), "%s%u", prefix, n);
	tc.nuids = 1;
	tc.uids[0] = 1000 + n;
	tc.automatic = automatic;
	assert_non_null(t = tenants_add(ts, &tc, &err));
	return (t);
}

/* Jobs with ${values} bytes each, as many as there may be. */
static unsigned int
fill(struct tenant *t, uint64_t values)
{
	unsigned int n = 0;
	struct err err;

	while (job_room(ts, total, t, values, &err) == 0) {
		t->queued++;
		t->values += values;
		total++;
		n++;
	}
	assert_int_equal(err.code, ERR_BUSY);
	assert_true(err.retry);
	return (n);
}

static void
test_jobs(void **state)
{
	struct tenant *late = tenant("late", 0, 0), *last;
	uint32_t i;

	(void)state;
	assert_int_equal(fill(tenant("t", 1, 0), 0), JOBS_TENANT_MAX);
	assert_int_equal(fill(tenant("t", 2, 1), 0), JOBS_TENANT_MAX);
	for (i = 3; i < 40; i++)
		(void)fill(tenant("t", i, 1), 0);
	assert_true(total < JOBS_MAX);
	last = tenant("last", 500, 1);
	assert_int_equal(fill(last, 0), 0);
	assert_true(fill(late, 0) >= 1);
	assert_true(total <= JOBS_MAX);
}

static void
test_values(void **state)
{
	struct tenant *late = tenant("late", 0, 0);
	uint64_t values;
	uint32_t i;

	(void)state;
	assert_int_equal(fill(tenant("t", 1, 0), MIB), 64);
	for (i = 2, values = 64; i < 60; i++)
		values += fill(tenant("t", i, 1), MIB);
	assert_true(values < JOBS_VALUES / MIB);
	assert_true(fill(late, MIB) >= 1);
	assert_true(values + late->queued <= JOBS_VALUES / MIB);
	/* What needs none is not refused for them. */
	assert_true(fill(tenant("none", 700, 1), 0) > 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = { T(test_jobs), T(test_values) };

	log_init("test", LOG_LEVEL_ERROR);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
