#include <fcntl.h>
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

#include "lib/log.h"
#include "supervisor/places.h"
#include "supervisor/tenants.h"

/* Who comes in, and who finds a place whatever the others hold. */

#define PLACES  40
#define HELD    (2 * PLACES)

static char dir[64], tdir[80];
static struct config cfg;
static int state_fd;
static struct tenants *ts;
static struct places *ps;
static struct holder *held[HELD];
static size_t nheld;

static int
setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/errand-places-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return (-1);
	snprintf(tdir, sizeof(tdir), "%s/tenants.d", dir);
	memset(&cfg, 0, sizeof(cfg));
	cfg.state_dir = dir;
	cfg.tenants_dir = tdir;
	cfg.tenant_uids = (struct uid_range){ 60000, 60099 };
	cfg.worker_uids = (struct uid_range){ 50000, 50099 };
	cfg.local_auto = 1;
	nheld = 0;
	if ((state_fd = open(dir, O_RDONLY | O_DIRECTORY)) == -1 ||
	    (ts = tenants_open(&cfg, state_fd)) == NULL ||
	    (ps = places_new(ts, PLACES)) == NULL)
		return (-1);
	return (0);
}

static int
teardown(void **state)
{
	char cmd[128];

	(void)state;
	while (nheld > 0)
		places_give(ps, held[--nheld]);
	places_free(ps);
	tenants_close(ts);
	close(state_fd);
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	return (system(cmd) == 0 ? 0 : -1);
}

static void
tenant(const char *name, uint32_t uid, uint32_t other)
{
	struct tenant_conf tc;
	struct err err;

	memset(&tc, 0, sizeof(tc));
	strcpy(tc.name, name);
	tc.nuids = 2;
	tc.uids[0] = uid;
	tc.uids[1] = other;
	assert_non_null(tenants_add(ts, &tc, &err));
}

/* Take up to ${most}; how many came in. */
static unsigned int
take(uint32_t uid, unsigned int most)
{
	struct holder *h;
	unsigned int n = 0;
	struct err err;

	while (n < most && (h = places_take(ps, uid, &err)) != NULL) {
		assert_true(nheld < HELD);
		held[nheld++] = h;
		n++;
	}
	if (n < most) {
		assert_int_equal(err.code, ERR_BUSY);
		assert_true(err.retry);
	}
	return (n);
}

/* 8 are for tenants: of 32 a first takes half, a second half of the rest. */
static void
test_strangers(void **state)
{
	uint32_t uid;

	(void)state;
	assert_int_equal(take(1, 100), 16);
	assert_int_equal(take(2, 100), 8);
	for (uid = 3; uid < 100; uid++)
		(void)take(uid, 100);
	assert_int_equal(nheld, PLACES - 8);
	tenant("late", 1000, 1001);
	assert_int_equal(take(1000, 2), 1);
	places_give(ps, held[--nheld]);
	assert_int_equal(take(100, 1), 0);
	assert_int_equal(take(1001, 1), 1);
}

/* A user that was made a tenant by coming is none of those. */
static void
test_automatic(void **state)
{
	struct err err;
	uint32_t uid;

	(void)state;
	for (uid = 1; uid < 50; uid++) {
		assert_non_null(tenants_by_uid(ts, uid, &err));
		(void)take(uid, 1);
	}
	assert_int_equal(nheld, PLACES - 8);
}

/* A tenant's users share what it has. */
static void
test_greedy_tenants(void **state)
{
	char name[16];
	uint32_t i;

	(void)state;
	for (i = 0; i < 15; i++) {
		snprintf(name, sizeof(name), "t%u", i);
		tenant(name, 1000 + 2 * i, 1001 + 2 * i);
	}
	/* 14 have none: of the other 26 one takes half. */
	assert_int_equal(take(1000, 100) + take(1001, 100), 13);
	for (i = 0; i < 30; i++)
		(void)take(i, 100);
	for (i = 1; i < 15; i++)
		assert_int_equal(take(1000 + 2 * i, 1), 1);
	assert_true(nheld <= PLACES);
}

/* More tenants than half of the places: they are filled all the same. */
static void
test_many_tenants(void **state)
{
	char name[16];
	uint32_t i, n = 0;

	(void)state;
	for (i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "t%u", i);
		tenant(name, 1000 + 2 * i, 1001 + 2 * i);
	}
	for (i = 0; i < 60; i++)
		n += take(1000 + 2 * i, 1);
	assert_int_equal(n, PLACES);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_strangers), T(test_automatic), T(test_greedy_tenants),
		T(test_many_tenants),
	};

	log_init("test", LOG_LEVEL_ERROR);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
