/*
 * What LMDB's pages begin with: number, flags, and of a long value how many
 * pages it takes.  Part of index.c, without its library; memory only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "index_page.h"
#include "lib/le.h"
#include "lib/log.h"

#define FLAGS_AT        10
#define PAGES_AT        12      /* of a long value */
#define HEAD            16
#define LEAF            0x2
#define LONG            0x4
#define NUMBER_LEN      8
#define FIRST           2       /* the two before name all others */

struct ix_pages {
	uint64_t size;
	uint64_t n;
	uint64_t count;
	uintptr_t base;         /* of the map; 0: not known yet */
	uint8_t unused[];       /* a bit for each page */
};

static int
unsound(const char *what)
{
	log_warnx("index: %s", what);
	errno = EUCLEAN;
	return (-1);
}

struct ix_pages *
ix_pages_new(uint64_t size, uint64_t n)
{
	struct ix_pages *p;

	if ((p = calloc(1, sizeof(*p) + n / 8 + 1)) == NULL)
		return (NULL);
	p->size = size;
	p->n = n;
	return (p);
}

void
ix_pages_free(struct ix_pages *p)
{
	free(p);
}

static int
is_unused(const struct ix_pages *p, uint64_t number)
{
	return ((p->unused[number / 8] >> (number % 8)) & 1);
}

int
ix_pages_unused(struct ix_pages *p, const void *list, size_t len)
{
	const uint8_t *v = list;
	uint64_t i, n, number;

	if (len < NUMBER_LEN || len % NUMBER_LEN != 0)
		return (unsound("a list of unused pages is malformed"));
	n = le_get64(v);
	if (n != len / NUMBER_LEN - 1)
		return (unsound("a list of unused pages is malformed"));
	for (i = 1; i <= n; i++) {
		number = le_get64(v + i * NUMBER_LEN);
		if (number < FIRST || number >= p->n || is_unused(p, number))
			return (unsound("a list of unused pages has one that "
			    "there is not, or twice"));
		p->unused[number / 8] |= (uint8_t)(1 << (number % 8));
	}
	p->count += n;
	return (0);
}

uint64_t
ix_pages_count(const struct ix_pages *p)
{
	return (p->count);
}

/* Are these in the file, and in use? */
static int
in_use(const struct ix_pages *p, uint64_t number, uint64_t n)
{
	uint64_t i;

	if (number < FIRST || number >= p->n || n > p->n - number)
		return (0);
	for (i = 0; i < n; i++) {
		if (is_unused(p, number + i))
			return (0);
	}
	return (1);
}

int
ix_pages_entry(struct ix_pages *p, const void *val, size_t len)
{
	const uint8_t *page = (const uint8_t *)val -
	    (uintptr_t)val % p->size;
	uint64_t number = le_get64(page), n = 1;
	uintptr_t base = (uintptr_t)page - number * p->size;
	uint16_t flags = le_get16(page + FLAGS_AT);

	if (p->base == 0)
		p->base = base;
	if (base != p->base || (flags & (LEAF | LONG)) == 0)
		return (unsound("a page is in the place of another"));
	if ((flags & LONG) != 0) {
		n = le_get32(page + PAGES_AT);
		if ((const uint8_t *)val != page + HEAD ||
		    n > p->n || len > n * p->size - HEAD)
			return (unsound("a long value is malformed"));
	}
	if (!in_use(p, number, n))
		return (unsound("a page is in use and is not"));
	return (0);
}
