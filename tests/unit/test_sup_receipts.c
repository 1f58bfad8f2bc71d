#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "lib/log.h"
#include "proto/receipt.h"
#include "supervisor/jobs.h"
#include "supervisor/receipts.h"
#include "supervisor/sup.h"
#include "supervisor/tenants.h"

/* Each receipt is signed and names the one before it. */

static struct sup sup;
static struct tenant tenant;

static void
job_init(struct job *j)
{
	memset(j, 0, sizeof(*j));
	j->sup = &sup;
	j->tenant = &tenant;
	text_job_id(j->rec.id);
	strcpy(j->rec.tenant, "alpha");
	j->rec.tenant_id = 3;
	j->rec.state = JOB_EXITED;
	j->rec.ran = 1;
	j->rec.exit_code = 7;
	memset(j->rec.submit.idem, 1, sizeof(j->rec.submit.idem));
	j->rec.submit.spec.kind = OBJ_CHUNK;
	memset(j->rec.submit.spec.id, 2, OBJ_ID_LEN);
	j->rec.submit.spec_len = 10;
	j->rec.times.settled = 99;
	j->rec.cleanup = 1;
}

static void
test_chain(void **state)
{
	uint8_t buf[LIMIT_RECEIPT], last[32] = { 0 };
	struct receipt r;
	const char *why;
	struct job j;
	uint64_t i;
	ssize_t n;

	(void)state;
	memset(&tenant.chain, 0, sizeof(tenant.chain));
	for (i = 1; i < 6; i++) {
		job_init(&j);
		n = receipt_make(&sup, &j, buf, sizeof(buf));
		assert_true(n > 0);
		assert_int_equal(receipt_open_signed(buf, (size_t)n,
		    sup.host_pk, &r, &why), 0);
		assert_int_equal(r.sequence, i);
		assert_int_equal(j.rec.receipt_sequence, i);
		assert_memory_equal(r.previous, last, 32);
		assert_string_equal(r.tenant, "alpha");
		assert_int_equal(r.exit_code, 7);
		assert_int_equal(r.times.settled, 0);
		assert_int_equal(r.cleanup, 1);
		memcpy(last, j.rec.receipt_digest, 32);
		tenant.chain.sequence = i;
		memcpy(tenant.chain.digest, last, 32);
		receipt_done(&r);
	}
}

static void
test_forged(void **state)
{
	uint8_t buf[LIMIT_RECEIPT];
	struct receipt r;
	const char *why;
	struct job j;
	ssize_t n, i;

	(void)state;
	job_init(&j);
	n = receipt_make(&sup, &j, buf, sizeof(buf));
	assert_true(n > 0);
	for (i = 0; i < n; i++) {
		buf[i] ^= 1;
		assert_int_equal(receipt_open_signed(buf, (size_t)n,
		    sup.host_pk, &r, &why), -1);
		buf[i] ^= 1;
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_forged),
	};

	log_init("test", LOG_LEVEL_ERROR);
	if (sodium_init() == -1)
		return (1);
	crypto_sign_keypair(sup.host_pk, sup.host_sk);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
