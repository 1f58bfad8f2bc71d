#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text.h"

static void
test_job_id(void **state)
{
	char a[JOB_ID_LEN + 1], b[JOB_ID_LEN + 1];
	int i;

	(void)state;
	for (i = 0; i < 1000; i++) {
		text_job_id(a);
		text_job_id(b);
		assert_true(text_job_id_valid(a));
		assert_string_not_equal(a, b);
	}
	assert_true(text_job_id_valid("abcdefghijklmn27"));
	assert_false(text_job_id_valid(""));
	assert_false(text_job_id_valid("abcdefghijklmn2"));
	assert_false(text_job_id_valid("abcdefghijklmn277"));
	assert_false(text_job_id_valid("abcdefghijklmn21"));
	assert_false(text_job_id_valid("Abcdefghijklmn27"));
	assert_false(text_job_id_valid("../../../../../a"));
}

static void
test_tenant(void **state)
{

	(void)state;
	assert_true(text_tenant_valid("a"));
	assert_true(text_tenant_valid("_x-9"));
	assert_true(text_tenant_valid("abcdefghijabcdefghijabcdefghija"));
	assert_false(text_tenant_valid("abcdefghijabcdefghijabcdefghijab"));
	assert_false(text_tenant_valid(""));
	assert_false(text_tenant_valid("9a"));
	assert_false(text_tenant_valid("-a"));
	assert_false(text_tenant_valid("A"));
	assert_false(text_tenant_valid("a/b"));
	assert_false(text_tenant_valid("a.b"));
	assert_false(text_tenant_valid("a\n"));
	assert_false(text_tenant_valid("\xc3\xa9"));
}

static void
test_hex(void **state)
{
	const uint8_t in[] = { 0x00, 0x01, 0x7f, 0x80, 0xab, 0xff };
	char hex[2 * sizeof(in) + 1];
	uint8_t out[sizeof(in)];

	(void)state;
	text_hex(in, sizeof(in), hex);
	assert_string_equal(hex, "00017f80abff");
	assert_int_equal(text_unhex(hex, out, sizeof(out)), 0);
	assert_memory_equal(in, out, sizeof(in));
	assert_int_equal(text_unhex("00017F80ABFF", out, sizeof(out)), 0);
	assert_memory_equal(in, out, sizeof(in));
	text_hex(in, 0, hex);
	assert_string_equal(hex, "");
	assert_int_equal(text_unhex("", out, 0), 0);

	errno = 0;
	assert_int_equal(text_unhex("00017f80abf", out, 6), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(text_unhex("00017f80abff0", out, 6), -1);
	assert_int_equal(text_unhex("00017f80abfg", out, 6), -1);
	assert_int_equal(text_unhex("", out, 1), -1);
	assert_int_equal(text_unhex(" 0", out, 1), -1);
}

static void
test_duration(void **state)
{
	static const struct {
		const char *s;
		uint64_t us;
	} good[] = {
		{ "0", 0 }, { "90", 90000000 }, { "90s", 90000000 },
		{ "10m", 600000000 }, { "2h", UINT64_C(7200000000) },
		{ "1d", UINT64_C(86400000000) },
		{ "18446744073709s", UINT64_C(18446744073709000000) },
	};
	static const char *const bad[] = {
		"", "s", "-1", "+1", " 1", "1 ", "1x", "1ss", "1ms", "0x10",
		"1.5s", "1e3"
	};
	uint64_t us;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(text_duration(good[i].s, &us), 0);
		assert_int_equal(us, good[i].us);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		errno = 0;
		assert_int_equal(text_duration(bad[i], &us), -1);
		assert_int_equal(errno, EINVAL);
	}
	assert_int_equal(text_duration("18446744073710s", &us), -1);
	assert_int_equal(errno, ERANGE);
	errno = 0;
	assert_int_equal(text_duration("99999999999999999999", &us), -1);
	assert_int_equal(errno, ERANGE);
}

static void
test_size(void **state)
{
	uint64_t n;

	(void)state;
	assert_int_equal(text_size("17", &n), 0);
	assert_int_equal(n, 17);
	assert_int_equal(text_size("64K", &n), 0);
	assert_int_equal(n, 65536);
	assert_int_equal(text_size("512M", &n), 0);
	assert_int_equal(n, 536870912);
	assert_int_equal(text_size("2g", &n), 0);
	assert_int_equal(n, UINT64_C(2147483648));
	assert_int_equal(text_size("1T", &n), 0);
	assert_int_equal(n, UINT64_C(1) << 40);
	assert_int_equal(text_size("16777215T", &n), 0);
	errno = 0;
	assert_int_equal(text_size("16777216T", &n), -1);
	assert_int_equal(errno, ERANGE);
	assert_int_equal(text_size("2GB", &n), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(text_size("K", &n), -1);
	assert_int_equal(text_size("-2G", &n), -1);
}

static void
test_cpus(void **state)
{
	static const char *const bad[] = {
		"", ".", "1.", ".5", "1.5555", "1.5x", "-1", "1,5"
	};
	uint32_t m;
	size_t i;

	(void)state;
	assert_int_equal(text_cpus("1.5", &m), 0);
	assert_int_equal(m, 1500);
	assert_int_equal(text_cpus("4", &m), 0);
	assert_int_equal(m, 4000);
	assert_int_equal(text_cpus("0.025", &m), 0);
	assert_int_equal(m, 25);
	assert_int_equal(text_cpus("4294966.999", &m), 0);
	assert_int_equal(m, 4294966999u);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		errno = 0;
		assert_int_equal(text_cpus(bad[i], &m), -1);
		assert_int_equal(errno, EINVAL);
	}
	assert_int_equal(text_cpus("4294967", &m), -1);
	assert_int_equal(errno, ERANGE);
}

static void
assert_escaped(const char *in, size_t len, const char *want)
{
	char out[256];

	assert_int_equal(text_escape(in, len, out, sizeof(out)), strlen(want));
	assert_string_equal(out, want);
}

static void
test_escape(void **state)
{

	(void)state;
	assert_escaped("", 0, "");
	assert_escaped("plain", 5, "plain");
	assert_escaped("a\nb\tc\\", 6, "a\\nb\\tc\\\\");
	assert_escaped("\0\r\x1b\x7f", 4, "\\x00\\x0d\\x1b\\x7f");
	assert_escaped("gr\xc3\xbc\xc3\x9f", 6, "gr\xc3\xbc\xc3\x9f");
	assert_escaped("\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80");

	/* C1 controls, as bytes and as UTF-8; U+00A0 is none. */
	assert_escaped("\x9b", 1, "\\x9b");
	assert_escaped("\xc2\x9b", 2, "\\xc2\\x9b");
	assert_escaped("\xc2\xa0", 2, "\xc2\xa0");

	/* Bidirectional controls. */
	assert_escaped("\xe2\x80\xae", 3, "\\xe2\\x80\\xae");
	assert_escaped("\xe2\x81\xa6", 3, "\\xe2\\x81\\xa6");
	assert_escaped("\xd8\x9c", 2, "\\xd8\\x9c");
	assert_escaped("\xe2\x80\x94", 3, "\xe2\x80\x94");
}

static void
test_escape_invalid(void **state)
{

	(void)state;
	assert_escaped("\xc0\xaf", 2, "\\xc0\\xaf");
	assert_escaped("\xe0\x80\x80", 3, "\\xe0\\x80\\x80");
	assert_escaped("\xed\xa0\x80", 3, "\\xed\\xa0\\x80");
	assert_escaped("\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80");
	assert_escaped("\xf5", 1, "\\xf5");
	assert_escaped("\xe2\x82", 2, "\\xe2\\x82");
	assert_escaped("\xe2" "a", 2, "\\xe2" "a");
}

static void
assert_json(const char *in, const char *want)
{
	char *got = text_json(in, strlen(in));

	assert_non_null(got);
	assert_string_equal(got, want);
	free(got);
}

/* JSON that is shown says the same, and commands no terminal. */
static void
test_json(void **state)
{

	(void)state;
	assert_json("", "");
	assert_json("{\"a\\n\":\"gr\xc3\xbc\xf0\x9f\x98\x80\\u001b\"}",
	    "{\"a\\n\":\"gr\xc3\xbc\xf0\x9f\x98\x80\\u001b\"}");
	assert_json("\"\x7f\xc2\x9b\xd8\x9c\xe2\x80\xae\"",
	    "\"\\u007f\\u009b\\u061c\\u202e\"");
}

static void
test_escape_room(void **state)
{
	char out[8];

	(void)state;
	assert_int_equal(text_escape("abc\x1b" "d", 5, NULL, 0), 8);
	memset(out, 'z', sizeof(out));
	assert_int_equal(text_escape("abc\x1b" "d", 5, out, 8), 8);
	assert_string_equal(out, "abc\\x1b");

	/* A piece is whole or absent, and nothing comes after a gap. */
	assert_int_equal(text_escape("abc\x1b" "d", 5, out, 7), 8);
	assert_string_equal(out, "abc");
	assert_int_equal(text_escape("ab\xc3\xbc" "d", 5, out, 4), 5);
	assert_string_equal(out, "ab");
	assert_int_equal(text_escape("abc", 3, out, 1), 3);
	assert_string_equal(out, "");
}

static void
test_utf8(void **state)
{

	(void)state;
	assert_true(text_utf8_valid("", 0));
	assert_true(text_utf8_valid("a\0\xc3\xbc", 4));
	assert_true(text_utf8_valid("\xed\x9f\xbf\xee\x80\x80", 6));
	assert_true(text_utf8_valid("\xf4\x8f\xbf\xbf", 4));
	assert_false(text_utf8_valid("\xed\xa0\x80", 3));
	assert_false(text_utf8_valid("\xc1\xbf", 2));
	assert_false(text_utf8_valid("\xf0\x80\x80\x80", 4));
	assert_false(text_utf8_valid("a\x80", 2));
	assert_false(text_utf8_valid("\xc3", 1));
}

static void
test_quote(void **state)
{
	char b[32];

	(void)state;
	assert_int_equal(text_quote("src/util.c", b, sizeof(b)), 10);
	assert_string_equal(b, "src/util.c");
	assert_int_equal(text_quote("", b, sizeof(b)), 2);
	assert_string_equal(b, "''");
	assert_int_equal(text_quote("a b", b, sizeof(b)), 5);
	assert_string_equal(b, "'a b'");
	assert_int_equal(text_quote("$(x)", b, sizeof(b)), 6);
	assert_string_equal(b, "'$(x)'");
	assert_int_equal(text_quote("~a", b, sizeof(b)), 4);
	assert_int_equal(text_quote("it's", b, sizeof(b)), 10);
	assert_string_equal(b, "'it'\"'\"'s'");
	assert_int_equal(text_quote("caf\xc3\xa9", b, sizeof(b)), 7);
	assert_int_equal(text_quote("a\nb", b, sizeof(b)), -1);
	assert_int_equal(text_quote("a\\b", b, sizeof(b)), -1);
	assert_int_equal(text_quote("a\xff", b, sizeof(b)), -1);
	assert_int_equal(text_quote("abcd", b, 5), 4);
	assert_int_equal(text_quote("abcd", b, 4), -1);
	assert_int_equal(text_quote("a cd", b, 7), 6);
	assert_int_equal(text_quote("a cd", b, 6), -1);
}

static void
test_for_people(void **state)
{

	(void)state;
	assert_string_equal(text_bytes(0), "0 B");
	assert_string_equal(text_bytes(1023), "1023 B");
	assert_string_equal(text_bytes(1024), "1.0 KiB");
	assert_string_equal(text_bytes(1048000), "1023.4 KiB");
	assert_string_equal(text_bytes(1048575), "1.0 MiB");
	assert_string_equal(text_bytes(1234567), "1.2 MiB");
	assert_string_equal(text_bytes(UINT64_MAX), "16.0 EiB");
	assert_string_equal(text_us(999), "999 us");
	assert_string_equal(text_us(1234), "1.23 ms");
	assert_string_equal(text_us(1234567), "1.23 s");
	assert_string_equal(text_us(59999999), "59.99 s");
	assert_string_equal(text_us(125000000), "2m 05s");
	assert_string_equal(text_us(UINT64_C(3720000000)), "1h 02m");
}

static void
test_rings(void **state)
{
	const char *s[4];
	int i;

	(void)state;
	for (i = 0; i < 4; i++)
		s[i] = text_bytes((uint64_t)i);
	assert_string_equal(s[0], "0 B");
	assert_string_equal(s[3], "3 B");
	for (i = 0; i < 4; i++)
		s[i] = text_us((uint64_t)i);
	assert_string_equal(s[0], "0 us");
	assert_string_equal(s[3], "3 us");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_job_id),
		cmocka_unit_test(test_tenant),
		cmocka_unit_test(test_hex),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_escape_invalid),
		cmocka_unit_test(test_escape_room),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_quote),
		cmocka_unit_test(test_for_people),
		cmocka_unit_test(test_rings),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
