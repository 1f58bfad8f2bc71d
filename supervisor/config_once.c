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
	/* Of a list: how long it is, and whether it has come to its end. */
	unsigned int size;
	int whole;
} seen[SEEN_MAX];
static size_t nseen;

void
config_once_reset(void)
{
	nseen = 0;
}

/* How it stood before, or NULL. */
static struct seen *
before(const cfg_t *section, const char *name, int line, unsigned int size)
{
	size_t i;

	for (i = 0; i < nseen; i++)
		if (seen[i].section == section &&
		    strcmp(seen[i].name, name) == 0)
			return (&seen[i]);
	if (nseen < SEEN_MAX)
		seen[nseen++] = (struct seen){ section, name, line, size, 0 };
	return (NULL);
}

/* Lists come here with each value, and once more at their end. */
static int
goes_on(struct seen *s, unsigned int size)
{
	if (s->whole && size <= s->size)
		return (0);
	s->whole = size == s->size;
	s->size = size;
	return (1);
}

int
config_once(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *name = cfg_opt_name(opt);
	unsigned int size = cfg_opt_size(opt);
	struct seen *s = before(cfg, name, cfg->line, size);

	if (s == NULL || ((opt->flags & CFGF_LIST) != 0 && goes_on(s, size)))
		return (0);
	cfg_error(cfg, "%s is given a second time, after line %d; keep one of "
	    "the two", name, s->line);
	return (-1);
}
