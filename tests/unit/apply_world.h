/*
 * A tree in three versions, in memory and on disk, and a host that is none:
 * objects come from scans of the directories.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "client/apply.h"
#include "client/scan.h"
#include "lib/change.h"
#include "lib/content.h"
#include "lib/io.h"
#include "lib/tree.h"
#include "proto/limits.h"

#define NODES   64
#define TEXT    4096

struct node {
	char path[64];
	uint8_t kind;
	uint16_t mode;
	char text[TEXT];        /* or target */
	size_t len;
};

struct model {
	struct node v[NODES];
	size_t n;
};

static uint64_t rng_state;

static struct node *
node_at(struct model *m, const char *path)
{
	size_t i;

	for (i = 0; i < m->n; i++)
		if (strcmp(m->v[i].path, path) == 0)
			return (&m->v[i]);
	return (NULL);
}

static int
node_below(const struct node *d, const struct node *n)
{
	size_t len = strlen(d->path);

	return (strncmp(n->path, d->path, len) == 0 && n->path[len] == '/');
}

static int
node_cmp(const void *a, const void *b)
{
	return (strcmp(((const struct node *)a)->path,
	    ((const struct node *)b)->path));
}

static void
model_sort(struct model *m)
{
	if (m->n > 1)
		qsort(m->v, m->n, sizeof(m->v[0]), node_cmp);
}

static struct node *
model_add(struct model *m, const char *path, uint8_t kind, uint16_t mode)
{
	struct node *n;

	if (m->n == NODES || node_at(m, path) != NULL)
		return (NULL);
	n = &m->v[m->n++];
	memset(n, 0, sizeof(*n));
	snprintf(n->path, sizeof(n->path), "%s", path);
	n->kind = kind;
	n->mode = mode;
	return (n);
}

__attribute__((unused)) static void
model_del(struct model *m, const char *path)
{
	struct node d;
	size_t i, k = 0;

	snprintf(d.path, sizeof(d.path), "%s", path);
	for (i = 0; i < m->n; i++)
		if (strcmp(m->v[i].path, d.path) != 0 &&
		    !node_below(&d, &m->v[i])) {
			if (k != i)
				m->v[k] = m->v[i];
			k++;
		}
	m->n = k;
}

__attribute__((unused)) static int
node_same(const struct node *a, const struct node *b)
{
	if (a == NULL || b == NULL)
		return (a == b);
	return (a->kind == b->kind && (a->kind == TREE_LINK ||
	    a->mode == b->mode) && (a->kind == TREE_DIR || (a->len == b->len &&
	    memcmp(a->text, b->text, a->len) == 0)));
}

/* --- on disk --- */

static char world[64];          /* base, ours, theirs, state are in it */

static void
model_write(const struct model *m, const char *name)
{
	char root[128], p[256];
	size_t i;
	int fd, dir;

	assert_true((dir = open(world, O_RDONLY | O_DIRECTORY)) != -1);
	assert_int_equal(io_remove_tree(dir, name), 0);
	close(dir);
	snprintf(root, sizeof(root), "%s/%s", world, name);
	assert_int_equal(mkdir(root, 0755), 0);
	for (i = 0; i < m->n; i++) {
		const struct node *n = &m->v[i];

		snprintf(p, sizeof(p), "%s/%s", root, n->path);
		if (n->kind == TREE_DIR)
			assert_int_equal(mkdir(p, 0700), 0);
		else if (n->kind == TREE_LINK)
			assert_int_equal(symlink(n->text, p), 0);
		else {
			fd = open(p, O_WRONLY | O_CREAT | O_EXCL, 0600);
			assert_true(fd != -1);
			assert_int_equal(io_write(fd, n->text, n->len), 0);
			close(fd);
		}
	}
	for (i = m->n; i-- > 0;)
		if (m->v[i].kind != TREE_LINK) {
			snprintf(p, sizeof(p), "%s/%s", root, m->v[i].path);
			assert_int_equal(chmod(p, m->v[i].mode), 0);
		}
}

static struct model *reading;
static size_t reading_root;

static int
read_one(const char *p, const struct stat *st)
{
	struct node *n;
	ssize_t k;
	int fd;

	n = model_add(reading, p + reading_root, S_ISREG(st->st_mode) ?
	    TREE_FILE : S_ISDIR(st->st_mode) ? TREE_DIR : TREE_LINK,
	    st->st_mode & 0777);
	assert_non_null(n);
	if (n->kind == TREE_LINK) {
		k = readlink(p, n->text, TEXT - 1);
		assert_true(k > 0);
		n->len = (size_t)k;
	} else if (n->kind == TREE_FILE) {
		assert_true((fd = open(p, O_RDONLY)) != -1);
		k = read(fd, n->text, TEXT);
		assert_true(k >= 0);
		n->len = (size_t)k;
		close(fd);
	}
	return (0);
}

static void
read_dir(const char *p)
{
	const struct dirent *de;
	char sub[512];
	struct stat st;
	DIR *d;

	assert_non_null(d = opendir(p));
	while ((de = readdir(d)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0)
			continue;
		snprintf(sub, sizeof(sub), "%.250s/%s", p, de->d_name);
		assert_int_equal(lstat(sub, &st), 0);
		read_one(sub, &st);
		if (S_ISDIR(st.st_mode))
			read_dir(sub);
	}
	closedir(d);
}

static void
model_read(struct model *m, const char *name)
{
	char root[128];

	snprintf(root, sizeof(root), "%s/%s", world, name);
	m->n = 0;
	reading = m;
	reading_root = strlen(root) + 1;
	read_dir(root);
	model_sort(m);
}

/* --- the host that is none --- */

static struct scan *scans[2];

static struct scan *
scan_of(const char *name)
{
	static char root[128];
	struct scan_opts so = { .root = root };
	char why[LIMIT_TEXT];
	struct scan *s;
	int fd;

	snprintf(root, sizeof(root), "%s/%s", world, name);
	assert_true((fd = open(root, O_RDONLY | O_DIRECTORY)) != -1);
	assert_non_null(so.sel = select_open(fd, root, SELECT_ALL, why));
	close(fd);
	assert_non_null(s = scan_run(&so, why));
	select_free(so.sel);
	return (s);
}

struct got {
	uint8_t *buf;
	size_t *len;
};

static int
give(void *cookie, const struct obj_ref *ref, const void *p, size_t len)
{
	struct got *g = cookie;

	(void)ref;
	memcpy(g->buf, p, len);
	*g->len = len;
	return (0);
}

static unsigned fetched;

static int
world_fetch(const struct obj_ref *ref, uint8_t *buf, size_t *len)
{
	struct got g = { buf, len };

	fetched++;
	if (scan_object(scans[0], ref, give, &g) == 0 ||
	    scan_object(scans[1], ref, give, &g) == 0)
		return (0);
	errno = EIO;
	return (-1);
}

/* --- what the job is said to have done --- */

static void
add_change(struct change_buf *cb, uint8_t op, const struct node *n,
    const char *path, uint16_t mode)
{
	struct change c = { .op = op, .path = (const uint8_t *)path,
	    .path_len = (uint16_t)strlen(path) };

	if (n != NULL) {
		c.kind = n->kind;
		c.mode = n->kind == TREE_LINK ? 0777 : mode;
		c.mtime_ns = 1000;
		if (n->kind == TREE_FILE) {
			c.size = n->len;
			assert_int_equal(content_from_mem(n->text, n->len,
			    NULL, NULL, &c.ref), 0);
		} else if (n->kind == TREE_LINK) {
			c.size = c.target_len = (uint16_t)n->len;
			c.target = (const uint8_t *)n->text;
		}
	}
	assert_int_equal(change_buf_add(cb, &c), 0);
}

static void
compare(struct change_buf *cb, struct model *base, struct model *theirs)
{
	static char paths[2 * NODES][64];
	struct node *b, *t;
	size_t n = 0, i;

	for (i = 0; i < base->n; i++)
		memcpy(paths[n++], base->v[i].path, 64);
	for (i = 0; i < theirs->n; i++)
		if (node_at(base, theirs->v[i].path) == NULL)
			memcpy(paths[n++], theirs->v[i].path, 64);
	qsort(paths, n, sizeof(paths[0]),
	    (int (*)(const void *, const void *))strcmp);
	assert_int_equal(change_buf_begin(cb), 0);
	for (i = 0; i < n; i++) {
		b = node_at(base, paths[i]);
		t = node_at(theirs, paths[i]);
		if (node_same(b, t))
			continue;
		if (b == NULL)
			add_change(cb, CHANGE_CREATE, t, paths[i], t->mode);
		else if (t == NULL)
			add_change(cb, CHANGE_DELETE, NULL, paths[i], 0);
		else if (b->kind != t->kind)
			add_change(cb, CHANGE_TYPE, t, paths[i], t->mode);
		else if (t->kind == TREE_DIR || (b->len == t->len &&
		    memcmp(b->text, t->text, b->len) == 0))
			add_change(cb, CHANGE_MODE, t, paths[i], t->mode);
		else
			add_change(cb, CHANGE_MODIFY, t, paths[i], t->mode);
	}
}

/* Apply base -> theirs to ours, all of which are on disk but theirs. */
static int
world_apply(struct model *base, struct model *theirs, int conflicts,
    struct apply_sum *sum)
{
	static char root[128];
	struct session s = { .quiet = 1 };
	struct change_buf cb = { 0 };
	struct job_record *rec;
	struct apply_opts o = { .s = &s, .root = root,
	    .conflicts = conflicts };
	int rc;

	assert_non_null(rec = calloc(1, sizeof(*rec)));
	memset(rec->id, 'a', JOB_ID_LEN);
	model_write(base, "base");
	model_write(theirs, "theirs");
	scans[0] = scan_of("base");
	scans[1] = scan_of("theirs");
	rec->submit.root = scan_sum(scans[0])->root;
	compare(&cb, base, theirs);
	snprintf(root, sizeof(root), "%s/ours", world);
	o.rec = rec;
	o.list = cb.p;
	o.len = cb.len;
	memset(sum, 0, sizeof(*sum));
	rc = apply_run(&o, sum);
	scan_free(scans[0]);
	scan_free(scans[1]);
	free(cb.p);
	free(rec);
	return (rc);
}

static int
world_open(void **state)
{
	const char *seed = getenv("ERRAND_SEED");

	(void)state;
	snprintf(world, sizeof(world), "/tmp/errand-apply.XXXXXX");
	if (sodium_init() == -1 || mkdtemp(world) == NULL)
		return (-1);
	setenv("XDG_STATE_HOME", world, 1);
	if (seed != NULL)
		rng_state = strtoull(seed, NULL, 10);
	else
		randombytes_buf(&rng_state, 4);
	rng_state &= 0xffffffff;
	printf("# seed %llu (ERRAND_SEED)\n", (unsigned long long)rng_state);
	umask(022);
	return (0);
}

static int
world_close(void **state)
{
	(void)state;
	return (io_remove_tree(AT_FDCWD, world));
}
