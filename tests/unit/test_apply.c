/* Properties of an apply, over random trees in three versions. */
#include "apply_world.h"
#include "client/reserved.h"

#define ROUNDS  150

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

static const char *const names[] = { "a", "b", "c", "d" };
static const uint16_t modes[] = { 0644, 0755, 0600, 0640 };
static unsigned token;

static uint32_t
rnd(uint32_t n)
{
	rng_state = rng_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return ((uint32_t)(rng_state >> 33) % n);
}

static const struct node *
random_node(const struct model *m, uint8_t kind)
{
	size_t i, k;

	for (i = 0; i < 20 && m->n > 0; i++) {
		k = rnd((uint32_t)m->n);
		if (kind == 0 || m->v[k].kind == kind)
			return (&m->v[k]);
	}
	return (NULL);
}

/* A free path in the root or in some directory. */
static void
random_path(const struct model *m, char *out)
{
	const struct node *d = rnd(3) == 0 ? NULL : random_node(m, TREE_DIR);

	if (d != NULL && strlen(d->path) < 12)
		snprintf(out, 64, "%.30s/%s", d->path, names[rnd(4)]);
	else
		snprintf(out, 64, "%s", names[rnd(4)]);
}

static void
random_text(struct node *n, const char *who)
{
	size_t i, lines = 6 + rnd(6);

	n->len = 0;
	for (i = 0; i < lines; i++)
		n->len += (size_t)snprintf(n->text + n->len, TEXT - n->len,
		    "line %zu\n", i);
	n->len += (size_t)snprintf(n->text + n->len, TEXT - n->len,
	    "%s%u\n", who, token++);
	if (rnd(4) == 0)
		n->text[rnd((uint32_t)n->len)] = '\0';
}

static void
add_random(struct model *m, const char *who)
{
	char path[64];
	struct node *n;

	random_path(m, path);
	n = model_add(m, path, (uint8_t)(1 + rnd(3)), 0755);
	if (n == NULL)
		return;
	if (n->kind == TREE_FILE) {
		n->mode = modes[rnd(4)];
		random_text(n, who);
	} else if (n->kind == TREE_DIR)
		n->mode = rnd(2) ? 0755 : 0700;
	else
		n->len = (size_t)snprintf(n->text, TEXT, "%s%u", who, token++);
}

/* Insert a line that is nowhere else. */
static void
edit(struct node *n, const char *who)
{
	char line[32], *at = n->text;
	size_t len = (size_t)snprintf(line, sizeof(line), "%s%u\n", who,
	    token++), i;

	if (n->kind == TREE_LINK) {
		n->len = (size_t)snprintf(n->text, TEXT, "%s%u", who, token++);
		return;
	}
	for (i = rnd(8); i > 0; i--) {
		char *nl = memchr(at, '\n', n->len - (size_t)(at - n->text));

		if (nl == NULL)
			break;
		at = nl + 1;
	}
	if (n->len + len > TEXT)
		return;
	memmove(at + len, at, n->len - (size_t)(at - n->text));
	memcpy(at, line, len);
	n->len += len;
}

static void
mutate_once(struct model *m, const char *who)
{
	const struct node *r = random_node(m, 0);
	struct node *n;
	char path[64];

	if (r == NULL || rnd(4) == 0) {
		add_random(m, who);
		return;
	}
	snprintf(path, sizeof(path), "%s", r->path);
	n = node_at(m, path);
	switch (rnd(5)) {
	case 0:
		model_del(m, path);
		break;
	case 1:                 /* becomes another kind */
		model_del(m, path);
		n = model_add(m, path, (uint8_t)(1 + rnd(3)), 0755);
		if (n->kind == TREE_FILE)
			random_text(n, who);
		else if (n->kind == TREE_LINK)
			n->len = (size_t)snprintf(n->text, TEXT, "%s%u", who,
			    token++);
		break;
	case 2:
		if (n->kind != TREE_LINK)
			n->mode ^= n->kind == TREE_DIR ? 0055 :
			    rnd(2) ? 0111 : 0040;
		break;
	default:
		if (n->kind != TREE_DIR)
			edit(n, who);
		break;
	}
}

static void
mutate(struct model *m, const char *who)
{
	unsigned i, n = 1 + rnd(6);

	for (i = 0; i < n; i++)
		mutate_once(m, who);
	model_sort(m);
}

static void
random_base(struct model *m)
{
	unsigned i, n = 4 + rnd(12);

	m->n = 0;
	for (i = 0; i < n; i++)
		add_random(m, "base");
	model_sort(m);
}

static void
show(const char *what, const struct model *m)
{
	size_t i;

	printf("# %s:\n", what);
	for (i = 0; i < m->n; i++)
		printf("#   %u %o %s (%zu)\n", m->v[i].kind, m->v[i].mode,
		    m->v[i].path, m->v[i].len);
}

static void
assert_same(struct model *got, struct model *want, const char *what)
{
	size_t i;
	int bad = got->n != want->n;

	for (i = 0; i < want->n && !bad; i++)
		bad = !node_same(node_at(got, want->v[i].path), &want->v[i]);
	if (!bad)
		return;
	show("got", got);
	show("want", want);
	fail_msg("%s", what);
}

static struct model base, ours, theirs, after, again;
static uint64_t round_seed;

static void
begin(void)
{
	round_seed = rng_state;
	random_base(&base);
	ours = base;
	theirs = base;
}

static void
nothing_changes_nothing(void **state)
{
	struct apply_sum sum;
	int i;

	(void)state;
	for (i = 0; i < 30; i++) {
		begin();
		mutate(&ours, "ours");
		model_write(&ours, "ours");
		assert_int_equal(world_apply(&base, &theirs, 0, &sum), 0);
		assert_int_equal(sum.created + sum.modified + sum.deleted, 0);
		model_read(&after, "ours");
		assert_same(&after, &ours, "a job that changed nothing did");
		apply_sum_done(&sum);
	}
}

static void
an_unchanged_tree_becomes_theirs(void **state)
{
	struct apply_sum sum;
	int i;

	(void)state;
	for (i = 0; i < ROUNDS; i++) {
		begin();
		mutate(&theirs, "job");
		model_write(&ours, "ours");
		assert_int_equal(world_apply(&base, &theirs, 0, &sum), 0);
		apply_sum_done(&sum);
		model_read(&after, "ours");
		assert_same(&after, &theirs, "the tree is not the job's");
		assert_int_equal(world_apply(&base, &theirs, 0, &sum), 0);
		assert_int_equal(sum.created + sum.modified + sum.deleted, 0);
		apply_sum_done(&sum);
		model_read(&again, "ours");
		assert_same(&again, &theirs, "applied twice is not the same");
	}
}

static void
the_same_edit_is_clean(void **state)
{
	struct apply_sum sum;
	int i;

	(void)state;
	for (i = 0; i < 40; i++) {
		begin();
		mutate(&theirs, "job");
		ours = theirs;
		model_write(&ours, "ours");
		assert_int_equal(world_apply(&base, &theirs, 0, &sum), 0);
		assert_int_equal(sum.created + sum.modified + sum.deleted, 0);
		apply_sum_done(&sum);
		model_read(&after, "ours");
		assert_same(&after, &ours, "the same edit was applied");
	}
}

static int
has_line(const struct node *n, const char *line, size_t len)
{
	return (n != NULL && memmem(n->text, n->len, line, len) != NULL);
}

/* Every line of ${n} that only our side wrote is in ${now}. */
static int
keeps_lines(const struct node *n, const struct node *now)
{
	const char *p = n->text, *end = n->text + n->len, *nl;

	for (; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (nl == NULL)
			nl = end - 1;
		if (memmem(p, (size_t)(nl - p), "ours", 4) != NULL &&
		    !has_line(now, p, (size_t)(nl - p)))
			return (0);
	}
	return (1);
}

/* What was edited here is here. */
static void
assert_kept(struct model *now)
{
	const struct node *b, *n;
	size_t i;

	for (i = 0; i < ours.n; i++) {
		b = node_at(&base, ours.v[i].path);
		if (node_same(b, &ours.v[i]) || ours.v[i].kind == TREE_DIR)
			continue;
		n = node_at(now, ours.v[i].path);
		if (b != NULL && b->kind == ours.v[i].kind &&
		    b->len == ours.v[i].len && memcmp(b->text, ours.v[i].text,
		    b->len) == 0)
			continue;       /* only its mode is ours */
		if (n == NULL || n->kind != ours.v[i].kind ||
		    !(node_same(n, &ours.v[i]) || keeps_lines(&ours.v[i], n))) {
			show("base", &base);
			show("ours", &ours);
			show("theirs", &theirs);
			show("now", now);
			fail_msg("%s lost what was edited here",
			    ours.v[i].path);
		}
	}
}

/* Without conflicts each side's own changes are all there. */
static void
assert_merged(struct model *now)
{
	struct node *b, *o, *t, *n;
	size_t i;

	for (i = 0; i < theirs.n; i++) {
		t = &theirs.v[i];
		b = node_at(&base, t->path);
		o = node_at(&ours, t->path);
		n = node_at(now, t->path);
		if (node_same(b, o) && !node_same(n, t)) {
			show("now", now);
			fail_msg("%s is not what the job made", t->path);
		}
	}
	for (i = 0; i < ours.n; i++) {
		o = &ours.v[i];
		b = node_at(&base, o->path);
		t = node_at(&theirs, o->path);
		if (node_same(b, t) && !node_same(node_at(now, o->path), o)) {
			show("now", now);
			fail_msg("%s is not what it was here", o->path);
		}
	}
}

static void
no_local_byte_is_lost(void **state)
{
	struct apply_sum sum;
	unsigned clean = 0, bad = 0;
	int i, rc;

	(void)state;
	for (i = 0; i < 2 * ROUNDS; i++) {
		begin();
		mutate(&ours, "ours");
		mutate(&theirs, "job");
		model_write(&ours, "ours");
		rc = world_apply(&base, &theirs, 0, &sum);
		model_read(&after, "ours");
		if (rc == 0) {
			clean++;
			assert_int_equal(sum.n, 0);
			assert_kept(&after);
			assert_merged(&after);
			apply_sum_done(&sum);
			continue;
		}
		bad++;
		assert_int_equal(rc, 121);
		assert_true(sum.n > 0);
		assert_same(&after, &ours, "a conflict changed something");
		apply_sum_done(&sum);
		rc = world_apply(&base, &theirs, 1, &sum);
		assert_int_equal(rc, 121);
		apply_sum_done(&sum);
		model_read(&after, "ours");
		assert_kept(&after);
	}
	printf("# %u clean, %u with conflicts\n", clean, bad);
	assert_true(clean > 20 && bad > 20);
}

static void
texts_are_merged_by_lines(void **state)
{
	struct apply_sum sum;
	struct node *n;

	(void)state;
	memset(&base, 0, sizeof(base));
	n = model_add(&base, "f", TREE_FILE, 0644);
	n->len = (size_t)snprintf(n->text, TEXT, "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
	ours = base;
	theirs = base;
	memcpy(ours.v[0].text, "A", 1);
	memcpy(theirs.v[0].text + 16, "Z", 1);
	theirs.v[0].mode = 0755;
	model_write(&ours, "ours");
	assert_int_equal(world_apply(&base, &theirs, 0, &sum), 0);
	assert_int_equal(sum.modified, 1);
	apply_sum_done(&sum);
	model_read(&after, "ours");
	assert_int_equal(after.v[0].mode, 0755);
	assert_memory_equal(after.v[0].text, "A\n2\n3\n4\n5\n6\n7\n8\nZ\n",
	    18);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_merged_by_lines),
		cmocka_unit_test(nothing_changes_nothing),
		cmocka_unit_test(an_unchanged_tree_becomes_theirs),
		cmocka_unit_test(the_same_edit_is_clean),
		cmocka_unit_test(no_local_byte_is_lost),
	};

	return (cmocka_run_group_tests(tests, world_open, world_close));
}
