/*
 * Names, numbers and sizes, to and from text.  Memory only, and random bytes
 * for job ids.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "text.h"

#define RING    4

static const char id_chars[] = "abcdefghijklmnopqrstuvwxyz234567";

/* 80 random bits, 5 at a time. */
void
text_job_id(char *out)
{
	uint8_t raw[JOB_ID_LEN * 5 / 8];
	uint32_t acc = 0;
	unsigned int bits = 0;
	size_t i, n = 0;

	randombytes_buf(raw, sizeof(raw));
	for (i = 0; i < sizeof(raw); i++) {
		acc = acc << 8 | raw[i];
		for (bits += 8; bits >= 5; bits -= 5)
			out[n++] = id_chars[acc >> (bits - 5) & 31];
	}
	out[n] = '\0';
}

int
text_job_id_valid(const char *s)
{

	return (strlen(s) == JOB_ID_LEN && strspn(s, id_chars) == JOB_ID_LEN);
}

/* Ranges are spelled out: the locale has no say in what a name is. */
int
text_tenant_valid(const char *s)
{
	size_t i;
	char c;

	for (i = 0; (c = s[i]) != '\0'; i++) {
		if (i == TENANT_NAME_MAX)
			return (0);
		if ((c >= 'a' && c <= 'z') || c == '_')
			continue;
		if (i > 0 && ((c >= '0' && c <= '9') || c == '-'))
			continue;
		return (0);
	}
	return (i > 0);
}

void
text_hex(const void *buf, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *p = buf;
	size_t i;

	for (i = 0; i < n; i++) {
		out[2 * i] = digits[p[i] >> 4];
		out[2 * i + 1] = digits[p[i] & 0xf];
	}
	out[2 * n] = '\0';
}

static int
hex_digit(char c)
{

	if (c >= '0' && c <= '9')
		return (c - '0');
	if (c >= 'a' && c <= 'f')
		return (c - 'a' + 10);
	if (c >= 'A' && c <= 'F')
		return (c - 'A' + 10);
	return (-1);
}

int
text_unhex(const char *s, void *out, size_t n)
{
	uint8_t *p = out;
	size_t i;
	int hi, lo;

	for (i = 0; i < n; i++) {
		/* The first test keeps the second off a string's end. */
		if ((hi = hex_digit(s[2 * i])) == -1 ||
		    (lo = hex_digit(s[2 * i + 1])) == -1)
			goto err0;
		p[i] = (uint8_t)(hi << 4 | lo);
	}
	if (s[2 * n] != '\0')
		goto err0;
	return (0);

err0:
	errno = EINVAL;
	return (-1);
}

/*
 * The decimal number at ${*s}, which is moved past it.  Unlike strtoull this
 * takes no sign, no space and no other base.
 */
static int
parse_u64(const char **s, uint64_t *out)
{
	const char *p = *s;
	uint64_t v = 0;

	if (*p < '0' || *p > '9') {
		errno = EINVAL;
		return (-1);
	}
	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v)) {
			errno = ERANGE;
			return (-1);
		}
	}
	*s = p;
	*out = v;
	return (0);
}

/* A number and at most one letter that multiplies it. */
static int
parse_scaled(const char *s, uint64_t (*unit)(char), uint64_t *out)
{
	uint64_t v, by;

	if (parse_u64(&s, &v) == -1)
		return (-1);
	if ((by = unit(*s)) == 0 || (*s != '\0' && s[1] != '\0')) {
		errno = EINVAL;
		return (-1);
	}
	if (__builtin_mul_overflow(v, by, &v)) {
		errno = ERANGE;
		return (-1);
	}
	*out = v;
	return (0);
}

static uint64_t
duration_unit(char c)
{

	switch (c) {
	case '\0':
	case 's':
		return (1000000);
	case 'm':
		return (60 * UINT64_C(1000000));
	case 'h':
		return (3600 * UINT64_C(1000000));
	case 'd':
		return (86400 * UINT64_C(1000000));
	default:
		return (0);
	}
}

static uint64_t
size_unit(char c)
{

	switch (c) {
	case '\0':
		return (1);
	case 'K':
	case 'k':
		return (UINT64_C(1) << 10);
	case 'M':
	case 'm':
		return (UINT64_C(1) << 20);
	case 'G':
	case 'g':
		return (UINT64_C(1) << 30);
	case 'T':
	case 't':
		return (UINT64_C(1) << 40);
	default:
		return (0);
	}
}

int
text_duration(const char *s, uint64_t *us)
{

	return (parse_scaled(s, duration_unit, us));
}

int
text_size(const char *s, uint64_t *bytes)
{

	return (parse_scaled(s, size_unit, bytes));
}

/* At most three digits after the point, and at least one on each side. */
int
text_cpus(const char *s, uint32_t *milli)
{
	uint64_t whole;
	uint32_t frac = 0, scale = 100;

	if (parse_u64(&s, &whole) == -1)
		return (-1);
	if (*s == '.') {
		for (s++; *s >= '0' && *s <= '9' && scale > 0; s++) {
			frac += (uint32_t)(*s - '0') * scale;
			scale /= 10;
		}
		if (scale == 100)
			goto err0;
	}
	if (*s != '\0')
		goto err0;
	if (whole > (UINT32_MAX - 999) / 1000) {
		errno = ERANGE;
		return (-1);
	}
	*milli = (uint32_t)whole * 1000 + frac;
	return (0);

err0:
	errno = EINVAL;
	return (-1);
}

/* Tenths, rounded; 1023.96 KiB is 1.0 MiB. */
int
text_quote(const char *word, char *out, size_t outlen)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";
	size_t len = strlen(word), n = 0;
	const char *p;

	if (text_escape(word, len, NULL, 0) != len)
		return (-1);
	if (len > 0 && strspn(word, plain) == len)
		n = (size_t)snprintf(out, outlen, "%s", word);
	else {
		/*
		 * Each single quote costs four more; the two around, the end.
		 */
		for (p = word; *p != '\0'; p++)
			n += *p == '\'' ? 5 : 1;
		if (n + 3 > outlen)
			return (-1);
		*out++ = '\'';
		for (p = word; *p != '\0'; p++)
			if (*p == '\'') {
				memcpy(out, "'\"'\"'", 5);
				out += 5;
			} else
				*out++ = *p;
		memcpy(out, "'", 2);
		n += 2;
	}
	return (n < outlen ? (int)n : -1);
}

const char *
text_bytes(uint64_t n)
{
	static const char units[] = "KMGTPE";
	static char ring[RING][32];
	static unsigned int turn;
	char *out = ring[turn++ % RING];
	unsigned int shift = 0;
	uint64_t tenths;

	if (n < 1024) {
		snprintf(out, sizeof(ring[0]), "%" PRIu64 " B", n);
		return (out);
	}
	do {
		shift += 10;
		tenths = (n >> shift) * 10 +
		    (((n >> (shift - 10)) & 1023) * 10 + 512) / 1024;
	} while (tenths >= 10240 && shift < 60);
	snprintf(out, sizeof(ring[0]), "%" PRIu64 ".%" PRIu64 " %ciB",
	    tenths / 10, tenths % 10, units[shift / 10 - 1]);
	return (out);
}

const char *
text_us(uint64_t us)
{
	static char ring[RING][32];
	static unsigned int turn;
	char *out = ring[turn++ % RING];
	const size_t n = sizeof(ring[0]);
	uint64_t s = us / 1000000;

	if (us < 1000)
		snprintf(out, n, "%" PRIu64 " us", us);
	else if (s == 0)
		snprintf(out, n, "%" PRIu64 ".%02" PRIu64 " ms", us / 1000,
		    us % 1000 / 10);
	else if (s < 60)
		snprintf(out, n, "%" PRIu64 ".%02" PRIu64 " s", s,
		    us % 1000000 / 10000);
	else if (s < 3600)
		snprintf(out, n, "%" PRIu64 "m %02" PRIu64 "s", s / 60, s % 60);
	else
		snprintf(out, n, "%" PRIu64 "h %02" PRIu64 "m", s / 3600,
		    s / 60 % 60);
	return (out);
}
