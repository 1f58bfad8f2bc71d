/*
 * Fetches objects over the connection; touches nothing else.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/list.h"
#include "lib/objrec.h"
#include "lib/tree.h"
#include "objget.h"

struct held {
	struct obj_ref ref;
	uint8_t *p;
	size_t len;
};

struct objget {
	struct session *s;
	struct obj_ref *ahead;  /* wanted soon, in order */
	size_t at, n, cap;      /* ahead[at..n) are still to come */
	struct held held[OBJGET_WINDOW];
	size_t nheld;
	struct objrec_reader *reader;
	int done;               /* of the request that runs: 1, or -1 */
	struct job_record *rec; /* where CHANGES puts the record, or NULL */
	struct err err;
};

/*
 * Invariants of struct objget:
 *  1. held[0..nheld) are objects that were checked and not yet read.
 *  2. reader != NULL exactly while a GET or CHANGES runs.
 */

struct objget *
objget_new(struct session *s)
{
	struct objget *g;

	if ((g = calloc(1, sizeof(*g))) != NULL)
		g->s = s;
	return (g);
}

static void
drop_held(struct objget *g)
{
	while (g->nheld > 0)
		free(g->held[--g->nheld].p);
}

void
objget_free(struct objget *g)
{
	if (g == NULL)
		return;
	drop_held(g);
	objrec_reader_free(g->reader);
	free(g->ahead);
	free(g);
}

int
objget_want(struct objget *g, const struct obj_ref *ref)
{
	struct obj_ref *p;

	if (ref->kind == OBJ_NONE)
		return (0);
	if (g->at == g->n)
		g->at = g->n = 0;
	if (g->n == g->cap) {
		g->cap = g->cap == 0 ? 256 : g->cap * 2;
		p = realloc(g->ahead, g->cap * sizeof(*p));
		if (p == NULL)
			return (-1);
		g->ahead = p;
	}
	g->ahead[g->n++] = *ref;
	return (0);
}

/* One record: keep it if it is what it says. */
static int
on_object(void *cookie, const struct objrec *rec, const uint8_t *raw)
{
	struct objget *g = cookie;
	struct obj_ref now;
	const char *why;
	struct held *h;

	if (obj_ref_of(rec->ref.kind, raw, rec->raw_len, &now) == -1 ||
	    !obj_ref_equal(&now, &rec->ref) ||
	    obj_check(rec->ref.kind, raw, rec->raw_len, &why) == -1 ||
	    g->nheld == OBJGET_WINDOW) {
		err_set(&g->err, ERR_DAMAGED, "the host sent an object that "
		    "is not what its id says");
		return (-1);
	}
	h = &g->held[g->nheld];
	if ((h->p = malloc(rec->raw_len)) == NULL)
		return (-1);
	memcpy(h->p, raw, rec->raw_len);
	h->len = rec->raw_len;
	h->ref = rec->ref;
	g->nheld++;
	return (0);
}

/* The first reply to CHANGES is the record. */
static int
on_record(struct objget *g, const struct frame *f)
{
	struct client_reply *rep;
	int rc = -1;

	if ((rep = calloc(1, sizeof(*rep))) == NULL)
		return (-1);
	if (client_reply_parse(f->body, f->len, rep) == 0) {
		if (rep->kind == CLIENT_JOB) {
			*g->rec = rep->record;
			g->rec = NULL;
			rc = 0;
		}
		client_reply_done(rep);
	}
	free(rep);
	return (rc);
}

static int
on_reply(struct objget *g, const struct frame *f)
{
	if (g->reader == NULL || (g->rec != NULL ? on_record(g, f) == -1 :
	    !conn_ends(f)))
		return (-1);
	if (conn_ends(f))
		g->done = objrec_reader_clean(g->reader) ? 1 : -1;
	return (0);
}

static int
on_frame(void *cookie, const struct frame *f)
{
	struct objget *g = cookie;

	if (f == NULL) {
		g->done = -1;
		if (g->err.code == ERR_NONE)
			err_set(&g->err, ERR_IO, "the connection was lost");
		return (0);
	}
	switch (f->type) {
	case FRAME_DATA:
		if (g->reader == NULL || f->flags != FRAME_OBJECT ||
		    objrec_reader_feed(g->reader, f->body, f->len) == -1)
			return (-1);
		return (conn_consumed(g->s->c, f->stream, f->len));
	case FRAME_RESET:
		g->done = -1;
		return (err_parse(f->body, f->len, &g->err));
	case FRAME_REPLY:
		return (on_reply(g, f));
	default:
		return (-1);
	}
}

/* One request, whose answer are objects, with ${len} bytes of DATA. */
static int
request(struct objget *g, const struct client_open *o, const void *refs,
    size_t len)
{
	uint32_t stream;

	if ((g->reader = objrec_reader_new(on_object, g)) == NULL)
		return (-1);
	g->done = 0;
	stream = conn_request(g->s->c, o, on_frame, g);
	if (stream == 0 || (len > 0 && (conn_data(g->s->c, stream, FRAME_REFS,
	    refs, len) == -1 || conn_end(g->s->c, stream) == -1)) ||
	    conn_until(g->s->c, &g->done) == -1)
		g->done = -1;
	conn_forget(g->s->c, stream);
	objrec_reader_free(g->reader);
	g->reader = NULL;
	return (g->done == 1 ? 0 : -1);
}

static int
get(struct objget *g, const struct obj_ref *refs, size_t n)
{
	uint8_t buf[OBJGET_WINDOW * OBJ_REF_LEN];
	struct client_open *o;
	size_t i;
	int rc;

	if ((o = calloc(1, sizeof(*o))) == NULL)
		return (-1);
	for (i = 0; i < n; i++)
		obj_ref_encode(&refs[i], buf + i * OBJ_REF_LEN);
	o->verb = CLIENT_GET;
	rc = request(g, o, buf, n * OBJ_REF_LEN);
	free(o);
	return (rc);
}

static int
find_held(const struct objget *g, const struct obj_ref *ref)
{
	size_t i;

	for (i = 0; i < g->nheld; i++)
		if (obj_ref_equal(&g->held[i].ref, ref))
			return ((int)i);
	return (-1);
}

/* A window that begins with ${ref}, and goes on with what is wanted next. */
static int
fill(struct objget *g, const struct obj_ref *ref)
{
	struct obj_ref w[OBJGET_WINDOW];
	size_t n = 0, i;

	drop_held(g);
	w[n++] = *ref;
	for (i = g->at; i < g->n; i++)
		if (obj_ref_equal(&g->ahead[i], ref)) {
			g->at = i + 1;
			break;
		}
	while (i < g->n && g->at < g->n && n < OBJGET_WINDOW)
		w[n++] = g->ahead[g->at++];
	return (get(g, w, n));
}

/* What a list names is read next. */
static void
read_ahead(struct objget *g, const uint8_t *buf, size_t len)
{
	struct list_iter it;
	struct list_item item;

	if (list_iter_init(&it, buf, len) == -1 || it.level > 0)
		return;
	g->at = g->n = 0;
	while (list_iter_next(&it, &item) == 1)
		if (item.type == LIST_ITEM_REF)
			(void)objget_want(g, &item.ref);
}

/* So are the parts of a directory that has more than one. */
static void
read_ahead_tree(struct objget *g, const uint8_t *buf, size_t len)
{
	struct tree_iter it;
	struct obj_ref part;
	uint32_t entries;

	if (tree_iter_init(&it, buf, len) == -1 || it.level == 0)
		return;
	g->at = g->n = 0;
	while (tree_part_next(&it, &part, &entries) == 1)
		(void)objget_want(g, &part);
}

int
objget_fetch(void *cookie, const struct obj_ref *ref, uint8_t *buf,
    size_t *len)
{
	struct objget *g = cookie;
	int i;

	if ((i = find_held(g, ref)) == -1) {
		if (fill(g, ref) == -1 || (i = find_held(g, ref)) == -1) {
			if (g->err.code == ERR_NONE)
				err_set(&g->err, ERR_MISSING, "the host did "
				    "not send an object that was asked for");
			errno = EIO;
			return (-1);
		}
	}
	memcpy(buf, g->held[i].p, g->held[i].len);
	*len = g->held[i].len;
	if (ref->kind == OBJ_LIST)
		read_ahead(g, buf, *len);
	else if (ref->kind == OBJ_TREE)
		read_ahead_tree(g, buf, *len);
	return (0);
}

const struct err *
objget_err(const struct objget *g)
{
	return (&g->err);
}

int
objget_changes(struct objget *g, const char *job, struct job_record *rec)
{
	struct client_open *o;
	int rc;

	if ((o = calloc(1, sizeof(*o))) == NULL)
		return (-1);
	o->verb = CLIENT_CHANGES;
	memcpy(o->job, job, strlen(job) + 1);
	drop_held(g);
	memset(&g->err, 0, sizeof(g->err));
	g->rec = rec;
	rc = request(g, o, NULL, 0);
	if (rc == 0 && g->rec != NULL)  /* an end without a record */
		rc = -1;
	g->rec = NULL;
	free(o);
	return (rc);
}
