/*
 * gitignore rules.  Touches nothing but its arguments.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ignore.h"
#include "size.h"

struct rule {
	const char *pat;        /* into the copied text */
	size_t len;
	unsigned line;
	int negated;
	int dironly;
	int anchored;           /* matched against the whole path */
};

struct ignore {
	char *text;
	struct rule *rules;
	size_t n;
	size_t cap;
};

/*
 * Invariants of struct ignore:
 *  1. Every pattern is a non-empty slice of text without a leading or
 *     trailing slash.
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

static int
rule_add(struct ignore *ig, const char *p, size_t len, unsigned line)
{
	struct rule r = { .line = line }, *v;

	if (len > 0 && p[len - 1] == '\r')
		len--;
	len = line_trim(p, len);
	if (len == 0 || p[0] == '#')
		return (0);
	if (p[0] == '!') {
		r.negated = 1;
		p++;
		len--;
	}
	if (len > 0 && p[len - 1] == '/') {
		r.dironly = 1;
		len--;
	}
	if (len > 0 && p[0] == '/') {
		r.anchored = 1;
		p++;
		len--;
	}
	if (len == 0)
		return (0);
	if (memchr(p, '/', len) != NULL)
		r.anchored = 1;
	r.pat = p;
	r.len = len;
	if (ig->n == ig->cap) {
		ig->cap = ig->cap == 0 ? 16 : ig->cap * 2;
		v = realloc(ig->rules, ig->cap * sizeof(*v));
		if (v == NULL)
			return (-1);
		ig->rules = v;
	}
	ig->rules[ig->n++] = r;
	return (0);
}

struct ignore *
ignore_parse(const char *buf, size_t len)
{
	struct ignore *ig;
	const char *p, *end, *nl;
	unsigned line = 0;

	if ((ig = calloc(1, sizeof(*ig))) == NULL)
		goto err0;
	if ((ig->text = malloc(len + 1)) == NULL)
		goto err1;
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

struct class_name {
	const char *name;
	int (*in)(unsigned char);
};

static int
in_alpha(unsigned char c)
{
	return ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static int
in_digit(unsigned char c)
{
	return (c >= '0' && c <= '9');
}

static int
in_alnum(unsigned char c)
{
	return (in_alpha(c) || in_digit(c));
}

static int
in_upper(unsigned char c)
{
	return (c >= 'A' && c <= 'Z');
}

static int
in_lower(unsigned char c)
{
	return (c >= 'a' && c <= 'z');
}

static int
in_space(unsigned char c)
{
	return (c == ' ' || (c >= '\t' && c <= '\r'));
}

static int
in_blank(unsigned char c)
{
	return (c == ' ' || c == '\t');
}

static int
in_cntrl(unsigned char c)
{
	return (c < 32 || c == 127);
}

static int
in_print(unsigned char c)
{
	return (c >= 32 && c < 127);
}

static int
in_graph(unsigned char c)
{
	return (c > 32 && c < 127);
}

static int
in_punct(unsigned char c)
{
	return (in_graph(c) && !in_alnum(c));
}

static int
in_xdigit(unsigned char c)
{
	return (in_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f'));
}

static const struct class_name classes[] = {
	{ "alpha", in_alpha }, { "digit", in_digit }, { "alnum", in_alnum },
	{ "upper", in_upper }, { "lower", in_lower }, { "space", in_space },
	{ "blank", in_blank }, { "cntrl", in_cntrl }, { "print", in_print },
	{ "graph", in_graph }, { "punct", in_punct }, { "xdigit", in_xdigit }
};

/* Is ${c} in the named class at ${p} (after "[:")?  -1: no such class. */
static int
class_has(const char *p, size_t len, unsigned char c)
{
	size_t i;

	for (i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (strlen(classes[i].name) == len &&
		    memcmp(classes[i].name, p, len) == 0)
			return (classes[i].in(c));
	return (-1);
}

/* Step over one character of a bracket expression, escapes undone. */
static const char *
bracket_char(const char *p, const char *end, unsigned char *c)
{
	if (*p == '\\' && p + 1 < end)
		p++;
	*c = (unsigned char)*p;
	return (p + 1);
}

/*
 * Match ${c} against the bracket expression whose '[' is before ${p}.  Returns
 * where the pattern goes on, or NULL when the expression has no end (then it
 * matches nothing, as in Git).
 */
static const char *
bracket(const char *p, const char *end, unsigned char c, int *hit)
{
	unsigned char lo, hi;
	const char *q;
	int negated = 0, first = 1, in = 0, r;

	if (p < end && (*p == '!' || *p == '^')) {
		negated = 1;
		p++;
	}
	for (; p < end && (*p != ']' || first); first = 0) {
		if (*p == '[' && p + 1 < end && p[1] == ':') {
			for (q = p + 2; q < end && *q != ']'; q++)
				;
			if (q >= end)
				return (NULL);
			if (q[-1] == ':' && q - p >= 3) {
				r = class_has(p + 2, (size_t)(q - p - 3), c);
				if (r == -1)
					return (NULL);
				in |= r;
				p = q + 1;
				continue;
			}
		}
		p = bracket_char(p, end, &lo);
		if (p + 1 < end && *p == '-' && p[1] != ']') {
			p = bracket_char(p + 1, end, &hi);
			in |= c >= lo && c <= hi;
		} else
			in |= c == lo;
	}
	if (p >= end)
		return (NULL);
	*hit = in != negated;
	return (p + 1);
}

/* Match one pattern character; NULL when it does not match. */
static const char *
glob_one(const char *p, const char *pe, const char *s, int path)
{
	int hit = 0;

	switch (*p) {
	case '?':
		return (path && *s == '/' ? NULL : p + 1);
	case '[':
		if (path && *s == '/')
			return (NULL);
		p = bracket(p + 1, pe, (unsigned char)*s, &hit);
		return (hit ? p : NULL);
	case '\\':
		if (++p == pe)
			return (NULL);
		/* FALLTHROUGH */
	default:
		return (*p == *s ? p + 1 : NULL);
	}
}

/*
 * Where the run of stars at ${p} ends when it is one that spans directories:
 * two or more (as Git has it), with nothing but slashes beside them.  Else
 * NULL.
 */
static const char *
spans(const char *start, const char *p, const char *pe)
{
	const char *e = p;

	while (e < pe && *e == '*')
		e++;
	return (e - p >= 2 && (p == start || p[-1] == '/') &&
	    (e == pe || *e == '/') ? e : NULL);
}

/*
 * Backtracking with two marks: the last '*' (which may not pass a '/') and the
 * last "**".  Linear in most cases, quadratic at worst.
 */
int
ignore_glob(const char *pat, size_t plen, const char *str, size_t slen,
    int path)
{
	const char *p = pat, *pe = pat + plen, *s = str, *se = str + slen;
	const char *star = NULL, *star_s = NULL, *deep = NULL, *deep_s = NULL;
	const char *next;

	for (;;) {
		if (path && p < pe && *p == '*' &&
		    (next = spans(pat, p, pe)) != NULL) {
			if (next == pe)         /* at the end: all below */
				return (1);
			deep = next + 1;
			deep_s = s;
			star = NULL;
			p = deep;
			continue;
		}
		if (p < pe && *p == '*') {
			while (p < pe && *p == '*')
				p++;
			star = p;
			star_s = s;
			continue;
		}
		if (s == se && p == pe)
			return (1);
		if (s < se && p < pe &&
		    (next = glob_one(p, pe, s, path)) != NULL) {
			p = next;
			s++;
			continue;
		}
		if (star != NULL && star_s < se &&
		    !(path && *star_s == '/')) {
			p = star;
			s = ++star_s;
			continue;
		}
		/* Let "**" take one more directory. */
		if (deep == NULL)
			return (0);
		while (deep_s < se && *deep_s != '/')
			deep_s++;
		if (deep_s == se)
			return (0);
		s = ++deep_s;
		p = deep;
		star = NULL;
	}
}

/*
 * A rule with a slash, against a whole path.  As in Git, the literal head of
 * the pattern is compared first and what follows begins anew: "c**" before a
 * slash then spans directories.
 */
static int
match_anchored(const struct rule *r, const char *path, size_t len)
{
	size_t n;

	for (n = 0; n < r->len; n++)
		if (strchr("*?[\\", r->pat[n]) != NULL)
			break;
	if (len < n || memcmp(r->pat, path, n) != 0)
		return (0);
	if (n == r->len)
		return (len == n);
	return (ignore_glob(r->pat + n, r->len - n, path + n, len - n, 1));
}

int
ignore_match(const struct ignore *ig, const char *path, size_t len, int isdir,
    unsigned *line)
{
	const struct rule *r;
	const char *base = path;
	size_t i;

	for (i = len; i > 0; i--)
		if (path[i - 1] == '/') {
			base = path + i;
			break;
		}
	if (line != NULL)
		*line = 0;
	for (i = ig->n; i > 0; i--) {
		r = &ig->rules[i - 1];
		if (r->dironly && !isdir)
			continue;
		if (r->anchored ? !match_anchored(r, path, len) :
		    !ignore_glob(r->pat, r->len, base,
		    len - (size_t)(base - path), 0))
			continue;
		if (line != NULL)
			*line = r->line;
		return (!r->negated);
	}
	return (0);
}
