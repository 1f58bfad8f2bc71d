/*
 * Decides which names of which directory are sent.  Reads directories and
 * ignore files; what Git says comes from gitrepo.c, what rules mean from
 * lib/rules_walk.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "lib/text.h"
#include "proto/limits.h"
#include "reserved.h"
#include "select.h"
#include "select_internal.h"

static void
repo_free(struct repo *r)
{
	if (r == NULL)
		return;
	gitrepo_done(&r->g);
	free(r->base);
	free(r);
}

void
select_free(struct select *sel)
{
	size_t i;

	if (sel == NULL)
		return;
	for (i = 0; i < sel->nrepos; i++)
		repo_free(sel->repos[i]);
	free(sel->repos);
	rules_walk_free(sel->walk);
	rules_free(sel->rules);
	select_free(sel->git);
	names_done(&sel->git_names);
	names_done(&sel->all);
	names_done(&sel->tracked);
	free(sel->root);
	free(sel);
}

/* The top's own rules have to be there in SELECT_IGNORE. */
static int
open_ignore(struct select *sel, int rootfd, char *why)
{
	if ((sel->rules = rules_new("")) == NULL ||
	    (sel->walk = rules_walk_new(sel->rules)) == NULL) {
		snprintf(why, LIMIT_TEXT, "%s", strerror(errno));
		return (-1);
	}
	if (select_load(sel, rootfd, "", SELECT_FILE) == -1) {
		snprintf(why, LIMIT_TEXT, "%s", sel->why);
		return (-1);
	}
	return (0);
}

static int
open_git(struct select *sel, char *why)
{
	struct repo *r;

	if ((r = calloc(1, sizeof(*r))) == NULL ||
	    (r->base = strdup("")) == NULL)
		goto err0;
	why[0] = '\0';
	if (gitrepo_open(sel->root, 0, &r->g, why) == -1)
		goto err0;
	if ((sel->rules = rules_new(r->g.prefix)) == NULL ||
	    select_repo_add(sel, r) == -1)
		goto err0;
	r = NULL;
	if (select_load_above(sel, why) == -1 ||
	    (sel->walk = rules_walk_new(sel->rules)) == NULL)
		goto err0;
	return (0);

err0:
	if (why[0] == '\0')
		snprintf(why, LIMIT_TEXT, "%s", strerror(errno));
	repo_free(r);
	return (-1);
}

struct select *
select_open(int rootfd, const char *root, enum select_mode mode, char *why)
{
	struct select *sel;

	if ((sel = calloc(1, sizeof(*sel))) == NULL ||
	    (sel->root = strdup(root)) == NULL) {
		snprintf(why, LIMIT_TEXT, "%s", strerror(errno));
		goto err0;
	}
	sel->mode = mode;
	if (mode == SELECT_IGNORE && open_ignore(sel, rootfd, why) == -1)
		goto err0;
	if (mode == SELECT_IGNORE)
		select_beside_open(sel, rootfd);
	if (mode == SELECT_GIT && open_git(sel, why) == -1)
		goto err0;
	return (sel);

err0:
	select_free(sel);
	return (NULL);
}

enum select_mode
select_mode_of(const struct select *sel)
{
	return (sel->mode);
}

const char *
select_commit(const struct select *sel)
{
	return (sel->nrepos > 0 ? sel->repos[0]->g.commit : NULL);
}

const char *
select_why(const struct select *sel)
{
	return (sel->why);
}

const struct rules *
select_rules(const struct select *sel)
{
	return (sel->rules);
}

void
select_note(const struct select *sel, const char *path, const char *text)
{
	if (sel->note != NULL)
		sel->note(sel->cookie, path, text);
}

void
select_notes(struct select *sel, select_note_fn *fn, void *cookie)
{
	const struct gitrepo *g;
	char text[LIMIT_TEXT];

	sel->note = fn;
	sel->cookie = cookie;
	if (sel->nrepos == 0)
		return;
	g = &sel->repos[0]->g;
	if (g->linked)
		select_note(sel, ".git", "this is a linked work tree; its "
		    "files are sent, the repository is not, and in the "
		    "job git finds a stand-in without history");
	if (g->sparse > 0) {
		snprintf(text, sizeof(text), "a sparse checkout: %zu tracked "
		    "file%s not on disk and not sent", g->sparse,
		    g->sparse == 1 ? " is" : "s are");
		select_note(sel, ".git", text);
	}
}

/* The names that are in ${all} and wanted, in byte order. */
static int
filter(struct select *sel, struct names *out)
{
	const struct name *nm;
	size_t i;
	int rc;

	for (i = 0; i < sel->all.n; i++) {
		nm = &sel->all.v[i];
		if (reserved_unsent(nm->s, nm->len))
			continue;
		if (sel->walk != NULL && !select_is_tracked(sel, nm)) {
			rc = rules_walk_match(sel->walk, nm->s, nm->len,
			    nm->dir_hint, NULL);
			if (rc == -1)
				return (-1);
			if (rc == 1)
				continue;
		}
		if (names_add(out, nm->s, nm->len, nm->dir_hint) == -1)
			return (-1);
	}
	names_sort(out);
	return (0);
}

static int
contains(const struct names *ns, const char *name)
{
	size_t i;

	for (i = 0; i < ns->n; i++)
		if (strcmp(ns->v[i].s, name) == 0)
			return (1);
	return (0);
}

/* The rules that begin in this directory. */
static int
enter(struct select *sel, int dirfd, const char *dir)
{
	const char *file = sel->mode == SELECT_GIT ? ".gitignore" : SELECT_FILE;

	if (rules_walk_enter(sel->walk, dir) == -1)
		return (-1);
	if (sel->mode == SELECT_GIT && *dir != '\0' &&
	    contains(&sel->all, ".git") && select_repo_enter(sel, dir) == -1)
		return (-1);
	if (!rules_walk_excluded(sel->walk, NULL) &&
	    contains(&sel->all, file) &&
	    select_load(sel, dirfd, dir, file) == -1)
		return (-1);
	return (sel->mode == SELECT_GIT ? select_tracked(sel, dir) : 0);
}

int
select_names(struct select *sel, int dirfd, const char *dir, struct names *ns)
{
	names_reset(ns);
	names_reset(&sel->all);
	sel->why[0] = '\0';
	if (names_read(&sel->all, dirfd) == -1)
		return (-1);
	if (sel->walk != NULL && enter(sel, dirfd, dir) == -1)
		return (-1);
	if (filter(sel, ns) == -1)
		return (-1);
	if (sel->git != NULL)
		select_beside_names(sel, dirfd, dir, ns);
	return (0);
}

int
select_return(struct select *sel, const char *dir)
{
	if (sel->walk == NULL)
		return (0);
	if (rules_walk_enter(sel->walk, dir) == -1)
		return (-1);
	return (sel->mode == SELECT_GIT ? select_tracked(sel, dir) : 0);
}

int
select_judge(struct select *sel, const char *name, int isdir,
    struct rules_hit *hit, int *excluded)
{
	struct name nm = { .s = name, .len = (uint16_t)strlen(name),
	    .dir_hint = (uint8_t)isdir };

	memset(hit, 0, sizeof(*hit));
	*excluded = 0;
	if (sel->walk == NULL)
		return (0);
	*excluded = rules_walk_match(sel->walk, name, nm.len, isdir, hit) == 1;
	return (select_is_tracked(sel, &nm));
}
