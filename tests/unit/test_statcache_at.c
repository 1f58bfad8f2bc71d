/* Looking paths up in a stat cache, in order and not. */
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

/* What ${path} looks like from a cache in which one byte is another. */
static int
found_with_damage(const char *file, off_t at, const char *path)
{
	struct statcache *sc;
	struct stat_dir sd;
	uint8_t c;
	int fd, rc = -2;

	assert_true((fd = open(file, O_RDWR)) != -1);
	assert_int_equal(pread(fd, &c, 1, at), 1);
	c ^= 0x10;
	assert_int_equal(pwrite(fd, &c, 1, at), 1);
	if ((sc = statcache_load(file)) != NULL)
		rc = statcache_dir(sc, path, &sd);
	statcache_free(sc);
	c ^= 0x10;
	assert_int_equal(pwrite(fd, &c, 1, at), 1);
	close(fd);
	return (rc);
}

/* A directory is lost by damage to its own block alone, and the whole by damage
 * to what says where they are. */
static void
damage_costs_a_directory(void **state)
{
	const struct stat_entry sub[] = { entry("x", 0100755) };
	char file[] = "/tmp/errand-cache.XXXXXX";
	struct obj_ref ref = { .kind = OBJ_TREE, .id = { 1 } };
	static const uint8_t digest[64];
	struct statcache_out *o;
	struct stat st;
	off_t i;
	int fd, d, e, lost = 0;

	(void)state;
	assert_true((fd = mkstemp(file)) != -1);
	assert_non_null(o = statcache_out_new());
	assert_int_equal(statcache_out_dir(o, "d", &ref, digest, sub, 1), 0);
	assert_int_equal(statcache_out_dir(o, "e", &ref, digest, sub, 1), 0);
	assert_int_equal(statcache_out_save(o, file, &ref), 0);
	statcache_out_free(o);
	close(fd);
	assert_int_equal(stat(file, &st), 0);
	for (i = 0; i < st.st_size; i++) {
		d = found_with_damage(file, i, "d");
		e = found_with_damage(file, i, "e");
		assert_int_equal(d == -2, e == -2);
		if (d == -2)
			lost++;
		else
			assert_int_equal(d + e, -1);    /* one of them */
	}
	assert_int_equal(lost, 64 + 2 * 32);    /* head and index */
	assert_int_equal(truncate(file, st.st_size - 1), 0);
	assert_null(statcache_load(file));
	assert_int_equal(unlink(file), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_found),
		cmocka_unit_test(damage_costs_a_directory),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
