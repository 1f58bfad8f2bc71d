/*
 * Trees laid over others: what a job sees and what is collected must be as with
 * a tree that was laid out whole.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "objset.h"
#include "exec_stand.h"
#include "exec_tree.h"

#define SH(script) { "sh", "-c", (script), NULL }

/* A tree that is edited, in memory. */
struct node {
	char name[24];
	uint8_t kind;
	uint16_t mode;
	int64_t mtime;
	uint64_t content;       /* of a file or a link: what it says */
	struct node *kid;       /* of a directory, in no order */
	size_t n;
};

static uint64_t seed;
static unsigned int names;
static int kibibyte;             /* files are that long */

static size_t
pick(size_t n)
{

	return ((size_t)(rnd(&seed) % n));
}

static void
stamp(struct node *nd)
{

	nd->mtime = (int64_t)(rnd(&seed) % UINT64_C(2000000000000000000));
	if (pick(10) == 0)
		nd->mtime = -nd->mtime / 100;
}

static void
remode(struct node *nd)
{
	static const uint16_t files[] = { 0644, 0600, 0755, 0444, 0, 0777 };
	static const uint16_t dirs[] = { 0755, 0700, 0711, 0555, 0777 };

	nd->mode = nd->kind == TREE_DIR ? dirs[pick(5)] :
	    nd->kind == TREE_LINK ? 0777 : files[pick(6)];
}

static void
node_done(struct node *nd)
{

	while (nd->n > 0)
		node_done(&nd->kid[--nd->n]);
	free(nd->kid);
	nd->kid = NULL;
}

/* Make ${nd} something new of that kind; its name stays. */
static void
renew(struct node *nd, int kind)
{

	node_done(nd);
	nd->kind = (uint8_t)kind;
	nd->content = rnd(&seed);
	remode(nd);
	stamp(nd);
}

static struct node *
node_add(struct node *dir, int kind)
{
	struct node *nd;

	dir->kid = realloc(dir->kid, (dir->n + 1) * sizeof(*nd));
	assert_non_null(dir->kid);
	nd = &dir->kid[dir->n++];
	memset(nd, 0, sizeof(*nd));
	(void)snprintf(nd->name, sizeof(nd->name), "n%u", names++);
	renew(nd, kind);
	return (nd);
}

static void
node_drop(struct node *dir, size_t i)
{

	node_done(&dir->kid[i]);
	dir->kid[i] = dir->kid[--dir->n];
}

static int
kind_any(void)
{

	return (pick(6) == 0 ? TREE_LINK : TREE_FILE);
}

static void
populate(struct node *dir, int depth)
{
	size_t i, n = 3 + pick(5);

	for (i = 0; i < n; i++)
		(void)node_add(dir, kind_any());
	for (i = 0; depth > 0 && i < 3; i++)
		populate(node_add(dir, TREE_DIR), depth - 1);
}

static int
by_name(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return (strcmp(x->name, y->name));
}

/* Its objects, into the store. */
static struct obj_ref
node_put(struct objset *store, struct node *dir)
{
	struct tree_builder *tb = tree_builder_new();
	struct tree_entry e;
	struct obj_ref ref;
	char text[1025];
	size_t i;

	assert_non_null(tb);
	if (dir->n > 1)
		qsort(dir->kid, dir->n, sizeof(*dir->kid), by_name);
	for (i = 0; i < dir->n; i++) {
		memset(&e, 0, sizeof(e));
		e.kind = dir->kid[i].kind;
		e.mode = dir->kid[i].mode;
		e.mtime_ns = dir->kid[i].mtime;
		e.name = (const uint8_t *)dir->kid[i].name;
		e.name_len = (uint16_t)strlen(dir->kid[i].name);
		(void)snprintf(text, sizeof(text), "%0*" PRIx64,
		    kibibyte ? 1024 : 1, dir->kid[i].content);
		if (e.kind == TREE_DIR)
			e.ref = node_put(store, &dir->kid[i]);
		else
			e.size = strlen(text);
		if (e.kind == TREE_LINK) {
			e.target = (const uint8_t *)text;
			e.target_len = (uint16_t)e.size;
		} else if (e.kind == TREE_FILE)
			assert_int_equal(content_from_mem(text, e.size,
			    objset_put, store, &e.ref), 0);
		assert_int_equal(tree_builder_add(tb, &e), 0);
	}
	assert_int_equal(tree_builder_finish(tb, objset_put, store, &ref), 0);
	tree_builder_free(tb);
	return (ref);
}

/* Some directory with something in it; its path, too. */
static struct node *
somewhere(struct node *top, char *path, size_t size)
{
	struct node *d = top, *next;
	size_t tries, at = 0;

	path[0] = '\0';
	for (tries = 0; tries < 6 && d->n > 0; tries++) {
		next = &d->kid[pick(d->n)];
		if (next->kind != TREE_DIR || next->n == 0)
			continue;
		d = next;
		at += (size_t)snprintf(path + at, size - at, "%s/", d->name);
	}
	return (d->n > 0 ? d : NULL);
}

static void
edit(struct node *top)
{
	struct node *d, *nd, *to, moved;
	char path[512];
	size_t i;

	if ((d = somewhere(top, path, sizeof(path))) == NULL) {
		(void)node_add(top, TREE_FILE);
		return;
	}
	i = pick(d->n);
	nd = &d->kid[i];
	switch (pick(11)) {
	case 0:
	case 1:
		if (nd->kind != TREE_DIR)
			nd->content = rnd(&seed);
		/* FALLTHROUGH */
	case 2:
		stamp(nd);
		break;
	case 3:
		remode(nd);
		break;
	case 4:
		(void)node_add(d, kind_any());
		break;
	case 5:
		nd = node_add(d, TREE_DIR);
		if (pick(2))
			populate(nd, 0);
		break;
	case 6:
		node_drop(d, i);
		break;
	case 7:
		renew(nd, kind_any());
		break;
	case 8:
		renew(nd, TREE_DIR);
		if (pick(2))
			populate(nd, 0);
		break;
	case 9:         /* the same name again, later */
		if (nd->kind == TREE_DIR && nd->n > 0) {
			node_drop(nd, pick(nd->n));
			stamp(nd);
		} else
			node_drop(d, i);
		names -= names > 20 ? (unsigned int)pick(20) : 0;
		break;
	default:        /* a rename, maybe over what is there */
		moved = *nd;
		d->kid[i] = d->kid[--d->n];
		to = somewhere(top, path, sizeof(path));
		if (to == NULL)
			to = top;
		(void)snprintf(moved.name, sizeof(moved.name), "r%zu",
		    pick(6));
		for (i = 0; i < to->n; i++) {
			if (strcmp(to->kid[i].name, moved.name) == 0)
				node_drop(to, i--);
		}
		nd = node_add(to, TREE_FILE);
		*nd = moved;
	}
}

/* names -= may give a name twice. */
static void
unique(struct node *dir)
{
	size_t i, j;

	for (i = 0; i < dir->n; i++) {
		for (j = i + 1; j < dir->n; j++) {
			if (strcmp(dir->kid[i].name, dir->kid[j].name) == 0)
				node_drop(dir, j--);
		}
		unique(&dir->kid[i]);
	}
}

#define MANIFEST "export LC_ALL=C; find . -mindepth 1 -printf " \
	"'%p %y %m %T@ %l ' \\( -type d -printf '\\n' -o -printf '%s\\n' \\) " \
	"2>/dev/null | sort; find . -type f 2>/dev/null | sort | " \
	"xargs -r sha256sum 2>/dev/null; true; "
/* After changes of its own, times are those of the day. */
#define LISTING "find . -mindepth 1 -printf '%p %y %m %l\n' | sort; " \
	"find . -type f | sort | xargs -r sha256sum; true"

/* A job's own changes to such a tree. */
static void
scribble(struct node *top, char *script, size_t size)
{
	struct node *d;
	char path[512];
	size_t i, at, n = 1 + pick(6);
	const char *name;

	at = (size_t)snprintf(script, size, "%sexec 2>/dev/null; ", MANIFEST);
	for (i = 0; i < n; i++) {
		if ((d = somewhere(top, path, sizeof(path))) == NULL)
			break;
		name = d->kid[pick(d->n)].name;
		switch (pick(8)) {
		case 0:
			at += (size_t)snprintf(script + at, size - at,
			    "rm -rf %s%s; ", path, name);
			break;
		case 1:
			at += (size_t)snprintf(script + at, size - at,
			    "rm -rf %s%s; mkdir %s%s; echo y >%s%s/n1; ",
			    path, name, path, name, path, name);
			break;
		case 2:
			at += (size_t)snprintf(script + at, size - at,
			    "mv %s%s moved%zu; ", path, name, i);
			break;
		case 3:
			at += (size_t)snprintf(script + at, size - at,
			    "echo %zu >>%s%s; ", i, path, name);
			break;
		case 4:
			at += (size_t)snprintf(script + at, size - at,
			    "chmod 750 %s%s; ", path, name);
			break;
		case 5:
			at += (size_t)snprintf(script + at, size - at,
			    "echo new >%snew%zu; ", path, i);
			break;
		case 6:
			at += (size_t)snprintf(script + at, size - at,
			    "rm -rf %s%s; echo f >%s%s; ", path, name, path,
			    name);
			break;
		default:
			at += (size_t)snprintf(script + at, size - at,
			    "touch %s%s; ln -sfn x %s%s; ", path, name, path,
			    name);
		}
	}
	(void)snprintf(script + at, size - at, "%s", LISTING);
}

static struct stand la, wh;     /* with layers, and always whole */

static void
trees_path(const struct stand *s, const struct obj_ref *root,
    const char *rest, char *path, size_t size)
{
	char hex[2 * OBJ_ID_LEN + 1] = "";

	if (root != NULL)
		obj_id_hex(root->id, hex);
	(void)snprintf(path, size, "%s/%u/trees/%s%s", s->dir, s->tenant, hex,
	    rest);
}

/* How many directories make up a cached tree; 0: it is not there. */
static unsigned int
layers(const struct stand *s, const struct obj_ref *root)
{
	char path[256];
	unsigned int n = 1;
	uint8_t *buf;
	size_t len, i;

	trees_path(s, root, "/mark", path, sizeof(path));
	if (io_file_read(AT_FDCWD, path, 65536, &buf, &len) == -1)
		return (0);
	for (i = 0; i < len; i++)
		n += buf[i] == '+';
	free(buf);
	return (n);
}

static void
forget(const struct stand *s)
{
	char path[256];

	trees_path(s, NULL, "", path, sizeof(path));
	assert_int_equal(io_remove_tree(AT_FDCWD, path), 0);
}

static void
same_text(const char *what, char *a, char *b)
{

	if (strcmp(a, b) != 0)
		fail_msg("%s:\n%s\nnot\n%s", what, a, b);
}

static void
ended(const struct stand_out *o)
{

	if (o->result.err.code != ERR_NONE)
		print_message("%s\n", o->result.err.text);
	assert_int_equal(o->result.err.code, ERR_NONE);
	assert_int_equal(o->result.exit_code, 0);
	assert_int_equal(o->result.changes.complete, 1);
	assert_int_equal(o->gone, 0);
}

/* Run a script over the tree in both; returns how deep it lies. */
static unsigned int
both(struct node *top, const char *script)
{
	const char *const argv[] = SH(script);
	struct stand_job j = { .argv = argv };
	struct stand_out a, b;
	char *s, *t;

	j.root = node_put(&la.store, top);
	(void)node_put(&wh.store, top);
	stand_run(&la, &j, &a);
	forget(&wh);
	stand_run(&wh, &j, &b);
	ended(&a);
	ended(&b);
	assert_int_equal(layers(&wh, &j.root), 1);
	same_text(script, (char *)a.out[0], (char *)b.out[0]);
	s = ttree_changes(&la.store, &a.result.changes.list,
	    a.result.changes.digest);
	t = ttree_changes(&wh.store, &b.result.changes.list,
	    b.result.changes.digest);
	same_text(script, s, t);
	free(s);
	free(t);
	s = ttree_text(&la.store, &a.result.changes.root);
	t = ttree_text(&wh.store, &b.result.changes.root);
	same_text(script, s, t);
	free(s);
	free(t);
	stand_out_done(&a);
	stand_out_done(&b);
	return (layers(&la, &j.root));
}

static void
test_edits(void **state)
{
	struct node top = { .kind = TREE_DIR };
	char script[16384];
	unsigned int depth, deepest = 0, layered = 0;
	size_t i, n, run;

	(void)state;
	for (run = 0; run < 2; run++) {
		populate(&top, 3);
		for (i = 0; i < 20; i++) {
			scribble(&top, script, sizeof(script));
			depth = both(&top, script);
			assert_true(depth >= 1 && depth <= 16);
			layered += depth > 1;
			if (depth > deepest)
				deepest = depth;
			for (n = 1 + pick(4); n > 0; n--)
				edit(&top);
			unique(&top);
		}
		node_done(&top);
		forget(&la);
	}
	print_message("%u of 40 layered, up to %u\n", layered, deepest);
	assert_true(layered > 20);
}

/* Many files, one edited each time, so that layers pile up. */
static void
test_pile(void **state)
{
	struct node top = { .kind = TREE_DIR };
	unsigned int depth, deepest = 0, whole = 0;
	size_t i;

	(void)state;
	for (i = 0; i < 400; i++)
		(void)node_add(&top, TREE_FILE);
	for (i = 0; i < 400; i++)
		top.kid[i].mode = 0644;
	for (i = 0; i < 40; i++) {
		depth = both(&top, MANIFEST "rm n*2; echo x >new; ls -a");
		assert_true(depth >= 1 && depth <= 16);
		whole += depth == 1;
		if (depth > deepest)
			deepest = depth;
		top.kid[i].content = i;
		top.kid[i + 100].mode = 0600;
		top.kid[i + 200].mtime = 5;
		node_drop(&top, 399 - i);
	}
	print_message("%u whole, up to %u\n", whole, deepest);
	assert_true(whole <= 4 && deepest > 1);
	node_done(&top);
}

/* A directory of many parts is asked for in few requests, both sides of it. */
static void
test_requests(void **state)
{
	struct node top = { .kind = TREE_DIR };
	unsigned int before;
	size_t i;

	(void)state;
	for (i = 0; i < 400; i++)
		(void)node_add(&top, TREE_FILE);
	(void)both(&top, "true");
	top.kid[200].content++;
	before = la.gets;
	assert_true(both(&top, "true") > 1);
	assert_in_range(la.gets - before, 3, 16);
	node_done(&top);
}

/* The same file again and again needs no more than one layer. */
static void
test_again(void **state)
{
	struct node top = { .kind = TREE_DIR };
	struct node *d;
	size_t i;

	(void)state;
	for (i = 0; i < 5; i++) {
		d = node_add(&top, TREE_DIR);
		d->mode = 0755;
		populate(d, 1);
	}
	forget(&la);
	for (i = 0; i < 10; i++) {
		assert_int_equal(both(&top, MANIFEST), i == 0 ? 1 : 2);
		top.kid[0].kid[0].content++;
	}
	node_done(&top);
}

static const char first[] =
    "d 755 d\nf 644 d/x = x\nf 644 f = one\nl 777 l = f\nf 644 y = y\n"
    "f 644 z = z\n";
static const char second[] =
    "d 755 d\nf 644 d/x = x\nf 644 f = two\nl 777 l = f\nf 644 y = y\n"
    "f 644 z = z\n";

static void
run_one(struct stand *s, const struct obj_ref *root, const char *script,
    const char *says)
{
	const char *const argv[] = SH(script);
	struct stand_job j = { .argv = argv, .root = *root };
	struct stand_out o;

	stand_run(s, &j, &o);
	ended(&o);
	assert_string_equal((char *)o.out[0], says);
	stand_out_done(&o);
}

/* What a new tree would be laid over may be in the store no more. */
static void
test_base_unknown(void **state)
{
	struct obj_ref a, b;

	(void)state;
	forget(&la);
	a = ttree_make(&la.store, first);
	run_one(&la, &a, "cat f", "one");
	objset_done(&la.store);
	b = ttree_make(&la.store, second);
	run_one(&la, &b, "cat f", "two");
	assert_int_equal(layers(&la, &b), 1);
	/* With it, that was a layer. */
	forget(&la);
	a = ttree_make(&la.store, first);
	run_one(&la, &a, "cat f", "one");
	run_one(&la, &b, "cat f; rm f; echo 3 >f; cat f", "two3\n");
	assert_int_equal(layers(&la, &b), 2);
	run_one(&la, &b, "cat f d/x", "twox");
}

/* A base that was replaced behind our back is not believed. */
static void
test_base_replaced(void **state)
{
	struct obj_ref a = ttree_make(&la.store, first);
	struct obj_ref b = ttree_make(&la.store, second);
	char path[256];

	(void)state;
	forget(&la);
	run_one(&la, &a, "cat f", "one");
	run_one(&la, &b, "cat f", "two");
	assert_int_equal(layers(&la, &b), 2);
	trees_path(&la, &a, "", path, sizeof(path));
	assert_int_equal(io_remove_tree(AT_FDCWD, path), 0);
	run_one(&la, &b, "cat f z", "twoz");
	assert_int_equal(layers(&la, &b), 1);
	run_one(&la, &a, "cat f z", "onez");
	assert_int_equal(layers(&la, &a), 2);
	run_one(&la, &b, "cat f z", "twoz");
	assert_int_equal(layers(&la, &b), 1);
}

/* Write into a cached tree, and leave size and time as they were. */
static void
change(const struct obj_ref *root, const char *file, const char *text)
{
	struct timespec ts[2];
	char path[256], rest[64];
	struct stat st;
	int fd;

	(void)snprintf(rest, sizeof(rest), "/tree/%s", file);
	trees_path(&la, root, rest, path, sizeof(path));
	(void)usleep(20000);            /* a tick of the kernel's clock */
	assert_int_equal(stat(path, &st), 0);
	assert_true((fd = open(path, O_WRONLY)) != -1);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	ts[0] = st.st_atim;
	ts[1] = st.st_mtim;
	assert_int_equal(futimens(fd, ts), 0);
	close(fd);
}

/* Neither a tree nor one that others lie on is used when it was changed. */
static void
test_changed(void **state)
{
	struct obj_ref a = ttree_make(&la.store, first);
	struct obj_ref b = ttree_make(&la.store, second);
	char path[256];

	(void)state;
	forget(&la);
	run_one(&la, &a, "cat f d/x", "onex");
	change(&a, "d/x", "!");
	run_one(&la, &a, "cat f d/x", "onex");
	run_one(&la, &b, "cat f d/x", "twox");
	assert_int_equal(layers(&la, &b), 2);
	change(&a, "d/x", "!");
	run_one(&la, &b, "cat f d/x", "twox");
	assert_int_equal(layers(&la, &b), 1);
	run_one(&la, &a, "cat f d/x", "onex");
	change(&b, "f", "2");
	run_one(&la, &b, "cat f d/x", "twox");
	/* Nor is a new one laid over it. */
	run_one(&la, &a, "cat f d/x", "onex");
	assert_int_equal(layers(&la, &a), 2);
	change(&b, "z", "!");
	trees_path(&la, &a, "", path, sizeof(path));
	assert_int_equal(io_remove_tree(AT_FDCWD, path), 0);
	run_one(&la, &a, "cat f z", "onez");
	assert_int_equal(layers(&la, &a), 1);
	/* A file more is a change of its directory. */
	trees_path(&la, &a, "/tree/d/more", path, sizeof(path));
	(void)usleep(20000);
	assert_int_equal(mkdir(path, 0755), 0);
	run_one(&la, &a, "ls d", "x\n");
}

static void
age(const struct obj_ref *root, time_t when)
{
	struct timespec ts[2] = { { .tv_sec = when }, { .tv_sec = when } };
	char path[256];

	trees_path(&la, root, "/mark", path, sizeof(path));
	assert_int_equal(utimensat(AT_FDCWD, path, ts, 0), 0);
}

static void
others(unsigned int n)
{
	static unsigned int made;
	struct obj_ref ref;
	char text[64];

	for (; n > 0; n--) {
		(void)snprintf(text, sizeof(text), "f 644 f = %u\n", made++);
		ref = ttree_make(&la.store, text);
		run_one(&la, &ref, "true", "");
	}
}

/* A job that runs until it is told to end. */
struct hold {
	struct stand_job j;
	struct stand_out o;
	int ends[2], log;
};

static void
hold_begin(struct hold *h, const struct obj_ref *root)
{
	static const char *const argv[] = SH("trap 'cat f d/x; ls; exit 0' "
	    "TERM; while :; do sleep 0.01; done");

	memset(h, 0, sizeof(*h));
	h->j.argv = argv;
	h->j.root = *root;
	h->log = stand_submit(&la, &h->j, &h->o, h->ends);
	while (!h->o.started) {
		struct pollfd p[2] = { { .fd = h->ends[0], .events = POLLIN },
		    { .fd = h->ends[1], .events = POLLIN } };

		assert_true(poll(p, 2, 60000) > 0);
		if (p[0].revents)
			assert_int_equal(stand_job_msg(&la, &h->j, &h->o,
			    &h->ends[0]), 1);
		if (p[1].revents)
			assert_int_equal(stand_store(&la, h->ends[1]), 1);
	}
}

static void
hold_end(struct hold *h, const char *says)
{
	size_t left = 1;

	stand_say(h->ends[0], JOBC_SIGNAL, SIGTERM);
	while (h->ends[0] != -1 || h->ends[1] != -1) {
		struct pollfd p[2] = { { .fd = h->ends[0], .events = POLLIN },
		    { .fd = h->ends[1], .events = POLLIN } };

		assert_true(poll(p, 2, 60000) > 0);
		if (p[0].revents && !stand_job_msg(&la, &h->j, &h->o,
		    &h->ends[0]))
			io_close(&h->ends[0]);
		if (p[1].revents && !stand_store(&la, h->ends[1]))
			io_close(&h->ends[1]);
	}
	while (left > 0)
		stand_gone(&la, &h->o, 1, &left);
	stand_log_read(h->log, &h->o);
	close(h->log);
	ended(&h->o);
	assert_string_equal((char *)h->o.out[0], says);
	stand_out_done(&h->o);
}

/* A tree in use is not removed, nor what it lies on. */
static void
test_in_use(void **state)
{
	struct obj_ref a = ttree_make(&la.store, first);
	struct obj_ref b = ttree_make(&la.store, second);
	struct hold h;

	(void)state;
	forget(&la);
	run_one(&la, &a, "true", "");
	hold_begin(&h, &b);
	assert_int_equal(layers(&la, &b), 2);
	others(62);
	age(&a, 1);
	age(&b, 2);
	others(4);
	assert_int_equal(layers(&la, &a), 1);
	assert_int_equal(layers(&la, &b), 2);
	hold_end(&h, "twoxd\nf\nl\ny\nz\n");
	/* Now it goes, and only then what it lay on. */
	age(&a, 1);
	age(&b, 2);
	others(1);
	assert_int_equal(layers(&la, &b), 0);
	others(1);
	assert_int_equal(layers(&la, &a), 0);
}

static int
unfinished(void)
{
	char path[256];
	struct dirent *e;
	int n = 0;
	DIR *d;

	trees_path(&la, NULL, "", path, sizeof(path));
	/* A keeper may be killed before it made the directory. */
	if ((d = opendir(path)) == NULL && errno == ENOENT)
		return (0);
	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		n += e->d_name[0] == '.' && strlen(e->d_name) > 2;
	closedir(d);
	return (n);
}

/* What was changed while a job has it is there until that has ended. */
static void
test_changed_in_use(void **state)
{
	struct obj_ref a = ttree_make(&la.store, first);
	struct obj_ref b = ttree_make(&la.store, second);
	struct hold h;

	(void)state;
	forget(&la);
	run_one(&la, &a, "true", "");
	hold_begin(&h, &b);
	assert_int_equal(layers(&la, &b), 2);
	change(&a, "d/x", "!");
	run_one(&la, &b, "cat f d/x", "twox");
	run_one(&la, &a, "cat f d/x", "onex");
	others(1);
	assert_int_equal(unfinished(), 2);
	hold_end(&h, "two!d\nf\nl\ny\nz\n");
	/* The layer first, whose names kept the other. */
	others(2);
	assert_int_equal(unfinished(), 0);
	run_one(&la, &b, "cat f d/x", "twox");
}

/* Kill the keeper at its ${at}-th GET; returns whether it lived that long. */
static int
kill_one(struct node *top, unsigned int at)
{
	static const char *const argv[] = SH("true");
	struct stand_job j = { .argv = argv };
	struct stand_out o;
	int killed;

	j.root = node_put(&la.store, top);
	la.kill_at = at;
	stand_run(&la, &j, &o);
	killed = la.kill_at == 0;
	la.kill_at = 0;
	/* The last GET may have been answered before it died. */
	if (o.gone != 0 && !o.started)
		assert_true(layers(&la, &j.root) == 0 ||
		    unfinished() == 0);
	stand_out_done(&o);
	return (killed);
}

/* A keeper that dies in the middle leaves nothing that looks whole. */
static void
test_killed(void **state)
{
	struct node top = { .kind = TREE_DIR };
	unsigned int at, i, layered = 0;
	int left = 0;

	(void)state;
	for (i = 0; i < 120; i++)
		(void)node_add(&top, TREE_FILE);
	forget(&la);
	for (at = 1; at < 60 && kill_one(&top, at); at++) {
		left += unfinished();
		assert_true(both(&top, MANIFEST) == 1);
		forget(&la);
	}
	assert_true(both(&top, MANIFEST) == 1);
	for (i = 0, at = 1; i < 25; i++)
		(void)node_add(&top, TREE_FILE);
	for (; at < 60 && kill_one(&top, at); at += 4) {
		left += unfinished();
		layered += both(&top, MANIFEST) > 1;
		for (i = 0; i < 25; i++)
			top.kid[i].content++;
	}
	print_message("%d unfinished\n", left);
	assert_true(left > 0 && layered > 0);
	node_done(&top);
}

/* The start of a job over 10,000 files, of which one was edited. */
static void
test_time(void **state)
{
	static const char *const argv[] = { "true", NULL };
	struct node top = { .kind = TREE_DIR };
	struct stand_job j = { .argv = argv };
	struct stand_out o;
	struct node *d;
	size_t i, k;

	(void)state;
	kibibyte = 1;
	for (i = 0; i < 100; i++) {
		d = node_add(&top, TREE_DIR);
		for (k = 0; k < 100; k++)
			(void)node_add(d, TREE_FILE);
	}
	for (i = 0; i < 6; i++) {
		j.root = node_put(&la.store, &top);
		stand_run(&la, &j, &o);
		ended(&o);
		print_message("started after %" PRIu64 " us, of %u layers\n",
		    o.us_started - o.us_run, layers(&la, &j.root));
		stand_out_done(&o);
		top.kid[i * 7].kid[i].content++;
		top.kid[i * 7].kid[i].mtime++;
	}
	kibibyte = 0;
	node_done(&top);
}

static int
up(void **state)
{
	const char *s = getenv("ERRAND_SEED");

	(void)state;
	seed = s == NULL ? (uint64_t)time(NULL) | 1 : strtoull(s, NULL, 0);
	print_message("ERRAND_SEED=%" PRIu64 "\n", seed);
	stand_start(&la, 0);
	stand_start(&wh, 0);
	return (0);
}

static int
down(void **state)
{

	(void)state;
	return (stand_stop(&la) != 0 || stand_stop(&wh) != 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edits),
		cmocka_unit_test(test_pile),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_base_unknown),
		cmocka_unit_test(test_base_replaced),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_changed_in_use),
		cmocka_unit_test(test_in_use),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_time),
	};

	if (geteuid() != 0) {
		puts("1..0 # SKIP sandboxes of tenants need root");
		return (77);
	}
	return (cmocka_run_group_tests(tests, up, down));
}
