/* worker-snapshot/joblist.c and pend.c: the parts without I/O. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/le.h"
#include "lib/memfd.h"
#include "worker-snapshot/joblist.h"
#include "worker-snapshot/pend.h"

static const char *const ids[] = {
	"abcdefghijklmnop", "abcdefghijklmno2", "zyxwvutsrqponmlk",
};

static uint8_t out[4 * (4 + LIMIT_RECORD)];

/* A list of the ids; its length. */
static size_t
list_make(uint32_t n)
{
	struct job_record rec;
	size_t at = 0;
	uint32_t i;
	ssize_t len;

	for (i = 0; i < n; i++) {
		memset(&rec, 0, sizeof(rec));
		strcpy(rec.id, ids[i]);
		rec.state = JOB_QUEUED;
		rec.submit.spec_len = i;
		len = job_record_pack(&rec, out + at + 4, LIMIT_RECORD);
		assert_true(len > 0);
		le_put32(out + at, (uint32_t)len);
		at += 4 + (size_t)len;
	}
	return (at);
}

static int
take(struct joblist *l, size_t len, uint32_t n)
{
	struct store_msg m;
	int fd = memfd_make("list", out, len), rc;

	memset(&m, 0, sizeof(m));
	m.u.ok.objects = n;
	rc = joblist_take(l, &m, fd);
	close(fd);
	return (rc);
}

static void
test_take(void **state)
{
	struct joblist l;
	struct job_record rec;
	struct store_msg m;
	size_t len = list_make(3), cut;

	(void)state;
	assert_int_equal(take(&l, len, 3), 0);
	assert_int_equal(l.n, 3);
	assert_string_equal(l.items[2].id, ids[2]);
	assert_int_equal(l.items[2].spec_len, 2);
	assert_int_equal(joblist_record(&l.items[1], &rec), 0);
	assert_string_equal(rec.id, ids[1]);
	joblist_done(&l);
	/* every truncation, and wrong counts */
	for (cut = 0; cut < len; cut++)
		assert_int_equal(take(&l, cut, 3), -1);
	assert_int_equal(take(&l, len, 2), -1);
	assert_int_equal(take(&l, len, 4), -1);
	assert_int_equal(take(&l, len, LIMIT_LIST_JOBS + 1), -1);
	le_put32(out, 0xffffffff);
	assert_int_equal(take(&l, len, 3), -1);
	/* no descriptor where there should be one, and none needed */
	memset(&m, 0, sizeof(m));
	m.u.ok.objects = 1;
	assert_int_equal(joblist_take(&l, &m, -1), -1);
	m.u.ok.objects = 0;
	assert_int_equal(joblist_take(&l, &m, -1), 0);
	assert_int_equal(l.n, 0);
	joblist_done(&l);
}

static void
test_prefix(void **state)
{
	struct joblist l;
	size_t at = 99;

	(void)state;
	assert_int_equal(take(&l, list_make(3), 3), 0);
	assert_int_equal(joblist_prefix(&l, "zyxw", &at), 1);
	assert_int_equal(at, 2);
	assert_int_equal(joblist_prefix(&l, "zyx", &at), 0);
	assert_int_equal(joblist_prefix(&l, "", &at), 0);
	assert_int_equal(joblist_prefix(&l, "abcd", &at), 2);
	assert_int_equal(joblist_prefix(&l, "abcdefghijklmno2", &at), 1);
	assert_int_equal(at, 1);
	assert_int_equal(joblist_prefix(&l, "abcdefghijklmno22", &at), 0);
	assert_int_equal(joblist_prefix(&l, "zyxwv.", &at), 0);
	joblist_done(&l);
}

static void
test_overlay(void **state)
{
	struct job_record rec;
	struct snap_live live[2];

	(void)state;
	memset(&rec, 0, sizeof(rec));
	memset(live, 0, sizeof(live));
	strcpy(rec.id, ids[0]);
	strcpy(live[0].job, ids[1]);
	strcpy(live[1].job, ids[0]);
	rec.state = JOB_QUEUED;
	rec.times.submitted = 3;
	live[1].state = JOB_RUNNING;
	live[1].times.started = 9;
	joblist_overlay(&rec, live, 2);
	assert_int_equal(rec.state, JOB_RUNNING);
	assert_int_equal(rec.times.started, 9);
	assert_int_equal(rec.times.submitted, 3);
	/* unknown to the supervisor: as it is */
	joblist_overlay(&rec, live, 1);
	assert_int_equal(rec.state, JOB_RUNNING);
	/* what has ended is newer than what was live */
	rec.state = JOB_EXITED;
	joblist_overlay(&rec, live, 2);
	assert_int_equal(rec.state, JOB_EXITED);
}

static void
nothing(void)
{
}

static void
test_pend(void **state)
{
	struct pend_table *t = calloc(1, sizeof(*t));
	struct pend *p, was;
	int a, b;
	size_t i;

	(void)state;
	p = pend_add(t, 5, nothing, &a);
	assert_non_null(p);
	assert_ptr_equal(pend_find(t, p->id), p);
	assert_null(pend_find(t, 0));
	assert_null(pend_find(t, 77));
	assert_non_null(pend_add(t, 5, nothing, &b));
	assert_int_equal(pend_count(t, 5), 2);
	pend_cancel(t, &a);
	assert_null(p->fn);
	assert_int_equal(pend_count(t, 5), 2);
	was = pend_take(t, p);
	assert_int_equal(was.op, 5);
	assert_null(pend_find(t, was.id));
	for (i = t->used; i < PEND_MAX; i++)
		assert_non_null(pend_add(t, 1, nothing, &a));
	assert_null(pend_add(t, 1, nothing, &a));
	assert_int_equal(t->used, PEND_MAX);
	free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_overlay),
		cmocka_unit_test(test_pend),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
