/*
 * Sections that do not end.  Memory only.
 */
#include <string.h>

#include "config_brace.h"

#define DEEP    8       /* sections in sections; there is one level today */

/* Behind a comment or a string that begins at ${p}, or ${p} itself. */
static const char *
skip(const char *p)
{
	const char *end;
	char quote;

	if (p[0] == '#' || (p[0] == '/' && p[1] == '/'))
		return (p + strcspn(p, "\n"));
	if (p[0] == '/' && p[1] == '*')
		return ((end = strstr(p + 2, "*/")) != NULL ? end + 2 :
		    p + strlen(p));
	if (p[0] != '"' && p[0] != '\'')
		return (p);
	for (quote = *p++; *p != '\0' && *p != quote; p++)
		if (p[0] == '\\' && p[1] != '\0')
			p++;
	return (*p == '\0' ? p : p + 1);
}

int
config_brace(const char *text)
{
	const char *p, *next;
	int open[DEEP], depth = 0, line = 1;

	for (p = text; *p != '\0'; p = next) {
		if ((next = skip(p)) == p)
			next = p + 1;
		if (*p == '{' && depth++ < DEEP)
			open[depth - 1] = line;
		else if (*p == '}' && depth > 0)
			depth--;
		for (; p < next; p++)
			line += *p == '\n';
	}
	return (depth == 0 ? 0 : open[depth < DEEP ? depth - 1 : DEEP - 1]);
}
