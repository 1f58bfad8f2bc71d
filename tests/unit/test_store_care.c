#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/store_driver.h"
#include "worker-store/index.h"
#include "worker-store/index_job.h"
#include "worker-store/index_obj.h"

/*
 * Care of the store on its channel: who may ask, what is answered, and that
 * everything else goes on meanwhile.
 */
#define T1      7
#define FILES   200
#define LEN     4000
#define OBJECTS (FILES + 4)     /* a spec, and a tree of three */

static int
care_ask(struct drv *d, int fd, enum care_task task, struct drv_reply *r)
{
	struct store_msg m = { .op = STORE_CARE };

	m.u.care.task = (uint8_t)task;
	return (drv_call(d, fd, &m, -1, r));
}

static uint64_t
figure(const struct care *c, const char *name)
{
	uint32_t i;

	for (i = 0; i < c->nfigures; i++)
		if (strcmp(c->figures[i].name, name) == 0)
			return (c->figures[i].value);
	fail_msg("no figure %s", name);
	return (0);
}

static int
operator_bind(struct drv *d)
{
	return (drv_bind(d, 0, STORE_RIGHT_CARE));
}

static void
fill(struct drv *d, int t, struct obj_ref *root)
{
	struct drv_objs o = { 0 };
	struct obj_ref files[FILES], spec;
	struct drv_reply r;
	size_t i;

	for (i = 0; i < FILES; i++)
		files[i] = drv_chunk(&o, i, LEN);
	spec = drv_chunk(&o, 9999, 40);
	*root = drv_tree(&o, files, 10, LEN);
	assert_int_equal(drv_put(d, t, &o, &r), ERR_NONE);
	free(o.buf);
	assert_int_equal(drv_publish(d, T1, "aaaaaaaaaaaaaaaa", root, &spec,
	    &r), ERR_NONE);
}

static void
start(struct drv *d, int *t, int *op)
{
	struct obj_ref root;

	drv_init(d, "/tmp");
	assert_int_equal(drv_start(d), 0);
	*t = drv_bind(d, T1, DRV_ALL);
	fill(d, *t, &root);
	*op = operator_bind(d);
}

/* The channel of a tenant that asks is closed, and no other. */
static void
test_tenant_asks(void **state)
{
	static const enum care_task tasks[] = { CARE_STAT, CARE_GC,
	    CARE_VERIFY, CARE_REPAIR, CARE_BACKUP, CARE_NEXT };
	struct drv_reply r;
	struct drv d;
	size_t i;
	int t, op, t2;

	(void)state;
	start(&d, &t, &op);
	for (i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++) {
		t2 = drv_bind(&d, T1, DRV_ALL);
		assert_int_equal(care_ask(&d, t2, tasks[i], &r), -1);
		close(t2);
	}
	assert_true(drv_log_has(&d, "may not come on this channel"));
	assert_int_equal(care_ask(&d, op, CARE_STAT, &r), ERR_NONE);
	assert_int_equal(figure(&r.m.u.ok.care, "objects"), OBJECTS);
	close(t);
	close(op);
	drv_done(&d);
}

/* An operator reaches nothing of a tenant. */
static void
test_operator_asks(void **state)
{
	static const uint8_t ops[] = { STORE_JOB_LIST, STORE_JOB_GET,
	    STORE_CHECK, STORE_RECEIPT_GET, STORE_STAT, STORE_UNSETTLED };
	struct drv_reply r;
	struct store_msg m;
	struct drv d;
	size_t i;
	int t, op;

	(void)state;
	start(&d, &t, &op);
	for (i = 0; i < sizeof(ops); i++) {
		memset(&m, 0, sizeof(m));
		m.op = ops[i];
		if (m.op == STORE_CHECK) {
			m.u.check.root.kind = OBJ_TREE;
			m.u.check.root.id[0] = 1;
		} else if (m.op != STORE_JOB_LIST && m.op != STORE_STAT &&
		    m.op != STORE_UNSETTLED)
			memcpy(m.u.job.job, "aaaaaaaaaaaaaaaa", JOB_ID_LEN);
		assert_int_equal(drv_call(&d, op, &m, -1, &r), -1);
		close(op);
		op = operator_bind(&d);
	}
	close(t);
	close(op);
	drv_done(&d);
}

/* A right that goes with no other, and with no tenant. */
static void
test_bind(void **state)
{
	static const struct { uint32_t tenant, rights; } wrong[] = {
		{ T1, STORE_RIGHT_CARE },
		{ 0, STORE_RIGHT_CARE | STORE_RIGHT_GET },
		{ T1, STORE_RIGHT_CARE | DRV_ALL }
	};
	struct store_msg m;
	struct drv_reply r;
	struct drv d;
	int pair[2];
	size_t i;

	(void)state;
	drv_init(&d, "/tmp");
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(drv_start(&d), 0);
		memset(&m, 0, sizeof(m));
		m.op = STORE_BIND;
		m.u.bind.tenant_id = wrong[i].tenant;
		m.u.bind.rights = wrong[i].rights;
		assert_int_equal(chan_pair(pair), 0);
		assert_int_equal(drv_call(&d, d.fd, &m, pair[0], &r), -1);
		close(pair[1]);
		assert_int_equal(drv_wait(&d), 101);
	}
	drv_done(&d);
}

/* Ask until it is done; what was said in between is counted. */
static void
task_run(struct drv *d, int op, enum care_task task, struct drv_reply *r,
    int *steps)
{
	*steps = 0;
	assert_int_equal(care_ask(d, op, task, r), ERR_NONE);
	while (!r->m.u.ok.care.done) {
		if (r->m.u.ok.care.text[0] != '\0')
			print_message("# %s\n", r->m.u.ok.care.text);
		drv_reply_done(r);
		++*steps;
		assert_int_equal(care_ask(d, op, CARE_NEXT, r), ERR_NONE);
	}
}

/* One task at a time; the channel's end is the task's; out of turn is out. */
static void
test_turns(void **state)
{
	struct drv_reply r;
	struct drv d;
	int t, op, op2, steps;

	(void)state;
	start(&d, &t, &op);
	assert_int_equal(care_ask(&d, op, CARE_NEXT, &r), -1);
	close(op);
	op = operator_bind(&d);
	op2 = operator_bind(&d);
	assert_int_equal(care_ask(&d, op, CARE_VERIFY, &r), ERR_NONE);
	if (!r.m.u.ok.care.done) {
		assert_int_equal(care_ask(&d, op2, CARE_VERIFY, &r),
		    ERR_BUSY);
		assert_int_equal(care_ask(&d, op2, CARE_STAT, &r), ERR_NONE);
	}
	close(op);
	/* The end of the channel may take a moment to be seen. */
	while (care_ask(&d, op2, CARE_VERIFY, &r) == ERR_BUSY)
		continue;
	while (!r.m.u.ok.care.done)
		assert_int_equal(care_ask(&d, op2, CARE_NEXT, &r), ERR_NONE);
	task_run(&d, op2, CARE_VERIFY, &r, &steps);
	assert_int_equal(r.m.u.ok.care.bad, 0);
	assert_int_equal(figure(&r.m.u.ok.care, "objects"), OBJECTS);
	assert_int_equal(figure(&r.m.u.ok.care, "references"), 2);
	close(t);
	close(op2);
	drv_done(&d);
}

/* While a verification waits to be asked on, others are served as ever. */
static void
test_meanwhile(void **state)
{
	struct drv_objs o = { 0 };
	struct drv_reply r, v;
	struct drv d;
	uint64_t i;
	int t, op;

	(void)state;
	start(&d, &t, &op);
	assert_int_equal(care_ask(&d, op, CARE_VERIFY, &v), ERR_NONE);
	for (i = 0; !v.m.u.ok.care.done; i++) {
		(void)drv_chunk(&o, 50000 + i, 300);
		assert_int_equal(drv_put(&d, t, &o, &r), ERR_NONE);
		assert_int_equal(care_ask(&d, op, CARE_NEXT, &v), ERR_NONE);
	}
	assert_int_equal(v.m.u.ok.care.bad, 0);
	assert_int_equal(figure(&v.m.u.ok.care, "usage_wrong"), 0);
	free(o.buf);
	close(t);
	close(op);
	drv_done(&d);
}

/* Damage that nobody has read yet is found, named, and lasts. */
static void
test_damage(void **state)
{
	struct drv_objs o = { 0 };
	struct obj_ref ref;
	struct drv_reply r;
	uint8_t raw[OBJ_MAX], *buf, *p, b;
	char path[300];
	struct drv d;
	size_t len;
	int t, op, steps, fd;

	(void)state;
	start(&d, &t, &op);
	(void)snprintf(path, sizeof(path), "%s/packs/00000001.pack", d.dir);
	assert_int_equal(io_file_read(AT_FDCWD, path, 1 << 28, &buf, &len),
	    0);
	drv_bytes(3, raw, LEN);
	assert_non_null(p = memmem(buf, len, raw, LEN));
	assert_true((fd = open(path, O_RDWR | O_CLOEXEC)) != -1);
	b = p[5] ^ 1;
	assert_int_equal(io_pwrite(fd, &b, 1, p + 5 - buf), 0);
	task_run(&d, op, CARE_VERIFY, &r, &steps);
	assert_true(steps >= 1);
	assert_true(r.m.u.ok.care.bad > 0);
	assert_int_equal(figure(&r.m.u.ok.care, "objects_damaged"), 1);
	assert_int_equal(figure(&r.m.u.ok.care, "references_broken"), 1);
	/* It outlives the process. */
	close(t);
	close(op);
	drv_kill(&d);
	assert_int_equal(drv_start(&d), 0);
	t = drv_bind(&d, T1, DRV_ALL);
	op = operator_bind(&d);
	ref = drv_chunk(&o, 3, LEN);
	assert_int_equal(drv_get(&d, t, &ref, 1, &r), ERR_DAMAGED);
	assert_true(obj_ref_equal(&r.m.u.error.ref, &ref));
	/* The bytes are back: a repair gives it back. */
	b ^= 1;
	assert_int_equal(io_pwrite(fd, &b, 1, p + 5 - buf), 0);
	task_run(&d, op, CARE_REPAIR, &r, &steps);
	assert_int_equal(r.m.u.ok.care.bad, 0);
	assert_int_equal(figure(&r.m.u.ok.care, "mended"), 1);
	assert_int_equal(figure(&r.m.u.ok.care, "objects"), OBJECTS);
	assert_int_equal(drv_get(&d, t, &ref, 1, &r), ERR_NONE);
	drv_reply_done(&r);
	/* Damaged for good, it is mended by being put. */
	b ^= 1;
	assert_int_equal(io_pwrite(fd, &b, 1, p + 5 - buf), 0);
	assert_int_equal(drv_get(&d, t, &ref, 1, &r), ERR_DAMAGED);
	assert_int_equal(drv_put(&d, t, &o, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 1);
	assert_int_equal(drv_get(&d, t, &ref, 1, &r), ERR_NONE);
	drv_reply_done(&r);
	/* Committed a moment later, without anybody's asking. */
	do
		assert_int_equal(care_ask(&d, op, CARE_STAT, &r), ERR_NONE);
	while (figure(&r.m.u.ok.care, "quarantined") != 0);
	task_run(&d, op, CARE_VERIFY, &r, &steps);
	assert_int_equal(r.m.u.ok.care.bad, 0);
	assert_int_equal(figure(&r.m.u.ok.care, "quarantined"), 0);
	close(fd);
	free(buf);
	free(o.buf);
	close(t);
	close(op);
	drv_done(&d);
}

/* The index of a store that does not run, in a write transaction. */
static struct ix *
index_open(const struct drv *d, int *dirfd)
{
	char path[300];
	struct ix *ix;

	(void)snprintf(path, sizeof(path), "%s/index", d->dir);
	assert_true((*dirfd = open(d->dir, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) != -1);
	assert_non_null(ix = ix_open(*dirfd, path, IX_MAP_MIN));
	assert_int_equal(ix_write(ix, 1 << 20), 0);
	return (ix);
}

static void
index_close(struct ix *ix, int dirfd)
{
	assert_int_equal(ix_commit(ix), 0);
	ix_close(ix);
	close(dirfd);
}

/* What a tenant is said to use and does not: told, and corrected. */
static void
test_usage(void **state)
{
	struct ix_usage u;
	struct drv_reply r;
	struct drv d;
	struct ix *ix;
	int t, op, steps, dirfd;

	(void)state;
	start(&d, &t, &op);
	close(t);
	close(op);
	assert_int_equal(drv_wait(&d), 0);
	ix = index_open(&d, &dirfd);
	assert_int_equal(ix_usage_get(ix, T1, &u), 0);
	u.objects += 3;
	u.bytes -= 100;
	assert_int_equal(ix_usage_put(ix, T1, &u), 0);
	index_close(ix, dirfd);
	assert_int_equal(drv_start(&d), 0);
	op = operator_bind(&d);
	task_run(&d, op, CARE_VERIFY, &r, &steps);
	assert_int_equal(r.m.u.ok.care.bad, 1);
	assert_int_equal(figure(&r.m.u.ok.care, "usage_wrong"), 1);
	task_run(&d, op, CARE_REPAIR, &r, &steps);
	assert_int_equal(figure(&r.m.u.ok.care, "mended"), 1);
	task_run(&d, op, CARE_VERIFY, &r, &steps);
	assert_int_equal(r.m.u.ok.care.bad, 0);
	assert_int_equal(care_ask(&d, op, CARE_STAT, &r), ERR_NONE);
	assert_int_equal(figure(&r.m.u.ok.care, "objects"), OBJECTS);
	close(op);
	drv_done(&d);
}

/*
 * A tree that is marked complete and is not: found; and once it was repaired
 * nobody relies on the mark, so that the next upload mends it.
 */
static void
test_false_mark(void **state)
{
	struct drv_objs o = { 0 };
	struct obj_ref root, ref;
	struct drv_reply r;
	struct drv d;
	struct ix *ix;
	int t, op, steps, dirfd;

	(void)state;
	drv_init(&d, "/tmp");
	assert_int_equal(drv_start(&d), 0);
	t = drv_bind(&d, T1, DRV_ALL);
	fill(&d, t, &root);
	close(t);
	assert_int_equal(drv_wait(&d), 0);
	ref = drv_chunk(&o, 5, LEN);
	ix = index_open(&d, &dirfd);
	assert_int_equal(ix_object_del(ix, T1, &ref), 0);
	index_close(ix, dirfd);
	assert_int_equal(drv_start(&d), 0);
	t = drv_bind(&d, T1, DRV_ALL);
	op = operator_bind(&d);
	assert_int_equal(drv_check(&d, t, &root, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 0);
	task_run(&d, op, CARE_VERIFY, &r, &steps);
	assert_int_equal(figure(&r.m.u.ok.care, "objects_missing"), 1);
	task_run(&d, op, CARE_REPAIR, &r, &steps);
	assert_true(r.m.u.ok.care.bad > 0);
	assert_int_equal(drv_check(&d, t, &root, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 1);
	drv_reply_done(&r);
	assert_int_equal(drv_put(&d, t, &o, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 1);
	assert_int_equal(drv_check(&d, t, &root, &r), ERR_NONE);
	assert_int_equal(r.m.u.ok.objects, 0);
	do
		assert_int_equal(care_ask(&d, op, CARE_STAT, &r), ERR_NONE);
	while (figure(&r.m.u.ok.care, "quarantined") != 0);
	task_run(&d, op, CARE_VERIFY, &r, &steps);
	assert_int_equal(figure(&r.m.u.ok.care, "objects_missing"), 0);
	assert_int_equal(figure(&r.m.u.ok.care, "references_broken"), 0);
	free(o.buf);
	close(t);
	close(op);
	drv_done(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tenant_asks),
		cmocka_unit_test(test_operator_asks),
		cmocka_unit_test(test_bind),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_meanwhile),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_false_mark),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
