/*
 * The format of the journal in packs.  Memory only.
 */
#include <errno.h>
#include <string.h>

#include "journal_fmt.h"
#include "lib/le.h"
#include "proto/limits.h"

/* Bytes to be read, and whether they were as they must be. */
struct in {
	const uint8_t *p;
	size_t left;
	int bad;
};

void
journal_head_encode(uint64_t real_us, uint8_t *out)
{
	le_put32(out, JOURNAL_VERSION);
	le_put32(out + 4, 0);
	le_put64(out + 8, real_us);
}

int
journal_head_decode(const uint8_t *p, size_t len, uint64_t *real_us)
{
	errno = EBADMSG;
	if (len < JOURNAL_HEAD || le_get32(p) == 0)
		return (-1);
	if (le_get32(p) > JOURNAL_VERSION) {
		errno = EPROTONOSUPPORT;
		return (-1);
	}
	if (le_get32(p + 4) != 0)
		return (-1);
	*real_us = le_get64(p + 8);
	return (0);
}

static size_t
body_len(const struct journal_entry *e)
{
	const struct ix_publish *p = &e->u.publish;
	const struct ix_settle *s = &e->u.settle;

	switch (e->type) {
	case JOURNAL_PUBLISH:
		return (JOB_ID_LEN + IX_IDEM_LEN + 2 * OBJ_REF_LEN + 4 +
		    p->record_len);
	case JOURNAL_RESTATE:
		return (JOB_ID_LEN + 4 + p->record_len);
	case JOURNAL_SETTLE:
		return (JOB_ID_LEN + 8 + IX_DIGEST_LEN + 2 * OBJ_REF_LEN +
		    16 + 8 + s->record_len + s->receipt_len);
	default:
		return (JOB_ID_LEN);
	}
}

size_t
journal_entry_len(const struct journal_entry *e)
{
	return (JOURNAL_ENTRY + body_len(e));
}

static uint8_t *
bytes_put(uint8_t *p, const void *from, size_t len)
{
	if (len > 0)
		memcpy(p, from, len);
	return (p + len);
}

static uint8_t *
span_put(uint8_t *p, const uint8_t *from, size_t len)
{
	le_put32(p, (uint32_t)len);
	return (bytes_put(p + 4, from, len));
}

static uint8_t *
refs_put(uint8_t *p, const struct obj_ref *a, const struct obj_ref *b)
{
	obj_ref_encode(a, p);
	obj_ref_encode(b, p + OBJ_REF_LEN);
	return (p + 2 * OBJ_REF_LEN);
}

static void
body_put(const struct journal_entry *e, uint8_t *p)
{
	const struct ix_publish *pub = &e->u.publish;
	const struct ix_settle *s = &e->u.settle;

	p = bytes_put(p, e->job, JOB_ID_LEN);
	switch (e->type) {
	case JOURNAL_PUBLISH:
		p = bytes_put(p, pub->idem, IX_IDEM_LEN);
		p = refs_put(p, &pub->root, &pub->spec);
		(void)span_put(p, pub->record, pub->record_len);
		break;
	case JOURNAL_RESTATE:
		(void)span_put(p, pub->record, pub->record_len);
		break;
	case JOURNAL_SETTLE:
		le_put64(p, s->sequence);
		p = bytes_put(p + 8, s->digest, IX_DIGEST_LEN);
		p = refs_put(p, &s->root, &s->list);
		le_put64(p, e->settled_us);
		le_put64(p + 8, e->log_bytes);
		p += 16;
		p = span_put(p, s->record, s->record_len);
		(void)span_put(p, s->receipt, s->receipt_len);
		break;
	default:
		break;
	}
}

void
journal_entry_encode(const struct journal_entry *e, uint8_t *out)
{
	memset(out, 0, JOURNAL_ENTRY);
	out[0] = e->type;
	le_put32(out + 4, e->tenant);
	le_put64(out + 8, e->serial);
	le_put32(out + 16, (uint32_t)body_len(e));
	body_put(e, out + JOURNAL_ENTRY);
}

static const uint8_t *
take(struct in *in, size_t len)
{
	const uint8_t *p = in->p;

	if (len > in->left) {
		in->bad = 1;
		return (NULL);
	}
	in->p += len;
	in->left -= len;
	return (p);
}

static void
take_copy(struct in *in, void *to, size_t len)
{
	const uint8_t *p;

	if ((p = take(in, len)) != NULL)
		memcpy(to, p, len);
}

static void
take_span(struct in *in, const uint8_t **p, size_t *len, size_t max)
{
	const uint8_t *n;

	*p = NULL;
	*len = 0;
	if ((n = take(in, 4)) == NULL)
		return;
	*len = le_get32(n);
	if (*len > max)
		in->bad = 1;
	else
		*p = take(in, *len);
}

static void
take_ref(struct in *in, struct obj_ref *ref)
{
	const uint8_t *p;

	if ((p = take(in, OBJ_REF_LEN)) == NULL ||
	    obj_ref_decode(p, ref) == -1)
		in->bad = 1;
}

static void
take_publish(struct in *in, struct journal_entry *e)
{
	struct ix_publish *p = &e->u.publish;

	p->job = e->job;
	p->idem = e->idem;
	if (e->type == JOURNAL_PUBLISH) {
		take_copy(in, e->idem, IX_IDEM_LEN);
		take_ref(in, &p->root);
		take_ref(in, &p->spec);
	}
	take_span(in, &p->record, &p->record_len, LIMIT_RECORD);
}

static void
take_settle(struct in *in, struct journal_entry *e)
{
	struct ix_settle *s = &e->u.settle;
	const uint8_t *p;

	s->job = e->job;
	s->digest = e->digest;
	if ((p = take(in, 8)) != NULL)
		s->sequence = le_get64(p);
	take_copy(in, e->digest, IX_DIGEST_LEN);
	take_ref(in, &s->root);
	take_ref(in, &s->list);
	if ((p = take(in, 16)) != NULL) {
		e->settled_us = le_get64(p);
		e->log_bytes = le_get64(p + 8);
	}
	take_span(in, &s->record, &s->record_len, LIMIT_RECORD);
	take_span(in, &s->receipt, &s->receipt_len, LIMIT_RECEIPT);
}

size_t
journal_entry_decode(const uint8_t *p, size_t len, struct journal_entry *e)
{
	struct in in;
	size_t n;

	memset(e, 0, sizeof(*e));
	if (len < JOURNAL_ENTRY || p[1] != 0 || p[2] != 0 || p[3] != 0)
		return (0);
	e->type = p[0];
	e->tenant = le_get32(p + 4);
	e->serial = le_get64(p + 8);
	n = le_get32(p + 16);
	if (n > len - JOURNAL_ENTRY || e->type < JOURNAL_PUBLISH ||
	    e->type > JOURNAL_FORGET)
		return (0);
	in = (struct in){ p + JOURNAL_ENTRY, n, 0 };
	take_copy(&in, e->job, JOB_ID_LEN);
	if (e->type == JOURNAL_SETTLE)
		take_settle(&in, e);
	else if (e->type != JOURNAL_FORGET)
		take_publish(&in, e);
	if (in.bad || in.left != 0 || !text_job_id_valid(e->job))
		return (0);
	return (JOURNAL_ENTRY + n);
}
