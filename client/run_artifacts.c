/*
 * What became of what --artifact named.  Asks the host for the job's changes.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "changes.h"
#include "out.h"
#include "run_artifacts.h"
#include "tree_path.h"

static int
in_list(const uint8_t *list, size_t len, char *path)
{
	struct change_iter it;
	struct change c;
	char *want[1] = { path };

	if (change_iter_init(&it, list, len) == -1)
		return (1);
	while (change_iter_next(&it, &c) == 1)
		if (c.op != CHANGE_DELETE && changes_selected(want, 1, &c))
			return (1);
	return (0);
}

static void
say(const char *arg)
{
	out_warn("--artifact %s: the job neither made nor changed such a "
	    "path%s", arg, strpbrk(arg, "*?[") != NULL ? "; it is taken as "
	    "it stands, not as a pattern" : "");
}

void
run_artifacts_say(struct session *s, const struct job_record *rec,
    const struct run_opts *o, const char *root, const char *workdir)
{
	char path[PATH_MAX];
	struct objget *g;
	uint8_t *list = NULL;
	size_t i, len = 0;

	if (o->nartifacts == 0 || *root == '\0' || !rec->ran ||
	    !rec->changes.complete || (g = objget_new(s)) == NULL)
		return;
	if (changes_load(g, rec, &list, &len) == 0)
		for (i = 0; i < o->nartifacts; i++)
			if (tree_path(root, workdir, o->artifacts[i], path) ==
			    0 && *path != '\0' && !in_list(list, len, path))
				say(o->artifacts[i]);
	free(list);
	objget_free(g);
}
