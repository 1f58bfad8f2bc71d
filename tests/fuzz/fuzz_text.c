#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* What people and peers write: it is parsed, or refused with a reason. */

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
must(int truth)
{

	if (!truth)
		abort();
}

/* Shown text is valid UTF-8 without controls, and cut only between pieces. */
static void
fuzz_escape(const uint8_t *data, size_t len)
{
	char small[17], *out;
	size_t need, i;

	need = text_escape(data, len, NULL, 0);
	must(need >= len && need <= 4 * len);
	if ((out = malloc(need + 1)) == NULL)
		return;
	must(text_escape(data, len, out, need + 1) == need);
	must(strlen(out) == need && text_utf8_valid(out, need));
	for (i = 0; i < need; i++)
		must((unsigned char)out[i] >= 0x20 && out[i] != 0x7f);
	must(text_escape(data, len, small, sizeof(small)) == need);
	must(strncmp(small, out, strlen(small)) == 0);
	must(text_utf8_valid(small, strlen(small)));
	free(out);
}

static void
fuzz_numbers(const char *s)
{
	uint64_t v;
	uint32_t m;

	errno = 0;
	if (text_duration(s, &v) == -1)
		must(errno == EINVAL || errno == ERANGE);
	else
		(void)text_us(v);
	errno = 0;
	if (text_size(s, &v) == -1)
		must(errno == EINVAL || errno == ERANGE);
	else
		(void)text_bytes(v);
	errno = 0;
	if (text_cpus(s, &m) == -1)
		must(errno == EINVAL || errno == ERANGE);
}

/* Hexadecimal goes round, and only the exact length is taken. */
static void
fuzz_hex(const uint8_t *data, size_t len, const char *s)
{
	size_t n = strlen(s) / 2;
	uint8_t *raw;
	char *hex;

	if ((raw = malloc(len + 1)) == NULL)
		return;
	if ((hex = malloc(2 * len + 1)) == NULL) {
		free(raw);
		return;
	}
	text_hex(data, len, hex);
	must(text_unhex(hex, raw, len) == 0);
	must(len == 0 || memcmp(raw, data, len) == 0);
	must(text_unhex(hex, raw, len + 1) == -1);
	if (text_unhex(s, raw, n) == 0)
		must(strlen(s) == 2 * n);
	free(hex);
	free(raw);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *s;

	if ((s = malloc(len + 1)) == NULL)
		return (0);
	if (len > 0)
		memcpy(s, data, len);
	s[len] = '\0';

	fuzz_escape(data, len);
	fuzz_numbers(s);
	fuzz_hex(data, len, s);
	if (text_job_id_valid(s))
		must(strlen(s) == JOB_ID_LEN);
	if (text_tenant_valid(s))
		must(strlen(s) <= TENANT_NAME_MAX && s[0] != '-');

	free(s);
	return (0);
}
