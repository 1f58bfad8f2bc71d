/* Looking paths up in a stat cache, in order and not. */
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

#include "client/gitls.h"
#include "client/statcache.h"

static struct stat_entry
entry(const char *name, uint32_t mode)
{
	struct stat_entry e = { .ino = 1, .mode = mode, .name = name,
	    .name_len = (uint16_t)strlen(name) };

	return (e);
}

static const char *
mode_of(struct statcache_at *a, const char *path)
{
	static char out[16];
	const struct stat_entry *e;

	if ((e = statcache_at_find(a, path, strlen(path))) == NULL)
		return ("none");
	snprintf(out, sizeof(out), "%o", e->mode);
	return (out);
}

static void
paths_are_found(void **state)
{
	const struct stat_entry top[] = { entry("a", 0100644),
	    entry("a-b", 0100600), entry("d", 040755) };
	const struct stat_entry sub[] = { entry("x", 0100755),
	    entry("y", 0120777) };
	char file[] = "/tmp/errand-cache.XXXXXX";
	struct obj_ref ref = { .kind = OBJ_TREE, .id = { 1 } };
	static const uint8_t digest[64];
	struct statcache_out *o;
	struct statcache *sc;
	struct statcache_at *a;
	int fd;

	(void)state;
	assert_true((fd = mkstemp(file)) != -1);
	close(fd);
	assert_non_null(o = statcache_out_new());
	assert_int_equal(statcache_out_dir(o, "d", &ref, digest, sub, 2), 0);
	assert_int_equal(statcache_out_dir(o, "", &ref, digest, top, 3), 0);
	assert_int_equal(statcache_out_save(o, file, &ref), 0);
	statcache_out_free(o);
	assert_non_null(sc = statcache_load(file));
	assert_non_null(a = statcache_at_new(sc));
	assert_string_equal(mode_of(a, "a"), "100644");
	assert_string_equal(mode_of(a, "a-b"), "100600");
	assert_string_equal(mode_of(a, "b"), "none");
	assert_string_equal(mode_of(a, "d"), "40755");
	assert_string_equal(mode_of(a, "d/x"), "100755");
	assert_string_equal(mode_of(a, "d/y"), "120777");
	assert_string_equal(mode_of(a, "d/z"), "none");
	assert_string_equal(mode_of(a, "d/a"), "none");
	assert_string_equal(mode_of(a, "d/x"), "100755");
	assert_string_equal(mode_of(a, "d/x"), "100755");
	assert_string_equal(mode_of(a, "e"), "none");
	assert_string_equal(mode_of(a, "a"), "100644");
	assert_string_equal(mode_of(a, "nowhere/x"), "none");
	assert_string_equal(mode_of(a, "a/x"), "none");
	statcache_at_free(a);
	statcache_free(sc);
	assert_int_equal(unlink(file), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_found),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
