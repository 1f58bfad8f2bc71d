/*
 * UTF-8, and bytes made fit for a terminal.  Memory only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "size.h"
#include "text.h"

/*
 * The length of the valid UTF-8 sequence at ${p} (1 to 4) and its code point,
 * or 0: a lone continuation, an overlong form, a surrogate, above U+10FFFF,
 * or cut off after ${len} bytes.
 */
static size_t
utf8_decode(const uint8_t *p, size_t len, uint32_t *cp)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c = p[0];
	size_t i, n;

	if (c < 0x80) {
		*cp = c;
		return (1);
	}
	if (c >= 0xc2 && c <= 0xdf)
		n = 2, c &= 0x1f;
	else if (c >= 0xe0 && c <= 0xef)
		n = 3, c &= 0x0f;
	else if (c >= 0xf0 && c <= 0xf4)
		n = 4, c &= 0x07;
	else
		return (0);
	if (n > len)
		return (0);
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return (0);
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return (0);
	*cp = c;
	return (n);
}

int
text_utf8_valid(const void *buf, size_t len)
{
	const uint8_t *p = buf;
	size_t n;
	uint32_t cp;

	while (len > 0) {
		if ((n = utf8_decode(p, len, &cp)) == 0)
			return (0);
		p += n;
		len -= n;
	}
	return (1);
}

/* May this code point reach a terminal as it is? */
static int
is_plain(uint32_t cp)
{

	if (cp < 0x20 || (cp >= 0x7f && cp <= 0x9f) || cp == '\\')
		return (0);

	/* Marks, embeddings, overrides and isolates reorder what is seen. */
	if (cp == 0x061c || cp == 0x200e || cp == 0x200f)
		return (0);
	if ((cp >= 0x202a && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069))
		return (0);
	return (1);
}

/* What stands for the ${n} bytes at ${p}; at most 4 * 4 characters. */
static size_t
escape_one(const uint8_t *p, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";
	size_t i, m = 0;

	if (n == 1 && (p[0] == '\n' || p[0] == '\t' || p[0] == '\\')) {
		out[0] = '\\';
		out[1] = p[0] == '\n' ? 'n' : p[0] == '\t' ? 't' : '\\';
		return (2);
	}
	for (i = 0; i < n; i++) {
		out[m++] = '\\';
		out[m++] = 'x';
		out[m++] = digits[p[i] >> 4];
		out[m++] = digits[p[i] & 0xf];
	}
	return (m);
}

/* Once a piece does not fit, no later one is written: no holes. */
size_t
text_escape(const void *buf, size_t len, char *out, size_t outlen)
{
	const uint8_t *p = buf;
	const char *piece;
	char esc[16];
	size_t n, m, need = 0, used = 0;
	uint32_t cp;

	for (; len > 0; p += n, len -= n) {
		n = utf8_decode(p, len, &cp);
		if (n != 0 && is_plain(cp)) {
			piece = (const char *)p;
			m = n;
		} else {
			if (n == 0)
				n = 1;
			m = escape_one(p, n, esc);
			piece = esc;
		}
		if (used == need && m < outlen && used < outlen - m) {
			memcpy(out + used, piece, m);
			used += m;
		}
		need += m;
	}
	if (outlen > 0)
		out[used] = '\0';
	return (need);
}

#define JSON_ESCAPE     6       /* characters, of each unit of UTF-16 */

/* How the ${n} bytes of JSON at ${p} are written; at most JSON_ESCAPE. */
static size_t
json_one(const char *p, size_t n, uint32_t cp, char *out)
{
	if (n == 0 || cp == '\\' || is_plain(cp)) {
		n += n == 0;
		memcpy(out, p, n);
		return (n);
	}
	return ((size_t)snprintf(out, JSON_ESCAPE + 1, "\\u%04x",
	    (unsigned int)cp));
}

char *
text_json(const char *json, size_t len)
{
	size_t i, n, most, used = 0;
	uint32_t cp = 0;
	char *out;

	if (size_mul(len, JSON_ESCAPE, &most) == -1 ||
	    (out = malloc(most + 1)) == NULL)
		return (NULL);
	for (i = 0; i < len; i += n > 0 ? n : 1) {
		n = utf8_decode((const uint8_t *)json + i, len - i, &cp);
		used += json_one(json + i, n, cp, out + used);
	}
	out[used] = '\0';
	return (out);
}
