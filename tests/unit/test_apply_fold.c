/* A file system that takes names which differ in case for one: none can be
 * had here, so looking names up behaves as on one. */
#include <strings.h>

#include "apply_world.h"
#include "client/apply.h"

int
__wrap_objget_fetch(void *cookie, const struct obj_ref *ref, uint8_t *buf,
    size_t *len)
{
	(void)cookie;
	return (world_fetch(ref, buf, len));
}

int
__wrap_objget_want(struct objget *g, const struct obj_ref *ref)
{
	(void)g;
	(void)ref;
	return (0);
}

const struct err *
__wrap_objget_err(const struct objget *g)
{
	static const struct err none;

	(void)g;
	return (&none);
}

int
__wrap_conn_pump(struct conn *c, int ms)
{
	(void)c;
	(void)ms;
	return (0);
}

static int folds;

int __real_fstatat(int, const char *, struct stat *, int);

/* The name as it is listed in the directory, or NULL. */
static const char *
listed(int dirfd, const char *name)
{
	static char found[256];
	const struct dirent *de;
	const char *hit = NULL;
	DIR *d;
	int fd;

	if ((fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY)) == -1)
		return (NULL);
	assert_non_null(d = fdopendir(fd));
	while (hit == NULL && (de = readdir(d)) != NULL)
		if (strcasecmp(de->d_name, name) == 0) {
			snprintf(found, sizeof(found), "%s", de->d_name);
			hit = found;
		}
	closedir(d);
	return (hit);
}

int
__wrap_fstatat(int dirfd, const char *name, struct stat *st, int flags)
{
	const char *real;
	int rc;

	rc = __real_fstatat(dirfd, name, st, flags);
	if (rc == 0 || !folds || errno != ENOENT)
		return (rc);
	if ((real = listed(dirfd, name)) == NULL) {
		errno = ENOENT;
		return (-1);
	}
	return (__real_fstatat(dirfd, real, st, flags));
}

static struct model base, ours, theirs, got;

static void
file(struct model *m, const char *path, const char *text)
{
	struct node *n = model_add(m, path, TREE_FILE, 0644);

	assert_non_null(n);
	n->len = (size_t)snprintf(n->text, TEXT, "%s", text);
}

static int
apply(struct apply_sum *sum)
{
	int rc;

	model_sort(&base);
	model_sort(&ours);
	model_sort(&theirs);
	model_write(&ours, "ours");
	folds = 1;
	rc = world_apply(&base, &theirs, 0, sum);
	folds = 0;
	model_read(&got, "ours");
	return (rc);
}

static void
clear(void)
{
	memset(&base, 0, sizeof(base));
	memset(&ours, 0, sizeof(ours));
	memset(&theirs, 0, sizeof(theirs));
}

static void
another_name_here_is_a_conflict(void **state)
{
	struct apply_sum sum;

	(void)state;
	clear();
	file(&ours, "readme", "mine");
	file(&theirs, "README", "mine");
	assert_int_equal(apply(&sum), 121);
	assert_int_equal(sum.n, 1);
	assert_int_equal(sum.v[0].why, MERGE_CASE);
	apply_sum_done(&sum);
	assert_int_equal(got.n, 1);
	assert_string_equal(got.v[0].text, "mine");
}

static void
nothing_goes_into_a_directory_of_another_name(void **state)
{
	struct apply_sum sum;

	(void)state;
	clear();
	model_add(&ours, "dir", TREE_DIR, 0755);
	file(&ours, "dir/mine", "mine");
	model_add(&theirs, "Dir", TREE_DIR, 0755);
	file(&theirs, "Dir/theirs", "theirs");
	assert_int_equal(apply(&sum), 121);
	assert_string_equal(sum.v[0].path, "Dir");
	apply_sum_done(&sum);
	assert_int_equal(got.n, 2);
}

/* NAME-A4 */
static void
a_rename_to_another_case_succeeds(void **state)
{
	struct apply_sum sum;

	(void)state;
	clear();
	file(&base, "readme", "text");
	model_add(&base, "d", TREE_DIR, 0755);
	file(&base, "d/x", "x");
	ours = base;
	file(&theirs, "README", "text");
	model_add(&theirs, "D", TREE_DIR, 0755);
	file(&theirs, "D/x", "x");
	assert_int_equal(apply(&sum), 0);
	apply_sum_done(&sum);
	assert_int_equal(got.n, 3);
	assert_non_null(node_at(&got, "README"));
	assert_non_null(node_at(&got, "D/x"));
	assert_string_equal(node_at(&got, "README")->text, "text");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_name_here_is_a_conflict),
		cmocka_unit_test(nothing_goes_into_a_directory_of_another_name),
		cmocka_unit_test(a_rename_to_another_case_succeeds),
	};

	return (cmocka_run_group_tests(tests, world_open, world_close));
}
