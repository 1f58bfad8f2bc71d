/*
 * Says what decides whether a path is sent.  Opens directories below the root,
 * never through a link.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "explain.h"
#include "lib/io.h"
#include "out.h"
#include "reserved.h"

static int
has(const struct names *ns, const char *name)
{
	size_t i;

	for (i = 0; i < ns->n; i++)
		if (strcmp(ns->v[i].s, name) == 0)
			return (1);
	return (0);
}

/* One name of the directory ${fd} that select_names was asked about. */
static void
judge(struct select *sel, int fd, const char *name, int there, int isdir,
    struct explain *ex)
{
	struct stat st;
	int excluded, tracked, exists;

	exists = fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	ex->is_dir = exists ? S_ISDIR(st.st_mode) : isdir;
	tracked = select_judge(sel, name, ex->is_dir, &ex->hit, &excluded);
	ex->sent = there;
	ex->beside = there && select_beside_judge(sel, name, ex->is_dir,
	    &ex->git);
	if (reserved_unsent(name, strlen(name)))
		ex->why = EXPLAIN_NEVER;
	else if (!exists && !excluded)
		ex->why = EXPLAIN_ABSENT;
	else if (exists && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) &&
	    !S_ISLNK(st.st_mode)) {
		ex->why = EXPLAIN_KIND;
		ex->sent = 0;
	} else if (tracked)
		ex->why = EXPLAIN_TRACKED;
	else if (ex->hit.rule.line > 0)
		ex->why = EXPLAIN_RULE;
	else
		ex->why = select_mode_of(sel) == SELECT_ALL ? EXPLAIN_ALL :
		    EXPLAIN_NO_RULE;
}

/* A directory on the way that is not sent decides for all below it. */
static void
settle_above(size_t len, struct explain *ex)
{
	if (ex->why == EXPLAIN_RULE && ex->hit.at == 0 && !ex->hit.above)
		ex->hit.at = len;
	if (ex->why == EXPLAIN_RULE || ex->why == EXPLAIN_NEVER)
		return;
	ex->why = EXPLAIN_ABSENT;
	ex->sent = 0;
}

int
explain_path(int rootfd, struct select *sel, const char *path, int isdir,
    struct explain *ex)
{
	char dir[PATH_MAX], name[256];
	struct names ns = { 0 };
	const char *p = path, *slash;
	size_t n;
	int fd, next, rc = 0;

	memset(ex, 0, sizeof(*ex));
	ex->sent = ex->is_dir = 1;
	ex->why = EXPLAIN_ROOT;
	fd = openat(rootfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (; *p != '\0' && fd != -1; p = slash + 1) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(p > path ?
		    p - path - 1 : 0), path);
		if ((rc = select_names(sel, fd, dir, &ns)) == -1)
			break;
		slash = strchr(p, '/');
		n = slash != NULL ? (size_t)(slash - p) : strlen(p);
		snprintf(name, sizeof(name), "%.*s", (int)n, p);
		judge(sel, fd, name, has(&ns, name), isdir || slash != NULL,
		    ex);
		if (slash == NULL)
			break;
		if (!ex->sent || !ex->is_dir) {
			settle_above((size_t)(slash - path), ex);
			break;
		}
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
		io_close(&fd);
		fd = next;
	}
	if (rc == -1 || fd == -1) {
		out_warn("%s: %s", path, *select_why(sel) != '\0' ?
		    select_why(sel) : strerror(errno));
		rc = -1;
	}
	names_done(&ns);
	io_close(&fd);
	return (rc);
}

const char *
explain_rule(const struct rules_hit *hit)
{
	static char text[1200];

	if (hit->rule.line == 0)
		return ("");
	snprintf(text, sizeof(text), "%.500s:%u: %.500s", hit->name != NULL ?
	    out_escape(hit->name, strlen(hit->name)) : "?", hit->rule.line,
	    out_escape(hit->rule.pat, hit->rule.len));
	return (text);
}

/* What Git would have said of a path that it does not decide about. */
static void
say_beside(const struct explain *ex, char *text, size_t len)
{
	size_t n = strlen(text);

	if (ex->beside)
		snprintf(text + n, len - n, ", though Git ignores it (%s); its "
		    "rules do not count beside " SELECT_FILE,
		    explain_rule(&ex->git));
}

const char *
explain_words(const struct explain *ex, const char *path)
{
	static char text[3000];
	const char *rule = explain_rule(&ex->hit);

	text[0] = '\0';
	switch (ex->why) {
	case EXPLAIN_NO_RULE:
		snprintf(text, sizeof(text), "no rule matches");
		say_beside(ex, text, sizeof(text));
		return (text);
	case EXPLAIN_ALL:
		return ("everything is");
	case EXPLAIN_ROOT:
		return ("it is the tree");
	case EXPLAIN_NEVER:
		return ("that name never is");
	case EXPLAIN_ABSENT:
		return ("there is no such path");
	case EXPLAIN_KIND:
		return ("neither a file nor a directory nor a link");
	case EXPLAIN_TRACKED:
		snprintf(text, sizeof(text), "tracked%s%s", ex->hit.rule.line >
		    0 && !ex->hit.rule.negated ? ", although " : "",
		    ex->hit.rule.negated ? "" : rule);
		break;
	case EXPLAIN_RULE:
		if (ex->hit.above)
			snprintf(text, sizeof(text), "%s excludes a directory "
			    "above the tree", rule);
		else if (ex->hit.at > 0)
			snprintf(text, sizeof(text), "%s excludes %s, and so "
			    "all below", rule, out_escape(path, ex->hit.at));
		else
			snprintf(text, sizeof(text), "%s", rule);
		say_beside(ex, text, sizeof(text));
		break;
	}
	return (text);
}

struct dead {
	const struct rules *rules;
	struct rules_walk *walk;
	void (*fn)(void *, const char *);
	void *cookie;
	int n;
};

/* The longest directory that a pattern names without anything special. */
static size_t
literal_dirs(const char *pat, size_t len)
{
	size_t i, n = 0;

	for (i = 0; i < len && strchr("*?[\\", pat[i]) == NULL; i++)
		if (pat[i] == '/')
			n = i;
	return (n);
}

static int
look_at(void *cookie, const char *base, const char *name,
    const struct ignore_hit *rule)
{
	struct dead *d = cookie;
	struct rules_hit hit, self = { .rule = *rule, .name = name };
	char dir[PATH_MAX], text[3000], mine[1200];
	const char *pat = rule->pat + 1, *rel;
	size_t len = rule->len - 1, n;

	if (!rule->negated)
		return (0);
	if (len > 0 && pat[len - 1] == '/')
		len--;
	if (len > 0 && *pat == '/') {
		pat++;
		len--;
	}
	n = literal_dirs(pat, len);
	if (n == 0 || snprintf(dir, sizeof(dir), "%s%s%.*s", base, *base ?
	    "/" : "", (int)n, pat) >= (int)sizeof(dir) ||
	    (rel = rules_below(d->rules, dir)) == NULL)
		return (0);
	if (rules_walk_enter(d->walk, rel) == -1)
		return (-1);
	if (!rules_walk_excluded(d->walk, &hit) || hit.at == 0)
		return (0);
	snprintf(mine, sizeof(mine), "%s", explain_rule(&self));
	snprintf(text, sizeof(text), "%s can bring nothing back, since %s "
	    "excludes %s with all that is in it", mine, explain_rule(&hit),
	    out_escape(rel, hit.at));
	d->fn(d->cookie, text);
	d->n++;
	return (0);
}

int
explain_dead(const struct rules *rules, void (*fn)(void *, const char *),
    void *cookie)
{
	struct dead d = { .rules = rules, .fn = fn, .cookie = cookie };
	int rc;

	if (rules == NULL)
		return (0);
	if ((d.walk = rules_walk_new(rules)) == NULL)
		return (-1);
	rc = rules_each(rules, look_at, &d);
	rules_walk_free(d.walk);
	return (rc == 0 ? d.n : -1);
}
