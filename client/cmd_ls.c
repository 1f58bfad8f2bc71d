/*
 * errand ls: what would be sent, and what decides it.  Talks to no host.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apply.h"
#include "cmd.h"
#include "common.h"
#include "explain.h"
#include "json.h"
#include "lib/io.h"
#include "lib/text.h"
#include "listing.h"
#include "out.h"
#include "progress.h"
#include "scan.h"
#include "select.h"
#include "tree_path.h"

enum { OPT_DIGEST = 500, OPT_EXPLAIN };

struct ls {
	struct select *sel;
	char root[PATH_MAX];
	int rootfd;
	int nul, json, quiet;
	int digest;
	const char *given;      /* --root */
	const char *explain;
	int all;
};

static const struct option longs[] = {
	{ "root", required_argument, NULL, 'C' },
	{ "include-all", no_argument, NULL, 'a' },
	{ "digest", no_argument, NULL, OPT_DIGEST },
	{ "explain", required_argument, NULL, OPT_EXPLAIN },
	COMMON_OPTS
};

static const char *
kind_of(mode_t mode)
{
	return (S_ISDIR(mode) ? "dir" : S_ISLNK(mode) ? "link" : "file");
}

static int
show(void *cookie, const char *path, const char *name, const struct stat *st)
{
	const struct ls *l = cookie;
	int isdir = S_ISDIR(st->st_mode);
	json_t *o;

	(void)name;
	if (l->json) {
		o = json_object();
		json_set_bytes(o, "path", path, strlen(path));
		json_object_set_new(o, "kind", json_string(kind_of(
		    st->st_mode)));
		fflush(stdout);
		return (json_print(o, STDOUT_FILENO) == 0 ? 0 : -1);
	}
	if (l->nul)
		printf("%s%s%c", path, isdir ? "/" : "", '\0');
	else
		printf("%s%s\n", out_escape(path, strlen(path)),
		    isdir ? "/" : "");
	return (0);
}

static void
note(void *cookie, const char *path, const char *text)
{
	const struct ls *l = cookie;

	if (!l->quiet) {
		progress_clear();
		out_warn("%s: %s", path, text);
	}
}

static void
dead(void *cookie, const char *text)
{
	const struct ls *l = cookie;

	if (!l->quiet)
		out_warn("warning: %s", text);
}

/* Nothing is sent, so that what a host has, and its cache, does not help. */
static int
show_digest(struct ls *l)
{
	struct scan_opts so = { .root = l->root, .sel = l->sel, .note = note,
	    .progress = NULL, .cookie = l };
	char why[LIMIT_TEXT], hex[2 * OBJ_ID_LEN + 1];
	struct scan *s;
	json_t *o;
	int rc = 0;

	if ((s = scan_run(&so, why)) == NULL) {
		out_warn("%s", why);
		return (-1);
	}
	text_hex(scan_sum(s)->content, OBJ_ID_LEN, hex);
	if (l->json) {
		o = json_object();
		json_object_set_new(o, "content_digest", json_string(hex));
		json_object_set_new(o, "files", json_integer((json_int_t)
		    scan_sum(s)->files));
		json_object_set_new(o, "bytes", json_integer((json_int_t)
		    scan_sum(s)->bytes));
		rc = json_print(o, STDOUT_FILENO);
	} else
		printf("%s\n", hex);
	scan_free(s);
	return (rc);
}

static json_t *
explain_json(const struct explain *ex, const char *path)
{
	static const char *const names[] = { "no_rule", "rule", "tracked",
	    "include_all", "root", "never", "absent", "kind" };
	json_t *o = json_object(), *r = json_null();

	json_set_bytes(o, "path", path, strlen(path));
	json_object_set_new(o, "sent", json_boolean(ex->sent));
	json_object_set_new(o, "why", json_string(names[ex->why]));
	if (ex->hit.rule.line > 0) {
		r = json_object();
		json_set_bytes(r, "file", ex->hit.name, strlen(ex->hit.name));
		json_object_set_new(r, "line", json_integer(
		    ex->hit.rule.line));
		json_set_bytes(r, "pattern", ex->hit.rule.pat,
		    ex->hit.rule.len);
	}
	json_object_set_new(o, "rule", r);
	if (ex->hit.at > 0)
		json_set_bytes(o, "excludes", path, ex->hit.at);
	return (o);
}

/* 0, or an exit code: whether it is sent is a question with an answer. */
static int
show_why(struct ls *l)
{
	char here[PATH_MAX], path[PATH_MAX];
	const char *dir = "";
	size_t n = strlen(l->root), len = strlen(l->explain);
	struct explain ex;

	if (l->given == NULL && getcwd(here, sizeof(here)) != NULL &&
	    strncmp(here, l->root, n) == 0 && here[n] == '/')
		dir = here + n + 1;
	if (tree_path(l->root, dir, l->explain, path) == -1) {
		out_warn("%s: not in the tree, which is %s", l->explain,
		    l->root);
		return (EXIT_NO);
	}
	if (explain_path(l->rootfd, l->sel, path, len > 0 &&
	    l->explain[len - 1] == '/', &ex) == -1)
		return (EXIT_OURS);
	if (l->json)
		(void)json_print(explain_json(&ex, path), STDOUT_FILENO);
	else
		printf("%s: %s: %s\n", *path == '\0' ? "." : out_escape(path,
		    strlen(path)), ex.sent ? "sent" : "not sent",
		    explain_words(&ex, path));
	return (ex.sent ? 0 : EXIT_NO);
}

static int
work(struct ls *l)
{
	const char *beside;
	int rc;

	if (l->digest)
		rc = show_digest(l) == 0 ? 0 : EXIT_OURS;
	else if (l->explain != NULL)
		rc = show_why(l);
	else
		rc = listing_walk(l->rootfd, l->sel, show, l) == 0 ? 0 :
		    EXIT_OURS;
	if (l->explain == NULL && !l->quiet &&
	    (beside = select_unignored(l->sel)) != NULL)
		out_warn("note: %s", beside);
	/* In Git's own files they are everywhere and somebody else's. */
	if (l->explain != NULL || select_mode_of(l->sel) == SELECT_IGNORE)
		(void)explain_dead(select_rules(l->sel), dead, l);
	return (rc);
}

static int
list_root(struct ls *l)
{
	char why[LIMIT_TEXT];
	enum select_mode mode;
	int rc = -1;

	if (l->given == NULL)
		rc = select_find_root(".", l->all, l->root, &mode, why);
	else if (realpath(l->given, l->root) == NULL)
		snprintf(why, sizeof(why), "%.300s: %s", l->given,
		    strerror(errno));
	else
		rc = select_root_mode(l->root, l->all, &mode, why);
	if (rc == -1) {
		out_warn("%s", why);
		return (EXIT_OURS);
	}
	if ((rc = apply_recover(l->root, l->quiet)) != 0)
		return (rc);
	l->rootfd = open(l->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->rootfd == -1) {
		out_warn("%s: %s", l->root, strerror(errno));
		return (EXIT_OURS);
	}
	if ((l->sel = select_open(l->rootfd, l->root, mode, why)) == NULL) {
		out_warn("%s", why);
		rc = EXIT_OURS;
	} else {
		select_notes(l->sel, note, l);
		rc = work(l);
	}
	select_free(l->sel);
	io_close(&l->rootfd);
	return (out_flush() == 0 ? rc : EXIT_OURS);
}

int
cmd_ls(int argc, char **argv)
{
	struct session s = { 0 };
	struct ls *l;
	int c, rc = 0;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		return (EXIT_OURS);
	while (rc == 0 && (c = getopt_long(argc, argv, "C:zqv", longs,
	    NULL)) != -1) {
		if (c == 'C')
			l->given = optarg;
		else if (c == 'a')
			l->all = 1;
		else if (c == 'z')
			l->nul = 1;
		else if (c == OPT_DIGEST)
			l->digest = 1;
		else if (c == OPT_EXPLAIN)
			l->explain = optarg;
		else
			rc = common_option(&s, "ls", c, optarg);
	}
	l->json = s.json;
	l->quiet = s.quiet;
	if (rc == 0 && optind < argc)
		rc = out_usage("ls takes no arguments (--explain PATH says "
		    "what decides about one)");
	if (rc == 0)
		rc = list_root(l);
	free(l);
	return (common_exit(rc));
}
