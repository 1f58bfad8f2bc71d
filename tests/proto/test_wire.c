#include <errno.h>

#include "tests/proto/probe.h"

/*
 * Bytes that protobuf would take and we do not: one thing can be said in one
 * way.  Written by hand from the numbers in the schemas.
 */

static int
parse(const void *p, size_t n)
{
	struct store_msg m;
	int rc = store_msg_parse(p, n, &m);

	if (rc == -1)
		assert_int_equal(errno, EPROTO);
	return (rc);
}
#define PARSE(...) \
	parse((const uint8_t[]){ __VA_ARGS__ }, \
	    sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* id is field 1; PUT is field 9 (0x4a) with objects in field 1. */
static void
one_encoding(void **state)
{
	(void)state;
	assert_int_equal(PARSE(0x08, 7, 0x4a, 2, 0x08, 3), 0);
	/* the id twice, and padded, and with more than 64 bits */
	assert_int_equal(PARSE(0x08, 7, 0x08, 7, 0x4a, 2, 0x08, 3), -1);
	assert_int_equal(PARSE(0x08, 0x87, 0, 0x4a, 2, 0x08, 3), -1);
	assert_int_equal(PARSE(0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    0xff, 0xff, 0x7f, 0x4a, 2, 0x08, 3), -1);
	/* the op twice, and two ops */
	assert_int_equal(PARSE(0x08, 7, 0x4a, 2, 0x08, 3, 0x4a, 2, 0x08, 3),
	    -1);
	assert_int_equal(PARSE(0x08, 7, 0x42, 0, 0x4a, 2, 0x08, 3), -1);
	/* a number of more than 32 bits that is 3 when cut */
	assert_int_equal(PARSE(0x08, 7, 0x4a, 6, 0x08, 0x83, 0x80, 0x80, 0x80,
	    0x10), -1);
	/* the op before the id */
	assert_int_equal(PARSE(0x4a, 2, 0x08, 3, 0x08, 7), -1);
	/* the wrong wire type, an unknown field, a group */
	assert_int_equal(PARSE(0x08, 7, 0x4a, 5, 0x0d, 3, 0, 0, 0), -1);
	assert_int_equal(PARSE(0x08, 7, 0x4a, 4, 0x08, 3, 0x78, 1), -1);
	assert_int_equal(PARSE(0x08, 7, 0x4a, 2, 0x08, 3, 0xfa, 0x01, 0), -1);
	assert_int_equal(PARSE(0x08, 7, 0x4b, 0x4c), -1);
	/* no op, no id, a length past the end */
	assert_int_equal(PARSE(0x08, 7), -1);
	assert_int_equal(PARSE(0x4a, 2, 0x08, 3), -1);
	assert_int_equal(PARSE(0x08, 7, 0x4a, 3, 0x08, 3), -1);
	assert_int_equal(PARSE(0x08, 7, 0x4a, 0xff, 0xff, 0xff, 0xff, 0x0f),
	    -1);
}

/* STAT is field 8 and says nothing; zero is never spelled out. */
static void
zeros(void **state)
{
	(void)state;
	assert_int_equal(PARSE(0x08, 7, 0x42, 0), 0);
	assert_int_equal(PARSE(0x08, 0, 0x42, 0), -1);
	/* LIST is field 13, limit 1 */
	assert_int_equal(PARSE(0x08, 7, 0x6a, 0), 0);
	assert_int_equal(PARSE(0x08, 7, 0x6a, 2, 0x08, 0), -1);
}

/* PUBLISH_OK is field 16: existed 1, job 2.  Yes is 1 and nothing else. */
static void
booleans(void **state)
{
	(void)state;
#define JOB_BYTES 0x12, 16, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', \
	'j', 'k', 'l', 'm', 'n', 'o', 'p'
	assert_int_equal(PARSE(0x08, 7, 0x82, 1, 20, 0x08, 1, JOB_BYTES), 0);
	assert_int_equal(PARSE(0x08, 7, 0x82, 1, 20, 0x08, 2, JOB_BYTES), -1);
	assert_int_equal(PARSE(0x08, 7, 0x82, 1, 20, 0x08, 0, JOB_BYTES), -1);
	assert_int_equal(PARSE(0x08, 7, 0x82, 1, 21, 0x08, 0x81, 0, JOB_BYTES),
	    -1);
	assert_int_equal(PARSE(0x08, 7, 0x82, 1, 18, JOB_BYTES), 0);
	assert_int_equal(PARSE(0x08, 7, 0x82, 1, 2, 0x08, 1), -1);
}

/* HELLO is field 2: version 1, software 2. */
static void
nul_in_string(void **state)
{
	(void)state;
	assert_int_equal(PARSE(0x12, 7, 0x08, 1, 0x12, 3, 'a', 'b', 'c'), 0);
	assert_int_equal(PARSE(0x12, 7, 0x08, 1, 0x12, 3, 'a', 0, 'c'), -1);
	assert_int_equal(PARSE(0x12, 7, 0x08, 1, 0x12, 3, 'a', 'b', 0), -1);
	assert_int_equal(PARSE(0x12, 5, 0x08, 1, 0x12, 1, 0), -1);
}

/* Borrowed bytes are in the packet, even when it has them more than once. */
static void
spans(void **state)
{
	struct store_msg m = { .id = 9, .op = STORE_SETTLE }, out;
	uint8_t packet[1024], same[64];
	ssize_t n;

	(void)state;
	memset(same, 'x', sizeof(same));
	memcpy(m.u.settle.job, "abcdefghijklmnop", JOB_ID_LEN + 1);
	m.u.settle.sequence = 1;
	m.u.settle.digest[31] = 1;
	m.u.settle.record = (struct store_bytes){ same, 64 };
	m.u.settle.receipt = (struct store_bytes){ same, 10 };
	n = store_msg_pack(&m, packet, sizeof(packet));
	assert_true(n > 0);
	assert_int_equal(store_msg_parse(packet, (size_t)n, &out), 0);
	assert_int_equal(out.u.settle.record.len, 64);
	assert_int_equal(out.u.settle.receipt.len, 10);
	assert_true(out.u.settle.record.p >= packet &&
	    out.u.settle.record.p + 64 <= packet + n);
	assert_true(out.u.settle.receipt.p >= packet &&
	    out.u.settle.receipt.p + 10 <= packet + n);
	assert_memory_equal(out.u.settle.record.p, same, 64);
	assert_memory_equal(out.u.settle.receipt.p, same, 10);
}

/* An error names the request; an OK says which kind of answer it is. */
static void
replies(void **state)
{
	struct store_msg m = { .id = 9, .op = STORE_ERROR }, out;
	uint8_t packet[1024];
	ssize_t n;

	(void)state;
	assert_int_equal(store_msg_pack(&m, packet, sizeof(packet)), -1);
	m.reply_to = STORE_CHECK;
	assert_int_equal(store_msg_pack(&m, packet, sizeof(packet)), -1);
	(void)err_set(&m.u.error, ERR_MISSING, "object %d is not there", 5);
	n = store_msg_pack(&m, packet, sizeof(packet));
	assert_true(n > 0);
	assert_int_equal(store_msg_parse(packet, (size_t)n, &out), 0);
	assert_int_equal(out.op, STORE_ERROR);
	assert_int_equal(out.reply_to, STORE_CHECK);
	assert_int_equal(out.u.error.code, ERR_MISSING);
	assert_string_equal(out.u.error.text, "object 5 is not there");

	memset(&m, 0, sizeof(m));
	m.id = 3;
	m.op = STORE_OK;
	assert_int_equal(store_msg_pack(&m, packet, sizeof(packet)), -1);
	m.reply_to = STORE_CHECK;
	m.u.ok.objects = LIMIT_NEED_REFS;
	n = store_msg_pack(&m, packet, sizeof(packet));
	assert_int_equal(store_msg_parse(packet, (size_t)n, &out), 0);
	assert_int_equal(out.reply_to, STORE_CHECK);
	assert_int_equal(out.u.ok.objects, LIMIT_NEED_REFS);
	m.op = STORE_OK + 7;
	assert_int_equal(store_msg_pack(&m, packet, sizeof(packet)), -1);
}

/* A small packet may not ask for much memory. */
static void
amplification(void **state)
{
	static struct client_reply r;
	static uint8_t buf[256 * 1024];
	size_t i, n = 0, inner = 65000;

	(void)state;
	/* ADMIN is field 8 of a reply: verb 2, then empty tenants (field 3). */
	buf[n++] = 0x42;
	buf[n++] = (uint8_t)((2 * inner + 2) | 0x80);
	buf[n++] = (uint8_t)((2 * inner + 2) >> 7 | 0x80);
	buf[n++] = (uint8_t)((2 * inner + 2) >> 14);
	buf[n++] = 0x08;
	buf[n++] = 2;
	for (i = 0; i < inner; i++) {
		buf[n++] = 0x1a;
		buf[n++] = 0;
	}
	assert_int_equal(client_reply_parse(buf, n, &r), -1);
	assert_null(r.tenants);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_encoding),
		cmocka_unit_test(zeros),
		cmocka_unit_test(booleans),
		cmocka_unit_test(nul_in_string),
		cmocka_unit_test(spans),
		cmocka_unit_test(replies),
		cmocka_unit_test(amplification),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
