#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "lib/log.h"
#include "sup_capture.h"
#include "supervisor/config.h"

/* Every wrong line is named with file, line, and how to mend it. */

static char dir[] = "/tmp/errand-config-XXXXXX";
static char path[64];

static void
write_file(const char *text)
{
	FILE *f;

	assert_non_null(f = fopen(path, "w"));
	fputs(text, f);
	fclose(f);
}

static const struct {
	const char *text;
	const char *where;      /* line, and words of the sentence */
	const char *what;
} bad[] = {
	{ "slots = 2\ncolour = blue\n", ":2: ", "no such option 'colour'" },
	{ "\n\nslots = two\n", ":3: ", "write a whole number" },
	{ "slots = 0\n", ":1: ", "slots = 0 is out of range" },
	{ "slots = 99999\n", ":1: ", "out of range; write 1 to 1024" },
	{ "idle_workers = 65\n", ":1: ", "write 1 to 64" },
	{ "state_dir = var/lib\n", ":1: ", "no absolute path" },
	{ "\nrun_dir = \"\"\n", ":2: ", "no absolute path" },
	{ "worker_uids = 100\n", ":1: ", "no range of uids" },
	{ "worker_uids = 0-100\n", ":1: ", "no range of uids" },
	{ "tenant_uids = 200-100\n", ":1: ", "no range of uids" },
	{ "tenant_uids = 100-4294967295\n", ":1: ", "no range of uids" },
	{ "tenant_uids = 100-200x\n", ":1: ", "no range of uids" },
	{ "tenant_uids = 100-103\n", ":1: ", "at least 8 ids" },
	{ "local_tenants = maybe\n", ":1: ", "write off or auto" },
	{ "stop_timeout = soon\n", ":1: ", "no duration" },
	{ "admin_group = no-such-group-here\n", ":1: ", "groupadd" },
	{ "host_name = \"a b\"\n", ":1: ", "without blanks" },
	{ "defaults {\n\tmemory = lots\n}\n", ":2: ", "no size" },
	{ "defaults {\n\tcpus = none\n}\n", ":2: ", "number of processors" },
	{ "defaults {\n\n\truntime = \"-1\"\n}\n", ":3: ", "no duration" },
	{ "defaults {\n\tpids = 1\n}\n", ":2: ", "out of range" },
	{ "defaults {\n\tdisk = 10\n}\n", ":2: ", "write 1M to 512G" },
	{ "defaults {\n\tmemory = 10\n}\n", ":2: ", "write 1M to" },
	{ "defaults {\n\tcpus = 100000\n}\n", ":2: ", "to 1024.000" },
	{ "defaults {\n\tkeep = 9000d\n}\n", ":2: ", "write 1s to 366d" },
	{ "defaults {\n\tspeed = 9\n}\n", ":2: ", "no such option 'speed'" },
	{ "slots = 2\nslots 3\n", ":2: ", "" },
	{ "image \"a\" {\n}\n", ":", "it has no path" },
	{ "image \"a\" { path = usr }\n", ":1: ", "no absolute path" },
	{ "image \"a\" { path = \"/nonesuch\" }\n", ":1: ", "No such file" },
	{ "image \"a\" { path = \"/tmp\" }\n", ":1: ", "chmod go-w" },
	{ "image \"A\" { path = \"/usr\" }\n", ":1: ", "no name of an image" },
};

static void
test_bad(void **state)
{
	const char *text;
	struct config *c;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		write_file(bad[i].text);
		say_begin();
		c = config_load(path, 0);
		text = say_end();
		if (c != NULL || strstr(text, path) == NULL ||
		    strstr(text, bad[i].where) == NULL ||
		    strstr(text, bad[i].what) == NULL)
			fail_msg("%s -> %s", bad[i].text, text);
	}
}

static void
test_overlap(void **state)
{
	(void)state;
	write_file("worker_uids = 1000-2000\ntenant_uids = 1500-3000\n");
	say_begin();
	assert_null(config_load(path, 0));
	assert_non_null(strstr(say_end(), "overlap"));
}

static void
test_absent(void **state)
{
	(void)state;
	(void)unlink(path);
	say_begin();
	assert_null(config_load(path, 0));
	assert_non_null(strstr(say_end(), path));
	say_begin();
	assert_null(config_load(dir, 0));
	assert_non_null(strstr(say_end(), "not a file"));
}

static void
test_good(void **state)
{
	struct config *c;

	(void)state;
	write_file("# all of it\nstate_dir = /a\nrun_dir = /b\n"
	    "worker_dir = /c\ncgroup_root = /d\nhost_name = here\n"
	    "worker_uids = 5000-5009\ntenant_uids = 6000-6999\nslots = 7\n"
	    "idle_workers = 3\nstop_timeout = 2m\nlocal_tenants = off\n"
	    "defaults {\n\tcpus = \"1.5\"\n\tmemory = 2G\n\tpids = 99\n"
	    "\tdisk = 3G\n\truntime = 10m\n\tlog = 1M\n\tchanges = 5\n"
	    "\tcpu_time = 5m\n\tslots = 2\n}\n"
	    "image \"a.1\" { path = \"/usr\" }\n"
	    "image \"b\" {\n\tpath = \"/usr/../usr/\"\n}\n");
	assert_non_null(c = config_load(path, 0));
	assert_string_equal(c->state_dir, "/a");
	assert_string_equal(c->tenants_dir, "/a/tenants.d");
	assert_string_equal(c->worker_dir, "/c");
	assert_string_equal(c->host_name, "here");
	assert_int_equal(c->worker_uids.last, 5009);
	assert_int_equal(c->tenant_uids.first, 6000);
	assert_int_equal(c->nimages, 2);
	assert_string_equal(c->images[0].arg, "a.1=/usr");
	assert_string_equal(c->images[1].arg, "b=/usr");
	assert_int_equal(c->slots, 7);
	assert_int_equal(c->tenant_slots, 2);
	assert_int_equal(c->local_auto, 0);
	assert_int_equal(c->stop_timeout_us, 120000000);
	assert_int_equal(c->defaults.cpus_milli, 1500);
	assert_int_equal(c->defaults.memory, UINT64_C(2) << 30);
	assert_int_equal(c->defaults.runtime_us, 600000000);
	assert_int_equal(c->defaults.cpu_us, 300000000);
	assert_int_equal(c->defaults.changes, 5);
	config_free(c);
}

static void
test_defaults(void **state)
{
	struct config *c;

	(void)state;
	write_file("");
	assert_non_null(c = config_load(path, 0));
	assert_int_equal(c->local_auto, 1);     /* started by hand */
	assert_int_equal(c->tenant_slots, c->slots);
	assert_true(c->defaults.memory >= UINT64_C(256) << 20);
	config_free(c);
	assert_int_equal(setenv("XDG_STATE_HOME", "/x/state", 1), 0);
	assert_int_equal(setenv("XDG_RUNTIME_DIR", "/x/run", 1), 0);
	assert_non_null(c = config_load(NULL, 1));
	assert_string_equal(c->state_dir, "/x/state/errand");
	assert_string_equal(c->run_dir, "/x/run/errand");
	config_free(c);
	unsetenv("XDG_RUNTIME_DIR");
	assert_non_null(c = config_load(NULL, 1));
	assert_int_equal(strncmp(c->run_dir, "/tmp/errand-", 12), 0);
	config_free(c);
}

/* A tenant's file says the same after it was written and read again. */
static void
test_tenant(void **state)
{
	struct tenant_conf tc, back;
	char why[LIMIT_TEXT], *text;
	size_t len;

	(void)state;
	memset(&tc, 0, sizeof(tc));
	strcpy(tc.name, "alpha");
	tc.id = 4;
	tc.host_uid = 6003;
	tc.nuids = 2;
	tc.uids[0] = 1000;
	tc.uids[1] = 4000000000;
	tc.slots = 3;
	tc.net_host = 1;
	tc.keep.store = 12345;
	tc.keep.objects = 5000000000;
	tc.keep.jobs = 70;
	tc.keep.logs = 1 << 20;
	tc.keep.keep_us = 7200000000;
	tc.limits.cpus_milli = 2500;
	tc.limits.memory = 1 << 20;
	tc.limits.runtime_us = 90000000;
	assert_non_null(text = config_tenant_text(&tc, &len));
	snprintf(path, sizeof(path), "%s/alpha.conf", dir);
	write_file(text);
	free(text);
	assert_int_equal(config_tenant_read(dir, "alpha", &back,
	    why, sizeof(why)), 0);
	assert_memory_equal(&tc, &back, sizeof(tc));

	write_file("id = 1\nuids = {1, x}\n");
	say_begin();
	assert_int_equal(config_tenant_read(dir, "alpha", &back,
	    why, sizeof(why)), -1);
	assert_non_null(strstr(say_end(), "alpha.conf:2:"));
	assert_non_null(strstr(why, "alpha.conf:2:"));
	say_begin();
	assert_int_equal(config_tenant_read(dir, "../alpha", &back,
	    why, sizeof(why)), -1);
	assert_non_null(strstr(say_end(), "no name for a tenant"));
	(void)unlink(path);
	snprintf(path, sizeof(path), "%s/errandd.conf", dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_tenant),
	};
	int rc;

	log_init("test", LOG_LEVEL_WARN);
	if (mkdtemp(dir) == NULL)
		return (1);
	snprintf(path, sizeof(path), "%s/errandd.conf", dir);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	(void)unlink(path);
	(void)rmdir(dir);
	return (rc);
}
