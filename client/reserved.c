/*
 * Names that are ours; see reserved.h.  Touches nothing.
 */
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "reserved.h"

static int
is(const char *name, size_t len, const char *what)
{
	return (len == strlen(what) && strncasecmp(name, what, len) == 0);
}

static int
is_ours(const char *name, size_t len)
{
	return (is(name, len, ".git") || is(name, len, RESERVED_APPLY));
}

/* What a file system that folds case looks through. */
static const struct range {
	uint32_t first, last;
} ignored[] = {
	{ 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c },
	{ 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },
	{ 0x200b, 0x200f }, { 0x202a, 0x202e }, { 0x2060, 0x206f },
	{ 0x3164, 0x3164 }, { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff },
	{ 0xffa0, 0xffa0 }, { 0xfff0, 0xfff8 }, { 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

/* How many bytes at ${p} make such a character; 0: it is none. */
static size_t
ignored_len(const uint8_t *p, size_t len)
{
	size_t i, n = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : *p >= 0xc0 ? 2 : 1;
	uint32_t c;

	if (n == 1 || n > len)
		return (0);
	c = *p & (0xffU >> (n + 1));
	for (i = 1; i < n; i++)
		c = c << 6 | (p[i] & 0x3f);
	for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		if (c >= ignored[i].first && c <= ignored[i].last)
			return (n);
	return (0);
}

/*
 * Could some file system take it for one that is ours?  ext4 and others that
 * fold case leave characters out; those of Windows leave out points and blanks
 * at the end, have streams behind a colon, and short names.
 */
static int
is_like_ours(const char *name, size_t len)
{
	const uint8_t *p = (const uint8_t *)name;
	char plain[32];
	size_t i, n, m = 0;

	for (i = 0; i < len && p[i] != ':' && p[i] != '\\'; i += n) {
		if ((n = ignored_len(p + i, len - i)) > 0)
			continue;
		n = 1;
		if (m < sizeof(plain))
			plain[m++] = name[i];
		else if (name[i] != '.' && name[i] != ' ')
			return (0);
	}
	while (m > 0 && (plain[m - 1] == '.' || plain[m - 1] == ' '))
		m--;
	return (is_ours(plain, m) || is(plain, m, "git~1"));
}

int
reserved_unsent(const char *name, size_t len)
{
	const size_t n = strlen(RESERVED_COPY);

	return (is_ours(name, len) || (len > n &&
	    memcmp(name + len - n, RESERVED_COPY, n) == 0));
}

int
reserved_path(const char *path, size_t len)
{
	const char *end = path + len, *slash;
	size_t n;

	for (;; path = slash + 1) {
		slash = memchr(path, '/', (size_t)(end - path));
		n = (size_t)((slash != NULL ? slash : end) - path);
		if (is_like_ours(path, n))
			return (1);
		if (slash == NULL)
			return (0);
	}
}
