/*
 * Rules of one ignore file.  Touches nothing but its arguments; see glob.c for
 * the patterns.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "glob.h"
#include "ignore.h"
#include "size.h"

/* How a pattern is compared: most need no search. */
enum how { EXACT, TAIL, GLOB };

struct rule {
	const char *text;       /* as written */
	const char *pat;        /* what is matched */
	uint32_t text_len;
	uint32_t len;
	uint32_t head;          /* of it, without anything special */
	unsigned line;
	uint8_t negated;
	uint8_t dironly;
	uint8_t anchored;       /* matched against the whole path */
	uint8_t how;
};

struct ignore {
	char *text;
	struct rule *rules;
	size_t n;
	size_t cap;
	int flags;              /* of glob.h */
};

/*
 * Invariants of struct ignore:
 *  1. Every pattern is a non-empty slice of text without a leading slash and
 *     without NUL.
 *  2. Rules are in the order of the file.
 */

/* Length of a line without its trailing blanks, unless they are escaped. */
static size_t
line_trim(const char *p, size_t len)
{
	size_t keep = 0, i;

	for (i = 0; i < len; i++) {
		if (p[i] == '\\' && i + 1 < len) {
			i++;
			keep = i + 1;
		} else if (p[i] != ' ')
			keep = i + 1;
	}
	return (keep);
}

/* A file's name is compared with "name" and "*name" without a search. */
static void
set_how(struct rule *r)
{
	r->head = (uint32_t)glob_literal(r->pat, r->len);
	if (r->head == r->len)
		r->how = EXACT;
	else if (!r->anchored && r->pat[0] == '*' &&
	    glob_literal(r->pat + 1, r->len - 1) == r->len - 1)
		r->how = TAIL;
	else
		r->how = GLOB;
}

/* What a line says; 0 when it is no rule. */
static int
rule_parse(const char *p, size_t len, struct rule *r)
{
	const char *nul;

	if (len > 0 && p[len - 1] == '\r')
		len--;
	/* Git reads lines as C strings. */
	if ((nul = memchr(p, '\0', len)) != NULL)
		len = (size_t)(nul - p);
	len = line_trim(p, len);
	if (len == 0 || len > UINT32_MAX || p[0] == '#')
		return (0);
	r->text = p;
	r->text_len = (uint32_t)len;
	if (p[0] == '!') {
		r->negated = 1;
		p++;
		len--;
	}
	if (len > 0 && p[len - 1] == '/') {
		r->dironly = 1;
		len--;
	}
	if (len > 0 && p[0] == '/') {
		r->anchored = 1;
		p++;
		len--;
	}
	if (len == 0)
		return (0);
	if (memchr(p, '/', len) != NULL)
		r->anchored = 1;
	r->pat = p;
	r->len = (uint32_t)len;
	set_how(r);
	return (1);
}

static int
rule_add(struct ignore *ig, const char *p, size_t len, unsigned line)
{
	struct rule r = { .line = line }, *v;

	if (!rule_parse(p, len, &r))
		return (0);
	v = size_grow(ig->rules, &ig->cap, ig->n + 1, sizeof(*v));
	if (v == NULL)
		return (-1);
	ig->rules = v;
	v[ig->n++] = r;
	return (0);
}

struct ignore *
ignore_parse(const char *buf, size_t len, int flags)
{
	struct ignore *ig;
	const char *p, *end, *nl;
	unsigned line = 0;

	if ((ig = calloc(1, sizeof(*ig))) == NULL)
		goto err0;
	ig->flags = (flags & IGNORE_FOLD) ? GLOB_FOLD : 0;
	if ((ig->text = malloc(len + 1)) == NULL)
		goto err1;
	if (len > 0)
		memcpy(ig->text, buf, len);
	ig->text[len] = '\0';
	p = ig->text;
	end = p + len;
	if (len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
		p += 3;
	while (p < end) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (nl == NULL)
			nl = end;
		if (rule_add(ig, p, (size_t)(nl - p), ++line) == -1)
			goto err1;
		p = nl + 1;
	}
	return (ig);

err1:
	ignore_free(ig);
	errno = ENOMEM;
err0:
	return (NULL);
}

void
ignore_free(struct ignore *ig)
{
	if (ig == NULL)
		return;
	free(ig->rules);
	free(ig->text);
	free(ig);
}

size_t
ignore_count(const struct ignore *ig)
{
	return (ig->n);
}

static void
set_hit(const struct rule *r, struct ignore_hit *hit)
{
	hit->pat = r->text;
	hit->len = r->text_len;
	hit->line = r->line;
	hit->negated = r->negated;
}

void
ignore_rule(const struct ignore *ig, size_t i, struct ignore_hit *hit)
{
	set_hit(&ig->rules[i], hit);
}

/*
 * A rule with a slash, against a whole path.  As in Git, the literal head of
 * the pattern is compared first and what follows begins anew: "c**" before a
 * slash then spans directories.
 */
static int
match_path(const struct rule *r, const char *path, size_t len, int flags,
    uint64_t *steps)
{
	if (len < r->head || !glob_equal(r->pat, path, r->head, flags))
		return (0);
	if (r->how == EXACT)
		return (len == r->head);
	return (glob_match(r->pat + r->head, r->len - r->head, path + r->head,
	    len - r->head, flags | GLOB_PATH, steps));
}

/* A rule without one, against a name. */
static int
match_name(const struct rule *r, const char *name, size_t len, int flags,
    uint64_t *steps)
{
	size_t tail = r->len - 1U;

	switch (r->how) {
	case EXACT:
		return (len == r->len && glob_equal(r->pat, name, len, flags));
	case TAIL:
		return (len >= tail && glob_equal(r->pat + 1,
		    name + len - tail, tail, flags));
	default:
		return (glob_match(r->pat, r->len, name, len, flags, steps));
	}
}

int
ignore_match(const struct ignore *ig, const char *path, size_t len, int isdir,
    struct ignore_hit *hit, uint64_t *steps)
{
	const struct rule *r;
	const char *base = path;
	size_t i, blen;

	for (i = len; i > 0; i--)
		if (path[i - 1] == '/') {
			base = path + i;
			break;
		}
	blen = len - (size_t)(base - path);
	for (i = ig->n; i > 0; i--) {
		r = &ig->rules[i - 1];
		++*steps;
		if (r->dironly && !isdir)
			continue;
		if (r->anchored ? match_path(r, path, len, ig->flags, steps) :
		    match_name(r, base, blen, ig->flags, steps)) {
			set_hit(r, hit);
			return (1);
		}
	}
	return (0);
}
