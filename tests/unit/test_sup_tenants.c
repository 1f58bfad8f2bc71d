#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/log.h"
#include "sup_capture.h"
#include "supervisor/subuids.h"
#include "supervisor/tenants.h"
#include "supervisor/tenants_limits.h"

/* Ids are assigned once, a uid is one tenant's, files are whole. */

#define DAY     UINT64_C(86400000000)

static char dir[64], tdir[80];
static struct config cfg;
static int state_fd;

static int
setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/errand-tenants-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return (-1);
	snprintf(tdir, sizeof(tdir), "%s/tenants.d", dir);
	memset(&cfg, 0, sizeof(cfg));
	cfg.state_dir = dir;
	cfg.tenants_dir = tdir;
	cfg.worker_uids = (struct uid_range){ 50000, 50009 };
	cfg.tenant_uids = (struct uid_range){ 60000, 60009 };
	cfg.tenant_slots = 3;
	cfg.defaults.memory = 1000;
	cfg.defaults.pids = 10;
	state_fd = open(dir, O_RDONLY | O_DIRECTORY);
	return (state_fd == -1 ? -1 : 0);
}

static int
teardown(void **state)
{
	char cmd[128];

	(void)state;
	close(state_fd);
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	return (system(cmd) == 0 ? 0 : -1);
}

static void
put(const char *name, const char *text)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", tdir, name);
	assert_non_null(f = fopen(path, "w"));
	fputs(text, f);
	fclose(f);
}

static struct tenant *
add(struct tenants *ts, const char *name, uint32_t uid, struct err *err)
{
	struct tenant_conf tc;

	memset(&tc, 0, sizeof(tc));
	memset(err, 0, sizeof(*err));
	strcpy(tc.name, name);
	tc.nuids = 1;
	tc.uids[0] = uid;
	return (tenants_add(ts, &tc, err));
}

static void
test_add(void **state)
{
	struct tenants *ts;
	struct tenant *a, *b;
	struct stat sb;
	struct err err;
	char path[160];

	(void)state;
	assert_non_null(ts = tenants_open(&cfg, state_fd));
	assert_non_null(a = add(ts, "a", 1, &err));
	assert_non_null(b = add(ts, "b", 2, &err));
	assert_int_equal(a->conf.id, 1);
	assert_int_equal(b->conf.host_uid, 60001);
	assert_null(add(ts, "c", 2, &err));     /* b's uid */
	assert_int_equal(err.code, ERR_CONFLICT);
	assert_null(add(ts, "a", 9, &err));
	assert_null(add(ts, "../x", 9, &err));
	assert_int_equal(err.code, ERR_INVALID);
	snprintf(path, sizeof(path), "%s/b.conf", tdir);
	assert_int_equal(stat(path, &sb), 0);
	assert_int_equal(sb.st_mode & 0777, 0600);
	snprintf(path, sizeof(path), "%s/b.conf.new", tdir);
	assert_int_equal(stat(path, &sb), -1);
	tenants_close(ts);

	/* The same after a restart. */
	assert_non_null(ts = tenants_open(&cfg, state_fd));
	assert_non_null(b = tenants_by_name(ts, "b"));
	assert_int_equal(b->conf.id, 2);
	assert_int_equal(b->conf.host_uid, 60001);
	assert_ptr_equal(tenants_by_uid(ts, 2, &err), b);
	assert_ptr_equal(tenants_by_id(ts, 2), b);
	assert_ptr_equal(tenants_after(ts, 1), b);
	assert_null(tenants_after(ts, 2));
	tenants_close(ts);
}

/* Ids that somebody has by the thousand are none of his, and no tenants. */
static void
test_subuids(void **state)
{
	char path[160], who[8];
	struct tenants *ts;
	struct err err;

	(void)state;
	assert_int_equal(mkdir(tdir, 0700), 0);
	put("subuid", "wrong\nx:1\n:\nalicealice:1000:10\n"
	    "bob:4294967295:99999999999\nlast:7:1");
	snprintf(path, sizeof(path), "%s/subuid", tdir);
	assert_int_equal(subuids_owner(path, 999, who, sizeof(who)), 0);
	assert_int_equal(subuids_owner(path, 1000, who, sizeof(who)), 1);
	assert_string_equal(who, "aliceal");
	assert_int_equal(subuids_owner(path, 1009, who, sizeof(who)), 1);
	assert_int_equal(subuids_owner(path, 1010, who, sizeof(who)), 0);
	assert_int_equal(subuids_owner(path, UINT32_MAX, who, sizeof(who)), 1);
	assert_string_equal(who, "bob");
	assert_int_equal(subuids_owner(path, 7, who, sizeof(who)), 1);
	assert_int_equal(subuids_owner("/nowhere", 7, who, sizeof(who)), 0);
	assert_int_equal(unlink(path), 0);

	cfg.local_auto = 1;
	assert_non_null(ts = tenants_open(&cfg, state_fd));
	assert_null(tenants_by_uid(ts, 50000, &err));
	assert_int_equal(err.code, ERR_UNKNOWN_TENANT);
	assert_null(tenants_by_uid(ts, 60009, &err));
	assert_non_null(tenants_by_uid(ts, 49999, &err));
	tenants_close(ts);
}

/* Those who come leave room for those an operator makes. */
static void
test_automatic_most(void **state)
{
	struct tenants *ts;
	struct err err;
	char name[16];
	uint32_t i;

	(void)state;
	assert_int_equal(mkdir(tdir, 0700), 0);
	cfg.local_auto = 1;
	cfg.tenant_uids.last = 69999;
	for (i = 1; i <= LIMIT_TENANTS / 2; i++) {
		char text[160];

		snprintf(name, sizeof(name), "u%u.conf", i);
		snprintf(text, sizeof(text), "id = %u\nuids = {%u}\n"
		    "host_uid = %u\nautomatic = true\n", i, i, 60000 + i);
		put(name, text);
	}
	assert_non_null(ts = tenants_open(&cfg, state_fd));
	assert_null(tenants_by_uid(ts, 9999, &err));
	assert_int_equal(err.code, ERR_LIMIT);
	assert_non_null(tenants_by_uid(ts, 1, &err));
	assert_non_null(add(ts, "made", 9999, &err));
	assert_non_null(tenants_by_uid(ts, 9999, &err));
	tenants_close(ts);
}

/* An id is not given again, even when its file and the daemon are gone. */
static void
test_never_again(void **state)
{
	struct tenants *ts;
	struct err err;
	char path[160];

	(void)state;
	assert_non_null(ts = tenants_open(&cfg, state_fd));
	assert_non_null(add(ts, "a", 1, &err));
	tenants_close(ts);
	snprintf(path, sizeof(path), "%s/a.conf", tdir);
	assert_int_equal(unlink(path), 0);
	assert_non_null(ts = tenants_open(&cfg, state_fd));
	assert_int_equal(add(ts, "b", 1, &err)->conf.id, 2);
	tenants_close(ts);
}

static void
test_range_full(void **state)
{
	struct tenants *ts;
	struct err err;
	char name[8];
	uint32_t i;

	(void)state;
	assert_non_null(ts = tenants_open(&cfg, state_fd));
	for (i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "t%u", i);
		assert_non_null(add(ts, name, i, &err));
	}
	say_begin();
	assert_null(add(ts, "more", 99, &err));
	(void)say_end();
	assert_int_equal(err.code, ERR_LIMIT);
	assert_non_null(strstr(err.text, "longer range"));
	tenants_close(ts);
}

static void
test_auto(void **state)
{
	struct tenants *ts;
	struct tenant *t;
	struct err err;

	(void)state;
	memset(&err, 0, sizeof(err));
	assert_non_null(ts = tenants_open(&cfg, state_fd));
	assert_null(tenants_by_uid(ts, 0, &err));
	assert_int_equal(err.code, ERR_UNKNOWN_TENANT);
	assert_non_null(strstr(err.text, "errandctl tenant add NAME --uid 0"));
	cfg.local_auto = 1;
	assert_non_null(t = tenants_by_uid(ts, 0, &err));
	assert_string_equal(t->conf.name, "root");
	assert_int_equal(t->conf.automatic, 1);
	assert_ptr_equal(tenants_by_uid(ts, 0, &err), t);
	assert_non_null(t = tenants_by_uid(ts, 3999999999, &err));
	assert_string_equal(t->conf.name, "u3999999999");
	tenants_close(ts);
}

static void
reload_refuses(struct tenants *ts, const char *why)
{
	const char *text;

	say_begin();
	assert_int_equal(tenants_reload(ts), 0);
	text = say_end();
	if (strstr(text, why) == NULL)
		fail_msg("%s, not %s", text, why);
	assert_non_null(tenants_refused(ts, NULL));
}

static void
test_files(void **state)
{
	struct tenants *ts;
	struct tenant *a, *b;
	struct err err;

	(void)state;
	assert_int_equal(mkdir(tdir, 0700), 0);
	put("a.conf", "uids = {7}\nslots = 9\nlimits {\n\tpids = 5\n}\n");
	put("b.conf", "id = 1\nuids = {8, 9}\nnet = host\n");
	put("README", "not ours\n");
	assert_non_null(ts = tenants_open(&cfg, state_fd));
	assert_non_null(a = tenants_by_name(ts, "a"));
	assert_non_null(b = tenants_by_name(ts, "b"));
	assert_int_equal(b->conf.id, 1);
	assert_int_equal(a->conf.id, 2);
	assert_int_equal(tenant_slots(ts, a), 9);
	assert_int_equal(tenant_slots(ts, b), 3);
	assert_int_equal(b->conf.net_host, 1);

	/* A reload changes what may change, and keeps the object. */
	put("a.conf", "uids = {7, 10}\n");
	assert_int_equal(tenants_reload(ts), 0);
	assert_ptr_equal(tenants_by_uid(ts, 10, &err), a);
	assert_int_equal(tenant_slots(ts, a), 3);
	assert_int_equal(a->conf.id, 2);

	/* A bad file leaves its tenant as it was, and the others alone. */
	put("a.conf", "uids = {8}\n");
	put("b.conf", "uids = {8}\nslots = 5\n");
	say_begin();
	assert_int_equal(tenants_reload(ts), 0);
	assert_non_null(strstr(say_end(), "stays as it was"));
	assert_ptr_equal(tenants_by_uid(ts, 10, &err), a);
	assert_int_equal(tenant_slots(ts, b), 5);
	assert_non_null(strstr(tenants_refused(ts, "a"), "belongs to"));
	assert_null(tenants_refused(ts, "b"));
	/* Uids may change hands at once. */
	put("a.conf", "uids = {8}\n");
	put("b.conf", "uids = {7, 10}\n");
	assert_int_equal(tenants_reload(ts), 0);
	assert_null(tenants_refused(ts, NULL));
	assert_ptr_equal(tenants_by_uid(ts, 10, &err), b);
	put("b.conf", "uids = {9}\n");
	put("a.conf", "id = 5\n");
	reload_refuses(ts, "cannot change");
	put("a.conf", "host_uid = 5\n");
	reload_refuses(ts, "cannot change");
	put("c.conf", "host_uid = 5\n");
	reload_refuses(ts, "outside tenant_uids");
	put("c.conf", "pids = 5\n");
	put("a.conf", "uids = {7}\n");
	reload_refuses(ts, "no such option 'pids'");
	/* A list may have any length, and go on; it is there once. */
	put("a.conf", "uids = {7}\nuids = {7}\n");
	reload_refuses(ts, "a.conf:2: uids is given a second time, after "
	    "line 1");
	put("a.conf", "uids = {7,\n10,\n11}\nuids = {7, 12}\n");
	reload_refuses(ts, "a.conf:4: uids is given a second time");
	put("a.conf", "uids = {7,\n10,\n11}\nuids += {12}\n");
	assert_int_equal(tenants_reload(ts), 0);
	assert_null(tenants_refused(ts, "a"));
	put("a.conf", "uids = {7}\n");
	assert_null(tenants_by_name(ts, "c"));

	/* Whose file it is is not known, so nobody new is let in. */
	cfg.local_auto = 1;
	memset(&err, 0, sizeof(err));
	assert_null(tenants_by_uid(ts, 4000, &err));
	assert_non_null(strstr(err.text, "c.conf:1:"));
	assert_null(add(ts, "c", 4000, &err));
	assert_int_equal(err.code, ERR_CONFLICT);
	say_begin();
	assert_int_equal(tenants_check(&cfg), -1);
	assert_non_null(strstr(say_end(), "c.conf:1:"));
	put("c.conf", "uids = {4000}\n");
	assert_int_equal(tenants_check(&cfg), 0);
	assert_int_equal(tenants_reload(ts), 0);
	assert_non_null(tenants_by_uid(ts, 4000, &err));
	tenants_close(ts);
}

static void
test_limits(void **state)
{
	struct job_limits l;
	struct tenants *ts;
	struct tenant *a;
	struct err err;

	(void)state;
	assert_non_null(ts = tenants_open(&cfg, state_fd));
	assert_non_null(a = add(ts, "a", 1, &err));
	a->conf.limits.pids = 4;
	tenant_limits(ts, a, &l);
	assert_int_equal(l.pids, 4);
	assert_int_equal(l.memory, 1000);
	tenants_close(ts);
}

/* What is accepted can be written and read again. */
static void
test_range(void **state)
{
	static const struct tenant_info bad[] = {
		{ .given = TENANT_PIDS, .limits.pids = 1 },
		{ .given = TENANT_SLOTS, .slots = 99999 },
		{ .given = TENANT_KEEP, .keep_us = 9000 * DAY },
		{ .given = TENANT_TIMEOUT, .limits.runtime_us = 900 * DAY },
		{ .given = TENANT_CPUS, .limits.cpus_milli = 1 },
		{ .given = TENANT_CPUS, .limits.cpus_milli = 100000000 },
		{ .given = TENANT_MEMORY, .limits.memory = 10 },
		{ .given = TENANT_DISK, .limits.disk = 1024 },
		{ .given = TENANT_DISK, .limits.disk = UINT64_C(600) << 30 },
	};
	struct tenant_conf tc;
	struct tenants *ts;
	struct tenant *a;
	struct err err;
	size_t i;

	(void)state;
	assert_non_null(ts = tenants_open(&cfg, state_fd));
	assert_non_null(a = add(ts, "a", 1, &err));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(&err, 0, sizeof(err));
		assert_null(tenants_set(ts, a, &bad[i], &err));
		assert_int_equal(err.code, ERR_INVALID);
		assert_non_null(strstr(err.text, "is out of range; write "));
	}
	memset(&tc, 0, sizeof(tc));
	strcpy(tc.name, "b");
	tc.limits.pids = 1;
	assert_null(tenants_add(ts, &tc, &err));
	assert_int_equal(err.code, ERR_INVALID);
	tenants_close(ts);
	assert_int_equal(tenants_check(&cfg), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_add), T(test_subuids), T(test_automatic_most),
		T(test_never_again), T(test_range_full),
		T(test_auto), T(test_files), T(test_limits), T(test_range),
	};

	log_init("test", LOG_LEVEL_WARN);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
