/*
 * Text in messages: what a name may hold, and how other text is mended.  Memory
 * only.
 */
#include <string.h>

#include "lib/text.h"
#include "proto/edge.h"

/* U+0000 to U+001F, U+007F and U+0080 to U+009F. */
static int
has_control(const char *s)
{
	const unsigned char *p;

	for (p = (const unsigned char *)s; *p != '\0'; p++)
		if (*p < 0x20 || *p == 0x7f ||
		    (p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f))
			return (1);
	return (0);
}

int
edge_name_valid(const char *s)
{
	return (text_utf8_valid(s, strlen(s)) && !has_control(s));
}

/* Length of the valid character at ${s}, 0 if there is none. */
static size_t
char_len(const char *s, size_t len)
{
	size_t n;

	for (n = 1; n <= 4 && n <= len; n++)
		if (text_utf8_valid(s, n))
			return (n);
	return (0);
}

void
edge_mend(char *s)
{
	size_t len = strlen(s), n;

	while (len > 0) {
		if ((n = char_len(s, len)) == 0) {
			*s = '?';
			n = 1;
		}
		s += n;
		len -= n;
	}
}
