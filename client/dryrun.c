/*
 * errand run --dry-run.  Asks the host what it lacks, in the words of a
 * submission that cannot be accepted: its spec is one that nobody has.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dryrun.h"
#include "explain.h"
#include "json.h"
#include "lib/io.h"
#include "lib/size.h"
#include "lib/text.h"
#include "listing.h"
#include "out.h"

struct item {
	char *path;
	char *why;
	uint64_t bytes;
	uint64_t lacks;
};

struct dry {
	struct select *sel;
	struct item *v;         /* by path, then by size */
	size_t n, cap;
	uint64_t objects, bytes;        /* lacking, in all */
	uint64_t dirs;
	int full;               /* there may be more */
};

static void
dry_done(struct dry *d)
{
	size_t i;

	for (i = 0; i < d->n; i++) {
		free(d->v[i].path);
		free(d->v[i].why);
	}
	free(d->v);
}

static int
take(void *cookie, const char *path, const char *name, const struct stat *st)
{
	struct dry *d = cookie;
	struct explain ex = { .sent = 1 };
	struct item *v;
	int excluded;

	if (S_ISDIR(st->st_mode)) {
		d->dirs++;
		return (0);
	}
	v = size_grow(d->v, &d->cap, d->n + 1, sizeof(*v));
	if (v == NULL)
		return (-1);
	d->v = v;
	v += d->n;
	memset(v, 0, sizeof(*v));
	ex.why = select_judge(d->sel, name, 0, &ex.hit, &excluded) ?
	    EXPLAIN_TRACKED : ex.hit.rule.line > 0 ? EXPLAIN_RULE :
	    select_mode_of(d->sel) == SELECT_ALL ? EXPLAIN_ALL :
	    EXPLAIN_NO_RULE;
	v->bytes = (uint64_t)st->st_size;
	v->path = strdup(path);
	v->why = strdup(explain_words(&ex, path));
	d->n++;
	return (v->path == NULL || v->why == NULL ? -1 : 0);
}

static int
path_cmp(const void *a, const void *b)
{
	return (strcmp(((const struct item *)a)->path,
	    ((const struct item *)b)->path));
}

/* What the host lacks most of first, then the largest. */
static int
size_cmp(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->lacks != y->lacks)
		return (x->lacks > y->lacks ? -1 : 1);
	if (x->bytes != y->bytes)
		return (x->bytes > y->bytes ? -1 : 1);
	return (strcmp(x->path, y->path));
}

/* Charge each object that is missing to the file it was first met in. */
static int
charge(struct dry *d, const struct submit *sub, const struct follow *f)
{
	struct item key = { 0 }, *it;
	struct obj_ref ref;
	const char *path;
	uint32_t len;
	size_t off;

	if (d->n > 1)
		qsort(d->v, d->n, sizeof(*d->v), path_cmp);
	for (off = 0; off + OBJ_REF_LEN <= f->nrefs; off += OBJ_REF_LEN) {
		if (obj_ref_decode(f->refs + off, &ref) == -1)
			return (-1);
		if (obj_ref_equal(&ref, &sub->js.spec))
			continue;
		d->objects++;
		if (scan_source(sub->scan, &ref, &path, &len) == -1)
			continue;       /* one that an earlier scan made */
		d->bytes += len;
		key.path = (char *)(uintptr_t)path;
		if (path != NULL && d->n > 0 && (it = bsearch(&key, d->v, d->n,
		    sizeof(*d->v), path_cmp)) != NULL)
			it->lacks += len;
	}
	d->full = f->nrefs >= (size_t)LIMIT_NEED_REFS * OBJ_REF_LEN;
	return (0);
}

static void
show_json(const struct item *it)
{
	json_t *o = json_object();

	json_set_bytes(o, "path", it->path, strlen(it->path));
	json_object_set_new(o, "bytes", json_integer((json_int_t)it->bytes));
	json_object_set_new(o, "lacks_bytes", json_integer(
	    (json_int_t)it->lacks));
	json_object_set_new(o, "why", json_string(it->why));
	(void)json_print(o, STDOUT_FILENO);
}

static void
show(const struct dry *d, int json, int nul)
{
	const struct item *it;
	size_t i;

	for (i = 0; i < d->n; i++) {
		it = &d->v[i];
		if (json) {
			show_json(it);
			continue;
		}
		printf("%10s ", text_bytes(it->bytes));
		printf("%10s  ", it->lacks > 0 ? text_bytes(it->lacks) : "-");
		if (nul)
			printf("%s%c", it->path, '\0');
		else
			printf("%s  (%s)\n", out_escape(it->path,
			    strlen(it->path)), it->why);
	}
}

static void
summary(const struct dry *d, const struct submit *sub)
{
	const struct scan_sum *sum = scan_sum(sub->scan);

	out_warn("%llu file%s and link%s, %s, in %llu director%s; the host "
	    "lacks %s%llu object%s, %s%s; nothing was submitted",
	    (unsigned long long)d->n, d->n == 1 ? "" : "s",
	    d->n == 1 ? "" : "s", text_bytes(sum->bytes),
	    (unsigned long long)d->dirs + 1, d->dirs == 0 ? "y" : "ies",
	    d->full ? "at least " : "", (unsigned long long)d->objects,
	    d->objects == 1 ? "" : "s", text_bytes(d->bytes),
	    d->full ? " (it names no more at once)" : "");
}

static int
ask(struct submit *sub, struct follow *f)
{
	int rc;

	if ((rc = submit_ask(sub, f)) == -1) {
		out_warn("%s: changed since it was read; try again",
		    scan_stale_path(sub->scan));
		return (EXIT_OURS);
	}
	if (rc == 0 && f->state != FOLLOW_NEED) {
		out_warn("the host accepted what it should not have: it does "
		    "not check a job's spec");
		rc = EXIT_OURS;
	}
	return (rc);
}

int
dryrun(struct submit *sub, struct follow *f, struct select *sel,
    const char *root, int nul)
{
	struct dry d = { .sel = sel };
	int fd, rc;

	if ((rc = ask(sub, f)) != 0 || sel == NULL) {
		if (rc == 0 && !sub->s->quiet)
			out_warn("no tree; nothing was submitted");
		return (rc);
	}
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1 || listing_walk(fd, sel, take, &d) == -1 ||
	    charge(&d, sub, f) == -1) {
		rc = EXIT_OURS;
	} else {
		if (d.n > 1)
			qsort(d.v, d.n, sizeof(*d.v), size_cmp);
		show(&d, sub->s->json, nul);
		if (!sub->s->quiet)
			summary(&d, sub);
	}
	io_close(&fd);
	dry_done(&d);
	return (out_flush() == 0 ? rc : EXIT_OURS);
}
