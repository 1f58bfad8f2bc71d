/*
 * A job by its label, which is in its spec: reads specs from the store.  Used
 * by resolve.c, after ids and "last".
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fetch.h"
#include "label.h"
#include "lib/list.h"
#include "lib/log.h"
#include "lib/size.h"

#define BIG_MAX         16      /* specs of several chunks that are read */
#define BIG_CHUNKS      4096    /* of one of them; far more than it has */

/*
 * Invariants of struct label:
 *  1. specs[0 .. n - 1] are different references in the order of their newest
 *     jobs; those before at were looked at.
 *  2. At most one request is under way: for a run of specs that are single
 *     chunks, or for the list, then the chunks, of a bigger one.
 */
struct label_spec {
	struct obj_ref ref;
	size_t item;            /* its newest job */
};

struct label {
	struct store_client *sc;
	char name[LIMIT_NAME + 1];
	label_fn *fn;
	void *cookie;
	struct label_spec *specs;
	size_t n;
	size_t at;
	unsigned int big;       /* big ones so far */
	uint8_t *refs;          /* LIMIT_GET_OBJECTS of them, encoded */
};

static void look(struct label *);

static void
give(struct label *lb, ssize_t item)
{
	label_fn *fn = lb->fn;

	if (fn == NULL)
		return;
	lb->fn = NULL;
	fn(lb->cookie, item);
}

/* Has the spec the label? */
static int
spec_matches(const struct label *lb, const uint8_t *buf, size_t len)
{
	struct job_spec spec;
	int yes;

	if (job_spec_parse(buf, len, &spec) == -1)
		return (0);
	yes = spec.label != NULL && strcmp(spec.label, lb->name) == 0;
	job_spec_done(&spec);
	return (yes);
}

/* A failure here must not make a job unreachable by its id: no label. */
static int
answer_take(struct fetched *f, const struct store_msg *m, int fd)
{
	if (m->op == STORE_ERROR) {
		log_warnx("looking for a label: %s", m->u.error.text);
		return (-1);
	}
	if (fetched_take(f, m, fd) == -1 || f->count == 0) {
		log_warnx("looking for a label: a bad answer of the store");
		return (-1);
	}
	return (0);
}

static void
on_small(void *cookie, const struct store_msg *m, int *fd)
{
	struct label *lb = cookie;
	struct fetched f;
	struct objrec rec;
	const uint8_t *raw;

	if (answer_take(&f, m, *fd) == -1) {
		give(lb, -1);
		return;
	}
	while (lb->at < lb->n && fetched_next(&f, &rec, &raw) == 1) {
		if (spec_matches(lb, raw, rec.len)) {
			fetched_done(&f);
			give(lb, (ssize_t)lb->specs[lb->at].item);
			return;
		}
		lb->at++;
	}
	fetched_done(&f);
	look(lb);
}

/* Put the chunks of an answer together. */
static uint8_t *
assemble(struct fetched *f, size_t *len)
{
	struct objrec rec;
	const uint8_t *raw;
	uint8_t *buf;

	*len = 0;
	if ((buf = malloc(LIMIT_SPEC)) == NULL)
		return (NULL);
	while (fetched_next(f, &rec, &raw) == 1) {
		if (rec.len > LIMIT_SPEC - *len)
			break;
		memcpy(buf + *len, raw, rec.len);
		*len += rec.len;
	}
	return (buf);
}

static void
on_chunks(void *cookie, const struct store_msg *m, int *fd)
{
	struct label *lb = cookie;
	struct fetched f;
	uint8_t *buf;
	size_t len;
	int yes = 0;

	if (answer_take(&f, m, *fd) == -1) {
		give(lb, -1);
		return;
	}
	if ((buf = assemble(&f, &len)) != NULL)
		yes = spec_matches(lb, buf, len);
	free(buf);
	fetched_done(&f);
	if (yes) {
		give(lb, (ssize_t)lb->specs[lb->at].item);
		return;
	}
	lb->at++;
	look(lb);
}

/* The chunks that a list names.  Their number, 0 for a list we do not read. */
static size_t
list_refs(struct label *lb, const uint8_t *raw, size_t len)
{
	struct list_iter it;
	struct list_item item;
	size_t n = 0;
	int rc;

	if (list_iter_init(&it, raw, len) == -1 || it.level != 0 ||
	    it.total > LIMIT_SPEC)
		return (0);
	while ((rc = list_iter_next(&it, &item)) == 1) {
		/* A spec has no long runs of zeros. */
		if (item.type != LIST_ITEM_REF || n == BIG_CHUNKS)
			return (0);
		obj_ref_encode(&item.ref, lb->refs + n++ * OBJ_REF_LEN);
	}
	return (rc == 0 ? n : 0);
}

static void
on_list(void *cookie, const struct store_msg *m, int *fd)
{
	struct label *lb = cookie;
	struct fetched f;
	struct objrec rec;
	const uint8_t *raw;
	size_t n = 0;

	if (answer_take(&f, m, *fd) == -1) {
		give(lb, -1);
		return;
	}
	if (fetched_next(&f, &rec, &raw) == 1 && rec.ref.kind == OBJ_LIST)
		n = list_refs(lb, raw, rec.len);
	fetched_done(&f);
	if (n == 0 || fetch_refs(lb->sc, lb->refs, n, on_chunks, lb) == -1) {
		lb->at++;
		look(lb);
	}
}

/* Encode the run of single chunks from at on.  Their number. */
static size_t
small_run(struct label *lb)
{
	size_t n;

	for (n = 0; lb->at + n < lb->n && n < LIMIT_GET_OBJECTS; n++) {
		if (lb->specs[lb->at + n].ref.kind != OBJ_CHUNK)
			break;
		obj_ref_encode(&lb->specs[lb->at + n].ref,
		    lb->refs + n * OBJ_REF_LEN);
	}
	return (n);
}

/* Ask for what comes next; without any, there is no such label. */
static void
look(struct label *lb)
{
	size_t n;
	int rc;

	while (lb->at < lb->n && lb->specs[lb->at].ref.kind == OBJ_LIST &&
	    lb->big == BIG_MAX)
		lb->at++;
	if (lb->at == lb->n) {
		give(lb, -1);
		return;
	}
	if ((n = small_run(lb)) > 0)
		rc = fetch_refs(lb->sc, lb->refs, n, on_small, lb);
	else {
		lb->big++;
		obj_ref_encode(&lb->specs[lb->at].ref, lb->refs);
		rc = fetch_refs(lb->sc, lb->refs, 1, on_list, lb);
	}
	if (rc == -1) {
		log_warn("looking for a label");
		give(lb, -1);
	}
}

/* The different specs that may hold a label. */
static void
collect(struct label *lb, const struct joblist *l)
{
	const struct joblist_item *item;
	size_t i, k;

	for (i = 0; i < l->n; i++) {
		item = &l->items[i];
		if (item->spec_len > LIMIT_SPEC ||
		    (item->spec.kind != OBJ_CHUNK &&
		    item->spec.kind != OBJ_LIST))
			continue;
		for (k = 0; k < lb->n; k++) {
			if (obj_ref_equal(&lb->specs[k].ref, &item->spec))
				break;
		}
		if (k < lb->n)
			continue;
		lb->specs[lb->n].ref = item->spec;
		lb->specs[lb->n++].item = i;
	}
}

struct label *
label_new(struct store_client *sc, const struct joblist *l, const char *name,
    label_fn *fn, void *cookie)
{
	struct label *lb;

	if (NEW_ARRAY(lb, 1) == -1)
		goto err0;
	lb->sc = sc;
	lb->fn = fn;
	lb->cookie = cookie;
	memcpy(lb->name, name, strnlen(name, LIMIT_NAME));
	lb->refs = malloc((size_t)LIMIT_GET_OBJECTS * OBJ_REF_LEN);
	if (lb->refs == NULL)
		goto err1;
	if (NEW_ARRAY(lb->specs, l->n + 1) == -1)
		goto err2;
	collect(lb, l);
	look(lb);

	return (lb);

err2:
	free(lb->refs);
err1:
	free(lb);
err0:
	return (NULL);
}

void
label_free(struct label *lb)
{
	if (lb == NULL)
		return;
	store_cancel(lb->sc, lb);
	free(lb->specs);
	free(lb->refs);
	free(lb);
}
