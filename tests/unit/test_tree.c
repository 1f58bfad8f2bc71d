#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include "le.h"
#include "objset.h"
#include "tree.h"

#define HEAD    8
#define PART    36
#define HELLO   "hello, world\n"

static struct tree_entry
file_entry(const char *name)
{
	struct tree_entry e = { .kind = TREE_FILE, .mode = 0644 };

	e.name = (const uint8_t *)name;
	e.name_len = (uint16_t)strlen(name);
	return (e);
}

static struct tree_entry
link_entry(const char *name, const char *target)
{
	struct tree_entry e = file_entry(name);

	e.kind = TREE_LINK;
	e.mode = 0777;
	e.target = (const uint8_t *)target;
	e.target_len = (uint16_t)strlen(target);
	e.size = e.target_len;
	return (e);
}

static void
add(struct tree_builder *tb, const struct tree_entry *e)
{
	assert_int_equal(tree_builder_add(tb, e), 0);
}

static struct obj_ref
finish(struct tree_builder *tb, struct objset *s)
{
	struct obj_ref ref;

	assert_int_equal(tree_builder_finish(tb, s == NULL ? NULL :
	    objset_put, s, &ref), 0);
	tree_builder_free(tb);
	assert_int_equal(ref.kind, OBJ_TREE);
	if (s != NULL)
		assert_true(obj_ref_equal(&s->last, &ref));
	return (ref);
}

/* The tree of the test vectors. */
static struct obj_ref
sample(struct objset *s)
{
	struct tree_builder *tb = tree_builder_new();
	struct tree_entry e;
	struct obj_ref empty = finish(tree_builder_new(), s);

	e = file_entry("a");
	add(tb, &e);
	e = file_entry("d");
	e.kind = TREE_DIR;
	e.mode = 0755;
	e.mtime_ns = 1;
	e.ref = empty;
	add(tb, &e);
	e = file_entry("h");
	e.mode = 0755;
	e.size = 13;
	e.mtime_ns = INT64_C(1700000000123456789);
	obj_ref_of(OBJ_CHUNK, HELLO, 13, &e.ref);
	add(tb, &e);
	e = link_entry("l", "a");
	e.mtime_ns = -1;
	add(tb, &e);
	return (finish(tb, s));
}

static const char sample_hex[] =
    "455401000400000001a40100000000000000000000000000000000010061"
    "0002ed010000000000000000010000000000000001006403674a845fab9f"
    "66983de1b46156845be9704dcb9cb647b0a313e51c5a566bde1801ed010d"
    "0000000000000015cd853dfe9c9717010068019619b4e7335366919878b4"
    "3a1ab91dfb5b7e8edd8b804bf5b00da32ac11d667503ff01010000000000"
    "0000ffffffffffffffff01006c010061";

static void
test_vectors(void **state)
{
	struct objset s = { .n = 0 };
	struct obj_ref ref;
	uint8_t buf[OBJ_MAX];
	char hex[sizeof(sample_hex)];
	size_t i, len = 0;

	(void)state;
	ref = finish(tree_builder_new(), &s);
	assert_id(&ref, "674a845fab9f66983de1b46156845be9"
	    "704dcb9cb647b0a313e51c5a566bde18");
	ref = sample(&s);
	assert_id(&ref, "161f3c7b971b3fad196f5d2cd937c61c"
	    "a1e17f562cbe27ff053717d475aaa512");
	assert_int_equal(objset_get(&s, &ref, buf, &len), 0);
	assert_int_equal(2 * len + 1, sizeof(hex));
	for (i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", buf[i]);
	assert_string_equal(hex, sample_hex);
	objset_done(&s);
}

static int
refused(const uint8_t *buf, size_t len)
{
	const char *why = NULL;

	errno = 0;
	return (obj_check(OBJ_TREE, buf, len, &why) == -1 &&
	    errno == EPROTO && why != NULL);
}

struct copy {
	uint8_t buf[OBJ_MAX];
	size_t len;
	size_t n;
};

static int
copy_put(void *cookie, const struct obj_ref *ref, const void *buf, size_t len)
{
	struct copy *c = cookie;

	(void)ref;
	memcpy(c->buf, buf, len);
	c->len = len;
	c->n++;
	return (0);
}

/* Encode a higher level again from what was read. */
static int
canonical_parts(struct tree_iter *it, const uint8_t *buf, size_t len)
{
	static uint8_t out[OBJ_MAX];
	struct obj_ref ref;
	uint32_t below, count = 0;
	int rc;

	while ((rc = tree_part_next(it, &ref, &below)) == 1) {
		le_put32(out + HEAD + PART * count, below);
		memcpy(out + HEAD + PART * count + 4, ref.id, OBJ_ID_LEN);
		count++;
	}
	if (rc == -1)
		return (1);
	memcpy(out, "ET\1", 3);
	out[3] = it->level;
	le_put32(out + 4, count);
	return (HEAD + PART * count == len && memcmp(out, buf, len) == 0);
}

/* Refused, or built again from its entries gives the same bytes. */
static int
canonical(const uint8_t *buf, size_t len)
{
	static struct copy c;
	struct tree_iter it;
	struct tree_entry e;
	struct tree_builder *tb;
	struct obj_ref ref;
	int rc, same = 1;

	if (tree_iter_init(&it, buf, len) == -1)
		return (1);
	if (it.level > 0)
		return (canonical_parts(&it, buf, len));
	tb = tree_builder_new();
	while ((rc = tree_iter_next(&it, &e)) == 1)
		add(tb, &e);
	if (rc == 0) {
		c.n = 0;
		assert_int_equal(tree_builder_finish(tb, copy_put, &c,
		    &ref), 0);
		same = c.n == 1 && c.len == len &&
		    memcmp(c.buf, buf, len) == 0;
	}
	tree_builder_free(tb);
	return (same);
}

static size_t
put_head(uint8_t *p, uint8_t level, uint32_t count)
{
	memcpy(p, "ET\1", 3);
	p[3] = level;
	le_put32(p + 4, count);
	return (HEAD);
}

static size_t
put_part(uint8_t *p, uint32_t below, const uint8_t *id)
{
	le_put32(p, below);
	memcpy(p + 4, id, OBJ_ID_LEN);
	return (PART);
}

static void
test_damage(void **state)
{
	struct objset s = { .n = 0 };
	struct obj_ref ref = sample(&s);
	uint8_t buf[OBJ_MAX];
	size_t len = 0;

	(void)state;
	assert_int_equal(objset_get(&s, &ref, buf, &len), 0);
	assert_true(canonical(buf, len));
	each_truncation(buf, len, refused);
	each_corruption(buf, len, canonical);
	buf[len] = 0;
	assert_true(refused(buf, len + 1));
	/* A higher level. */
	len = put_head(buf, 1, 2);
	len += put_part(buf + len, 5, ref.id);
	len += put_part(buf + len, 6, ref.id);
	assert_false(refused(buf, len));
	each_truncation(buf, len, refused);
	each_corruption(buf, len, canonical);
	put_head(buf, 1, 1);
	assert_true(refused(buf, HEAD + PART));
	put_head(buf, 1, 0);
	assert_true(refused(buf, HEAD));
	put_head(buf, TREE_LEVEL_MAX + 1, 2);
	assert_true(refused(buf, len));
	put_head(buf, TREE_LEVEL_MAX, 2);
	assert_false(refused(buf, len));
	le_put32(buf + HEAD, 0);
	assert_true(refused(buf, len));
	objset_done(&s);
}

static int
fault(const char *name, size_t len)
{
	return (tree_name_fault((const uint8_t *)name, len) != NULL);
}

static void
test_names(void **state)
{
	static const char *const bad[] = { "", ".", "..", "/", "a/", "/a",
	    ".git", ".GIT", ".Git", ".giT" };
	static const char *const good[] = { "a", "...", ".a", ".gi", ".git2",
	    ".gitignore", "git", "..a", " ", "\n", "\xff\xfe", "-", "\\",
	    "\x0egit", "Ngit", ".\x07it" };
	char name[300];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(fault(bad[i], strlen(bad[i])));
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_false(fault(good[i], strlen(good[i])));
	assert_true(fault("a\0b", 3));
	assert_true(fault("\0", 1));
	memset(name, 'x', sizeof(name));
	assert_false(fault(name, TREE_NAME_MAX));
	assert_true(fault(name, TREE_NAME_MAX + 1));
}

static int
cmp(const char *a, const char *b)
{
	return (tree_name_cmp((const uint8_t *)a, strlen(a),
	    (const uint8_t *)b, strlen(b)));
}

static void
test_order(void **state)
{
	struct tree_builder *tb = tree_builder_new();
	struct tree_entry e = file_entry("b");

	(void)state;
	assert_true(cmp("a", "b") < 0 && cmp("b", "a") > 0);
	assert_true(cmp("a", "aa") < 0 && cmp("aa", "a") > 0);
	assert_true(cmp("a", "a") == 0 && cmp("\x7f", "\x80") < 0);
	add(tb, &e);
	errno = 0;
	assert_int_equal(tree_builder_add(tb, &e), -1);
	assert_int_equal(errno, EINVAL);
	e = file_entry("a");
	assert_int_equal(tree_builder_add(tb, &e), -1);
	e = file_entry("ba");
	add(tb, &e);
	e = file_entry("b");
	assert_int_equal(tree_builder_add(tb, &e), -1);
	tree_builder_free(tb);
	tree_builder_free(NULL);
}

/* Whether the builder takes an entry alone. */
static int
takes(const struct tree_entry *e)
{
	struct tree_builder *tb = tree_builder_new();
	int rc;

	errno = 0;
	rc = tree_builder_add(tb, e);
	assert_true(rc == 0 || errno == EINVAL);
	tree_builder_free(tb);
	return (rc == 0);
}

/* The same with another field of each kind. */
static int
takes_ref(uint8_t kind, uint8_t ref, uint64_t size)
{
	struct tree_entry e = file_entry("x");

	e.kind = kind;
	e.ref.kind = ref;
	e.size = size;
	return (takes(&e));
}

static void
test_fields(void **state)
{
	struct tree_entry e = file_entry("x");
	const uint64_t most = INT64_MAX;

	(void)state;
	e.mode = 0777;
	assert_true(takes(&e));
	e.mode = 01000;
	assert_false(takes(&e));
	assert_true(takes_ref(TREE_FILE, OBJ_NONE, 0));
	assert_false(takes_ref(TREE_FILE, OBJ_NONE, 1));
	assert_false(takes_ref(TREE_FILE, OBJ_CHUNK, 0));
	assert_true(takes_ref(TREE_FILE, OBJ_CHUNK, OBJ_MAX));
	assert_false(takes_ref(TREE_FILE, OBJ_CHUNK, OBJ_MAX + 1));
	assert_false(takes_ref(TREE_FILE, OBJ_LIST, 0));
	assert_true(takes_ref(TREE_FILE, OBJ_LIST, most));
	assert_false(takes_ref(TREE_FILE, OBJ_LIST, most + 1));
	assert_false(takes_ref(TREE_FILE, OBJ_TREE, 0));
	assert_false(takes_ref(TREE_FILE, 4, 1));
	assert_true(takes_ref(TREE_DIR, OBJ_TREE, 0));
	assert_false(takes_ref(TREE_DIR, OBJ_TREE, 1));
	assert_false(takes_ref(TREE_DIR, OBJ_NONE, 0));
	assert_false(takes_ref(TREE_DIR, OBJ_LIST, 0));
	assert_false(takes_ref(0, OBJ_NONE, 0));
	assert_false(takes_ref(4, OBJ_NONE, 0));
}

static void
test_links(void **state)
{
	char target[TREE_TARGET_MAX + 2];
	struct tree_entry e;

	(void)state;
	memset(target, 't', sizeof(target));
	target[TREE_TARGET_MAX + 1] = '\0';
	e = link_entry("x", target);
	assert_false(takes(&e));
	target[TREE_TARGET_MAX] = '\0';
	e = link_entry("x", target);
	assert_true(takes(&e));
	e.size--;
	assert_false(takes(&e));
	e = link_entry("x", "");
	assert_false(takes(&e));
	e = link_entry("x", "abc");
	e.target = (const uint8_t *)"a\0c";
	assert_false(takes(&e));
}

struct count {
	size_t n;
	size_t stop;
	struct tree_entry last;
	char name[TREE_NAME_MAX + 1];
};

static int
count_entry(void *cookie, const struct tree_entry *e)
{
	struct count *c = cookie;

	c->n++;
	c->last = *e;
	memcpy(c->name, e->name, e->name_len);
	c->name[e->name_len] = '\0';
	return (c->n == c->stop ? 9 : 0);
}

#define BIG     100000

/* Files "00000" on; one has another content, one more or less is there. */
static struct obj_ref
big(struct objset *s, int edited, int gone, int extra)
{
	struct tree_builder *tb = tree_builder_new();
	struct tree_entry e;
	char name[16];
	int i;

	for (i = 0; i < BIG; i++) {
		if (i == gone)
			continue;
		snprintf(name, sizeof(name), "%05d", i);
		e = file_entry(name);
		if (i == edited) {
			e.size = 13;
			obj_ref_of(OBJ_CHUNK, HELLO, 13, &e.ref);
		}
		add(tb, &e);
		if (i == extra) {
			strcat(name, "x");
			e = file_entry(name);
			add(tb, &e);
		}
	}
	return (finish(tb, s));
}

static void
test_big(void **state)
{
	struct objset s = { .n = 0 };
	struct count c = { .n = 0 };
	struct obj_ref ref;
	int i;

	(void)state;
	ref = big(&s, -1, -1, -1);
	assert_id(&ref, "e3185434c7ce23f94b8505a2f80bb961"
	    "3b44175e111ec730f91ffd35ea6deea5");
	assert_int_equal(s.n, 5508);
	assert_int_equal(s.longest, 36872);
	assert_int_equal(tree_read(&ref, objset_get, &s, count_entry, &c), 0);
	assert_int_equal(c.n, BIG);
	assert_string_equal(c.name, "99999");
	c.n = 0;
	c.stop = 50000;
	assert_int_equal(tree_read(&ref, objset_get, &s, count_entry, &c), 9);
	assert_string_equal(c.name, "49999");

	/* An edit anywhere makes a leaf or two and the root anew. */
	for (i = 0; i < BIG; i += 9973) {
		objset_mark(&s);
		big(&s, i, -1, -1);
		assert_in_range(s.added, 1, 6);
		objset_mark(&s);
		big(&s, -1, i, -1);
		assert_in_range(s.added, 1, 5);
		objset_mark(&s);
		big(&s, -1, -1, i);
		assert_in_range(s.added, 1, 5);
		assert_in_range(s.bytes, 1, 120000);
	}
	objset_done(&s);
}

/* Long names and links make fewer entries a leaf, not longer leaves. */
static void
test_long_entries(void **state)
{
	struct tree_builder *tb = tree_builder_new();
	struct objset s = { .n = 0 };
	struct count c = { .n = 0 };
	struct tree_entry e;
	struct obj_ref ref;
	static char name[TREE_NAME_MAX + 1], target[TREE_TARGET_MAX + 1];
	char num[16];
	int i;

	(void)state;
	memset(name, 'n', TREE_NAME_MAX);
	memset(target, 't', TREE_TARGET_MAX);
	for (i = 0; i < 1000; i++) {
		snprintf(num, sizeof(num), "%03d", i);
		memcpy(name, num, 3);
		e = link_entry(name, target);
		add(tb, &e);
	}
	ref = finish(tb, &s);
	assert_in_range(s.longest, 4096, 32768 + 4373);
	assert_int_equal(tree_read(&ref, objset_get, &s, count_entry, &c), 0);
	assert_int_equal(c.n, 1000);
	objset_done(&s);
}

/* A leaf with one empty file, put as it is. */
static struct obj_ref
leaf(struct objset *s, const char *name)
{
	struct tree_builder *tb = tree_builder_new();
	struct tree_entry e = file_entry(name);

	add(tb, &e);
	return (finish(tb, s));
}

static struct obj_ref
join(struct objset *s, uint8_t level, const struct obj_ref *a, uint32_t na,
    const struct obj_ref *b, uint32_t nb)
{
	uint8_t buf[HEAD + 2 * PART];
	size_t n = put_head(buf, level, 2);

	n += put_part(buf + n, na, a->id);
	n += put_part(buf + n, nb, b->id);
	return (objset_force(s, OBJ_TREE, buf, n));
}

static int
read_errno(struct objset *s, const struct obj_ref *ref)
{
	struct count c = { .n = 0 };

	errno = 0;
	if (tree_read(ref, objset_get, s, count_entry, &c) != -1)
		return (0);
	return (errno);
}

/* The leaves and the root of the smallest tree of two levels. */
static struct obj_ref
two_leaves(struct objset *s, struct obj_ref *part, uint32_t *below)
{
	struct tree_builder *tb = tree_builder_new();
	struct tree_iter it;
	struct tree_entry e;
	struct obj_ref ref;
	uint8_t buf[OBJ_MAX];
	char name[16];
	size_t len = 0;
	int i;

	for (i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "%03d", i);
		e = file_entry(name);
		add(tb, &e);
	}
	ref = finish(tb, s);
	assert_int_equal(objset_get(s, &ref, buf, &len), 0);
	assert_int_equal(tree_iter_init(&it, buf, len), 0);
	assert_int_equal(it.level, 1);
	assert_true(it.left >= 2);
	assert_int_equal(tree_part_next(&it, &part[0], &below[0]), 1);
	assert_int_equal(tree_part_next(&it, &part[1], &below[1]), 1);
	return (ref);
}

static void
test_hostile(void **state)
{
	struct objset s = { .n = 0 };
	struct obj_ref part[2], ref, a = leaf(&s, "zz"), none = { .kind = 0 };
	uint32_t n[2];

	(void)state;
	two_leaves(&s, part, n);
	ref = join(&s, 1, &part[0], n[0], &a, 1);
	assert_int_equal(read_errno(&s, &ref), 0);
	/* Another count than announced. */
	ref = join(&s, 1, &part[0], n[0] + 1, &a, 1);
	assert_int_equal(read_errno(&s, &ref), EPROTO);
	ref = join(&s, 1, &part[0], n[0], &a, 2);
	assert_int_equal(read_errno(&s, &ref), EPROTO);
	/* Leaves out of order, and the same twice. */
	ref = join(&s, 1, &part[1], n[1], &part[0], n[0]);
	assert_int_equal(read_errno(&s, &ref), EPROTO);
	ref = join(&s, 1, &part[0], n[0], &part[0], n[0]);
	assert_int_equal(read_errno(&s, &ref), EPROTO);
	/* A leaf that ends where none does. */
	ref = leaf(&s, "a");
	ref = join(&s, 1, &ref, 1, &a, 1);
	assert_int_equal(read_errno(&s, &ref), EPROTO);
	/* Levels that do not descend one by one. */
	ref = join(&s, 2, &part[0], n[0], &a, 1);
	assert_int_equal(read_errno(&s, &ref), EPROTO);
	ref = join(&s, 1, &part[0], n[0], &a, 1);
	ref = join(&s, 1, &ref, n[0] + 1, &a, 1);
	assert_int_equal(read_errno(&s, &ref), EPROTO);
	/* A leaf of nothing in another tree. */
	ref = finish(tree_builder_new(), &s);
	ref = join(&s, 1, &ref, 1, &a, 1);
	assert_int_equal(read_errno(&s, &ref), EPROTO);
	/* Not a tree; not there. */
	assert_int_equal(read_errno(&s, &none), EPROTO);
	memset(a.id, 9, sizeof(a.id));
	assert_int_equal(read_errno(&s, &a), ENOENT);
	objset_done(&s);
}

/* Whatever is asked for, the same object comes: a cycle. */
static int
same_object(void *cookie, const struct obj_ref *ref, uint8_t *buf,
    size_t *len)
{
	int *asked = cookie;
	static const uint8_t id[OBJ_ID_LEN];

	(void)ref;
	*len = put_head(buf, TREE_LEVEL_MAX, 2);
	*len += put_part(buf + *len, 1, id);
	*len += put_part(buf + *len, 1, id);
	++*asked;
	return (0);
}

static void
test_cycle(void **state)
{
	struct obj_ref ref = { .kind = OBJ_TREE };
	struct count c = { .n = 0 };
	int asked = 0;

	(void)state;
	errno = 0;
	assert_int_equal(tree_read(&ref, same_object, &asked, count_entry,
	    &c), -1);
	assert_int_equal(errno, EPROTO);
	assert_int_equal(asked, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_big),
		cmocka_unit_test(test_long_entries),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_cycle),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
