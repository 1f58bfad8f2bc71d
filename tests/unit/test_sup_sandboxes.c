#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <event2/event.h>

#include "lib/log.h"
#include "supervisor/config.h"
#include "supervisor/exec_dispatch.h"
#include "supervisor/jobs.h"
#include "supervisor/sandbox_pool.h"
#include "supervisor/sup.h"
#include "supervisor/tenants.h"

/*
 * The table of sandboxes that are ready, with sandboxes played by the test: how
 * many are made, when, for whom, and who gets them.
 */

static struct sup sup;
static struct config cfg;
static struct tenant tenants[3];
static struct job job;
static uint64_t now;
static int exec_ready, refuse;
static unsigned int orders;             /* sandbox_new was called */
static struct sandbox *last;            /* what it gave */

uint64_t
__wrap_io_mono_us(void)
{
	return (now);
}

int
__wrap_exec_link_ready(const struct exec_link *x, const char **why)
{
	(void)x;
	*why = NULL;
	return (exec_ready);
}

static int disk_here;
static unsigned int disks_asked;
static void (*disk_fn)(void *, int);
static void *disk_cookie;

int
__wrap_disk_known(const struct disk_images *di, uint64_t bytes)
{
	(void)di;
	(void)bytes;
	return (disk_here);
}

struct disk_wait *
__wrap_disk_await(struct disk_images *di, uint64_t bytes,
    void (*fn)(void *, int), void *cookie)
{
	(void)di;
	(void)bytes;
	disks_asked++;
	disk_fn = fn;
	disk_cookie = cookie;
	return ((struct disk_wait *)(void *)&disks_asked);
}

void
__wrap_disk_unwait(struct disk_wait *w)
{
	(void)w;
}

static struct sandbox *
box_new(const struct sandbox_key *key)
{
	struct sandbox *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->sup = &sup;
	b->key = *key;
	b->phase = KEEPER_NEW;
	b->asked_us = now;
	sandbox_pool_add(sup.sandboxes, b);
	return (b);
}

struct sandbox *
__wrap_sandbox_new(struct sup *s, const struct sandbox_key *key,
    const struct job_limits *l, const char **what)
{
	(void)s;
	(void)l;
	orders++;
	*what = "it";
	last = refuse ? NULL : box_new(key);
	return (last);
}

void
__wrap_sandbox_free(struct sandbox *b)
{
	sandbox_pool_remove(b->sup->sandboxes, b);
	free(b);
}

void
__wrap_sandbox_close(struct sandbox *b)
{
	(void)b;
}

void
__wrap_sandbox_kill(struct sandbox *b)
{
	(void)b;
}

void
__wrap_sandbox_orphan(const struct sandbox *b)
{
	(void)b;
}

void
__wrap_sandbox_lost(struct sandbox *b, const char *why)
{
	sandbox_pool_failed(b, why);
}

static const struct job_limits limits = { .memory = 1000 };

static struct sandbox_key
key(int t, int as_root)
{
	struct sandbox_key k = { .tenant = &tenants[t],
	    .as_root = (uint8_t)as_root };

	return (k);
}

static struct sandbox *
claim(int t, int as_root)
{
	struct sandbox_key k = key(t, as_root);

	return (sandbox_pool_claim(sup.sandboxes, &k, &limits));
}

/* A job's, when there was none: as sandbox_take does. */
static void
cold(int t)
{
	struct sandbox_key k = key(t, 0);
	struct sandbox *b;

	assert_null(claim(t, 0));
	b = box_new(&k);
	b->job = &job;
	b->phase = KEEPER_READY;
	__wrap_sandbox_free(b);
}

static struct admin_status
look(void)
{
	struct admin_status s;

	memset(&s, 0, sizeof(s));
	sandbox_pool_show(sup.sandboxes, &s);
	return (s);
}

static void
ready(void)
{
	assert_non_null(last);
	last->phase = KEEPER_READY;
	sandbox_pool_ready(last);
}

/* Time passes, and what is due happens. */
static void
pass(uint64_t us)
{
	now += us;
	(void)event_base_loop(sup.base, EVLOOP_ONCE);
}

/* All that is wanted is made. */
static unsigned int
fill(void)
{
	unsigned int n = 0;

	pass(1000000);
	while (look().sandboxes_making > 0) {
		assert_int_equal(look().sandboxes_making, 1);
		ready();
		n++;
	}
	return (n);
}

static int
setup(void **state)
{
	(void)state;
	memset(tenants, 0, sizeof(tenants));
	memset(&job, 0, sizeof(job));
	cfg.idle_sandboxes = 8;
	cfg.tenant_sandboxes = 6;
	sup.cfg = &cfg;
	now = 1000000000;
	exec_ready = 1;
	refuse = 0;
	orders = disks_asked = 0;
	disk_here = 0;
	last = NULL;
	sup.sandboxes = sandbox_pool_new(&sup);
	return (sup.sandboxes == NULL ? -1 : 0);
}

static int
teardown(void **state)
{
	(void)state;
	sandbox_pool_free(sup.sandboxes);
	return (0);
}

static void
test_claim(void **state)
{
	struct sandbox *b;

	(void)state;
	cold(0);
	assert_int_equal(orders, 0);            /* not at once */
	assert_int_equal(fill(), 1);
	b = last;
	assert_int_equal(look().sandboxes, 1);
	assert_ptr_equal(claim(0, 0), b);
	b->job = &job;
	assert_int_equal(look().sandboxes, 0);
	assert_int_equal(look().sandboxes_warm, 1);
	/* It is that job's: nobody else gets it. */
	assert_null(claim(0, 0));
	__wrap_sandbox_free(b);
}

static void
test_kinds(void **state)
{
	(void)state;
	cold(0);
	assert_int_equal(fill(), 1);
	assert_null(claim(1, 0));
	assert_null(claim(0, 1));
	assert_int_equal(look().sandboxes, 1);
	assert_int_equal(look().sandboxes_warm, 0);
}

/* None is made while jobs start and end, but not for ever. */
static void
test_stir(void **state)
{
	int i;

	(void)state;
	sandbox_pool_stir(sup.sandboxes);       /* nothing is wanted */
	cold(0);
	now += 9000;
	sandbox_pool_stir(sup.sandboxes);
	pass(9000);
	assert_int_equal(orders, 0);
	pass(2000);
	assert_int_equal(orders, 1);
	ready();
	claim(0, 0)->job = &job;
	for (i = 0; i < 4; i++) {
		sandbox_pool_stir(sup.sandboxes);
		pass(9000);
		assert_int_equal(orders, 1);
	}
	sandbox_pool_stir(sup.sandboxes);
	pass(9000);
	assert_int_equal(orders, 2);
}

/* One that is being made is better than none. */
static void
test_coming(void **state)
{
	struct sandbox *b;

	(void)state;
	cold(0);
	pass(1000000);
	assert_int_equal(look().sandboxes_making, 1);
	b = claim(0, 0);
	assert_ptr_equal(b, last);
	b->job = &job;
	assert_int_equal(look().sandboxes_making, 0);
	assert_int_equal(look().sandboxes_cold, 2);
	ready();
	assert_int_equal(look().sandboxes, 0);
	__wrap_sandbox_free(b);
}

static void
test_burst(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 4; i++)
		cold(0);
	assert_int_equal(fill(), 4);
	/* More than a tenant may have. */
	for (i = 0; i < 4; i++)
		claim(0, 0)->job = &job;
	for (i = 0; i < 5; i++)
		cold(0);
	assert_int_equal(fill(), 6);
	assert_int_equal(look().sandboxes, 6);
}

/* However many are wanted, by however many, and whatever happens meanwhile. */
static void
test_one_at_a_time(void **state)
{
	struct sandbox_key k = key(1, 0);
	struct sandbox *b;
	int i;

	(void)state;
	for (i = 0; i < 4; i++)
		cold(i % 2);
	pass(1000000);
	assert_int_equal(orders, 1);
	cold(2);
	now += 1000000;
	(void)event_base_loop(sup.base, EVLOOP_NONBLOCK);
	assert_int_equal(orders, 1);
	/* A job's own gets ready beside it. */
	b = box_new(&k);
	b->job = &job;
	b->phase = KEEPER_READY;
	sandbox_pool_ready(b);
	__wrap_sandbox_free(b);
	assert_int_equal(orders, 1);
	assert_int_equal(look().sandboxes_making, 1);
	sandbox_pool_exec_up(sup.sandboxes);
	now += 1000000;
	(void)event_base_loop(sup.base, EVLOOP_ONCE);
	assert_int_equal(orders, 1);
	/* It is the next one's turn when that is done. */
	ready();
	assert_int_equal(orders, 2);
	assert_int_equal(look().sandboxes_making, 1);
}

/* The kind that was not used for longest gives way to what was used later. */
static void
test_evict(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 6; i++)
		cold(0);
	assert_int_equal(fill(), 6);
	for (i = 0; i < 6; i++)
		cold(1);
	assert_int_equal(fill(), 6);
	assert_int_equal(look().sandboxes, 8);
	for (i = 0; i < 2; i++)
		claim(0, 0)->job = &job;
	assert_null(claim(0, 0));
}

/* A kind used last has its place even where its tenant has all there may be. */
static void
test_own(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 6; i++)
		cold(0);
	assert_int_equal(fill(), 6);
	assert_null(claim(0, 1));
	assert_int_equal(fill(), 1);
	assert_int_equal(look().sandboxes, 6);
	assert_non_null(claim(0, 1));
}

static void
test_none_wanted(void **state)
{
	(void)state;
	cfg.idle_sandboxes = 0;
	assert_null(claim(0, 0));
	assert_int_equal(orders, 0);
	assert_int_equal(look().sandboxes_cold, 1);
}

/* One whose disk is not at hand waits for that, and errandd does not. */
static void
test_disk(void **state)
{
	struct sandbox_key k = key(0, 0);

	(void)state;
	k.disk = 1 << 24;
	assert_null(sandbox_pool_claim(sup.sandboxes, &k, &limits));
	pass(1000000);
	assert_int_equal(orders, 0);
	assert_int_equal(disks_asked, 1);
	assert_null(sandbox_pool_claim(sup.sandboxes, &k, &limits));
	pass(1000000);
	assert_int_equal(disks_asked, 1);       /* it is asked for already */
	disk_here = 1;
	disk_fn(disk_cookie, 0);
	pass(50000);
	assert_int_equal(orders, 1);
	assert_int_equal(disks_asked, 1);
}

/* One that cannot be made is like a sandbox that cannot. */
static void
test_no_disk(void **state)
{
	struct sandbox_key k = key(0, 0);

	(void)state;
	k.disk = 1 << 24;
	assert_null(sandbox_pool_claim(sup.sandboxes, &k, &limits));
	pass(1000000);
	disk_fn(disk_cookie, ENOSPC);
	assert_non_null(strstr(look().sandbox_note, "make its disk: No space"));
	now += 900000;
	assert_null(sandbox_pool_claim(sup.sandboxes, &k, &limits));
	pass(50000);
	assert_int_equal(disks_asked, 1);       /* not yet */
	pass(200000);
	assert_int_equal(disks_asked, 2);
	assert_int_equal(orders, 0);
}

/* While it cannot be done it is tried less and less often. */
static void
test_park(void **state)
{
	struct sandbox *b;
	struct sandbox_key k = key(0, 0);

	(void)state;
	cold(0);
	pass(1000000);
	assert_int_equal(orders, 1);
	sandbox_pool_failed(last, "the disk is full");
	assert_string_equal(look().sandbox_note, "the disk is full");
	assert_int_equal(look().sandboxes_failed, 1);
	assert_int_equal(look().sandboxes_making, 0);
	now += 900000;
	assert_null(claim(0, 0));
	pass(50000);
	assert_int_equal(orders, 1);            /* not yet */
	refuse = 1;
	pass(200000);
	assert_int_equal(orders, 2);
	assert_int_equal(look().sandboxes_failed, 2);
	/* A job's that gets ready shows that it works again. */
	refuse = 0;
	b = box_new(&k);
	b->job = &job;
	b->phase = KEEPER_READY;
	now += 50000;
	sandbox_pool_ready(b);
	assert_string_equal(look().sandbox_note, "");
	assert_int_equal(orders, 3);
	__wrap_sandbox_free(b);
	ready();
	assert_int_equal(look().sandboxes, 1);
}

/* One that never gets ready. */
static void
test_hung(void **state)
{
	(void)state;
	cold(0);
	pass(1000000);
	now += 31000000;
	sandbox_pool_exec_up(sup.sandboxes);
	(void)event_base_loop(sup.base, EVLOOP_ONCE);
	assert_int_equal(look().sandboxes_failed, 1);
	assert_int_equal(look().sandboxes_making, 0);
}

static void
test_exec_lost(void **state)
{
	(void)state;
	cold(0);
	assert_int_equal(fill(), 1);
	exec_ready = 0;
	sandbox_pool_exec_lost(sup.sandboxes);
	assert_int_equal(look().sandboxes, 0);
	assert_null(claim(0, 0));
	exec_ready = 1;
	sandbox_pool_exec_up(sup.sandboxes);
	assert_true(fill() >= 1);
}

static void
test_stop(void **state)
{
	(void)state;
	cold(0);
	assert_int_equal(fill(), 1);
	sandbox_pool_stop(sup.sandboxes);
	assert_int_equal(look().sandboxes, 0);
	assert_null(claim(0, 0));
	sandbox_pool_exec_up(sup.sandboxes);
	now += 1000000;
	(void)event_base_loop(sup.base, EVLOOP_NONBLOCK);
	assert_int_equal(orders, 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_claim), T(test_kinds), T(test_stir), T(test_coming),
		T(test_burst),
		T(test_one_at_a_time),
		T(test_evict), T(test_own), T(test_none_wanted), T(test_disk),
		T(test_no_disk), T(test_park), T(test_hung),
		T(test_exec_lost), T(test_stop),
	};
	int rc;

	log_init("test", LOG_LEVEL_ERROR);
	if ((sup.base = event_base_new()) == NULL)
		return (1);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	event_base_free(sup.base);
	return (rc);
}
