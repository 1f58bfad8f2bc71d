/*
 * A tree's ignore rules.  Memory only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rules_internal.h"
#include "size.h"

static void
file_free(struct rules_file *f)
{
	if (f == NULL)
		return;
	ignore_free(f->ig);
	free(f->base);
	free(f->name);
	free(f);
}

struct rules *
rules_new(const char *prefix)
{
	struct rules *r;

	if ((r = calloc(1, sizeof(*r))) == NULL)
		goto err0;
	if ((r->prefix = strdup(prefix)) == NULL)
		goto err1;
	return (r);

err1:
	free(r);
err0:
	return (NULL);
}

void
rules_free(struct rules *r)
{
	size_t i;

	if (r == NULL)
		return;
	for (i = 0; i < r->n; i++)
		file_free(r->v[i]);
	free(r->v);
	free(r->prefix);
	free(r);
}

int
rules_path_valid(const char *p, size_t len)
{
	const char *end = p + len, *slash;
	size_t n;

	if (len == 0)
		return (1);
	if (memchr(p, '\0', len) != NULL)
		return (0);
	for (;; p = slash + 1) {
		slash = memchr(p, '/', (size_t)(end - p));
		n = (size_t)((slash != NULL ? slash : end) - p);
		if (n == 0 || (n == 1 && p[0] == '.') ||
		    (n == 2 && p[0] == '.' && p[1] == '.'))
			return (0);
		if (slash == NULL)
			return (1);
	}
}

static int
file_cmp(const struct rules_file *f, const char *base, size_t len, int kind)
{
	size_t n = f->base_len < len ? f->base_len : len;
	int c;

	if (n > 0 && (c = memcmp(f->base, base, n)) != 0)
		return (c);
	if (f->base_len != len)
		return (f->base_len < len ? -1 : 1);
	return (f->kind - kind);
}

size_t
rules_find(const struct rules *r, const char *base, size_t len, int kind)
{
	size_t lo = 0, hi = r->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (file_cmp(r->v[mid], base, len, kind) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (lo);
}

static struct rules_file *
file_new(int kind, int flags, const char *base, const char *name,
    const char *text, size_t len)
{
	struct rules_file *f;

	if ((f = calloc(1, sizeof(*f))) == NULL)
		return (NULL);
	f->kind = (uint8_t)kind;
	f->flags = (uint8_t)flags;
	f->base_len = strlen(base);
	if ((f->base = strdup(base)) == NULL ||
	    (name != NULL && (f->name = strdup(name)) == NULL) ||
	    (f->ig = ignore_parse(text, len, flags)) == NULL) {
		file_free(f);
		return (NULL);
	}
	return (f);
}

int
rules_add(struct rules *r, enum rules_kind kind, int flags, const char *base,
    const char *name, const char *text, size_t len)
{
	size_t blen = strlen(base), at = rules_find(r, base, blen, (int)kind);
	struct rules_file *f, **v;

	if (at < r->n && file_cmp(r->v[at], base, blen, (int)kind) == 0)
		return (0);
	if (r->n == RULES_FILES_MAX) {
		errno = EMSGSIZE;
		return (-1);
	}
	v = size_grow(r->v, &r->cap, r->n + 1, sizeof(*v));
	if (v == NULL)
		return (-1);
	r->v = v;
	if ((f = file_new((int)kind, flags, base, name, text, len)) == NULL)
		return (-1);
	memmove(v + at + 1, v + at, (r->n - at) * sizeof(*v));
	v[at] = f;
	r->n++;
	r->count += ignore_count(f->ig);
	return (0);
}

size_t
rules_count(const struct rules *r)
{
	return (r->count);
}

int
rules_each(const struct rules *r, int (*fn)(void *, const char *,
    const char *, const struct ignore_hit *), void *cookie)
{
	struct ignore_hit hit;
	size_t i, j;
	int rc;

	for (i = 0; i < r->n; i++)
		for (j = 0; j < ignore_count(r->v[i]->ig); j++) {
			ignore_rule(r->v[i]->ig, j, &hit);
			if ((rc = fn(cookie, r->v[i]->base, r->v[i]->name,
			    &hit)) != 0)
				return (rc);
		}
	return (0);
}

const char *
rules_below(const struct rules *r, const char *base)
{
	size_t n = strlen(r->prefix);

	if (n == 0)
		return (base);
	if (strncmp(base, r->prefix, n) != 0 || (base[n] != '/' &&
	    base[n] != '\0'))
		return (NULL);
	return (base + n + (base[n] == '/'));
}
