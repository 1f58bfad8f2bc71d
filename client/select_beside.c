/*
 * What Git would not have sent of a tree whose rules are .errandignore's: a
 * second selection goes along, in Git mode, and is asked about each directory
 * too.  It decides nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"
#include "select_internal.h"

void
select_beside_open(struct select *sel, int rootfd)
{
	char why[LIMIT_TEXT];

	/* Where Git cannot be asked there is nothing to say. */
	if (select_root_in_git(sel->root))
		sel->git = select_open(rootfd, sel->root, SELECT_GIT, why);
}

static void
remember(struct select *sel, const char *dir, const char *name)
{
	if (sel->unignored++ == 0)
		snprintf(sel->unignored_path, sizeof(sel->unignored_path),
		    "%s%s%s", dir, *dir != '\0' ? "/" : "", name);
}

void
select_beside_names(struct select *sel, int dirfd, const char *dir,
    const struct names *sent)
{
	size_t i, k = 0;

	if (*dir == '\0')
		sel->unignored = 0;
	if (select_names(sel->git, dirfd, dir, &sel->git_names) == -1)
		return;
	for (i = 0; i < sent->n; i++) {
		while (k < sel->git_names.n &&
		    strcmp(sel->git_names.v[k].s, sent->v[i].s) < 0)
			k++;
		if (!sent->v[i].dir_hint &&
		    strcmp(sent->v[i].s, SELECT_FILE) != 0 &&
		    (k == sel->git_names.n ||
		    strcmp(sel->git_names.v[k].s, sent->v[i].s) != 0))
			remember(sel, dir, sent->v[i].s);
	}
}

int
select_beside_judge(struct select *sel, const char *name, int isdir,
    struct rules_hit *hit)
{
	int excluded;

	memset(hit, 0, sizeof(*hit));
	return (sel->git != NULL && !select_judge(sel->git, name, isdir, hit,
	    &excluded) && excluded);
}

const char *
select_unignored(const struct select *sel)
{
	static char text[LIMIT_TEXT];
	char esc[300];

	if (sel->git == NULL || sel->unignored == 0)
		return (NULL);
	text_escape(sel->unignored_path, strlen(sel->unignored_path), esc,
	    sizeof(esc));
	if (sel->unignored == 1)
		snprintf(text, sizeof(text), "%s, which Git ignores, is sent, "
		    "because " SELECT_FILE " replaces Git's rules", esc);
	else
		snprintf(text, sizeof(text), "%llu files that Git ignores are "
		    "sent (%s, for one), because " SELECT_FILE " replaces "
		    "Git's rules", (unsigned long long)sel->unignored, esc);
	return (text);
}
