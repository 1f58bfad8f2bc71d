/*
 * Ignore rules as bytes, and back.  What is parsed comes from strangers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "le.h"
#include "rules_internal.h"
#include "size.h"

#define HEAD    6       /* magic, version, zero, prefix length */
#define ENTRY   8       /* without base and text */

struct out {
	uint8_t *p;
	size_t len, cap;
};

static int
out_add(struct out *o, const void *p, size_t len)
{
	uint8_t *q;

	if (len > RULES_BYTES_MAX - o->len) {
		errno = EMSGSIZE;
		return (-1);
	}
	if ((q = size_grow(o->p, &o->cap, o->len + len + 1, 1)) == NULL)
		return (-1);
	o->p = q;
	if (len > 0)
		memcpy(q + o->len, p, len);
	o->len += len;
	return (0);
}

/* The rules alone; what begins as a byte order mark would keeps its place. */
static int
out_text(struct out *o, const struct ignore *ig)
{
	struct ignore_hit hit;
	size_t i, at = o->len;
	uint8_t head[4] = { 0 };

	if (out_add(o, head, sizeof(head)) == -1)
		return (-1);
	for (i = 0; i < ignore_count(ig); i++) {
		ignore_rule(ig, i, &hit);
		if (i == 0 && hit.pat[0] == '\xef' && out_add(o, "\n", 1) == -1)
			return (-1);
		/* The reader takes one CR away from the end of each line. */
		if (out_add(o, hit.pat, hit.len) == -1 ||
		    (hit.pat[hit.len - 1] == '\r' && out_add(o, "\r", 1) ==
		    -1) || out_add(o, "\n", 1) == -1)
			return (-1);
	}
	le_put32(o->p + at, (uint32_t)(o->len - at - sizeof(head)));
	return (0);
}

static int
out_file(struct out *o, const struct rules_file *f)
{
	uint8_t head[4];

	if (f->kind != RULES_REPO && ignore_count(f->ig) == 0)
		return (0);
	if (f->base_len > UINT16_MAX) {
		errno = EMSGSIZE;
		return (-1);
	}
	head[0] = f->kind;
	head[1] = f->flags;
	le_put16(head + 2, (uint16_t)f->base_len);
	return (out_add(o, head, sizeof(head)) == -1 ||
	    out_add(o, f->base, f->base_len) == -1 ? -1 : out_text(o, f->ig));
}

int
rules_encode(const struct rules *r, uint8_t **buf, size_t *len)
{
	struct out o = { 0 };
	uint8_t head[HEAD] = { 'E', 'I', 1, 0 };
	size_t i, n = strlen(r->prefix);

	if (n > UINT16_MAX) {
		errno = EMSGSIZE;
		return (-1);
	}
	le_put16(head + 4, (uint16_t)n);
	if (out_add(&o, head, sizeof(head)) == -1 ||
	    out_add(&o, r->prefix, n) == -1)
		goto err0;
	for (i = 0; i < r->n; i++)
		if (out_file(&o, r->v[i]) == -1)
			goto err0;
	*buf = o.p;
	*len = o.len;
	return (0);

err0:
	free(o.p);
	return (-1);
}

/* A string of its own from ${len} bytes. */
static char *
own(const uint8_t *p, size_t len)
{
	char *s;

	if ((s = malloc(len + 1)) == NULL)
		return (NULL);
	memcpy(s, p, len);
	s[len] = '\0';
	return (s);
}

/* One entry; returns what it took, 0 when it is malformed, -1: no memory. */
static ssize_t
take_file(struct rules *r, const uint8_t *p, size_t left)
{
	size_t blen, tlen, before = r->n;
	char *base;
	int rc;

	if (left < ENTRY || p[0] < RULES_DIR || p[0] > RULES_REPO ||
	    p[1] > IGNORE_FOLD || left - ENTRY < (blen = le_get16(p + 2)) ||
	    (tlen = le_get32(p + 4 + blen)) > left - ENTRY - blen ||
	    (p[0] == RULES_REPO && tlen != 0) ||
	    !rules_path_valid((const char *)p + 4, blen))
		return (0);
	if ((base = own(p + 4, blen)) == NULL)
		return (-1);
	/* Each goes behind those before it: that is the order. */
	rc = rules_find(r, base, blen, p[0]) == r->n ? rules_add(r,
	    (enum rules_kind)p[0], p[1], base, NULL,
	    (const char *)p + ENTRY + blen, tlen) : 0;
	free(base);
	if (rc == -1)
		return (errno == EMSGSIZE ? 0 : -1);
	return (r->n == before + 1 ? (ssize_t)(ENTRY + blen + tlen) : 0);
}

struct rules *
rules_parse(const uint8_t *p, size_t len)
{
	struct rules *r = NULL;
	char *prefix;
	size_t off, n;
	ssize_t rc;

	errno = EPROTO;
	if (len < HEAD || len > RULES_BYTES_MAX || memcmp(p, "EI\1", 4) != 0 ||
	    (n = le_get16(p + 4)) > len - HEAD ||
	    !rules_path_valid((const char *)p + HEAD, n))
		return (NULL);
	if ((prefix = own(p + HEAD, n)) == NULL)
		return (NULL);
	r = rules_new(prefix);
	free(prefix);
	for (off = HEAD + n; r != NULL && off < len; off += (size_t)rc)
		if ((rc = take_file(r, p + off, len - off)) <= 0) {
			rules_free(r);
			errno = rc == 0 ? EPROTO : ENOMEM;
			return (NULL);
		}
	return (r);
}
