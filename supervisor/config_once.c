/*
 * What a file of settings has said already.  Memory only.
 */
#include <string.h>

#include "config_once.h"

#define SEEN_MAX        256     /* more than there are settings */

static struct seen {
	const cfg_t *section;
	const char *name;
	int line;
} seen[SEEN_MAX];
static size_t nseen;

void
config_once_reset(void)
{
	nseen = 0;
}

/* The line where it stood before, or 0. */
static int
before(const cfg_t *section, const char *name, int line)
{
	size_t i;

	for (i = 0; i < nseen; i++)
		if (seen[i].section == section &&
		    strcmp(seen[i].name, name) == 0)
			return (seen[i].line);
	if (nseen < SEEN_MAX)
		seen[nseen++] = (struct seen){ section, name, line };
	return (0);
}

int
config_once(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *name = cfg_opt_name(opt);
	int line;

	/* A list comes here with each of its values. */
	if (cfg_opt_size(opt) > 1 || (line = before(cfg, name,
	    cfg->line)) == 0)
		return (0);
	cfg_error(cfg, "%s is given a second time, after line %d; keep one of "
	    "the two", name, line);
	return (-1);
}
