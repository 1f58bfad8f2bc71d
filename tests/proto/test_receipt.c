#include <errno.h>

#include <sodium.h>

#include "lib/content.h"
#include "lib/le.h"
#include "tests/proto/probe.h"

static uint8_t pk[32], sk[64], other_pk[32], other_sk[64];
static uint8_t file[2 * LIMIT_RECEIPT];
static size_t file_len, signed_len;

static void
append_spec(void)
{
	uint8_t *spec;
	size_t len;
	char *argv[] = { (char *)(uintptr_t)"make",
	    (char *)(uintptr_t)"check" };
	struct job_spec s = { .argc = 2, .argv = argv };

	assert_int_equal(job_spec_pack(&s, &spec, &len), 0);
	le_put32(file + signed_len, (uint32_t)len);
	memcpy(file + signed_len + 4, spec, len);
	file_len = signed_len + 4 + len;
	free(spec);
}

static struct receipt
sample(void)
{
	struct receipt r = { .tenant_id = 7, .sequence = 12,
	    .state = JOB_EXITED, .ran = 1, .exit_code = 3, .cleanup = 1 };
	uint8_t *spec;
	size_t len;
	char *argv[] = { (char *)(uintptr_t)"make",
	    (char *)(uintptr_t)"check" };
	struct job_spec s = { .argc = 2, .argv = argv };

	strcpy(r.job, "abcdefghijklmnop");
	strcpy(r.tenant, "alice");
	strcpy(r.software, "errand 0.1.0");
	memset(r.previous, 9, sizeof(r.previous));
	receipt_key_id(pk, r.host_key_id);
	r.submit.idem[0] = 1;
	r.submit.root.kind = OBJ_TREE;
	memset(r.submit.root.id, 3, OBJ_ID_LEN);
	r.limits.memory = 1 << 30;
	r.times.submitted = 1700000000000000;
	r.phases.collect = 1234;
	r.log.bytes = 5;
	r.changes.count = 2;
	assert_int_equal(job_spec_pack(&s, &spec, &len), 0);
	assert_int_equal(content_from_mem(spec, len, NULL, NULL,
	    &r.submit.spec), 0);
	r.submit.spec_len = len;
	free(spec);
	return (r);
}

static void
make_file(void)
{
	struct receipt r = sample();
	ssize_t n = receipt_sign(&r, sk, file, sizeof(file));

	assert_true(n > 0);
	signed_len = (size_t)n;
	append_spec();
}

/* Open a copy in a block of its own size; what is refused has a reason. */
static int
open_file(const uint8_t *p, size_t len, const uint8_t *key)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);
	const char *why = NULL;
	struct receipt r;
	int rc;

	assert_non_null(copy);
	memcpy(copy, p, len);
	rc = receipt_open(copy, len, key, &r, &why);
	if (rc == -1) {
		assert_non_null(why);
		assert_null(r.spec.argv);
	}
	receipt_done(&r);
	free(copy);
	return (rc);
}

static void
round_trip(void **state)
{
	struct receipt want = sample(), r;
	const char *why;

	(void)state;
	make_file();
	assert_int_equal(receipt_signed_len(file, file_len), signed_len);
	assert_int_equal(receipt_open(file, file_len, pk, &r, &why), 0);
	assert_string_equal(r.job, want.job);
	assert_string_equal(r.tenant, "alice");
	assert_int_equal(r.sequence, 12);
	assert_int_equal(r.exit_code, 3);
	assert_int_equal(r.spec.argc, 2);
	assert_string_equal(r.spec.argv[1], "check");
	receipt_done(&r);

	assert_int_equal(receipt_open_signed(file, signed_len, pk, &r, &why),
	    0);
	assert_null(r.spec.argv);
	assert_memory_equal(&r, &want, sizeof(r));
	assert_int_equal(receipt_open(file, file_len, NULL, &r, &why), 0);
	receipt_done(&r);
}

static void
other_key(void **state)
{
	struct receipt r = sample();
	const char *why;
	ssize_t n;

	(void)state;
	make_file();
	assert_int_equal(open_file(file, file_len, other_pk), -1);
	/* It says the right key, but another one signed it. */
	n = receipt_sign(&r, other_sk, file, sizeof(file));
	assert_int_equal(n, signed_len);
	assert_int_equal(receipt_open_signed(file, signed_len, pk, &r, &why),
	    -1);
	assert_non_null(strstr(why, "signature"));
}

/* No byte can be changed, whatever it becomes. */
static void
every_byte(void **state)
{
	size_t at, k;

	(void)state;
	make_file();
	for (at = 0; at < file_len; at++) {
		for (k = 1; k < 256; k++) {
			if (at % 8 != 0 && k != 1 && k != 0x80 && k != 0xff)
				continue;
			file[at] ^= (uint8_t)k;
			if (open_file(file, file_len, pk) != -1)
				fail_msg("byte %zu xor %zu", at, k);
			file[at] ^= (uint8_t)k;
		}
	}
	assert_int_equal(open_file(file, file_len, pk), 0);
}

static void
every_length(void **state)
{
	struct receipt r;
	const char *why;
	size_t n;

	(void)state;
	make_file();
	for (n = 0; n < file_len; n++)
		assert_int_equal(open_file(file, n, pk), -1);
	file[file_len] = 0;
	assert_int_equal(open_file(file, file_len + 1, pk), -1);
	assert_int_equal(receipt_open_signed(file, signed_len + 1, pk, &r,
	    &why), -1);
	assert_int_equal(receipt_open_signed(file, signed_len - 1, pk, &r,
	    &why), -1);
}

/* Sign ${n} bytes of body that may not be canonical. */
static int
open_body(const uint8_t *body, size_t n)
{
	static uint8_t buf[LIMIT_RECEIPT];
	struct receipt r;
	const char *why;

	memcpy(buf, RECEIPT_MAGIC, 16);
	le_put32(buf + 16, (uint32_t)n);
	memcpy(buf + 20, body, n);
	assert_int_equal(crypto_sign_detached(buf + 20 + n, NULL, buf, 20 + n,
	    sk), 0);
	return (receipt_open_signed(buf, 20 + n + 64, pk, &r, &why));
}

/* Even a good signature does not make a second encoding good. */
static void
canonical(void **state)
{
	uint8_t body[LIMIT_RECEIPT];
	size_t n;

	(void)state;
	make_file();
	n = signed_len - 20 - 64;
	memcpy(body, file + 20, n);
	assert_int_equal(open_body(body, n), 0);
	/* The last field again; an unknown one; zero spelled out. */
	memcpy(body + n, body + n - 3, 3);
	assert_int_equal(open_body(body, n + 3), -1);
	memcpy(body + n, "\xf8\x06\x01", 3);
	assert_int_equal(open_body(body, n + 3), -1);
	memcpy(body + n, "\x78\x00", 2);
	assert_int_equal(open_body(body, n + 2), -1);
	/* The first two fields in the other order (18 and 7 bytes). */
	memcpy(body, file + 20 + 18, 7);
	memcpy(body + 7, file + 20, 18);
	assert_int_equal(open_body(body, n), -1);
	memcpy(body, file + 20, n);
	assert_int_equal(open_body(body, n), 0);
}

/* What a receipt may not say is not signed. */
static void
not_signed(void **state)
{
	struct receipt r = sample();

	(void)state;
	r.state = JOB_RUNNING;
	assert_int_equal(receipt_sign(&r, sk, file, sizeof(file)), -1);
	r = sample();
	r.sequence = 0;
	assert_int_equal(receipt_sign(&r, sk, file, sizeof(file)), -1);
	r = sample();
	r.submit.spec.kind = OBJ_TREE;
	assert_int_equal(receipt_sign(&r, sk, file, sizeof(file)), -1);
	r = sample();
	assert_int_equal(receipt_sign(&r, sk, file, 100), -1);
	assert_int_equal(receipt_sign(&r, sk, file, 10), -1);
}

/* The largest there is fits where receipts are kept. */
static void
largest(void **state)
{
	struct receipt r, out;
	const char *why;
	ssize_t n;

	(void)state;
	memset(&r, 0, sizeof(r));
	probe_fill(&receipt_map, &r, PROBE_MAX);
	receipt_key_id(pk, r.host_key_id);
	n = receipt_sign(&r, sk, file, LIMIT_RECEIPT);
	assert_true(n > 0);
	assert_int_equal(receipt_open_signed(file, (size_t)n, pk, &out, &why),
	    0);
	assert_true(probe_same(&receipt_map, (uint8_t *)&r, (uint8_t *)&out));
}

/* Digests are permanent: these values were made with another program. */
static void
digests(void **state)
{
	static const uint8_t zero[32];
	uint8_t digest[32], id[8];
	char hex[65];

	(void)state;
	receipt_digest("abc", 3, digest);
	text_hex(digest, sizeof(digest), hex);
	assert_string_equal(hex, "5cd965261186eeb36ff976039e671d4f"
	    "2b7a188333ed8d1792eb5cf4e72ceace");
	receipt_key_id(zero, id);
	text_hex(id, sizeof(id), hex);
	assert_string_equal(hex, "6ace9ebe5f164bb9");
}

static int
keys(void **state)
{
	static const uint8_t seed[32] = { 1 }, other[32] = { 2 };

	(void)state;
	if (sodium_init() == -1)
		return (-1);
	crypto_sign_seed_keypair(pk, sk, seed);
	crypto_sign_seed_keypair(other_pk, other_sk, other);
	return (0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(other_key),
		cmocka_unit_test(every_byte),
		cmocka_unit_test(every_length),
		cmocka_unit_test(canonical),
		cmocka_unit_test(not_signed),
		cmocka_unit_test(largest),
		cmocka_unit_test(digests),
	};

	return (cmocka_run_group_tests(tests, keys, NULL));
}
