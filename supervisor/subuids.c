/*
 * Whom a user id belongs to that is no user's own: somebody with 65,536 of them
 * is not as many users.  Reads one file.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "subuids.h"

int
subuids_owner(const char *path, uint32_t uid, char *who, size_t size)
{
	uint64_t first, count;
	char line[512], *colon;
	int found = 0;
	FILE *f;

	if ((f = fopen(path, "re")) == NULL)
		return (0);
	while (!found && fgets(line, sizeof(line), f) != NULL) {
		if ((colon = strchr(line, ':')) == NULL || sscanf(colon,
		    ":%10" SCNu64 ":%10" SCNu64, &first, &count) != 2)
			continue;
		found = uid >= first && uid - first < count;
		if (found)
			snprintf(who, size, "%.*s", (int)(colon - line), line);
	}
	fclose(f);
	return (found);
}
