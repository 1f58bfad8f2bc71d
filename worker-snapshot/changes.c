/*
 * The client's CHANGES: a job's record, the list of what the job changed and,
 * where that is little, what the list names.  Asks the store; what is not sent,
 * the client asks for itself.
 */
#include <string.h>

#include "dispatch.h"
#include "fetch.h"
#include "handlers.h"
#include "lib/change.h"
#include "lib/log.h"
#include "lib/size.h"
#include "lib/tree.h"
#include "resolve.h"
#include "session.h"
#include "stream.h"

/*
 * All of the answer goes out at once, so that the client wakes up once.
 *
 * Invariants of struct changes:
 *  1. rec is set once the job was found; list is the store's answer, with the
 *     list in it, or nothing.
 */
struct changes {
	struct job_record rec;
	struct fetched list;
};

void
changes_done(struct stream *st)
{
	struct changes *c = st->priv;

	if (c == NULL)
		return;
	fetched_done(&c->list);
	free(c);
}

static void
send_objects(struct stream *st, struct fetched *f)
{
	static uint8_t out[OBJREC_HEAD + OBJ_MAX];
	const uint8_t *raw;
	struct objrec rec;
	size_t len;

	f->at = 0;
	f->left = f->count;
	while (!st->over && fetched_next(f, &rec, &raw) == 1) {
		if (objrec_pack(&rec.ref, raw, rec.raw_len, out, &len) == -1)
			return;
		stream_data(st, FRAME_OBJECT, out, len);
	}
}

static void
answer(struct stream *st, struct fetched *files)
{
	struct changes *c = st->priv;
	struct client_reply r;

	memset(&r, 0, sizeof(r));
	r.kind = CLIENT_JOB;
	r.record = c->rec;
	stream_reply(st, &r, 1);
	send_objects(st, &c->list);
	if (files != NULL)
		send_objects(st, files);
	if (!st->over)
		stream_count(st, CLIENT_DONE, 0, 0);
}

/*
 * Map the store's answer.  0, or -1: there is nothing in it.  What is damaged
 * or gone the client hears when it asks for it.
 */
static int
take(const struct store_msg *m, int fd, struct fetched *f)
{
	memset(f, 0, sizeof(*f));
	if (m->op == STORE_ERROR || m->u.ok.objects == 0)
		return (-1);
	if (fetched_take(f, m, fd) == 0)
		return (0);
	log_warnx("store: a bad answer to GET");
	return (-1);
}

static void
on_files(void *cookie, const struct store_msg *m, int *fd)
{
	struct stream *st = cookie;
	struct fetched f;

	answer(st, take(m, *fd, &f) == 0 ? &f : NULL);
	fetched_done(&f);
}

/*
 * The files of the list, if all of them are few and small.  The list is a job's
 * work: sizes in it are words, and the answer is bounded by LIMIT_AHEAD_OBJECTS
 * objects of OBJ_MAX bytes whatever they say.
 */
static size_t
small_files(const uint8_t *list, size_t len, uint8_t *refs)
{
	struct change_iter it;
	uint64_t bytes = 0;
	struct change c;
	size_t n = 0;
	int rc;

	if (change_iter_init(&it, list, len) == -1)
		return (0);
	while ((rc = change_iter_next(&it, &c)) == 1) {
		if (c.kind != TREE_FILE || c.ref.kind == OBJ_NONE)
			continue;
		if (c.ref.kind != OBJ_CHUNK || n == LIMIT_AHEAD_OBJECTS ||
		    c.size > LIMIT_AHEAD_BYTES - bytes)
			return (0);
		bytes += c.size;
		obj_ref_encode(&c.ref, refs + n * OBJ_REF_LEN);
		n++;
	}
	return (rc == 0 ? n : 0);
}

static void
on_list(void *cookie, const struct store_msg *m, int *fd)
{
	uint8_t refs[LIMIT_AHEAD_OBJECTS * OBJ_REF_LEN];
	struct stream *st = cookie;
	struct changes *c = st->priv;
	const uint8_t *raw;
	struct objrec rec;
	size_t n = 0;

	if (take(m, *fd, &c->list) == 0 &&
	    fetched_next(&c->list, &rec, &raw) == 1)
		n = small_files(raw, rec.raw_len, refs);
	if (n == 0 ||
	    fetch_refs(st->s->store, refs, n, on_files, st) == -1)
		answer(st, NULL);
}

static void
found(void *cookie, const struct job_record *rec, const struct err *e)
{
	uint8_t ref[OBJ_REF_LEN];
	struct stream *st = cookie;
	struct changes *c = st->priv;

	if (rec == NULL) {
		stream_fail(st, e);
		return;
	}
	c->rec = *rec;
	obj_ref_encode(&rec->changes.list, ref);
	if (!JOB_IS_FINAL(rec->state) ||
	    rec->changes.list.kind != OBJ_CHUNK ||
	    fetch_refs(st->s->store, ref, 1, on_list, st) == -1)
		answer(st, NULL);
}

void
changes_open(struct stream *st, const struct client_open *o)
{
	struct changes *c;

	if (NEW_ARRAY(c, 1) == 0) {
		st->priv = c;
		st->resolve = resolve_new(st->s->store, o->job, found, st);
	}
	if (st->resolve == NULL)
		stream_failf(st, ERR_INTERNAL, "the host ran out of memory");
}
