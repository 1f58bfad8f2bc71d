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
#include "supervisor/store_client.h"
#include "supervisor/sup.h"
#include "supervisor/tenants.h"
#include "supervisor/tenants_limits.h"

/*
 * Whose turn it is: the tenant with the fewest running jobs, then the order
 * of submission; never more than the slots of host and tenant.
 */

static struct sup sup;
static struct config cfg;
static struct tenant a, b;
static char order[64];
static int ready = 1;

int
__wrap_exec_link_ready(const struct exec_link *x, const char **why)
{
	(void)x;
	*why = NULL;
	return (ready);
}

int
__wrap_store_client_up(const struct store_client *sc)
{
	(void)sc;
	return (1);
}

void
__wrap_store_forget(struct store_client *sc, uint64_t id)
{
	(void)sc;
	(void)id;
}

int
__wrap_job_publish(struct job *j)
{
	(void)j;
	return (0);
}

int
__wrap_job_start(struct job *j)
{
	size_t n = strlen(order);

	assert_true(n + 3 < sizeof(order));
	order[n] = j->tenant == &a ? 'a' : 'b';
	order[n + 1] = (char)j->rec.submit.idem[0];
	order[n + 2] = '\0';
	return (0);
}

uint32_t
__wrap_tenant_slots(const struct tenants *ts, const struct tenant *t)
{
	(void)ts;
	return (t->conf.slots);
}

static struct job *
submit(struct tenant *t, char name)
{
	struct job *j;

	assert_non_null(j = job_new(&sup, t));
	j->published = 1;
	j->rec.submit.idem[0] = (uint8_t)name;
	return (j);
}

static int
setup(void **state)
{
	(void)state;
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	TAILQ_INIT(&a.chain.waiting);
	TAILQ_INIT(&b.chain.waiting);
	a.conf.slots = b.conf.slots = 9;
	order[0] = '\0';
	sup.cfg = &cfg;
	return ((sup.jobs = jobs_new(&sup)) == NULL ? -1 : 0);
}

static int
teardown(void **state)
{
	(void)state;
	jobs_free(sup.jobs);
	return (0);
}

static void
test_fair(void **state)
{
	struct job *j;

	(void)state;
	cfg.slots = 4;
	(void)submit(&a, '1');
	(void)submit(&a, '2');
	(void)submit(&a, '3');
	(void)submit(&b, '4');
	(void)submit(&b, '5');
	assert_int_equal(jobs_queued(sup.jobs), 5);
	jobs_kick(sup.jobs);
	assert_string_equal(order, "a1b4a2b5");
	assert_int_equal(jobs_running(sup.jobs), 4);
	assert_int_equal(jobs_queued(sup.jobs), 1);
	/* One of b's ends: the slot goes to who is left. */
	for (j = jobs_next(sup.jobs, NULL); j->tenant != &b;
	    j = jobs_next(sup.jobs, j))
		;
	job_free(j);
	jobs_kick(sup.jobs);
	assert_string_equal(order, "a1b4a2b5a3");
	assert_int_equal(a.running, 3);
	assert_int_equal(b.running, 1);
	assert_int_equal(a.queued, 0);
}

static void
test_tenant_slots(void **state)
{
	(void)state;
	cfg.slots = 4;
	a.conf.slots = 1;
	(void)submit(&a, '1');
	(void)submit(&a, '2');
	(void)submit(&b, '3');
	jobs_kick(sup.jobs);
	assert_string_equal(order, "a1b3");
}

/* What is not durable, or doomed, or asked for at the store, waits. */
static void
test_not_ready(void **state)
{
	(void)state;
	cfg.slots = 4;
	submit(&a, '1')->published = 0;
	submit(&a, '2')->doomed = 1;
	submit(&a, '3')->request = 7;
	(void)submit(&a, '4');
	ready = 0;
	jobs_kick(sup.jobs);
	assert_string_equal(order, "");
	ready = 1;
	jobs_kick(sup.jobs);
	assert_string_equal(order, "a4");
	sup.stopping = 1;
	(void)submit(&b, '5');
	jobs_kick(sup.jobs);
	assert_string_equal(order, "a4");
	sup.stopping = 0;
}

static void
test_ids(void **state)
{
	struct job *j, *k;

	(void)state;
	j = submit(&a, '1');
	k = submit(&a, '2');
	assert_ptr_equal(jobs_find(sup.jobs, j->rec.id), j);
	assert_ptr_equal(jobs_find(sup.jobs, k->rec.id), k);
	assert_null(jobs_find(sup.jobs, ""));
	job_free(j);
	assert_int_equal(jobs_count(sup.jobs), 1);
	assert_int_equal(a.queued, 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_fair), T(test_tenant_slots), T(test_not_ready),
		T(test_ids),
	};
	int rc;

	log_init("test", LOG_LEVEL_ERROR);
	if ((sup.base = event_base_new()) == NULL)
		return (1);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	event_base_free(sup.base);
	return (rc);
}
