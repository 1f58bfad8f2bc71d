/* SHA-1: the examples of the standard, and every way to fill a last block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/sha1.h"
#include "lib/text.h"

static const char *
hex_of(const void *p, size_t len)
{
	static char hex[2 * SHA1_LEN + 1];
	uint8_t out[SHA1_LEN];

	sha1(p, len, out);
	text_hex(out, sizeof(out), hex);
	return (hex);
}

static void
known_answers(void **state)
{
	static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklm"
	    "klmnlmnomnopnopq";
	char *million = malloc(1000000);

	(void)state;
	assert_non_null(million);
	memset(million, 'a', 1000000);
	assert_string_equal(hex_of("", 0),
	    "da39a3ee5e6b4b0d3255bfef95601890afd80709");
	assert_string_equal(hex_of("abc", 3),
	    "a9993e364706816aba3e25717850c26c9cd0d89d");
	assert_string_equal(hex_of(two, 56),
	    "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
	assert_string_equal(hex_of(million, 1000000),
	    "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
	free(million);
}

/* The digest of the digests of 0 to 200 bytes, as sha1sum has it. */
static void
every_length(void **state)
{
	uint8_t all[201 * SHA1_LEN], buf[200];
	size_t i;

	(void)state;
	memset(buf, 'x', sizeof(buf));
	for (i = 0; i <= 200; i++)
		sha1(buf, i, all + i * SHA1_LEN);
	assert_string_equal(hex_of(all, sizeof(all)),
	    "e071bbfd306caea44e4027211afae4a1fb3f0999");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_answers),
		cmocka_unit_test(every_length),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
