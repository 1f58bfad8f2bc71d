/*
 * Names that are ours; see reserved.h.  Touches nothing.
 */
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
		if (is_ours(path, n))
			return (1);
		if (slash == NULL)
			return (0);
	}
}
