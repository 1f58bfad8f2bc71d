/*
 * Names of images.  Memory only.
 */
#include <string.h>

#include "image.h"

int
image_name_valid(const char *s)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	static const char more[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t n = strlen(s);

	return (n > 0 && n <= IMAGE_NAME_MAX && strchr(first, s[0]) != NULL &&
	    strspn(s, more) == n);
}
