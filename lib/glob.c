/*
 * Patterns of ignore rules.  Touches nothing but its arguments; both may come
 * from strangers.
 */
#include <string.h>

#include "glob.h"

static unsigned char
lower(unsigned char c)
{
	return (c >= 'A' && c <= 'Z' ? c | 32 : c);
}

int
glob_equal(const char *a, const char *b, size_t n, int flags)
{
	size_t i;

	if ((flags & GLOB_FOLD) == 0)
		return (memcmp(a, b, n) == 0);
	for (i = 0; i < n; i++)
		if (lower((unsigned char)a[i]) != lower((unsigned char)b[i]))
			return (0);
	return (1);
}

size_t
glob_literal(const char *pat, size_t len)
{
	size_t n;

	for (n = 0; n < len; n++)
		if (pat[n] == '*' || pat[n] == '?' || pat[n] == '[' ||
		    pat[n] == '\\')
			break;
	return (n);
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

/*
 * Is ${c} in the named class at ${p} (after "[:")?  -1: no such class.  When
 * case does not matter, ${c} is a small letter and stands for the other too.
 */
static int
class_has(const char *p, size_t len, unsigned char c, int flags)
{
	size_t i;

	if ((flags & GLOB_FOLD) != 0 && len == 5 && memcmp(p, "upper", 5) == 0)
		return (in_alpha(c));
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
 * matches nothing, as in Git).  As there, a single letter in it matches in its
 * own case only; ${c} is a small letter when case does not matter.
 */
static const char *
bracket(const char *p, const char *end, unsigned char c, int flags, int *hit)
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
				r = class_has(p + 2, (size_t)(q - p - 3), c,
				    flags);
				if (r == -1)
					return (NULL);
				in |= r;
				p = q + 1;
				continue;
			}
		}
		p = bracket_char(p, end, &lo);
		/* In Git the first of a range counts even if it is reversed. */
		in |= c == lo;
		if (p + 1 < end && *p == '-' && p[1] != ']') {
			p = bracket_char(p + 1, end, &hi);
			in |= (c >= lo && c <= hi) || ((flags & GLOB_FOLD) &&
			    in_lower(c) && c - 32 >= lo && c - 32 <= hi);
		}
	}
	if (p >= end)
		return (NULL);
	*hit = in != negated;
	return (p + 1);
}

/* Match one pattern character; NULL when it does not match. */
static const char *
glob_one(const char *p, const char *pe, const char *s, int flags)
{
	unsigned char c = (unsigned char)*s;
	int hit = 0, path = flags & GLOB_PATH;

	if (flags & GLOB_FOLD)
		c = lower(c);
	switch (*p) {
	case '?':
		return (path && *s == '/' ? NULL : p + 1);
	case '[':
		if (path && *s == '/')
			return (NULL);
		p = bracket(p + 1, pe, c, flags, &hit);
		return (hit ? p : NULL);
	case '\\':
		if (++p == pe)
			return (NULL);
		/* FALLTHROUGH */
	default:
		return (glob_equal(p, s, 1, flags) ? p + 1 : NULL);
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
glob_match(const char *pat, size_t plen, const char *str, size_t slen,
    int flags, uint64_t *steps)
{
	const char *p = pat, *pe = pat + plen, *s = str, *se = str + slen;
	const char *star = NULL, *star_s = NULL, *deep = NULL, *deep_s = NULL;
	const char *next;
	int path = flags & GLOB_PATH;

	for (;; (*steps)++) {
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
		if (p < pe && *p == '[')
			*steps += (uint64_t)(pe - p);
		if (s < se && p < pe &&
		    (next = glob_one(p, pe, s, flags)) != NULL) {
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
