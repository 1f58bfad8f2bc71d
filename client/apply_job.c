/*
 * The words of an apply: which tree, what was done, what is in the way.  Writes
 * to stdout and stderr; the tree is changed by apply.c.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apply.h"
#include "apply_job.h"
#include "changes.h"
#include "json.h"
#include "lib/text.h"
#include "origin.h"
#include "out.h"
#include "reserved.h"
#include "state.h"

/* The tree to apply to.  0, or an exit code after saying what is wrong. */
static int
find_tree(const struct job_record *rec, const char *into, char *root)
{
	struct obj_ref sent;

	if (into != NULL) {
		if (realpath(into, root) != NULL)
			return (0);
		out_warn("--into %s: %s", into, strerror(errno));
		return (EXIT_OURS);
	}
	if (origin_get(rec->id, root, &sent) == -1) {
		out_warn("job %s was not submitted from a tree of this user on "
		    "this machine, as far as is known here; name the tree with "
		    "--into DIR", rec->id);
		return (EXIT_OURS);
	}
	if (!obj_ref_equal(&sent, &rec->submit.root)) {
		out_warn("the host says that job %s had another tree than was "
		    "sent; nothing was applied", rec->id);
		return (EXIT_OURS);
	}
	if (access(root, F_OK) == 0)
		return (0);
	out_warn("%s, which job %s came from: %s; name another tree with "
	    "--into DIR", root, rec->id, strerror(errno));
	return (EXIT_OURS);
}

static void
say_json(const struct job_record *rec, const char *root,
    const struct apply_sum *s, int rc, int fd)
{
	json_t *o = json_object(), *v = json_array(), *c;
	size_t i;

	json_object_set_new(o, "event", json_string("applied"));
	json_object_set_new(o, "job", json_string(rec->id));
	json_set_bytes(o, "root", root, strlen(root));
	json_object_set_new(o, "exit_code", json_integer(rc));
	json_object_set_new(o, "paths", json_integer((json_int_t)(s->created +
	    s->modified + s->deleted)));
	json_object_set_new(o, "created", json_integer((json_int_t)
	    s->created));
	json_object_set_new(o, "modified", json_integer((json_int_t)
	    s->modified));
	json_object_set_new(o, "deleted", json_integer((json_int_t)
	    s->deleted));
	json_object_set_new(o, "marked", json_integer((json_int_t)s->marked));
	json_object_set_new(o, "copies", json_integer((json_int_t)s->copies));
	json_object_set_new(o, "bytes", json_integer((json_int_t)s->bytes));
	for (i = 0; i < s->n; i++) {
		c = json_object();
		json_set_bytes(c, "path", s->v[i].path, s->v[i].len);
		json_object_set_new(c, "conflict", json_string(
		    merge_words(s->v[i].why)));
		json_array_append_new(v, c);
	}
	json_object_set_new(o, "conflicts", v);
	(void)json_print(o, fd);
}

/* Always in these words, so that scripts can read it. */
static void
say_applied(const struct apply_sum *s)
{
	char more[128] = "";

	if (s->marked + s->copies > 0)
		snprintf(more, sizeof(more), "; %llu marked, %llu put beside "
		    "as *" RESERVED_COPY, (unsigned long long)s->marked,
		    (unsigned long long)s->copies);
	out_warn("applied %llu paths (%llu created, %llu modified, %llu "
	    "deleted), %llu bytes%s", (unsigned long long)(s->created +
	    s->modified + s->deleted), (unsigned long long)s->created,
	    (unsigned long long)s->modified, (unsigned long long)s->deleted,
	    (unsigned long long)s->bytes, more);
}

/* Another word of a command line.  0, or -1 when it cannot be shown. */
static int
add_word(char *line, size_t size, const char *before, const char *word)
{
	size_t n = strlen(line);

	n += (size_t)snprintf(line + n, size - n, " %s", before);
	return (n < size && text_quote(word, line + n, size - n) != -1 ? 0 :
	    -1);
}

/* The command that was given, and --conflicts. */
static void
say_again(const struct session *s, const char *job,
    const struct apply_how *how)
{
	char line[1500];
	int i, rc;

	snprintf(line, sizeof(line), "fetch --apply --conflicts");
	rc = s->on != NULL ? add_word(line, sizeof(line), "--on ", s->on) : 0;
	if (rc == 0 && s->tenant != NULL)
		rc = add_word(line, sizeof(line), "--tenant ", s->tenant);
	if (rc == 0 && how->into != NULL && !how->again)
		rc = add_word(line, sizeof(line), "--into ", how->into);
	if (rc == 0)
		rc = add_word(line, sizeof(line), how->nwant > 0 ? "-- " : "",
		    job);
	for (i = 0; rc == 0 && i < how->nwant; i++)
		rc = add_word(line, sizeof(line), "", how->want[i]);
	if (rc == 0)
		out_warn("nothing was changed; to apply the rest and mark "
		    "these: errand %s", line);
	else
		out_warn("nothing was changed; to apply the rest and mark "
		    "these, fetch the same with --conflicts");
}

static void
say_conflicts(const struct session *ses, const struct apply_sum *s,
    const char *name, const struct apply_how *how)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		out_warn("conflict: %s: %s%s%s", out_escape(s->v[i].path,
		    s->v[i].len), merge_words(s->v[i].why),
		    s->v[i].what != NULL ? "; " : "", s->v[i].what != NULL ?
		    s->v[i].what : "");
	if (!how->conflicts)
		say_again(ses, name, how);
}

static int
apply_list(struct session *s, const struct job_record *rec,
    const struct apply_how *how, struct apply_opts *o)
{
	struct apply_sum sum = { 0 };
	char cache[PATH_MAX];
	int rc;

	if (state_tree_path(s->host->host_key, s->host->tenant, o->root,
	    cache) == 0)
		o->cache = cache;
	rc = apply_run(o, &sum);
	if (s->json && (rc == 0 || rc == EXIT_CONFLICT))
		say_json(rec, o->root, &sum, rc, how->json_fd);
	else if (rc == EXIT_CONFLICT) {
		if (how->conflicts)
			say_applied(&sum);
		say_conflicts(s, &sum, rec->id, how);
	} else if (rc == 0 && !s->quiet)
		say_applied(&sum);
	apply_sum_done(&sum);
	return (rc);
}

int
apply_job(struct session *s, struct objget *g, const struct job_record *rec,
    const struct apply_how *how)
{
	struct apply_opts o = { .s = s, .g = g, .rec = rec,
	    .want = how->want, .nwant = how->nwant,
	    .conflicts = how->conflicts };
	char root[PATH_MAX];
	uint8_t *buf = NULL;
	int rc;

	if ((rc = changes_load(g, rec, &buf, &o.len)) != 0)
		return (rc);
	o.list = buf;
	if (!rec->changes.complete) {
		out_warn("the changes of job %s are incomplete; nothing was "
		    "applied (errand fetch -o DIR gets what there is)",
		    rec->id);
		rc = EXIT_OURS;
		goto done;
	}
	if ((rc = changes_wanted(buf, o.len, how->want, how->nwant)) != 0 ||
	    (rc = find_tree(rec, how->into, root)) != 0)
		goto done;
	o.root = root;
	rc = apply_list(s, rec, how, &o);
done:
	free(buf);
	return (rc);
}
