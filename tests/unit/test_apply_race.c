/* Edits that are made while an apply is at work: none is lost. */
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

static unsigned calls, at;
static int after_call, no_flags;
static void (*hook)(const char *);
static const char *victim;

int __real_renameat2(int, const char *, int, const char *, unsigned);

int
__wrap_renameat2(int a, const char *from, int b, const char *to,
    unsigned flags)
{
	int rc, e;

	calls++;
	if (hook != NULL && calls == at && !after_call)
		hook(victim);
	if (no_flags) {
		errno = EINVAL;
		rc = -1;
	} else
		rc = __real_renameat2(a, from, b, to, flags);
	e = errno;
	if (hook != NULL && calls == at && after_call)
		hook(victim);
	errno = e;
	return (rc);
}

/* --- what somebody else does --- */

static char mine[32];
static int happened;

static void
path_of(const char *name, char *out)
{
	snprintf(out, 256, "%s/ours/%s", world, name);
}

static void
write_to(const char *p, int flags)
{
	int fd = open(p, flags | O_WRONLY | O_CREAT, 0644);

	if (fd == -1)
		return;         /* a directory, or its parent is not there */
	assert_int_equal(io_write(fd, mine, strlen(mine)), 0);
	close(fd);
	happened = 1;
}

static void
append(const char *name)
{
	char p[256];

	path_of(name, p);
	write_to(p, O_APPEND);
}

static void
save(const char *name)
{
	char p[256], tmp[270];

	path_of(name, p);
	snprintf(tmp, sizeof(tmp), "%s.tmp", p);
	write_to(tmp, O_TRUNC);
	if (happened && rename(tmp, p) == -1) {
		(void)unlink(tmp);
		happened = 0;
	}
}

static void
overwrite(const char *name)
{
	char p[256];

	path_of(name, p);
	write_to(p, 0);
}

/* Is what was written anywhere in the tree? */
static int
is_there(const struct model *m)
{
	size_t i;

	for (i = 0; i < m->n; i++)
		if (m->v[i].kind == TREE_FILE && memmem(m->v[i].text,
		    m->v[i].len, mine, strlen(mine)) != NULL)
			return (1);
	return (0);
}

static struct model base, theirs, got;

static void
put(struct model *m, const char *path, const char *text)
{
	struct node *n = model_add(m, path, TREE_FILE, 0644);

	assert_non_null(n);
	n->len = (size_t)snprintf(n->text, TEXT, "%s\n", text);
}

static void
make_models(void)
{
	memset(&base, 0, sizeof(base));
	memset(&theirs, 0, sizeof(theirs));
	put(&base, "a", "base");
	put(&base, "b", "base");
	model_add(&base, "d", TREE_DIR, 0755);
	put(&base, "d/gone", "base");
	put(&base, "type", "base");
	put(&theirs, "a", "theirs");
	put(&theirs, "b", "theirs");
	put(&theirs, "new", "theirs");
	model_add(&theirs, "type", TREE_DIR, 0755);
	put(&theirs, "type/x", "theirs");
}

/* The state of everything but the victim, when all went well. */
static void
check_rest(const char *except)
{
	size_t i;

	for (i = 0; i < theirs.n; i++) {
		if (strncmp(theirs.v[i].path, except, strlen(except)) == 0)
			continue;
		if (!node_same(node_at(&got, theirs.v[i].path),
		    &theirs.v[i]))
			fail_msg("%s is not the job's", theirs.v[i].path);
	}
}

static unsigned written, edits;

static void
once(void (*edit)(const char *), const char *name, unsigned n, int after)
{
	struct apply_sum sum;
	struct model was;
	int rc;

	snprintf(mine, sizeof(mine), "mine %u\n", written++);
	model_write(&base, "ours");
	hook = edit;
	victim = name;
	at = n;
	after_call = after;
	calls = 0;
	happened = 0;
	rc = world_apply(&base, &theirs, 0, &sum);
	hook = NULL;
	apply_sum_done(&sum);
	model_read(&got, "ours");
	assert_null(node_at(&got, ".errand-apply"));
	if (!happened)
		return;
	edits++;
	if (!is_there(&got))
		fail_msg("an edit of %s at call %u is lost (status %d)", name,
		    n, rc);
	if (rc == 0)
		check_rest(name);
	else {
		/* A conflict, found when it was looked at again. */
		assert_int_equal(rc, 121);
		was = base;
		model_del(&was, name);
		for (size_t i = 0; i < was.n; i++)
			assert_true(node_same(node_at(&got, was.v[i].path),
			    &was.v[i]));
	}
}

static void
at_every_rename(void (*edit)(const char *))
{
	static const char *const names[] = { "a", "b", "d/gone", "type",
	    "new" };
	unsigned n, i, after;

	edits = 0;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (after = 0; after < 2; after++)
			for (n = 1; n <= 12; n++)
				once(edit, names[i], n, (int)after);
	assert_true(edits > 40);
}

static void
an_append_is_kept(void **state)
{
	(void)state;
	no_flags = 0;
	at_every_rename(append);
}

static void
a_save_is_kept(void **state)
{
	(void)state;
	no_flags = 0;
	at_every_rename(save);
}

static void
bytes_written_over_are_kept(void **state)
{
	(void)state;
	no_flags = 0;
	at_every_rename(overwrite);
}

/* A descriptor that was open before: what it writes until the old file is
 * removed is found. */
static int held;

static void
write_held(const char *name)
{
	(void)name;
	assert_int_equal(io_write(held, mine, strlen(mine)), 0);
}

static void
what_a_held_file_gets_is_kept(void **state)
{
	struct apply_sum sum;
	char p[256];
	unsigned n;

	(void)state;
	no_flags = 0;
	for (n = 1; n <= 8; n++) {
		snprintf(mine, sizeof(mine), "mine %u\n", written++);
		model_write(&base, "ours");
		path_of("a", p);
		assert_true((held = open(p, O_WRONLY | O_APPEND)) != -1);
		hook = write_held;
		at = n;
		after_call = 1;
		calls = 0;
		(void)world_apply(&base, &theirs, 0, &sum);
		apply_sum_done(&sum);
		close(held);
		model_read(&got, "ours");
		if (calls >= n)
			assert_true(is_there(&got));
	}
	hook = NULL;
}

static void
saves_are_kept_where_names_cannot_be_exchanged(void **state)
{
	(void)state;
	no_flags = 1;
	after_call = 0;
	/*
	 * Before the look: afterwards there is the window that is documented.
	 */
	for (unsigned n = 1; n <= 8; n++)
		once(append, "a", n, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_append_is_kept),
		cmocka_unit_test(a_save_is_kept),
		cmocka_unit_test(bytes_written_over_are_kept),
		cmocka_unit_test(what_a_held_file_gets_is_kept),
		cmocka_unit_test(
		    saves_are_kept_where_names_cannot_be_exchanged),
	};

	make_models();
	return (cmocka_run_group_tests(tests, world_open, world_close));
}
