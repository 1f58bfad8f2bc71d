#ifndef ERRAND_INDEX_PAGE_H
#define ERRAND_INDEX_PAGE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The half of index.c that knows what LMDB's pages begin with, to find out more
 * about them than LMDB does, which believes them.  Memory only: it reads the
 * pages that it is shown entries of.
 */
struct ix_pages;

/* For a file of ${n} pages of ${size} bytes.  NULL: ENOMEM. */
struct ix_pages *ix_pages_new(uint64_t size, uint64_t n);
void ix_pages_free(struct ix_pages *);

/**
 * ix_pages_unused(p, list, len):
 * LMDB has this list of pages for using again, one record of its own.  0, or -1
 * with EUCLEAN after logging: it cannot be one.
 */
int ix_pages_unused(struct ix_pages *, const void *, size_t);

/* How many there were. */
uint64_t ix_pages_count(const struct ix_pages *);

/**
 * ix_pages_entry(p, val, len):
 * Something of an entry, key or value, is here in the map.  0, or -1 with
 * EUCLEAN after logging: the page is not in its place, is of another kind, or
 * is one for using again.
 */
int ix_pages_entry(struct ix_pages *, const void *, size_t);

#endif /* !ERRAND_INDEX_PAGE_H */
