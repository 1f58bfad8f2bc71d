/*
 * errand diff: what a job changed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "changes.h"
#include "cmd.h"
#include "common.h"
#include "json.h"
#include "lib/text.h"
#include "lib/tree.h"
#include "out.h"
#include "patch.h"

enum { OPT_STAT = 500, OPT_PATCH };

static const struct option longs[] = {
	{ "stat", no_argument, NULL, OPT_STAT },
	{ "patch", no_argument, NULL, OPT_PATCH }, COMMON_OPTS
};

struct diff {
	int nul, stat, json, patch;
	char *const *paths;
	int npaths;
	uint64_t count[CHANGE_TYPE + 1], bytes;
};

static const char *
kind_name(uint8_t kind)
{
	return (kind == TREE_FILE ? "file" : kind == TREE_DIR ? "dir" : "link");
}

static int
show_json(const struct change *c)
{
	json_t *o = json_object();
	char mode[8];

	json_object_set_new(o, "op", json_stringn((char[]){
	    change_letter(c->op) }, 1));
	json_set_bytes(o, "path", c->path, c->path_len);
	json_object_set_new(o, "bytes", json_integer((json_int_t)c->size));
	if (c->op != CHANGE_DELETE) {
		json_object_set_new(o, "kind", json_string(kind_name(
		    c->kind)));
		snprintf(mode, sizeof(mode), "%04o", c->mode);
		json_object_set_new(o, "mode", json_string(mode));
	}
	if (c->op != CHANGE_DELETE && c->kind == TREE_LINK)
		json_set_bytes(o, "target", c->target, c->target_len);
	return (json_print(o, STDOUT_FILENO));
}

static void
show_line(struct diff *d, const struct change *c)
{
	printf("%c ", change_letter(c->op));
	if (d->stat)
		printf("%10s ", text_bytes(c->size));
	if (d->nul) {
		fwrite(c->path, 1, c->path_len, stdout);
		putchar('\0');
	} else
		printf("%s\n", out_escape(c->path, c->path_len));
}

static void
show_sum(const struct diff *d)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i <= CHANGE_TYPE; i++)
		n += d->count[i];
	printf("%llu path%s: %llu created, %llu modified, %llu deleted, %llu "
	    "other mode, %llu other type; %s\n", (unsigned long long)n,
	    n == 1 ? "" : "s", (unsigned long long)d->count[CHANGE_CREATE],
	    (unsigned long long)d->count[CHANGE_MODIFY],
	    (unsigned long long)d->count[CHANGE_DELETE],
	    (unsigned long long)d->count[CHANGE_MODE],
	    (unsigned long long)d->count[CHANGE_TYPE], text_bytes(d->bytes));
}

/* All changes, as they were asked for.  0, or an exit code. */
static int
show_all(struct objget *g, const struct job_record *rec, struct diff *d,
    const uint8_t *buf, size_t len)
{
	struct patch *p = NULL;
	struct change_iter it;
	struct change c;
	int rc;

	if (d->patch && (p = patch_new(g, &rec->submit.root)) == NULL)
		return (EXIT_OURS);
	rc = change_iter_init(&it, buf, len);
	while (rc == 0 && change_iter_next(&it, &c) == 1) {
		if (!changes_selected(d->paths, d->npaths, &c))
			continue;
		d->count[c.op]++;
		d->bytes += c.kind == TREE_FILE && c.op != CHANGE_MODE ?
		    c.size : 0;
		if (d->patch)
			rc = patch_add(p, &c);
		else if (d->json)
			rc = show_json(&c);
		else
			show_line(d, &c);
	}
	if (rc == 0 && d->patch)
		rc = patch_finish(p);
	patch_free(p);
	if (rc == 0 && d->stat && !d->json && !d->nul)
		show_sum(d);
	return (rc == 0 ? 0 : EXIT_OURS);
}

/* What is not in the list. */
static int
say_missing(const struct session *s, const struct job_record *rec, int rc)
{
	if (!rec->changes.complete) {
		out_warn("the changes of job %s are incomplete: %s", rec->id,
		    rec->reason.code != ERR_NONE ? rec->reason.text :
		    rec->ran ? "not everything could be collected" :
		    "the command did not run");
		rc = rec->ran ? EXIT_OURS : EXIT_NO;
	}
	changes_say_ignored(s, rec);
	return (rc);
}

static int
diff_job(struct session *s, const char *name, struct diff *d)
{
	struct job_record *rec;
	struct objget *g = NULL;
	uint8_t *buf = NULL;
	size_t len;
	int rc = EXIT_OURS;

	if ((rec = calloc(1, sizeof(*rec))) == NULL ||
	    (g = objget_new(s)) == NULL ||
	    (rc = common_record(s, name, rec)) != 0 ||
	    (rc = changes_load(g, rec, &buf, &len)) != 0)
		goto done;
	if ((rc = changes_wanted(buf, len, d->paths, d->npaths)) != 0)
		changes_say_ignored(s, rec);
	else
		rc = say_missing(s, rec, show_all(g, rec, d, buf, len));
done:
	free(buf);
	objget_free(g);
	free(rec);
	return (out_flush() == 0 ? rc : EXIT_OURS);
}

int
cmd_diff(int argc, char **argv)
{
	struct session s = { 0 };
	struct diff d = { 0 };
	int c, rc;

	while ((c = getopt_long(argc, argv, "pzqv", longs, NULL)) != -1) {
		if (c == 'z')
			d.nul = 1;
		else if (c == OPT_STAT)
			d.stat = 1;
		else if (c == OPT_PATCH || c == 'p')
			d.patch = 1;
		else if ((rc = common_option(&s, "diff", c, optarg)) != 0)
			return (common_exit(rc));
	}
	d.json = s.json;
	if (argc - optind < 1)
		return (out_usage("diff needs a JOB"));
	if (d.patch && (d.json || d.nul || d.stat))
		return (out_usage("--patch is text; it does not go with "
		    "--json, --stat and -z"));
	d.paths = argv + optind + 1;
	d.npaths = argc - optind - 1;
	if (session_hello(&s) == -1)
		return (EXIT_NO);
	rc = diff_job(&s, argv[optind], &d);
	session_close(&s);
	return (rc);
}
