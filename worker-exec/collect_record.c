/*
 * The list of changes while it grows, and its canonical form.  Memory only.
 */
#include <stdlib.h>
#include <string.h>

#include "collect_internal.h"
#include "lib/size.h"

static int
text_add(struct records *r, const uint8_t *s, size_t len, size_t *at)
{
	size_t need;
	char *p;

	if (size_add(r->text_len, len, &need) == -1 ||
	    (p = size_grow(r->text, &r->text_cap, need + 1, 1)) == NULL)
		return (-1);
	r->text = p;
	if (len > 0)
		memcpy(p + r->text_len, s, len);
	*at = r->text_len;
	r->text_len = need;
	return (0);
}

int
records_add(struct records *r, const struct change *c)
{
	struct record *p;

	if ((p = size_grow(r->v, &r->cap, r->n + 1, sizeof(*p))) == NULL)
		return (-1);
	r->v = p;
	p[r->n].change = *c;
	if (text_add(r, c->path, c->path_len, &p[r->n].path) == -1 ||
	    text_add(r, c->target, c->target_len, &p[r->n].target) == -1)
		return (-1);
	r->n++;
	return (0);
}

/* Paths by their bytes, a prefix first. */
static int
record_cmp(const void *a, const void *b)
{
	const struct change *x = &((const struct record *)a)->change;
	const struct change *y = &((const struct record *)b)->change;
	size_t n = x->path_len < y->path_len ? x->path_len : y->path_len;
	int rc;

	if ((rc = memcmp(x->path, y->path, n)) != 0)
		return (rc);
	return (x->path_len < y->path_len ? -1 : x->path_len > y->path_len);
}

int
records_encode(struct records *r, struct change_buf *buf)
{
	size_t i;

	memset(buf, 0, sizeof(*buf));
	for (i = 0; i < r->n; i++) {
		r->v[i].change.path = (uint8_t *)r->text + r->v[i].path;
		r->v[i].change.target = (uint8_t *)r->text + r->v[i].target;
	}
	if (r->n > 1)
		qsort(r->v, r->n, sizeof(*r->v), record_cmp);
	if (change_buf_begin(buf) == -1)
		goto err0;
	for (i = 0; i < r->n; i++) {
		if (change_buf_add(buf, &r->v[i].change) == -1)
			goto err0;
	}
	return (0);

err0:
	free(buf->p);
	memset(buf, 0, sizeof(*buf));
	return (-1);
}

void
records_done(struct records *r)
{

	free(r->v);
	free(r->text);
	memset(r, 0, sizeof(*r));
}
